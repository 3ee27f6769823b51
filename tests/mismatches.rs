//! Every collective against every other, and against itself with one thing changed. Where the ranks do not make the
//! same call, no element crosses over, no rank's call succeeds, and both lines are named.

mod channels;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::error::Mismatch;
use rankfold::op::{self, First, Operator, OperatorKind, Sum};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::{Topology, TreeName};
use rankfold::{Comm, Order, Outcome, Rank, Report, Result, World, WorldError, hypercube};
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

const BINOMIAL: Algorithm = Algorithm::tree(TreeName::BINOMIAL);
const CHAIN: Algorithm = Algorithm::tree(TreeName::Chain);

/// Returns calls that move elements.
fn movements() -> Vec<Case> {
    vec![
        case!("barrier", |comm, _| comm.barrier()),
        case!("barrier, dissemination", |comm, _| {
            comm.using(Algorithm::Dissemination).barrier()
        }),
        case!("barrier, binomial", |comm, _| comm
            .using(BINOMIAL)
            .barrier()),
        case!("broadcast", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast from the last", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.broadcast(last(comm), &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast of one more", |comm, camp| {
            let mut v = camp.buf(camp.n + 1);
            let done = comm.broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast of i64", |comm, camp| {
            let mut v = signed(&camp.buf(camp.n));
            let done = comm.broadcast(0, &mut v);
            camp.saw(&unsigned(&v), done)
        }),
        case!("broadcast, binomial", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.using(BINOMIAL).broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast, scatter-ring", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.using(Algorithm::ScatterRing).broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
        case!("gather", |comm, camp| {
            let done = comm.gather(0, &camp.buf(camp.n));
            done.and_then(|all| camp.saw(&all.unwrap_or_default(), Ok(())))
        }),
        case!("gather at the last", |comm, camp| {
            let ranks = if camp.rank == last(comm) {
                comm.size()
            } else {
                0
            };
            let mut all = camp.buf(ranks * camp.n);
            let done = comm.gather_into(last(comm), &camp.buf(camp.n), &mut all);
            camp.saw(&all, done)
        }),
        case!("gather, flat", |comm, camp| {
            let done = comm
                .using(Algorithm::tree(TreeName::Flat))
                .gather(0, &camp.buf(camp.n));
            done.and_then(|all| camp.saw(&all.unwrap_or_default(), Ok(())))
        }),
        case!("gather with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let whole = if camp.rank == 0 {
                counts.iter().sum()
            } else {
                0
            };
            let mut all = camp.buf(whole);
            let done = comm.gather_v(0, &camp.buf(counts[camp.rank]), &counts, &mut all);
            camp.saw(&all, done)
        }),
        case!("scatter", |comm, camp| {
            let all = (camp.rank == 0).then(|| camp.buf(comm.size() * camp.n));
            let mut v = camp.buf(camp.n);
            let done = comm.scatter(0, all.as_deref(), &mut v);
            camp.saw(&v, done)
        }),
        case!("scatter from the last", |comm, camp| {
            let all = (camp.rank == last(comm)).then(|| camp.buf(comm.size() * camp.n));
            let mut v = camp.buf(camp.n);
            let done = comm.scatter(last(comm), all.as_deref(), &mut v);
            camp.saw(&v, done)
        }),
        case!("scatter with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let all = (camp.rank == 0).then(|| camp.buf(counts.iter().sum()));
            let mut v = camp.buf(counts[camp.rank]);
            let done = comm.scatter_v(0, all.as_deref(), &counts, &mut v);
            camp.saw(&v, done)
        }),
        case!("all_gather", |comm, camp| {
            let mut all = camp.buf(comm.size() * camp.n);
            let done = comm.all_gather(&camp.buf(camp.n), &mut all);
            camp.saw(&all, done)
        }),
        case!("all_gather, ring", |comm, camp| {
            let mut all = camp.buf(comm.size() * camp.n);
            let done = comm
                .using(Algorithm::Ring)
                .all_gather(&camp.buf(camp.n), &mut all);
            camp.saw(&all, done)
        }),
        case!("all_gather with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let mut all = camp.buf(counts.iter().sum());
            let done = comm.all_gather_v(&camp.buf(counts[camp.rank]), &counts, &mut all);
            camp.saw(&all, done)
        }),
        case!("all_to_all", |comm, camp| {
            let mut v = camp.buf(comm.size() * camp.n);
            let done = comm.all_to_all(&v.clone(), &mut v);
            camp.saw(&v, done)
        }),
        case!("all_to_all, bruck", |comm, camp| {
            let mut v = camp.buf(comm.size() * camp.n);
            let done = comm.using(Algorithm::Bruck).all_to_all(&v.clone(), &mut v);
            camp.saw(&v, done)
        }),
        case!("all_to_all with counts", |comm, camp| {
            let counts = vec![camp.n; comm.size()];
            let mut v = camp.buf(comm.size() * camp.n);
            let done = comm.all_to_all_v(&v.clone(), &counts, &mut v, &counts);
            camp.saw(&v, done)
        }),
    ]
}

