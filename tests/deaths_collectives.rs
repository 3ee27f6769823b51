//! One rank fails at each operation of a collective: of every collective, by every algorithm, of elements or values. No
//! rank hangs, every other rank names the failed rank or has the right result, and later calls on the same communicator
//! fail with the same cause.

mod again;
mod support;

use std::ops::Range;

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::Topology;
use rankfold::{Comm, ErrorKind, Rank, Result, Side, hypercube, op, span};
use support::sweep::{assert_from, assert_sum, buffer, element, sweep};

/// Numbers of elements per rank: the shorter vectors travel in their packet, the longer ones are lent.
const LENGTHS: [usize; 2] = [1, 300];

/// After a failure, the communicator reports the same culprit to every rank that calls it again.
fn and_then_again(comm: &Comm, done: Result<()>) -> Result<u64> {
    let Err(error) = done else {
        return Ok(comm.rank() as u64);
    };
    if !matches!(error.kind(), ErrorKind::Injected) {
        let again = comm.barrier().expect_err("the communicator is broken");
        assert_eq!(again.culprit(), error.culprit(), "{error}; then {again}");
    }
    Err(error)
}

/// Checks the block `run` of rank `of`'s vector.
#[track_caller]
fn assert_run(of: Rank, run: Range<usize>, data: &[u64]) {
    let right = run.clone().map(|i| element(of, i));
    assert!(
        right.eq(data.iter().copied()),
        "elements {run:?} of rank {of}"
    );
}

#[track_caller]
fn assert_sums(ranks: Range<Rank>, run: Range<usize>, data: &[u64]) {
    let sum = |i| ranks.clone().map(|rank| element(rank, i)).sum::<u64>();
    assert!(run.map(sum).eq(data.iter().copied()), "sums");
}

/// The parameters of a call.
#[derive(Clone, Copy)]
struct With {
    algorithm: Option<Algorithm>,
    /// Elements per rank.
    n: usize,
    root: Rank,
}

type Play = fn(&Comm, With) -> Result<()>;

/// A call by the automatic choice or by an algorithm.
macro_rules! by {
    ($with:expr, $comm:ident.$name:ident($($arguments:expr),*)) => {
        match $with.algorithm {
            None => $comm.$name($($arguments),*),
            Some(algorithm) => $comm.using(algorithm).$name($($arguments),*),
        }
    };
}

fn barrier(comm: &Comm, with: With) -> Result<()> {
    by!(with, comm.barrier())
}

fn broadcast(comm: &Comm, with: With) -> Result<()> {
    let n = with.n * comm.size();
    let mut v = buffer(comm.rank(), n);
    by!(with, comm.broadcast(with.root, &mut v))?;
    assert_from(with.root, &v, n);
    Ok(())
}

fn reduce(comm: &Comm, with: With) -> Result<()> {
    let n = with.n * comm.size();
    let mut v = buffer(comm.rank(), n);
    by!(with, comm.reduce(with.root, &mut v, op::Sum))?;
    if comm.rank() == with.root {
        assert_sum(0..comm.size(), &v);
    }
    Ok(())
}

fn all_reduce(comm: &Comm, with: With) -> Result<()> {
    let mut v = buffer(comm.rank(), with.n * comm.size());
    by!(with, comm.all_reduce(&mut v, op::Sum))?;
    assert_sum(0..comm.size(), &v);
    Ok(())
}

fn all_reduce_into(comm: &Comm, with: With) -> Result<()> {
    let v = buffer(comm.rank(), with.n * comm.size());
    let mut sums = buffer(77, v.len());
    by!(with, comm.all_reduce_into(&v, &mut sums, op::Sum))?;
    assert_sum(0..comm.size(), &sums);
    assert_from(comm.rank(), &v, v.len());
    Ok(())
}

fn own(comm: &Comm, n: usize) -> Range<usize> {
    span::block(n * comm.size(), comm.size(), comm.rank())
}

fn reduce_scatter(comm: &Comm, with: With) -> Result<()> {
    let v = buffer(comm.rank(), with.n * comm.size());
    let mut mine = buffer(77, with.n);
    by!(with, comm.reduce_scatter(&v, &mut mine, op::Sum))?;
    assert_sums(0..comm.size(), own(comm, with.n), &mine);
    Ok(())
}

/// Checks every rank's block of its own vector, one after the other.
#[track_caller]
fn assert_blocks(comm: &Comm, n: usize, all: &[u64]) {
    for rank in 0..comm.size() {
        let run = span::block(n * comm.size(), comm.size(), rank);
        assert_run(rank, run.clone(), &all[run]);
    }
}

fn all_gather(comm: &Comm, with: With) -> Result<()> {
    let v = buffer(comm.rank(), with.n * comm.size());
    let mut all = buffer(77, v.len());
    by!(with, comm.all_gather(&v[own(comm, with.n)], &mut all))?;
    assert_blocks(comm, with.n, &all);
    Ok(())
}

