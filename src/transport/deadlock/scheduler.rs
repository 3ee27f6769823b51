//! Controlled worlds: a chooser decides which message a receive from any source takes, and which rank asks next for the
//! lock of a window's part, and only when nothing else can move. A run then depends on the choices alone, and not on which
//! thread was faster.
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
//! Locks of windows are granted in the order of the requests for them. So it matters in which order ranks enter their
//! requests, and when a lock is given up does not. To enter one is a transition too, and nobody enters one without it.
//!
//! # Which choices were too early
//!
//! Choices of different ranks commute, so a chooser that enumerates all outcomes need not try them in both orders; but
//! a rank that had been left waiting might have got more to choose from. That is so if a message arrives after its
//! choice that (a) its call would have taken, (b) is from a sender of which it had nothing, and (c) does not follow
//! from the choice. The chooser is told. It is told at once if the choice is among several requests of which one is a
//! send or a started collective that others have yet to complete: no message tells of that. Requests for one lock,
//! unless both are shared, do not commute: when one is entered, the chooser is told of those just before it from which
//! it does not follow, and of the ranks that could have gone first instead. See Flanagan and Godefroid, *Dynamic
//! partial-order reduction for model checking software*, POPL 2005, and for the ranks to go first Abdulla and others,
//! *Optimal dynamic partial order reduction*, POPL 2014.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::Rank;
use crate::transport::Endpoint;
use crate::transport::deadlock::choice::{Chooser, Eligible, Pick, Transition};
use crate::transport::deadlock::numbers::Numbers;
use crate::transport::deadlock::past::{Past, SyncPoint};
use crate::transport::deadlock::registry::Registry;
use crate::transport::matching::want::QueueId;
use crate::transport::memory::head::Head;

/// What was decided for a rank while it slept.
#[derive(Clone, Copy)]
pub(super) enum Decision {
    Take(Pick),
    TooLate,
}

/// The additional state of a controlled world.
pub(crate) struct Scheduler {
    pub(in crate::transport) chooser: Arc<dyn Chooser>,
    pub(super) looks_back: bool,
    pub(super) state: Mutex<SchedulerState>,
}

pub(super) struct SchedulerState {
    pub(super) decided: Vec<Option<Decision>>,
    pub(super) made: Vec<Made>,
    past: Past,
    /// Number of operations that each rank had begun at the last choice.
    begun: Vec<u64>,
    /// The rank from which to look for the next deadline to pass.
    late_from: Rank,
}

/// A choice that was made.
pub(super) struct Made {
    transition: Transition,
    eligible: Eligible,
    /// The choices that it follows from, itself among them.
    past: Numbers,
}

impl Scheduler {
    pub(in crate::transport) fn new(chooser: Arc<dyn Chooser>, ranks: usize) -> Self {
        let looks_back = chooser.looks_back();
        let state = SchedulerState {
            decided: vec![None; ranks],
            made: Vec::new(),
            past: Past::new(ranks),
            begun: vec![0; ranks],
            late_from: 0,
        };
        Scheduler {
            chooser,
            looks_back,
            state: Mutex::new(state),
        }
    }

    /// What `rank` must do; returned once.
    pub(in crate::transport) fn pick_for(&self, rank: Rank) -> Option<Pick> {
        let decided = &mut self.state.lock().decided[rank];
        match *decided {
            Some(Decision::Take(pick)) => {
                *decided = None;
                Some(pick)
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

    /// Notes that a rank comes to a point, behind which others follow it.
    pub(in crate::transport) fn come(&self, rank: Rank, point: SyncPoint) {
        if self.looks_back {
            let state = &mut *self.state.lock();
            state.moved(rank);
            state.past.come(rank, point);
        }
    }

    /// Notes that a rank goes on from a point, behind those that have come to it.
    pub(in crate::transport) fn leave(&self, rank: Rank, point: SyncPoint) {
        if self.looks_back {
            self.state.lock().past.leave(rank, point);
        }
    }

    /// The next point at which a rank meets all others of a communicator.
    pub(in crate::transport) fn next_meeting(&self, rank: Rank, context: u32) -> SyncPoint {
        self.state.lock().past.next_meeting(rank, context)
    }
}

impl SchedulerState {
    fn posted(&mut self, to: Rank, head: Head, chooser: &dyn Chooser) {
        let from = head.source();
        self.moved(from);
        for (nth, made) in self.made.iter().enumerate() {
            let would_take = made.eligible.wants.iter().any(|want| want.accepts(head));
            let message = Pick::Message(QueueId {
                context: head.context(),
                source: from,
            });
            if made.transition.rank == to
                && would_take
                && !made.eligible.picks.contains(&message)
                && !self.past.of(from).contains(nth)
            {
                chooser.too_early(nth, &[]);
            }
        }
    }

    /// A rank that has moved since the last choice follows from it: no rank moved before that choice.
    fn moved(&mut self, rank: Rank) {
        if let Some(last) = self.made.last() {
            self.past.add(rank, &last.past);
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

    pub(super) fn make(
        &mut self,
        transition: Transition,
        eligible: Eligible,
        chooser: &dyn Chooser,
    ) {
        let rank = transition.rank;
        let rivals: Vec<usize> = (0..self.made.len())
            .filter(|&nth| self.made[nth].transition.competes(transition))
            .collect();
        let mine = self.past.of(rank);
        let overtaken = rivals.iter().filter(|&&nth| {
            let between = |other: &usize| self.made[*other].past.contains(nth) && *other != nth;
            !mine.contains(nth) && !rivals.iter().any(between)
        });
        let pasts = || rivals.iter().map(|&nth| &self.made[nth].past);
        let mut past = mine.clone();
        pasts().for_each(|theirs| past.add_all(theirs));
        for &nth in overtaken {
            chooser.too_early(nth, &self.firsts_without(nth, transition, &past));
        }
        if eligible.may_grow {
            // Any of the ranks that could have moved instead may complete one of its requests.
            chooser.too_early(self.made.len(), &[]);
        }
        past.add(self.made.len());
        self.past.add(rank, &past);
        self.made.push(Made {
            transition,
            eligible,
            past,
        });
    }

    /// The transitions that can come first if what follows from choice number `nth` is left out of the run so far, and
    /// `last`, which follows from those in `past`, is the last one.
    fn firsts_without(&self, nth: usize, last: Transition, past: &Numbers) -> Vec<Transition> {
        let mut ranks = Vec::new();
        let mut firsts = Vec::new();
        let mut left = Vec::new();
        let later = (nth + 1..self.made.len()).map(|place| (place, &self.made[place]));
        let later = later.filter(|(_, made)| !made.past.contains(nth));
        let all = later.map(|(place, made)| (Some(place), made.transition, &made.past));
        for (place, one, past) in all.chain([(None, last, past)]) {
            let follows = left.iter().any(|&before| past.contains(before));
            let first = !ranks.contains(&one.rank) && !follows;
            firsts.extend(first.then_some(one));
            ranks.push(one.rank);
            left.extend(place);
        }
        firsts
    }
}
