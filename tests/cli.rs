//! The command-line tool: transcripts that it must reproduce exactly, files that it writes or leaves alone, and readers
//! that close the pipe.
//!
//! A transcript in `tests/golden/cli` has lines `$ rankfold ...`. Below each is what the command printed, with `! `
//! before what it printed as errors, and `= CODE` if the exit code was not 0. The commands run in that folder.
//! `RANKFOLD_BLESS=1 cargo test --features cli --test cli` writes the current output into the transcripts.
#![cfg(feature = "cli")]

#[path = "cli/costs.rs"]
mod costs;
#[path = "cli/files.rs"]
mod files;
mod tool;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cli")
}

/// Returns the tool with these arguments, a word each, and optionally `< FILE`.
fn rankfold(line: &str) -> Command {
    let (arguments, input) = line.split_once(" < ").unwrap_or((line, ""));
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankfold"));
    command
        .args(arguments.split_whitespace())
        .current_dir(golden());
    command.stdin(match input {
        "" => Stdio::null(),
        file => File::open(golden().join(file)).unwrap().into(),
    });
    command
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn transcript(line: &str) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = rankfold(line).output().unwrap();
    let errors = text(stderr);
    let mut all = format!(
        "{}\n{}",
        format!("$ rankfold {line}").trim_end(),
        text(stdout)
    );
    all.extend(errors.lines().map(|line| format!("! {line}\n")));
    if !status.success() {
        all += &format!("= {}\n", status.code().unwrap());
    }
    all
}

#[track_caller]
fn repeats(name: &str) {
    let path = golden().join(name);
    let wanted = fs::read_to_string(&path).unwrap();
    let lines = wanted
        .lines()
        .filter_map(|line| line.strip_prefix("$ rankfold"));
    let got: String = lines.map(|line| transcript(line.trim())).collect();
    if std::env::var_os("RANKFOLD_BLESS").is_some() {
        fs::write(&path, got).unwrap();
    } else {
        assert_eq!(got, wanted, "{name} is not what the tool prints now");
    }
}

/// Returns the path of a new file of this test.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

fn said(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    (output.status.code(), text(output.stderr))
}

#[test]
fn topologies_are_printed_as_they_were() {
    repeats("topology.txt");
}

#[test]
fn checks_are_printed_as_they_were() {
    repeats("check.txt");
}

#[test]
fn all_algorithms_of_all_collectives_are_proved() {
    let output = rankfold("check --ranks 1..9 --format json")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(output.stderr));
    let lines = text(output.stdout);
    let proved = |line: &str| line.contains(r#""result": "proved""#);
    assert!(
        lines.lines().all(proved) && lines.lines().count() > 50,
        "{lines}"
    );
}

#[test]
fn drawings_are_printed_as_they_were() {
    repeats("draw.txt");
}

#[test]
fn timings_are_printed_as_they_were() {
    repeats("simulate.txt");
}

#[test]
fn machines_are_printed_as_they_were() {
    repeats("machine.txt");
}

#[test]
fn comparisons_are_printed_as_they_were() {
    repeats("compare.txt");
}

#[test]
fn traces_are_merged_as_they_were() {
    repeats("trace.txt");
}

#[test]
fn a_merged_trace_is_written_and_not_merged_again() {
    let path = fresh("merged.json");
    let file = path.to_str().unwrap();
    let merge = format!("trace merge trace-0.json trace-1.json -o {file}");
    assert_eq!(said(&mut rankfold(&merge)), (Some(0), String::new()));
    let (code, errors) = said(&mut rankfold(&format!("trace merge {file}")));
    assert_eq!(code, Some(2));
    assert!(errors.contains("is merged already"), "{errors}");
}

#[test]
fn what_cannot_be_tuned_or_explained_is_said_as_it_was() {
    repeats("tune.txt");
}

#[test]
fn a_table_is_written_and_followed_by_whoever_is_given_it() {
    let path = fresh("table.txt");
    let file = path.to_str().unwrap();
    let tuned = rankfold(&format!(
        "tune -o {file} --anyway --time 500ms --ranks 2 --collective barrier,scan"
    ))
    .output()
    .unwrap();
    assert!(tuned.status.success(), "{}", text(tuned.stderr));
    assert!(text(tuned.stdout).starts_with(&format!("{file}: ")));
    let table = fs::read_to_string(&path).unwrap();
    assert!(table.contains("meanwhile "), "how noisy it was: {table}");
    let (_, explained, _) = with_table(file, "explain barrier --ranks 2");
    assert!(
        explained.contains("measured at 0 B on 2 ranks"),
        "{explained}"
    );
    assert_benches_follow();
}

