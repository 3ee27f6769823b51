//! Every call treats elements as bytes and never calls their `Clone`, which is user code: it might call the
//! communicator while a loan is open, and no rank would ever answer.

mod again;
mod support;

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::op;
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::Topology;
use rankfold::{Buffering, Comm, Result, Source, World};
use support::guarded;

/// An element that can be copied and must not be cloned.
#[derive(Copy, Debug, PartialEq)]
struct Unique<const WORDS: usize>([u64; WORDS]);

#[allow(clippy::expl_impl_clone_on_copy, clippy::non_canonical_clone_impl)]
impl<const WORDS: usize> Clone for Unique<WORDS> {
    fn clone(&self) -> Self {
        panic!("somebody clones an element")
    }
}

/// Returns `n` elements, different from those of other ranks.
fn vector<const WORDS: usize>(rank: usize, n: usize) -> Vec<Unique<WORDS>> {
    let element = |i| Unique([(rank * 1000 + i) as u64; WORDS]);
    (0..n).map(element).collect()
}

/// Returns the element with the lesser number.
fn lesser<const WORDS: usize>(a: Unique<WORDS>, b: Unique<WORDS>) -> Unique<WORDS> {
    if a.0 <= b.0 { a } else { b }
}

/// Messages from rank to rank in a ring, sent and received by every kind of call.
fn messages<const WORDS: usize>(comm: &Comm, n: usize) -> Result<()> {
    let (me, ranks) = (comm.rank(), comm.size());
    let (next, before) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    let (mine, theirs) = (vector::<WORDS>(me, n), vector::<WORDS>(before, n));
    let mut place = vector::<WORDS>(me, n);

    assert_eq!(comm.sendrecv(next, 1, &mine, before, 1)?.0, theirs);
    let asked = comm.irecv::<Unique<WORDS>>(before, 2)?;
    let sent = comm.isend(next, 3, vector::<WORDS>(me, n))?;
    comm.isend(next, 2, vector::<WORDS>(me, n))?.wait()?;
    assert_eq!(asked.wait()?.0, theirs);
    let found = comm.probe_matched(Source::Any, 3)?;
    assert_eq!(found.recv::<Unique<WORDS>>()?, theirs);
    sent.wait()?;
    comm.scope(|scope| {
        let sent = scope.isend(next, 4, &mine)?;
        let asked = scope.irecv_into(before, 4, &mut place)?;
        sent.wait()?;
        asked.wait().map(drop)
    })?;
    assert_eq!(place, theirs);
    if me % 2 == 0 && next != 0 {
        comm.send(next, 5, &mine)?;
    } else if me % 2 == 1 {
        assert_eq!(comm.recv::<Unique<WORDS>>(before, 5)?.0, theirs);
    }
    Ok(())
}

/// One call of each collective by each algorithm that serves it.
fn collectives<const WORDS: usize>(comm: &Comm, each: usize) -> Result<()> {
    let (me, ranks, root) = (comm.rank(), comm.size(), comm.size() - 1);
    let (n, mine) = (each * ranks, vector::<WORDS>(me, each * ranks));
    let own = &mine[..each];
    let least = op::commutative(lesser::<WORDS>);
    for collective in Collective::all() {
        let call = Call::new(collective, ranks, n).commuting().to_root(root);
        let room = WORDS * 8 * n <= 4096;
        let serves = |by: &Algorithm| by.refused(&call).is_none();
        let fits = |by: &Algorithm| room || *by != Algorithm::Cells;
        for by in Algorithm::all(collective).filter(serves).filter(fits) {
            let (mut v, mut part) = (vector::<WORDS>(me, n), vector::<WORDS>(me, each));
            match collective {
                Collective::Barrier => comm.using(by).barrier()?,
                Collective::Broadcast => comm.using(by).broadcast(root, &mut v)?,
                Collective::Reduce => comm.using(by).reduce(root, &mut v, least)?,
                Collective::AllReduce => comm.using(by).all_reduce(&mut v, least)?,
                Collective::ReduceScatter => {
                    comm.using(by).reduce_scatter(&mine, &mut part, least)?
                }
                Collective::AllGather => comm.using(by).all_gather(own, &mut v)?,
                Collective::Gather => comm.using(by).gather(root, own).map(drop)?,
                Collective::Scatter => {
                    let all = (me == root).then_some(&mine[..]);
                    comm.using(by).scatter(root, all, &mut part)?;
                }
                Collective::AllToAll => comm.using(by).all_to_all(&mine, &mut v)?,
                Collective::Scan => comm.using(by).scan(&mut v, least)?,
                Collective::ExclusiveScan => {
                    comm.using(by)
                        .exclusive_scan(&mut v, Unique([7; WORDS]), least)?
                }
            }
            if collective == Collective::AllReduce {
                assert_eq!(v, vector(0, n), "{by}");
            }
        }
    }
    Ok(())
}

/// Reductions along trees and schedules of the caller.
fn along_trees<const WORDS: usize>(comm: &Comm, n: usize) -> Result<()> {
    let ranks = comm.size();
    for tree in [Topology::chain(ranks), Topology::fibonacci(ranks)] {
        let mut v = vector::<WORDS>(comm.rank(), n);
        comm.reduce_over(&tree, &mut v, lesser).run()?;
        comm.reduce_over(&tree, &mut v, lesser).survivors()?;
        let up = FoldAlong::new(tree.single_port(), n);
        let both = up.clone().then(up.reversed());
        let least = op::commutative(lesser::<WORDS>);
        comm.run_schedule(&both, &Goal::all_reduce(n), &[], &mut v, least)?;
        assert_eq!(v, vector(0, n));
    }
    Ok(())
}

fn everything<const WORDS: usize>(comm: &Comm) -> Result<()> {
    for n in [0, 1, 2, 40] {
        messages::<WORDS>(comm, n)?;
        collectives::<WORDS>(comm, n)?;
        along_trees::<WORDS>(comm, n)?;
    }
    Ok(())
}

#[test]
fn no_call_clones_an_element() {
    for ranks in [1, 2, 3, 4, 5] {
        for buffering in [Buffering::Unbounded, Buffering::Bytes(100), Buffering::Zero] {
            let world = World::new(ranks).buffering(buffering);
            let case = || format!("{ranks} ranks, {buffering:?}");
            let all = |comm: &Comm| everything::<1>(comm).and_then(|()| everything::<9>(comm));
            guarded(&case, || world.run(all)).unwrap_or_else(|error| panic!("{}: {error}", case()));
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
