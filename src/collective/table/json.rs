//! Tuning tables as JSON, with the schema `docs/tuning.schema.json`: rules nested by collective and by ranks, as in
//! Open MPI.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Entry, Fingerprint, Rule, TableError, Timed, TuningTable};

const SCHEMA: &str = "rankfold.tuning/1";

impl TuningTable {
    /// The JSON Schema of what [`from_json`](Self::from_json) reads.
    pub const JSON_SCHEMA: &str = include_str!("../../../docs/tuning.schema.json");

    /// Reads a table from a JSON object.
    ///
    /// # Errors
    ///
    /// [`TableError::Json`] with line and column if the input is not such an object; otherwise as for
    /// [`new`](Self::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::TuningTable;
    ///
    /// let json = r#"{
    ///   "schema": "rankfold.tuning/1",
    ///   "collectives": {
    ///     "scan": [{ "ranks": 4, "rules": [{ "from_bytes": 0, "algorithm": "doubling" }] }]
    ///   }
    /// }"#;
    /// let table = TuningTable::from_json(json)?;
    /// assert_eq!(TuningTable::from_json(&table.to_json())?, table);
    /// # Ok::<(), rankfold::collective::TableError>(())
    /// ```
    pub fn from_json(json: &str) -> Result<TuningTable, TableError> {
        let written: Written = serde_json::from_str(json).map_err(|error| TableError::Json {
            what: error.to_string(),
        })?;
        if written.schema != SCHEMA {
            let other = written.schema.escape_debug();
            let what = format!("schema: `{other}` is none that is known here: {SCHEMA} is");
            return Err(TableError::Json { what });
        }
        let entries = written.collectives.0.into_iter();
        let entries = entries
            .map(OfCollective::entries)
            .collect::<Result<Vec<_>, _>>()?;
        TuningTable::new(written.machine, entries.concat())?.with_remarks(written.remarks)
    }

    /// Writes the table in the format of [`from_json`](Self::from_json).
    pub fn to_json(&self) -> String {
        let chunks = self.entries.chunk_by(|a, b| a.collective == b.collective);
        let written = Written {
            schema: SCHEMA.into(),
            machine: self.fingerprint.clone(),
            remarks: self.remarks.clone(),
            collectives: Collectives(chunks.map(OfCollective::of).collect()),
        };
        // The table consists of texts and numbers, so serialization cannot fail.
        serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<Fingerprint>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    collectives: Collectives,
}

/// The fields of an object in their order, including duplicates, which the reader reports.
struct Collectives(Vec<OfCollective>);

struct OfCollective {
    name: String,
    of_ranks: Vec<OfRanks>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfRanks {
    ranks: usize,
    rules: Vec<WrittenRule>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    from_bytes: usize,
    algorithm: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runner_up: Option<RunnerUp>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunnerUp {
    algorithm: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_ns: Option<u64>,
}

impl OfCollective {
    fn of(entries: &[Entry]) -> OfCollective {
        let of_ranks = |entry: &Entry| OfRanks {
            ranks: entry.ranks,
            rules: entry.rules.iter().map(WrittenRule::of).collect(),
        };
        OfCollective {
            name: entries[0].collective.to_string(),
            of_ranks: entries.iter().map(of_ranks).collect(),
        }
    }

    fn entries(self) -> Result<Vec<Entry>, TableError> {
        let at = |what: String| TableError::Json {
            what: format!("collectives: {what}"),
        };
        let collective = self.name.parse();
        let collective = collective.map_err(|error| at(format!("{error}")))?;
        let entry = |of: OfRanks| {
            let rules = of.rules.iter().map(WrittenRule::rule);
            let ranks = of.ranks;
            let rules = rules.collect::<Result<Vec<_>, _>>();
            Ok(Entry {
                collective,
                ranks,
                rules: rules
                    .map_err(|what| at(format!("{collective} on {ranks} ranks: {what}")))?,
            })
        };
        self.of_ranks.into_iter().map(entry).collect()
    }
}

impl WrittenRule {
    fn of(rule: &Rule) -> WrittenRule {
        WrittenRule {
            from_bytes: rule.from,
            algorithm: rule.best.algorithm.to_string(),
            time_ns: rule.best.ns,
            at_bytes: rule.at,
            runner_up: rule.next.map(|next| RunnerUp {
                algorithm: next.algorithm.to_string(),
                time_ns: next.ns,
            }),
        }
    }

    fn rule(&self) -> Result<Rule, String> {
        let next = self.runner_up.as_ref();
        let next = next.map(|next| timed(&next.algorithm, next.time_ns));
        Ok(Rule {
            from: self.from_bytes,
            best: timed(&self.algorithm, self.time_ns)?,
            next: next.transpose()?,
            at: self.at_bytes,
        })
    }
}

fn timed(algorithm: &str, ns: Option<u64>) -> Result<Timed, String> {
    let algorithm = algorithm.parse();
    let algorithm = algorithm.map_err(|error| format!("{error}"))?;
    Ok(Timed { algorithm, ns })
}

impl Serialize for Collectives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for of in &self.0 {
            map.serialize_entry(&of.name, &of.of_ranks)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Collectives {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Collectives, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Collectives;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a list for each collective")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Collectives, A::Error> {
        let mut all = Vec::new();
        while let Some((name, of_ranks)) = map.next_entry()? {
            all.push(OfCollective { name, of_ranks });
        }
        Ok(Collectives(all))
    }
}
