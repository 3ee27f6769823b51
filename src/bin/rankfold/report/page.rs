//! The page: sections, tables and figures in one HTML file, without scripts or external resources.

use rankfold::draw::{self, Heat};
use rankfold::machine::{Bind, Machine};
use rankfold::measure::{Host, Measured, Run};

use super::choices;
use super::data::Data;
use super::date::date;
use super::figures::{self, main_results};
use super::html::{definitions, escaped, figure, page, paragraph, table, texts};
use super::model::{self, Fitted};
use super::words::{bytes_in_words, microseconds};
use crate::bench::{figure as digits, width};

/// Returns the whole page.
pub fn html(data: &Data) -> String {
    let host = &data.run.machine;
    let title = format!("rankfold on {}", host.model);
    let links = SECTIONS.map(|(id, name, _)| format!("<a href=\"#{id}\">{name}</a>"));
    let sections = SECTIONS.map(|(id, name, section)| {
        let content = section(data);
        format!("<section id=\"{id}\">\n<h2>{name}</h2>\n{content}</section>\n")
    });
    let content = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"small\">{}; {}</p>\n{}<nav>{}</nav>\n</header>\n<main>\n{}</main>\n",
        escaped(&title),
        escaped(&host.parts),
        escaped(&host.may_use),
        tiles(data),
        links.concat(),
        sections.concat()
    );
    page(&title, &content)
}

type Section = (&'static str, &'static str, fn(&Data) -> String);

const SECTIONS: [Section; 8] = [
    ("machine", "Machine", machine),
    ("latency", "Latency", latency),
    ("scaling", "Scaling", scaling),
    ("roofline", "Bandwidth and its limits", roofline),
    ("model", "Model and measurement", modelled),
    ("choices", "Choices", choices::section),
    ("noise", "How far to trust this", noise),
    ("about", "About this run", about),
];

/// Returns the headline figures, each with its uncertainty.
fn tiles(data: &Data) -> String {
    let results = main_results(&data.run);
    let cpus = data.run.machine.usable.max(2);
    let alone = results.iter().filter(|one| one.ranks <= cpus);
    let alone = alone.map(|one| one.ranks).max();
    let own: Vec<&Measured> = results
        .into_iter()
        .filter(|one| Some(one.ranks) == alone)
        .collect();
    let shortest = own.iter().min_by_key(|one| one.bytes).map(|one| {
        let (bytes, ranks) = (bytes_in_words(one.bytes), one.ranks);
        let what = format!(
            "{} of {bytes}, {ranks} ranks{}",
            one.collective,
            within(one)
        );
        tile(&microseconds(one.time_us.p50), &what)
    });
    let widest = headline(&own).map(|one| {
        let (bytes, ranks) = (bytes_in_words(one.bytes), one.ranks);
        let what = format!("bus bandwidth: {bytes}, {ranks} ranks{}", within(one));
        tile(&format!("{} GB/s", digits(one.busbw_gbs)), &what)
    });
    let all = [line_tile(&data.run), shortest, widest];
    let all: String = all.into_iter().flatten().collect();
    format!("<div class=\"tiles\">{all}</div>\n{}", caveats(data))
}

/// A median whose interval has at least this half width is not a headline.
const WIDE: f64 = 0.2;

/// Returns the point for a headline: among those with the best-known medians, the one with the most certain bandwidth,
/// by the upper end of its time. This excludes points that are merely lucky.
fn headline<'a>(own: &[&'a Measured]) -> Option<&'a Measured> {
    let known = |one: &&&Measured| one.median_us.confidence > 0.0 && width(one) <= WIDE;
    let sure = |one: &Measured| one.busbw_gbs * one.time_us.p50 / one.median_us.high;
    let known = own
        .iter()
        .filter(known)
        .max_by(|a, b| sure(a).total_cmp(&sure(b)));
    let narrowest = || own.iter().min_by(|a, b| trust(a).total_cmp(&trust(b)));
    known.or_else(narrowest).copied()
}

/// Returns a number that is smaller the better the median is known.
fn trust(one: &Measured) -> f64 {
    match one.median_us.confidence > 0.0 {
        true => width(one),
        false => f64::INFINITY,
    }
}

/// Describes how well the median is known.
fn within(one: &Measured) -> String {
    match one.median_us.confidence > 0.0 {
        true => format!(
            ", within {:.0} % ({:.0} % confidence)",
            100.0 * width(one),
            100.0 * one.median_us.confidence
        ),
        false => ", one pass".into(),
    }
}

