//! A collective allocates nothing after the first call of its kind, as counted by a custom allocator, in a process of
//! its own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::thread::available_parallelism;

use rankfold::check::Goal;
use rankfold::collective::Algorithm::Direct;
use rankfold::collective::halving_reduce_scatter;
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::{OwnSteps, Topology};
use rankfold::{Comm, Result, World, op};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all calls are forwarded to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns the number of calls in which a rank allocates, after it has made a few of them.
fn allocations(comm: &Comm, call: impl Fn(&Comm) -> Result<()>) -> Result<u64> {
    // The barriers are of one line, so that none of them is a new call that takes the place of another one.
    let meet = || comm.barrier();
    (0..20).try_for_each(|_| call(comm).and_then(|()| meet()))?;
    let mut allocating = 0;
    for _ in 0..50 {
        let before = ALLOCATIONS.get();
        call(comm)?;
        allocating += u64::from(ALLOCATIONS.get() > before);
    }
    meet()?;
    Ok(allocating)
}

/// A rank that goes to sleep writes down what it waits for, and may allocate for that: so no rank allocates in more
/// calls than it slept. Repeats the calls a few times until no rank has slept; on a busy machine, and of more ranks than
/// CPUs, some always do.
fn in_ranks(what: &str, call: impl Fn(&Comm, &mut [f64]) -> Result<()> + Sync, length: usize) {
    let cpus = available_parallelism().map_or(1, usize::from);
    for ranks in [1, 2, 3, 8] {
        for _ in 0..5 {
            let world = World::new(ranks).check(false);
            let report = world.run_each(|comm| {
                let buffer = RefCell::new(vec![1.0; length]);
                allocations(comm, |comm| call(comm, &mut buffer.borrow_mut()))
            });
            let slept: Vec<u64> = report.counts.iter().map(|rank| rank.sleeps).collect();
            let allocated = report.into_result().unwrap();
            let mut both = allocated.iter().zip(&slept);
            assert!(
                both.all(|(calls, sleeps)| calls <= sleeps),
                "{what}, {length} elements, {ranks} ranks: {allocated:?} calls allocate, {slept:?} sleeps"
            );
            if slept == vec![0; ranks] || ranks > cpus {
                break;
            }
        }
    }
}

#[test]
fn collectives_allocate_nothing_in_the_steady_state() {
    for length in [0, 1, 3, 100, 5000] {
        in_ranks("all_reduce", |comm, v| comm.all_reduce(v, op::Sum), length);
        in_ranks("broadcast", |comm, v| comm.broadcast(0, v), length);
        in_ranks("reduce", |comm, v| comm.reduce(0, v, op::Sum), length);
        in_ranks("barrier", |comm, _| comm.barrier(), length);
    }
}

#[test]
fn eight_fused_vectors_allocate_nothing_in_the_steady_state() {
    for length in [0, 8, 24, 400, 4000] {
        let call = |comm: &Comm, v: &mut [f64]| {
            comm.fused(|f| {
                let parts = v.chunks_exact_mut((length / 8).max(1));
                parts.for_each(|part| f.all_reduce(part, op::Sum));
            })
        };
        in_ranks("fused", call, length);
    }
}

#[test]
fn an_empty_run_of_a_team_allocates_only_where_the_results_go() {
    for ranks in [1, 2, 3] {
        let team = World::new(ranks).start().unwrap();
        let by_ranks = || team.run(|_| Ok(ALLOCATIONS.get())).unwrap();
        let mut fewest = usize::MAX;
        for _ in 0..200 {
            let before = (by_ranks(), ALLOCATIONS.get());
            team.run(|comm| Ok(comm.rank())).unwrap();
            fewest = fewest.min(ALLOCATIONS.get() - before.1);
            let after = by_ranks();
            // Rank 0 is the caller.
            assert_eq!(after[1..], before.0[1..], "{ranks} ranks");
        }
        assert_eq!(fewest, 1, "{ranks} ranks");
    }
}

#[test]
fn a_team_that_makes_the_same_calls_again_allocates_no_more_for_them() {
    for ranks in [2, 3] {
        let team = World::new(ranks).check(false).start().unwrap();
        let run = || {
            let of_one = |comm: &Comm| {
                let before = ALLOCATIONS.get();
                comm.all_reduce(&mut [1.0; 4], op::Sum)?;
                comm.barrier()?;
                Ok(ALLOCATIONS.get() - before)
            };
            team.run(of_one).unwrap()
        };
        let runs: Vec<_> = (0..100).map(|_| run()).collect();
        assert!(runs[0].iter().any(|count| *count > 0), "{ranks} ranks");
        // In some calls they go to sleep and write that down.
        let free = |rank: usize| runs.iter().any(|run| run[rank] == 0);
        assert!((0..ranks).all(free), "{ranks} ranks: {runs:?}");
    }
}

/// Returns the fewest allocations of a rank in one of many calls: in some it goes to sleep and writes that down.
fn fewest(comm: &Comm, call: impl Fn(&Comm) -> Result<()>) -> Result<usize> {
    call(comm)?;
    let of_one = |_| {
        let before = ALLOCATIONS.get();
        call(comm).map(|()| ALLOCATIONS.get() - before)
    };
    let each: Result<Vec<usize>> = (0..200).map(of_one).collect();
    Ok(each?.into_iter().min().unwrap_or(0))
}

