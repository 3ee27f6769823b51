//! The atomics, the cell and the parker on which all synchronisation is built: the real ones, or loom's when its models
//! run.
//!
//! The models are unit tests of this crate, so loom stays a dev-dependency and only `cfg(test)` sees it.

#[cfg(not(all(test, loom)))]
pub(crate) use crossbeam_utils::sync::{Parker, Unparker};
#[cfg(not(all(test, loom)))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(all(test, loom)))]
pub(crate) use real::Place;
#[cfg(not(all(test, loom)))]
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(all(test, loom))]
pub(crate) use loom::cell::UnsafeCell as Place;
#[cfg(all(test, loom))]
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(all(test, loom))]
pub(crate) use model::{Mutex, Parker, Unparker};

/// The real cell, with the interface of loom's.
#[cfg(not(all(test, loom)))]
mod real {
    use std::cell::UnsafeCell;

    /// Memory that several threads may access, each access through a pointer that is valid while a closure runs.
    #[repr(transparent)]
    pub(crate) struct Place<T>(UnsafeCell<T>);

    impl<T> Place<T> {
        pub(crate) fn new(value: T) -> Self {
            Place(UnsafeCell::new(value))
        }

        #[inline]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// Parker and mutex with the interface of the real ones, built on loom's.
#[cfg(all(test, loom))]
mod model {
    use loom::sync::{Arc, Condvar, MutexGuard};

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);
    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
        #[cfg(feature = "mpi")]
        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
        /// Time does not pass in a model.
        #[cfg(feature = "mpi")]
        pub(crate) fn try_lock_for(&self, _: std::time::Duration) -> Option<MutexGuard<'_, T>> {
            self.try_lock()
        }
    }

    #[derive(Debug)]
    struct Token(loom::sync::Mutex<bool>, Condvar);
    pub(crate) struct Parker(Unparker);
    #[derive(Clone, Debug)]
    pub(crate) struct Unparker(Arc<Token>);

    impl Parker {
        pub(crate) fn new() -> Self {
            Parker(Unparker(Arc::new(Token(
                loom::sync::Mutex::new(false),
                Condvar::new(),
            ))))
        }
        pub(crate) fn unparker(&self) -> &Unparker {
            &self.0
        }
        pub(crate) fn park(&self) {
            let Token(token, bell) = &*self.0.0;
            let mut token = token.lock().unwrap();
            while !*token {
                token = bell.wait(token).unwrap();
            }
            *token = false;
        }
        /// Time does not pass in a model: a deadline never expires.
        pub(crate) fn park_deadline(&self, _: std::time::Instant) {
            self.park();
        }
    }

    impl Unparker {
        pub(crate) fn unpark(&self) {
            let Token(token, bell) = &*self.0;
            *token.lock().unwrap() = true;
            bell.notify_one();
        }
    }
}
