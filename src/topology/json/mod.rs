//! Topologies as JSON, with the schema `docs/topology.schema.json`.
//!
//! ```json
//! {
//!   "schema": "rankfold.topology/1",
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
//! - `value`: any JSON value, without loss; `fields`: the fields of an object, and the path to each;
//! - `formal`: a partition, a tree and association maps; triples are read in this file.

use std::fmt::Write;

use super::{
    Formal, Topology, TopologyError, Triple,
    written::{Entry, TripleField, Written},
};

mod fields;
mod formal;
mod value;

use fields::{at, fields, list, optional, required, text, whole, wrong};
use value::Value;

/// The value of the field `schema`, where it is given.
const SCHEMA: &str = "rankfold.topology/1";
const FIELDS: &[&str; 6] = &["schema", "name", "ranks", "root", "family", "triples"];
const TRIPLE: &[&str; 3] = &["from", "step", "to"];

impl Topology {
    /// The JSON Schema of what [`from_json`](Self::from_json) reads.
    pub const JSON_SCHEMA: &str = include_str!("../../../docs/topology.schema.json");

    /// Reads a topology from a JSON object.
    ///
    /// The fields are:
    /// - `ranks`, a number;
    /// - `triples`, a list of objects with `from`, `step` and `to`;
    /// - `root`, optional: by default the only rank that sends nothing;
    /// - `family`, a name for [`by_name`](Self::by_name). It may replace the triples (the default root is then 0);
    ///   beside them it must agree with them;
    /// - `name`, a text for the reader, without effect;
    /// - `schema`, optional, which must be `rankfold.topology/1`.
    ///
    /// No other fields are allowed, and none may occur twice.
    ///
    /// A formal definition may replace root, family and triples, as for [`Formal`]: `nodes`, a list of
    /// lists of ranks, and `edges`, a list of objects with `from` and `into`, numbers of nodes, `step`, the weight, and
    /// `process`, the rank associated with the edge.
    ///
    /// # Errors
    ///
    /// [`Syntax`](TopologyError::Syntax) with line and column for invalid JSON. Otherwise a field error, or any error
    /// of [`from_triples`](Self::from_triples) or [`by_name`](Self::by_name), wrapped in [`At`](TopologyError::At) with
    /// a path such as `triples[4].to` where an entry of the input is the cause.
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
        if value.has("nodes") || value.has("edges") {
            return formal::read(&value);
        }
        let [schema, name, ranks, root, family, given] = fields("", &value, FIELDS)?;
        optional("schema", schema, this_schema)?;
        optional("name", name, text)?;
        let family = optional("family", family, text)?;
        let written = Written {
            ranks: Some(required("", "ranks", ranks, whole)?),
            root: optional("root", root, whole)?,
            triples: optional("triples", given, triples)?.unwrap_or_default(),
        };
        match (family, given) {
            (None, None) => Err(TopologyError::MissingField { field: "triples" }),
            (None, Some(_)) => proved(&written),
            (Some(family), None) => named(family, &written),
            (Some(family), Some(_)) => agreeing(proved(&written)?, family, &written),
        }
    }

    /// Writes the topology in the format of [`from_json`](Self::from_json): schema, ranks, root, the family if it has
    /// one, and all triples ordered by sender, one per line.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// let json = "{\n  \"schema\": \"rankfold.topology/1\",\n  \"ranks\": 2,\n  \"root\": 0,\n  \"family\": \"chain\",\n  \"triples\": [\n    \
    ///     {\"from\": 1, \"step\": 0, \"to\": 0}\n  ]\n}\n";
    /// assert_eq!(Topology::chain(2).to_json(), json);
    /// ```
    pub fn to_json(&self) -> String {
        let (ranks, root, name) = (self.ranks(), self.root(), self.name());
        let mut json = format!(
            "{{\n  \"schema\": \"{SCHEMA}\",\n  \"ranks\": {ranks},\n  \"root\": {root},\n"
        );
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

/// The formal definition in a JSON object.
pub(super) fn formal(json: &str) -> Result<Formal, TopologyError> {
    formal::read_formal(&Value::read(json)?)
}

/// The topology of the triples, or an error with the path of its cause.
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

fn suffix(part: TripleField) -> &'static str {
    match part {
        TripleField::All => "",
        TripleField::From => ".from",
        TripleField::Step => ".step",
        TripleField::To => ".to",
    }
}

/// The topology with the family's name.
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

/// The family rotated to the root of `proved`, if it has the same triples.
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

fn this_schema(path: &str, value: &Value) -> Result<(), TopologyError> {
    match value {
        Value::Text(text) if text == SCHEMA => Ok(()),
        _ => Err(at(path, wrong(value, "\"rankfold.topology/1\""))),
    }
}

fn triples(path: &str, value: &Value) -> Result<Vec<Triple>, TopologyError> {
    list(path, value, "a list of triples", triple)
}

fn triple(path: &str, value: &Value) -> Result<Triple, TopologyError> {
    let [from, step, to] = fields(path, value, TRIPLE)?;
    Ok(Triple {
        from: required(path, "from", from, whole)?,
        step: required(path, "step", step, whole)?,
        to: required(path, "to", to, whole)?,
    })
}