fn gather(comm: &Comm, with: With) -> Result<()> {
    let v = buffer(comm.rank(), with.n * comm.size());
    let block = &v[own(comm, with.n)];
    let all = by!(with, comm.gather(with.root, block))?;
    assert_eq!(all.is_some(), comm.rank() == with.root);
    all.inspect(|all| assert_blocks(comm, with.n, all));
    Ok(())
}

fn scatter(comm: &Comm, with: With) -> Result<()> {
    let v = buffer(comm.rank(), with.n * comm.size());
    let all = (comm.rank() == with.root).then_some(&v[..]);
    let mut mine = buffer(77, with.n);
    by!(with, comm.scatter(with.root, all, &mut mine))?;
    assert_run(with.root, own(comm, with.n), &mine);
    Ok(())
}

fn all_to_all(comm: &Comm, with: With) -> Result<()> {
    let v = buffer(comm.rank(), with.n * comm.size());
    let mut all = buffer(77, v.len());
    by!(with, comm.all_to_all(&v, &mut all))?;
    for (rank, piece) in all.chunks(with.n).enumerate() {
        assert_run(rank, own(comm, with.n), piece);
    }
    Ok(())
}

fn scan(comm: &Comm, with: With) -> Result<()> {
    let mut v = buffer(comm.rank(), with.n);
    by!(with, comm.scan(&mut v, op::Sum))?;
    assert_sum(0..comm.rank() + 1, &v);
    Ok(())
}

fn exclusive_scan(comm: &Comm, with: With) -> Result<()> {
    let mut v = buffer(comm.rank(), with.n);
    by!(with, comm.exclusive_scan(&mut v, 0, op::Sum))?;
    assert_sum(0..comm.rank(), &v);
    Ok(())
}

/// Returns the shape of the call that `play` makes, as far as algorithms depend on it.
fn shape(collective: Collective, ranks: usize, with: With) -> Call {
    let n = match collective {
        Collective::Scan | Collective::ExclusiveScan => with.n,
        _ => with.n * ranks,
    };
    Call::new(collective, ranks, n)
        .commuting()
        .to_root(with.root)
}

/// Fails a rank in the call, by the automatic choice and by every algorithm.
fn dies_in(collective: Collective, play: Play) {
    sweep(collective.name(), 2..=5, 1.0, |comm| {
        let calls = LENGTHS.into_iter().zip([0, comm.size() - 1]);
        let mut calls = calls.map(|(n, root)| With {
            algorithm: None,
            n,
            root,
        });
        and_then_again(comm, calls.try_for_each(|with| play(comm, with)))
    });
    for ranks in 2..=5 {
        for algorithm in Algorithm::all(collective) {
            let with = With {
                algorithm: Some(algorithm),
                // Cells hold short vectors only.
                n: if algorithm == Algorithm::Cells {
                    50
                } else {
                    LENGTHS[ranks % 2]
                },
                root: ranks / 2,
            };
            if algorithm.refused(&shape(collective, ranks, with)).is_some() {
                continue;
            }
            let name = format!("{} by {algorithm}", collective.name());
            sweep(&name, ranks..=ranks, 0.2, |comm| {
                and_then_again(comm, play(comm, with))
            });
        }
    }
}

#[test]
fn in_barriers() {
    dies_in(Collective::Barrier, barrier);
}

#[test]
fn in_broadcasts() {
    dies_in(Collective::Broadcast, broadcast);
}

#[test]
fn in_reduces() {
    dies_in(Collective::Reduce, reduce);
}

#[test]
fn in_all_reduces() {
    dies_in(Collective::AllReduce, all_reduce);
}

#[test]
fn in_all_reduces_from_one_buffer_into_another() {
    dies_in(Collective::AllReduce, all_reduce_into);
}

#[test]
fn in_reduce_scatters() {
    dies_in(Collective::ReduceScatter, reduce_scatter);
}

#[test]
fn in_all_gathers() {
    dies_in(Collective::AllGather, all_gather);
}

#[test]
fn in_gathers() {
    dies_in(Collective::Gather, gather);
}

#[test]
fn in_scatters() {
    dies_in(Collective::Scatter, scatter);
}

#[test]
fn in_all_to_alls() {
    dies_in(Collective::AllToAll, all_to_all);
}

#[test]
fn in_scans() {
    dies_in(Collective::Scan, scan);
    dies_in(Collective::ExclusiveScan, exclusive_scan);
}

/// Returns blocks of which the first is empty and the last is long.
fn uneven(comm: &Comm) -> Vec<usize> {
    (0..comm.size()).map(|rank| rank * rank * 30).collect()
}

