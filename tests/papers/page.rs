//! Reads the table of the texts, and writes it as the page `docs/papers.md`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of the texts, in the order of the page.
pub const TEXTS: [&str; 5] = ["xiong_1999", "xiong_2015", "hypercube", "survey", "foster"];

/// A definition, theorem, property, formula, listing or figure of a text.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Where it is in the text.
    pub place: String,
    /// What it is there.
    pub what: String,
    /// The public names here.
    pub names: Vec<String>,
    /// The command that shows it.
    pub command: String,
    /// Whether the command must be refused.
    pub refused: bool,
    /// What the command prints.
    pub says: String,
    /// The tests that hold it, as `file::test` or `file::module::test`.
    pub tests: Vec<String>,
    /// How it differs here, and why.
    pub differs: String,
}

/// The rows of a text, below its title and a remark on it.
pub struct Text {
    pub title: String,
    pub remark: String,
    pub rows: Vec<Row>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/papers")
}

fn lines(name: &str) -> String {
    fs::read_to_string(folder().join(name).with_extension("txt")).unwrap()
}

pub fn text(name: &str) -> Text {
    let content = lines(name);
    let (head, rows) = content.split_once("\n= ").unwrap();
    let (title, remark) = head.split_once('\n').unwrap();
    Text {
        title: title.trim_start_matches("# ").to_owned(),
        remark: remark.trim().to_owned(),
        rows: rows.split("\n= ").map(row).collect(),
    }
}

/// The slips: a row each, whose line without a sign says what is right.
pub fn slips() -> Vec<Row> {
    let content = lines("slips");
    let rows = content.trim_start_matches("= ").split("\n= ");
    rows.map(row).collect()
}

/// The references, each with its key.
pub fn references() -> Vec<(String, String)> {
    let content = lines("references");
    let pairs = content.lines().map(|line| line.split_once(": ").unwrap());
    pairs
        .map(|(key, what)| (key.to_owned(), what.to_owned()))
        .collect()
}

/// Reads `place | what`, and a line for each of the other parts, which begins with its sign.
fn row(block: &str) -> Row {
    let mut all = block.lines();
    let (place, what) = all.next().unwrap().split_once(" | ").unwrap();
    let mut row = Row {
        place: place.to_owned(),
        what: what.to_owned(),
        ..Row::default()
    };
    let list = |text: &str| text.split(", ").map(String::from).collect();
    for line in all.filter(|line| !line.is_empty()) {
        match line.split_once(' ').unwrap() {
            (":", names) => row.names = list(names),
            ("$", command) => row.command = command.to_owned(),
            ("$!", command) => (row.command, row.refused) = (command.to_owned(), true),
            (">", says) => row.says = says.to_owned(),
            ("%", tests) => row.tests = list(tests),
            ("!", differs) => row.differs = differs.to_owned(),
            _ => row.differs = line.to_owned(),
        }
    }
    row
}

const HEAD: &str = "\
# The papers

What five texts define, prove, list and draw, and where it is here. Made from `tests/papers` by a test, which also runs
every command: `RANKFOLD_BLESS=1 cargo test --features cli --test papers` writes this page again.

*here*: public names below `rankfold::`. *shown by*: a command; `papers` stands for `cargo run --release --example papers
--`, and `rankfold` for `cargo run --release --features cli --`. Commands marked † show a refusal. *held by*: a test, as
`file::test` or `file::module::test` below `tests`. *differs*: how it differs here, and why; exact if empty.

";

/// The whole page.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let texts = TEXTS.map(text);
    for Text { title, rows, .. } in &texts {
        let _ = writeln!(page, "- [{title}](#{}): {} rows", anchor(title), rows.len());
    }
    page += "- [Slips in the literature](#slips-in-the-literature)\n- [References](#references)\n";
    texts.iter().for_each(|text| section(&mut page, text));
    page += "\n## Slips in the literature\n\nWhat must not be copied as it is printed.\n\n| text | printed | right | held by |\n| --- | --- | --- | --- |\n";
    for slip in slips() {
        let cells = [
            cell(&slip.place),
            cell(&slip.what),
            cell(&slip.differs),
            code(&slip.tests),
        ];
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page += "\n## References\n\n";
    for (key, what) in references() {
        let _ = writeln!(page, "- **{key}**: {}", linked(&what));
    }
    page
}

fn section(page: &mut String, text: &Text) {
    let Text {
        title,
        remark,
        rows,
    } = text;
    let _ = write!(
        page,
        "\n## {title}\n\n{remark}\n\n| there | what | here | shown by | held by | differs |\n\
         | --- | --- | --- | --- | --- | --- |\n"
    );
    for row in rows {
        let mark = if row.refused { " †" } else { "" };
        let cells = [
            cell(&row.place),
            cell(&row.what),
            code(&row.names),
            format!("`{}`{mark}", row.command),
            code(&row.tests),
            cell(&row.differs),
        ];
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

/// A sentence in a cell: outside code, signs of Markdown and HTML are escaped.
fn cell(text: &str) -> String {
    let mut parts = text.split('`');
    let mut cell = String::new();
    while let Some(plain) = parts.next() {
        let plain = plain
            .replace('<', "&lt;")
            .replace('_', "\\_")
            .replace('|', "\\|");
        cell += &plain;
        if let Some(code) = parts.next() {
            let _ = write!(cell, "`{}`", code.replace('|', "\\|"));
        }
    }
    cell
}

fn code(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || *c == ' ');
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A reference whose DOI is a link.
fn linked(what: &str) -> String {
    match what.split_once("doi:") {
        Some((before, doi)) => format!("{before}doi:[{doi}](https://doi.org/{doi})"),
        None => what.to_owned(),
    }
}