/// Returns the caveats of the headlines, for the place right below them.
fn caveats(data: &Data) -> String {
    let note = |remark: &String| format!("<p class=\"note\">{}</p>\n", escaped(remark));
    data.run.remarks.iter().map(note).collect()
}

fn line_tile(run: &Run) -> Option<String> {
    let (near, far) = run.noise.lines()?;
    let time = if near.round() == far.round() {
        format!("{near:.0} ns")
    } else {
        format!("{near:.0} to {far:.0} ns")
    };
    Some(tile(&time, "a cache line between two cores"))
}

fn tile(value: &str, what: &str) -> String {
    let (value, what) = (escaped(value), escaped(what));
    format!("<div class=\"tile\"><b>{value}</b>{what}</div>")
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
            Some(figures::model(&data.run, &fitted)),
            "Measured medians and what the model says.",
            "",
        )
        + &errors(&fitted)
        + &figure(
            "fig-residuals",
            Some(figures::residuals(&data.run, &fitted)),
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

fn noise(data: &Data) -> String {
    let noise = &data.run.noise;
    let compared: u64 = data.run.results.iter().map(|one| one.compared).sum();
    let list = definitions(&[
        ("measured for", format!("{:.1} s", noise.wall_s)),
        (
            "passes over all points",
            format!(
                "{}, in turn; times are medians of the passes' medians",
                data.run.settings.passes
            ),
        ),
        ("other processes used", share(noise.others_cpus)),
        ("the host withheld", share(noise.stolen_cpus)),
        ("a cache line took", range(noise.lines(), "ns")),
        ("clock rate", range(noise.mhz, "MHz")),
        (
            "results compared",
            match compared {
                0 => "none: no call leaves anything to compare".into(),
                _ => format!("{compared}, on every rank; all were right"),
            },
        ),
    ]);
    format!("<div id=\"fig-noise\">\n{list}{}</div>\n", doubts(data))
}

const UNKNOWN: &str = "not known here";

fn share(cpus: Option<f64>) -> String {
    cpus.map_or(UNKNOWN.into(), |cpus| format!("{cpus:.2} CPUs on average"))
}

fn range(range: Option<(f64, f64)>, unit: &str) -> String {
    range.map_or(UNKNOWN.into(), |(low, high)| {
        format!("{low:.0} to {high:.0} {unit}")
    })
}

/// Returns the remarks of the run and the latencies, once each.
fn doubts(data: &Data) -> String {
    let mut remarks: Vec<&String> = data.run.remarks.iter().collect();
    for remark in data.latency.iter().flat_map(|latency| &latency.remarks) {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    if remarks.is_empty() {
        return paragraph("Nothing was seen that would make these figures doubtful.");
    }
    let note = |remark: &&String| format!("<p class=\"note\">{}</p>\n", escaped(remark));
    remarks.iter().map(note).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns points with a bandwidth, and the half width of the interval of the median.
    fn points(of: &[(f64, f64)]) -> Vec<Measured> {
        let text = include_str!("../../../../tests/golden/cli/before.json");
        let run: Run = serde_json::from_str(text).unwrap();
        let point = |&(busbw_gbs, width): &(f64, f64)| {
            let mut one = run.results[0].clone();
            one.busbw_gbs = busbw_gbs;
            one.time_us.p50 = 10.0;
            (one.median_us.low, one.median_us.high) = (10.0 * (1.0 - width), 10.0 * (1.0 + width));
            one.median_us.confidence = 0.97;
            one
        };
        of.iter().map(point).collect()
    }

    fn chosen(of: &[(f64, f64)]) -> f64 {
        let points = points(of);
        headline(&points.iter().collect::<Vec<_>>())
            .unwrap()
            .busbw_gbs
    }

    #[test]
    fn the_headline_is_what_is_sure_and_not_what_was_lucky() {
        assert_eq!(
            chosen(&[(20.0, 0.5), (12.0, 0.02), (13.0, 0.15), (3.0, 0.0)]),
            12.0
        );
        assert_eq!(
            chosen(&[(20.0, 0.5), (12.0, 0.3), (30.0, 0.9)]),
            12.0,
            "the best known, if none is known well"
        );
        assert!(headline(&[]).is_none());
    }

    #[test]
    fn a_headline_says_how_well_it_is_known() {
        let mut one = points(&[(20.0, 0.05)]).remove(0);
        assert_eq!(within(&one), ", within 5 % (97 % confidence)");
        one.median_us.confidence = 0.0;
        assert_eq!(within(&one), ", one pass");
    }
}
