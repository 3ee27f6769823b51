//! [`Comm`]: the communicator, through which a rank sends, receives and calls collectives.
//!
//! - `point_to_point`: send, recv and their variants; `receive`: what all receives share; `envelope`: source, tag and
//!   status of a message; `bounded`: sends under a limited or synchronous buffering mode
//! - `request`: operations in progress; `start`: isend, irecv and their variants; `wait_several`: wait_all, wait_any,
//!   wait_some; `scope`: requests with borrowed buffers; `matched`: matched probes
//! - `movements`: barrier, broadcast, gather, scatter, all_gather, all_to_all; `reductions`: reduce, all_reduce,
//!   reduce_scatter, scan, exclusive_scan; `run_call`: how all of these run; `kept`: cached results for repeated calls
//! - `reduce_over`: reductions over any topology; `reduce_loop`: the unified loop of the papers
//! - `all_to_all_v`: pieces of any lengths; `values`: collectives of owned values, by move; `template`: Foster's
//!   hypercube template
//! - `run_schedule`: any schedule; `link`: how its messages travel; `at_cells`: short vectors without messages
//! - `split`: new communicators from old ones; `cartesian`: ranks on a grid; `levels`: which ranks are near each other
//! - `call`: what all collective calls have in common: number, fingerprint, failure

mod all_to_all_v;
mod at_cells;
mod bounded;
mod by_hand;
mod call;
mod cartesian;
mod direct;
mod envelope;
mod kept;
mod levels;
mod link;
mod matched;
mod movements;
mod point_to_point;
mod receive;
mod reduce_loop;
mod reduce_over;
mod reductions;
mod request;
mod run_call;
mod run_schedule;
mod scope;
mod split;
mod start;
mod template;
mod values;
mod wait_several;

use std::cell::{Cell, OnceCell, RefCell};
use std::mem;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

pub use cartesian::{Cartesian, even_grid};
pub use envelope::{Source, Status, Tag};
pub use matched::Message;
pub use reduce_over::{Order, ReduceOver, ReduceValueOver, Survivors};
pub use request::Request;
pub use scope::{Scope, ScopedRequest};
pub use split::Level;
pub use template::Side;

use crate::Rank;
use crate::error::{Cause, Error, ErrorKind, Gone, Result, Site};
use crate::execute::Workspace;
use crate::topology::Levels;
use crate::transport::communicator::call::Call;
use crate::transport::lanes::Ends;
use crate::transport::memory::eager_limit::Buffering;
use crate::transport::memory::shared_vectors::Lists;
use crate::transport::port::Port;
use crate::transport::progress::wait::Live;
use crate::transport::reuse::fabric_reuse::{EndState, Reuse};
use crate::transport::trace::call_event::CallEvent;
use crate::transport::trace::words::{DescribeCall, OnComm};
use crate::transport::{CommShared, Fabric, Fault};
use crate::unwind::{self, Depth};
use at_cells::LazyCellPort;
use kept::KeptCalls;
use request::Asked;

/// A communicator: the ranks of a world, as seen by one of them.
///
/// It stays on the thread of its rank (it is neither `Send` nor `Sync`), and all its methods take `&self`. Every
/// operation returns a [`Result`]: no rank can make another wait for ever.
///
/// # Errors
///
/// Any operation can fail with [`Usage`](ErrorKind::Usage) if it is called from inside an operator or a schedule, with
/// [`Deadlock`](ErrorKind::Deadlock) if what it waits for can never come, with [`TimedOut`](ErrorKind::TimedOut) if the
/// [world's timeout](crate::World::timeout) expires, and with [`RankGone`](ErrorKind::RankGone) if a rank that it needs
/// has ended. A collective can also fail with [`Mismatch`](ErrorKind::Mismatch), and with [`Broken`](ErrorKind::Broken)
/// because another rank's call of it failed. Each method documents its further errors.
///
/// ```compile_fail,E0277
/// rankfold::World::new(2).run(|comm| {
///     std::thread::scope(|s| s.spawn(|| comm.rank())); // another thread is not this rank
///     Ok(())
/// });
/// ```
pub struct Comm {
    /// Declared first, so that the lanes are given back before the rank has ended.
    lanes: Ends,
    core: Rc<Core>,
    shared: Arc<CommShared>,
    /// This rank's number in this communicator.
    me: Rank,
    cell_port: LazyCellPort,
    /// The number of collectives that this rank has begun on this communicator.
    calls: Cell<u32>,
    /// The combined fingerprint of all of them.
    prints: Cell<u32>,
    /// How often this rank has called `shrink` on this communicator.
    shrinks: Cell<u32>,
    /// The levels of the machine that separate these ranks, computed on first use; `None` if no rank is nearer than
    /// another.
    levels: OnceCell<Option<Arc<Levels>>>,
}

