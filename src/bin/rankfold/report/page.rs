//! The page: sections, tables and figures in one HTML file without scripts and without anything from elsewhere.

use std::fmt::Write;

use rankfold::draw::{self, Heat};
use rankfold::machine::{Bind, Machine};
use rankfold::measure::{Host, Measured, Run};

use super::data::{Chosen, Data};
use super::figures::{self, bytes_in_words, main_results};
use super::model::{self, Fitted};
use crate::bench::figure as digits;

const STYLE: &str = "\
:root{color-scheme:light}
body{font:16px/1.5 Helvetica,Arial,'DejaVu Sans','Liberation Sans',sans-serif;color:#111;background:#fff;margin:0 auto;\
max-width:62rem;padding:1.5rem}
h1{font-size:1.7rem;margin:0 0 .2rem}
h2{font-size:1.25rem;margin:2.4rem 0 .6rem;border-bottom:1px solid #bfbfbf;padding-bottom:.2rem}
nav a{margin-right:1rem}
a{color:#00588a}
figure{margin:1.2rem 0;overflow-x:auto}
figure svg{max-width:100%;height:auto;display:block}
figcaption,.small{color:#4d4d4d;font-size:.875rem}
table{border-collapse:collapse;font-size:.875rem;margin:.8rem 0}
th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #e2e2e2}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem}
dt{color:#4d4d4d}dd{margin:0;overflow-wrap:anywhere}
.tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}
.tile{border:1px solid #bfbfbf;border-radius:4px;padding:.5rem .9rem}
.tile b{display:block;font-size:1.25rem}
.note{border-left:4px solid #d55e00;padding:.1rem .8rem;margin:.5rem 0}
@media print{body{max-width:none;padding:0;font-size:11pt}h2{break-after:avoid}figure,table{break-inside:avoid}nav{display:none}}
";

/// The whole page.
pub fn html(data: &Data) -> String {
    let host = &data.run.machine;
    let title = format!("rankfold on {}", host.model);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n<p class=\"small\">{1}; {2}</p>\n",
        escaped(&title),
        escaped(&host.parts),
        escaped(&host.may_use)
    );
    page += &tiles(data);
    page += "<nav>";
    for (id, name, _) in SECTIONS {
        let _ = write!(page, "<a href=\"#{id}\">{name}</a>");
    }
    page += "</nav>\n</header>\n<main>\n";
    for (id, name, section) in SECTIONS {
        let _ = write!(
            page,
            "<section id=\"{id}\">\n<h2>{name}</h2>\n{}</section>\n",
            section(data)
        );
    }
    page + "</main>\n</body>\n</html>\n"
}

type Section = (&'static str, &'static str, fn(&Data) -> String);

const SECTIONS: [Section; 8] = [
    ("machine", "Machine", machine),
    ("latency", "Latency", latency),
    ("scaling", "Scaling", scaling),
    ("roofline", "Bandwidth and its limits", roofline),
    ("model", "Model and measurement", modelled),
    ("choices", "Choices", choices),
    ("noise", "How far to trust this", noise),
    ("about", "About this run", about),
];

/// A text as it may stand between tags or in an attribute.
fn escaped(text: &str) -> String {
    let letter = |letter| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        letter => letter.to_string(),
    };
    text.chars().map(letter).collect()
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

/// A figure that may be missing, and then says why.
fn figure(id: &str, svg: Option<String>, caption: &str, missing: &str) -> String {
    match svg {
        Some(svg) => format!(
            "<figure id=\"{id}\">\n{svg}<figcaption>{}</figcaption>\n</figure>\n",
            escaped(caption)
        ),
        None => paragraph(missing),
    }
}

/// Columns from `numbers` on are numbers.
fn table(heads: &[String], rows: &[Vec<String>], numbers: usize) -> String {
    let class = |at: usize| if at >= numbers { " class=\"n\"" } else { "" };
    let line = |tag: &str, cells: &[String]| {
        let cells = cells.iter().enumerate();
        let cells =
            cells.map(|(at, cell)| format!("<{tag}{}>{}</{tag}>", class(at), escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let body: String = rows.iter().map(|row| line("td", row)).collect();
    format!(
        "<div class=\"scroll\"><table>\n<thead>{}</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n",
        line("th", heads)
    )
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What one looks for first.
fn tiles(data: &Data) -> String {
    let results = main_results(&data.run);
    let cpus = data.run.machine.usable;
    let mut tiles = Vec::new();
    if let Some((near, far)) = data.run.noise.lines() {
        let line = if near.round() == far.round() {
            format!("{near:.0} ns")
        } else {
            format!("{near:.0} to {far:.0} ns")
        };
        tiles.push((line, "a cache line between two cores".to_owned()));
    }
    let alone = results
        .iter()
        .filter(|one| one.ranks <= cpus.max(2))
        .map(|one| one.ranks)
        .max();
    let own = || results.iter().filter(|one| Some(one.ranks) == alone);
    if let Some(one) = own().min_by_key(|one| one.bytes) {
        let what = format!(
            "{} of {}, {} ranks",
            one.collective,
            bytes_in_words(one.bytes),
            one.ranks
        );
        tiles.push((microseconds(one.time_us.p50), what));
    }
    let best = |a: &&&Measured, b: &&&Measured| a.busbw_gbs.total_cmp(&b.busbw_gbs);
    if let Some(one) = own().max_by(best) {
        let what = format!(
            "best bus bandwidth: {}, {} ranks",
            bytes_in_words(one.bytes),
            one.ranks
        );
        tiles.push((format!("{} GB/s", digits(one.busbw_gbs)), what));
    }
    let tile = |(value, what): (String, String)| {
        format!(
            "<div class=\"tile\"><b>{}</b>{}</div>",
            escaped(&value),
            escaped(&what)
        )
    };
    format!(
        "<div class=\"tiles\">{}</div>\n",
        tiles.into_iter().map(tile).collect::<String>()
    )
}

fn microseconds(us: f64) -> String {
    match us {
        ..1.0 => format!("{} ns", digits(1e3 * us)),
        ..1000.0 => format!("{} µs", digits(us)),
        _ => format!("{} ms", digits(us / 1e3)),
    }
}

fn machine(data: &Data) -> String {
    let here = Machine::here();
    let same = Host::of(&here).fingerprint == data.run.machine.fingerprint;
    let ranks = here.usable.usable().max(1);
    let placed = here.place(ranks, &Bind::Auto, true).ok().filter(|_| same);
    let drawing = placed.and_then(|placed| draw::machine(&here, &placed).ok());
    let caption = format!(
        "{ranks} ranks where they are put without being told: one on each core while there are cores."
    );
    let missing =
        "The tree is drawn only on the machine that was measured, and for up to 1024 CPUs.";
    figure(
        "fig-machine",
        drawing.map(|drawing| drawing.svg()),
        &caption,
        missing,
    )
}

fn latency(data: &Data) -> String {
    let heats = data.latency.as_ref().map(|latency| {
        let heats = latency.tables.iter().map(|table| latency.heat(table));
        heats.collect::<Vec<Heat>>()
    });
    let caption = "8 bytes from a CPU to another, medians; each pair is measured once for both directions, and each map \
                   has a scale of its own. raw is what the machine itself takes; the others are what ranks see.";
    let missing = "There are no two CPUs to measure between, or this run has no latencies: see rankfold latency.";
    figure(
        "fig-latency",
        heats.map(|heats| Heat::svg_of(&heats)),
        caption,
        missing,
    )
}

fn scaling(data: &Data) -> String {
    let bytes = figure(
        "fig-over-bytes",
        figures::over_bytes(&data.run),
        "Time of a call over the bytes of the vector. Dotted: what the cores take to copy or add as many bytes without \
         any message.",
        "No result with bytes.",
    );
    let ranks = figure(
        "fig-over-ranks",
        figures::over_ranks(&data.run),
        "Time of a call over the number of ranks. Ranks beyond the usable CPUs wait for each other's turns: that is the \
         system's scheduler, not the algorithm.",
        "Only one number of ranks was measured.",
    );
    bytes + &ranks + &results(&data.run)
}

fn results(run: &Run) -> String {
    let heads = texts(&[
        "algorithm",
        "ranks",
        "bytes",
        "min",
        "median",
        "p99",
        "algbw GB/s",
        "busbw GB/s",
        "messages",
    ]);
    let row = |one: &&Measured| {
        let by = match &one.chosen {
            Some(chosen) => format!("{} ({chosen})", one.algorithm),
            None => one.algorithm.clone(),
        };
        let times = &one.time_us;
        vec![
            by,
            one.ranks.to_string(),
            bytes_in_words(one.bytes),
            microseconds(times.min),
            microseconds(times.p50),
            microseconds(times.p99),
            digits(one.algbw_gbs),
            digits(one.busbw_gbs),
            one.messages.to_string(),
        ]
    };
    let rows: Vec<_> = main_results(run).iter().map(row).collect();
    format!(
        "<details><summary>All {} points as a table</summary>\n{}</details>\n",
        rows.len(),
        table(&heads, &rows, 1)
    )
}

fn roofline(data: &Data) -> String {
    let none = "No bandwidth: no result with bytes.";
    figure(
        "fig-algbw",
        figures::algbw(&data.run),
        "What the call moves, as nccl-tests count it, against what all cores together copy and add, each its share, from \
         and to memory of its own. An all_reduce must do both at least once, so it stays below.",
        none,
    ) + &figure(
        "fig-busbw",
        figures::busbw(&data.run),
        "The same whatever the number of ranks: level where it scales. Against what one core copies and adds while all \
         others do.",
        none,
    )
}

fn modelled(data: &Data) -> String {
    let Some(fitted) = model::fitted(&data.run) else {
        return paragraph(
            "No model: it is fitted to all_reduce by exchange, of two lengths or more, among ranks that have a CPU each.",
        );
    };
    let model = &fitted.model;
    let per_byte = |seconds: f64| {
        format!(
            "{} ns a byte",
            digits(1e9 * seconds / fitted.element as f64)
        )
    };
    let says = format!(
        "A message of n bytes takes alpha + n beta, and folding them n gamma more. alpha = {} ns and beta = {} are fitted \
         to simple exchange among {} ranks by least squares of relative errors; gamma = {} is what one core was measured \
         to add, and no more than the calls leave room for. Nothing else was fitted: the other algorithms' times are predicted from these three numbers, by the \
         simulator. One beta stands for all caches and the memory, so lengths near the size of a cache fit worst.",
        digits(1e9 * model.alpha),
        per_byte(model.beta),
        fitted.ranks,
        per_byte(model.gamma),
    );
    paragraph(&says)
        + &figure(
            "fig-model",
            Some(figures::model(&fitted)),
            "Measured medians and what the model says.",
            "",
        )
        + &errors(&fitted)
        + &figure(
            "fig-residuals",
            Some(figures::residuals(&fitted)),
            "Where the model is wrong, and by which factor.",
            "",
        )
}

fn errors(fitted: &Fitted) -> String {
    let heads = texts(&[
        "algorithm",
        "the model was",
        "points",
        "off by a factor of, median",
        "at worst",
    ]);
    let row = |(at, series): (usize, &model::Series)| {
        let (middle, most) = series.worst().unwrap_or((f64::NAN, f64::NAN));
        vec![
            series.algorithm.clone(),
            if at == 0 {
                "fitted to it"
            } else {
                "told nothing of it"
            }
            .to_owned(),
            series.points.len().to_string(),
            format!("{middle:.2}"),
            format!("{most:.2}"),
        ]
    };
    let rows: Vec<_> = fitted.series.iter().enumerate().map(row).collect();
    table(&heads, &rows, 2)
}

fn choices(data: &Data) -> String {
    if data.choices.is_empty() {
        return paragraph("This run says nothing of what is chosen.");
    }
    let mut ranks: Vec<usize> = data.choices.iter().map(|one| one.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut text =
        paragraph("What a call that names no algorithm is run by, as comm.explain says.");
    for count in ranks.into_iter().take(8) {
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

/// A row for each collective, a column for each length.
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

/// The automatic choice beside the fastest of what was measured by name.
fn regret(run: &Run) -> String {
    let auto = main_results(run);
    let row = |one: &&&Measured| {
        let same = |other: &&Measured| {
            other.algorithm != "auto"
                && (&other.collective, &other.kind, other.ranks, other.bytes)
                    == (&one.collective, &one.kind, one.ranks, one.bytes)
        };
        let named = run.results.iter().filter(same);
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
    };
    let rows: Vec<_> = auto
        .iter()
        .filter(|one| one.algorithm == "auto")
        .filter_map(|one| row(&one))
        .collect();
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
    format!(
        "<h3>Was it right?</h3>\n{}{}",
        paragraph(
            "The automatic choice of all_reduce beside the fastest of those that were measured by name in the same run. \
             A ratio above 1 is what a better choice would have saved, as far as the medians can be trusted.",
        ),
        table(&heads, &rows, 5)
    )
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

fn noise(data: &Data) -> String {
    let noise = &data.run.noise;
    let cpus = |cpus: Option<f64>| {
        cpus.map_or("not known here".to_owned(), |cpus| {
            format!("{cpus:.2} CPUs on average")
        })
    };
    let range = |range: Option<(f64, f64)>, unit: &str| match range {
        Some((low, high)) => format!("{low:.0} to {high:.0} {unit}"),
        None => "not known here".into(),
    };
    let settings = &data.run.settings;
    let compared: u64 = data.run.results.iter().map(|one| one.compared).sum();
    let list = definitions(&[
        ("measured for", format!("{:.1} s", noise.wall_s)),
        (
            "passes over all points",
            format!(
                "{}, in turn; times are medians of the passes' medians",
                settings.passes
            ),
        ),
        ("other processes used", cpus(noise.others_cpus)),
        ("the host withheld", cpus(noise.stolen_cpus)),
        ("a cache line took", range(noise.lines(), "ns")),
        ("clock rate", range(noise.mhz, "MHz")),
        (
            "results compared",
            format!("{compared}, on every rank; all were right"),
        ),
    ]);
    let said = data.latency.iter().flat_map(|latency| &latency.remarks);
    let mut remarks: Vec<&String> = data.run.remarks.iter().collect();
    for remark in said {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    let remarks: String = remarks
        .iter()
        .map(|remark| format!("<p class=\"note\">{}</p>\n", escaped(remark)))
        .collect();
    let verdict = match remarks.is_empty() {
        true => paragraph("Nothing was seen that would make these figures doubtful."),
        false => String::new(),
    };
    format!("<div id=\"fig-noise\">\n{list}{verdict}{remarks}</div>\n")
}

fn definitions(items: &[(&str, String)]) -> String {
    let item = |(name, text): &(&str, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(text))
    };
    format!(
        "<dl>\n{}</dl>\n",
        items.iter().map(item).collect::<String>()
    )
}

fn about(data: &Data) -> String {
    let run = &data.run;
    let built = if run.build.optimised {
        "optimised"
    } else {
        "not optimised"
    };
    let commit = run.build.git.as_deref().unwrap_or("unknown commit");
    let kind = if run.machine.is_virtual {
        " (virtual)"
    } else {
        ""
    };
    definitions(&[
        ("command", run.command.join(" ")),
        (
            "rankfold",
            format!("{} ({commit}, {built})", run.build.version),
        ),
        ("began", format!("{} UTC", date(run.started))),
        ("processor", format!("{}{kind}", run.machine.model)),
        ("parts", run.machine.parts.clone()),
        ("may use", run.machine.may_use.clone()),
        ("system", run.machine.system.clone()),
        ("fingerprint", run.machine.fingerprint.clone()),
    ])
}

/// A time since 1970 as a date and a time of day.
///
/// # Source
///
/// Hinnant, *chrono-Compatible Low-Level Date Algorithms*, 2013: `civil_from_days`.
fn date(seconds: u64) -> String {
    // Later years than these have no name here, and no file is believed.
    let seconds = seconds.min(253_402_300_799);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = year + 400 * era + later;
    let (hour, minute) = (rest / 3600, rest / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_400), "2000-02-29 00:00");
        assert_eq!(date(1_709_251_199), "2024-02-29 23:59");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00");
        assert_eq!(date(u64::MAX), "9999-12-31 23:59");
    }

    #[test]
    fn nothing_that_a_file_says_becomes_a_tag() {
        assert_eq!(escaped("<script>\"&"), "&lt;script&gt;&quot;&amp;");
    }
}
