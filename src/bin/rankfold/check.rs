//! `rankfold check`: proves schedules on symbols, for every number of ranks, length and root asked for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::Args;
use rankfold::Rank;
use rankfold::check::{Goal, check};
use rankfold::collective::{Call, Refusal};

use super::choice::{Choice, Pair, call};
use super::numbers::{Ranges, Sizes};
use super::output::{Results, TextOrJson};
use super::stop::Stop;
use super::table::{Object, table};

/// The most ranks that are checked: a proof of more takes longer than anybody waits.
const MOST: usize = 4096;

/// Prove algorithms on symbols, without running them.
///
/// Every contribution is in every result exactly once, in rank order where that is promised, and there is no
/// deadlock. A fault ends with exit code 1.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold check --collective broadcast --algorithm all --ranks 1..64
  rankfold check ring halving --elements 1,100,1000")]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Numbers of ranks, with ranges whose both ends count: `8`, `1..64`, `1..8,16`.
    #[arg(long, value_name = "RANGES", default_value = "1..16")]
    ranks: Ranges,
    /// Lengths of the vector in elements.
    #[arg(long, value_name = "SIZES", default_value = "1,100")]
    elements: Sizes,
    /// The root, where there is one; without it rank 0, and one in the middle.
    #[arg(long, value_name = "R")]
    root: Option<Rank>,
    #[command(flatten)]
    results: Results<TextOrJson>,
}

/// What came of one algorithm.
struct Verdict {
    pair: Pair,
    proved: usize,
    /// Whether operands always come in rank order; the operator must commute if not.
    ordered: bool,
    /// The last refusal, and how many.
    refused: (usize, Option<Refusal>),
    fault: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    if let Some(ranks) = arguments.ranks.iter().find(|&ranks| ranks > MOST) {
        let line = format!("--ranks: {ranks} ranks are too many to check; at most {MOST}");
        return Err(Stop::Input(line));
    }
    let most = arguments.ranks.iter().max().unwrap_or(0);
    if let Some(root) = arguments.root.filter(|&root| root >= most) {
        let line = format!("--root: {root} is not one of the {most} ranks");
        return Err(Stop::Input(line));
    }
    let pairs = arguments.choice.everywhere()?;
    let output = arguments.results.to.open()?;
    let verdicts = on_all_cpus(&pairs, |pair| verdict(*pair, arguments));
    let verdicts: Vec<Verdict> = verdicts.into_iter().collect::<Result<_, _>>()?;
    let written = output.write(&match arguments.results.format {
        TextOrJson::Text => text(&verdicts),
        TextOrJson::Json => verdicts.iter().map(json).collect(),
    });
    match verdicts.into_iter().find_map(|verdict| verdict.fault) {
        Some(fault) => Err(Stop::Fault(fault)),
        None => written,
    }
}

