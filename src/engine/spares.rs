//! The memory of requests that are over, for later ones.
//!
//! - *Started calls*, for the same calls to be started again: each request whose result was given, and with it the
//!   call's state. A plain call and a persistent one then allocate nothing from their second start on.
//! - *Messages*: each request, whatever message it was for, and with it the slot of its receive. A window of messages
//!   then allocates no requests from its second time on. They end in about the order in which they were made, so the one
//!   that ended longest ago is looked at, no other.
//!
//! What a kept request still holds of its call is its communicator: it is dropped with the communicator, or, if it was
//! completed after that, when later ones take its place or the rank ends.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::request_state::{Direction, RequestState};
use super::resolved::Steps;

/// Maximum number of requests that are kept.
const SPARES: usize = 16;

/// Maximum number of requests of messages that are kept.
const MESSAGES: usize = 128;

/// Requests that are over.
#[derive(Default)]
pub(crate) struct Spares {
    calls: RefCell<Vec<Rc<RequestState>>>,
    messages: RefCell<VecDeque<Rc<RequestState>>>,
}

impl Spares {
    /// Keeps the request of a message that is over.
    pub(crate) fn put_message(&self, state: &Rc<RequestState>) {
        let mut messages = self.messages.borrow_mut();
        if messages.len() < MESSAGES && is_of_message(state) {
            messages.push_back(state.clone());
        }
    }

    /// Takes out the request of a message that ended longest ago. `None` if something still refers to it; then it is not
    /// kept any longer, so that it keeps no other from being used.
    pub(crate) fn take_message(&self) -> Option<Rc<RequestState>> {
        let oldest = self.messages.borrow_mut().pop_front();
        oldest.filter(|it| Rc::strong_count(it) == 1)
    }

    /// Keeps a request whose result was given, if it is one of a call that may be started again.
    pub(crate) fn put(&self, state: &Rc<RequestState>) {
        let may_restart = match &state.direction {
            Direction::Collective(call, Some(_)) => call.may_restart(),
            _ => false,
        };
        if !may_restart {
            return;
        }
        let mut all = self.calls.borrow_mut();
        let evicted = (all.len() == SPARES).then(|| all.remove(0));
        all.push(state.clone());
        drop(all);
        drop(evicted);
    }

    /// Takes out a request that nothing else refers to, and whose call has these steps.
    pub(crate) fn take(&self, steps: &Steps) -> Option<Rc<RequestState>> {
        let mut all = self.calls.borrow_mut();
        let is_free = |state: &Rc<RequestState>| match &state.direction {
            Direction::Collective(call, Some(its)) if its.is(steps) => {
                Rc::strong_count(state) == 1 && Rc::strong_count(call) == 1
            }
            _ => false,
        };
        let place = all.iter().rposition(is_free)?;
        Some(all.swap_remove(place))
    }

    /// Drops the requests of a communicator.
    pub(crate) fn forget(&self, context: u32) {
        let is_other = |state: &Rc<RequestState>| state.comm.context != context;
        self.calls.borrow_mut().retain(is_other);
        self.messages.borrow_mut().retain(is_other);
    }

    /// Drops all requests.
    pub(crate) fn clear(&self) {
        self.calls.take();
        self.messages.take();
    }
}

/// Whether it is of a message that holds no receipt.
fn is_of_message(state: &RequestState) -> bool {
    match &state.direction {
        Direction::Send { receipt, .. } => receipt.is_none(),
        Direction::Receive { .. } => true,
        Direction::Collective(..) => false,
    }
}
