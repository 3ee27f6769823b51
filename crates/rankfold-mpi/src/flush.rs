//! Flushes in progress: requests that are over once the messages have left which were in a buffer when they were started. A
//! message takes its place in the buffer until it has left, and whoever waits for the buffer waits for it, unless the request
//! of the flush was freed.

use std::mem;

use crate::abi::MPI_Request;
use crate::buffered::unsent;
use crate::detached::Sending;
use crate::error::Out;
use crate::memory::Caller;
use crate::rank::Rank;
use crate::request::{Entry, Pending, RequestPart, keep, with};
use crate::stat::Stat;

/// A flush that was started.
pub(crate) struct Flush {
    /// Whose buffer it is of.
    of: usize,
    request: MPI_Request,
    /// The handles of the communicators of its messages.
    on: Vec<usize>,
}

/// Starts a flush of a buffer. What an earlier one waits for it does not wait for.
pub(crate) fn start(rank: &Rank, of: usize) -> Out<MPI_Request> {
    sweep(rank);
    let open = unsent(rank, of)?.into_iter();
    let (on, open): (Vec<_>, Vec<_>) = open.map(|it| (it.on, it.request)).unzip();
    let finish = |_: &Rank, _: &Caller, _: Vec<RequestPart>| Ok(Stat::EMPTY);
    let mut pending = Pending::new(open, Box::new(finish)).sending();
    pending.on = of;
    let request = keep(rank, pending);
    rank.buffers
        .flushes
        .borrow_mut()
        .push(Flush { of, request, on });
    Ok(request)
}

/// Shows what is in progress of a flush that is not over, and returns whether it may still be in progress.
fn with_pending(rank: &Rank, flush: &Flush, look: impl FnOnce(Pending) -> Pending) -> bool {
    let Ok(Some(pending)) = with(rank, flush.request, Entry::take) else {
        return false;
    };
    let pending = look(pending);
    let is_open = !pending.open.is_empty();
    with(rank, flush.request, |entry| entry.put_back(pending)).is_ok() && is_open
}

/// Takes note of the messages of flushes that have left. Whoever waits for a flush is told of a failure.
pub(crate) fn sweep(rank: &Rank) {
    let tested = |mut pending: Pending| match pending.test(rank) {
        Ok(_) => pending,
        Err(error) => Pending {
            failed: Some(error),
            ..pending
        },
    };
    let mut flushes = rank.buffers.flushes.take();
    flushes.retain(|flush| with_pending(rank, flush, tested));
    rank.buffers.flushes.borrow_mut().extend(flushes);
}

/// Takes the messages that flushes of a buffer wait for, which are then over: somebody else waits for them.
pub(crate) fn take_open(rank: &Rank, of: usize) -> Vec<Sending> {
    let mut taken = Vec::new();
    let flushes = rank.buffers.flushes.take().into_iter();
    let (here, others): (Vec<_>, Vec<_>) = flushes.partition(|it| it.of == of);
    rank.buffers.flushes.replace(others);
    for flush in here {
        with_pending(rank, &flush, |mut pending| {
            let places = mem::take(&mut pending.places).into_iter();
            let open = mem::take(&mut pending.open).into_iter();
            taken.extend(places.zip(open).map(|(place, request)| Sending {
                request,
                on: flush.on[place],
                within: of,
            }));
            pending
        });
    }
    taken
}
