//! Two runs side by side: ratios, and whether they are more than chance.

use super::record::{Measured, Run};
use super::statistics::rank_sum;

/// From this probability on a difference may be chance.
const CHANCE: f64 = 0.01;

/// What both runs have measured, and what one reader should know of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What both have measured, in the order of the first.
    pub lines: Vec<Line>,
    /// How many results only the first has, and only the second.
    pub alone: (usize, usize),
    /// Why the ratios may say less than they seem to, a sentence each.
    pub remarks: Vec<String>,
}

/// A point of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The first run's result.
    pub before: Measured,
    /// The second's.
    pub after: Measured,
    /// The second's median over the first's: below 1 it is faster.
    pub ratio: f64,
    /// How probable it is that passes differ so much by chance.
    pub chance: f64,
}

impl Line {
    fn of(before: &Measured, after: &Measured) -> Line {
        Line {
            before: before.clone(),
            after: after.clone(),
            ratio: after.time_us.p50 / before.time_us.p50,
            chance: rank_sum(&before.passes_us, &after.passes_us),
        }
    }

    /// `faster`, `slower`, or nothing where it may be chance.
    pub fn verdict(&self) -> &'static str {
        match (self.chance < CHANCE, self.ratio < 1.0) {
            (false, _) => "",
            (true, true) => "faster",
            (true, false) => "slower",
        }
    }
}

/// Puts two runs side by side.
///
/// A difference counts if the rank-sum test on the medians of the passes gives it less than 1 % by chance; fewer
/// than 5 passes a run cannot tell. The passes of one run share a machine's mood, and the other run's may have
/// met another: so the test says that the runs differ, not why.
pub fn compare(before: &Run, after: &Run) -> Comparison {
    let mut unmatched: Vec<&Measured> = after.results.iter().collect();
    let mut lines = Vec::new();
    for one in &before.results {
        if let Some(place) = unmatched.iter().position(|other| other.key() == one.key()) {
            lines.push(Line::of(one, unmatched.remove(place)));
        }
    }
    let alone = (before.results.len() - lines.len(), unmatched.len());
    let remarks = remarks(before, after, &lines);
    Comparison {
        lines,
        alone,
        remarks,
    }
}

fn remarks(before: &Run, after: &Run, lines: &[Line]) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut differ = |what: &str, a: &str, b: &str| {
        if a != b {
            remarks.push(format!("the {what} differ: {a}; {b}"));
        }
    };
    let (a, b) = (&before.machine, &after.machine);
    differ("models", &a.model, &b.model);
    differ("machines' parts", &a.parts, &b.parts);
    differ("usable CPUs", &a.may_use, &b.may_use);
    differ("systems", &a.system, &b.system);
    differ("programs", &program(before), &program(after));
    differ("bindings", &before.settings.bind, &after.settings.bind);
    if let Some((a, b)) = before.noise.lines().zip(after.noise.lines()) {
        let (a, b) = ((a.0 + a.1) / 2.0, (b.0 + b.1) / 2.0);
        if a / b > 1.5 || b / a > 1.5 {
            remarks.push(format!(
                "a cache line took {a:.0} ns in the first run and {b:.0} ns in the second: of short vectors the ratio is \
                 the machine's"
            ));
        }
    }
    for (run, which) in [(before, "first"), (after, "second")] {
        let said = run.remarks.iter();
        remarks.extend(said.map(|remark| format!("the {which} run: {remark}")));
        if run.interrupted {
            remarks.push(format!("the {which} run was interrupted"));
        }
    }
    let few = |line: &&Line| line.before.passes_us.len() < 5 || line.after.passes_us.len() < 5;
    if let Some(line) = lines.iter().find(few) {
        let (a, b) = (line.before.passes_us.len(), line.after.passes_us.len());
        remarks.push(format!(
            "{a} and {b} passes are too few to tell a difference from chance: 5 of each can"
        ));
    }
    remarks
}

fn program(run: &Run) -> String {
    let Run { build, .. } = run;
    let git = build.git.as_deref().unwrap_or("unknown commit");
    let how = if build.optimised {
        "optimised"
    } else {
        "not optimised"
    };
    format!("{} ({git}, {how})", build.version)
}
