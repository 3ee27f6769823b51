//! `rankfold bench` and `rankfold compare` as programs: JSON checked against its schema, the other formats read by
//! small parsers, and how the programs end on an error or when they are stopped.
#![cfg(feature = "cli")]

#[path = "bench/schema.rs"]
mod schema;
mod tool;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rankfold::collective::Collective;
use rankfold::measure::{Comparison, Latency, Run};
use schema::{faults, schema_file};
use serde_json::Value;

fn rankfold(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankfold"));
    command.args(line.split_whitespace()).stdin(Stdio::null());
    command
}

fn said(line: &str) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = rankfold(line).output().unwrap();
    let errors = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{line}: {errors}");
    assert_eq!(
        errors, "",
        "nothing but results is told where there is no terminal"
    );
    String::from_utf8(stdout).unwrap()
}

/// The minimum of everything.
const LITTLE: &str = "--passes 2 --iterations 2 --bind none";

fn json(line: &str) -> Value {
    serde_json::from_str(&said(&format!("bench {line} {LITTLE} --format json"))).unwrap()
}

fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

fn schema() -> Value {
    serde_json::from_str(Run::JSON_SCHEMA).unwrap()
}

#[test]
fn json_is_as_its_schema_says_for_every_collective_and_reads_back() {
    let names = Collective::all().map(Collective::name);
    let all = names.collect::<Vec<_>>().join(" ");
    let text = said(&format!(
        "bench {all} --ranks 1..3 --sizes 8,1000 --algorithm all,auto {LITTLE} --format json"
    ));
    let value: Value = serde_json::from_str(&text).unwrap();
    let schema = schema();
    assert_eq!(
        faults(&schema, &value, "run", &schema),
        Vec::<String>::new()
    );
    let run: Run = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(&run).unwrap(), value);
    assert!(run.results.len() > 100 && !run.interrupted);
    for collective in Collective::all() {
        assert!(
            run.results
                .iter()
                .any(|one| one.collective == collective.name()),
            "{collective}"
        );
    }
}

#[test]
fn the_schema_refuses_what_no_run_writes() {
    let schema = schema();
    let good = json("all_reduce send --ranks 2 --sizes 8");
    let faulty = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        !faults(&schema, &value, "run", &schema).is_empty()
    };
    assert!(!faulty(&|_| ()));
    assert!(faulty(&|run| run["schema"] = "rankfold.bench/2".into()));
    assert!(faulty(&|run| run["results"][0]["checked"] = 1.into()));
    assert!(faulty(&|run| run["results"][0]["ranks"] = 0.into()));
    assert!(faulty(
        &|run| run["results"][0]["time_us"]["p50"] = "1".into()
    ));
    assert!(faulty(&|run| run["results"][0]["new"] = 1.into()));
    assert!(faulty(&|run| run["machine"]["fingerprint"] = "?".into()));
    assert!(faulty(&|run| drop(
        run.as_object_mut().unwrap().remove("noise")
    )));
}

#[test]
fn a_point_says_all_that_scripts_read() {
    let run = json("all_reduce --ranks 2 --sizes 8,64Ki");
    assert!(run["machine"].is_object() && run["schema"].is_string());
    let one = &run["results"][1];
    assert_eq!(
        (&one["collective"], &one["ranks"], &one["bytes"]),
        (&"all_reduce".into(), &2.into(), &65536.into())
    );
    let time = |name: &str| one["time_us"][name].as_f64().unwrap();
    assert!(0.0 < time("min") && time("min") <= time("p50") && time("p99") <= time("max"));
    // For two ranks, both bandwidths are equal.
    assert_eq!(one["algbw_gbs"], one["busbw_gbs"]);
    assert_eq!(one["checked"], true);
}

#[test]
fn latencies_are_as_their_schema_says() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return;
    }
    let text = said("latency --time 1ms --passes 1 --format json");
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let schema = schema_file("latency.schema.json");
    assert_eq!(
        schema,
        serde_json::from_str::<Value>(Latency::JSON_SCHEMA).unwrap()
    );
    assert_eq!(
        faults(&schema, &value, "latency", &schema),
        Vec::<String>::new()
    );
    value["tables"][0]["ns"][0][1] = "1".into();
    assert_eq!(faults(&schema, &value, "latency", &schema).len(), 1);
}

