//! Reductions, in all forms.

use std::ffi::{c_int, c_void};

use super::arguments::fold;
use super::collectives::root as root_of;
use super::persistent::maker;
use super::sizes::{counted, in_place, place};
use crate::abi::*;
use crate::collective::Parts;
use crate::comm::Communicator;
use crate::datatype::pack::Place;
use crate::error::{Out, require};
use crate::memory::Caller;
use crate::numbers::{self, Call, Ends};
use crate::op::{Fold, Function, Op, Operator};
use crate::plan::Maker;
use crate::rank::Rank;
use crate::reduction::{self, Prefix};

/// The buffers and the operator of a reduction to all ranks.
pub(super) fn to_all(
    rank: &Rank,
    prefix: Prefix,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    (number, datatype, op): (impl Into<i64>, MPI_Datatype, MPI_Op),
) -> Out<Maker> {
    let (fold, number) = (fold(rank, op, datatype)?, number.into());
    check_count(&fold, number)?;
    let (send, recv) = (
        in_place(sendbuf, number, datatype)?,
        place(recvbuf, number, datatype)?,
    );
    maker(move |caller, on| {
        reduction::all_reduce(caller, on, prefix, send.clone(), recv.clone(), fold.clone())
    })
}

/// Refuses counts that the program's function cannot be told.
pub(super) fn check_count(fold: &Fold, number: impl Into<i64>) -> Out {
    let small = |op: &Op| matches!(op.function, Function::Small(_));
    let is_small = matches!(&fold.operator, Operator::Own(op) if small(op));
    let most = i64::from(c_int::MAX);
    require(!is_small || number.into() <= most, MPI_ERR_COUNT, || {
        format!("the operator's function takes up to {most} elements at a time")
    })
}

/// A reduction that the engine does by itself and whose result comes here; `None` if it does not.
pub(super) fn at_once(
    caller: &Caller,
    on: &Communicator,
    call: Call,
    fold: &Fold,
    (sendbuf, recvbuf, number): (*const c_void, *mut c_void, impl Into<i64>),
) -> Out<Option<()>> {
    let (of, number) = (fold.datatype, number.into());
    let (send, recv) = (in_place(sendbuf, number, of)?, place(recvbuf, number, of)?);
    let ends = Ends {
        send: send.as_ref(),
        recv: Some(&recv),
    };
    numbers::reduce(caller, on, call, fold, &ends).transpose()
}

/// The same with a root, where alone the result goes.
fn at_root(
    caller: &Caller,
    on: &Communicator,
    (root, here): (usize, bool),
    fold: &Fold,
    (sendbuf, recvbuf, number): (*const c_void, *mut c_void, impl Into<i64>),
) -> Out<Option<()>> {
    let (of, number) = (fold.datatype, number.into());
    let send = in_place(sendbuf, number, of)?;
    let recv = here.then(|| place(recvbuf, number, of)).transpose()?;
    let ends = Ends {
        send: send.as_ref(),
        recv: recv.as_ref(),
    };
    numbers::reduce(caller, on, Call::Reduce { root }, fold, &ends).transpose()
}

/// The buffers of a reduce-scatter, whose input is all blocks, and whose result is that of this rank.
fn scattered(
    (rank, me): (&Rank, usize),
    name: &'static str,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    counts: &[impl Into<i64> + Copy],
    (datatype, op): (MPI_Datatype, MPI_Op),
) -> Out<Maker> {
    let fold = fold(rank, op, datatype)?;
    let lengths: Out<Vec<usize>> = counts.iter().map(|it| counted(*it, "a count")).collect();
    let lengths = lengths?;
    let starts = lengths.iter().scan(0, |end, len| {
        let start = *end;
        *end += len;
        Some(start as isize)
    });
    let parts = Parts {
        places: starts.collect(),
        counts: lengths,
    };
    let longest = parts.counts.iter().copied().max().unwrap_or(0) as i64;
    check_count(&fold, longest)?;
    let send: Option<Place> = in_place(sendbuf, longest, datatype)?;
    // All blocks are there if they are in place.
    let received = match send {
        Some(_) => parts.counts[me] as i64,
        None => longest,
    };
    let recv: Place = place(recvbuf, received, datatype)?;
    maker(move |caller, on| {
        reduction::reduce_scatter(
            caller,
            on,
            name,
            send.clone(),
            (recv.clone(), parts.clone()),
            fold.clone(),
        )
    })
}

super::sizes::both_sizes! {
    MPI_Reduce MPI_Ireduce MPI_Reduce_init / MPI_Reduce_c MPI_Ireduce_c MPI_Reduce_init_c(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: MPI_Datatype, op: MPI_Op, root: c_int,
    ) |rank, caller, on| at once {
        let (of, fold) = (root_of(on, root)?, fold(rank, op, datatype)?);
        at_root(caller, on, of, &fold, (sendbuf, recvbuf, count)).transpose()
    }, or {
        let (root, here) = root_of(on, root)?;
        let fold = fold(rank, op, datatype)?;
        check_count(&fold, count)?;
        let send = in_place(sendbuf, count, datatype)?;
        let recv = here.then(|| place(recvbuf, count, datatype)).transpose()?;
        maker(move |caller, on| reduction::reduce(caller, on, root, send.clone(), recv.clone(), fold.clone()))
    }
    MPI_Scan MPI_Iscan MPI_Scan_init / MPI_Scan_c MPI_Iscan_c MPI_Scan_init_c(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: MPI_Datatype, op: MPI_Op,
    ) |rank, caller, on| at once {
        let fold = fold(rank, op, datatype)?;
        at_once(caller, on, Call::Scan, &fold, (sendbuf, recvbuf, count)).transpose()
    }, or {
        to_all(rank, Prefix::Inclusive, (sendbuf, recvbuf), (count, datatype, op))
    }
    MPI_Exscan MPI_Iexscan MPI_Exscan_init / MPI_Exscan_c MPI_Iexscan_c MPI_Exscan_init_c(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: MPI_Datatype, op: MPI_Op,
    ) |rank, _, _on| {
        to_all(rank, Prefix::Exclusive, (sendbuf, recvbuf), (count, datatype, op))
    }
    MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init / MPI_Reduce_scatter_block_c MPI_Ireduce_scatter_block_c MPI_Reduce_scatter_block_init_c(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: Count, datatype: MPI_Datatype, op: MPI_Op,
    ) |rank, _, on| {
        let counts = vec![recvcount; on.comm.size()];
        scattered((rank, on.comm.rank()), "MPI_Reduce_scatter_block", (sendbuf, recvbuf), &counts, (datatype, op))
    }
    MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init / MPI_Reduce_scatter_c MPI_Ireduce_scatter_c MPI_Reduce_scatter_init_c(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const Count, datatype: MPI_Datatype, op: MPI_Op,
    ) |rank, caller, on| {
        let counts = caller.array(recvcounts, on.comm.size())?;
        scattered((rank, on.comm.rank()), "MPI_Reduce_scatter", (sendbuf, recvbuf), &counts, (datatype, op))
    }
}
