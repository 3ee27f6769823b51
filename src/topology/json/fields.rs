//! The fields of an object, and the path to each: no unknown field, no duplicate, no value of the wrong kind.

use super::value::Value;
use crate::topology::TopologyError;

/// The values of an object's fields in the order of `known`; other fields are errors.
pub(super) fn fields<'a, const N: usize>(
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

/// A reader of one kind of value; the path locates errors deeper in the value.
pub(super) type Reader<'a, T> = fn(&str, &'a Value) -> Result<T, TopologyError>;

pub(super) fn optional<'a, T>(
    path: &str,
    value: Option<&'a Value>,
    read: Reader<'a, T>,
) -> Result<Option<T>, TopologyError> {
    value.map(|value| read(path, value)).transpose()
}

pub(super) fn required<'a, T>(
    path: &str,
    field: &'static str,
    value: Option<&'a Value>,
    read: Reader<'a, T>,
) -> Result<T, TopologyError> {
    let value = value.ok_or_else(|| at(path, TopologyError::MissingField { field }))?;
    read(&inside(path, field), value)
}

pub(super) fn whole(path: &str, value: &Value) -> Result<usize, TopologyError> {
    let number = match value {
        Value::Whole(number) => usize::try_from(*number).ok(),
        _ => None,
    };
    number.ok_or_else(|| at(path, wrong(value, "a whole number from 0 to 2^64 - 1")))
}

pub(super) fn text<'a>(path: &str, value: &'a Value) -> Result<&'a str, TopologyError> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(at(path, wrong(value, "a text"))),
    }
}

pub(super) fn wrong(value: &Value, expected: &'static str) -> TopologyError {
    let found = value.to_string();
    TopologyError::WrongValue { found, expected }
}

/// A list; each value is read with its own path.
pub(super) fn list<'a, T>(
    path: &str,
    value: &'a Value,
    expected: &'static str,
    read: Reader<'a, T>,
) -> Result<Vec<T>, TopologyError> {
    let Value::List(values) = value else {
        return Err(at(path, wrong(value, expected)));
    };
    let numbered = values.iter().enumerate();
    numbered
        .map(|(i, value)| read(&format!("{path}[{i}]"), value))
        .collect()
}

fn inside(path: &str, field: &str) -> String {
    match path {
        "" => field.to_owned(),
        _ => format!("{path}.{field}"),
    }
}

/// Adds the path to the error, unless it is that of the whole.
pub(super) fn at(path: &str, error: TopologyError) -> TopologyError {
    match path {
        "" => error,
        _ => TopologyError::At {
            path: path.to_owned(),
            error: Box::new(error),
        },
    }
}
