//! Every collective against every other, and against itself with one thing changed. Where the ranks do not make the
//! same call, no element crosses over, no rank's call succeeds, and both lines are named.

mod again;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use cases::all_cases;
use rankfold::error::Mismatch;
use rankfold::op::{Operator, OperatorKind};
use rankfold::{Comm, Outcome, Rank, Report, Result, World, WorldError};
use support::{guarded, mix, scale};

/// Elements that travel in their packet, and elements that are lent.
const LENGTHS: [usize; 2] = [3, 40];

/// Observations of a run, over all ranks.
#[derive(Default)]
struct Watch {
    /// Elements of one call that reached the other.
    strays: AtomicUsize,
    /// Number of operator calls.
    folds: AtomicUsize,
    /// Buffers that were changed.
    changes: AtomicUsize,
}

fn count(count: &AtomicUsize, also: bool) {
    count.fetch_add(usize::from(also), Ordering::Relaxed);
}

/// A rank in one of the two calls.
struct Camp<'a> {
    /// The call that its elements belong to.
    mark: u64,
    rank: Rank,
    n: usize,
    watch: &'a Watch,
}

/// The upper bits of an element are a mark, the lower ones a number.
const MARK: u32 = 40;

impl Camp<'_> {
    fn own(&self) -> u64 {
        self.mark << MARK | (self.rank as u64 + 1)
    }

    fn buf(&self, n: usize) -> Vec<u64> {
        vec![self.own(); n]
    }

    fn is_stray(&self, element: u64) -> bool {
        element >> MARK != self.mark
    }

    /// Inspects a buffer after a call.
    fn saw(&self, data: &[u64], done: Result<()>) -> Result<()> {
        count(&self.watch.strays, data.iter().any(|x| self.is_stray(*x)));
        count(&self.watch.changes, data.iter().any(|x| *x != self.own()));
        done
    }

    fn fold(&self, left: u64, right: u64) -> u64 {
        count(&self.watch.folds, true);
        count(
            &self.watch.strays,
            self.is_stray(left) || self.is_stray(right),
        );
        let number = (left + right) & ((1 << MARK) - 1);
        self.mark << MARK | number
    }

    fn fold_all(&self, left: Vec<u64>, right: Vec<u64>) -> Vec<u64> {
        let both = left.into_iter().zip(right);
        both.map(|(a, b)| self.fold(a, b)).collect()
    }

    fn op(&self, kind: OperatorKind) -> Spy<'_> {
        Spy { kind, camp: self }
    }
}

/// An operator of any kind that inspects its operands.
struct Spy<'a> {
    kind: OperatorKind,
    camp: &'a Camp<'a>,
}

impl Operator<u64> for Spy<'_> {
    fn combine(&self, left: u64, right: u64) -> u64 {
        self.camp.fold(left, right)
    }
    fn commutes(&self) -> bool {
        !matches!(self.kind, OperatorKind::Own | OperatorKind::Closure)
    }
    fn kind(&self) -> OperatorKind {
        self.kind
    }
}

impl Operator<i64> for Spy<'_> {
    fn combine(&self, left: i64, right: i64) -> i64 {
        self.camp.fold(left as u64, right as u64) as i64
    }
    fn kind(&self) -> OperatorKind {
        self.kind
    }
}

type Play = fn(&Comm, &Camp<'_>) -> Result<()>;

/// A call; its line is this one or follows it.
struct Case {
    line: u32,
    name: &'static str,
    play: Play,
}

macro_rules! case {
    ($name:literal, $play:expr) => {
        Case {
            line: line!(),
            name: $name,
            play: $play,
        }
    };
}

#[path = "mismatches/cases.rs"]
mod cases;
#[path = "mismatches/operators.rs"]
mod operators;

fn last(comm: &Comm) -> Rank {
    comm.size() - 1
}

fn signed(data: &[u64]) -> Vec<i64> {
    data.iter().map(|x| *x as i64).collect()
}

fn unsigned(data: &[i64]) -> Vec<u64> {
    data.iter().map(|x| *x as u64).collect()
}

/// Returns counts of which the last is different.
fn counts(comm: &Comm, n: usize) -> Vec<usize> {
    let more = |rank| usize::from(rank == last(comm));
    (0..comm.size()).map(|rank| n + more(rank)).collect()
}

/// Most ranks in one call, one rank in another.
struct Clash<'a> {
    cases: &'a [Case],
    theirs: usize,
    own: usize,
    odd: Rank,
    ranks: usize,
    n: usize,
    check: bool,
}

