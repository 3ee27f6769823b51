//! Started collectives with borrowed buffers: against their definitions, ended in every order or by their scope, with
//! counts; deaths, failures of the scope, and refusals.

mod again;
mod common;
mod support;

use common::definitions::{IDENTITY, KINDS, check, vector};
use common::{Compose, Map, scaled};
use rankfold::collective::Collective;
use rankfold::{Comm, ErrorKind, Outcome, Rank, Result, Scope, ScopedRequest, World, op};
use support::sweep::sweep;
use support::{Random, guarded};

type Lent<'scope, 'env> = ScopedRequest<'scope, &'env mut [Map]>;

/// The buffer that a call borrows, with what it holds before.
fn buffer(comm: &Comm, kind: Collective, (id, root, n): (usize, Rank, usize)) -> Vec<Map> {
    let (me, p) = (comm.rank(), comm.size());
    let room = |blocks: usize| vec![IDENTITY; n * blocks];
    match kind {
        Collective::ReduceScatter | Collective::Scatter => room(1),
        Collective::AllGather | Collective::AllToAll => room(p),
        Collective::Gather => room(if me == root { p } else { 0 }),
        _ => vector(id, me, n * p),
    }
}

/// Starts a call, whatever its kind; by the form with counts if it has one and `counted`.
fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    (comm, kind, counted): (&Comm, Collective, bool),
    (id, root, n): (usize, Rank, usize),
    buf: &'env mut [Map],
) -> Result<Lent<'scope, 'env>> {
    let (me, p) = (comm.rank(), comm.size());
    let (whole, block) = (vector(id, me, n * p), vector(id, me, n));
    let at_root = (me == root).then_some(&whole[..]);
    let counts = &vec![n; p];
    match (kind, counted) {
        (Collective::Broadcast, _) => scope.ibroadcast(root, buf),
        (Collective::Reduce, _) => scope.ireduce(root, buf, Compose),
        (Collective::AllReduce, _) => scope.iall_reduce(buf, Compose),
        (Collective::Scan, _) => scope.iscan(buf, Compose),
        (Collective::ExclusiveScan, _) => scope.iexclusive_scan(buf, IDENTITY, Compose),
        (Collective::ReduceScatter, false) => scope.ireduce_scatter(&whole, buf, Compose),
        (Collective::ReduceScatter, true) => scope.ireduce_scatter_v(&whole, counts, buf, Compose),
        (Collective::AllGather, false) => scope.iall_gather(&block, buf),
        (Collective::AllGather, true) => scope.iall_gather_v(&block, counts, buf),
        (Collective::Gather, false) => scope.igather(root, &block, buf),
        (Collective::Gather, true) => scope.igather_v(root, &block, counts, buf),
        (Collective::Scatter, false) => scope.iscatter(root, at_root, buf),
        (Collective::Scatter, true) => scope.iscatter_v(root, at_root, counts, buf),
        (Collective::AllToAll, false) => scope.iall_to_all(&whole, buf),
        (Collective::AllToAll, true) => scope.iall_to_all_v(&whole, counts, buf, counts),
        (Collective::Barrier, _) => unreachable!("it has no elements"),
    }
}

/// Compares a buffer after its call; after a reduce, other ranks than the root have what they had.
fn check_buffer(comm: &Comm, kind: Collective, what: (usize, Rank, usize), got: &[Map]) {
    match kind {
        Collective::Reduce if comm.rank() != what.1 => {
            assert_eq!(got, buffer(comm, kind, what));
        }
        _ => check(comm, kind, what, got),
    }
}

/// All orders of three, the last ones left to the scope.
const ORDERS: [&[usize]; 8] = [
    &[0, 1, 2],
    &[0, 2, 1],
    &[1, 0, 2],
    &[1, 2, 0],
    &[2, 0, 1],
    &[2, 1, 0],
    &[1],
    &[],
];

fn three_at_a_time(comm: &Comm, turns: usize) -> Result<()> {
    let mut random = Random::new(comm.size() as u64);
    for turn in 0..turns {
        let kinds: [Collective; 3] = std::array::from_fn(|_| random.of(&KINDS));
        let counted: [bool; 3] = std::array::from_fn(|_| random.one_in(2));
        let n = random.of(if comm.size() > 8 {
            &[0, 1, 2, 9]
        } else {
            &[0, 1, 9, 300]
        });
        let what = |one: usize| (3 * turn + one, (turn + one) % comm.size(), n);
        let mut buffers = [0, 1, 2].map(|one| buffer(comm, kinds[one], what(one)));
        comm.scope(|s| {
            let mut open = Vec::new();
            for (one, buf) in buffers.iter_mut().enumerate() {
                let call = (comm, kinds[one], counted[one]);
                open.push(Some(start(s, call, what(one), buf)?));
            }
            for &one in ORDERS[(turn + comm.rank()) % ORDERS.len()] {
                let got = open[one].take().expect("once").wait()?;
                check_buffer(comm, kinds[one], what(one), got);
            }
            Ok(())
        })?;
        for (one, buf) in buffers.iter().enumerate() {
            check_buffer(comm, kinds[one], what(one), buf);
        }
    }
    Ok(())
}

