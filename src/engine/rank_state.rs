//! The state of one rank, which all its communicators share: its end, its injected faults, the thread it is on.

use std::cell::{Cell, RefCell};
use std::mem;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use super::kept::KeptCalls;
use super::request_state::RequestState;
use super::spares::Spares;
use super::workspace::Workspace;
use crate::error::{Cause, Error, ErrorKind, Gone, Result, Site};
use crate::transport::communicator::call::Call;
use crate::transport::memory::pointer_list::Lists;
use crate::transport::port::Port;
use crate::transport::progress::live::Live;
use crate::transport::trace::words::{DescribeCall, OnComm};
use crate::transport::{CommShared, Fabric, Fault};
use crate::unwind::{self, Depth};

/// The state of one rank, shared by all its communicators.
pub(crate) struct Core {
    pub(crate) port: Port,
    pub(crate) workspace: Workspace,
    /// Reusable room for the lists of vectors that a call accesses, where there are many ranks.
    pub(crate) lists: Lists,
    /// Cached collective calls of elements, for when they are made again.
    pub(crate) kept: KeptCalls,
    /// The same for started collectives.
    pub(crate) kept_started: KeptCalls,
    /// Memory of started collectives that are over.
    pub(crate) spares: Spares,
    /// The number of calls entered in the log.
    pub(crate) entered: Cell<u64>,
    /// Number of the next operation with an injected fault; 0 once the rank has ended.
    pub(crate) limit: Cell<u64>,
    /// That fault.
    pub(crate) fault: Cell<Fault>,
    /// The depth of nested operators on its thread when the rank entered, lowered when a later operation begins at a
    /// lower depth: calls from a greater depth are refused.
    pub(crate) depth: Cell<Depth>,
    /// The error of the last operation, if it failed because of other ranks.
    pub(crate) follows: RefCell<Option<Cause>>,
    /// Whether buffering is limited (`bounded`), and whether there is none at all (`synchronous`).
    pub(crate) bounded: bool,
    pub(crate) synchronous: bool,
    /// The mark of the messages that it sends (`comm/marked`).
    pub(crate) mark: Cell<u32>,
    /// Requests that have not completed.
    pub(crate) requests: RefCell<Vec<Rc<RequestState>>>,
    /// Whether the panics of this world are printed. Held here while the rank is not on its thread.
    pub(crate) printed: Cell<Option<Arc<AtomicBool>>>,
}

/// Duration of an injected delay: long enough for everything that the other ranks can do meanwhile.
const DELAY: Duration = Duration::from_millis(5);

impl Core {
    #[inline]
    pub(crate) fn begin(&self) -> Result<()> {
        if unwind::is_marked(self.depth.get()) {
            self.begin_marked()?;
        }
        self.tick()
    }

    /// The number of the next operation of this rank, if it can begin without more ado: outside of operators and of
    /// unwinding, not after an operation that failed because of other ranks, and without a fault.
    #[inline]
    pub(crate) fn next_unhindered(&self) -> Option<u64> {
        let count = self.port.begun() + 1;
        let free = !thread::panicking() && !unwind::is_marked(self.depth.get());
        (free && count < self.limit.get()).then_some(count)
    }

    /// Whether this is inside an operator that was called while its thread was this rank already.
    pub(crate) fn in_operator(&self) -> bool {
        unwind::depth() > self.depth.get()
    }

    /// Begins an operation inside an operator, or after one that failed because of other ranks.
    #[cold]
    fn begin_marked(&self) -> Result<()> {
        let depth = unwind::depth();
        if self.in_operator() {
            return Err(Error::usage(
                "a function that runs inside a call, as an operator does, may not call a communicator of this rank",
            ));
        }
        // The operator in which the rank entered has ended: from now on, calls from inside any operator that begins at
        // this depth are refused.
        self.depth.set(depth);
        unwind::set_follows(None);
        Ok(())
    }

    /// Counts an operation, or a message of a collective, and raises injected failures.
    #[inline]
    pub(crate) fn tick(&self) -> Result<()> {
        let count = self.port.begun() + 1;
        if count >= self.limit.get() {
            return self.beyond(count);
        }
        self.port.begin(count);
        Ok(())
    }

    /// Counts several operations at once, if none of them is the limit; returns whether it has.
    #[inline]
    pub(crate) fn tick_all(&self, operations: u64) -> bool {
        let count = self.port.begun() + operations;
        let is_below = count < self.limit.get();
        if is_below {
            self.port.begin(count);
        }
        is_below
    }

    /// Handles the operation that is the limit, and every operation after the end of the rank.
    #[cold]
    fn beyond(&self, count: u64) -> Result<()> {
        let Port { fabric, me, .. } = &self.port;
        if self.has_ended() {
            return Err(fabric.gone(*me));
        }
        self.port.begin(count);
        let (limit, next) = fabric.next_fault(*me, count);
        self.limit.set(limit);
        self.strike(self.fault.replace(next))
    }

    /// Runs one operation on a communicator: refuses it inside operators, counts it, records it, and adds the call site
    /// to its errors. The recorder asks for the arguments when it writes the record, which may be after the message has
    /// left.
    #[inline]
    pub(crate) fn recorded<R>(
        &self,
        comm: &CommShared,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let recorder = &self.port.recorder;
        let context = comm.context;
        let call = &OnComm { call, context };
        let token = recorder.begin(call, show);
        let result = self.guarded(comm, call, show, body);
        recorder.end(token, call, show, result.is_ok());
        result
    }

