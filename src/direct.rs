//! Collectives over shared memory: every rank reads the parts that it needs of the other ranks' vectors in place.
//!
//! ```text
//! all_reduce of three      rank 0   ████ ░░░░ ░░░░      rank 1 folds the middle share of all three
//!                          rank 1   ████ ▒▒▒▒ ░░░░      vectors, and stores the result to all three
//!                          rank 2   ████ ░░░░ ░░░░
//! ```
//!
//! This module defines what each rank brings to the call and what it then does, in terms of shares and blocks.
//! [`transport::memory::shared_vectors`](crate::transport::memory::shared_vectors) decides whose memory that is and
//! when it may be accessed. Operands are folded one after another in rank order, and each element is folded by one
//! rank.

use crate::Rank;
use crate::collective::{Call, Collective};
use crate::op::{Element, Operator};
use crate::span::Pieces;
use crate::transport::memory::shared_vectors::{Brings, Job, Vectors};

/// What ranks do with each other's memory in a call.
pub(crate) fn job(call: &Call) -> Job {
    match call.collective {
        Collective::AllReduce | Collective::Reduce | Collective::Broadcast => Job::Shares,
        Collective::Gather => Job::Collect(call.root),
        _ => Job::Own,
    }
}

/// What a rank brings to a call.
pub(crate) fn brings<'a, T>(
    call: &Call,
    rank: Rank,
    input: &'a [T],
    output: &'a mut [T],
) -> Brings<'a, T> {
    match call.collective {
        Collective::Broadcast if rank == call.root => Brings::Source(output),
        Collective::Reduce if rank == call.root && input.is_empty() => Brings::InPlace(output),
        Collective::AllReduce if !call.from_input => Brings::InPlace(output),
        _ => Brings::Both(input, output),
    }
}

/// The lengths of the input and the output that a rank brings.
#[inline]
pub(crate) fn lengths(call: &Call, rank: Rank) -> (usize, usize) {
    let n = call.length();
    match call.collective {
        Collective::Broadcast if rank == call.root => (n, 0),
        Collective::Reduce if rank == call.root => (n, n),
        Collective::AllReduce => (n, n),
        _ => call.buffers(rank),
    }
}

/// Runs a rank's part once all ranks have arrived.
pub(crate) fn run<T: Element>(
    call: &Call,
    rank: Rank,
    vectors: &Vectors<'_, T>,
    op: &impl Operator<T>,
) {
    let blocks = &call.blocks;
    match call.collective {
        Collective::AllReduce | Collective::Reduce => vectors.fold_share(op),
        Collective::Broadcast => vectors.copy_share(),
        Collective::ReduceScatter => vectors.fold(&blocks.block(rank), op),
        Collective::Gather => vectors.collect(),
        Collective::Scatter => vectors.copy(call.root, blocks.block(rank), 0),
        Collective::AllGather => from_each(call, rank, &mut |from| {
            vectors.copy(from, 0..blocks.count(from), blocks.cut(from));
        }),
        Collective::AllToAll => {
            let pieces = pieces(call);
            from_each(call, rank, &mut |from| {
                let put = pieces.put(rank, from);
                vectors.copy(from, pieces.sent(from, rank), put.start);
            });
        }
        other => unreachable!("{other} is refused"),
    }
}

/// Visits every rank, starting with the next one and wrapping around, so that not all ranks read from the same one at
/// once.
fn from_each(call: &Call, rank: Rank, read: &mut dyn FnMut(Rank)) {
    for from in (rank + 1..call.ranks()).chain(0..rank + 1) {
        read(from);
    }
}

fn pieces(call: &Call) -> Pieces {
    let alike = || Pieces::alike(call.blocks.clone());
    call.pieces.clone().unwrap_or_else(alike)
}

/// Calls `send` with the destination and the number of elements of each message that a rank would send in the schedule.
pub(crate) fn sends(call: &Call, rank: Rank, send: &mut dyn FnMut(Rank, usize)) {
    let (count, root, at_root) = (|of| call.blocks.count(of), call.root, rank == call.root);
    let others = || (0..call.ranks()).filter(|&other| other != rank);
    match call.collective {
        Collective::AllReduce => {
            others().for_each(|to| send(to, count(to)));
            others().for_each(|to| send(to, count(rank)));
        }
        Collective::Reduce => {
            others().for_each(|to| send(to, count(to)));
            others()
                .filter(|&to| to == root)
                .for_each(|to| send(to, count(rank)));
        }
        Collective::Broadcast if at_root => others().for_each(|to| send(to, call.length())),
        Collective::ReduceScatter => others().for_each(|to| send(to, count(to))),
        Collective::Gather if !at_root => send(root, count(rank)),
        Collective::Scatter if at_root => others().for_each(|to| send(to, count(to))),
        Collective::AllGather => others().for_each(|to| send(to, count(rank))),
        Collective::AllToAll => {
            let pieces = pieces(call);
            others().for_each(|to| send(to, pieces.sent(rank, to).len()));
        }
        _ => {}
    }
}
