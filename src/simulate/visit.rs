//! One rank in one step: its times, and who observes them.

use super::machine::Tolls;
use crate::Rank;
use crate::schedule::{Combine, Step};

/// The times of one rank in one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    /// The time at which the rank completes the step.
    pub(super) end: f64,
    /// Whether `end` follows from the time at which the sender reached the step, not from the rank's own.
    pub(super) waited: bool,
    /// Whether its send ended no earlier than its receive, with the fold of that.
    pub(super) sent_last: bool,
    /// The time for which its send occupies its port.
    pub(super) sending: f64,
    /// The time for which its receive occupies its port.
    pub(super) receiving: f64,
    pub(super) folding: f64,
}

impl Visit {
    /// A step that the rank reaches at `start`, and the sender at `sender_start`.
    #[inline(always)]
    pub(super) fn new(
        tolls: &Tolls,
        rank: Rank,
        step: &Step,
        start: f64,
        sender_start: f64,
    ) -> Visit {
        let (mut sending, mut receiving, mut folding) = (0.0, 0.0, 0.0);
        let (mut end, mut waited, mut sent_last) = (start, false, step.send.is_some());
        if let Some(send) = step.send {
            sending = tolls.link(rank, send.peer).port(send.region.elements());
            end = start + sending;
        }
        if let Some(recv) = step.recv {
            let (link, elements) = (tolls.link(rank, recv.peer), recv.region.elements());
            receiving = link.port(elements);
            if step.combine != Combine::Replace {
                folding = tolls.fold(elements);
            }
            let own = start + receiving;
            let arrival = sender_start + link.travel(elements);
            let folded = later(own, arrival) + folding;
            sent_last &= folded <= end;
            waited = folded > end && arrival > own;
            end = later(end, folded);
        }
        if let Some(local) = step.local.filter(|local| local.combine != Combine::Replace) {
            let alone = tolls.fold(local.to.elements());
            folding += alone;
            end += alone;
        }
        Visit {
            end,
            waited,
            sent_last,
            sending,
            receiving,
            folding,
        }
    }
}

/// The later of two times, neither of which is NaN; `f64::max` would check for it.
#[inline]
fn later(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// An observer of every step in which a rank acts.
pub(super) trait Watch {
    /// Whether it observes anything. If not, ranks may be processed in any order.
    const LOOKS: bool = true;

    fn saw(&mut self, rank: Rank, step: usize, visit: &Visit);
}

/// No observer.
impl Watch for () {
    const LOOKS: bool = false;

    fn saw(&mut self, _: Rank, _: usize, _: &Visit) {}
}
