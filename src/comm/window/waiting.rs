//! How a rank waits in a call on a window: for the lock of a part, or for other ranks of an epoch.

use crate::Rank;
use crate::engine::Comm;
use crate::error::{Result, Site};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::part_lock::{Held, LockRequest, Mode, PartLock};
use crate::transport::progress::wait::Reason;

/// A call, as reports print it.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) show: &'a dyn Fn() -> String,
    pub(super) site: Site,
}

/// Waits until `look` finds something, which the ranks in `needs` bring about. They are ranks of this communicator.
pub(super) fn wait_for(
    comm: &Comm,
    call: Shown<'_>,
    needs: &dyn Fn() -> Vec<Rank>,
    mut look: impl FnMut() -> bool,
) -> Result<()> {
    let port = &comm.core.port;
    let needs = || {
        let world: Vec<Rank> = needs().iter().map(|rank| comm.world_rank(*rank)).collect();
        match world[..] {
            [one] => Needs::One(one),
            _ => Needs::All(world),
        }
    };
    let reason = Reason {
        call: call.show,
        site: call.site,
        needs: &needs,
        comm: Some(&comm.shared),
        also: &[],
        needs_buffer: false,
        collective: None,
        turn: None,
        deadline: None,
        choice: None,
    };
    port.wait(&reason, || {
        port.progress();
        look().then_some(())
    })
}

/// Takes the lock of a part; waits until it is granted.
pub(super) fn take<'a>(
    comm: &'a Comm,
    lock: &'a PartLock,
    mode: Mode,
    call: Shown<'_>,
) -> Result<Held<'a>> {
    let request = LockRequest {
        rank: comm.rank(),
        mode,
        site: call.site,
    };
    lock.take(request, &*comm.shared, |waiter| {
        wait_for(comm, call, &|| waiter.blockers(), || waiter.is_granted())
    })
}