/// Runs the tool with a tuning table; returns its exit code, its output and its errors.
fn with_table(table: &str, line: &str) -> (Option<i32>, String, String) {
    let output = rankfold(line)
        .env("RANKFOLD_TUNING", table)
        .output()
        .unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Checks what a benchmark does with a table of this version, with one of another, and without the file.
fn assert_benches_follow() {
    let bench = "bench all_reduce --ranks 4 --sizes 8 --passes 1 --iterations 1 --format json";
    let (_, run, errors) = with_table("tuned.txt", bench);
    assert!(run.contains(r#""chosen": "binomial""#), "{run}{errors}");
    let (code, _, errors) = with_table("foreign.txt", bench);
    let says = "RANKFOLD_TUNING: the tuning table is of another version of rankfold: it was written by 0.0.0, and this is";
    assert!(code == Some(2) && errors.contains(says), "{errors}");
    assert!(
        errors.contains("measure this one with `rankfold tune`; or unset RANKFOLD_TUNING"),
        "{errors}"
    );
    let (code, _, errors) = with_table("no-such-file.txt", bench);
    assert!(
        code == Some(2) && errors.contains("cannot read no-such-file.txt"),
        "{errors}"
    );
}

#[test]
fn what_is_explained_for_a_machine_that_stands_in_is_what_worlds_do_there() {
    let on = |table: &str, line: &str| {
        let mut run = rankfold(line);
        let run = run.env("RANKFOLD_MACHINE", "core:4");
        let output = run.env("RANKFOLD_TUNING", table).output().unwrap();
        assert!(output.status.success(), "{}", text(output.stderr));
        text(output.stdout)
    };
    let line = "explain all_reduce --ranks 4 --bytes 8";
    let (_, followed, _) = with_table("tuned.txt", line);
    assert!(followed.starts_with("8 bytes: binomial: "), "{followed}");
    for table in ["tuned.txt", "foreign.txt", "no-such-file.txt"] {
        let explained = on(table, line);
        assert!(explained.starts_with("8 bytes: cells: "), "{explained}");
        assert!(!explained.contains("the tuning table"), "{explained}");
        let last = explained.lines().last();
        let told = last.is_some_and(|last| last.starts_with("not followed: RANKFOLD_TUNING, as "));
        assert!(told, "{explained}");
    }
    let explained = on("foreign.txt", &format!("{line} --tuning tuned.txt"));
    assert!(explained.starts_with("8 bytes: binomial: "), "{explained}");
    assert!(!explained.contains("not followed"), "{explained}");
}

#[test]
fn what_is_json_is_json_with_a_schema_on_every_line() {
    for (line, schema) in [
        (
            "topology chain --ranks 3 --format json",
            "rankfold.topology/1",
        ),
        (
            "check all --ranks 3 --elements 3 --format json",
            "rankfold.check/1",
        ),
        (
            "simulate all --ranks 3 --bytes 24 --format json",
            "rankfold.simulate/1",
        ),
        ("machine --format json", "rankfold.machine/1"),
        (
            "explain reduce --ranks 4 --bytes 8,64 --format json",
            "rankfold.explain/1",
        ),
    ] {
        let output = text(rankfold(line).output().unwrap().stdout);
        let values = serde_json::Deserializer::from_str(&output).into_iter::<serde_json::Value>();
        let schemas: Vec<_> = values
            .map(|value| value.unwrap()["schema"].clone())
            .collect();
        assert!(!schemas.is_empty() && schemas.iter().all(|found| found == schema));
    }
}

#[test]
fn a_million_ranks_are_timed_to_the_end() {
    let line =
        "simulate --collective reduce --algorithm binomial --ranks 1048576 --bytes 8 --format json";
    let output = text(rankfold(line).output().unwrap().stdout);
    let value: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(
        (&value["steps"], &value["messages"]),
        (&20.into(), &1_048_575.into())
    );
}

#[test]
fn what_is_explained_as_json_is_what_is_explained_as_text() {
    let line = "explain all_reduce --ranks 5 --bytes 8,64Ki --bind none --tuning tuned.txt";
    let plain = text(rankfold(line).output().unwrap().stdout);
    let output = rankfold(&format!("{line} --format json")).output().unwrap();
    let lines = text(output.stdout);
    for (line, bytes) in lines.lines().zip([8, 65536]) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&value["collective"], &value["ranks"], &value["bytes"]),
            (&"all_reduce".into(), &5.into(), &bytes.into())
        );
        let word = |name: &str| value[name].as_str().unwrap().to_owned();
        let said = format!(
            "{bytes} bytes: {}: {}; second choice: {}",
            word("algorithm"),
            word("reason"),
            word("runner_up")
        );
        assert!(plain.contains(&said), "{said} is not in {plain}");
        assert!(
            value["refused"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        );
    }
    assert_eq!(lines.lines().count(), 2);
}

/// Returns the exit code and the output of a command that Ctrl-C stops as early as possible.
#[cfg(target_os = "linux")]
fn stopped(line: &str) -> (Option<i32>, String) {
    let output = tool::stopped(rankfold(line));
    (output.status.code(), text(output.stdout))
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_ends_a_proof_and_a_simulation_with_what_there_is() {
    // Each would take days.
    let (code, lines) = stopped("simulate ring --ranks 1048576 --bytes 8Mi");
    assert_eq!(code, Some(130));
    assert!(
        lines.contains("interrupted: what is not here was not timed"),
        "{lines}"
    );
    let (code, lines) =
        stopped("check ring pairwise --ranks 4000..4096 --elements 100000 --format json");
    assert_eq!(code, Some(130));
    let interrupted = |line: &str| line.contains(r#""result": "interrupted""#);
    assert!(
        lines.lines().count() > 1 && lines.lines().all(interrupted),
        "{lines}"
    );
}

#[test]
fn input_that_makes_no_sense_is_one_line_and_exit_code_2() {
    for name in ["refused.txt", "bench.txt", "report.txt"] {
        repeats(name);
        let refused = fs::read_to_string(golden().join(name)).unwrap();
        let count = |start| {
            refused
                .lines()
                .filter(|line| line.starts_with(start))
                .count()
        };
        assert_eq!((count("$ "), count("$ ")), (count("! "), count("= 2")));
    }
}

#[test]
fn every_form_of_a_topology_reads_back() {
    for form in ["text", "json"] {
        let file = fresh(&format!("again.{form}"));
        let line = format!("topology fibonacci --ranks 20 --root 3 --format {form} --output");
        assert!(rankfold(&line).arg(&file).status().unwrap().success());
        let again = rankfold("topology").arg(&file).output().unwrap();
        let first = rankfold("topology fibonacci --ranks 20 --root 3").output();
        assert_eq!(text(again.stdout), text(first.unwrap().stdout));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = rankfold("topology chain --ranks 100000")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 5];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!((first, output.status.code()), (*b"ranks", Some(0)));
    assert_eq!(text(output.stderr), "");
}

#[test]
fn help_is_no_error() {
    for line in [
        "--help",
        "topology --help",
        "help check",
        "draw -h",
        "simulate -h",
        "bench --help",
        "help compare",
        "latency --help",
        "report --help",
        "help man",
        "--version",
    ] {
        let output = rankfold(line).output().unwrap();
        assert!(output.status.success(), "{line}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty());
    }
}

#[test]
fn the_table_of_algorithms_in_the_docs_is_the_one_that_is_printed() {
    let printed = rankfold("algorithms --format markdown").output().unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/algorithms.md");
    let written = fs::read_to_string(page).unwrap();
    assert_eq!(
        text(printed.stdout),
        written,
        "make it again, as its first lines say"
    );
}

#[test]
fn every_shell_gets_its_completions_and_every_command_its_page() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = rankfold(&format!("completions {shell}")).output().unwrap();
        let script = text(output.stdout);
        assert!(
            script.contains("simulate") && script.contains("latency"),
            "{shell}"
        );
    }
    let page = |line: &str| text(rankfold(line).output().unwrap().stdout);
    assert!(page("man").contains(".TH rankfold 1") && page("man").contains("simulate"));
    assert!(page("man bench").contains(".TH rankfold-bench 1"));
    assert!(page("man bench").contains("rankfold bench broadcast send"));
}
