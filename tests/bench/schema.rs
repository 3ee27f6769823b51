//! JSON values against a schema, for the keywords that our schemas use.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Reads the schema of this name.
pub fn schema_file(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns where a value violates the schema, which is part of the schema `root`.
pub fn faults(schema: &Value, value: &Value, at: &str, root: &Value) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let Some(name) = name.strip_prefix("#/$defs/") else {
            let other = schema_file(name);
            return faults(&other, value, at, &other);
        };
        return faults(&root["$defs"][name], value, at, root);
    }
    if let Some(ways) = schema["anyOf"].as_array() {
        let found = ways.iter().map(|way| faults(way, value, at, root));
        return found.min_by_key(Vec::len).unwrap();
    }
    let own = [
        (!has_type(schema, value), "has another type"),
        (!is_constant(schema, value), "is another constant"),
        (!is_listed(schema, value), "is none of those there are"),
        (!is_in_range(schema, value), "is out of range"),
        (!has_pattern(schema, value), "is no fingerprint"),
    ];
    let own = own.into_iter().filter(|(wrong, _)| *wrong);
    let mut all: Vec<_> = own
        .map(|(_, what)| format!("{at}: {what}: {value}"))
        .collect();
    all.extend(faults_of_object(schema, value, at, root));
    all.extend(faults_of_list(schema, value, at, root));
    all
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("{other} is no type"),
    };
    match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    }
}

fn is_constant(schema: &Value, value: &Value) -> bool {
    schema.get("const").is_none_or(|only| only == value)
}

fn is_listed(schema: &Value, value: &Value) -> bool {
    let all = schema["enum"].as_array();
    all.is_none_or(|all| all.contains(value))
}

/// Returns whether a value is neither below the minimum nor above the maximum.
fn is_in_range(schema: &Value, value: &Value) -> bool {
    let number = value.as_f64();
    let below = number.zip(schema["minimum"].as_f64());
    let above = number.zip(schema["maximum"].as_f64());
    !below.is_some_and(|(x, least)| x < least) && !above.is_some_and(|(x, most)| x > most)
}

/// Returns whether a value has the one pattern that there is, if it is asked for.
fn has_pattern(schema: &Value, value: &Value) -> bool {
    if schema["pattern"] != "^[0-9a-f]{16}$" {
        return true;
    }
    let text = value.as_str().unwrap_or_default();
    text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the members that an object lacks, those that are unknown, and the faults of the others.
fn faults_of_object(schema: &Value, value: &Value, at: &str, root: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let Some(object) = value.as_object() else {
        return all;
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !object.contains_key(name.as_str().unwrap()) {
            all.push(format!("{at}: lacks {name}: {value}"));
        }
    }
    for (name, inner) in object {
        match schema["properties"].get(name) {
            Some(own) => all.extend(faults(own, inner, &format!("{at}.{name}"), root)),
            None => all.push(format!("{at}.{name} is unknown")),
        }
    }
    all
}

fn faults_of_list(schema: &Value, value: &Value, at: &str, root: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let Some(list) = value.as_array() else {
        return all;
    };
    let least = schema["minItems"].as_u64().unwrap_or(0);
    if (list.len() as u64) < least {
        all.push(format!("{at}: too few"));
    }
    for (i, inner) in list.iter().enumerate() {
        all.extend(faults(&schema["items"], inner, &format!("{at}[{i}]"), root));
    }
    all
}
