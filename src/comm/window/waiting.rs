//! How a rank waits in a call on a window: for the lock of a part, or for other ranks of an epoch.

use std::time::Instant;

use crate::Rank;
use crate::engine::Comm;
use crate::error::{ErrorKind, Result, Site};
use crate::transport::deadlock::choice::{LockTurn, Pick, Sought};
use crate::transport::deadlock::past::SyncPoint;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::part_lock::{Held, LockRequest, Mode, PartLock, Rouse};
use crate::transport::progress::reason::Reason;

/// A call, as reports print it.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) show: &'a dyn Fn() -> String,
    pub(super) site: Site,
}

/// What a wait for these ranks of a communicator needs.
fn needs_of(comm: &Comm, ranks: &[Rank]) -> Needs {
    let world: Vec<Rank> = ranks.iter().map(|rank| comm.to_world(*rank)).collect();
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
    let bounds = (None, None);
    wait_until(comm, call, bounds, needs, progressing(comm, look))
}

/// A look that takes in messages first.
fn progressing(comm: &Comm, mut look: impl FnMut() -> bool) -> impl FnMut() -> bool {
    move || {
        comm.core.port.progress();
        look()
    }
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
        port.depends_on_time();
        let bounds = (Some(Instant::now()), None);
        let waited = wait_until(comm, call, bounds, needs, progressing(comm, look));
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

/// A wait with a deadline, or for what the chooser of a controlled world decides.
fn wait_until(
    comm: &Comm,
    call: Shown<'_>,
    (deadline, choice): (Option<Instant>, Option<&dyn Fn() -> Sought>),
    needs: &dyn Fn() -> Vec<Rank>,
    mut look: impl FnMut() -> bool,
) -> Result<()> {
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
        choice,
    };
    comm.core.port.wait(&reason, || look().then_some(()))
}

/// Waits until the chooser of a controlled world lets this rank ask for a lock.
#[cold]
fn await_turn(comm: &Comm, turn: LockTurn, call: Shown<'_>) -> Result<()> {
    let sought = || Sought {
        lock: Some(turn),
        ..Sought::default()
    };
    let port = &comm.core.port;
    let look = || {
        let chosen = port.chosen(None);
        port.progress();
        chosen == Some(Pick::Lock(turn))
    };
    wait_until(comm, call, (None, Some(&sought)), &Vec::new, look)
}

fn turn_of(comm: &Comm, request: &LockRequest) -> LockTurn {
    LockTurn {
        context: comm.shared.context,
        part: request.part,
        mode: request.mode,
    }
}

impl Rouse for Comm {
    fn rouse(&self, rank: Rank) {
        self.shared.rouse(rank);
    }

    fn releases(&self, held: &LockRequest) {
        self.core
            .port
            .precede(|| SyncPoint::Unlocked(turn_of(self, held)));
    }
}

/// Takes the lock of a rank's part; waits until it is granted.
pub(super) fn take<'a>(
    comm: &'a Comm,
    lock: &'a PartLock,
    (part, mode): (Rank, Mode),
    call: Shown<'_>,
) -> Result<Held<'a>> {
    let request = LockRequest {
        rank: comm.rank(),
        part,
        mode,
        site: call.site,
    };
    let controlled = comm.core.port.is_controlled();
    if controlled {
        await_turn(comm, turn_of(comm, &request), call)?;
    }
    let held = lock.take(request, comm, |waiter| {
        wait_for(comm, call, &|| waiter.blockers(), || waiter.is_granted())
    })?;
    if controlled {
        note_granted(comm, turn_of(comm, &request));
    }
    Ok(held)
}

/// Notes that a rank has a lock, after those that it would have excluded have given it up.
#[cold]
fn note_granted(comm: &Comm, turn: LockTurn) {
    let after = |mode| {
        comm.core
            .port
            .follow(|| SyncPoint::Unlocked(LockTurn { mode, ..turn }))
    };
    after(Mode::Exclusive);
    if turn.mode == Mode::Exclusive {
        after(Mode::Shared);
    }
}
