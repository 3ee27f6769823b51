//! The call itself: what a point does, by the names that users call.

use super::point::{Point, Subject};
use super::vectors::{Number, Vectors};
use crate::collective::Collective;
use crate::op::Operator;
use crate::{Comm, Result};

/// The tag of the ping-pong.
const TAG: u32 = 0;

/// Runs a point once, on one rank.
///
/// # Errors
///
/// The errors of the call.
pub fn call<T: Number>(
    point: &Point,
    comm: &Comm,
    vectors: &mut Vectors<T>,
    op: impl Operator<T>,
) -> Result<()> {
    match point.subject.folds() {
        true => folded(point, comm, vectors, op),
        false => moved(point, comm, vectors),
    }
}

/// As [`call`], of a point whose collective [folds](Subject::folds).
///
/// # Errors
///
/// The errors of the call.
pub fn folded<T: Number>(
    point: &Point,
    comm: &Comm,
    Vectors { input, output }: &mut Vectors<T>,
    op: impl Operator<T>,
) -> Result<()> {
    let identity = T::value(point.op, 0);
    let Point { root, into, .. } = *point;
    let Subject::Collective(collective) = point.subject else {
        return Ok(());
    };
    match (collective, point.algorithm) {
        (Collective::Reduce, None) => comm.reduce(root, output, op),
        (Collective::Reduce, Some(by)) => comm.using(by).reduce(root, output, op),
        (Collective::ReduceScatter, None) => comm.reduce_scatter(input, output, op),
        (Collective::ReduceScatter, Some(by)) => comm.using(by).reduce_scatter(input, output, op),
        (Collective::Scan, None) => comm.scan(output, op),
        (Collective::Scan, Some(by)) => comm.using(by).scan(output, op),
        (Collective::ExclusiveScan, None) => comm.exclusive_scan(output, identity, op),
        (Collective::ExclusiveScan, Some(by)) => {
            comm.using(by).exclusive_scan(output, identity, op)
        }
        (_, None) if into => comm.all_reduce_into(input, output, op),
        (_, Some(by)) if into => comm.using(by).all_reduce_into(input, output, op),
        (_, None) => comm.all_reduce(output, op),
        (_, Some(by)) => comm.using(by).all_reduce(output, op),
    }
}

fn moved<T: Number>(point: &Point, comm: &Comm, vectors: &mut Vectors<T>) -> Result<()> {
    let Subject::Collective(collective) = point.subject else {
        return to_and_fro(comm, vectors);
    };
    let Vectors { input, output } = vectors;
    let root = point.root;
    let at_root = || (comm.rank() == root).then_some(&input[..]);
    match (collective, point.algorithm) {
        (Collective::Broadcast, None) => comm.broadcast(root, output),
        (Collective::Broadcast, Some(by)) => comm.using(by).broadcast(root, output),
        (Collective::Gather, None) => comm.gather_into(root, input, output),
        (Collective::Gather, Some(by)) => comm.using(by).gather_into(root, input, output),
        (Collective::Scatter, None) => comm.scatter(root, at_root(), output),
        (Collective::Scatter, Some(by)) => comm.using(by).scatter(root, at_root(), output),
        (Collective::AllGather, None) => comm.all_gather(input, output),
        (Collective::AllGather, Some(by)) => comm.using(by).all_gather(input, output),
        (Collective::AllToAll, None) => comm.all_to_all(input, output),
        (Collective::AllToAll, Some(by)) => comm.using(by).all_to_all(input, output),
        (_, None) => comm.barrier(),
        (_, Some(by)) => comm.using(by).barrier(),
    }
}

/// Sends from the lower neighbour to the upper one and back.
pub(super) fn to_and_fro<T: Number>(
    comm: &Comm,
    Vectors { input, output }: &mut Vectors<T>,
) -> Result<()> {
    let (me, other) = (comm.rank(), comm.rank() ^ 1);
    if other >= comm.size() {
        return Ok(());
    }
    if me < other {
        comm.send(other, TAG, input)?;
    }
    comm.recv_into(other, TAG, output)?;
    if me > other {
        comm.send(other, TAG, input)?;
    }
    Ok(())
}
