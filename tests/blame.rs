//! The rank that is named when one rank makes another collective call than the rest, in worlds that do not check: that
//! rank, by its call and line, and never one that only returned. And how reports name communicators.

mod again;
#[path = "blame/makers.rs"]
mod makers;
#[path = "blame/names.rs"]
mod names;
#[path = "blame/pictures.rs"]
mod pictures;
#[path = "blame/returned.rs"]
mod returned;
mod support;
#[path = "blame/verdicts.rs"]
mod verdicts;

use rankfold::error::Mismatch;
use rankfold::op::Sum;
use rankfold::topology::Topology;
use rankfold::{Comm, ErrorKind, Rank, Result, World, WorldError};
use support::{guarded, scale};

/// Returns how often each program runs.
fn times() -> usize {
    (6.0 * scale()).ceil() as usize
}

/// Returns how often each program of a pair of roots runs. There are as many pairs as a square of the ranks.
fn times_of_a_pair(ranks: usize) -> usize {
    let pairs = ranks * (ranks - 1);
    times().div_ceil(pairs.div_ceil(4))
}

/// One of some ranks makes another call.
#[derive(Clone, Copy, Debug)]
struct Odd {
    rank: Rank,
    ranks: usize,
    /// Whether the world checks.
    check: bool,
}

/// Runs the test with each rank of two to five as the odd one.
fn each_odd(test: impl Fn(Odd)) {
    for ranks in 2..=5 {
        let odd = |rank| Odd {
            rank,
            ranks,
            check: false,
        };
        (0..ranks).for_each(|rank| test(odd(rank)));
    }
}

type Call = fn(&Comm, Rank, usize) -> Result<()>;

/// Returns a rank other than this one, the same on all ranks.
fn other_root(root: Rank, by: usize, ranks: usize) -> Rank {
    (root + 1 + by % (ranks - 1)) % ranks
}

impl Odd {
    /// Checks that the program fails with the mismatch that names the odd rank, or both of two.
    fn is_named(self, what: &str, program: impl Fn(&Comm, bool) -> Result<()> + Sync) {
        self.is_named_in(what, times(), program);
    }

    fn is_named_in(
        self,
        what: &str,
        times: usize,
        program: impl Fn(&Comm, bool) -> Result<()> + Sync,
    ) {
        for time in 0..times {
            let show = || format!("{what}: {self:?}, time {time}");
            let world = World::new(self.ranks).check(self.check);
            let report = guarded(&show, || {
                world.run_each(|comm| program(comm, comm.rank() == self.rank))
            });
            let told = report.to_string();
            let culprit = report.culprit;
            match report.into_result() {
                Err(WorldError::Mismatch(found)) => self.judge(&found, &show()),
                other => panic!("{}: {other:?}\n{told}", show()),
            }
            let innocent = culprit.filter(|rank| *rank != self.rank);
            assert_eq!(innocent, None, "{}\n{told}", show());
            let named = self.ranks == 2 || culprit.is_some();
            assert!(named, "{}\n{told}", show());
        }
    }

    fn judge(self, found: &Mismatch, what: &str) {
        let odd = match self.ranks {
            2 => vec![],
            _ => vec![self.rank],
        };
        assert_eq!(found.odd, odd, "{what}: {found}");
        let line = |rank: Rank| {
            let call = found.calls.iter().find(|call| call.rank == rank);
            call.and_then(|call| call.site).map(|site| site.line())
        };
        let lines: Vec<_> = (0..self.ranks).map(line).collect();
        let others = |rank: &Rank| *rank != self.rank && lines[*rank].is_some();
        assert!(lines[self.rank].is_some(), "{what}: {found}");
        assert!((0..self.ranks).any(|rank| others(&rank)), "{what}: {found}");
    }

    /// The same where the odd rank names another root.
    fn with_another_root(self, what: &str, call: Call) {
        for root in 0..self.ranks {
            for by in 0..self.ranks - 1 {
                for n in [3, 20_000] {
                    let theirs = other_root(root, by, self.ranks);
                    let what = format!("{what}, {n} elements, root {theirs} instead of {root}");
                    self.is_named_in(&what, times_of_a_pair(self.ranks), |comm, odd| {
                        call(comm, if odd { theirs } else { root }, n)
                    });
                }
            }
        }
    }
}

fn broadcast(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.broadcast(root, &mut vec![comm.rank(); n])
}

fn gather(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.gather(root, &vec![comm.rank(); n]).map(drop)
}

fn scatter(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let all = (comm.rank() == root).then(|| vec![1; n * comm.size()]);
    comm.scatter(root, all.as_deref(), &mut vec![0; n])
}

fn reduce(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.reduce(root, &mut vec![1; n], Sum)
}

