//! Persistent collectives: against the definitions by every algorithm and with counts, turn after turn; and the reports
//! of those that differ or are refused.

mod again;
mod common;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::definitions::{IDENTITY, KINDS, check, vector};
use common::{Compose, Map};
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::{Comm, ErrorKind, Fault, Persistent, Rank, Result, World, op};
use support::guarded;
use support::sweep::sweep;

/// A persistent call, whatever its kind, with its contribution to call `id`.
fn describe(
    comm: &Comm,
    kind: Collective,
    algorithm: Algorithm,
    (id, root, n): (usize, Rank, usize),
) -> Result<Persistent<'_, Map>> {
    let (by, me, p) = (comm.using(algorithm), comm.rank(), comm.size());
    let whole = || vector(id, me, n * p);
    let block = || vector(id, me, n);
    let room = |blocks: usize| vec![IDENTITY; n * blocks];
    let at_root = |blocks: usize| if me == root { blocks } else { 0 };
    match kind {
        Collective::Broadcast => by.broadcast_init(root, whole()),
        Collective::Reduce => by.reduce_init(root, whole(), Compose),
        Collective::AllReduce => by.all_reduce_init(whole(), Compose),
        Collective::ReduceScatter => by.reduce_scatter_init(whole(), room(1), Compose),
        Collective::AllGather => by.all_gather_init(block(), room(p)),
        Collective::Gather => by.gather_init(root, block(), room(at_root(p))),
        Collective::Scatter => {
            let all = if me == root { whole() } else { Vec::new() };
            by.scatter_init(root, all, room(1))
        }
        Collective::AllToAll => by.all_to_all_init(whole(), room(p)),
        Collective::Scan => by.scan_init(whole(), Compose),
        Collective::ExclusiveScan => by.exclusive_scan_init(whole(), IDENTITY, Compose),
        Collective::Barrier => unreachable!("it has no elements"),
    }
}

/// Starts a call twice, with the contributions to calls `id` and `id + 1`.
fn two_turns(
    comm: &Comm,
    kind: Collective,
    algorithm: Algorithm,
    (id, root, n): (usize, Rank, usize),
) -> Result<()> {
    let mut call = describe(comm, kind, algorithm, (id, root, n))?;
    for id in [id, id + 1] {
        let mine = call.input_mut()?;
        let length = mine.len();
        mine.copy_from_slice(&vector(id, comm.rank(), length));
        call.start()?;
        call.wait()?;
        // A reduce works in place: other ranks than the root have a buffer, but no result.
        if kind != Collective::Reduce || comm.rank() == root {
            check(comm, kind, (id, root, n), call.output()?);
        }
    }
    Ok(())
}

