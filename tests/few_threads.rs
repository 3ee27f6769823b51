//! The command-line tool where the system refuses to start threads: one error, and no waiting for the missing threads.
//!
//! The limit is on address space, which applies to every user: a thread takes 512 MiB for its stack (`RUST_MIN_STACK`),
//! so 1 GiB is enough for one thread beside the first, and 256 MiB for none.
#![cfg(all(feature = "cli", target_os = "linux"))]

use std::process::{Command, Output};

const COMMANDS: [&str; 6] = [
    "bench all_reduce --ranks 2 --sizes 8 --passes 1 --time 0.01",
    "latency --ways raw --passes 1",
    "latency --ways slot --passes 1",
    "check all --collective broadcast --ranks 1..4",
    "report --time 1 -o never-written.html",
    "tune --collective all_reduce --ranks 2 --time 1 --anyway",
];

/// Runs the tool with `kibibytes` of address space. The leading command ends a tool that waits forever.
fn with_memory(kibibytes: usize, arguments: &str) -> Output {
    let script = format!("ulimit -v {kibibytes} && exec \"$@\"");
    Command::new("timeout")
        .args(["60", "sh", "-c", &script, "sh"])
        .arg(env!("CARGO_BIN_EXE_rankfold"))
        .args(arguments.split_whitespace())
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("RUST_MIN_STACK", (512 << 20).to_string())
        .output()
        .unwrap()
}

fn refused(kibibytes: usize) {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("skipped: the commands need two CPUs to start two threads");
        return;
    }
    for command in COMMANDS {
        let output = with_memory(kibibytes, command);
        let errors = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = errors.lines().collect();
        assert_eq!(output.status.code(), Some(2), "{command}: {errors}");
        assert!(
            matches!(lines[..], [line] if line.starts_with("error: ") && line.contains("could not be started: ")),
            "{command}: {errors}"
        );
    }
}

#[test]
fn a_second_thread_that_cannot_be_started_is_one_error_and_no_hang() {
    refused(1 << 20);
}

#[test]
fn a_first_thread_that_cannot_be_started_is_one_error() {
    refused(1 << 18);
}