impl Clash<'_> {
    fn show(&self) -> String {
        let name = |of: usize| self.cases[of].name;
        format!(
            "{}, but rank {} of {} {}; {} elements, check({})",
            name(self.theirs),
            self.odd,
            self.ranks,
            name(self.own),
            self.n,
            self.check
        )
    }

    /// Returns the call that a rank makes.
    fn of(&self, rank: Rank) -> usize {
        if rank == self.odd {
            self.own
        } else {
            self.theirs
        }
    }

    fn run(&self) {
        let watch = Watch::default();
        let world = World::new(self.ranks).check(self.check);
        let report = guarded(&|| self.show(), || {
            world.run_each(|comm| {
                let camp = Camp {
                    mark: 1 + u64::from(comm.rank() == self.odd),
                    rank: comm.rank(),
                    n: self.n,
                    watch: &watch,
                };
                let first = (self.cases[self.of(comm.rank())].play)(comm, &camp);
                // A rank that was done before the mismatch was found learns of it here.
                let then = comm.barrier();
                Ok((first.is_ok(), then.is_ok()))
            })
        });
        self.judge(&watch, report);
    }

    fn judge(&self, watch: &Watch, report: Report<(bool, bool)>) {
        let read = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        assert_eq!(read(&watch.strays), 0, "{}: elements crossed", self.show());
        if self.check {
            assert_eq!(read(&watch.folds), 0, "{}: an operator ran", self.show());
            assert_eq!(read(&watch.changes), 0, "{}: a buffer changed", self.show());
        }
        self.all_or_none_went_on(&report);
        let found = report.mismatch.clone();
        let found = found.or_else(|| match report.into_result() {
            Err(WorldError::Mismatch(found)) => Some(found), // which no rank had noticed
            _ => None,
        });
        let found = found.unwrap_or_else(|| panic!("{}: no mismatch", self.show()));
        self.both_lines_are_named(&found);
    }

    fn all_or_none_went_on(&self, report: &Report<(bool, bool)>) {
        let went_on = |outcome: &Outcome<(bool, bool)>| match outcome {
            Outcome::Returned((first, then)) => *first && *then,
            other => panic!("{}: {other:?}", self.show()),
        };
        let on: Vec<bool> = report.outcomes.iter().map(went_on).collect();
        let first = on[0];
        assert!(
            on.iter().all(|other| *other == first),
            "{}: {on:?}",
            self.show()
        );
    }

    fn both_lines_are_named(&self, found: &Mismatch) {
        let mut seen = Vec::new();
        for called in &found.calls {
            let case = self.of(called.rank);
            let site = called
                .site
                .unwrap_or_else(|| panic!("{}: {found}", self.show()));
            assert!(
                site.file().ends_with("mismatches/cases.rs"),
                "{}: {found}",
                self.show()
            );
            assert_eq!(self.case_at(site.line()), case, "{}: {found}", self.show());
            seen.push(case);
        }
        assert!(
            seen.contains(&self.own) && seen.contains(&self.theirs),
            "{}: {found}",
            self.show()
        );
    }

    /// Returns the case that this line belongs to.
    fn case_at(&self, line: u32) -> usize {
        self.cases.partition_point(|case| case.line <= line) - 1
    }
}

/// Runs every pair, or a fixed selection of them.
fn clash(ranks: usize, part: f64) {
    let cases = all_cases();
    let mut number = ranks as u64 * 1000;
    for theirs in 0..cases.len() {
        for own in (0..cases.len()).filter(|own| *own != theirs) {
            for check in [false, true] {
                for (n, odd) in LENGTHS.into_iter().zip([0, ranks - 1]) {
                    number += 1;
                    if (mix(number) % 10_000) as f64 >= part * scale() * 10_000.0 {
                        continue;
                    }
                    let clash = Clash {
                        cases: &cases,
                        theirs,
                        own,
                        odd,
                        ranks,
                        n,
                        check,
                    };
                    clash.run();
                }
            }
        }
    }
}

#[test]
fn between_two_ranks_no_element_crosses_and_both_lines_are_named() {
    clash(2, 0.3);
}

#[test]
fn one_rank_of_three_in_another_call() {
    clash(3, 0.06);
}

#[test]
fn one_rank_of_four_in_another_call() {
    clash(4, 0.06);
}

#[test]
fn one_rank_of_seven_in_another_call() {
    clash(7, 0.02);
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
