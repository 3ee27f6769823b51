//! The messages of a rank in the schedule of a call that runs over shared vectors, for traces and counts.

use crate::Rank;
use crate::collective::{Algorithm, Call};
use crate::schedule::Step;

/// The messages that a rank would exchange in the schedule that is proved.
#[derive(Default)]
pub(crate) struct Messages {
    pub sent: Vec<Sent>,
    /// The elements of all of them.
    pub elements_sent: usize,
    /// The source of each received message.
    pub sources: Vec<Rank>,
}

/// A message that a rank would send.
pub(crate) struct Sent {
    pub to: Rank,
    pub elements: usize,
}

impl Messages {
    /// Those of `rank`. Where the root accesses the vectors of all, they are those of cells, which it reads, or writes for all.
    pub(crate) fn new(call: &Call, rank: Rank, by_root: bool) -> Messages {
        let algorithm = match by_root {
            true => Algorithm::Cells,
            false => Algorithm::Direct,
        };
        let schedule = algorithm.schedule(call);
        let schedule = schedule.expect("a call that runs over shared memory has a schedule");
        let mut messages = Messages::default();
        let mut next = schedule.next_active(rank, None);
        while let Some(step) = next {
            messages.add(schedule.step(rank, step));
            next = schedule.next_active(rank, Some(step));
        }
        let sent = messages.sent.iter().map(|sent| sent.elements);
        // Of elements without bytes there may be any number.
        messages.elements_sent = sent.fold(0, usize::saturating_add);
        messages
    }

    fn add(&mut self, step: Step) {
        self.sent.extend(step.send.map(|send| Sent {
            to: send.peer,
            elements: send.region.elements(),
        }));
        self.sources.extend(step.recv.map(|recv| recv.peer));
    }
}
