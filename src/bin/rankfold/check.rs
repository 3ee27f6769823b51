//! `rankfold check`: proves schedules symbolically, for every number of ranks, length and root asked for.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::Args;
use rankfold::Rank;
use rankfold::check::{Goal, check_while};
use rankfold::collective::{Call, Refusal};
use rankfold::schedule::Schedule;

use super::choice::{Choice, Pair, call};
use super::numbers::{Ranges, Sizes};
use super::output::{Results, TextOrJson, interrupted};
use super::stop::Stop;
use super::table::{Object, table};
use super::work::{self, Work};

/// Maximum number of ranks: a proof for more takes too long.
const MOST: usize = 4096;

/// Prove algorithms on symbols, without running them.
///
/// Every contribution is in every result exactly once, in rank order where that is promised, and there is no
/// deadlock. A fault ends with exit code 1. How far it is goes to standard error; Ctrl-C ends it with what has been proved so
/// far.
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

/// The result for one algorithm.
struct Verdict {
    pair: Pair,
    proved: usize,
    /// Whether operands always come in rank order; otherwise the operator must commute.
    ordered: bool,
    /// Number of refusals, and the last one.
    refused: (usize, Option<Refusal>),
    fault: Option<String>,
    /// Whether it was stopped before everything had been checked.
    stopped: bool,
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
    let work = Work::new("check", weight(&pairs, arguments)?);
    let verdicts = on_all_cpus(&pairs, |pair| verdict(*pair, arguments, &work));
    let verdicts = verdicts.map_err(no_thread)?;
    let stopped = work.is_stopped();
    work.finish();
    let (verdicts, refused) = parted(verdicts);
    let lines = match arguments.results.format {
        _ if verdicts.is_empty() => String::new(),
        TextOrJson::Text => text(&verdicts),
        TextOrJson::Json => verdicts.iter().map(json).collect(),
    };
    let written = match stopped {
        true => interrupted(&lines),
        false if lines.is_empty() => Ok(()),
        false => output.write(&lines),
    };
    ended(verdicts, refused, written)
}

/// Parts the results from the first refusal of an algorithm that was named.
fn parted(results: Vec<Result<Verdict, Stop>>) -> (Vec<Verdict>, Option<Stop>) {
    let mut refused = None;
    let mut verdicts = Vec::new();
    for result in results {
        match result {
            Ok(verdict) => verdicts.push(verdict),
            Err(stop) => refused = refused.or(Some(stop)),
        }
    }
    (verdicts, refused)
}

/// Returns how it ends: a fault comes before a refusal, and both before what the writing says.
fn ended(
    verdicts: Vec<Verdict>,
    refused: Option<Stop>,
    written: Result<(), Stop>,
) -> Result<(), Stop> {
    match verdicts.into_iter().find_map(|verdict| verdict.fault) {
        Some(fault) => Err(Stop::Fault(fault)),
        None => refused.map_or(written, Err),
    }
}

/// Returns all calls of an algorithm.
fn calls<'a>(
    pair: Pair,
    arguments: &'a Arguments,
) -> impl Iterator<Item = Result<Call, Stop>> + 'a {
    let of = move |ranks, length, root| {
        let call = call(pair.collective, ranks, length, root, true)?;
        arguments.choice.placed(call)
    };
    arguments.ranks.iter().flat_map(move |ranks| {
        arguments.elements.0.iter().flat_map(move |&length| {
            let roots = roots(pair, ranks, arguments.root).into_iter();
            roots.map(move |root| of(ranks, length, root))
        })
    })
}

/// With more calls than this, weights are estimated without examining the schedules.
const WEIGHED: usize = 10_000;

/// Returns the work of checking a call with this operator; 0 if it is refused.
fn weigh(pair: Pair, call: &Call, arguments: &Arguments) -> f64 {
    match arguments.ranks.iter().take(WEIGHED).count() * arguments.elements.0.len() < WEIGHED {
        true => work::weight(pair.algorithm, call),
        false => (call.ranks() as f64).powi(2),
    }
}

fn weight(pairs: &[Pair], arguments: &Arguments) -> Result<f64, Stop> {
    let mut all = 0.0;
    for &pair in pairs {
        for call in calls(pair, arguments) {
            let both = operators(pair, call?);
            all += both
                .iter()
                .map(|call| weigh(pair, call, arguments))
                .sum::<f64>();
        }
    }
    Ok(all)
}

/// Returns the call with an operator that does not commute and, if the collective folds, also with one that does.
fn operators(pair: Pair, call: Call) -> Vec<Call> {
    match pair.collective.folds() {
        true => vec![call.clone(), call.commuting()],
        false => vec![call],
    }
}

