//! Reductions, as plans: the contributions of the ranks are collected, and folded in rank order by those that need the
//! result.

use crate::abi::*;
use crate::collective::{Parts, distinct};
use crate::comm::Communicator;
use crate::datatype::pack::{Buffer, Place};
use crate::error::{Out, failure};
use crate::memory::{Byte, Caller};
use crate::op::Fold;
use crate::plan::{Arrived, Mark, Move, Plan};

fn mark(name: &str, fold: &Fold) -> Mark {
    let op = fold.operator.number();
    Mark {
        op,
        ..Mark::of(name)
    }
}

/// The blocks of ranks from `0` on, checked.
fn blocks<'b>(
    mark: Mark,
    arrived: &'b Arrived,
    ranks: usize,
    like: &Buffer<'_>,
) -> Out<Vec<&'b [Byte]>> {
    (0..ranks)
        .map(|rank| mark.elements(rank, arrived.block(rank), like))
        .collect()
}

/// What this rank contributes.
fn contribution(caller: &Caller, mark: Mark, from: &Place) -> Out<Vec<Byte>> {
    let mut block = Vec::new();
    mark.encode(caller, &from.buffer(), &mut block)?;
    Ok(block)
}

/// Reduce to a root. `recv` is at the root only; `send` is none there if it is in place.
pub(crate) fn reduce(
    caller: &Caller,
    comm: &Communicator,
    root: usize,
    send: Option<Place>,
    recv: Option<Place>,
    fold: Fold,
) -> Out<Plan> {
    fold.check()?;
    let (mark, size) = (mark("MPI_Reduce", &fold), comm.comm.size());
    if let Some(into) = &recv {
        distinct(&send, into)?;
    }
    let from = send.as_ref().or(recv.as_ref());
    let from = from.ok_or_else(|| failure(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root"))?;
    let block = contribution(caller, mark, from)?;
    let then = move |caller: &Caller, arrived: Arrived| {
        let Some(into) = recv else {
            return Ok(());
        };
        let all = blocks(mark, &arrived, size, &into.buffer())?;
        into.buffer()
            .unpack(caller, &fold.all(caller, all.into_iter())?)
    };
    Ok(Plan {
        movement: Move::Gather { root, block },
        then: Box::new(then),
    })
}

/// Which ranks a rank folds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    All,
    /// Those before it, and itself.
    Inclusive,
    /// Those before it.
    Exclusive,
}

/// All-reduce, scan and exclusive scan; `send` is none if it is in place.
pub(crate) fn all_reduce(
    caller: &Caller,
    comm: &Communicator,
    prefix: Prefix,
    send: Option<Place>,
    recv: Place,
    fold: Fold,
) -> Out<Plan> {
    fold.check()?;
    let name = match prefix {
        Prefix::All => "MPI_Allreduce",
        Prefix::Inclusive => "MPI_Scan",
        Prefix::Exclusive => "MPI_Exscan",
    };
    distinct(&send, &recv)?;
    let (mark, me, size) = (mark(name, &fold), comm.comm.rank(), comm.comm.size());
    let block = contribution(caller, mark, send.as_ref().unwrap_or(&recv))?;
    let ranks = match prefix {
        Prefix::All => size,
        Prefix::Inclusive => me + 1,
        Prefix::Exclusive => me,
    };
    let then = move |caller: &Caller, arrived: Arrived| {
        // All are looked at: a rank that differs is named by every other one.
        let mut all = blocks(mark, &arrived, size, &recv.buffer())?;
        all.truncate(ranks);
        match ranks {
            0 => Ok(()),
            _ => recv
                .buffer()
                .unpack(caller, &fold.all(caller, all.into_iter())?),
        }
    };
    Ok(Plan {
        movement: Move::AllGather { block },
        then: Box::new(then),
    })
}

/// Reduce-scatter, of equal blocks or of any; `send` is none if it is in place.
pub(crate) fn reduce_scatter(
    caller: &Caller,
    comm: &Communicator,
    name: &str,
    send: Option<Place>,
    (recv, parts): (Place, Parts),
    fold: Fold,
) -> Out<Plan> {
    fold.check()?;
    distinct(&send, &recv)?;
    let (mark, me, size) = (mark(name, &fold), comm.comm.rank(), comm.comm.size());
    let from = send.unwrap_or_else(|| recv.clone());
    let to = (0..size).map(|rank| {
        let part = from.part(parts.places[rank], parts.counts[rank]);
        let mut block = Vec::new();
        mark.encode(caller, &part, &mut block)?;
        Ok((rank, 0, block))
    });
    let to = to.collect::<Out<Vec<_>>>()?;
    let movement = match name == "MPI_Reduce_scatter_block" {
        true => Move::AllToAll {
            all: to.into_iter().flat_map(|(_, _, block)| block).collect(),
        },
        false => Move::Exchange {
            root: None,
            to,
            from: (0..size).map(|rank| (rank, 0)).collect(),
        },
    };
    let then = move |caller: &Caller, arrived: Arrived| {
        let into = recv.part(0, parts.counts[me]);
        let all = blocks(mark, &arrived, size, &into)?;
        into.unpack(caller, &fold.all(caller, all.into_iter())?)
    };
    Ok(Plan {
        movement,
        then: Box::new(then),
    })
}
