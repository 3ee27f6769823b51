//! Collectives of owned values against the definition, for every number of ranks up to 17: operands in rank order, no
//! value cloned or destroyed more often than documented, and functions that panic.

mod again;
mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::{Buffering, Comm, ErrorKind, Outcome, Rank, Result, World, WorldError};
use support::guarded;

const RANKS: usize = 17;

/// Runs a program on every number of ranks, checked and not, without buffers and in an order drawn from a seed.
fn each(program: impl Fn(&Comm) -> Result<()> + Sync) {
    for ranks in 1..=RANKS {
        let new = || World::new(ranks).strict();
        let worlds = [
            new().check(true),
            new().check(false),
            new().check(false).buffering(Buffering::Zero),
            new().check(false).seed(ranks as u64),
        ];
        for world in worlds {
            let case = || format!("{world:?}");
            let report = guarded(&case, || world.run_each(&program));
            report
                .into_result()
                .unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
        }
    }
}

fn name(rank: Rank) -> String {
    format!("<{rank}>")
}

fn joined(ranks: std::ops::Range<Rank>) -> String {
    ranks.map(name).collect()
}

#[test]
fn a_scan_folds_the_ranks_up_to_each_in_order() {
    each(|comm| {
        let me = comm.rank();
        let got = comm.values().scan(name(me), |a, b| a + &b)?;
        assert_eq!(got, joined(0..me + 1));
        let got = comm.values().exclusive_scan(name(me), |a, b| a + &b)?;
        assert_eq!(got, (me > 0).then(|| joined(0..me)));
        Ok(())
    });
}

/// Not `Clone`: it is moved.
#[derive(Debug, PartialEq)]
struct Letter {
    from: Rank,
    to: Rank,
    text: Vec<String>,
}

#[test]
fn an_all_to_all_moves_every_value_to_its_rank() {
    each(|comm| {
        let (me, ranks) = (comm.rank(), comm.size());
        let letter = |from: Rank, to: Rank| Letter {
            from,
            to,
            text: vec![name(from); to],
        };
        let got = comm
            .values()
            .all_to_all((0..ranks).map(|to| letter(me, to)).collect())?;
        let expected: Vec<Letter> = (0..ranks).map(|from| letter(from, me)).collect();
        assert_eq!(got, expected);
        Ok(())
    });
}

#[test]
fn calls_one_after_another_keep_their_values_apart() {
    each(|comm| {
        let (me, ranks) = (comm.rank(), comm.size());
        for round in 0..4 {
            let mine = BTreeMap::from([(round, me)]);
            let sum = comm.values().scan(me + round, |a, b| a + b)?;
            assert_eq!(sum, (0..=me).sum::<usize>() + round * (me + 1));
            let got = comm.values().all_to_all(vec![mine; ranks])?;
            assert!((0..ranks).all(|from| got[from] == BTreeMap::from([(round, from)])));
            let before = comm.values().exclusive_scan(round, |a, b| a.max(b))?;
            assert_eq!(before, (me > 0).then_some(round));
        }
        Ok(())
    });
}

// ── clones and destructors ──

static CLONES: AtomicUsize = AtomicUsize::new(0);
static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts its clones, and those that are alive.
struct Counted(u64);