/// Returns calls that fold.
fn reductions() -> Vec<Case> {
    vec![
        case!("reduce", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.reduce(0, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce to the last", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.reduce(last(comm), &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce by another operator", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.reduce(0, &mut v, camp.op(OperatorKind::Max));
            camp.saw(&v, done)
        }),
        case!("reduce, chain", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm
                .using(CHAIN)
                .reduce(0, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce of one more", |comm, camp| {
            let mut v = camp.buf(camp.n + 1);
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce of i64", |comm, camp| {
            let mut v = signed(&camp.buf(camp.n));
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&unsigned(&v), done)
        }),
        case!("fused", |comm, camp| {
            let (mut v, mut w) = (camp.buf(camp.n), camp.buf(2));
            let done = comm.fused(|f| {
                f.all_reduce(&mut v, camp.op(OperatorKind::Sum));
                f.all_reduce(&mut w, camp.op(OperatorKind::Max));
            });
            camp.saw(&w, Ok(()))?;
            camp.saw(&v, done)
        }),
        case!("fused in another order", |comm, camp| {
            let (mut v, mut w) = (camp.buf(camp.n), camp.buf(2));
            let done = comm.fused(|f| {
                f.all_reduce(&mut w, camp.op(OperatorKind::Max));
                f.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            });
            camp.saw(&w, Ok(()))?;
            camp.saw(&v, done)
        }),
        case!("fused of one vector", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.fused(|f| f.all_reduce(&mut v, camp.op(OperatorKind::Sum)));
            camp.saw(&v, done)
        }),
        case!("fused of i64", |comm, camp| {
            let mut v = signed(&camp.buf(camp.n));
            let done = comm.fused(|f| f.all_reduce(&mut v, camp.op(OperatorKind::Sum)));
            camp.saw(&unsigned(&v), done)
        }),
        case!("fused by an operator of its own", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.fused(|f| f.all_reduce(&mut v, camp.op(OperatorKind::Own)));
            camp.saw(&v, done)
        }),
        case!("all_reduce by an operator of its own", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Own));
            camp.saw(&v, done)
        }),
        case!("all_reduce by a closure", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.all_reduce(&mut v, |a, b| camp.fold(a, b));
            camp.saw(&v, done)
        }),
        case!("all_reduce, exchange", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm
                .using(Algorithm::Exchange)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce, halving", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm
                .using(Algorithm::Halving)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce, hybrid:1", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let hybrid = Algorithm::Hybrid { stages: 1 };
            let done = comm
                .using(hybrid)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce, chain:segments=3", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Algorithm::pipelined(TreeName::Chain, 3);
            let done = comm
                .using(chain)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce, chain:segments=4", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Algorithm::pipelined(TreeName::Chain, 4);
            let done = comm
                .using(chain)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce_scatter", |comm, camp| {
            let all = camp.buf(comm.size() * camp.n);
            let mut v = camp.buf(camp.n);
            let done = comm.reduce_scatter(&all, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce_scatter, ring", |comm, camp| {
            let all = camp.buf(comm.size() * camp.n);
            let mut v = camp.buf(camp.n);
            let done = comm.using(Algorithm::Ring).reduce_scatter(
                &all,
                &mut v,
                camp.op(OperatorKind::Sum),
            );
            camp.saw(&v, done)
        }),
        case!("reduce_scatter with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let all = camp.buf(counts.iter().sum());
            let mut v = camp.buf(counts[camp.rank]);
            let done = comm.reduce_scatter_v(&all, &counts, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("scan", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.scan(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("scan, chain", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.using(CHAIN).scan(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("exclusive_scan", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.exclusive_scan(&mut v, camp.own(), camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce_over a chain", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Topology::chain(comm.size());
            let done = comm
                .reduce_over(&chain, &mut v, camp.op(OperatorKind::Sum))
                .run();
            camp.saw(&v, done)
        }),
        case!("reduce_over a chain by arrival", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Topology::chain(comm.size());
            let sum = comm.reduce_over(&chain, &mut v, camp.op(OperatorKind::Sum));
            let done = sum.order(Order::Arrival).run();
            camp.saw(&v, done)
        }),
    ]
}

/// Returns calls with owned values, and with schedules and functions of the caller.
fn others() -> Vec<Case> {
    vec![
        case!("broadcast_value", |comm, camp| {
            let mine = (camp.rank == 0).then(|| camp.buf(1));
            let got = comm.values().broadcast(0, mine)?;
            camp.saw(&got, Ok(()))
        }),
        case!("broadcast_value from the last", |comm, camp| {
            let mine = (camp.rank == last(comm)).then(|| camp.buf(1));
            let got = comm.values().broadcast(last(comm), mine)?;
            camp.saw(&got, Ok(()))
        }),
        case!("broadcast_value of text", |comm, camp| {
            let mine = (camp.rank == 0).then(|| camp.mark.to_string());
            let got = comm.values().broadcast(0, mine)?;
            count(&camp.watch.strays, got != camp.mark.to_string());
            Ok(())
        }),
        case!("reduce_value", |comm, camp| {
            let got = comm
                .values()
                .reduce(0, camp.buf(1), |a, b| camp.fold_all(a, b))?;
            camp.saw(&got.unwrap_or_default(), Ok(()))
        }),
        case!("all_reduce_value", |comm, camp| {
            let got = comm
                .values()
                .all_reduce(camp.buf(1), |a, b| camp.fold_all(a, b))?;
            camp.saw(&got, Ok(()))
        }),
        case!("gather_value", |comm, camp| {
            let got = comm.values().gather(0, camp.own())?;
            camp.saw(&got.unwrap_or_default(), Ok(()))
        }),
        case!("all_gather_value", |comm, camp| {
            let got = comm.values().all_gather(camp.own())?;
            camp.saw(&got, Ok(()))
        }),
        case!("scatter_value", |comm, camp| {
            let all = (camp.rank == 0).then(|| camp.buf(comm.size()));
            let got = comm.values().scatter(0, all)?;
            camp.saw(&[got], Ok(()))
        }),
        case!("all_to_all_value", |comm, camp| {
            let got = comm.values().all_to_all(camp.buf(comm.size()))?;
            camp.saw(&got, Ok(()))
        }),
        case!("scan_value", |comm, camp| {
            let fold = |a, b| camp.fold_all(a, b);
            let got = comm.values().scan(camp.buf(1), fold)?;
            camp.saw(&got, Ok(()))
        }),
        case!("exclusive_scan_value", |comm, camp| {
            let fold = |a, b| camp.fold_all(a, b);
            let got = comm.values().exclusive_scan(camp.buf(1), fold)?;
            camp.saw(&got.unwrap_or_default(), Ok(()))
        }),
        case!("hypercube", |comm, camp| {
            if !comm.size().is_power_of_two() {
                return comm.using(Algorithm::Exchange).barrier();
            }
            let got = hypercube(comm, camp.buf(1), |a, b, _| camp.fold_all(a, b))?;
            camp.saw(&got, Ok(()))
        }),
        case!("run_schedule, reduce", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = FoldAlong::new(Topology::chain(comm.size()).single_port(), camp.n);
            let goal = Goal::reduce(0, camp.n);
            let done = comm.run_schedule(&chain, &goal, &[], &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("run_schedule, broadcast", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = FoldAlong::new(Topology::chain(comm.size()).single_port(), camp.n);
            let goal = Goal::broadcast(0, camp.n);
            let done = comm.run_schedule(&chain.reversed(), &goal, &[], &mut v, First);
            camp.saw(&v, done)
        }),
    ]
}

fn all_cases() -> Vec<Case> {
    [movements(), reductions(), others()]
        .into_iter()
        .flatten()
        .collect()
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
                site.file().ends_with("mismatches.rs"),
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

/// A sum for which each rank chooses whether it is declared commutative.
#[derive(Clone, Copy)]
struct SaysSo {
    commutes: bool,
}

impl Operator<u64> for SaysSo {
    fn combine(&self, left: u64, right: u64) -> u64 {
        left + right
    }
    fn commutes(&self) -> bool {
        self.commutes
    }
}

/// Returns whether all ranks have the right sums, or a mismatch was found.
fn right_or_mismatch(case: &str, ranks: usize, report: Report<Vec<u64>>) -> bool {
    let sum = (1..=ranks as u64).sum::<u64>();
    match report.into_result() {
        Ok(values) => {
            let right = values.iter().flatten().all(|x| *x == sum);
            assert!(right, "{case}: {values:?}");
            true
        }
        Err(WorldError::Mismatch(_)) => false,
        Err(other) => panic!("{case}: {other}"),
    }
}

/// In place and from an input are two ways to make the same call.
#[test]
fn all_reduces_in_place_match_those_from_an_input() {
    for ranks in 2..=7 {
        for algorithm in Algorithm::all(Collective::AllReduce) {
            for n in [1, 5, 40] {
                let shape = Call::new(Collective::AllReduce, ranks, n).commuting();
                if algorithm.refused(&shape).is_some() {
                    continue;
                }
                let case = format!("{algorithm}, {n} elements, {ranks} ranks");
                let world = World::new(ranks).check(false);
                let report = guarded(&|| case.clone(), || {
                    world.run_each(|comm| {
                        let input = vec![comm.rank() as u64 + 1; n];
                        let mut v = input.clone();
                        if comm.rank() % 2 == 0 {
                            comm.using(algorithm).all_reduce(&mut v, Sum)?;
                        } else {
                            comm.using(algorithm).all_reduce_into(&input, &mut v, Sum)?;
                        }
                        Ok(v)
                    })
                });
                assert!(right_or_mismatch(&case, ranks, report), "{case}");
            }
        }
    }
}

#[test]
fn ranks_whose_operators_say_different_things_of_themselves_mismatch() {
    let reduce: fn(&Comm, &mut [u64], SaysSo) -> Result<()> = |comm, v, op| comm.all_reduce(v, op);
    let scatter: fn(&Comm, &mut [u64], SaysSo) -> Result<()> = |comm, v, op| {
        let (input, n) = (v.to_vec(), v.len() / comm.size());
        comm.reduce_scatter(&input, &mut v[..n], op)?;
        let sum = v[0];
        v.fill(sum);
        Ok(())
    };
    for ranks in [2, 3, 4, 8] {
        for call in [reduce, scatter] {
            let case = || format!("{ranks} ranks");
            let world = World::new(ranks).check(false);
            let report = guarded(&case, || {
                world.run_each(|comm| {
                    let mut v = vec![comm.rank() as u64 + 1; ranks * 5];
                    let commutes = comm.rank() > 0;
                    call(comm, &mut v, SaysSo { commutes })?;
                    Ok(v)
                })
            });
            assert!(!right_or_mismatch(&case(), ranks, report), "{}", case());
        }
    }
}

/// Two ranks that differ about one piece detect it, and both are named with their lines.
#[test]
fn pieces_of_other_lengths_than_expected() {
    for ranks in 2..=5 {
        for check in [false, true] {
            for n in LENGTHS {
                let case = || format!("{ranks} ranks, {n} elements, check({check})");
                let world = World::new(ranks).check(check);
                let report = guarded(&case, || {
                    world.run_each(|comm| {
                        let (me, p) = (comm.rank(), comm.size());
                        let (mut to, from) = (vec![n; p], vec![n; p]);
                        if me == 0 {
                            to[p - 1] += 1;
                        }
                        let input = vec![me as u64; to.iter().sum()];
                        let mut output = vec![0; n * p];
                        comm.all_to_all_v(&input, &to, &mut output, &from)?;
                        comm.barrier()
                    })
                });
                assert!(report.outcomes.iter().all(|out| out.value().is_none()));
                let found = report.mismatch.unwrap_or_else(|| panic!("{}", case()));
                let ranks_named: Vec<Rank> = found.calls.iter().map(|call| call.rank).collect();
                assert!(ranks_named.contains(&0), "{}: {found}", case());
                let lines = found.calls.iter().filter_map(|call| call.site);
                assert_eq!(lines.count(), found.calls.len(), "{}: {found}", case());
            }
        }
    }
}

/// The goal and the number of steps are the same, the steps are not.
#[test]
fn ranks_that_run_different_schedules_for_one_goal_are_told_where_the_world_checks() {
    for ranks in 3..=6 {
        let case = || format!("{ranks} ranks");
        let folds = AtomicUsize::new(0);
        let report = guarded(&case, || {
            World::new(ranks).check(true).run_each(|comm| {
                let mut v = [1u64; 4];
                let families = [Topology::chain, Topology::decreasing_ring];
                let tree = families[usize::from(comm.rank() == 1)](ranks);
                let down = FoldAlong::new(tree.single_port(), 4);
                let count = op::commutative(|a: u64, b| {
                    folds.fetch_add(1, Ordering::Relaxed);
                    a + b
                });
                comm.run_schedule(&down, &Goal::reduce(0, 4), &[], &mut v, count)
            })
        });
        assert!(
            report.outcomes.iter().all(|out| out.value().is_none()),
            "{}: {:?}",
            case(),
            report.outcomes
        );
        assert_eq!(folds.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
