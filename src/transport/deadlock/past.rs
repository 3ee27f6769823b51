//! Which choices the acts of each rank follow from: what it did itself, and what reached it from other ranks. In doubt, a
//! choice is not included: that costs an exploration some runs, and nothing else.

use std::collections::HashMap;

use crate::Rank;
use crate::transport::deadlock::choice::LockTurn;
use crate::transport::deadlock::numbers::Numbers;

/// Where ranks that leave it follow those that have come to it. The first number is a communicator's context.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SyncPoint {
    /// All members meet, for this time.
    Meeting(u32, u32),
    /// This rank exposes its part of a window.
    Posted(u32, Rank),
    /// Ranks have completed their access to this rank's part.
    Completed(u32, Rank),
    /// A lock has been given up by those that held it so.
    Unlocked(LockTurn),
}

/// The choices that what each rank does follows from.
pub(super) struct Past {
    of: Vec<Numbers>,
    at: HashMap<SyncPoint, Numbers>,
    /// How often each rank has met the others of a communicator.
    meetings: HashMap<(Rank, u32), u32>,
}

impl Past {
    pub(super) fn new(ranks: usize) -> Past {
        Past {
            of: vec![Numbers::default(); ranks],
            at: HashMap::new(),
            meetings: HashMap::new(),
        }
    }

    pub(super) fn of(&self, rank: Rank) -> &Numbers {
        &self.of[rank]
    }

    /// What a rank does follows from these too.
    pub(super) fn add(&mut self, rank: Rank, past: &Numbers) {
        self.of[rank].add_all(past);
    }

    /// A rank comes to a point.
    pub(super) fn come(&mut self, rank: Rank, point: SyncPoint) {
        self.at.entry(point).or_default().add_all(&self.of[rank]);
    }

    /// A rank goes on from a point.
    pub(super) fn leave(&mut self, rank: Rank, point: SyncPoint) {
        if let Some(past) = self.at.get(&point) {
            self.of[rank].add_all(past);
        }
    }

    /// The next point at which a rank meets all others of a communicator.
    pub(super) fn next_meeting(&mut self, rank: Rank, context: u32) -> SyncPoint {
        let met = self.meetings.entry((rank, context)).or_default();
        *met += 1;
        SyncPoint::Meeting(context, *met)
    }
}
