//! Operations that go on without a request: buffered sends, and what was freed before it was over.

use rankfold::Request;

use crate::error::{Failure, failure};
use crate::memory::Caller;
use crate::rank::Rank;
use crate::request::RequestPart;

/// Completes what goes on without a request, as far as it can without waiting.
pub(crate) fn sweep_detached(rank: &Rank) {
    let mut detached = rank.detached.take();
    detached.retain_mut(|request| matches!(request.test(), Ok(None)));
    rank.detached.replace(detached);
}

/// Lets operations go on without a request. Before there would be no room for them, those that are over are forgotten.
pub(crate) fn detach(rank: &Rank, open: Vec<Request<'static, RequestPart>>) {
    let is_full = |all: &Vec<_>| all.len() + open.len() > all.capacity();
    if is_full(&rank.detached.borrow()) {
        sweep_detached(rank);
        // At least as many are added until the next sweep as are left now.
        let left = rank.detached.borrow().len();
        rank.detached.borrow_mut().reserve(left + open.len());
    }
    rank.detached.borrow_mut().extend(open);
}

/// Forgets the buffered messages that have left their buffer; returns how much of it the others take.
pub(crate) fn sweep_buffered(rank: &Rank) -> usize {
    let mut buffered = rank.buffered.take();
    buffered.retain_mut(|(request, _)| matches!(request.test(), Ok(None)));
    let used = buffered.iter().map(|(_, bytes)| bytes).sum();
    rank.buffered.borrow_mut().extend(buffered);
    used
}

/// Takes the buffered messages that have not left, which are copies: their buffer is the program's again.
pub(crate) fn take_buffered(rank: &Rank) -> Vec<Request<'static, RequestPart>> {
    let buffered = rank.buffered.take();
    buffered.into_iter().map(|(request, _)| request).collect()
}

/// Fills the buffers of receives, and of other operations, that were freed and are over. Returns the errors of those that
/// failed, with the handles of their communicators.
pub(crate) fn sweep_freed(rank: &Rank, caller: &Caller) -> Vec<(usize, Failure)> {
    let (mut failed, mut open) = (Vec::new(), Vec::new());
    for mut pending in rank.freed.take() {
        let on = pending.on;
        let ended = match pending.test() {
            Ok(false) => {
                open.push(pending);
                continue;
            }
            Ok(true) => pending.end(rank, caller).map(drop),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = ended {
            let text = format!("in an operation whose request was freed: {}", error.text);
            failed.push((on, failure(error.class, text)));
        }
    }
    rank.freed.borrow_mut().extend(open);
    failed
}
