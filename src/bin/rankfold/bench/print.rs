//! Results as a table with a chart, and as lines of values.

use rankfold::measure::{self, Measured, Run};

use crate::style::Style;
use crate::table::table;

/// The half width of the interval that holds the median, as a share of it.
pub fn width(one: &Measured) -> f64 {
    let (low, middle, high) = (one.median_us.low, one.time_us.p50, one.median_us.high);
    (high - middle).max(middle - low) / middle
}

/// Four digits that count, or fewer of what is very little.
pub fn figure(value: f64) -> String {
    match value {
        ..0.09995 if value > 0.0 => format!("{value:.5}"),
        ..9.9995 => format!("{value:.3}"),
        ..99.995 => format!("{value:.2}"),
        ..999.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// The algorithm, and what was chosen if it chose itself.
fn algorithm(one: &Measured) -> String {
    match &one.chosen {
        Some(chosen) => format!("{} ({chosen})", one.algorithm),
        None => one.algorithm.clone(),
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
        "{}{kind}: {}\n{}{line}\nrankfold {}, {}; {} passes, {:.1} s\n",
        host.model,
        host.parts,
        host.may_use,
        run.build.version,
        run.build.git.as_deref().unwrap_or("unknown commit"),
        run.settings.passes,
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

fn rows(own: &[&Measured], style: Style) -> String {
    let heads = [
        "ranks",
        "bytes",
        "algorithm",
        "min/us",
        "p50/us",
        "+-%",
        "p99/us",
        "max/us",
        "algbw",
        "busbw",
        "messages",
        "sent",
        "cpu/us",
        "skew/us",
    ];
    let row = |one: &&Measured| {
        let times = &one.time_us;
        vec![
            one.ranks.to_string(),
            one.bytes.to_string(),
            algorithm(one),
            figure(times.min),
            figure(times.p50),
            format!("{:.0}", 100.0 * width(one)),
            figure(times.p99),
            figure(times.max),
            figure(one.algbw_gbs),
            figure(one.busbw_gbs),
            one.messages.to_string(),
            one.bytes_sent.to_string(),
            figure(one.cpu_us),
            figure(one.skew_us),
        ]
    };
    let table = table(&heads, &own.iter().map(row).collect::<Vec<_>>());
    match table.split_once('\n') {
        Some((head, rest)) => format!("{}\n{rest}", style.dim(head)),
        None => table,
    }
}

/// The chart, and how the longest vector scales.
fn drawn(run: &Run) -> String {
    let chart = measure::chart(run).map_or(String::new(), |chart| format!("\n{}", chart.text()));
    chart + &scaling(run)
}

const BAR: usize = 40;

/// Bars of bus bandwidth over ranks, of the longest vector by the first algorithm.
fn scaling(run: &Run) -> String {
    let Some(most) = run.results.iter().map(|one| one.bytes).max() else {
        return String::new();
    };
    let first = &run.results[0].algorithm;
    let own = |one: &&Measured| one.bytes == most && one.algorithm == *first && one.busbw_gbs > 0.0;
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
    format!(
        "\np50: the median of the passes' medians; +-%: how far the true one may be from it ({:.0} % confidence). algbw, \
         busbw:\nGB/s, as in nccl-tests. cpu: of all ranks together. {compared} results were compared on every rank; all \
         were right.\n",
        100.0 * confidence
    )
}

/// One line of names, then one for each point.
pub fn csv(run: &Run) -> String {
    let heads = "collective,algorithm,chosen,ranks,bytes,block_bytes,type,op,root,into,fresh,min_us,p50_us,p99_us,max_us,\
                 median_low_us,median_high_us,confidence,algbw_gbs,busbw_gbs,messages,bytes_sent,cpu_us,skew_us,samples,\
                 calls,compared,sleeps,passes,checked\n";
    let word = |word: &Option<String>| word.clone().unwrap_or_default();
    let line = |one: &Measured| {
        let root = one.root.map(|root| root.to_string());
        let (times, median) = (&one.time_us, &one.median_us);
        format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
            one.collective,
            one.algorithm,
            word(&one.chosen),
            one.ranks,
            one.bytes,
            one.block_bytes,
            one.kind,
            word(&one.op),
            word(&root),
            one.into,
            one.fresh,
            times.min,
            times.p50,
            times.p99,
            times.max,
            median.low,
            median.high,
            median.confidence,
            one.algbw_gbs,
            one.busbw_gbs,
            one.messages,
            one.bytes_sent,
            one.cpu_us,
            one.skew_us,
            one.samples,
            one.calls,
            one.compared,
            one.sleeps,
            one.passes_us.len(),
            one.checked,
        )
    };
    heads.to_owned() + &run.results.iter().map(line).collect::<String>()
}