    #[inline]
    pub(crate) fn guarded<R>(
        &self,
        comm: &CommShared,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if thread::panicking() {
            // A destructor makes this call while the rank unwinds: no rank may wait for this one from here on.
            self.end_by_panic();
        }
        let unwinding = WhenUnwinding(|| self.unwinds_in(call, show));
        let result = self.begin().and_then(|()| body());
        mem::forget(unwinding);
        result.map_err(|error| self.failed(error, show, call.describe().site, comm))
    }

    /// Runs something outside of all operations that may run an operator: the rank ends if that unwinds.
    pub(crate) fn ending_if_it_unwinds<R>(&self, body: impl FnOnce() -> R) -> R {
        let unwinding = WhenUnwinding(|| self.end_by_panic());
        let result = body();
        mem::forget(unwinding);
        result
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.limit.get() == 0
    }

    /// Enters a call in the log of this rank.
    pub(crate) fn enter(&self, call: &Call) -> u64 {
        let entry = self.port.log().enter(call);
        self.entered.set(entry + 1);
        entry
    }

    fn strike(&self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Panic => panic!(
                "injected panic in rank {} at operation {}",
                self.port.me,
                self.port.begun()
            ),
            Fault::Error => Err(Error::new(ErrorKind::Injected)),
            Fault::Return => {
                self.port.fabric.leaves_early(self.port.me);
                // Recorded first: destructors that run during unwinding may still wait.
                self.end(Gone::Returned, None, false);
                std::panic::resume_unwind(Box::new(unwind::EarlyReturn))
            }
            Fault::Delay => {
                thread::sleep(DELAY);
                Ok(())
            }
        }
    }

    pub(crate) fn end(&self, why: Gone, site: Option<Arc<str>>, consequence: bool) {
        if !self.has_ended() {
            self.limit.set(0);
            let follows = self.follows.take().filter(|_| consequence);
            self.port.record_end(why, site, follows);
        }
    }

    /// Makes the thread this rank from now on.
    pub(crate) fn sit_down(this: &Rc<Core>, live: Option<Live>) {
        let seat = Seated {
            core: Rc::downgrade(this),
            fabric: Arc::as_ptr(&this.port.fabric),
            _live: live,
        };
        entered(|seats| seats.push(seat));
        if let Some(printed) = this.printed.take() {
            unwind::enter(printed);
        }
    }

    /// Ends that, if the thread was this rank.
    pub(crate) fn stand_up(&self) {
        let printed = self.printed.take().or_else(|| {
            let this: *const Core = self;
            entered(|seats| seats.retain(|seat| seat.core.as_ptr() != this));
            unwind::leave(Arc::as_ptr(&self.port.fabric.printed))
        });
        self.printed.set(printed);
    }

    #[cold]
    pub(crate) fn end_by_panic(&self) {
        if !self.has_ended() {
            let panic = unwind::last();
            let follows = unwind::repeats(&panic.message);
            self.end(Gone::Panicked(panic.message), panic.site, follows);
        }
    }

    /// The rank unwinds out of an operation. Its end is recorded now, since destructors that run during unwinding may
    /// wait for ranks that wait for this one. A call whose record was deferred is recorded as the call that the rank
    /// ended in.
    #[cold]
    pub(crate) fn unwinds_in(&self, call: &impl DescribeCall, show: &dyn Fn() -> String) {
        self.port.recorder.settle(call, show);
        self.port.recorder.catch_up();
        self.end_by_panic();
    }

    /// Adds call, line and communicator to the error of an operation, and keeps it in case the rank fails because of
    /// it.
    #[cold]
    pub(crate) fn failed(
        &self,
        error: Error,
        show: &dyn Fn() -> String,
        site: Site,
        comm: &CommShared,
    ) -> Error {
        let error = error.in_call(show, site, || comm.name());
        let follows = error.has_cause();
        unwind::set_follows(follows.then(|| error.to_string()));
        if follows {
            *self.follows.borrow_mut() = Some(Cause::of(&error, self.port.me));
        }
        error
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if thread::panicking() {
            self.end_by_panic();
        }
        self.end(Gone::Returned, None, false);
        self.count_forgotten();
        self.stand_up();
    }
}

/// Runs a closure when its frame unwinds; every other exit must `mem::forget` it.
pub(crate) struct WhenUnwinding<F: Fn()>(pub(super) F);

impl<F: Fn()> Drop for WhenUnwinding<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The ranks of a thread. They end when the thread ends, even if their `Comm`s were forgotten or are still there for a
/// later destructor to call.
#[derive(Default)]
struct Entered(Vec<Seated>);

/// One rank of a thread.
struct Seated {
    core: Weak<Core>,
    fabric: *const Fabric,
    _live: Option<Live>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let left = self.0.drain(..).filter_map(|seat| seat.core.upgrade());
        left.for_each(|core| {
            core.end(Gone::Returned, None, false);
            core.port.leave();
        });
    }
}

/// Whether this thread is a rank of the world of `fabric`.
pub(crate) fn is_inside(fabric: &Arc<Fabric>) -> bool {
    let mut inside = false;
    entered(|seats| {
        inside = seats.iter().any(|seat| seat.fabric == Arc::as_ptr(fabric));
    });
    inside
}

fn entered(f: impl FnOnce(&mut Vec<Seated>)) {
    thread_local! {
        static ENTERED: RefCell<Entered> = RefCell::default();
    }
    // The list is gone when a later destructor of the same thread drops a `Comm`. Its end is recorded by then, and the
    // core knows it.
    let _ = ENTERED.try_with(|seats| f(&mut seats.borrow_mut().0));
}