fn reduce_value(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let sum = comm.values().reduce(root, n, |a, b| a + b);
    sum.map(drop)
}

fn gather_value(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.values().gather(root, n).map(drop)
}

fn broadcast_value(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let value = (comm.rank() == root).then_some(n);
    comm.values().broadcast(root, value).map(drop)
}

#[test]
fn a_rank_that_broadcasts_from_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("broadcast", broadcast));
}

#[test]
fn a_rank_that_gathers_at_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("gather", gather));
}

#[test]
fn a_rank_that_scatters_from_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("scatter", scatter));
}

#[test]
fn a_rank_that_reduces_to_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("reduce", reduce));
}

#[test]
fn a_rank_that_moves_values_to_or_from_another_root_is_named() {
    each_odd(|odd| {
        odd.with_another_root("reduce_value", reduce_value);
        odd.with_another_root("gather_value", gather_value);
        odd.with_another_root("broadcast_value", broadcast_value);
    });
}

/// The two calls of a pair, made by the odd rank and the others, and the other way round.
fn pair(
    what: &str,
    one: impl Fn(&Comm) -> Result<()> + Sync,
    two: impl Fn(&Comm) -> Result<()> + Sync,
) {
    each_odd(|odd| {
        odd.is_named(
            what,
            |comm, is_odd| if is_odd { one(comm) } else { two(comm) },
        );
        odd.is_named(
            what,
            |comm, is_odd| if is_odd { two(comm) } else { one(comm) },
        );
    });
}

#[test]
fn a_rank_that_broadcasts_where_others_meet_at_a_barrier_is_named() {
    for root in 0..2 {
        for n in [1, 20_000] {
            let what = format!("barrier against broadcast of {n} from {root}");
            pair(
                &what,
                |comm| comm.barrier(),
                |comm| broadcast(comm, root, n),
            );
        }
    }
}

#[test]
fn a_rank_that_reduces_a_value_where_others_reduce_elements_is_named() {
    for root in 0..2 {
        let what = format!("reduce_value against reduce to {root}");
        pair(
            &what,
            |comm| reduce_value(comm, root, 1),
            |comm| reduce(comm, root, 1),
        );
    }
}

#[test]
fn a_rank_that_reduces_over_another_topology_is_named() {
    let over =
        |comm: &Comm, topology: &Topology| comm.reduce_over(topology, &mut [1, 2, 3], Sum).run();
    for other in [Topology::flat, Topology::decreasing_ring] {
        pair(
            "reduce_over",
            |comm| over(comm, &Topology::chain(comm.size())),
            |comm| over(comm, &other(comm.size())),
        );
    }
}

/// Rank 3 leaves, rank 1 misses it in a receive, and rank 0 misses rank 1: all calls of collectives agree.
#[test]
fn a_rank_missed_only_by_another_has_made_no_other_call() {
    for calls in [2, 20] {
        let world = World::new(4).check(false);
        let report = guarded(&|| format!("{calls} calls"), || {
            world.run_each(|comm| {
                if comm.rank() == 1 {
                    comm.recv::<u8>(3, 9)?;
                }
                let chain = Topology::chain(4);
                (0..calls).try_for_each(|_| comm.reduce_over(&chain, &mut [1u64], Sum).run())
            })
        });
        assert!(report.mismatch.is_none(), "{report}");
        for outcome in &report.outcomes {
            let mismatch = outcome
                .error()
                .filter(|error| matches!(error.kind(), ErrorKind::Mismatch(_)));
            assert!(mismatch.is_none(), "{report}");
        }
    }
}

/// Calls before or after the odd one do not change which rank is named.
#[test]
fn the_odd_rank_is_named_wherever_the_call_stands_in_the_program() {
    each_odd(|odd| {
        odd.is_named("between other calls", |comm, is_odd| {
            let root = usize::from(is_odd);
            reduce(comm, 0, 3)?;
            broadcast(comm, root, 3)?;
            comm.barrier()?;
            gather(comm, 0, 100)
        });
        odd.is_named("before messages from rank to rank", |comm, is_odd| {
            let (me, ranks) = (comm.rank(), comm.size());
            broadcast(comm, usize::from(is_odd), 3)?;
            comm.send((me + 1) % ranks, 0, &[me])?;
            comm.recv::<usize>((me + ranks - 1) % ranks, 0).map(drop)
        });
    });
}

/// Returns the mismatch with which a program fails.
fn mismatch(
    ranks: usize,
    program: impl Fn(&Comm) -> Result<()> + Sync,
) -> std::sync::Arc<Mismatch> {
    match World::new(ranks).run(program) {
        Err(WorldError::Mismatch(found)) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
