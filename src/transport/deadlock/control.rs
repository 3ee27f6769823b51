//! How the controlled scheduler moves a world on: it chooses once every rank has ended or sleeps.

use crate::Rank;
use crate::error::Cause;
use crate::transport::Fabric;
use crate::transport::deadlock::choice::Crossing;
use crate::transport::deadlock::registry::Registry;
use crate::transport::deadlock::scheduler::{Steering, Told};

impl Fabric {
    #[inline]
    pub(in crate::transport) fn is_steered(&self) -> bool {
        self.steering.is_some()
    }

    /// If no rank can move any more, gives one of them a way on, if there is one.
    pub(in crate::transport) fn steer(&self, registry: &mut Registry) {
        let Some(steering) = self.steering.as_ref().filter(|_| self.is_still(registry)) else {
            return;
        };
        if !self.take_a_way(registry, steering)
            && !self.give_up_hope(registry, steering)
            && let Some(rank) = steering.state.lock().next_late(registry)
        {
            steering.chooser.passed();
            self.endpoints[rank].sleeper.rouse();
        }
    }

    fn is_still(&self, registry: &Registry) -> bool {
        let asleep = |rank: Rank| self.endpoints[rank].sleeper.asleep();
        (0..self.endpoints.len()).all(|rank| registry.is_at_rest(rank, || asleep(rank)))
    }

    fn take_a_way(&self, registry: &Registry, steering: &Steering) -> bool {
        let ways = registry.ways();
        if ways.is_empty() {
            return false;
        }
        let state = &mut *steering.state.lock();
        let crossing = Crossing {
            nth: state.made.len(),
            ways: &ways,
            call: &|rank| registry.call_of(rank),
        };
        let chosen = steering.chooser.choose(&crossing);
        let way = ways[chosen.min(ways.len() - 1)];
        if steering.looks_back {
            state.note_moves(&self.endpoints);
        }
        if let Some(eligible) = registry.eligible(way.rank) {
            state.make(way, eligible.clone());
        }
        state.told[way.rank] = Some(Told::Take(way.line));
        self.endpoints[way.rank].sleeper.rouse();
        true
    }

    /// Ranks that wait for any message, and have nothing to take, stop waiting for a rank that has failed.
    fn give_up_hope(&self, registry: &mut Registry, steering: &Steering) -> bool {
        let hopeless: Vec<(Rank, Cause)> = registry.hopeless().collect();
        for (rank, cause) in &hopeless {
            steering.chooser.passed();
            registry.tell(*rank, cause.clone());
            self.endpoints[*rank].sleeper.rouse();
        }
        !hopeless.is_empty()
    }
}