impl Counted {
    fn new(value: u64) -> Counted {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Counted(value)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Counted {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Counted::new(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

fn ones(ranks: usize) -> Vec<Counted> {
    (0..ranks).map(|_| Counted::new(1)).collect()
}

fn add(a: Counted, b: Counted) -> Counted {
    Counted::new(a.0 + b.0)
}

/// Both scans of ones.
fn scans(comm: &Comm) -> Result<()> {
    let one = comm.values().scan(Counted::new(1), add)?;
    assert_eq!(one.0, comm.rank() as u64 + 1);
    let before = comm.values().exclusive_scan(Counted::new(1), add)?;
    assert_eq!(before.map_or(0, |it| it.0), comm.rank() as u64);
    Ok(())
}

/// A failure in the middle: rank 1 panics in its fold.
fn scan_that_panics(comm: &Comm) -> Result<()> {
    let me = comm.rank();
    let fold = |a: Counted, b: Counted| {
        assert_ne!(me, 1, "in a fold");
        add(a, b)
    };
    comm.values().scan(Counted::new(1), fold)?;
    comm.values().all_to_all(ones(comm.size())).map(drop)
}

#[test]
fn values_are_cloned_once_a_step_at_most_and_all_are_destroyed() {
    for ranks in 1..=RANKS {
        CLONES.store(0, Ordering::Relaxed);
        let moved = |comm: &Comm| {
            let got = comm.values().all_to_all(ones(ranks))?;
            assert_eq!(got.len(), ranks);
            Ok(())
        };
        World::new(ranks).strict().run(moved).unwrap();
        assert_eq!(CLONES.load(Ordering::Relaxed), 0);
        World::new(ranks).strict().run(scans).unwrap();
        let steps = ranks.next_power_of_two().ilog2() as usize;
        assert!(CLONES.load(Ordering::Relaxed) <= 2 * ranks * steps);
        let report = guarded(&|| format!("{ranks} ranks, a panic"), || {
            World::new(ranks).run_each(scan_that_panics)
        });
        if ranks > 1 {
            assert!(matches!(report.outcomes[1], Outcome::Panicked { .. }));
        }
        drop(report);
        assert_eq!(ALIVE.load(Ordering::Relaxed), 0, "{ranks} ranks");
    }
}

// ── wrong programs ──

#[test]
fn a_rank_whose_fold_panics_is_named_to_all_that_need_it() {
    for victim in 1..5 {
        let error = guarded(&|| format!("rank {victim} panics"), || {
            World::new(5).run(|comm| {
                let me = comm.rank();
                let sum = comm.values().scan(me, |a, b| {
                    assert_ne!(me, victim, "of its own");
                    a + b
                })?;
                comm.barrier().map(|()| sum)
            })
        });
        let error = error.unwrap_err();
        let named = matches!(error, WorldError::Panicked { rank, .. } if rank == victim);
        assert!(named, "{error}");
    }
}

#[test]
fn a_rank_that_leaves_one_out_gets_a_usage_error_and_the_others_learn_of_it() {
    for check in [false, true] {
        let report = guarded(&|| "a value too few".into(), || {
            World::new(4).check(check).run_each(|comm| {
                let count = if comm.rank() == 2 { 3 } else { 4 };
                comm.values().all_to_all(vec![0u8; count]).map(drop)
            })
        });
        for (rank, outcome) in report.outcomes.iter().enumerate() {
            let error = outcome.error().expect("all fail");
            match rank {
                2 => assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}"),
                _ => assert_eq!(error.culprit(), Some(2), "{error}"),
            }
        }
    }
}

#[test]
fn values_of_different_kinds_or_types_do_not_mix() {
    for check in [false, true] {
        let programs: [fn(&Comm) -> Result<()>; 4] = [
            |comm| comm.values().scan(1u64, |a, b| a + b).map(drop),
            |comm| comm.values().exclusive_scan(1u64, |a, b| a + b).map(drop),
            |comm| comm.values().scan(1u32, |a, b| a + b).map(drop),
            |comm| comm.values().all_to_all(vec![1u64; comm.size()]).map(drop),
        ];
        for (one, other) in [(0, 1), (0, 2), (0, 3), (1, 3), (2, 1)] {
            let case = || format!("{one} and {other}, check({check})");
            let report = guarded(&case, || {
                World::new(3)
                    .check(check)
                    .run_each(|comm| match comm.rank() {
                        1 => programs[other](comm),
                        _ => programs[one](comm),
                    })
            });
            let error = report.into_result().unwrap_err();
            let WorldError::Mismatch(found) = &error else {
                panic!("{}: {error}", case())
            };
            assert_eq!(found.odd, [1], "{}: {error}", case());
        }
    }
}

/// Its destructor panics, without a word, if it is `true`.
#[derive(Clone)]
struct Panics(bool);

impl Drop for Panics {
    fn drop(&mut self) {
        if self.0 && !std::thread::panicking() {
            resume_unwind(Box::new("of the destructor"));
        }
    }
}

/// A panic inside a call would end the rank.
#[test]
fn the_value_that_no_rank_gets_in_an_exclusive_scan_is_destroyed_after_the_call() {
    each(|comm| {
        let is_last = comm.rank() + 1 == comm.size();
        let scan = || {
            let scan = comm
                .values()
                .exclusive_scan(Panics(is_last), |left, _| left);
            scan.map(drop)
        };
        assert_eq!(catch_unwind(AssertUnwindSafe(scan)).is_err(), is_last);
        comm.barrier()
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
