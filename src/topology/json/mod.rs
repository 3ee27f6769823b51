//! Topologies as JSON, by the schema in `docs/topology.schema.json`.
//!
//! ```json
//! {
//!   "ranks": 4,
//!   "root": 0,
//!   "triples": [
//!     {"from": 1, "step": 0, "to": 0},
//!     {"from": 3, "step": 0, "to": 2},
//!     {"from": 2, "step": 1, "to": 0}
//!   ]
//! }
//! ```
//!
//! - `value`: any JSON value, with nothing lost; the rest is here: what a topology's may hold.

use std::fmt::Write;

use super::{
    Topology, TopologyError, Triple,
    written::{Entry, Part, Written},
};

mod value;

use value::Value;

const FIELDS: &[&str; 5] = &["name", "ranks", "root", "family", "triples"];
const TRIPLE: &[&str; 3] = &["from", "step", "to"];

impl Topology {
    /// The JSON Schema of what [`from_json`](Self::from_json) reads.
    pub const JSON_SCHEMA: &str = include_str!("../../../docs/topology.schema.json");

    /// Reads a topology from a JSON object.
    ///
    /// Its fields: `ranks`, a number; `triples`, a list of objects with `from`, `step` and `to`;
    /// `root`, which may be left out: it is then the only rank that sends nothing; `family`, a name
    /// for [`by_name`](Self::by_name), which may stand in the place of the triples (the root is then
    /// 0 if it is not given), and if it stands beside them must agree with them; and `name`, a text
    /// for the reader, from which nothing follows. There are no other fields, and none is given
    /// twice.
    ///
    /// # Errors
    ///
    /// [`Syntax`](TopologyError::Syntax) with line and column for what is no JSON; else what is
    /// wrong, or whatever [`from_triples`](Self::from_triples) and [`by_name`](Self::by_name)
    /// refuse, as [`At`](TopologyError::At) with a path such as `triples[4].to` where something that
    /// was written is to blame.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::Topology;
    ///
    /// let tree = Topology::from_json(r#"{"ranks": 8, "family": "k-tree:2"}"#)?;
    /// assert_eq!(Topology::from_json(&tree.to_json())?, tree);
    ///
    /// let refused = Topology::from_json(r#"{"ranks": 2, "triples": [{"from": 1, "step": 0, "to": 2}]}"#);
    /// assert_eq!(refused.unwrap_err().to_string(), "triples[0].to: rank 2 is not one of the 2 ranks");
    /// # Ok::<(), rankfold::topology::TopologyError>(())
    /// ```
    pub fn from_json(json: &str) -> Result<Topology, TopologyError> {
        let value = Value::read(json)?;
        let [name, ranks, root, family, triples] = fields("", &value, FIELDS)?;
        optional("name", name, text)?;
        let family = optional("family", family, text)?;
        let written = Written {
            ranks: Some(required("", "ranks", ranks, whole)?),
            root: optional("root", root, whole)?,
            triples: optional("triples", triples, list)?.unwrap_or_default(),
        };
        match (family, triples) {
            (None, None) => Err(TopologyError::MissingField { field: "triples" }),
            (None, Some(_)) => proved(&written),
            (Some(family), None) => named(family, &written),
            (Some(family), Some(_)) => agreeing(proved(&written)?, family, &written),
        }
    }

    /// Writes the topology as [`from_json`](Self::from_json) reads it: ranks, root, the family if it
    /// has one, and all triples by sender, one a line.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let json = "{\n  \"ranks\": 2,\n  \"root\": 0,\n  \"family\": \"chain\",\n  \"triples\": [\n    \
    ///     {\"from\": 1, \"step\": 0, \"to\": 0}\n  ]\n}\n";
    /// assert_eq!(Topology::chain(2).to_json(), json);
    /// ```
    pub fn to_json(&self) -> String {
        let (ranks, root, name) = (self.ranks(), self.root(), self.name());
        let mut json = format!("{{\n  \"ranks\": {ranks},\n  \"root\": {root},\n");
        if name != "custom" {
            json += &format!("  \"family\": \"{name}\",\n");
        }
        json += "  \"triples\": [";
        let mut separator = "\n";
        for Triple { from, step, to } in self.triples() {
            // Writing to a string cannot fail.
            let _ = write!(
                json,
                "{separator}    {{\"from\": {from}, \"step\": {step}, \"to\": {to}}}"
            );
            separator = ",\n";
        }
        json += if ranks > 1 { "\n  ]\n}\n" } else { "]\n}\n" };
        json
    }
}

/// The topology of the triples, or the path to blame.
fn proved(written: &Written) -> Result<Topology, TopologyError> {
    written.topology().map_err(|error| placed(written, error))
}

