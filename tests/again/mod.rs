//! The tests of a file once more, in worlds whose transport is channels, or that plan for a machine with a CPU for each rank:
//! the file's own test binary runs again, with the transport or the machine in its environment and a share of the
//! repetitions. A file says which of its tests are about memory alone.

use std::env;
use std::process::Command;

/// The variables that name the transport and the machine.
const TRANSPORT: &str = "RANKFOLD_TRANSPORT";
const MACHINE: &str = "RANKFOLD_MACHINE";
/// The share of the repetitions that run over channels.
const SHARE: f64 = 0.02;
/// The same on another machine.
const SHARE_THERE: f64 = 0.1;

/// The beginning of the names of the tests that call these functions, which do not run again themselves.
const ITSELF: &str = "all_of_it_holds_";

/// Runs the tests of this binary again over channels, except those whose names begin as one of `about_memory`.
///
/// # Panics
///
/// If a test fails there, or none has run.
#[allow(dead_code)] // by files about memory alone
pub fn over_channels(about_memory: &[&str]) {
    run_with((TRANSPORT, "channels"), SHARE, about_memory);
}

/// Runs the tests of this binary again as if each of up to 64 ranks had a CPU of its own, where no rank works for all.
///
/// # Panics
///
/// If a test fails there, or none has run.
#[allow(dead_code)] // by files that run worlds of many ranks alone
pub fn where_each_rank_has_a_cpu(about_this_machine: &[&str]) {
    run_with((MACHINE, "core:64"), SHARE_THERE, about_this_machine);
}

fn run_with((variable, value): (&str, &str), share: f64, about_another: &[&str]) {
    if [TRANSPORT, MACHINE]
        .iter()
        .any(|name| env::var_os(name).is_some())
    {
        return;
    }
    let scale: Option<f64> = env::var("RANKFOLD_SCALE")
        .ok()
        .and_then(|scale| scale.parse().ok());
    let skipped = about_another.iter().chain([&ITSELF]);
    let run = Command::new(env::current_exe().expect("the path of this test"))
        .env(variable, value)
        .env("RANKFOLD_SCALE", (share * scale.unwrap_or(1.0)).to_string())
        .args(skipped.flat_map(|name| ["--skip", name]))
        .output()
        .expect("this test binary runs again");
    let said = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success(),
        "with {variable}={value}:\n{said}\n{errors}"
    );
    assert!(
        !said.contains("\nrunning 0 tests"),
        "nothing ran with {variable}={value}:\n{said}"
    );
}