fn no_thread(error: io::Error) -> Stop {
    Stop::Input(format!(
        "a thread to check with could not be started: {error}"
    ))
}

/// Returns the results of `work` for all items, in their order; idle threads take the next item. If a thread cannot be
/// started, those that were started first take no more items, and the system's error is returned.
fn on_all_cpus<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> io::Result<Vec<R>> {
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
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, some);
        let threads: io::Result<Vec<_>> = (0..workers).map(spawn).collect();
        // Relaxed: a thread that does not see this store yet only processes one more item, whose result is discarded.
        let threads = threads.inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
        let done = threads.into_iter().map(|thread| match thread.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        Ok::<_, io::Error>(done.flatten().collect())
    })?;
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

fn verdict(pair: Pair, arguments: &Arguments, work: &Work) -> Result<Verdict, Stop> {
    let mut verdict = Verdict::new(pair);
    for call in calls(pair, arguments) {
        if work.is_stopped() {
            verdict.stopped = true;
            break;
        }
        for call in operators(pair, call?) {
            let weight = weigh(pair, &call, arguments);
            verdict.take(&call, work, weight);
        }
    }
    verdict.settled()
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
            stopped: false,
        }
    }

    /// Returns the refusal instead if the algorithm was named, and nothing is known of it but that.
    fn settled(mut self) -> Result<Verdict, Stop> {
        let unknown = self.proved == 0 && self.fault.is_none() && !self.stopped;
        match self.refused.1.take() {
            Some(refusal) if self.pair.by_name && unknown => Err(Stop::input(refusal)),
            _ => Ok(self),
        }
    }

    /// Checks a call, which counts as `weight` of work.
    fn take(&mut self, call: &Call, work: &Work, weight: f64) {
        let algorithm = self.pair.algorithm;
        match algorithm.schedule(call) {
            Err(Refusal::MustCommute { .. }) => self.ordered = false,
            Err(refusal) => self.refused = (self.refused.0 + 1, Some(refusal)),
            Ok(schedule) => {
                let mut part = work.part(weight, schedule.steps());
                match check_while(&*schedule, &goal(call), &mut |done| part.done(done)) {
                    Ok(Some(_)) => self.proved += 1,
                    Ok(None) => self.stopped = true,
                    Err(fault) => self.blame(call, &fault.to_string()),
                }
            }
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
            (None, _) if self.stopped => "interrupted",
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

/// Returns the goal of a call.
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

    fn named() -> Verdict {
        Verdict::new(Pair {
            collective: Collective::Reduce,
            algorithm: Algorithm::Halving,
            by_name: true,
        })
    }

    /// An algorithm that refuses one call, and has a fault in another if it is `faulty`.
    fn refusing(faulty: bool) -> Verdict {
        let call = Call::new(Collective::Reduce, 5, 7);
        let mut verdict = named();
        let refusal = Refusal::NotFor {
            algorithm: Algorithm::Halving,
            collective: Collective::Reduce,
        };
        verdict.refused = (1, Some(refusal));
        if faulty {
            verdict.blame(&call, "rank 0 waits");
        }
        verdict
    }

    #[test]
    fn a_fault_is_told_whatever_else_is_refused() {
        assert!(matches!(refusing(false).settled(), Err(Stop::Input(_))));
        for others in [
            vec![refusing(true)],
            vec![refusing(true), refusing(false)],
            vec![refusing(false), refusing(true)],
            vec![refusing(false), named(), refusing(true)],
        ] {
            let (verdicts, refused) = parted(others.into_iter().map(Verdict::settled).collect());
            let end = ended(verdicts, refused, Err(Stop::Gone));
            assert!(matches!(end, Err(Stop::Fault(_))), "{end:?}");
        }
    }

    #[test]
    fn a_refusal_leaves_what_was_proved_of_others() {
        let results = vec![refusing(false).settled(), named().settled()];
        let (verdicts, refused) = parted(results);
        assert_eq!(verdicts.len(), 1);
        assert!(matches!(
            ended(verdicts, refused, Ok(())),
            Err(Stop::Input(_))
        ));
    }

    #[test]
    fn the_first_fault_is_told_with_its_call() {
        let mut verdict = named();
        let call = Call::new(Collective::Reduce, 5, 7).to_root(3);
        verdict.blame(&call, "rank 0 waits");
        verdict.blame(&call, "another");
        let said = "reduce by halving, 5 ranks, 7 elements, root 3: rank 0 waits";
        assert_eq!(verdict.fault.as_deref(), Some(said));
        assert!(text(&[verdict]).ends_with("fault\n"));
    }
}