#[test]
fn three_at_a_time_end_in_every_order_or_with_their_scope() {
    for p in (1..=17).chain([33, 64]) {
        let turns = if p > 17 { 6 } else { scaled(40) };
        let run = |comm: &Comm| three_at_a_time(comm, turns);
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

/// All forms with counts, of other lengths on every rank, of which the scope ends most.
fn with_counts(comm: &Comm) -> Result<u64> {
    let (me, p) = (comm.rank(), comm.size());
    let root = 1 % p;
    let counts: Vec<usize> = (0..p).map(|rank| rank * 3 % 5).collect();
    let block = |(rank, &count): (Rank, &usize)| vec![rank as u64; count];
    let everything: Vec<u64> = counts.iter().enumerate().flat_map(block).collect();
    let (mine, nothing) = (vec![me as u64; counts[me]], vec![99; counts[me]]);
    // Rank q gets q elements from each rank.
    let (to, from): (Vec<usize>, Vec<usize>) = ((0..p).collect(), vec![me; p]);
    let out = vec![me as u64; to.iter().sum()];
    let (mut all, mut swapped) = (vec![99; everything.len()], vec![99; me * p]);
    let mut collected = vec![99; if me == root { everything.len() } else { 0 }];
    let (mut dealt, mut share, mut before) = (nothing.clone(), nothing, [me as u64 + 1; 3]);
    comm.scope(|s| {
        s.iall_gather_v(&mine, &counts, &mut all)?;
        s.igather_v(root, &mine, &counts, &mut collected)?;
        let given = (me == root).then_some(&everything[..]);
        let dealt = s.iscatter_v(root, given, &counts, &mut dealt)?;
        s.ireduce_scatter_v(&everything, &counts, &mut share, op::Sum)?;
        s.iall_to_all_v(&out, &to, &mut swapped, &from)?;
        s.iexclusive_scan(&mut before, 7, op::Sum)?;
        assert_eq!(dealt.wait()?, mine);
        Ok(())
    })?;
    assert_eq!(all, everything);
    assert_eq!(collected, if me == root { everything } else { vec![] });
    assert_eq!(dealt, mine);
    assert_eq!(share, vec![(me * p) as u64; counts[me]]);
    let blocks = from.iter().enumerate().flat_map(block);
    assert_eq!(swapped, blocks.collect::<Vec<_>>());
    let sum = (1..=me as u64).sum();
    assert_eq!(before, [if me == 0 { 7 } else { sum }; 3]);
    Ok(all.iter().sum::<u64>() + before[0])
}

#[test]
fn all_blocks_may_have_other_lengths() {
    for p in (1..=17).chain([33, 64]) {
        let run = |comm: &Comm| with_counts(comm).map(drop);
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn a_rank_that_dies_at_any_operation_is_named_by_all_others() {
    sweep("scope with counts", 1..=5, 0.4, with_counts);
}

#[test]
fn a_scope_that_fails_leaves_the_buffers_as_they_were_and_the_calls_go_on() {
    for p in [2, 3, 5] {
        let run = |comm: &Comm| {
            let (me, mut before, mut all) = (comm.rank(), [5], vec![9; p]);
            let counts = vec![1; p];
            let done = comm.scope(|s| {
                s.iexclusive_scan(&mut before, 0, op::Sum)?;
                s.iall_gather_v(&[me], &counts, &mut all)?;
                match me {
                    1 => Err(rankfold::Error::user("on purpose")),
                    _ => Ok(()),
                }
            });
            assert_eq!(done.is_err(), me == 1);
            if me == 1 {
                assert_eq!((before, all), ([5], vec![9; p]));
            } else {
                assert_eq!((before, all), ([5 * me], (0..p).collect()));
            }
            comm.barrier()
        };
        let report = guarded(&|| format!("{p} ranks"), || World::new(p).run_each(run));
        let fine = |one: &Outcome<()>| one.value().is_some();
        assert!(report.outcomes.iter().all(fine), "{report}");
    }
}

#[test]
fn counts_that_do_not_fit_are_refused_before_anything_is_sent() {
    let run = |comm: &Comm| {
        let (mut buf, counts) = ([0u64; 2], [1, 1]);
        let refused = |call: &dyn Fn(&mut [u64]) -> Result<()>, buf: &mut [u64]| {
            let error = call(buf).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
        };
        let short = |buf: &mut [u64]| comm.scope(|s| s.iall_gather_v(&[1], &[1], buf).map(drop));
        refused(&short, &mut buf);
        let long = |buf: &mut [u64]| {
            let huge = [usize::MAX / 2, 3];
            comm.scope(|s| s.ireduce_scatter_v(&[1; 2], &huge, buf, op::Sum).map(drop))
        };
        refused(&long, &mut buf);
        let other = |buf: &mut [u64]| {
            comm.scope(|s| s.iall_to_all_v(&[1; 2], &counts, buf, &[1, 2]).map(drop))
        };
        refused(&other, &mut buf);
        let no_root = |buf: &mut [u64]| {
            comm.scope(|s| s.igather_v(2, &[1], &counts, buf).map(drop))?;
            comm.scope(|s| s.iscatter_v(2, None, &counts, buf).map(drop))
        };
        refused(&no_root, &mut buf);
        assert_eq!(buf, [0; 2]);
        comm.barrier()
    };
    guarded(&|| "refused".into(), || World::new(2).strict().run(run)).unwrap();
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
