//! The command-line tool: transcripts that it must reproduce exactly, files that it writes or leaves alone, and readers
//! that close the pipe.
//!
//! A transcript in `tests/golden/cli` has lines `$ rankfold ...`. Below each is what the command printed, with `! `
//! before what it printed as errors, and `= CODE` if the exit code was not 0. The commands run in that folder.
//! `RANKFOLD_BLESS=1 cargo test --features cli --test cli` writes the current output into the transcripts.
#![cfg(feature = "cli")]

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
    let explained = rankfold("explain barrier --ranks 2")
        .env("RANKFOLD_TUNING", file)
        .output()
        .unwrap();
    let explained = text(explained.stdout);
    assert!(
        explained.contains("measured at 0 B on 2 ranks"),
        "{explained}"
    );

    let bench = "bench all_reduce --ranks 4 --sizes 8 --passes 1 --iterations 1 --format json";
    let chosen = |table: &str| {
        let output = rankfold(bench)
            .env("RANKFOLD_TUNING", table)
            .output()
            .unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (_, run, errors) = chosen("tuned.txt");
    assert!(run.contains(r#""chosen": "binomial""#), "{run}{errors}");
    let (code, _, errors) = chosen("foreign.txt");
    let says = "RANKFOLD_TUNING: the tuning table is of another version of rankfold: it was written by 0.0.0, and this is";
    assert!(code == Some(2) && errors.contains(says), "{errors}");
    assert!(
        errors.contains("measure this one with `rankfold tune`; or unset RANKFOLD_TUNING"),
        "{errors}"
    );
    let (code, _, errors) = chosen("no-such-file.txt");
    assert!(
        code == Some(2) && errors.contains("cannot read no-such-file.txt"),
        "{errors}"
    );
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
fn a_picture_is_written_to_its_file() {
    let file = fresh("halving.svg");
    let mut draw = rankfold("draw halving --format svg --output");
    assert!(draw.arg(&file).status().unwrap().success());
    let picture = fs::read_to_string(&file).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
}

#[test]
fn a_picture_that_no_viewer_shows_is_refused_with_the_steps_that_fit() {
    let file = fresh("ring.svg");
    let ring = "draw ring --ranks 64 --format svg";
    let (code, error) = said(rankfold(&format!("{ring} --output")).arg(&file));
    assert_eq!(code, Some(2));
    assert!(
        error.contains("pixels is more than viewers show, which is 32767 each way"),
        "{error}"
    );
    assert!(!file.exists());
    let (_, window) = error.trim().rsplit_once("; as with ").unwrap();
    let (code, error) = said(rankfold(&format!("{ring} {window} --output")).arg(&file));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let text = rankfold("draw ring --ranks 64").output().unwrap();
    assert!(text.status.success(), "text has no such limit");
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
            "{bytes} bytes: {}: {}; next comes {}",
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
fn a_file_that_cannot_be_written_is_found_before_the_work() {
    // The folder is checked before the topology, so of two mistakes this one is reported.
    let (code, error) = said(&mut rankfold("topology chian -o /no/such/folder/x"));
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: cannot write /no/such/folder/x: "));
}

#[test]
fn a_file_keeps_what_it_has_until_there_is_something_new() {
    let (old, new) = (fresh("old.txt"), fresh("new.txt"));
    fs::write(&old, "a long line that was there before\n").unwrap();
    for file in [&old, &new] {
        let (code, _) = said(rankfold("topology chian -o").arg(file));
        assert_eq!(code, Some(2));
    }
    assert_eq!(
        fs::read_to_string(&old).unwrap(),
        "a long line that was there before\n"
    );
    assert!(!new.exists());
    assert!(
        rankfold("topology chain --ranks 2 -o")
            .arg(&old)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        fs::read_to_string(&old).unwrap(),
        "ranks 2\nroot 0\n1 0 0\n"
    );
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

/// Returns whether there are two CPUs to measure between.
fn has_two_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1)
}

#[test]
fn latencies_are_the_same_in_every_form_and_in_both_directions() {
    if !has_two_cpus() {
        return;
    }
    let picture = fresh("latency.svg");
    let mut measure =
        rankfold("latency --ways raw,slot --time 0.001 --passes 1 --format json --plot");
    let output = measure.arg(&picture).output().unwrap();
    assert!(output.status.success(), "{}", text(output.stderr));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["schema"], "rankfold.latency/1");
    let count = value["cpus"].as_array().unwrap().len();
    for table in value["tables"].as_array().unwrap() {
        for (a, b) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
            let ns = &table["ns"];
            assert_eq!(ns[a][b], ns[b][a]);
            assert_eq!(ns[a][b].as_f64().is_some_and(|ns| ns > 0.0), a != b);
        }
    }
    assert!(fs::read_to_string(&picture).unwrap().starts_with("<svg"));
    let output = rankfold("latency --ways mailbox --time 0.001 --passes 1 --format csv").output();
    let csv = text(output.unwrap().stdout);
    assert_eq!(csv.lines().next(), Some("way,cpu_a,cpu_b,ns,min_ns"));
    assert_eq!(csv.lines().count(), 1 + count * (count - 1) / 2);
}

#[test]
fn a_report_is_drawn_from_a_run_that_another_machine_has_written() {
    let page = fresh("report.html");
    let output = rankfold("report --from before.json -o")
        .arg(&page)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(output.stderr));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    for id in [
        "machine", "latency", "scaling", "roofline", "model", "choices", "noise", "about",
    ] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    assert!(!html.contains("<script") && !html.contains("NaN") && !html.contains("src="));
}

