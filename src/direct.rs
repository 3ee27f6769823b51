//! Collectives over shared memory: every rank reads what it needs of the others' vectors where they lie.
//!
//! ```text
//! all_reduce of three      rank 0   ████ ░░░░ ░░░░      rank 1 folds the middle share of all three
//!                          rank 1   ████ ▒▒▒▒ ░░░░      vectors, and stores the result to all three
//!                          rank 2   ████ ░░░░ ░░░░
//! ```
//!
//! What they bring to the call and what each then does is here, in terms of shares and blocks; whose memory
//! that is and when it may be touched is the business of [`transport::direct`](crate::transport::memory::shared_vectors).
//! Operands are folded one after another in the order of their ranks, each element by one rank.

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

/// How long the input and the output are that a rank brings.
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

/// What a rank does when all are here.
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
        Collective::AllGather => from_each(call, rank, |from| {
            vectors.copy(from, 0..blocks.count(from), blocks.cut(from));
        }),
        Collective::AllToAll => {
            let pieces = pieces(call);
            from_each(call, rank, |from| {
                let put = pieces.put(rank, from);
                vectors.copy(from, pieces.sent(from, rank), put.start);
            });
        }
        other => unreachable!("{other} is refused"),
    }
}

/// Every rank, from the next one on round the circle: not all read from the same at once.
fn from_each(call: &Call, rank: Rank, read: impl FnMut(Rank)) {
    (rank + 1..call.ranks()).chain(0..rank + 1).for_each(read);
}

fn pieces(call: &Call) -> Pieces {
    let alike = || Pieces::alike(call.blocks.clone());
    call.pieces.clone().unwrap_or_else(alike)
}

/// The messages that a rank would have to send, as the schedule has them: to whom, and how many elements.
pub(crate) fn sends(call: &Call, rank: Rank, mut send: impl FnMut(Rank, usize)) {
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
