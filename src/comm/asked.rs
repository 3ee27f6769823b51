//! What a rank keeps about each of its pending operations.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::receive::Receive;
use crate::Rank;
use crate::error::Site;
use crate::transport::CommShared;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::memory::receipt::Receipt;

/// A pending operation, as shared by the request, its scope and its rank.
pub(super) struct Asked {
    pub way: Way,
    /// The communicator on which it was started.
    pub comm: Arc<CommShared>,
    pub site: Site,
    /// Whether the operation has ended, in any way.
    pub over: Cell<bool>,
}

/// A request's direction.
pub(super) enum Way {
    /// A message that has been posted; with a receipt if the sender must wait until it is received.
    Send {
        verb: &'static str,
        to: Rank,
        tag: u32,
        receipt: Option<Arc<Receipt>>,
    },
    /// A posted receive.
    Receive { call: Receive, slot: Rc<Slot> },
}

impl Asked {
    /// Whether it can be concluded.
    pub(super) fn is_ready(&self) -> bool {
        match &self.way {
            Way::Send { receipt, .. } => receipt.as_ref().is_none_or(|it| it.is_accepted()),
            Way::Receive { slot, .. } => slot.is_filled(),
        }
    }

    pub(super) fn needs(&self) -> Needs {
        match &self.way {
            Way::Send { to, .. } => Needs::One(self.comm.members.world(*to)),
            Way::Receive { call, .. } => call.needs(&self.comm.members),
        }
    }

    /// Whether its communicator has been revoked.
    pub(super) fn is_revoked(&self) -> bool {
        self.comm.revoked.get().is_some()
    }

    pub(super) fn is_send(&self) -> bool {
        matches!(self.way, Way::Send { .. })
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Send { verb, to, tag, .. } => write!(f, "{verb}(to {to}, tag {tag})"),
            Way::Receive { call, .. } => call.fmt(f),
        }
    }
}

/// Lists requests for the text of an error: the first few, and how many more there are.
pub(super) fn show_all(asked: &[Rc<Asked>]) -> String {
    const SHOWN: usize = 4;
    let line = |one: &Rc<Asked>| format!("{one} of line {}", one.site.line());
    let first: Vec<_> = asked.iter().take(SHOWN).map(line).collect();
    match asked.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Whether a wait is for all of several requests or for one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    All,
    One,
}
