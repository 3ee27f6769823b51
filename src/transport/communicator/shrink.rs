//! The agreement by which the surviving members of a communicator leave the ended ones behind.
//!
//! A member comes by registering its rank, and waits until every other member has come as well or has ended. The first
//! to see that creates the new communicator of the members that have come, in their old order; the others find it. A
//! rank that ends after that counts as ended in the new communicator.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Rank;
use crate::sync::Mutex;

/// The shrinks of one communicator, by number: usually one. `C` is a communicator.
pub(crate) struct Shrinking<C>(Mutex<HashMap<u32, Epoch<C>>>);

struct Epoch<C> {
    /// World ranks.
    come: Vec<Rank>,
    led_to: Option<Arc<C>>,
}

impl<C> Default for Epoch<C> {
    fn default() -> Self {
        Epoch {
            come: Vec::new(),
            led_to: None,
        }
    }
}

impl<C> Shrinking<C> {
    pub(crate) fn new() -> Self {
        Shrinking(Mutex::new(HashMap::new()))
    }

    /// Registers a member.
    pub(crate) fn come(&self, number: u32, rank: Rank) {
        self.0.lock().entry(number).or_default().come.push(rank);
    }

    /// A member whose attempt has failed has not come, unless all have: then the next attempt finds the result.
    pub(crate) fn withdraw(&self, number: u32, rank: Rank) {
        let mut epochs = self.0.lock();
        let epoch = epochs.entry(number).or_default();
        if epoch.led_to.is_none() {
            epoch.come.retain(|other| *other != rank);
        }
    }

    /// The new communicator, once all members have come that are not `gone`. The first to see that creates it with
    /// `make`.
    pub(crate) fn result(
        &self,
        number: u32,
        members: impl Iterator<Item = Rank>,
        gone: impl Fn(Rank) -> bool,
        make: impl FnOnce(Vec<Rank>) -> Arc<C>,
    ) -> Option<Arc<C>> {
        let mut epochs = self.0.lock();
        let epoch = epochs.entry(number).or_default();
        if epoch.led_to.is_none() {
            let (come, away): (Vec<Rank>, Vec<Rank>) =
                members.partition(|rank| epoch.come.contains(rank));
            if away.into_iter().all(gone) {
                epoch.led_to = Some(make(come));
            }
        }
        epoch.led_to.clone()
    }
}
