//! How the living members of a communicator leave the dead behind: who has come, and where they go.
//!
//! A member comes by writing its name down, and waits until every other member has come as well or has
//! ended. The first who sees that makes the new communicator, of those who have come, in their old
//! order; the others find it. Who ends after that is dead in the new one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Rank;
use crate::sync::Mutex;
use crate::transport::CommShared;

/// The shrinkings of one communicator, by number: usually one.
pub(crate) struct Shrinking(Mutex<HashMap<u32, Epoch>>);

#[derive(Default)]
struct Epoch {
    /// By their numbers in the world.
    come: Vec<Rank>,
    led_to: Option<Arc<CommShared>>,
}

impl Shrinking {
    pub(crate) fn new() -> Self {
        Shrinking(Mutex::new(HashMap::new()))
    }

    /// A member comes.
    pub(crate) fn come(&self, number: u32, rank: Rank) {
        self.0.lock().entry(number).or_default().come.push(rank);
    }

    /// Where it leads, if all have come who are not `gone`; the first who sees it `make`s it of them.
    pub(crate) fn result(
        &self,
        number: u32,
        members: impl Iterator<Item = Rank>,
        gone: impl Fn(Rank) -> bool,
        make: impl FnOnce(Vec<Rank>) -> Arc<CommShared>,
    ) -> Option<Arc<CommShared>> {
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
