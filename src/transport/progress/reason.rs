//! Why a rank waits: what the reports of a wait say, and what ends it.

use std::sync::Arc;
use std::time::Instant;

use crate::error::Site;
use crate::transport::CommShared;
use crate::transport::deadlock::choice::Sought;
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;

/// The description of a wait. The closures are called only when the wait takes long.
pub(crate) struct Reason<'a> {
    pub call: &'a dyn Fn() -> String,
    pub site: Site,
    pub needs: &'a dyn Fn() -> Needs,
    /// The communicator, if its failure would end the wait.
    pub comm: Option<&'a Arc<CommShared>>,
    /// The communicators of other requests that it waits for.
    pub also: &'a [Arc<CommShared>],
    /// In collectives: the number of the call.
    pub collective: Option<u32>,
    /// The turn of the communicator's gate, or the epoch, whose end it waits for.
    pub turn: Option<Turn>,
    pub deadline: Option<Instant>,
    /// In controlled worlds: what it may receive, among which the chooser decides. `None`: the messages that it waits
    /// for, if any, are determined.
    pub choice: Option<&'a dyn Fn() -> Sought>,
    /// Whether it is a send that found no buffer space and waits to be received.
    pub needs_buffer: bool,
}

impl Reason<'_> {
    /// Whether it is a wait for ranks of this process in a part of a call over processes. In another part of such a call
    /// a rank of this process takes in messages, or sends some, and takes in messages now and then.
    pub(super) fn is_in_near_part(&self) -> bool {
        self.comm
            .is_some_and(|comm| comm.is_part() && !comm.spans())
    }
}
