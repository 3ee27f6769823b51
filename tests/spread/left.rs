//! The processes of a launch that are left after it, found by a variable of their environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// The processes with this value of a variable, once those that are ending have ended: what each runs, and its state.
pub fn by_mark(variable: &str, mark: &str) -> Vec<String> {
    let marked = format!("{variable}={mark}").into_bytes();
    let has_mark =
        |environment: Vec<u8>| environment.split(|byte| *byte == 0).any(|it| it == marked);
    let look = || -> Vec<String> {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let folders = processes.map(|it| it.path());
        let is_left = |folder: &PathBuf| fs::read(folder.join("environ")).is_ok_and(has_mark);
        folders.filter(is_left).map(|it| about(&it)).collect()
    };
    let looks = (0..2000).map(|_| {
        thread::yield_now();
        look()
    });
    let last = looks.take_while(|left| !left.is_empty()).last();
    last.map_or_else(Vec::new, |_| look())
}

/// What a process runs, and its state.
fn about(folder: &Path) -> String {
    let read = |file| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let (command, status) = (read("cmdline").replace('\0', " "), read("status"));
    let state = status.lines().find(|line| line.starts_with("State"));
    let state = state.unwrap_or("ended meanwhile");
    format!("{}, {state}: {command}", folder.display())
}
