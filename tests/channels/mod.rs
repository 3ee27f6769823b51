//! The tests of a file once more, in worlds whose transport is channels: the file's own test binary runs again, with the
//! transport in its environment and a share of the repetitions. A file says which of its tests are about memory alone.

use std::env;
use std::process::Command;

/// The variable that names the transport.
const VARIABLE: &str = "RANKFOLD_TRANSPORT";
/// The share of the repetitions that run over channels.
const SHARE: f64 = 0.02;

/// The name of the test that calls [`again`], which does not run again itself.
const ITSELF: &str = "all_of_it_holds_over_channels";

/// Runs the tests of this binary again over channels, except those whose names begin as one of `about_memory`.
///
/// # Panics
///
/// If a test fails there, or none has run.
pub fn again(about_memory: &[&str]) {
    if env::var_os(VARIABLE).is_some() {
        return;
    }
    let scale: Option<f64> = env::var("RANKFOLD_SCALE")
        .ok()
        .and_then(|scale| scale.parse().ok());
    let skipped = about_memory.iter().chain([&ITSELF]);
    let run = Command::new(env::current_exe().expect("the path of this test"))
        .env(VARIABLE, "channels")
        .env("RANKFOLD_SCALE", (SHARE * scale.unwrap_or(1.0)).to_string())
        .args(skipped.flat_map(|name| ["--skip", name]))
        .output()
        .expect("this test binary runs again");
    let said = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "over channels:\n{said}\n{errors}");
    assert!(
        !said.contains("\nrunning 0 tests"),
        "nothing ran over channels:\n{said}"
    );
}
