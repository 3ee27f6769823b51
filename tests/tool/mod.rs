//! What the tests of the command-line tool share: a command that Ctrl-C stops.
#![cfg(all(feature = "cli", target_os = "linux"))]

use std::fs;
use std::process::{Command, Output, Stdio};

/// Returns the output of a command that Ctrl-C stops as early as possible: as soon as it has a handler for it.
pub fn stopped(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while !catches_interrupts(child.id()) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        std::thread::yield_now();
    }
    let kill = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(kill.unwrap().success());
    child.wait_with_output().unwrap()
}

/// Returns whether a process has installed a handler for SIGINT.
fn catches_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
}
