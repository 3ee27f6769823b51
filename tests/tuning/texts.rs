//! Texts and JSON that are no tables.

use rankfold::collective::{Fingerprint, TableError, TuningTable};

use super::fingerprint;

/// Texts with a line that is none of a table, or with lines that are missing or given twice.
const WRONG_LINES: [(&str, &str); 9] = [
    ("", "line 1: it is empty"),
    (
        "tuning",
        "line 1: a tuning table begins with `rankfold tuning 1`",
    ),
    ("rankfold tuning 2", "line 1: a tuning table begins with"),
    (
        "\n\nrankfold tuning 1\n\nnonsense",
        "line 5: `nonsense` is no line of a tuning table",
    ),
    (
        "rankfold tuning 1\nfrom 0 bytes: ring",
        "line 2: a rule before the first",
    ),
    (
        "rankfold tuning 1\nallreduce on 4 ranks",
        "line 2: no collective is called `allreduce`; did you mean",
    ),
    (
        "rankfold tuning 1\nscan on -4 ranks",
        "line 2: `-4` should be a whole number",
    ),
    (
        "rankfold tuning 1\nroom: 2",
        "there is no line `version: ...`",
    ),
    (
        "rankfold tuning 1\nroom: 2\nroom: 2",
        "line 3: `room` a second time",
    ),
];

/// Texts with an entry or a rule that is none.
const WRONG_ENTRIES: [(&str, &str); 9] = [
    (
        "rankfold tuning 1\nscan on 4 ranks",
        "scan on 4 ranks: an entry has at least one rank and one rule",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: dubling",
        "line 3: no algorithm is called `dubling`",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: ring",
        "scan on 4 ranks: ring does not do scan; these do:",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 18446744073709551616 bytes: chain",
        "line 3: `18446744073709551616`",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: chain, 1.5 ns",
        "line 3: `1.5 ns` should be",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes; chain",
        "line 3: a rule is written",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 8 bytes: chain\nfrom 8 bytes: doubling",
        "from 8 bytes on comes too late",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: chain; then chain",
        "chain is its own runner-up",
    ),
    (
        "rankfold tuning 1\nscan on 4 ranks\nfrom 0 bytes: chain\nscan on 4 ranks\nfrom 0 bytes: chain",
        "there are two",
    ),
];

#[test]
fn a_text_that_is_no_table_is_refused_with_its_line() {
    for (text, says) in WRONG_LINES.into_iter().chain(WRONG_ENTRIES) {
        let error = text.parse::<TuningTable>().unwrap_err().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

/// JSON that is no table as a whole.
#[cfg(feature = "json")]
const WRONG_JSON: [(&str, &str); 4] = [
    ("", "EOF while parsing a value at line 1"),
    (
        r#"{"schema": "rankfold.tuning/2", "collectives": {}}"#,
        "schema: `rankfold.tuning/2` is none",
    ),
    (
        r#"{"schema": "rankfold.tuning/1"}"#,
        "missing field `collectives`",
    ),
    (
        r#"{"schema": "rankfold.tuning/1", "remarks": ["a\nb"], "collectives": {}}"#,
        "a remark must be one line",
    ),
];

/// Fields of `collectives` that are none.
#[cfg(feature = "json")]
const WRONG_COLLECTIVES: [(&str, &str); 9] = [
    (
        r#""scna": []"#,
        "collectives: no collective is called `scna`; did you mean `scan`?",
    ),
    (
        r#""scan": [], "scan": [], "x": 1"#,
        "invalid type: integer `1`",
    ),
    (
        r#""scan": [{"ranks": -1, "rules": []}]"#,
        "invalid value: integer `-1`",
    ),
    (
        r#""scan": [{"ranks": 1e30, "rules": []}]"#,
        "invalid type: floating point",
    ),
    (
        r#""scan": [{"ranks": 4, "rules": []}]"#,
        "scan on 4 ranks: an entry has at least",
    ),
    (
        r#""scan": [{"ranks": 4, "ranks": 4, "rules": []}]"#,
        "duplicate field `ranks`",
    ),
    (
        r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "alg": "chain"}]}]"#,
        "unknown field `alg`",
    ),
    (
        r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "cain"}]}]"#,
        "collectives: scan on 4 ranks: no algorithm is called `cain`; did you mean `chain`?",
    ),
    (
        r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "chain"}]}], "scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "chain"}]}]"#,
        "scan on 4 ranks: there are two entries",
    ),
];

#[cfg(feature = "json")]
#[test]
fn json_that_is_no_table_is_refused_with_its_place() {
    let refused = |json: &str, says: &str| {
        let error = TuningTable::from_json(json).unwrap_err().to_string();
        assert!(
            error.contains(says),
            "{}: {error}",
            &json[..json.len().min(200)]
        );
    };
    refused(&"[".repeat(100_000), "invalid type: sequence");
    for (json, says) in WRONG_JSON {
        refused(json, says);
    }
    for (inner, says) in WRONG_COLLECTIVES {
        let json = format!(r#"{{"schema": "rankfold.tuning/1", "collectives": {{{inner}}}}}"#);
        refused(&json, says);
    }
}

#[test]
fn a_name_of_two_lines_is_refused_before_it_is_written() {
    let of = Fingerprint {
        model: "a\nb".into(),
        ..fingerprint(2)
    };
    assert_eq!(
        TuningTable::new(Some(of), Vec::new()),
        Err(TableError::Words { field: "processor" })
    );
}
