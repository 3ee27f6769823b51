//! Collectives over shared memory under programs that try to break them from safe code: operators that panic at any
//! element, ranks that disagree in one thing, inputs that several ranks share, elements of odd sizes and alignments.
//! Results are right or typed errors, no rank hangs, and every rank has exclusive access to its vector again at once.

#[path = "direct_hostile/differences.rs"]
mod differences;
mod support;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use rankfold::collective::Algorithm::Direct;
use rankfold::op::Element;
use rankfold::op::{self, Operator};
use rankfold::{Comm, ErrorKind, Outcome, Result, World, span};
use support::guarded;

/// The sum, which panics on one rank once it has combined a given number of pairs.
struct Trap {
    sprung: bool,
    left: AtomicUsize,
}

impl Trap {
    fn new(sprung: bool, pairs: usize) -> Trap {
        let left = AtomicUsize::new(pairs);
        Trap { sprung, left }
    }
}

impl Operator<u64> for &Trap {
    fn combine(&self, a: u64, b: u64) -> u64 {
        let last = self.sprung && self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        assert!(!last, "as asked");
        a + b
    }
}

/// The collectives that fold, on vectors of length n; checks what must stay unchanged.
fn fold(comm: &Comm, which: usize, input: &[u64], v: &mut [u64], op: &Trap) -> Result<()> {
    let block = span::block(v.len(), comm.size(), comm.rank()).len();
    match which {
        0 => comm.using(Direct).all_reduce(v, op),
        1 => comm.using(Direct).all_reduce_into(input, v, op),
        2 => comm.using(Direct).reduce(comm.size() / 2, v, op),
        _ => comm
            .using(Direct)
            .reduce_scatter(input, &mut v[..block], op),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn whatever_pair_an_operator_panics_at_all_learn_whose_it_was(
        ranks in 2..13usize, n in prop_oneof![1..30usize, 700..900usize], which in 0..4usize,
        first in 0..13usize, second in 0..13usize, pairs in 1..400usize,
    ) {
        let culprits = [first % ranks, second % ranks];
        let case = || format!("{which} of {ranks}, {n}: {culprits:?} at {pairs}");
        let report = guarded(&case, || World::new(ranks).run_each(|comm| {
            let me = comm.rank();
            let trap = Trap::new(culprits.contains(&me), pairs);
            let (input, mut v) = (vec![1; n], vec![1; n]);
            let done = catch_unwind(AssertUnwindSafe(|| fold(comm, which, &input, &mut v, &trap)));
            v.fill(me as u64);
            assert_eq!(input, vec![1; n]);
            assert_eq!(v, vec![me as u64; n]);
            // A rank that survives its operator is in a broken communicator.
            if !matches!(done, Ok(Ok(()))) {
                let again = comm.using(Direct).all_reduce(&mut v, op::Sum);
                assert!(again.is_err(), "{} goes on", case());
            }
            match done {
                Ok(result) => result,
                Err(payload) => std::panic::resume_unwind(payload),
            }
        }));
        let panicked = |outcome: &Outcome<()>| matches!(outcome, Outcome::Panicked { .. });
        let sprung: Vec<_> = (0..ranks).filter(|&rank| panicked(&report.outcomes[rank])).collect();
        prop_assert!(sprung.iter().all(|rank| culprits.contains(rank)), "{}: {sprung:?}", case());
        for outcome in report.outcomes.iter() {
            match outcome {
                Outcome::Failed(error) => {
                    let culprit = error.culprit();
                    prop_assert!(culprit.is_some_and(|rank| sprung.contains(&rank)), "{}: {error}", case());
                }
                // The trap lies beyond the pairs to combine.
                Outcome::Returned(()) => prop_assert!(sprung.is_empty(), "{}", case()),
                _ => {}
            }
        }
    }
}

#[test]
fn a_rank_that_catches_its_operators_panic_and_goes_on_hangs_nobody() {
    let report = guarded(&|| "caught".into(), || {
        World::new(3).run_each(|comm| {
            let trap = Trap::new(comm.rank() == 1, 5);
            let call = || {
                comm.using(Direct)
                    .all_reduce(&mut vec![comm.rank() as u64; 900], &trap)
            };
            match catch_unwind(AssertUnwindSafe(call)) {
                Ok(result) => result,
                Err(_) => Ok(()),
            }
        })
    });
    for rank in [0, 2] {
        let Outcome::Failed(error) = &report.outcomes[rank] else {
            panic!("rank {rank} has a result");
        };
        assert_eq!(error.culprit(), Some(1), "{error}");
    }
}

#[test]
fn who_waits_for_a_rank_that_does_not_come_runs_out_of_time_and_takes_its_vector_along() {
    for ranks in [2, 3, 9] {
        let (tell, hear) = channel();
        let (tell, hear) = (Mutex::new(tell), Mutex::new(hear));
        let world = World::new(ranks).timeout(Duration::from_millis(20));
        let report = guarded(&|| format!("late in {ranks}"), || {
            world.run_each(|comm| {
                let mut v = vec![comm.rank() as u64; 900];
                let last = comm.rank() == ranks - 1;
                // The last rank arrives when another one has left.
                if last {
                    hear.lock().unwrap().recv().unwrap();
                }
                let result = comm.using(Direct).all_reduce(&mut v, op::Sum);
                if !last {
                    tell.lock().unwrap().send(()).unwrap();
                }
                assert_eq!(v, vec![comm.rank() as u64; 900], "it was touched");
                v.fill(7);
                result
            })
        });
        let mut timed_out = 0;
        for outcome in report.outcomes.iter() {
            let Outcome::Failed(error) = outcome else {
                panic!("{outcome:?}");
            };
            timed_out += usize::from(matches!(error.kind(), ErrorKind::TimedOut { .. }));
        }
        assert!(timed_out > 0);
    }
}

/// How long ranks wait for each other here.
const PATIENCE: Duration = Duration::from_millis(20);

/// Takes longer than that: in another world, ranks time out twice.
fn outlast_patience() {
    for _ in 0..2 {
        let over = Barrier::new(2);
        let report = World::new(2).timeout(PATIENCE).run_each(|comm| {
            let waited = match comm.rank() {
                0 => comm.recv::<u8>(1, 0).map(|_| ()),
                _ => Ok(()),
            };
            over.wait();
            waited
        });
        let error = report.outcomes[0].error().expect("nothing was sent");
        assert!(
            matches!(error.kind(), ErrorKind::TimedOut { .. }),
            "{error}"
        );
    }
}

#[test]
fn an_operator_that_is_slower_than_the_worlds_patience_is_waited_for() {
    let world = World::new(3).timeout(PATIENCE);
    let slow = |comm: &Comm| {
        let (first, mut v) = (AtomicUsize::new(0), vec![1u64; 900]);
        let pause = |a: u64, b: u64| {
            if comm.rank() == 1 && first.fetch_add(1, Ordering::Relaxed) == 0 {
                outlast_patience();
            }
            a + b
        };
        comm.using(Direct)
            .all_reduce(&mut v, op::commutative(pause))?;
        Ok(v)
    };
    // The patience may run out before all have arrived; then no rank has a result.
    let report = world.run_each(slow);
    for outcome in report.outcomes.iter() {
        match outcome {
            Outcome::Returned(v) => assert_eq!(*v, vec![3; 900]),
            Outcome::Failed(error) => {
                assert!(
                    report
                        .outcomes
                        .iter()
                        .all(|other| matches!(other, Outcome::Failed(_))),
                    "{error}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Compares all collectives of vectors of this type with the plain fold.
fn all_of<T: Element + PartialEq + Debug>(
    comm: &Comm,
    each: usize,
    make: impl Fn(usize, usize) -> T,
    op: impl Operator<T> + Copy,
) -> Result<()> {
    all_reductions_of(comm, each, &make, op)?;
    all_movements_of(comm, each, &make)
}

/// Compares the reductions.
fn all_reductions_of<T: Element + PartialEq + Debug>(
    comm: &Comm,
    each: usize,
    make: impl Fn(usize, usize) -> T,
    op: impl Operator<T> + Copy,
) -> Result<()> {
    let (me, ranks, root) = (comm.rank(), comm.size(), comm.size() - 1);
    let n = each * ranks;
    let vector = |rank| (0..n).map(|i| make(rank, i)).collect::<Vec<T>>();
    let folded = |i| (1..ranks).fold(make(0, i), |sum, rank| op.combine(sum, make(rank, i)));
    let sums: Vec<T> = (0..n).map(folded).collect();
    let own = each * me..each * (me + 1);

    let mine = vector(me);
    let mut v = mine.clone();
    comm.using(Direct).all_reduce(&mut v, op)?;
    assert_eq!(v, sums);
    let mut v = mine.clone();
    comm.using(Direct).reduce(root, &mut v, op)?;
    assert_eq!(v, *if me == root { &sums } else { &mine });
    let mut v = vector(ranks);
    comm.using(Direct).all_reduce_into(&mine, &mut v, op)?;
    assert_eq!(v, sums);
    let mut block = vector(ranks)[own.clone()].to_vec();
    comm.using(Direct).reduce_scatter(&mine, &mut block, op)?;
    assert_eq!(block, sums[own]);
    Ok(())
}

/// Compares the calls that move elements.
fn all_movements_of<T: Element + PartialEq + Debug>(
    comm: &Comm,
    each: usize,
    make: impl Fn(usize, usize) -> T,
) -> Result<()> {
    let (me, ranks, root) = (comm.rank(), comm.size(), comm.size() - 1);
    let n = each * ranks;
    let vector = |rank| (0..n).map(|i| make(rank, i)).collect::<Vec<T>>();
    let own = each * me..each * (me + 1);
    let joined: Vec<T> = (0..n).map(|i| make(i / each, i)).collect();

    let mine = vector(me);
    let mut v = mine.clone();
    comm.using(Direct).broadcast(root, &mut v)?;
    assert_eq!(v, vector(root));
    let mut v = vector(ranks);
    comm.using(Direct).all_gather(&mine[own.clone()], &mut v)?;
    assert_eq!(v, joined);
    let all = comm.using(Direct).gather(root, &mine[own.clone()])?;
    assert_eq!(all, (me == root).then_some(joined));
    let mut block = mine[own.clone()].to_vec();
    comm.using(Direct)
        .scatter(root, (me == root).then_some(&mine[..]), &mut block)?;
    assert_eq!(block, vector(root)[own]);
    let mut v = vector(ranks);
    comm.using(Direct).all_to_all(&mine, &mut v)?;
    let sent = |i: usize| make(i / each, each * me + i % each);
    assert_eq!(v, (0..n).map(sent).collect::<Vec<T>>());
    Ok(())
}

/// A type of some size and alignment.
macro_rules! odd {
    ($name:ident, $align:literal, $words:literal) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C, align($align))]
        struct $name([u16; $words]);

        impl $name {
            fn new(rank: usize, i: usize) -> $name {
                $name([(rank * 31 + i) as u16; $words])
            }
            fn add(a: $name, b: $name) -> $name {
                $name(std::array::from_fn(|i| a.0[i].wrapping_add(b.0[i])))
            }
        }
    };
}

odd!(Small, 2, 3);
odd!(Line, 64, 5);
odd!(Lines, 128, 3);
odd!(Page, 4096, 7);
odd!(Long, 8, 1500);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Nothing;

#[test]
fn elements_may_have_any_size_and_alignment() {
    for ranks in [2, 3, 12] {
        let all = |comm: &Comm| {
            for each in [0, 1, 2, 13] {
                all_of(comm, each, Small::new, op::commutative(Small::add))?;
                all_of(comm, each, Line::new, op::commutative(Line::add))?;
                all_of(comm, each, Lines::new, op::commutative(Lines::add))?;
                all_of(comm, each, Page::new, op::commutative(Page::add))?;
                all_of(comm, each, Long::new, op::commutative(Long::add))?;
                all_of(comm, each, |_, _| Nothing, op::commutative(|_, b| b))?;
            }
            Ok(())
        };
        World::new(ranks).run(all).unwrap();
    }
}

#[test]
fn many_more_ranks_than_there_are_cpus() {
    let all = |comm: &Comm| all_of(comm, 40, |rank, i| (rank * 7 + i) as u64, op::Sum);
    World::new(64).run(all).unwrap();
}

/// All ranks read the same memory, or overlapping windows of it.
#[test]
fn ranks_may_share_their_inputs() {
    static ALL: [u64; 1000] = [3; 1000];
    let run = |comm: &Comm| {
        let (me, ranks) = (comm.rank(), comm.size());
        for shift in [0, me, 8 * me] {
            let input = &ALL[shift..shift + 60 * ranks];
            let mut v = vec![0; input.len()];
            comm.using(Direct).all_reduce_into(input, &mut v, op::Sum)?;
            assert_eq!(v, vec![3 * ranks as u64; input.len()]);
            comm.using(Direct)
                .reduce_scatter(input, &mut v[..60], op::Max)?;
            assert_eq!(v[..60], [3; 60]);
            comm.using(Direct).all_gather(&input[..60], &mut v)?;
            assert_eq!(v, input);
            v.fill(0);
            comm.using(Direct).all_to_all(input, &mut v)?;
            assert_eq!(v, input);
        }
        Ok(())
    };
    for ranks in [2, 3, 10] {
        World::new(ranks).run(run).unwrap();
    }
}

/// The vectors of all ranks are parts of one allocation, divided off cache line boundaries: one rank's output begins
/// where another's ends.
#[test]
fn ranks_may_write_side_by_side() {
    for ranks in [2, 3, 10] {
        for n in [1, 7, 131, 1003] {
            let mut all = vec![1u64; ranks * n];
            let parts = all.chunks_mut(n).map(Some);
            let parts: Vec<_> = parts.map(Mutex::new).collect();
            let run = |comm: &Comm| {
                let part = parts[comm.rank()].lock().unwrap().take().unwrap();
                comm.using(Direct).all_reduce(part, op::Sum)?;
                comm.using(Direct).all_reduce(part, op::Sum)?;
                let input = vec![comm.rank() as u64; n];
                comm.using(Direct).reduce(0, part, op::Sum)?;
                comm.using(Direct).broadcast(0, part)?;
                assert_eq!(part, vec![(ranks * ranks * ranks) as u64; n]);
                comm.using(Direct).all_reduce_into(&input, part, op::Sum)
            };
            World::new(ranks).run(run).unwrap();
            drop(parts);
            assert_eq!(all, vec![(ranks * (ranks - 1) / 2) as u64; ranks * n]);
        }
    }
}

#[test]
fn a_world_inside_a_rank_and_parts_that_are_never_given_back() {
    let inner = |outer: usize| {
        World::new(3).run(move |comm| {
            let mut v = vec![outer + comm.rank(); 700];
            comm.using(Direct).all_reduce(&mut v, op::Sum)?;
            Ok(v[699])
        })
    };
    let run = |comm: &Comm| {
        let half = comm.split(comm.rank() as u32 % 2, 0)?;
        let mut v = vec![1u64; 500];
        half.using(Direct).all_reduce(&mut v, op::Sum)?;
        let members = half.size() as u64;
        std::mem::forget(half);
        assert_eq!(v, vec![members; 500]);
        assert_eq!(inner(comm.rank()).unwrap(), vec![3 * comm.rank() + 3; 3]);
        let mut v = vec![1u64; 500];
        comm.using(Direct).all_reduce(&mut v, op::Sum)?;
        assert_eq!(v, vec![5; 500]);
        Ok(())
    };
    World::new(5).run(run).unwrap();
}
