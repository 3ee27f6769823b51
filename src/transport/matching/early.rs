//! The unexpected messages of one sender in one context, in the order in which they came.

use std::collections::VecDeque;
use std::mem;

use crate::transport::matching::posted_receives::Posted;
use crate::transport::matching::want::Want;
use crate::transport::memory::lenders::Lenders;
use crate::transport::memory::packet::Packet;

/// An unexpected message, with its place in the order of arrival.
pub(super) struct Early {
    pub arrival: u64,
    pub packet: Packet,
}

/// Whether a queue holds a message for one of `wants`.
pub(super) fn holds_one(queue: &VecDeque<Early>, wants: &[Want]) -> bool {
    let wanted = |early: &Early| wants.iter().any(|want| want.accepts(early.packet.head));
    queue.iter().any(wanted)
}

/// The place of the first message that `want` accepts. Revoked messages are removed if one is before it: what comes behind
/// it is not looked at.
///
/// In a controlled world nothing can be received from the first message on that a receive wants which is `posted`.
pub(super) fn first_match(
    queue: &mut VecDeque<Early>,
    want: &Want,
    posted: Option<&Posted>,
    to_drop: &mut Vec<Packet>,
    lenders: &impl Lenders,
) -> Option<usize> {
    let is_wanted = |early: &Early| want.accepts(early.packet.head);
    let contended =
        |early: &Early| posted.is_some_and(|posted| posted.wants(&early.packet).is_some());
    loop {
        let is_dead = |early: &Early| early.packet.is_dead(lenders);
        let place = queue
            .iter()
            .position(|early| is_wanted(early) || contended(early) || is_dead(early))?;
        if !is_dead(&queue[place]) {
            return (!contended(&queue[place])).then_some(place);
        }
        sweep(queue, to_drop, lenders);
    }
}

/// Removes the messages that their sender has revoked.
pub(super) fn sweep(
    queue: &mut VecDeque<Early>,
    to_drop: &mut Vec<Packet>,
    lenders: &impl Lenders,
) {
    if queue.iter().any(|early| early.packet.is_dead(lenders)) {
        let (dead, live): (VecDeque<_>, VecDeque<_>) = mem::take(queue)
            .into_iter()
            .partition(|early| early.packet.is_dead(lenders));
        *queue = live;
        to_drop.extend(dead.into_iter().map(|early| early.packet));
    }
}
