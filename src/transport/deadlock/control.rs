//! The moves of the controlled scheduler: it chooses once every rank has ended or sleeps.

use crate::Rank;
use crate::error::Cause;
use crate::transport::Fabric;
use crate::transport::deadlock::choice::ChoicePoint;
use crate::transport::deadlock::registry::Registry;
use crate::transport::deadlock::scheduler::{Decision, Scheduler};

impl Fabric {
    #[inline]
    pub(in crate::transport) fn is_controlled(&self) -> bool {
        self.scheduler.is_some()
    }

    /// If no rank can move any more, gives one of them a transition, if there is one.
    pub(in crate::transport) fn control(&self, registry: &mut Registry) {
        let Some(scheduler) = self.scheduler.as_ref().filter(|_| self.is_still(registry)) else {
            return;
        };
        if !self.take_transition(registry, scheduler)
            && !self.give_up_hope(registry, scheduler)
            && let Some(rank) = scheduler.state.lock().next_late(registry)
        {
            scheduler.chooser.passed();
            self.endpoints[rank].sleeper.rouse();
        }
    }

    fn is_still(&self, registry: &Registry) -> bool {
        let asleep = |rank: Rank| self.endpoints[rank].sleeper.asleep();
        (0..self.endpoints.len()).all(|rank| registry.is_at_rest(rank, || asleep(rank)))
    }

    fn take_transition(&self, registry: &Registry, scheduler: &Scheduler) -> bool {
        let transitions = registry.transitions();
        if transitions.is_empty() {
            return false;
        }
        let state = &mut *scheduler.state.lock();
        let point = ChoicePoint {
            nth: state.made.len(),
            transitions: &transitions,
            call: &|rank| registry.call_of(rank),
        };
        let chosen = scheduler.chooser.choose(&point);
        let transition = transitions[chosen.min(transitions.len() - 1)];
        if scheduler.looks_back {
            state.note_moves(&self.endpoints);
        }
        if let Some(eligible) = registry.eligible(transition.rank) {
            state.make(transition, eligible.clone(), &*scheduler.chooser);
        }
        state.decided[transition.rank] = Some(Decision::Take(transition.pick));
        self.endpoints[transition.rank].sleeper.rouse();
        true
    }

    /// Ranks that wait for any message, and have nothing to take, stop waiting for a rank that has failed.
    fn give_up_hope(&self, registry: &mut Registry, scheduler: &Scheduler) -> bool {
        let hopeless: Vec<(Rank, Cause)> = registry.hopeless().collect();
        for (rank, cause) in &hopeless {
            scheduler.chooser.passed();
            registry.tell(*rank, cause.clone());
            self.endpoints[*rank].sleeper.rouse();
        }
        !hopeless.is_empty()
    }
}
