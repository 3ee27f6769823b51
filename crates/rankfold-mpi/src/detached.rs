//! Operations that go on without a request: buffered sends, and what was freed before it was over.

use rankfold::Request;

use crate::buffered::OF_RANK;
use crate::error::{Failure, Out, failure};
use crate::memory::Caller;
use crate::rank::Rank;
use crate::request::{Pending, RequestPart};

/// A send that goes on without a request.
pub(crate) struct Sending {
    pub request: Request<'static, RequestPart>,
    /// The handle of its communicator.
    pub on: usize,
    /// Whose buffer it is in, if it was buffered.
    pub within: usize,
}

impl Sending {
    pub(crate) fn is_open(&mut self) -> bool {
        matches!(self.request.test(), Ok(None))
    }
}

/// Completes what goes on without a request, as far as it can without waiting.
pub(crate) fn sweep_detached(rank: &Rank) {
    let mut detached = rank.detached.take();
    detached.retain_mut(Sending::is_open);
    rank.detached.replace(detached);
}

/// Lets sends go on without a request. Before there would be no room for them, those that are over are forgotten.
pub(crate) fn detach(rank: &Rank, open: Vec<Sending>) {
    let is_full = |all: &Vec<_>| all.len() + open.len() > all.capacity();
    if is_full(&rank.detached.borrow()) {
        sweep_detached(rank);
        // At least as many are added until the next sweep as are left now.
        let left = rank.detached.borrow().len();
        rank.detached.borrow_mut().reserve(left + open.len());
    }
    rank.detached.borrow_mut().extend(open);
}

/// Lets the open parts of a send go on, whose request was freed.
pub(crate) fn detach_parts(rank: &Rank, pending: Pending) {
    let on = pending.on;
    let parts = pending.open.into_iter();
    let sending = |request| Sending {
        request,
        on,
        within: OF_RANK,
    };
    detach(rank, parts.map(sending).collect());
}

/// Waits until messages have left; returns those that still go on where one fails, and its error.
pub(crate) fn wait_for(rank: &Rank, sends: Vec<Sending>) -> (Vec<Sending>, Out) {
    let mut sends = sends.into_iter();
    while let Some(Sending { request, on, .. }) = sends.next() {
        if let Err(error) = request.wait() {
            let failed = rank.blame(on, Err(error.into()));
            return (sends.collect(), failed);
        }
    }
    (Vec::new(), Ok(()))
}

/// Waits for an operation, and gives one that is over; with the error if it is none of its message.
pub(crate) fn settle(rank: &Rank, caller: &Caller, pending: Pending) -> (Pending, Out) {
    let (on, result) = (pending.on, pending.wait(rank, caller));
    let waited = match &result {
        Err(error) if error.stat.is_none() => Err(error.clone()),
        _ => Ok(()),
    };
    let mut kept = Pending::ended(result);
    kept.on = on;
    (kept, waited)
}

/// Waits until all that goes on without a request on a communicator is over.
pub(crate) fn wait_on(rank: &Rank, caller: &Caller, on: usize) -> Out {
    for place in [&rank.detached, &rank.buffers.messages] {
        let here = place
            .borrow_mut()
            .extract_if(.., |it| it.on == on)
            .collect();
        let (open, waited) = wait_for(rank, here);
        place.borrow_mut().extend(open);
        waited?;
    }
    let freed = rank
        .freed
        .borrow_mut()
        .extract_if(.., |it| it.on == on)
        .collect::<Vec<_>>();
    let mut waited = Ok(());
    for pending in freed {
        // After a failure the others go on. The sweep after the call tells of errors of messages.
        let kept = match waited {
            Ok(()) => {
                let (over, result) = settle(rank, caller, pending);
                waited = result;
                over
            }
            Err(_) => pending,
        };
        rank.freed.borrow_mut().push(kept);
    }
    waited
}

/// Fills the buffers of receives, and of other operations, that were freed and are over. Returns the errors of those that
/// failed, with the handles of their communicators; at the end also of those that never can be over.
pub(crate) fn sweep_freed(rank: &Rank, caller: &Caller, at_end: bool) -> Vec<(usize, Failure)> {
    let (mut failed, mut open) = (Vec::new(), Vec::new());
    for mut pending in rank.freed.take() {
        let on = pending.on;
        let ended = match pending.test(rank) {
            Ok(false) if at_end && pending.is_lost() => pending.wait(rank, caller).map(drop),
            Ok(false) => {
                open.push(pending);
                continue;
            }
            Ok(true) => pending.end(rank, caller).map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            let text = format!("in an operation whose request was freed: {}", error.text);
            failed.push((on, failure(error.class, text)));
        }
    }
    rank.freed.borrow_mut().extend(open);
    failed
}
