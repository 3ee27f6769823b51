//! The page `docs/papers.md`: it is the table in `tests/papers`, every command in it shows what it says, every public name
//! and every test that it names exists, and what it claims of costs and slips is so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::simulate::{MachineModel, simulate};
use rankfold::topology::Topology;

use page::{Row, TEXTS, references, slips, text};
use sources::sources;

#[path = "../examples/papers/options.rs"]
mod options;
#[path = "papers/page.rs"]
mod page;
#[path = "../examples/papers/programs/mod.rs"]
mod programs;
#[path = "../examples/papers/show.rs"]
mod show;
#[path = "support/sources.rs"]
mod sources;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rows() -> Vec<Row> {
    TEXTS.iter().flat_map(|name| text(name).rows).collect()
}

// ── the page ──

#[test]
fn the_page_in_the_docs_is_the_one_that_the_table_makes() {
    let path = root().join("docs/papers.md");
    let made = page::page();
    if std::env::var_os("RANKFOLD_BLESS").is_some() {
        fs::write(&path, made).unwrap();
    } else {
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(written, made, "make it again, as its first lines say");
    }
}

#[test]
fn every_row_has_a_name_a_command_and_a_test() {
    let rows = rows();
    assert!(rows.len() >= 110, "{} rows", rows.len());
    for row in &rows {
        let full = [&row.place, &row.what, &row.command, &row.says];
        assert!(full.iter().all(|part| !part.is_empty()), "{row:?}");
        assert!(!row.names.is_empty() && !row.tests.is_empty(), "{row:?}");
    }
    for slip in slips() {
        assert!(
            !slip.differs.is_empty() && !slip.tests.is_empty(),
            "{slip:?}"
        );
    }
}

/// Runs of blanks count as one.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn shows(row: &Row, printed: &str) {
    assert!(
        words(printed).contains(&words(&row.says)),
        "`{}` does not show {:?}:\n{printed}",
        row.command,
        row.says
    );
}

#[test]
fn every_program_of_the_page_runs_and_shows_what_it_says() {
    let mut ran = 0;
    for row in rows() {
        let Some(arguments) = row.command.strip_prefix("papers ") else {
            continue;
        };
        let words: Vec<_> = arguments.split_whitespace().collect();
        let options = options::parse(&words).unwrap_or_else(|error| panic!("{arguments}: {error}"));
        let printed =
            show::printed(&options).unwrap_or_else(|error| panic!("{arguments}: {error}"));
        shows(&row, &printed);
        ran += 1;
    }
    assert!(ran > 30, "{ran} commands");
}

#[test]
fn what_a_program_does_not_know_is_refused_with_the_code_of_wrong_arguments() {
    for words in [
        ["reduce", "--ranks", "0"],
        ["gauss", "--width", "1"],
        ["scatter", "--ranks", "6"],
    ] {
        assert!(options::parse(&words).is_err(), "{words:?}");
    }
    assert_eq!(show::Failure::Usage("an option".into()).code(), 2);
}

#[cfg(feature = "cli")]
#[test]
fn every_command_of_the_page_runs_and_shows_what_it_says() {
    let mut ran = 0;
    for row in rows() {
        let Some(arguments) = row.command.strip_prefix("rankfold ") else {
            assert!(row.command.starts_with("papers "), "{}", row.command);
            continue;
        };
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rankfold"));
        command
            .args(arguments.split_whitespace())
            .current_dir(root());
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8(printed).unwrap();
        let code = if row.refused { 2 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{arguments}\n{printed}");
        shows(&row, &printed);
        ran += 1;
    }
    assert!(ran > 90, "{ran} commands");
}

// ── what the page names ──

/// The names of the items of the library, and of their variants and public fields.
fn definitions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in sources(&root().join("src")) {
        for line in fs::read_to_string(path).unwrap().lines() {
            names.extend(item(line).or_else(|| member(line)).map(str::to_owned));
        }
    }
    names
}

/// The name that a line begins with, and what follows it.
fn name(line: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.split_at(line.find(|c| !is_part(c)).unwrap_or(line.len()))
}

/// The item that a line defines.
fn item(line: &str) -> Option<&str> {
    let heads = ["fn ", "struct ", "enum ", "trait ", "type ", "mod "];
    let after = |head: &str| line.split_once(head).map(|(_, after)| name(after).0);
    heads.into_iter().find_map(after)
}

/// The variant or public field that a line defines.
fn member(line: &str) -> Option<&str> {
    let line = line.strip_prefix("    ")?;
    let (is_field, line) = line
        .strip_prefix("pub ")
        .map_or((false, line), |it| (true, it));
    let (name, rest) = name(line);
    let ends: &[&str] = if is_field { &[":"] } else { &[",", " {"] };
    ends.iter().any(|end| rest.starts_with(end)).then_some(name)
}

#[test]
fn every_public_name_of_the_page_exists() {
    let defined = definitions();
    for row in rows() {
        for part in row.names.iter().flat_map(|name| name.split("::")) {
            assert!(defined.contains(part), "{part} in {:?}", row.names);
        }
    }
}