/// The state of one rank, shared by all its communicators.
struct Core {
    port: Port,
    workspace: Workspace,
    /// Reusable room for the lists of vectors that a call accesses, where there are many ranks.
    lists: Lists,
    /// Cached collective calls of elements, for when they are made again.
    kept: KeptCalls,
    /// The number of calls entered in the log.
    entered: Cell<u64>,
    /// Number of the next operation with an injected fault; 0 once the rank has ended.
    limit: Cell<u64>,
    /// That fault.
    fault: Cell<Fault>,
    /// The depth of nested operators on its thread when the rank entered, lowered when a later operation begins at a
    /// lower depth: calls from a greater depth are refused.
    depth: Cell<Depth>,
    /// What the last operation failed with, if it failed because of other ranks.
    follows: RefCell<Option<Cause>>,
    /// Whether buffering is limited (`bounded`), and whether there is none at all (`synchronous`).
    bounded: bool,
    synchronous: bool,
    /// Requests that have not completed.
    asked: RefCell<Vec<Rc<Asked>>>,
    /// Whether the panics of this world are printed. Held here while the rank is not on its thread.
    printed: Cell<Option<Arc<AtomicBool>>>,
}

impl Comm {
    /// Returns the number of this rank: `0..size`.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.me
    }

    /// Returns the number of ranks.
    #[inline]
    pub fn size(&self) -> usize {
        self.shared.members.size()
    }

    /// Returns the world rank of a rank of this communicator, as reports and errors print it.
    ///
    /// # Panics
    ///
    /// Panics if there is no such rank.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(4).run(|comm| {
    ///     let odd = comm.split(comm.rank() as u32 % 2, 0)?;
    ///     assert_eq!(odd.world_rank(1), comm.rank() % 2 + 2);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[inline]
    pub fn world_rank(&self, rank: Rank) -> Rank {
        self.shared.members.world(rank)
    }

    /// Makes this thread rank `me` of a world of which it is not yet a rank. `live` counts it among the ranks that need
    /// a CPU; it is `None` where the caller counts it elsewhere.
    pub(crate) fn enter(fabric: &Arc<Fabric>, me: Rank, live: Option<Live>) -> Comm {
        let (limit, fault) = fabric.next_fault(me, 0);
        let core = Rc::new(Core {
            port: fabric.port(me),
            workspace: Workspace::default(),
            lists: Lists::default(),
            kept: KeptCalls::default(),
            entered: Cell::new(0),
            limit: Cell::new(limit),
            fault: Cell::new(fault),
            depth: Cell::new(unwind::depth()),
            follows: RefCell::new(None),
            bounded: fabric.settings.buffering != Buffering::Unbounded,
            synchronous: fabric.settings.buffering == Buffering::Zero,
            asked: RefCell::default(),
            printed: Cell::new(Some(fabric.printed.clone())),
        });
        Core::sit_down(&core, live);
        Comm::of(core, fabric.all.clone(), me)
    }

    /// Makes this thread, which already counts as live, the same rank again for another run; see [`rest`](Self::rest).
    pub(crate) fn enter_again(&self, again: Reuse) {
        let core = &self.core;
        let (limit, fault) = self.fabric().next_fault(core.port.me, 0);
        core.limit.set(limit);
        core.fault.set(fault);
        core.depth.set(unwind::depth());
        core.port.begin_again(again);
        Core::sit_down(core, None);
    }

    /// Leaves this thread after the end of the rank. If this `Comm` is all that is alive of the rank, and nothing is
    /// pending, the rank may [enter](Self::enter_again) the next run of the same fabric on any thread; the result then
    /// says where it stands.
    pub(crate) fn rest(&self) -> Option<EndState> {
        let core = &self.core;
        core.stand_up();
        core.workspace.clear();
        core.follows.take();
        let alone = self.is_alone();
        if !alone {
            core.port.leave();
        }
        let idle = core.asked.borrow().is_empty() && core.port.is_idle();
        (alone && idle).then(|| EndState {
            calls: (self.calls.get(), self.prints.get()),
            cells: self.cell_port.last(),
            lanes: self.lanes.traffic(),
        })
    }

    /// Whether this `Comm` is all that is alive of this rank.
    fn is_alone(&self) -> bool {
        Rc::strong_count(&self.core) == 1 && Rc::weak_count(&self.core) == 0
    }

    /// Records that the rank has ended. If part of it was forgotten, its unreceived messages are counted all the same.
    pub(crate) fn leave(&self) {
        let core = &self.core;
        if Rc::strong_count(core) > 1 {
            core.port.leave();
        }
    }

    /// Whether this rank has begun no operation in this run.
    pub(crate) fn is_quiet(&self) -> bool {
        self.core.port.is_quiet()
    }

    /// This rank's end of a communicator in which it has the number `me`.
    fn of(core: Rc<Core>, shared: Arc<CommShared>, me: Rank) -> Comm {
        let make = core.port.fabric.settings.lanes;
        if core.port.fabric.settings.near.has_bounds() {
            // Most algorithms have a partner for each bit of a rank's number, and trees and rings a few more.
            let partners = shared.members.size().ilog2() as usize + 4;
            shared.lanes.offer(me, partners, make);
        }
        Comm {
            lanes: shared.lanes.ends(me, make),
            core,
            shared,
            me,
            cell_port: LazyCellPort::default(),
            calls: Cell::new(0),
            prints: Cell::new(0),
            shrinks: Cell::new(0),
            levels: OnceCell::new(),
        }
    }

    /// The seed of this world, or 0.
    pub(crate) fn seed(&self) -> u64 {
        self.fabric().settings.seed.unwrap_or(0)
    }

    #[inline]
    fn fabric(&self) -> &Arc<Fabric> {
        &self.core.port.fabric
    }

    /// Records how this rank ended, and nothing more; the first record counts.
    pub(crate) fn end(&self, why: Gone, site: Option<Arc<str>>, consequence: bool) {
        let core = &self.core;
        let alone = !consequence || core.follows.borrow().is_none();
        if why == Gone::Returned && alone && !core.has_ended() {
            core.limit.set(0);
            core.port.record_return();
        } else {
            core.end(why, site, consequence);
        }
    }

    /// Runs one operation: refuses it inside operators, counts it, and adds the call site to its errors.
    #[inline]
    fn op<R>(
        &self,
        site: Site,
        show: &dyn Fn() -> String,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.recorded(&|| CallEvent::at(site), show, body)
    }

    /// Like [`op`](Self::op), for an operation whose arguments the recorder stores. The recorder asks for them when it
    /// writes the record, which may be after the message has left.
    #[inline]
    fn recorded<R>(
        &self,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let recorder = &self.core.port.recorder;
        let context = self.shared.context;
        let call = &OnComm { call, context };
        let token = recorder.begin(call, show);
        let result = self.guarded(call, show, body);
        recorder.end(token, call, show, result.is_ok());
        result
    }

    #[inline]
    fn guarded<R>(
        &self,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if thread::panicking() {
            // A destructor makes this call while the rank unwinds: no rank may wait for this one from here on.
            self.core.end_by_panic();
        }
        let core = &*self.core;
        let unwinding = WhenUnwinding(|| core.unwinds_in(call, show));
        let result = core.begin().and_then(|()| body());
        mem::forget(unwinding);
        result.map_err(|error| core.failed(error, show, call.describe().site, &self.shared))
    }

    #[inline]
    fn check_rank(&self, what: &str, rank: Rank) -> Result<()> {
        match rank < self.size() {
            true => Ok(()),
            false => Err(no_such_rank(what, rank, self.size())),
        }
    }
}

