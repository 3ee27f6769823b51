//! The started collectives of a rank that are not over. Each call of the rank that waits, tests or makes progress carries
//! them on.
//!
//! A wait that finds a started call [due](StartedCall::is_due) ends its sleep, [advances](StartedCall::advance) the
//! call, and begins again. So a call advances only while its rank is awake and holds no lock, and the last look before
//! a sleep only asks whether one is due. A message that arrives after that look wakes the rank, as every message does.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::Rank;
use crate::error::{Error, Result};
use crate::transport::CommShared;
use crate::transport::deadlock::registry::Awaiting;
use crate::transport::port::Port;

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

    /// Removes the calls that are over. Their data is dropped after the list is free again.
    fn remove_over(&self) {
        let mut over = Vec::new();
        let mut calls = self.calls.borrow_mut();
        let mut place = 0;
        while let Some(call) = calls.get(place) {
            match call.is_over() {
                true => over.push(calls.remove(place)),
                false => place += 1,
            }
        }
        drop(calls);
        self.count();
    }
}

impl Port {
    /// Whether this rank has a started call that is not over.
    #[inline]
    pub(crate) fn has_started(&self) -> bool {
        self.started.open.get() > 0
    }

    /// Begins a call that has been started.
    pub(crate) fn start(&self, call: Rc<dyn StartedCall>) {
        call.advance(self);
        if !call.is_over() {
            self.started.push(call);
        }
    }

    /// Advances all started calls until none is due.
    pub(crate) fn advance_started(&self) {
        while self.has_started() && self.is_any_due() {
            let mut place = 0;
            // Operators run in here, but start no call.
            while let Some(call) = self.started.get(place) {
                call.advance(self);
                place += 1;
            }
            self.started.remove_over();
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