#[test]
fn every_test_of_the_page_exists() {
    for row in rows().into_iter().chain(slips()) {
        for test in &row.tests {
            let (file, name) = test.rsplit_once("::").unwrap();
            let path = root()
                .join("tests")
                .join(file.replace("::", "/"))
                .with_extension("rs");
            let code = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{test}: {error}"));
            assert!(code.contains(&format!("fn {name}(")), "{test}");
        }
    }
}

#[test]
fn every_source_of_an_algorithm_is_a_reference() {
    let keys: Vec<_> = references().into_iter().map(|(key, _)| key).collect();
    for collective in Collective::all() {
        for algorithm in Algorithm::all(collective) {
            for source in algorithm.source().split("; ").filter(|one| *one != "-") {
                let source = source.trim_start_matches("after ");
                let source = source.trim_start_matches("scans: ");
                let known = keys.iter().any(|key| source.starts_with(key.as_str()));
                assert!(known, "{algorithm}: {source}");
            }
        }
    }
}

// ── what the page claims ──

/// The simulated time of a call by an algorithm, on the tool's machine.
fn time(name: &str, call: &Call) -> f64 {
    let algorithm: Algorithm = name.parse().unwrap();
    let schedule = algorithm.schedule(call).unwrap();
    let machine = MachineModel::default().element_bytes(8);
    simulate(&schedule, &machine).unwrap().total
}

#[test]
fn the_binomial_tree_is_faster_for_short_vectors_and_halving_for_long_ones() {
    for p in [8, 13, 64] {
        let reduce = |name, length| time(name, &Call::new(Collective::Reduce, p, length));
        assert!(reduce("binomial", 1) < reduce("recursive-halving", 1));
        assert!(reduce("binomial", 1 << 21) > reduce("recursive-halving", 1 << 21));
    }
}

#[test]
fn simple_exchange_is_faster_for_short_vectors_and_recursive_halving_for_long_ones() {
    for p in [8, 13, 64] {
        let all = |name, length| time(name, &Call::new(Collective::AllReduce, p, length));
        assert!(all("simple-exchange", 1) < all("recursive-halving", 1));
        assert!(all("simple-exchange", 1 << 17) > all("recursive-halving", 1 << 17));
    }
}

#[test]
fn a_long_message_goes_down_a_pipeline_in_less_time_than_down_the_binomial_tree() {
    let broadcast = |name| time(name, &Call::new(Collective::Broadcast, 8, 1 << 21));
    assert!(broadcast("linear-pipeline:segments=1024") < broadcast("binomial"));
}

#[test]
fn the_next_step_of_the_root_of_the_example_at_0_is_1() {
    let example = Topology::k_tree(8, 2);
    assert_eq!(example.next_step(0, Some(0)), Some(1));
    assert_eq!(example.next_step(0, Some(1)), None);
}

// ── slips ──

/// The ranks that take part in a step of the hypercube listings as C reads them: `virtualId & (mask == 0)`.
fn in_the_step(d: u32, i: u32) -> impl Iterator<Item = usize> {
    let mask = (1usize << i) - 1;
    (0..1usize << d).filter(move |id| id & usize::from(mask == 0) != 0)
}

#[test]
fn without_parentheses_ranks_wait_for_a_message_that_none_sends() {
    for d in 1..=6 {
        assert!((1..d).all(|i| in_the_step(d, i).next().is_none()));
        let last: Vec<_> = in_the_step(d, 0).collect();
        assert!(last.iter().all(|id| id % 2 == 1) && last.len() == 1 << (d - 1));
        // `virtualId & (temp == 0)`, with temp = 1: nobody sends, so all of them receive.
        assert!(last.iter().all(|id| id & usize::from(1 == 0) == 0));
    }
}

/// The ranks to which the binomial broadcast sends, with the guard as printed.
fn printed_binomial(p: usize) -> impl Iterator<Item = usize> {
    let steps = p.next_power_of_two().ilog2();
    (0..steps).rev().flat_map(move |i| {
        let senders = (0..p).filter(move |id| id % (2 << i) == 0);
        senders
            .map(move |id| id + (1 << i))
            .filter(move |&to| to <= p)
    })
}

#[test]
fn with_the_printed_guard_the_binomial_broadcast_sends_to_a_rank_that_there_is_not() {
    for p in 1..=130 {
        let outside = printed_binomial(p).any(|to| to == p);
        assert_eq!(outside, !p.is_power_of_two(), "{p} ranks");
    }
}

#[test]
fn with_the_printed_guard_the_last_rank_of_a_pipeline_sends_on() {
    for p in 1..=33 {
        let last = p - 1;
        let sends_on = |n: usize| last != n;
        assert!(sends_on(p), "n is the number of nodes");
        for packets in 1..=40 {
            assert_eq!(
                sends_on(packets),
                packets != p - 1,
                "{p} ranks, {packets} packets"
            );
        }
    }
}
