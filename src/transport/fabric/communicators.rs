//! The communicators of a world: how they are made and numbered, and when they are forgotten.

use std::sync::Arc;

use crate::sync::Ordering;
use crate::transport::Fabric;
use crate::transport::communicator::members::Members;
use crate::transport::communicator::shared::CommShared;
use crate::transport::memory::head::CONTEXTS;
use crate::transport::trace::origin::{Names, Origin};

/// The least number of communicators that are let go before the registry looks for them.
const FEWEST_RELEASED: usize = 64;

impl Fabric {
    /// From one communicator's first context to the next one's, where ranks are in several processes: the columns of the
    /// first lie between.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) const NEXT_OF_SPREAD: u32 = 2 * CONTEXTS;

    /// Creates a communicator of some of the ranks, with a context of its own.
    pub(crate) fn new_comm(&self, members: Members, origin: Arc<Origin>) -> Arc<CommShared> {
        self.comm_of(self.new_context(), members, origin)
    }

    /// A context that no communicator has.
    ///
    /// # Panics
    ///
    /// If there is none, of those of this process: messages and plans of two communicators of one context would be taken
    /// for each other's.
    pub(crate) fn new_context(&self) -> u32 {
        let all = (CONTEXTS, 1 << 32);
        #[cfg(feature = "mpi")]
        let far = self.far.as_ref();
        #[cfg(feature = "mpi")]
        let all = far.map_or(all, |far| (Fabric::NEXT_OF_SPREAD, far.end_of_contexts()));
        let (next, end) = all;
        let in_range = |after: &u32| u64::from(*after) <= end;
        let step = |context: u32| context.checked_add(next).filter(in_range);
        // Relaxed, both: only the number matters.
        let context = self
            .contexts
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        context.expect("this world has made as many communicators as it can number")
    }

    /// Creates a communicator of some of the ranks with this context.
    pub(in crate::transport) fn comm_of(
        &self,
        context: u32,
        members: Members,
        origin: Arc<Origin>,
    ) -> Arc<CommShared> {
        let spans = self.spans(&members);
        let comm = CommShared::new(context, members, origin, &self.endpoints, spans);
        let mut comms = self.comms.lock();
        if comms.len() == comms.capacity() {
            self.sweep(&mut comms);
            // At least as many are created until the next sweep as are left now.
            let left = comms.len();
            comms.reserve(left);
        }
        comms.push(comm.clone());
        comm
    }

    /// A rank lets go of a communicator. Once half of all have been let go by their last ranks, they are forgotten.
    pub(crate) fn let_go(&self, comm: &Arc<CommShared>) {
        // The registry's, and this rank's own and the one in its handle.
        const LAST: usize = 3;
        if Arc::strong_count(comm) > LAST {
            return;
        }
        // Relaxed: only the number matters, and it is a hint.
        let released = self.released.fetch_add(1, Ordering::Relaxed) + 1;
        if released < FEWEST_RELEASED {
            return;
        }
        let mut comms = self.comms.lock();
        if 2 * released >= comms.len() {
            self.released.store(0, Ordering::Relaxed);
            self.sweep(&mut comms);
        }
    }

    /// Forgets the communicators that are no longer held and have nothing to report.
    pub(in crate::transport) fn sweep(&self, comms: &mut Vec<Arc<CommShared>>) {
        let forgotten = |comm: &Arc<CommShared>| Arc::strong_count(comm) == 1;
        let silent = |comm: &CommShared| {
            comm.cause.get().is_none() && comm.lanes.is_empty() && comm.all_was_read()
        };
        comms.retain(|comm| {
            let over = forgotten(comm) && silent(comm);
            if over {
                self.assert_transport(|| comm.carried_by_memory().collect());
                self.former.lock().add(comm.context, comm.origin.clone());
            }
            !over
        });
    }

    /// The communicators that are held, or that have something to report.
    pub(crate) fn comms(&self) -> Vec<Arc<CommShared>> {
        self.comms.lock().clone()
    }

    /// The names of all communicators that a report may still mention.
    pub(crate) fn names(&self) -> Names {
        // No communicator is cloned: the caller may hold the registry's lock, and must not drop the last reference to
        // one.
        let comms = self.comms.lock();
        let living = comms.iter().map(|comm| (comm.context, &comm.origin));
        Names::of(living.chain(self.former.lock().iter()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::Settings;

    #[test]
    #[should_panic(expected = "as many communicators as it can number")]
    fn no_context_is_given_twice() {
        let fabric = Fabric::new(1, Settings::default());
        let last = u32::MAX - 2 * CONTEXTS;
        fabric.contexts.store(last, Ordering::Relaxed);
        assert_eq!(fabric.new_context(), last);
        assert_eq!(fabric.new_context(), last + CONTEXTS);
        fabric.new_context();
    }
}
