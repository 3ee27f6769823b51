//! The table of functions in the documentation is that of the library. `RANKFOLD_BLESS=1` writes it.

use std::fmt::Write;
use std::{env, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mpi-programs.md");
const BEGIN: &str = "<!-- functions: begin -->\n";
const END: &str = "<!-- functions: end -->";

fn table() -> String {
    let mut table = String::from("| part | functions |\n|---|---|\n");
    for part in rankfold_mpi::exports::functions() {
        let names: Vec<String> = part
            .functions
            .iter()
            .map(|name| format!("`{}`", name.trim_start_matches("MPI_")))
            .collect();
        let name = if part.done {
            part.name.to_string()
        } else {
            format!("**{}**", part.name)
        };
        writeln!(table, "| {name} | {} |", names.join(", ")).unwrap();
    }
    table
}

#[test]
fn the_page_lists_every_function_and_no_other() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("the page has a place for the table");
    let (written, after) = rest.split_once(END).expect("the place has an end");
    if env::var_os("RANKFOLD_BLESS").is_some() {
        fs::write(PAGE, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
        return;
    }
    assert_eq!(written, table(), "run it with RANKFOLD_BLESS=1");
}

#[test]
fn no_function_is_in_two_parts() {
    let mut names: Vec<&str> = rankfold_mpi::exports::functions()
        .into_iter()
        .flat_map(|part| part.functions)
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(names.iter().all(|name| name.starts_with("MPI_")));
}
