//! Texts and JSON that are no tables.

use rankfold::collective::{Fingerprint, TableError, TuningTable};

use super::fingerprint;

#[test]
fn a_text_that_is_no_table_is_refused_with_its_line() {
    for (text, says) in [
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
        (
            "rankfold tuning 1\nroom: 2",
            "there is no line `version: ...`",
        ),
        (
            "rankfold tuning 1\nroom: 2\nroom: 2",
            "line 3: `room` a second time",
        ),
    ] {
        let error = text.parse::<TuningTable>().unwrap_err().to_string();
        assert!(error.contains(says), "{text:?}: {error}");
    }
}

#[cfg(feature = "json")]
#[test]
fn json_that_is_no_table_is_refused_with_its_place() {
    let table =
        |inner: &str| format!(r#"{{"schema": "rankfold.tuning/1", "collectives": {{{inner}}}}}"#);
    let deep = "[".repeat(100_000);
    for (json, says) in [
        ("".into(), "EOF while parsing a value at line 1"),
        (deep, "invalid type: sequence"),
        (
            r#"{"schema": "rankfold.tuning/2", "collectives": {}}"#.into(),
            "schema: `rankfold.tuning/2` is none",
        ),
        (
            r#"{"schema": "rankfold.tuning/1"}"#.into(),
            "missing field `collectives`",
        ),
        (
            table(r#""scna": []"#),
            "collectives: no collective is called `scna`; did you mean `scan`?",
        ),
        (
            table(r#""scan": [], "scan": [], "x": 1"#),
            "invalid type: integer `1`",
        ),
        (
            table(r#""scan": [{"ranks": -1, "rules": []}]"#),
            "invalid value: integer `-1`",
        ),
        (
            table(r#""scan": [{"ranks": 1e30, "rules": []}]"#),
            "invalid type: floating point",
        ),
        (
            table(r#""scan": [{"ranks": 4, "rules": []}]"#),
            "scan on 4 ranks: an entry has at least",
        ),
        (
            table(r#""scan": [{"ranks": 4, "ranks": 4, "rules": []}]"#),
            "duplicate field `ranks`",
        ),
        (
            table(r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "alg": "chain"}]}]"#),
            "unknown field `alg`",
        ),
        (
            table(r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "cain"}]}]"#),
            "collectives: scan on 4 ranks: no algorithm is called `cain`; did you mean `chain`?",
        ),
        (
            table(
                r#""scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "chain"}]}], "scan": [{"ranks": 4, "rules": [{"from_bytes": 0, "algorithm": "chain"}]}]"#,
            ),
            "scan on 4 ranks: there are two entries",
        ),
        (
            r#"{"schema": "rankfold.tuning/1", "remarks": ["a\nb"], "collectives": {}}"#.into(),
            "a remark must be one line",
        ),
    ] {
        let error = TuningTable::from_json(&json).unwrap_err().to_string();
        assert!(
            error.contains(says),
            "{}: {error}",
            &json[..json.len().min(200)]
        );
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
