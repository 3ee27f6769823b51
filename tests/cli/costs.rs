//! Latencies, costs and reports, in every form and against the simulator.

use std::fs;

use super::{fresh, rankfold, text};

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

/// Returns the sections of the report of a run whose results are these: algorithm, ranks, bytes, transport, microseconds.
fn sections(name: &str, results: &[(&str, u64, u64, &str, f64)]) -> Vec<String> {
    use serde_json::{Value, json};
    let text = fs::read_to_string(super::golden().join("before.json")).unwrap();
    let mut run: Value = serde_json::from_str(&text).unwrap();
    let template = run["results"][0].clone();
    let result = |&(algorithm, ranks, bytes, transport, us): &(&str, u64, u64, &str, f64)| {
        let mut one = template.clone();
        one["algorithm"] = algorithm.into();
        one["chosen"] = (algorithm == "auto").then_some("exchange").into();
        one["transport"] = transport.into();
        (one["ranks"], one["bytes"], one["block_bytes"]) =
            (ranks.into(), bytes.into(), bytes.into());
        let rate = bytes as f64 / us / 1e3;
        (one["algbw_gbs"], one["busbw_gbs"]) = (rate.into(), rate.into());
        one["time_us"] = json!({"min": us, "p50": us, "p99": us, "max": us});
        one["median_us"] = json!({"low": 0.9 * us, "high": 1.1 * us, "confidence": 0.96875});
        one
    };
    run["results"] = results.iter().map(result).collect();
    let (file, page) = (
        fresh(&format!("{name}.json")),
        fresh(&format!("{name}.html")),
    );
    fs::write(&file, run.to_string()).unwrap();
    let mut report = rankfold("report");
    let report = report.arg("--from").arg(&file).arg("-o").arg(&page);
    let output = report.output().unwrap();
    assert!(output.status.success(), "{}", super::text(output.stderr));
    let html = fs::read_to_string(&page).unwrap();
    let wanted = ["scaling", "roofline", "model", "choices"];
    let sections = html.split("<section id=\"");
    let own = sections.filter(|part| wanted.iter().any(|id| part.starts_with(&format!("{id}\""))));
    own.map(str::to_owned).collect()
}

#[test]
fn a_report_is_about_one_transport_and_in_one_order() {
    let mut own = Vec::new();
    for (by, algorithm) in ["auto", "exchange", "halving"].into_iter().enumerate() {
        for ranks in [2, 4] {
            for (at, bytes) in [8, 512, 32 << 10, 1 << 20].into_iter().enumerate() {
                let us = (by as f64 + 1.0) * ranks as f64 * 5f64.powi(at as i32);
                own.push((algorithm, ranks, bytes, "memory", us));
            }
        }
    }
    let wanted = sections("own", &own);
    assert_eq!(wanted.len(), 4);
    assert!(wanted[3].contains("Was it right?"), "{}", wanted[3]);
    let others = own
        .iter()
        .map(|&(by, ranks, bytes, _, us)| (by, ranks, bytes, "channels", us / 3.0));
    let both: Vec<_> = own.iter().copied().chain(others).collect();
    assert_eq!(sections("both", &both), wanted);
    own.reverse();
    assert_eq!(sections("reversed", &own), wanted);
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
            assert!((a / b - 1.0).abs() < 1e-9, "{algorithm}: {a} and {b}");
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
        (
            "cost all_gather --algorithm far-halving --efficiency 0.8 --ranks 4",
            "no closed form of all_gather by far-halving",
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

#[test]
fn no_problem_is_large_enough_where_there_is_no_closed_form() {
    let line =
        "cost broadcast --algorithm esbt:segments=best --efficiency 0.8 --ranks 2..5 --format json";
    let output = rankfold(line).output().unwrap();
    assert!(output.status.success(), "{}", text(output.stderr));
    let sizes = text(output.stdout);
    let sizes = sizes.lines().map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        (
            value["ranks"].as_u64().unwrap(),
            value["isoefficiency"].as_f64(),
        )
    });
    for (ranks, size) in sizes {
        assert_eq!(size.is_some(), ranks.is_power_of_two(), "{ranks} ranks");
        assert!(
            size.is_none_or(|size| size < 1e12),
            "{ranks} ranks: {size:?}"
        );
    }
}

#[test]
fn a_barrier_has_closed_forms() {
    let output = rankfold("cost barrier --ranks 8").output().unwrap();
    let lines = text(output.stdout);
    assert!(output.status.success(), "{}", text(output.stderr));
    let times = |name: &str| {
        let line = lines.lines().find(|line| line.starts_with(name))?;
        Some(line.split_whitespace().skip(1).take(3).collect::<Vec<_>>())
    };
    assert_eq!(times("dissemination"), Some(vec!["8", "0", "3"]), "{lines}");
}

#[test]
fn the_size_of_a_problem_is_found_for_as_many_ranks_as_the_help_asks_for() {
    let output = rankfold("cost broadcast --efficiency 0.8 --ranks 2..64").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(output.stderr));
    assert!(text(output.stdout).lines().count() > 63);
}
