//! No test reads a clock or sleeps: threads are ordered by messages, barriers and counters, and no outcome depends on
//! how busy the machine is. Files and functions are short, and no test is run by nobody. Checked against the source.

use std::fs;
use std::path::Path;

use functions::{FUNCTION_LINES, functions};
use sources::sources;

#[path = "support/functions.rs"]
mod functions;
#[path = "support/sources.rs"]
mod sources;

/// The functions of a test that asserts a time, or orders threads by one.
const CLOCKS: [&str; 5] = [
    "sleep(",
    "sleep_until(",
    "Instant",
    "SystemTime",
    ".elapsed()",
];

/// This file names them.
const SELF: &str = "manners.rs";

/// Returns whether code names a clock, and not something whose name only ends like that.
fn names(code: &str, clock: &str) -> bool {
    let is_of_a_name = |before: char| before.is_alphanumeric() || before == '_';
    let mut found = code.match_indices(clock);
    found.any(|(at, _)| clock.starts_with('.') || !code[..at].ends_with(is_of_a_name))
}

/// Returns lines of code that name a clock, with their numbers.
fn clocks<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let code = lines.map(|(number, line)| (number, line.split("//").next().unwrap_or_default()));
    let named = code.filter(|(_, code)| CLOCKS.iter().any(|clock| names(code, clock)));
    named
        .map(|(number, code)| format!("line {}: {}", number + 1, code.trim()))
        .collect()
}

/// A file of more lines is more than one idea.
const FILE_LINES: usize = 500;

/// The folders of code beside `src`, whose files `layering.rs` looks at.
const FOLDERS: [&str; 4] = ["benches", "crates", "examples", "tests"];

fn assert_none(path: &Path, found: Vec<String>) {
    assert!(
        found.is_empty(),
        "{} asks a clock or sleeps: order threads by messages, barriers or counters instead\n{}",
        path.display(),
        found.join("\n")
    );
}

#[test]
fn no_integration_test_asks_a_clock_or_sleeps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for path in sources(&folder) {
        if path.file_name().is_some_and(|name| name != SELF) {
            let text = fs::read_to_string(&path).unwrap();
            assert_none(&path, clocks(text.lines().enumerate()));
        }
    }
}

/// The tests of a module are at its end, or in a separate file.
#[test]
fn no_unit_test_asks_a_clock_or_sleeps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&folder) {
        let text = fs::read_to_string(&path).unwrap();
        let apart = path.ends_with("tests.rs");
        let lines = text.lines().enumerate();
        let tests = lines.skip_while(|(_, line)| !apart && !line.starts_with("mod tests {"));
        assert_none(&path, clocks(tests));
    }
}

#[test]
fn files_and_functions_beside_the_library_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for path in FOLDERS.iter().flat_map(|name| sources(&root.join(name))) {
        let (code, file) = (fs::read_to_string(&path).unwrap(), path.display());
        let lines = code.lines().count();
        assert!(lines <= FILE_LINES, "{file} has {lines} lines");
        for (name, lines) in functions(&code) {
            assert!(
                lines <= FUNCTION_LINES,
                "{name} in {file} has {lines} lines"
            );
        }
    }
}

#[test]
fn a_clock_is_found_in_code_and_not_in_comments() {
    let text = "let begin = Instant::now();\n// no Instant here\nthread::sleep(short); // why\nfn they_sleep() {}";
    let found = clocks(text.lines().enumerate());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("line 3: thread::sleep"), "{found:?}");
}

/// `cargo test` runs those of the default features.
#[test]
fn a_test_of_a_feature_is_named_by_a_check() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let scripts = [".ci/cli", ".ci/mpi-processes"].map(|script| read(&root.join(script)));
    let mut gated = 0;
    for entry in fs::read_dir(root.join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        let gate = |line: &str| line.starts_with("#![cfg(") && line.contains("feature");
        if !is_code || !read(&path).lines().any(gate) {
            continue;
        }
        gated += 1;
        let option = format!("--test {} ", path.file_stem().unwrap().to_str().unwrap());
        let names = |script: &String| format!("{script} ").replace('\n', " ").contains(&option);
        assert!(
            scripts.iter().any(names),
            "no script runs {}",
            path.display()
        );
    }
    assert!(gated > 5, "{gated}");
}
