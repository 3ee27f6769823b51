//! How a rank waits in a call on a window: for the lock of a part, or for other ranks of an epoch.

use std::time::Instant;

use crate::Rank;
use crate::engine::Comm;
use crate::error::{ErrorKind, Result, Site};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::part_lock::{Held, LockRequest, Mode, PartLock};
use crate::transport::progress::wait::Reason;

/// A call, as reports print it.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) show: &'a dyn Fn() -> String,
    pub(super) site: Site,
}

/// What a wait for these ranks of a communicator needs.
fn needs_of(comm: &Comm, ranks: &[Rank]) -> Needs {
    let world: Vec<Rank> = ranks.iter().map(|rank| comm.world_rank(*rank)).collect();
    match world[..] {
        [one] => Needs::One(one),
        _ => Needs::All(world),
    }
}

/// Waits until `look` finds something, which the ranks in `needs` bring about. They are ranks of this communicator.
pub(super) fn wait_for(
    comm: &Comm,
    call: Shown<'_>,
    needs: &dyn Fn() -> Vec<Rank>,
    look: impl FnMut() -> bool,
) -> Result<()> {
    wait_until(comm, call, None, needs, look)
}

/// The same without waiting: whether `look` finds something now (in a controlled world: once no other rank can
/// proceed); an error if it never can.
pub(super) fn look_for(
    comm: &Comm,
    call: Shown<'_>,
    needs: &dyn Fn() -> Vec<Rank>,
    mut look: impl FnMut() -> bool,
) -> Result<bool> {
    let port = &comm.core.port;
    port.advance_started();
    if port.is_controlled() {
        let waited = wait_until(comm, call, Some(Instant::now()), needs, look);
        return match waited {
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => Ok(false),
            waited => waited.map(|()| true),
        };
    }
    port.progress();
    if look() {
        return Ok(true);
    }
    let Some(error) = port.lost(&needs_of(comm, &needs())) else {
        port.give_turn();
        return Ok(false);
    };
    // A rank that has ended did everything before that.
    if look() { Ok(true) } else { Err(error) }
}

fn wait_until(
    comm: &Comm,
    call: Shown<'_>,
    deadline: Option<Instant>,
    needs: &dyn Fn() -> Vec<Rank>,
    mut look: impl FnMut() -> bool,
) -> Result<()> {
    let port = &comm.core.port;
    let needs = || needs_of(comm, &needs());
    let reason = Reason {
        call: call.show,
        site: call.site,
        needs: &needs,
        comm: Some(&comm.shared),
        also: &[],
        needs_buffer: false,
        collective: None,
        turn: None,
        deadline,
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
