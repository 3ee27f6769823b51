//! `Comm` stays small enough to be read: a collective has one name, and its variants are not methods of their own.

use std::fs;
use std::path::Path;

use sources::sources;

#[path = "support/sources.rs"]
mod sources;

/// The number of methods that fit on a page, not counting the started and persistent forms of others.
const MOST: usize = 60;

/// The public methods in the blocks `impl Comm` of a file, by the indentation of formatted code.
fn methods(code: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in code.lines() {
        inside = (inside || line == "impl Comm {") && line != "}";
        let public = line.strip_prefix("    pub ").filter(|_| inside);
        let name = public.and_then(|rest| rest.split_once("fn "));
        let name = name.and_then(|(_, rest)| rest.split(['(', '<']).next());
        found.extend(name.map(str::to_owned));
    }
    found
}

/// Whether a method is the started (`iscan`) or the persistent (`scan_init`) form of another one.
fn is_another_form(name: &str, all: &[String]) -> bool {
    let plain = name.strip_suffix("_init").or_else(|| {
        let started = name.strip_prefix('i');
        // Messages had theirs before.
        started.filter(|plain| !["send", "ssend", "recv"].contains(plain))
    });
    plain.is_some_and(|plain| all.iter().any(|other| other == plain))
}

fn methods_of_comm() -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&src);
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let mut found: Vec<String> = texts.flat_map(|code| methods(&code)).collect();
    let all = found.clone();
    found.retain(|name| !is_another_form(name, &all));
    found.sort();
    found
}

#[test]
fn comm_has_no_more_public_methods_than_fit_on_a_page() {
    let methods = methods_of_comm();
    let count = methods.len();
    assert!(methods.iter().any(|name| name == "all_reduce"));
    assert!(methods.iter().any(|name| name == "rank"));
    assert!(count <= MOST, "{count} methods: {methods:#?}");
}

#[test]
fn no_collective_has_a_twin_for_closures_or_algorithms() {
    let methods = methods_of_comm();
    let twin = |name: &&String| {
        let stem = name.strip_suffix("_by").or(name.strip_suffix("_with"));
        // `split_by` takes a level of the machine.
        stem.is_some_and(|stem| stem != "split" && methods.iter().any(|other| other == stem))
    };
    let twins: Vec<&String> = methods.iter().filter(twin).collect();
    assert!(twins.is_empty(), "{twins:?}");
}

#[test]
fn methods_are_found() {
    let code = "impl Comm {\n    pub fn a<T>(&self) {}\n    pub(super) fn b() {}\n    fn c() {}\n}\nimpl D {\n    \
                pub fn e(&self) {}\n}\n";
    assert_eq!(methods(code), ["a"]);
}
