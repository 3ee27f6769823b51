//! Two ranks that fold halves of a vector for each other: what one has sent in a step comes back in the next one, folded,
//! to where it lay. So the receiver may store its result there, and neither copies anything. The last step of recursive
//! halving and the first one of doubling are such steps.

use crate::schedule::{Combine, Step, Transfer};

/// Whether what a rank sends in a step comes back in the next one, and nothing else touches it meanwhile.
pub(super) fn comes_back(step: &Step, next: &Step) -> bool {
    let (Some(send), Some(recv)) = (step.send, step.recv) else {
        return false;
    };
    next.recv == Some(send)
        && next.combine == Combine::Replace
        && goes_back(recv, step.combine, next)
        && !recv.region.overlaps(&send.region)
}

/// Whether what a rank folds goes back to its sender in the next step, and is its result.
pub(super) fn goes_back(recv: Transfer, combine: Combine, next: &Step) -> bool {
    next.send == Some(recv)
        && combine != Combine::Replace
        && recv.region.count == 1
        && next.local.is_none()
        && next.clash.is_none()
}