#[test]
fn costs_are_those_that_the_simulator_takes_on_the_machine_of_the_formulas() {
    let machine = "--ranks 8 --bytes 1Ki,64Ki --alpha 300 --beta 0.5 --gamma 2 --format json";
    let time = |line: &str| -> Vec<f64> {
        let output = rankfold(&format!("{line} {machine}")).output().unwrap();
        let lines = text(output.stdout);
        let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let time = |line| value(line)["time_us"].as_f64().unwrap();
        lines.lines().map(time).collect()
    };
    for algorithm in [
        "exchange",
        "halving",
        "hybrid:1",
        "ring",
        "chain:segments=16",
    ] {
        let closed = time(&format!("cost --algorithm {algorithm}"));
        let simulated = time(&format!("simulate {algorithm}"));
        assert_eq!(closed.len(), 2, "{algorithm}");
        for (a, b) in closed.iter().zip(&simulated) {
            assert!((a / b - 1.0).abs() < 1e-3, "{algorithm}: {a} and {b}");
        }
    }
}

#[test]
fn the_best_segments_and_stages_are_no_slower_than_any_other() {
    let times = |over: &str| -> Vec<(String, f64)> {
        let line = format!("cost all_reduce --ranks 16 --bytes 64Ki {over} --format json");
        let lines = text(rankfold(&line).output().unwrap().stdout);
        let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let one = |line| {
            let value = value(line);
            (
                value["algorithm"].to_string(),
                value["time_us"].as_f64().unwrap(),
            )
        };
        lines.lines().map(one).collect()
    };
    for (family, over) in [("chain:segments", "segments"), ("hybrid", "stages")] {
        let family = family
            .replace("segments", "segments=")
            .replace("hybrid", "hybrid:");
        let best = times(&format!("--algorithm {family}best"));
        let all = times(&format!("--algorithm {family}best --over {over}"));
        assert!(best.len() == 1 && all.len() > 4, "{best:?} {all:?}");
        assert!(
            all.iter().all(|one| one.1 >= best[0].1 * (1.0 - 1e-9)),
            "{best:?} {all:?}"
        );
    }
}

#[test]
fn costs_and_simulations_are_drawn_with_their_crossovers() {
    for line in [
        "cost all_reduce --ranks 64",
        "cost all_reduce --ranks 2..64 --bytes 1Ki",
        "cost broadcast --efficiency 0.8 --ranks 2,8,32",
        "simulate exchange halving --bytes 8..1Mi --ranks 8",
        "simulate hybrid:1 --bytes 64Ki --ranks 16 --over stages",
    ] {
        let file = format!("{}/cost.svg", env!("CARGO_TARGET_TMPDIR"));
        let output = rankfold(&format!("{line} --plot {file}")).output().unwrap();
        assert!(output.status.success(), "{line}: {}", text(output.stderr));
        let svg = std::fs::read_to_string(&file).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("</svg>"), "{line}");
        let is_crossed = line.starts_with("simulate exchange") || line.ends_with("--ranks 64");
        assert!(!is_crossed || svg.contains("exchange | "), "{line}");
    }
}

#[test]
fn costs_that_make_no_sense_are_one_clear_line() {
    for (line, says) in [
        (
            "cost all_reduce --efficiency 2",
            "--efficiency: 2 is not between 0 and 1",
        ),
        (
            "cost gather --efficiency 0.5",
            "there is no program around gather",
        ),
        (
            "cost all_reduce --algorithm cells",
            "no closed form of all_reduce",
        ),
        (
            "cost all_reduce --algorithm halvign",
            "did you mean `halving`?",
        ),
        ("cost all_reduce --bytes 7", "no whole number of elements"),
    ] {
        let output = rankfold(line).output().unwrap();
        let errors = text(output.stderr);
        assert!(
            output.status.code() == Some(2) && errors.contains(says),
            "{line}: {errors}"
        );
    }
}
