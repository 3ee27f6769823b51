//! The automatic choices as tables, and whether they were right.

use rankfold::measure::{Measured, Run};

use super::data::{Chosen, Data};
use super::figures::main_results;
use super::html::{paragraph, table, texts};
use super::words::{bytes_in_words, microseconds};

/// Maximum number of tables, one for each number of ranks.
const MOST_TABLES: usize = 8;

pub fn section(data: &Data) -> String {
    if data.choices.is_empty() {
        return paragraph("This run says nothing of what is chosen.");
    }
    let mut ranks: Vec<usize> = data.choices.iter().map(|one| one.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut text =
        paragraph("What a call that names no algorithm is run by, as comm.explain says.");
    for count in ranks.into_iter().take(MOST_TABLES) {
        let own: Vec<&Chosen> = data
            .choices
            .iter()
            .filter(|one| one.ranks == count)
            .collect();
        text += &format!("<h3>{count} ranks</h3>\n{}", chosen(&own));
    }
    text += &regret(&data.run);
    format!("<div id=\"fig-choices\">\n{text}</div>\n{}", reasons(data))
}

/// Returns a table with a row for each collective and a column for each length.
fn chosen(own: &[&Chosen]) -> String {
    let mut sizes: Vec<usize> = own.iter().map(|one| one.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut names: Vec<&str> = Vec::new();
    for one in own {
        if !names.contains(&one.collective.as_str()) {
            names.push(&one.collective);
        }
    }
    let mut heads = texts(&["collective"]);
    heads.extend(sizes.iter().map(|bytes| bytes_in_words(*bytes)));
    let row = |name: &&str| {
        let cell = |bytes: &usize| {
            let found = own
                .iter()
                .find(|one| one.collective == *name && one.bytes == *bytes);
            found.map_or(String::new(), |one| one.algorithm.clone())
        };
        let mut row = texts(&[name]);
        row.extend(sizes.iter().map(cell));
        row
    };
    let rows: Vec<_> = names.iter().map(row).collect();
    table(&heads, &rows, usize::MAX)
}

/// Compares the automatic choice with the fastest algorithm measured by name.
fn regret(run: &Run) -> String {
    let auto = main_results(run)
        .into_iter()
        .filter(|one| one.algorithm == "auto");
    let rows: Vec<_> = auto.filter_map(|one| beside_best(run, one)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = texts(&[
        "ranks",
        "bytes",
        "chosen",
        "its median",
        "fastest by name",
        "its median",
        "ratio",
    ]);
    let words = paragraph(
        "The automatic choice of all_reduce beside the fastest of those that were measured by name in the same run. \
         A ratio above 1 is what a better choice would have saved, as far as the medians can be trusted.",
    );
    format!("<h3>Was it right?</h3>\n{words}{}", table(&heads, &rows, 5))
}

/// Returns all of a result's point but the algorithm.
fn call(one: &Measured) -> impl PartialEq + '_ {
    let what = (&one.collective, &one.transport, &one.kind, &one.op);
    (what, one.ranks, one.bytes, one.root, one.into, one.fresh)
}

fn beside_best(run: &Run, one: &Measured) -> Option<Vec<String>> {
    let named = run.results.iter();
    let named = named.filter(|other| other.algorithm != "auto" && call(other) == call(one));
    let best = named.min_by(|a, b| a.time_us.p50.total_cmp(&b.time_us.p50))?;
    Some(vec![
        one.ranks.to_string(),
        bytes_in_words(one.bytes),
        one.chosen.clone().unwrap_or_default(),
        microseconds(one.time_us.p50),
        best.algorithm.clone(),
        microseconds(best.time_us.p50),
        format!("{:.2}", one.time_us.p50 / best.time_us.p50),
    ])
}

fn reasons(data: &Data) -> String {
    let heads = texts(&["collective", "ranks", "bytes", "algorithm", "next", "why"]);
    let row = |one: &Chosen| {
        Some(vec![
            one.collective.clone(),
            one.ranks.to_string(),
            bytes_in_words(one.bytes),
            one.algorithm.clone(),
            one.runner_up.clone().unwrap_or_default(),
            one.reason.clone()?,
        ])
    };
    let rows: Vec<_> = data.choices.iter().filter_map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<details><summary>Why, call by call</summary>\n{}</details>\n",
            table(&heads, &rows, usize::MAX)
        ),
    }
}