fn with_counts(comm: &Comm) -> Result<()> {
    let (counts, me, root) = (uneven(comm), comm.rank(), comm.size() - 1);
    let whole: usize = counts.iter().sum();
    let run = |rank: Rank| {
        let start: usize = counts[..rank].iter().sum();
        start..start + counts[rank]
    };
    let v = buffer(me, whole);
    let mut all = buffer(77, whole);
    let mut mine = buffer(77, counts[me]);
    comm.all_gather_v(&v[run(me)], &counts, &mut all)?;
    (0..comm.size()).for_each(|rank| assert_run(rank, run(rank), &all[run(rank)]));
    comm.reduce_scatter_v(&v, &counts, &mut mine, op::Sum)?;
    assert_sums(0..comm.size(), run(me), &mine);
    let at_root = if me == root { whole } else { 0 };
    comm.gather_v(root, &v[run(me)], &counts, &mut all[..at_root])?;
    comm.scatter_v(root, (me == root).then_some(&v[..]), &counts, &mut mine)?;
    assert_run(root, run(me), &mine);
    let to = vec![counts[me]; comm.size()];
    let pieces = buffer(me, counts[me] * comm.size());
    comm.all_to_all_v(&pieces, &to, &mut all, &counts)?;
    for rank in 0..comm.size() {
        let start = me * counts[rank];
        assert_run(rank, start..start + counts[rank], &all[run(rank)]);
    }
    Ok(())
}

#[test]
fn in_calls_with_a_count_for_each_rank() {
    sweep("v-forms", 2..=5, 1.0, |comm| {
        and_then_again(comm, with_counts(comm))
    });
}

fn of_values(comm: &Comm) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let name = |rank: Rank| format!("{rank},");
    let names: Vec<String> = (0..p).map(name).collect();
    let got = comm
        .values()
        .broadcast(p - 1, (me == p - 1).then(|| name(me)))?;
    assert_eq!(got, name(p - 1));
    let got = comm.values().reduce(1, name(me), |a, b| a + &b)?;
    assert_eq!(got, (me == 1).then(|| names.concat()));
    let got = comm.values().all_reduce(name(me), |a, b| a + &b)?;
    assert_eq!(got, names.concat());
    let got = comm.values().gather(p / 2, name(me))?;
    assert_eq!(got, (me == p / 2).then(|| names.clone()));
    assert_eq!(comm.values().all_gather(name(me))?, names);
    let got = comm.values().scatter(1, (me == 1).then(|| names.clone()))?;
    assert_eq!(got, name(me));
    let each = (0..p).map(|to| format!("{me}-{to}")).collect();
    let got = comm.values().all_to_all(each)?;
    assert!((0..p).all(|from| got[from] == format!("{from}-{me}")));
    let got = comm.values().scan(name(me), |a, b| a + &b)?;
    assert_eq!(got, names[..=me].concat());
    let got = comm.values().exclusive_scan(name(me), |a, b| a + &b)?;
    assert_eq!(got, (me > 0).then(|| names[..me].concat()));
    Ok(())
}

#[test]
fn in_collectives_of_values() {
    sweep("values", 2..=5, 1.0, |comm| {
        and_then_again(comm, of_values(comm))
    });
}

#[test]
fn in_the_hypercube_template() {
    for ranks in [2, 4] {
        sweep("hypercube", ranks..=ranks, 1.0, |comm| {
            let mine = vec![comm.rank()];
            let all = hypercube(comm, mine, |mine, theirs, side| match side {
                Side::Left => [theirs, mine].concat(),
                Side::Right => [mine, theirs].concat(),
            });
            let right: Vec<Rank> = (0..comm.size()).collect();
            and_then_again(comm, all.map(|all| assert_eq!(all, right)))
        });
    }
}

fn own_schedules(comm: &Comm) -> Result<()> {
    let p = comm.size();
    for n in LENGTHS {
        for tree in [Topology::fibonacci(p), Topology::chain(p).rooted(p - 1)] {
            let root = tree.root();
            let up = FoldAlong::new(tree.single_port(), n);
            let mut v = buffer(comm.rank(), n);
            comm.run_schedule(&up, &Goal::reduce(root, n), &[], &mut v, op::Sum)?;
            if comm.rank() == root {
                assert_sum(0..p, &v);
            }
            let mut v = buffer(comm.rank(), n);
            let both = up.clone().then(up.reversed());
            comm.run_schedule(&both, &Goal::all_reduce(n), &[], &mut v, op::Sum)?;
            assert_sum(0..p, &v);
        }
    }
    Ok(())
}

#[test]
fn in_schedules_of_the_caller() {
    sweep("run_schedule", 2..=5, 0.4, |comm| {
        and_then_again(comm, own_schedules(comm))
    });
}

/// Messages over lanes and through mailboxes in turn.
fn in_turns(comm: &Comm) -> Result<()> {
    let chain = Topology::chain(comm.size());
    for n in LENGTHS {
        let mut v = buffer(comm.rank(), n);
        comm.all_reduce(&mut v, op::Sum)?;
        let mut v = buffer(comm.rank(), n);
        comm.reduce_over(&chain, &mut v, op::Sum).run()?;
        let sums = comm.values().all_reduce(comm.rank(), |a, b| a + b)?;
        assert_eq!(sums, comm.size() * (comm.size() - 1) / 2);
    }
    Ok(())
}

#[test]
fn where_lanes_and_mailboxes_take_turns() {
    sweep("turns", 2..=5, 1.0, |comm| {
        and_then_again(comm, in_turns(comm))
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