#[cold]
fn no_such_rank(what: &str, rank: Rank, size: usize) -> Error {
    Error::usage(format!("{what} {rank} is not one of the {size} ranks"))
}

/// How long an injected delay takes: long enough for everything that the other ranks can do meanwhile.
const DELAY: Duration = Duration::from_millis(5);

impl Core {
    #[inline]
    fn begin(&self) -> Result<()> {
        if unwind::is_marked(self.depth.get()) {
            self.begin_marked()?;
        }
        self.tick()
    }

    /// Begins an operation inside an operator, or after one that failed because of other ranks.
    #[cold]
    fn begin_marked(&self) -> Result<()> {
        let depth = unwind::depth();
        if depth > self.depth.get() {
            return Err(Error::usage(
                "an operator may not call a communicator of a rank that its thread was before the operator began",
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
    fn tick(&self) -> Result<()> {
        let count = self.port.begun() + 1;
        if count >= self.limit.get() {
            return self.beyond(count);
        }
        self.port.begin(count);
        Ok(())
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

    fn has_ended(&self) -> bool {
        self.limit.get() == 0
    }

    /// Enters a call in the log of this rank.
    fn enter(&self, call: &Call) -> u64 {
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

    fn end(&self, why: Gone, site: Option<Arc<str>>, consequence: bool) {
        if !self.has_ended() {
            self.limit.set(0);
            let follows = self.follows.take().filter(|_| consequence);
            self.port
                .fabric
                .record_end(self.port.me, why, site, follows);
        }
    }

    /// Makes the thread this rank from now on.
    fn sit_down(this: &Rc<Core>, live: Option<Live>) {
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
    fn stand_up(&self) {
        let printed = self.printed.take().or_else(|| {
            let this: *const Core = self;
            entered(|seats| seats.retain(|seat| seat.core.as_ptr() != this));
            unwind::leave(Arc::as_ptr(&self.port.fabric.printed))
        });
        self.printed.set(printed);
    }

    #[cold]
    fn end_by_panic(&self) {
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
    fn unwinds_in(&self, call: &impl DescribeCall, show: &dyn Fn() -> String) {
        self.port.recorder.settle(call, show);
        self.port.recorder.catch_up();
        self.end_by_panic();
    }

    /// Adds call, line and communicator to the error of an operation, and keeps it in case the rank fails because of
    /// it.
    #[cold]
    fn failed(
        &self,
        error: Error,
        show: &dyn Fn() -> String,
        site: Site,
        comm: &CommShared,
    ) -> Error {
        let error = error.in_call(show, site, || comm.name());
        let follows = error.is_consequence();
        unwind::set_follows(follows.then(|| error.to_string()));
        *self.follows.borrow_mut() = follows.then(|| Cause::of(&error, self.port.me));
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
struct WhenUnwinding<F: Fn()>(F);

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