fn placed(written: &Written, error: TopologyError) -> TopologyError {
    match written.blamed(&error) {
        Some(Entry::Ranks) => at("ranks", error),
        Some(Entry::Root) => at("root", error),
        Some(Entry::Triple(i, part)) => at(&format!("triples[{i}]{}", suffix(part)), error),
        None => error,
    }
}

fn suffix(part: Part) -> &'static str {
    match part {
        Part::All => "",
        Part::From => ".from",
        Part::Step => ".step",
        Part::To => ".to",
    }
}

/// The topology of a family's name.
fn named(family: &str, written: &Written) -> Result<Topology, TopologyError> {
    let ranks = written.ranks.unwrap_or_default();
    let tree = Topology::by_name(family, ranks).map_err(|error| match error {
        TopologyError::NoRanks => at("ranks", error),
        _ => at("family", error),
    })?;
    match written.root {
        None => Ok(tree),
        Some(root) if root < ranks => Ok(tree.rooted(root)),
        Some(rank) => Err(at("root", TopologyError::RankOutOfRange { rank, ranks })),
    }
}

/// The family turned to the root of `proved`, if it has the same triples.
fn agreeing(proved: Topology, family: &str, written: &Written) -> Result<Topology, TopologyError> {
    let tree = named(family, written)?.rooted(proved.root());
    let odd = proved
        .triples()
        .zip(tree.triples())
        .find(|(given, wanted)| given != wanted);
    match odd {
        None => Ok(tree),
        Some((given, wanted)) => {
            let family = family.to_owned();
            let error = TopologyError::NotTheFamily {
                family,
                given,
                wanted,
            };
            Err(placed(written, error))
        }
    }
}

// ── fields ──

/// The values of an object's fields in the order of `known`; others it may not have.
fn fields<'a, const N: usize>(
    path: &str,
    value: &'a Value,
    known: &'static [&'static str; N],
) -> Result<[Option<&'a Value>; N], TopologyError> {
    let Value::Object(entries) = value else {
        return Err(at(path, wrong(value, "an object")));
    };
    let mut found = [None; N];
    for (name, value) in entries {
        let place = known.iter().position(|field| field == name);
        let place = place.ok_or_else(|| at(path, unknown(name, known)))?;
        if found[place].replace(value).is_some() {
            let field = known[place];
            return Err(at(path, TopologyError::FieldTwice { field }));
        }
    }
    Ok(found)
}

fn unknown(name: &str, known: &'static [&'static str]) -> TopologyError {
    let field = name.to_owned();
    TopologyError::UnknownField { field, known }
}

/// How a value of one kind is read; the path is for what is wrong deeper in it.
type Reader<'a, T> = fn(&str, &'a Value) -> Result<T, TopologyError>;

fn optional<'a, T>(
    path: &str,
    value: Option<&'a Value>,
    read: Reader<'a, T>,
) -> Result<Option<T>, TopologyError> {
    value.map(|value| read(path, value)).transpose()
}

fn required<'a, T>(
    path: &str,
    field: &'static str,
    value: Option<&'a Value>,
    read: Reader<'a, T>,
) -> Result<T, TopologyError> {
    let value = value.ok_or_else(|| at(path, TopologyError::MissingField { field }))?;
    read(&inside(path, field), value)
}

fn whole(path: &str, value: &Value) -> Result<usize, TopologyError> {
    let number = match value {
        Value::Whole(number) => usize::try_from(*number).ok(),
        _ => None,
    };
    number.ok_or_else(|| at(path, wrong(value, "a whole number from 0 to 2^64 - 1")))
}

fn text<'a>(path: &str, value: &'a Value) -> Result<&'a str, TopologyError> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(at(path, wrong(value, "a text"))),
    }
}

fn list(path: &str, value: &Value) -> Result<Vec<Triple>, TopologyError> {
    let Value::List(values) = value else {
        return Err(at(path, wrong(value, "a list of triples")));
    };
    let numbered = values.iter().enumerate();
    numbered
        .map(|(i, value)| triple(&format!("{path}[{i}]"), value))
        .collect()
}

fn triple(path: &str, value: &Value) -> Result<Triple, TopologyError> {
    let [from, step, to] = fields(path, value, TRIPLE)?;
    Ok(Triple {
        from: required(path, "from", from, whole)?,
        step: required(path, "step", step, whole)?,
        to: required(path, "to", to, whole)?,
    })
}

fn wrong(value: &Value, expected: &'static str) -> TopologyError {
    let found = value.to_string();
    TopologyError::WrongValue { found, expected }
}

fn inside(path: &str, field: &str) -> String {
    match path {
        "" => field.to_owned(),
        _ => format!("{path}.{field}"),
    }
}

/// The error with its place, where that is not the whole.
fn at(path: &str, error: TopologyError) -> TopologyError {
    match path {
        "" => error,
        _ => TopologyError::At {
            path: path.to_owned(),
            error: Box::new(error),
        },
    }
}
