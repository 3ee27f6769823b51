//! The state of each pending operation of a rank.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::receive::Receive;
use super::resolved::Steps;
use crate::Rank;
use crate::error::Site;
use crate::transport::CommHandle;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::memory::receipt::Receipt;
use crate::transport::progress::started::StartedCall;
use crate::transport::trace::call_event::CallEvent;

/// A pending operation, as shared by the request, its scope and its rank.
pub(crate) struct RequestState {
    pub direction: Direction,
    /// The communicator on which it was started.
    pub comm: CommHandle,
    pub site: Site,
    /// Whether the operation has ended, in any way.
    pub over: Cell<bool>,
    /// Its index among the open requests of its rank.
    pub place: Cell<usize>,
}

/// Why a send waits until its message is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// There is no room for the message.
    ForRoom,
    /// It is a synchronous send.
    OnPurpose,
}

/// A request's direction.
pub(crate) enum Direction {
    /// A message that has been posted; with a receipt if the sender must wait until it is received.
    Send {
        verb: &'static str,
        to: Rank,
        tag: u32,
        receipt: Option<Arc<Receipt>>,
        waits: Waits,
    },
    /// A posted receive.
    Receive { call: Receive, slot: Rc<Slot> },
    /// A started collective; with its steps if the next call of these steps may use its memory.
    Collective(Rc<dyn StartedCall>, Option<Steps>),
}

impl RequestState {
    pub(crate) fn new(direction: Direction, comm: &CommHandle, site: Site) -> Rc<RequestState> {
        Rc::new(RequestState {
            direction,
            comm: comm.clone(),
            site,
            over: Cell::new(false),
            place: Cell::new(0),
        })
    }

    /// Its collective, if it is a request of one.
    #[inline]
    pub(crate) fn collective(&self) -> Option<&Rc<dyn StartedCall>> {
        match &self.direction {
            Direction::Collective(started, _) => Some(started),
            _ => None,
        }
    }

    /// The name of the call that started it.
    #[inline]
    fn verb(&self) -> &'static str {
        match &self.direction {
            Direction::Send { verb, .. } => verb,
            Direction::Receive { call, .. } => call.verb,
            Direction::Collective(started, _) => started.call().verb.name(),
        }
    }

    /// An operation with it, whose name is that of both.
    #[inline]
    pub(crate) fn event(&self, operation: &'static str, site: Site) -> CallEvent {
        let (operation, verb) = (operation.as_ptr().addr(), self.verb().as_ptr().addr());
        CallEvent {
            apart: operation.rotate_left(usize::BITS / 2) ^ verb,
            ..CallEvent::at(site)
        }
    }

    /// Whether it can be concluded.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        match &self.direction {
            Direction::Send { receipt, .. } => receipt.as_ref().is_none_or(|it| it.is_accepted()),
            Direction::Receive { slot, .. } => slot.is_filled(),
            Direction::Collective(started, _) => started.is_over(),
        }
    }

    pub(crate) fn needs(&self) -> Needs {
        match &self.direction {
            Direction::Send { to, .. } => Needs::One(self.comm.members.world(*to)),
            Direction::Receive { call, .. } => call.needs(&self.comm.members),
            Direction::Collective(started, _) => {
                let (comm, number) = started.id();
                Needs::Started((comm.context, number))
            }
        }
    }

    /// Whether its communicator has been revoked.
    pub(crate) fn is_revoked(&self) -> bool {
        self.comm.revoked.get().is_some()
    }

    /// Whether it is a send that found no room for its message.
    pub(crate) fn needs_buffer(&self) -> bool {
        matches!(
            self.direction,
            Direction::Send {
                waits: Waits::ForRoom,
                ..
            }
        )
    }
}

impl fmt::Display for RequestState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.direction.fmt(f)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Direction::Send { verb, to, tag, .. } => write!(f, "{verb}(to {to}, tag {tag})"),
            Direction::Receive { call, .. } => call.fmt(f),
            Direction::Collective(started, _) => started.call().fmt(f),
        }
    }
}

/// Lists requests for the text of an error: the first few, and how many more there are.
pub(crate) fn show_all(states: &[Rc<RequestState>]) -> String {
    const SHOWN: usize = 4;
    let line = |one: &Rc<RequestState>| format!("{one} of line {}", one.site.line());
    let first: Vec<_> = states.iter().take(SHOWN).map(line).collect();
    match states.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Whether a wait is for all of several requests or for one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    All,
    One,
}