/// What the work makes of each item, in their order; whoever is free takes the next.
fn on_all_cpus<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let take = || {
            // Relaxed: the items were there before the threads.
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, work(item)))
        };
        std::iter::from_fn(take).collect::<Vec<_>>()
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(some)).collect();
        let done = threads.into_iter().map(|thread| match thread.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.flatten().collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

fn verdict(pair: Pair, arguments: &Arguments) -> Result<Verdict, Stop> {
    let mut verdict = Verdict::new(pair);
    for ranks in arguments.ranks.iter() {
        for &length in &arguments.elements.0 {
            for root in roots(pair, ranks, arguments.root) {
                let call = call(pair.collective, ranks, length, root, true)?;
                verdict.take(&arguments.choice.in_groups(call)?);
            }
        }
    }
    match verdict.refused.1.take() {
        Some(refusal) if pair.by_name && verdict.proved == 0 => Err(Stop::input(refusal)),
        _ => Ok(verdict),
    }
}

fn roots(pair: Pair, ranks: usize, given: Option<Rank>) -> Vec<Rank> {
    match given {
        Some(root) if pair.collective.has_root() => vec![root],
        None if pair.collective.has_root() && ranks > 1 => vec![0, ranks / 2],
        _ => vec![0],
    }
}

impl Verdict {
    fn new(pair: Pair) -> Verdict {
        Verdict {
            pair,
            proved: 0,
            ordered: true,
            refused: (0, None),
            fault: None,
        }
    }

    /// Checks a call, with an operator that commutes and with one that does not.
    fn take(&mut self, call: &Call) {
        self.take_one(call);
        if self.pair.collective.folds() {
            self.take_one(&call.clone().commuting());
        }
    }

    fn take_one(&mut self, call: &Call) {
        let algorithm = self.pair.algorithm;
        match algorithm.schedule(call) {
            Err(Refusal::MustCommute { .. }) => self.ordered = false,
            Err(refusal) => self.refused = (self.refused.0 + 1, Some(refusal)),
            Ok(schedule) => match check(&schedule, &goal(call)) {
                Ok(_) => self.proved += 1,
                Err(fault) => self.blame(call, &fault.to_string()),
            },
        }
    }

    /// Keeps the first fault.
    fn blame(&mut self, call: &Call, fault: &str) {
        let Pair {
            collective,
            algorithm,
            ..
        } = self.pair;
        let (ranks, length, root) = (call.ranks(), call.length(), call.root);
        self.fault.get_or_insert_with(|| {
            format!("{collective} by {algorithm}, {ranks} ranks, {length} elements, root {root}: {fault}")
        });
    }

    fn result(&self) -> &'static str {
        match (&self.fault, self.proved) {
            (Some(_), _) => "fault",
            (None, 0) => "refused",
            (None, _) => "proved",
        }
    }

    fn order(&self) -> &'static str {
        match (self.pair.collective.folds(), self.ordered) {
            (false, _) => "-",
            (true, false) => "must commute",
            (true, true) => "rank order",
        }
    }
}

/// What a call is to leave where.
pub fn goal(call: &Call) -> Goal {
    let goal = Goal::of(call.collective, call.root, call.length());
    if call.commutes {
        goal
    } else {
        goal.in_rank_order()
    }
}

fn text(verdicts: &[Verdict]) -> String {
    let heads = [
        "collective",
        "algorithm",
        "calls",
        "refused",
        "operands",
        "result",
    ];
    let row = |verdict: &Verdict| {
        vec![
            verdict.pair.collective.to_string(),
            verdict.pair.algorithm.to_string(),
            verdict.proved.to_string(),
            verdict.refused.0.to_string(),
            verdict.order().to_owned(),
            verdict.result().to_owned(),
        ]
    };
    table(&heads, &verdicts.iter().map(row).collect::<Vec<_>>())
}

fn json(verdict: &Verdict) -> String {
    Object::new("rankfold.check/1")
        .text("collective", verdict.pair.collective.name())
        .text("algorithm", &verdict.pair.algorithm.to_string())
        .text("result", verdict.result())
        .value("calls", verdict.proved)
        .value("refused", verdict.refused.0)
        .value("must_commute", !verdict.ordered)
        .perhaps("fault", verdict.fault.as_deref())
        .line()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankfold::collective::{Algorithm, Collective};

    #[test]
    fn the_first_fault_is_told_with_its_call() {
        let pair = Pair {
            collective: Collective::Reduce,
            algorithm: Algorithm::Halving,
            by_name: true,
        };
        let mut verdict = Verdict::new(pair);
        let call = Call::new(Collective::Reduce, 5, 7).to_root(3);
        verdict.blame(&call, "rank 0 waits");
        verdict.blame(&call, "another");
        let said = "reduce by halving, 5 ranks, 7 elements, root 3: rank 0 waits";
        assert_eq!(verdict.fault.as_deref(), Some(said));
        assert!(text(&[verdict]).ends_with("fault\n"));
    }
}