#[test]
fn the_data_of_a_report_are_as_their_schema_says() {
    let (page, file) = (fresh("data.html"), fresh("data.json"));
    let mut report = rankfold("report --time 200ms --output");
    report.arg(&page).arg("--data").arg(&file);
    assert!(report.output().unwrap().status.success());
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let schema = schema_file("report.schema.json");
    assert_eq!(
        faults(&schema, &value, "report", &schema),
        Vec::<String>::new()
    );
    value["latency"] = Value::Null;
    assert_eq!(
        faults(&schema, &value, "report", &schema),
        Vec::<String>::new()
    );
    value["run"]["results"][0]["ranks"] = 0.into();
    value["choices"][0]["reason"] = 3.into();
    assert_eq!(faults(&schema, &value, "report", &schema).len(), 2);
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("% confidence)") && html.contains("class=\"spread\""));
}

#[test]
fn both_transports_are_measured_one_beside_the_other() {
    let run = json("all_reduce send --ranks 2 --sizes 8,4Ki --transport channels,memory,channels");
    let results = run["results"].as_array().unwrap();
    let measured = |one: &Value| {
        let [what, over] = [&one["collective"], &one["transport"]].map(|name| name.to_string());
        (what, over, one["bytes"].as_u64().unwrap())
    };
    let expected = ["all_reduce", "send"].into_iter().flat_map(|what| {
        let over = ["channels", "memory"].into_iter();
        over.flat_map(move |over| {
            [8, 4096].map(|bytes| (format!("{what:?}"), format!("{over:?}"), bytes))
        })
    });
    assert_eq!(
        results.iter().map(measured).collect::<Vec<_>>(),
        expected.collect::<Vec<_>>()
    );
    assert_eq!(results[0]["chosen"], "exchange");
    assert_eq!(results[2]["chosen"], "cells");
    let text = said(&format!(
        "bench --ranks 2 --sizes 8 --transport channels {LITTLE}"
    ));
    assert!(text.contains("auto (exchange) over channels"), "{text}");
    let output = rankfold("bench --ranks 2 --sizes 8 --transport chanels").output();
    let errors = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(errors.contains("did you mean `channels`?"), "{errors}");
}

#[test]
fn one_pass_claims_no_confidence() {
    let text = said("bench --ranks 2 --sizes 8,64 --passes 1 --iterations 2 --bind none");
    assert!(!text.contains("confidence"), "{text}");
    assert!(text.contains("+-%: not known from one pass"), "{text}");
    let two = said("bench --ranks 2 --sizes 8,64 --passes 2 --iterations 2 --bind none");
    assert!(two.contains("(50 % confidence)"), "{two}");
}

#[test]
fn every_command_that_takes_a_time_takes_minutes_and_milliseconds() {
    let little = "bench all_reduce --ranks 2 --sizes 8 --passes 1 --bind none";
    assert!(said(&format!("{little} --time 2ms")).contains("all were right"));
    for line in ["bench --time 61m", "latency --time 2m", "report --time 61m"] {
        let output = rankfold(line).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("is not above 0 and at most"),
            "{line}: {error}"
        );
    }
}

/// Scripts that read OSU's tables take each line that does not begin with `#` as numbers.
fn osu(text: &str) -> Vec<Vec<f64>> {
    let rows = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    rows.map(|row| {
        row.split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect()
    })
    .collect()
}

#[test]
fn tables_in_osus_layout_are_read_as_osus_are() {
    let line = format!(
        "bench all_reduce all_gather barrier send reduce_scatter all_to_all --ranks 2 --sizes 8,1Ki..4Ki {LITTLE} --format osu"
    );
    let text = said(&line);
    let tables: Vec<&str> = text.split("\n\n").collect();
    let names = [
        "all_reduce",
        "all_gather",
        "barrier",
        "send",
        "reduce_scatter",
        "all_to_all",
    ];
    assert_eq!(tables.len(), names.len(), "{text}");
    for (table, name) in tables.iter().zip(names) {
        assert!(
            table.starts_with(&format!("# rankfold {name} by auto Latency Test")),
            "{table}"
        );
        assert_eq!(table.lines().nth(1), Some("# Datatype: MPI_FLOAT."));
    }
    let sizes = |table: &str| osu(table).iter().map(|row| row[0]).collect::<Vec<_>>();
    assert_eq!(sizes(tables[0]), [8.0, 1024.0, 2048.0, 4096.0]);
    // OSU counts what one rank contributes, or sends to each.
    assert_eq!(sizes(tables[1]), [4.0, 512.0, 1024.0, 2048.0]);
    assert_eq!(sizes(tables[4]), sizes(tables[0]));
    assert_eq!(sizes(tables[5]), sizes(tables[1]));
    for row in osu(tables[0]) {
        let [_, average, least, greatest, iterations] = row[..] else {
            panic!("{row:?} has other columns");
        };
        assert!(least <= average && average <= greatest && iterations >= 1.0);
    }
    assert_eq!(osu(tables[2])[0].len(), 4);
    assert!(osu(tables[3]).iter().all(|row| row.len() == 2));
}

