//! Results as a table with a chart, and as CSV.

use rankfold::measure::{self, Measured, Run};

use crate::numbers::in_words;
use crate::style::Style;
use crate::table::table;

/// Returns the half width of the interval of the median, as a share of the median.
pub fn width(one: &Measured) -> f64 {
    let (low, middle, high) = (one.median_us.low, one.time_us.p50, one.median_us.high);
    (high - middle).max(middle - low) / middle
}

/// The same in percent; a single pass has no interval.
fn spread(one: &Measured) -> String {
    match one.median_us.confidence > 0.0 {
        true => format!("{:.0}", 100.0 * width(one)),
        false => "-".into(),
    }
}

/// Formats a number with four significant digits, or fewer if it is very small.
pub fn figure(value: f64) -> String {
    match value {
        ..0.09995 if value > 0.0 => format!("{value:.5}"),
        ..9.9995 => format!("{value:.3}"),
        ..99.995 => format!("{value:.2}"),
        ..999.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Returns the algorithm, the choice if it is the automatic one, and the transport if it is not the default.
fn algorithm(one: &Measured) -> String {
    let named = one.algorithm_and_transport();
    match &one.chosen {
        Some(chosen) => named.replacen("auto", &format!("auto ({chosen})"), 1),
        None => named,
    }
}

pub fn text(run: &Run, style: Style) -> String {
    let mut text = head(run);
    let mut collectives: Vec<&Measured> = run.results.iter().collect();
    collectives.sort_by(|a, b| a.collective.cmp(&b.collective));
    collectives.dedup_by(|a, b| a.collective == b.collective);
    for first in run.results.iter().filter(|one| is_first(run, one)) {
        let own: Vec<_> = run
            .results
            .iter()
            .filter(|one| one.collective == first.collective)
            .collect();
        text += &format!("\n{}\n{}", style.bold(&title(first)), rows(&own, style));
    }
    let shown = run.results.iter().filter(|one| one.bytes > 0).count();
    if collectives.len() == 1 && shown > 1 {
        text += &drawn(run);
    }
    text += &legend(run);
    for remark in &run.remarks {
        text += &style.warn(&format!("note: {remark}\n"));
    }
    text
}

fn is_first(run: &Run, one: &Measured) -> bool {
    let first = run
        .results
        .iter()
        .find(|other| other.collective == one.collective);
    first == Some(one)
}

fn head(run: &Run) -> String {
    let host = &run.machine;
    let kind = if host.is_virtual { " (virtual)" } else { "" };
    let line = match run.noise.lines() {
        Some((near, far)) if near.round() == far.round() => {
            format!("; a cache line between cores: {near:.0} ns")
        }
        Some((near, far)) => format!("; a cache line between cores: {near:.0}-{far:.0} ns"),
        None => String::new(),
    };
    format!(
        "{}{kind}: {}\n{}{line}\nrankfold {}, {}; {}, {:.1} s\n",
        host.model,
        host.parts,
        host.may_use,
        run.build.version,
        run.build.git.as_deref().unwrap_or("unknown commit"),
        in_words(run.settings.passes),
        run.noise.wall_s,
    )
}

fn title(first: &Measured) -> String {
    let op = first
        .op
        .as_ref()
        .map_or(String::new(), |op| format!(", {op}"));
    let place = match (first.collective.as_str(), first.into) {
        ("all_reduce", true) => ", into another vector",
        ("all_reduce", false) => ", in place",
        _ => "",
    };
    let fresh = if first.fresh { ", fresh vectors" } else { "" };
    let root = first
        .root
        .map_or(String::new(), |root| format!(", root {root}"));
    format!(
        "{} of {}{op}{root}{place}{fresh}",
        first.collective, first.kind
    )
}

/// The columns of the table.
const SHOWN: [Column; 14] = [
    ("ranks", |one| one.ranks.to_string()),
    ("bytes", |one| one.bytes.to_string()),
    ("algorithm", algorithm),
    ("min/us", |one| figure(one.time_us.min)),
    ("p50/us", |one| figure(one.time_us.p50)),
    ("+-%", spread),
    ("p99/us", |one| figure(one.time_us.p99)),
    ("max/us", |one| figure(one.time_us.max)),
    ("algbw", |one| figure(one.algbw_gbs)),
    ("busbw", |one| figure(one.busbw_gbs)),
    ("messages", |one| one.messages.to_string()),
    ("sent", |one| one.bytes_sent.to_string()),
    ("cpu/us", |one| figure(one.cpu_us)),
    ("skew/us", |one| figure(one.skew_us)),
];

fn rows(own: &[&Measured], style: Style) -> String {
    let row = |one: &&Measured| SHOWN.map(|(_, value)| value(one)).to_vec();
    let rows: Vec<_> = own.iter().map(row).collect();
    let table = table(&SHOWN.map(|(head, _)| head), &rows);
    match table.split_once('\n') {
        Some((head, rest)) => format!("{}\n{rest}", style.dim(head)),
        None => table,
    }
}

/// Returns the chart, and how the longest vector scales.
fn drawn(run: &Run) -> String {
    let chart = measure::chart(run).map_or(String::new(), |chart| format!("\n{}", chart.text()));
    chart + &scaling(run)
}

const BAR: usize = 40;

/// Returns bars of bus bandwidth over ranks, for the longest vector by the first algorithm.
fn scaling(run: &Run) -> String {
    let Some(most) = run.results.iter().map(|one| one.bytes).max() else {
        return String::new();
    };
    let first = run.results[0].algorithm_and_transport();
    let is_first = |one: &Measured| one.algorithm_and_transport() == first;
    let own = |one: &&Measured| one.bytes == most && is_first(one) && one.busbw_gbs > 0.0;
    let bars: Vec<&Measured> = run.results.iter().filter(own).collect();
    let greatest = bars.iter().map(|one| one.busbw_gbs).fold(0.0, f64::max);
    if bars.len() < 2 {
        return String::new();
    }
    let bar = |one: &&Measured| {
        let full = (one.busbw_gbs / greatest * BAR as f64).round() as usize;
        format!(
            "{:>5}  {:<BAR$}  {}\n",
            one.ranks,
            "█".repeat(full.max(1)),
            figure(one.busbw_gbs)
        )
    };
    let bars: String = bars.iter().map(bar).collect();
    format!(
        "\nranks  bus bandwidth of {most} bytes by {first}, GB/s: level where it scales\n{bars}"
    )
}

fn legend(run: &Run) -> String {
    let confidence = run
        .results
        .iter()
        .map(|one| one.median_us.confidence)
        .fold(1.0, f64::min);
    let compared: u64 = run.results.iter().map(|one| one.compared).sum();
    if run.results.is_empty() {
        return "\nnothing has been measured\n".into();
    }
    let spread = match confidence > 0.0 {
        true => format!(
            "how far the true one may be from it ({:.0} % confidence)",
            100.0 * confidence
        ),
        false => "not known from one pass, which --passes 6 shows".into(),
    };
    let unchecked = match run.results.iter().filter(|one| !one.checked).count() {
        0 => String::new(),
        1 => " One point leaves nothing to compare.".into(),
        many => format!(" {many} points leave nothing to compare."),
    };
    format!(
        "\nmin, p99, max: of all samples; p50: the median of the passes' medians; +-%: {spread}.\nalgbw, busbw: GB/s, as in \
         nccl-tests. messages, sent: the messages of one call over all ranks, and their bytes. cpu: of all ranks\ntogether. \
         skew: from the first rank's exit to the last rank's, the median. {compared} results were compared on every rank; all \
         were right.{unchecked}\n"
    )
}

/// A column: its name, and its contents.
type Column = (&'static str, fn(&Measured) -> String);

/// The columns of the CSV.
const COLUMNS: [Column; 31] = [
    ("collective", |one| one.collective.clone()),
    ("algorithm", |one| one.algorithm.clone()),
    ("chosen", |one| one.chosen.clone().unwrap_or_default()),
    ("transport", |one| one.transport.clone()),
    ("ranks", |one| one.ranks.to_string()),
    ("bytes", |one| one.bytes.to_string()),
    ("block_bytes", |one| one.block_bytes.to_string()),
    ("type", |one| one.kind.clone()),
    ("op", |one| one.op.clone().unwrap_or_default()),
    ("root", |one| {
        one.root.map_or(String::new(), |root| root.to_string())
    }),
    ("into", |one| one.into.to_string()),
    ("fresh", |one| one.fresh.to_string()),
    ("min_us", |one| one.time_us.min.to_string()),
    ("p50_us", |one| one.time_us.p50.to_string()),
    ("p99_us", |one| one.time_us.p99.to_string()),
    ("max_us", |one| one.time_us.max.to_string()),
    ("median_low_us", |one| one.median_us.low.to_string()),
    ("median_high_us", |one| one.median_us.high.to_string()),
    ("confidence", |one| one.median_us.confidence.to_string()),
    ("algbw_gbs", |one| one.algbw_gbs.to_string()),
    ("busbw_gbs", |one| one.busbw_gbs.to_string()),
    ("messages", |one| one.messages.to_string()),
    ("bytes_sent", |one| one.bytes_sent.to_string()),
    ("cpu_us", |one| one.cpu_us.to_string()),
    ("skew_us", |one| one.skew_us.to_string()),
    ("samples", |one| one.samples.to_string()),
    ("calls", |one| one.calls.to_string()),
    ("compared", |one| one.compared.to_string()),
    ("sleeps", |one| one.sleeps.to_string()),
    ("passes", |one| one.passes_us.len().to_string()),
    ("checked", |one| one.checked.to_string()),
];

/// Returns one line of names, then one for each point.
pub fn csv(run: &Run) -> String {
    let heads = COLUMNS.map(|(name, _)| name).join(",") + "\n";
    let line = |one: &Measured| COLUMNS.map(|(_, value)| value(one)).join(",") + "\n";
    heads + &run.results.iter().map(line).collect::<String>()
}
