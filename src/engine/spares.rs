//! The memory of started calls that are over, for the same calls to be started again: each request whose result was
//! given, and with it the call's state. A plain call and a persistent one then allocate nothing from their second start
//! on.
//!
//! What a kept request still holds of its call is its communicator: it is dropped with the communicator, or, if it was
//! completed after that, when later ones take its place or the rank ends.

use std::cell::RefCell;
use std::rc::Rc;

use super::request_state::{Direction, RequestState};
use crate::transport::progress::started::StartedCall;

/// Maximum number of requests that are kept.
const SPARES: usize = 16;

/// Requests of started calls that are over.
#[derive(Default)]
pub(crate) struct Spares(RefCell<Vec<Rc<RequestState>>>);

impl Spares {
    /// Keeps a request whose result was given, if it is one of a call that may be started again.
    pub(crate) fn put(&self, state: &Rc<RequestState>) {
        if !called(state).is_some_and(|call| call.may_restart()) {
            return;
        }
        let mut all = self.0.borrow_mut();
        let evicted = (all.len() == SPARES).then(|| all.remove(0));
        all.push(state.clone());
        drop(all);
        drop(evicted);
    }

    /// Takes out a request that nothing else refers to, and whose call `is` the right one.
    pub(crate) fn take(&self, is: impl Fn(&dyn StartedCall) -> bool) -> Option<Rc<RequestState>> {
        let mut all = self.0.borrow_mut();
        let is_free = |state: &Rc<RequestState>| {
            let call = called(state).filter(|call| Rc::strong_count(call) == 1);
            Rc::strong_count(state) == 1 && call.is_some_and(|call| is(&**call))
        };
        let place = all.iter().rposition(is_free)?;
        Some(all.swap_remove(place))
    }

    /// Drops the requests of a communicator.
    pub(crate) fn forget(&self, context: u32) {
        self.0
            .borrow_mut()
            .retain(|state| state.comm.context != context);
    }

    /// Drops all requests.
    pub(crate) fn clear(&self) {
        self.0.take();
    }
}

fn called(state: &RequestState) -> Option<&Rc<dyn StartedCall>> {
    match &state.direction {
        Direction::Collective(call) => Some(call),
        _ => None,
    }
}