/// All collectives over shared memory, one by one.
type OverMemory = fn(&Comm, &[f64], &mut [f64]) -> Result<()>;

const OVER_MEMORY: [OverMemory; 8] = [
    |comm, _, v| comm.using(Direct).all_reduce(v, op::Sum),
    |comm, mine, v| comm.using(Direct).all_reduce_into(mine, v, op::Sum),
    |comm, _, v| comm.using(Direct).reduce(1, v, op::Sum),
    |comm, _, v| comm.using(Direct).broadcast(1, v),
    |comm, mine, v| {
        let own = v.len() / comm.size();
        comm.using(Direct)
            .reduce_scatter(mine, &mut v[..own], op::Sum)
    },
    |comm, mine, v| {
        comm.using(Direct)
            .all_gather(&mine[..v.len() / comm.size()], v)
    },
    |comm, mine, v| {
        let (own, root) = (v.len() / comm.size(), comm.rank() == 1);
        comm.using(Direct)
            .scatter(1, root.then_some(mine), &mut v[..own])
    },
    |comm, mine, v| comm.using(Direct).all_to_all(mine, v),
];

#[test]
fn calls_over_shared_memory_allocate_nothing_in_the_steady_state() {
    for ranks in [2, 5, 12] {
        for (which, call) in OVER_MEMORY.iter().enumerate() {
            let run = |comm: &Comm| {
                let n = 100 * comm.size();
                let (mine, v) = (vec![0.0; n], RefCell::new(vec![0.0; n]));
                fewest(comm, |comm| call(comm, &mine, &mut v.borrow_mut()))
            };
            let counts = World::new(ranks).check(false).run(run).unwrap();
            assert_eq!(
                counts,
                vec![0; ranks],
                "collective {which} of {ranks} ranks"
            );
        }
    }
}

/// All of them at lengths that go over cells, near and far, and at one that does not.
#[test]
fn no_collective_of_blocks_allocates_in_the_steady_state() {
    for length in [1, 4, 5, 60, 5000] {
        in_ranks("all_reduce_into", into, length);
        in_ranks("reduce_scatter", scattered, length);
        in_ranks("all_gather", gathered, length);
        in_ranks("gather", |comm, v| gathered_at(comm, v, 0), length);
        in_ranks("scatter", spread, length);
        in_ranks("all_to_all", exchanged, length);
    }
}

/// Returns the rank's part of a vector that all ranks have, and the whole.
fn parts<'a>(comm: &Comm, v: &'a mut [f64]) -> (&'a mut [f64], &'a mut [f64]) {
    let block = v.len() / (comm.size() + 1);
    let (all, rest) = v.split_at_mut(block * comm.size());
    (all, &mut rest[..block])
}

fn into(comm: &Comm, v: &mut [f64]) -> Result<()> {
    let (input, output) = v.split_at_mut(v.len() / 2);
    comm.all_reduce_into(input, &mut output[..input.len()], op::Sum)
}

fn scattered(comm: &Comm, v: &mut [f64]) -> Result<()> {
    let (all, own) = parts(comm, v);
    comm.reduce_scatter(all, own, op::Sum)
}

fn gathered(comm: &Comm, v: &mut [f64]) -> Result<()> {
    let (all, own) = parts(comm, v);
    comm.all_gather(own, all)
}

fn gathered_at(comm: &Comm, v: &mut [f64], root: usize) -> Result<()> {
    let (all, own) = parts(comm, v);
    let all: &mut [f64] = if comm.rank() == root { all } else { &mut [] };
    comm.gather_into(root, own, all)
}

fn spread(comm: &Comm, v: &mut [f64]) -> Result<()> {
    let (all, own) = parts(comm, v);
    comm.scatter(0, (comm.rank() == 0).then_some(all), own)
}

fn exchanged(comm: &Comm, v: &mut [f64]) -> Result<()> {
    let (input, output) = v.split_at_mut(v.len() / 2);
    let length = input.len() / comm.size() * comm.size();
    comm.all_to_all(&input[..length], &mut output[..length])
}

/// More kinds of calls than are kept, at one line: evicted entries are replaced in their own memory.
#[test]
fn calls_of_many_lengths_at_one_line_are_all_kept_and_allocate_nothing() {
    // Often enough for the table of kept calls to grow before the calls are counted.
    let call = |comm: &Comm, v: &mut [f64]| {
        let mut lengths = (0..10).flat_map(|_| 0..40);
        lengths.try_for_each(|n| comm.broadcast(n % comm.size(), &mut v[..n]))
    };
    in_ranks("broadcasts of many lengths from many roots", call, 40);
}

#[test]
fn schedules_allocate_nothing_in_the_steady_state() {
    let halving = |comm: &Comm, v: &mut [f64]| {
        let schedule = halving_reduce_scatter(comm.size(), v.len());
        let goal = Goal::reduce_scatter(v.len());
        comm.run_schedule(&schedule, &goal, &[], v, op::Sum)
    };
    let pipelined = |comm: &Comm, v: &mut [f64]| {
        let tree = FoldAlong::new(OwnSteps::new(Topology::chain(comm.size())), v.len());
        let goal = Goal::broadcast(0, v.len());
        comm.run_schedule(&tree.reversed().pipelined(7, 1), &goal, &[], v, op::Sum)
    };
    for length in [3, 1000] {
        in_ranks("halving", halving, length);
        in_ranks("a pipelined chain", pipelined, length);
    }
}
