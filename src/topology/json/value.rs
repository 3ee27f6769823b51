//! Any JSON value, without loss of anything that a reader may report.
//!
//! The value type of serde_json keeps only the last of two fields with one name; this one keeps both.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::topology::{TopologyError, error::Short};

pub(super) enum Value {
    Whole(u64),
    Text(String),
    List(Vec<Value>),
    /// The fields in their written order.
    Object(Vec<(String, Value)>),
    /// A value that no topology uses: null, a boolean, or a number that is negative, not an integer or too large.
    Other(String),
}

impl Value {
    pub(super) fn read(json: &str) -> Result<Value, TopologyError> {
        serde_json::from_str(json).map_err(|error| TopologyError::Syntax {
            line: error.line(),
            column: error.column().max(1),
            reason: reason(&error),
        })
    }

    /// Whether this is an object with a field `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        matches!(self, Value::Object(fields) if fields.iter().any(|(field, _)| field == name))
    }
}

/// The reason that serde_json gives, without the place.
fn reason(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    error.to_string().replace(&place, "")
}

/// The value as errors describe it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(number) => write!(f, "{number}"),
            Value::Text(text) => write!(f, "\"{}\"", Short(text)),
            Value::List(_) => f.write_str("a list"),
            Value::Object(_) => f.write_str("an object"),
            Value::Other(text) => f.write_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Other(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Other(format!("{number:?}")))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Other(truth.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Other("null".to_owned()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Value::Object(fields))
    }
}