#[test]
fn each_is_right_by_every_algorithm_that_takes_it() {
    let tried = AtomicUsize::new(0);
    for p in (1..=17).chain([33, 64]) {
        let run = |comm: &Comm| {
            for (id, kind) in KINDS.into_iter().enumerate() {
                let (root, n) = (id % p, 3);
                let call = Call::new(kind, p, n * p).to_root(root);
                let fits = |one: &Algorithm| one.refused(&call).is_none();
                for algorithm in Algorithm::all(kind).filter(fits) {
                    two_turns(comm, kind, algorithm, (id, root, n))?;
                    tried.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
    assert!(tried.into_inner() > 3000);
}

#[test]
fn a_barrier_by_every_algorithm_ends_after_all_have_started_it() {
    for p in [1, 2, 3, 8, 17] {
        for name in ["dissemination", "exchange", "binomial"] {
            let started = AtomicUsize::new(0);
            let run = |comm: &Comm| {
                let algorithm: Algorithm = name.parse().expect("an algorithm");
                if algorithm
                    .refused(&Call::new(Collective::Barrier, p, 0))
                    .is_some()
                {
                    return Ok(());
                }
                let mut all_here = comm.using(algorithm).barrier_init()?;
                for turn in 1..10 {
                    started.fetch_add(1, Ordering::SeqCst);
                    all_here.start()?;
                    all_here.wait()?;
                    assert!(started.load(Ordering::SeqCst) >= turn * p);
                }
                Ok(())
            };
            let case = || format!("{p} ranks, {name}");
            guarded(&case, || World::new(p).strict().run(run)).unwrap();
        }
    }
}

#[test]
fn a_rank_that_gets_nothing_has_no_output_and_one_that_gives_nothing_no_input() {
    let run = |comm: &Comm| {
        let me = comm.rank();
        // One element for three ranks: it belongs to the last one.
        let own = usize::from(me == 2);
        let at_root = vec![0; if me == 0 { 3 } else { 0 }];
        let mut share = comm.reduce_scatter_init(vec![5], vec![0; own], op::Sum)?;
        let mut swapped = comm.all_to_all_init(vec![me], vec![9; 3 * own])?;
        let mut collected = comm.gather_init(0, vec![me], at_root.clone())?;
        let mut dealt = comm.scatter_init(0, at_root, vec![0])?;
        dealt
            .input_mut()?
            .copy_from_slice(&[7, 8, 9][..if me == 0 { 3 } else { 0 }]);
        for call in [&mut swapped, &mut collected, &mut dealt] {
            call.start()?;
            call.wait()?;
        }
        share.start()?;
        share.wait()?;
        assert_eq!(share.output()?, &[15][..own]);
        assert_eq!(swapped.output()?, &[0, 1, 2][..3 * own]);
        assert_eq!(
            collected.output()?,
            &[0, 1, 2][..if me == 0 { 3 } else { 0 }]
        );
        assert_eq!(dealt.output()?, [7 + me]);
        Ok(())
    };
    guarded(&|| "nothing".into(), || World::new(3).strict().run(run)).unwrap();
}

// ── counts ──

/// All collectives with counts.
struct WithCounts<'c> {
    root: Rank,
    counts: Vec<usize>,
    all: Persistent<'c, u64>,
    collected: Persistent<'c, u64>,
    dealt: Persistent<'c, u64>,
    share: Persistent<'c, u64>,
    swapped: Persistent<'c, u64>,
}

/// Returns the block of each rank, of elements of this value.
fn blocks(counts: &[usize], value: impl Fn(Rank) -> u64) -> Vec<u64> {
    let block = |(rank, &count): (Rank, &usize)| vec![value(rank); count];
    counts.iter().enumerate().flat_map(block).collect()
}

impl<'c> WithCounts<'c> {
    fn describe(comm: &'c Comm) -> Result<Self> {
        let (me, p) = (comm.rank(), comm.size());
        let root = 1 % p;
        let counts: Vec<usize> = (0..p).map(|rank| rank * 3 % 5).collect();
        let (mine, total) = (counts[me], counts.iter().sum::<usize>());
        let at_root = vec![0; if me == root { total } else { 0 }];
        // Rank q gets q elements from each rank.
        let (to, from): (Vec<usize>, Vec<usize>) = ((0..p).collect(), vec![me; p]);
        let out = vec![0; to.iter().sum()];
        Ok(Self {
            all: comm.all_gather_v_init(vec![0; mine], &counts, vec![0; total])?,
            collected: comm.gather_v_init(root, vec![0; mine], &counts, at_root.clone())?,
            dealt: comm.scatter_v_init(root, at_root, &counts, vec![0; mine])?,
            share: comm.reduce_scatter_v_init(vec![0; total], &counts, vec![0; mine], op::Sum)?,
            swapped: comm.all_to_all_v_init(out, &to, vec![0; me * p], &from)?,
            root,
            counts,
        })
    }

    /// Starts all calls, then waits for them in another order.
    fn run(&mut self, input: u64, polls: bool) -> Result<()> {
        for call in [
            &mut self.all,
            &mut self.collected,
            &mut self.dealt,
            &mut self.share,
            &mut self.swapped,
        ] {
            call.input_mut()?.fill(input);
            call.start()?;
        }
        for call in [
            &mut self.swapped,
            &mut self.all,
            &mut self.share,
            &mut self.dealt,
            &mut self.collected,
        ] {
            while polls && !call.test()? {}
            call.wait()?;
        }
        Ok(())
    }

    /// Checks the outputs where each rank's input has this value.
    fn check(&mut self, comm: &Comm, value: impl Fn(Rank) -> u64) -> Result<()> {
        let (me, p) = (comm.rank(), comm.size());
        let mine = self.counts[me];
        let everything = blocks(&self.counts, &value);
        assert_eq!(self.all.output()?, everything);
        let at_root = if me == self.root {
            &everything[..]
        } else {
            &[]
        };
        assert_eq!(self.collected.output()?, at_root);
        assert_eq!(self.dealt.output()?, vec![value(self.root); mine]);
        let sum: u64 = (0..p).map(&value).sum();
        assert_eq!(self.share.output()?, vec![sum; mine]);
        assert_eq!(self.swapped.output()?, blocks(&vec![me; p], &value));
        Ok(())
    }
}

/// All collectives with counts, all active at once, turn after turn.
fn with_counts(comm: &Comm, polls: bool) -> Result<u64> {
    let mut calls = WithCounts::describe(comm)?;
    let mut seen = 0;
    for turn in 0..3 {
        let value = |rank: Rank| 100 * turn + rank as u64;
        calls.run(value(comm.rank()), polls && turn == 1)?;
        calls.check(comm, value)?;
        seen += (0..comm.size()).map(value).sum::<u64>();
    }
    Ok(seen)
}

#[test]
fn all_blocks_may_have_other_lengths() {
    for p in (1..=17).chain([33, 64]) {
        let run = |comm: &Comm| with_counts(comm, true).map(drop);
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn a_rank_that_dies_at_any_operation_is_named_by_all_others() {
    sweep("persistent calls with counts", 1..=5, 0.5, |comm| {
        with_counts(comm, false)
    });
}

// ── wrong programs ──

fn refused_at(line: u32, call: Result<Persistent<'_, i32>>) {
    let error = call.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
    assert_eq!(error.site().map(|site| site.line()), Some(line), "{error}");
}

#[test]
fn a_refusal_is_an_error_at_the_line_that_describes_the_call() {
    let run = |comm: &Comm| {
        let dissemination = comm.using(Algorithm::Dissemination);
        let first = line!() + 1;
        let sum = dissemination.all_reduce_init(vec![1], op::Sum);
        let gathered = comm.gather_v_init(0, vec![1], &[1], vec![1]);
        let swapped = comm.all_to_all_v_init(vec![1], &[2, 2], vec![1], &[1, 0]);
        refused_at(first, sum);
        refused_at(first + 1, gathered);
        refused_at(first + 2, swapped);
        comm.barrier()
    };
    guarded(&|| "refused".into(), || World::new(2).strict().run(run)).unwrap();
}

/// One turn of each kind; a wait that is refused is made again.
fn waited_for_twice(comm: &Comm) -> Result<bool> {
    let (me, p) = (comm.rank(), comm.size());
    let mut calls = [
        comm.all_reduce_init(vec![1], op::Sum)?,
        comm.send_init((me + 1) % p, 0, vec![2])?,
        comm.recv_init((me + p - 1) % p, 0, vec![0])?,
    ];
    let mut refused = false;
    for call in &mut calls {
        call.start()?;
    }
    for call in &mut calls {
        if let Err(error) = call.wait() {
            // The error may have struck inside the collective.
            if !call.is_active() {
                return Err(error);
            }
            call.wait()?;
            refused = true;
        }
        assert!(!call.is_active());
    }
    assert_eq!(calls[0].output()?, [p as i32]);
    assert_eq!(calls[2].output()?, [2]);
    Ok(refused)
}

#[test]
fn a_wait_that_is_refused_can_be_made_again() {
    let mut refused = 0;
    for at in 1..20 {
        let run = || {
            World::new(2)
                .inject(0, at, Fault::Error)
                .run_each(waited_for_twice)
        };
        let report = guarded(&|| format!("error at operation {at}"), run);
        match report.outcomes[0].error() {
            Some(error) => assert!(matches!(error.kind(), ErrorKind::Injected), "{error}"),
            None => refused += usize::from(report.outcomes[0].value() == Some(&true)),
        }
    }
    assert!(refused >= 3, "{refused}");
}

#[test]
fn ranks_that_use_different_algorithms_mismatch_with_the_lines_that_describe_the_calls() {
    let first = line!() + 4;
    let run = |comm: &Comm| {
        let (ring, exchange) = (comm.using(Algorithm::Ring), comm.using(Algorithm::Exchange));
        let mut sum = match comm.rank() {
            1 => ring.all_reduce_init(vec![1; 3], op::Sum)?,
            _ => exchange.all_reduce_init(vec![1; 3], op::Sum)?,
        };
        sum.start()?;
        sum.wait()
    };
    for check in [false, true] {
        let case = || format!("check({check})");
        let report = guarded(&case, || World::new(3).check(check).run_each(run));
        let found = report.mismatch.as_deref();
        let found = found.unwrap_or_else(|| panic!("{report}"));
        assert!(found.calls.iter().any(|it| it.rank == 1), "{report}");
        for called in &found.calls {
            let call = "iall_reduce(3 x i32, Sum)";
            assert!(called.call.starts_with(call), "{report}");
            let line = called.site.expect("a call has a line").line();
            let right = first + u32::from(called.rank != 1);
            assert_eq!(line, right, "{report}");
        }
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