#[test]
fn each_line_of_csv_has_a_value_for_every_name() {
    let text = said(&format!(
        "bench reduce send --ranks 2,3 --sizes 8,64 --algorithm auto {LITTLE} --format csv"
    ));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<BTreeMap<&str, &str>> = lines
        .map(|line| {
            let values: Vec<&str> = line.split(',').collect();
            assert_eq!(values.len(), names.len(), "{line}");
            names.iter().copied().zip(values).collect()
        })
        .collect();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        assert!(number("min_us") <= number("p50_us") && number("p50_us") <= number("max_us"));
        assert_eq!(number("samples"), 4.0);
        assert_eq!((row["checked"], row["type"]), ("true", "f32"));
        assert_eq!(row["op"].is_empty(), row["collective"] == "send");
    }
}

#[test]
fn the_table_is_for_people_and_has_no_colour_where_there_is_no_terminal() {
    let text = said(&format!("bench --ranks 2,3 --sizes 8..64 {LITTLE}"));
    assert!(!text.contains('\x1b'));
    assert!(
        text.contains("all_reduce of f32, sum, in place\n") && text.contains("o 2 ranks"),
        "{text}"
    );
    assert!(text.contains("all were right"));
}

#[test]
fn a_picture_is_drawn_of_the_same_run() {
    let file = fresh("bench.svg");
    let mut command = rankfold(&format!(
        "bench --ranks 2,3 --sizes 8,1Ki,64Ki {LITTLE} --plot"
    ));
    assert!(command.arg(&file).output().unwrap().status.success());
    let picture = fs::read_to_string(&file).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    for word in [
        "2 ranks",
        "3 ranks",
        "64 KiB",
        "time of a call",
        "class=\"spread\"",
        "50 % intervals",
    ] {
        assert!(picture.contains(word), "{word}");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_anything_is_measured() {
    for option in ["--output", "--plot"] {
        // It would take an hour if the measurement came first.
        let line = format!(
            "bench --ranks 2 --sizes 8,64 --time 3600 --passes 1 {option} /no/such/folder/x"
        );
        let output = rankfold(&line).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            error.starts_with("error: cannot write /no/such/folder/x: ")
                && error.lines().count() == 1
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_prints_what_there_is_and_leaves_no_file() {
    let file = fresh("interrupted.json");
    let mut command = rankfold(
        "bench --ranks 2 --sizes 8 --time 3600 --passes 2 --bind none --format json --output",
    );
    command.arg(&file);
    let output = tool::stopped(command);
    assert_eq!(output.status.code(), Some(130));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(run["interrupted"], true);
    let schema = schema();
    assert_eq!(faults(&schema, &run, "run", &schema), Vec::<String>::new());
    assert!(!file.exists());
}

#[test]
fn two_runs_of_one_program_are_put_side_by_side() {
    let files = [fresh("before.json"), fresh("after.json")];
    for file in &files {
        let line = "bench all_reduce --ranks 2 --sizes 8,64 --passes 5 --iterations 2 --bind none --format json -o";
        assert!(rankfold(line).arg(file).status().unwrap().success());
    }
    let mut compare = rankfold("compare --format json");
    let output = compare.args(&files).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = schema_file("compare.schema.json");
    assert_eq!(
        schema,
        serde_json::from_str::<Value>(Comparison::JSON_SCHEMA).unwrap()
    );
    assert_eq!(
        faults(&schema, &value, "comparison", &schema),
        Vec::<String>::new()
    );
    assert_eq!(value["results"].as_array().unwrap().len(), 2);
    let text = rankfold("compare").args(&files).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for line in value["results"].as_array().unwrap() {
        let ratio = line["after_us"].as_f64().unwrap() / line["before_us"].as_f64().unwrap();
        assert!((line["ratio"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-9);
        assert!((0.0..=1.0).contains(&line["chance"].as_f64().unwrap()));
        let verdict = line["verdict"].as_str().unwrap();
        assert!(
            text.lines()
                .any(|line| line.starts_with("all_reduce") && line.ends_with(verdict))
        );
    }
}
