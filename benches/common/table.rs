//! The results of two subjects in turn, one line each: ours, theirs, the ratio and whether it is within its bound.

use rankfold::machine::Machine;
use rankfold::measure::Host;

use super::rounds::{Compared, Spread};

/// Prints the line of a comparison.
pub fn print(subject: &str, beside: &str, bound: f64, compared: &Compared) {
    let Compared {
        ours,
        theirs,
        ratio,
    } = compared;
    row(
        subject,
        &time(ours.median),
        &format!("{} {beside}", time(theirs.median)),
        &spread(ratio),
        &format!("{bound:.2}"),
        verdict(ratio.median <= bound),
    );
}

/// Formats the median, the minimum and the maximum.
pub fn spread(ratio: &Spread) -> String {
    format!("{:.2} [{:.2}-{:.2}]", ratio.median, ratio.min, ratio.max)
}

pub fn verdict(within: bool) -> &'static str {
    if within { "within" } else { "OVER" }
}

/// Formats nanoseconds with a suitable unit.
pub fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.2} us", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

pub fn row(subject: &str, ours: &str, theirs: &str, ratio: &str, bound: &str, verdict: &str) {
    println!("{subject:<30} {ours:>12}   {theirs:<36} {ratio:<20} {bound:<12} {verdict}");
}

/// Describes the machine.
pub fn machine() -> String {
    let host = Host::of(&Machine::here());
    format!(
        "{}; {}; {}; {}",
        host.model, host.parts, host.may_use, host.system
    )
}
