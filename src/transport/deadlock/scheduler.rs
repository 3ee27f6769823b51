//! Controlled worlds: a chooser decides which message a receive from any source takes, and only when nothing else can
//! move. A run then depends on the choices alone, and not on which thread was faster.
//!
//! # Why the choices determine the run
//!
//! A rank whose calls name their senders is a function of what it receives, and each pair of ranks keeps its order:
//! such programs end the same however their threads are scheduled (Kahn networks). Only a receive from any source sees
//! which message came first. In a controlled world it does not look: it goes to sleep, and records in the registry
//! which senders' messages it could take. When every rank has ended or sleeps, everything that can be sent without
//! another choice has been sent, so the *transitions*, (rank, source), are the same in every run with the same choices
//! before. One is chosen, that rank goes on, and so forth. A call with a deadline times out only when there is no
//! transition.
//!
//! # Which choices were too early
//!
//! Choices of different ranks commute, so a chooser that enumerates all outcomes need not try them in both orders; but
//! a rank that had been left waiting might have got more to choose from. That is so if a message arrives after its
//! choice that (a) its call would have taken, (b) is from a sender of which it had nothing, and (c) does not follow
//! from the choice. The chooser is told; see Flanagan and Godefroid, *Dynamic partial-order reduction for model
//! checking software*, POPL 2005.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::Rank;
use crate::transport::Endpoint;
use crate::transport::deadlock::choice::{Chooser, Eligible, Transition};
use crate::transport::deadlock::numbers::Numbers;
use crate::transport::deadlock::registry::Registry;
use crate::transport::matching::want::QueueId;
use crate::transport::memory::head::Head;

/// What was decided for a rank while it slept.
#[derive(Clone, Copy)]
pub(super) enum Decision {
    Take(QueueId),
    TooLate,
}

/// The additional state of a controlled world.
pub(crate) struct Scheduler {
    pub(super) chooser: Arc<dyn Chooser>,
    pub(super) looks_back: bool,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) decided: Vec<Option<Decision>>,
    pub(super) made: Vec<Made>,
    /// For each rank, the choices that what it does certainly follows from; in doubt, a choice is not included.
    past: Vec<Numbers>,
    /// Number of operations that each rank had begun at the last choice.
    begun: Vec<u64>,
    /// The rank from which to look for the next deadline to pass.
    late_from: Rank,
}

/// A choice that was made.
pub(super) struct Made {
    rank: Rank,
    eligible: Eligible,
    /// The choices that it follows from, itself among them.
    past: Numbers,
}

impl Scheduler {
    pub(in crate::transport) fn new(chooser: Arc<dyn Chooser>, ranks: usize) -> Self {
        let looks_back = chooser.looks_back();
        let state = State {
            decided: vec![None; ranks],
            made: Vec::new(),
            past: vec![Numbers::default(); ranks],
            begun: vec![0; ranks],
            late_from: 0,
        };
        Scheduler {
            chooser,
            looks_back,
            state: Mutex::new(state),
        }
    }

    /// The queue of which `rank` must take the first message; returned once.
    pub(in crate::transport) fn queue_for(&self, rank: Rank) -> Option<QueueId> {
        let decided = &mut self.state.lock().decided[rank];
        match *decided {
            Some(Decision::Take(queue)) => {
                *decided = None;
                Some(queue)
            }
            _ => None,
        }
    }

    /// Whether the deadline of `rank` has passed; `true` once.
    pub(in crate::transport) fn is_too_late(&self, rank: Rank) -> bool {
        let decided = &mut self.state.lock().decided[rank];
        let late = matches!(decided, Some(Decision::TooLate));
        if late {
            *decided = None;
        }
        late
    }

    /// Notes that a message goes to `to`.
    #[cold]
    pub(in crate::transport) fn posted(&self, to: Rank, head: Head) {
        if self.looks_back {
            self.state.lock().posted(to, head, &*self.chooser);
        }
    }
}

impl State {
    fn posted(&mut self, to: Rank, head: Head, chooser: &dyn Chooser) {
        let from = head.source();
        self.moved(from);
        for (nth, made) in self.made.iter().enumerate() {
            let would_take = made.eligible.wants.iter().any(|want| want.accepts(head));
            let queue = QueueId {
                context: head.context(),
                source: from,
            };
            if made.rank == to
                && would_take
                && !made.eligible.queues.contains(&queue)
                && !self.past[from].contains(nth)
            {
                chooser.too_early(nth);
            }
        }
    }

    /// A rank that has moved since the last choice follows from it: no rank moved before that choice.
    fn moved(&mut self, rank: Rank) {
        if let Some(last) = self.made.last() {
            self.past[rank].add_all(&last.past);
        }
    }

    pub(super) fn note_moves(&mut self, endpoints: &[Arc<Endpoint>]) {
        for (rank, endpoint) in endpoints.iter().enumerate() {
            let begun = endpoint.begun();
            if begun != self.begun[rank] {
                self.begun[rank] = begun;
                self.moved(rank);
            }
        }
    }

    /// Tells the next rank with a deadline that it has passed: each in turn, since they may look again.
    pub(super) fn next_late(&mut self, registry: &Registry) -> Option<Rank> {
        let later = registry
            .with_deadline()
            .find(|&rank| rank >= self.late_from);
        let rank = later.or_else(|| registry.with_deadline().next())?;
        self.late_from = rank + 1;
        self.decided[rank] = Some(Decision::TooLate);
        Some(rank)
    }

    pub(super) fn make(&mut self, transition: Transition, eligible: Eligible) {
        let past = &mut self.past[transition.rank];
        past.add(self.made.len());
        self.made.push(Made {
            rank: transition.rank,
            eligible,
            past: past.clone(),
        });
    }
}
