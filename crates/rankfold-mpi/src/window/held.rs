//! Locks and epochs of the engine's window that last from one call of MPI to another.
//!
//! # Why this is sound
//!
//! The engine's guards borrow the window. Here a guard is kept beside a counted reference of its window, which is dropped
//! after it: the window outlives the guard. Only this file and `epoch` have guards, and neither takes one out of its
//! [`Held`] for longer than the call that ends it.
#![allow(unsafe_code)]

use std::rc::Rc;

use rankfold::window::{AccessEpoch, AllParts, ExclusivePart, ExposureEpoch, SharedPart};
use rankfold::{Result, Window};

/// The window by which ranks are locked and exposed; its parts have no elements, since the program's memory has them.
pub(super) type Gate = Window<u8>;

/// A guard, and the window that it borrows.
pub(super) struct Held<G> {
    // It is dropped first.
    guard: G,
    gate: Rc<Gate>,
}

impl<G> Held<G> {
    fn new(gate: &Rc<Gate>, take: impl FnOnce(&'static Gate) -> Result<G>) -> Result<Held<G>> {
        let gate = gate.clone();
        // SAFETY: the window lives as long as `gate`, which the result keeps until the guard is dropped.
        let guard = take(unsafe { &*Rc::as_ptr(&gate) })?;
        Ok(Held { guard, gate })
    }

    /// Lends the guard.
    pub(super) fn with<R>(&mut self, f: impl FnOnce(&mut G) -> R) -> R {
        f(&mut self.guard)
    }

    /// Ends it by a call that takes the guard.
    pub(super) fn end(self, f: impl FnOnce(G) -> Result<()>) -> Result<()> {
        let Held { guard, gate } = self;
        let ended = f(guard);
        drop(gate);
        ended
    }
}

/// A rank that is locked.
pub(super) enum Lock {
    Shared {
        _held: Held<SharedPart<'static, u8>>,
    },
    Exclusive {
        _held: Held<ExclusivePart<'static, u8>>,
    },
}

impl Lock {
    pub(super) fn shared(gate: &Rc<Gate>, rank: usize) -> Result<Lock> {
        let held = Held::new(gate, |gate| gate.lock_shared(rank))?;
        Ok(Lock::Shared { _held: held })
    }

    pub(super) fn exclusive(gate: &Rc<Gate>, rank: usize) -> Result<Lock> {
        let held = Held::new(gate, |gate| gate.lock_exclusive(rank))?;
        Ok(Lock::Exclusive { _held: held })
    }
}

pub(super) type All = Held<AllParts<'static, u8>>;
pub(super) type Access = Held<AccessEpoch<'static, u8>>;
pub(super) type Exposure = Held<ExposureEpoch<'static, u8>>;

pub(super) fn lock_all(gate: &Rc<Gate>) -> Result<All> {
    Held::new(gate, |gate| gate.lock_all())
}

pub(super) fn start(gate: &Rc<Gate>, targets: &[usize]) -> Result<Access> {
    Held::new(gate, |gate| gate.start(targets))
}

pub(super) fn post(gate: &Rc<Gate>, origins: &[usize]) -> Result<Exposure> {
    Held::new(gate, |gate| gate.post(origins))
}
