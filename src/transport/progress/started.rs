//! The started collectives of a rank that are not over. Each call of the rank that waits, tests or makes progress
//! carries them on.
//!
//! A wait that finds a started call [due](StartedCall::is_due) ends its sleep, [advances](StartedCall::advance) the
//! call, and begins again. So a call advances only while its rank is awake and holds no lock, and the last look before
//! a sleep only asks whether one is due. A message that arrives after that look wakes the rank, as every message does.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;

use crate::Rank;
use crate::error::{Error, Result};
use crate::op::owned::Owned;
use crate::transport::CommShared;
use crate::transport::communicator::call::Call;
use crate::transport::deadlock::registry::Awaiting;
use crate::transport::port::Port;
use crate::unwind;

/// A collective that its rank has started and that is not over.
pub(crate) trait StartedCall {
    /// Whether it can advance, or has to be told that it cannot: a message that it awaits has arrived, its sender has
    /// ended, or the communicator is broken.
    fn is_due(&self, port: &Port) -> bool;

    /// Takes the messages that have arrived, as far as that goes without a wait.
    fn advance(&self, port: &Port);

    /// Ends it with an error, which breaks its communicator.
    fn fail(&self, port: &Port, error: &Error);

    /// Whether it has ended, well or with an error.
    fn is_over(&self) -> bool;

    /// The error with which it ended.
    fn outcome(&self) -> Result<()>;

    /// Begins a call with this number and fingerprint, as a new one or after it is over and [may](Self::may_restart).
    /// Its [operands](Self::operands) are there.
    fn begin(&self, port: &Port, number: u32, print: u32);

    /// Whether it is over, well, and may begin again.
    fn may_restart(&self) -> bool;

    /// Its vectors and its operator, while it does not advance. `None` before they are put there, and after. What it has
    /// lent of them is its own again: a receiver that has not begun to read gets a copy.
    fn operands(&self, port: &Port) -> RefMut<'_, Option<Box<Owned>>>;

    /// What it is.
    fn call(&self) -> &Call;

    /// Its communicator and its number there.
    fn id(&self) -> (&Arc<CommShared>, u32);

    /// The world ranks whose messages it awaits.
    fn awaits(&self) -> Vec<Rank>;
}

/// The started calls of a rank that are not over, in the order in which they were started.
#[derive(Default)]
pub(in crate::transport) struct StartedCalls {
    calls: RefCell<Vec<Rc<dyn StartedCall>>>,
    open: Cell<usize>,
}

impl StartedCalls {
    fn push(&self, call: Rc<dyn StartedCall>) {
        self.calls.borrow_mut().push(call);
        self.count();
    }

    fn count(&self) {
        self.open.set(self.calls.borrow().len());
    }

    fn get(&self, place: usize) -> Option<Rc<dyn StartedCall>> {
        self.calls.borrow().get(place).cloned()
    }

    /// Removes the call in this place if it is over. Returns the place of the one after it. The data is dropped while the
    /// list is free.
    fn after(&self, place: usize, call: &dyn StartedCall) -> usize {
        if !call.is_over() {
            return place + 1;
        }
        let over = self.calls.borrow_mut().remove(place);
        self.count();
        drop(over);
        place
    }
}

/// Drops the data of a call that is over and whose request is gone: its operator may have a destructor, and this may be in
/// the middle of another call.
#[inline]
fn release(call: Rc<dyn StartedCall>) {
    if Rc::strong_count(&call) == 1 {
        unwind::operator(|| drop(call));
    }
}

impl Port {
    /// Whether this rank has a started call that is not over.
    #[inline]
    pub(crate) fn has_started(&self) -> bool {
        self.started.open.get() > 0
    }

    /// Carries on a call that has begun, until it is over.
    pub(crate) fn carry_on(&self, call: &Rc<dyn StartedCall>) {
        if !call.is_over() {
            self.started.push(call.clone());
        }
    }

    /// Advances all started calls until none is due.
    pub(crate) fn advance_started(&self) {
        while self.has_started() && self.is_any_due() {
            let mut place = 0;
            // Operators run in here, but start no call.
            while let Some(call) = self.started.get(place) {
                call.advance(self);
                place = self.started.after(place, &*call);
                release(call);
            }
        }
    }

    /// Removes the calls that are over although nothing has advanced them.
    pub(crate) fn remove_over(&self) {
        let mut place = 0;
        while let Some(call) = self.started.get(place) {
            place = self.started.after(place, &*call);
            release(call);
        }
    }

    /// Looks for `is_met` as often as a wait does before it yields, and advances the started calls meanwhile. With none
    /// of them it looks once, and takes in nothing. Returns whether `is_met`.
    pub(crate) fn spin_advancing(&self, is_met: impl Fn() -> bool) -> bool {
        if !self.has_started() || self.is_controlled() {
            self.advance_started();
            return is_met();
        }
        let look = &mut || {
            // Once they are over, other requests are waited for.
            self.advance_or_take_in();
            is_met().then_some(())
        };
        is_met() || self.spin(&self.spins, look).is_some()
    }

    /// The same, but takes in what arrives also where no call is started, and `is_met` may take what it has room for
    /// before that.
    pub(crate) fn spin_taking_in(&self, is_met: &dyn Fn() -> bool) -> bool {
        if self.is_controlled() {
            return false;
        }
        let look = &mut || {
            if is_met() {
                return Some(());
            }
            self.advance_or_take_in();
            is_met().then_some(())
        };
        self.spin(&self.spins, look).is_some()
    }

    /// Advances the started calls, which takes in what has arrived; without any, only takes that in.
    #[inline]
    fn advance_or_take_in(&self) {
        match self.has_started() {
            true => self.advance_started(),
            false => self.take_in(),
        }
    }

    /// Takes in what has arrived. Returns whether a started call is due.
    pub(in crate::transport) fn is_any_due(&self) -> bool {
        self.inbox.borrow_mut().take_in(&*self.fabric);
        let calls = self.started.calls.borrow();
        calls.iter().any(|call| call.is_due(self))
    }

    /// What the started calls await.
    pub(in crate::transport) fn awaiting(&self) -> Vec<Awaiting> {
        let calls = self.started.calls.borrow();
        let awaiting = |call: &Rc<dyn StartedCall>| {
            let (comm, number) = call.id();
            Awaiting {
                comm: comm.clone(),
                number,
                ranks: call.awaits(),
            }
        };
        calls.iter().map(awaiting).collect()
    }

    /// Waits in turns with advancing the started calls. `wait` waits until a look finds something.
    #[cold]
    pub(in crate::transport) fn wait_advancing(
        &self,
        look: &mut dyn FnMut() -> bool,
        wait: &dyn Fn(&mut dyn FnMut() -> bool) -> Result<()>,
    ) -> Result<()> {
        loop {
            let mut due = false;
            wait(&mut || {
                look() || {
                    due = self.is_any_due();
                    due
                }
            })?;
            if !due {
                return Ok(());
            }
            self.advance_started();
        }
    }
}
