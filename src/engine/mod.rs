//! The engine: the state of one rank and of one call in progress, between the public methods of [`Comm`] (in
//! [`comm`](crate::comm)) and the transport.
//!
//! - `rank_state`: the state of one rank, common to all its communicators
//! - `attributes`: what a rank keeps with a communicator
//! - `receive`: all receives; `envelope`: source, tag and status of a message; `request_state`: the state of a request;
//!   `open_requests`: the list of a rank, and waits for them
//! - `call`: all collective calls: number, fingerprint, messages; `agreement`: how ranks meet in one; `failure`: how
//!   one fails; `kept`: cached results for repeated calls, in a `set_associative` table; `resolved`: the steps of calls
//!   that are made again, `exchange`: the one of two ranks; `spares`: memory of those that are over; `workspace`: reusable
//!   memory; `combine`: copies and folds
//! - `spread`: what a call needs whose ranks are in several processes
//! - What moves the elements of a call: `link`: in messages over the lanes; `at_cells`: through cells; `epoch`: waits for
//!   ranks that access each other's vectors, whose schedule `messages` counts

pub(crate) mod agreement;
pub(crate) mod at_cells;
pub(crate) mod attributes;
pub(crate) mod call;
pub(crate) mod combine;
pub(crate) mod envelope;
pub(crate) mod epoch;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod kept;
pub(crate) mod link;
pub(crate) mod messages;
pub(crate) mod open_requests;
pub(crate) mod rank_state;
pub(crate) mod receive;
pub(crate) mod request_state;
pub(crate) mod resolved;
mod set_associative;
pub(crate) mod spares;
pub(crate) mod spread;
pub(crate) mod workspace;

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::Rank;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{Error, Gone, Result, Site};
use crate::topology::Levels;
use crate::transport::lanes::Ends;
use crate::transport::memory::eager_limit::Buffering;
use crate::transport::memory::pointer_list::Lists;
use crate::transport::progress::live::Live;
use crate::transport::reuse::fabric_reuse::{EndState, Reuse};
use crate::transport::trace::call_event::CallEvent;
use crate::transport::trace::words::DescribeCall;
use crate::transport::{CommHandle, CommShared, Fabric};
use crate::unwind;
use at_cells::LazyCellPort;
use attributes::Attributes;
pub use envelope::{Source, Status, Tag};
use kept::KeptCalls;
use rank_state::Core;
pub(crate) use rank_state::is_inside;
use spares::Spares;
use workspace::Workspace;

/// A communicator: the ranks of a world, as seen by one of them.
///
/// It stays on the thread of its rank (it is neither `Send` nor `Sync`), and all its methods take `&self`. Every
/// operation returns a [`Result`]: no rank can make another wait for ever.
///
/// # Examples
///
/// A ring of messages, an all-reduce in place, and a communicator for each half of the ranks:
///
/// ```
/// use rankfold::{World, op};
///
/// let results = World::new(4).run(|comm| {
///     let (me, ranks) = (comm.rank(), comm.size());
///
///     // Each rank sends its number to its right neighbour and receives that of its left neighbour.
///     let (right, left) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
///     comm.send(right, 0, &[me])?;
///     let (received, status) = comm.recv::<usize>(left, 0)?;
///     assert_eq!((received[0], status.source), (left, left));
///
///     // The buffer of every rank becomes the sum of the buffers of all ranks.
///     let mut sums = [me, 1];
///     comm.all_reduce(&mut sums, op::Sum)?;
///     assert_eq!(sums, [6, 4]);
///
///     // Ranks of the same colour form a communicator. Their keys are equal, so they keep their order.
///     let half = comm.split(me as u32 / 2, 0)?;
///     let mut sum = [me];
///     half.all_reduce(&mut sum, op::Sum)?;
///     Ok((half.rank(), sum[0]))
/// })?;
/// assert_eq!(results, [(0, 1), (1, 1), (0, 5), (1, 5)]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
///
/// # Methods by topic
///
/// This page is in the order of this table. The search finds a method by its MPI name, too: `MPI_Allreduce`.
///
/// | topic | methods |
/// |---|---|
/// | send and receive | [`send`](Self::send), [`recv`](Self::recv), [`recv_into`](Self::recv_into), [`sendrecv`](Self::sendrecv), [`send_value`](Self::send_value), ...; [`ssend`](Self::ssend), [`issend`](Self::issend); [`probe`](Self::probe), [`probe_matched`](Self::probe_matched), ... |
/// | requests | [`isend`](Self::isend), [`irecv`](Self::irecv), ...; [`scope`](Self::scope); waiting for one or several: [`Request`](crate::Request) |
/// | started and persistent collectives | [`iall_reduce`](Self::iall_reduce), [`ibroadcast`](Self::ibroadcast), [`ibarrier`](Self::ibarrier), ...: a collective of slices below, with an `i` before its name; [`all_reduce_init`](Self::all_reduce_init), ...; [`send_init`](Self::send_init), [`recv_init`](Self::recv_init) |
/// | reductions | [`reduce`](Self::reduce), [`all_reduce`](Self::all_reduce), [`reduce_scatter`](Self::reduce_scatter) |
/// | movements | [`broadcast`](Self::broadcast), [`gather`](Self::gather), [`scatter`](Self::scatter), [`all_gather`](Self::all_gather), [`all_to_all`](Self::all_to_all) |
/// | scans | [`scan`](Self::scan), [`exclusive_scan`](Self::exclusive_scan) |
/// | barrier | [`barrier`](Self::barrier) |
/// | any of these with an algorithm of your choice | [`using`](Self::using) |
/// | owned values | [`values`](Self::values): these collectives for values of any type |
/// | exact sums | [`sum_exact`](Self::sum_exact), [`dot_exact`](Self::dot_exact) |
/// | communicators | [`dup`](Self::dup), [`split`](Self::split), [`split_by`](Self::split_by), [`subset`](Self::subset), [`shrink`](Self::shrink); members as values: [`group`](Self::group); with neighbours: [`graph`](Self::graph), [`Cartesian::new`](crate::Cartesian::new) |
/// | beside these methods | [`layout`](crate::layout): columns, blocks and other parts of slices; [`partitioned`](crate::partitioned): messages sent part by part; [`attribute`](crate::attribute): values kept with a communicator |
/// | one-sided communication | [`window`](Self::window), [`AtomicWindow::new`](crate::AtomicWindow::new) |
/// | topologies, schedules | [`reduce_over`](Self::reduce_over), [`run_schedule`](Self::run_schedule); Foster's template: [`hypercube`](crate::hypercube) |
/// | introspection | [`explain`](Self::explain), [`levels`](Self::levels), [`rank`](Self::rank), [`size`](Self::size), [`world_rank`](Self::world_rank) |
///
/// A collective has one name, and up to two suffixes: `_into` works from one buffer into another instead of in place,
/// and `_v` has blocks of any lengths. Its operator is one of [`op`](crate::op), one of your own, or a closure. Two
/// views have collectives of the same names: [`values`](Self::values) moves values of any type, and
/// [`using`](Self::using) runs an algorithm of your choice.
///
/// # Errors
///
/// Any operation can fail with [`Usage`](ErrorKind::Usage) if it is called from inside an operator or a schedule, with
/// [`Deadlock`](ErrorKind::Deadlock) if what it waits for can never come, with [`TimedOut`](ErrorKind::TimedOut) if the
/// [world's timeout](crate::World::timeout) expires, and with [`RankGone`](ErrorKind::RankGone) if a rank that it needs
/// has ended. A collective can also fail with [`Mismatch`](ErrorKind::Mismatch), and with [`Broken`](ErrorKind::Broken)
/// because another rank's call of it failed. Each method documents its further errors.
///
/// A destructor may call methods while its thread unwinds, but the rank has then ended for the others, even if the
/// panic is caught later, and they no longer wait for it.
///
/// ```compile_fail,E0277
/// rankfold::World::new(2).run(|comm| {
///     std::thread::scope(|s| s.spawn(|| comm.rank())); // another thread is not this rank
///     Ok(())
/// });
/// ```
#[doc(alias = "MPI_Comm")]
pub struct Comm {
    /// Declared first: the destructors of the values may call other communicators of the rank.
    pub(crate) attributes: Attributes,
    /// Declared before the core, so that the lanes are given back before the rank has ended.
    pub(crate) lanes: Ends,
    /// Declared before the core, so that its last call is recorded before the rank has ended.
    pub(crate) cell_port: LazyCellPort,
    pub(crate) core: Rc<Core>,
    pub(crate) shared: Arc<CommShared>,
    /// The same, for requests and started calls to hold.
    pub(crate) handle: CommHandle,
    /// This rank's number in this communicator.
    pub(crate) me: Rank,
    /// The context of the first of the communicators of the same ranks in the same order that were duplicated from each
    /// other: their calls have the same plans.
    pub(crate) alike: u32,
    /// The number of collectives that this rank has begun on this communicator.
    pub(crate) calls: Cell<u32>,
    /// The combined fingerprint of all of them.
    pub(crate) prints: Cell<u32>,
    /// Number of calls of `shrink` by this rank on this communicator.
    pub(crate) shrinks: Cell<u32>,
    /// Receiver and tag of the partitioned messages of this rank of which some parts have left, and others may follow.
    pub(crate) half_sent: RefCell<Vec<(Rank, u32)>>,
    /// Sender and tag of those of which this rank has accepted some parts, and waits for others.
    pub(crate) half_received: RefCell<Vec<(Rank, u32)>>,
    /// The levels of the machine that separate these ranks, computed on first use; `None` if no rank is nearer than
    /// another.
    pub(crate) levels: OnceCell<Option<Arc<Levels>>>,
    /// If the ranks are in several processes: this rank's ends of the parts, once they are needed.
    #[cfg(feature = "mpi")]
    pub(crate) parts: OnceCell<Box<spread::OwnParts>>,
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, "Comm")
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        self.core.spares.forget(self.shared.context);
        self.fabric().let_go(&self.shared);
    }
}

/// # Introspection: rank and size
///
/// The numbers of this rank and of the others.
impl Comm {
    /// Returns the number of this rank: `0..size`.
    #[doc(alias = "MPI_Comm_rank")]
    #[inline]
    pub fn rank(&self) -> Rank {
        self.me
    }

    /// Returns the number of ranks.
    #[doc(alias = "MPI_Comm_size")]
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
    #[track_caller]
    pub fn world_rank(&self, rank: Rank) -> Rank {
        self.assert_member(rank);
        self.to_world(rank)
    }

    /// The world rank of a rank that is there.
    #[inline]
    pub(crate) fn to_world(&self, rank: Rank) -> Rank {
        self.shared.members.world(rank)
    }

    /// Prints something of this communicator: the rank and the size, and the name unless it is the world.
    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
        let mut all = f.debug_struct(what);
        all.field("rank", &self.rank()).field("size", &self.size());
        if let Some(name) = self.shared.name() {
            all.field("comm", &format_args!("{name}"));
        }
        all.finish_non_exhaustive()
    }

    /// Panics if there is no such rank.
    #[inline]
    #[track_caller]
    pub(crate) fn assert_member(&self, rank: Rank) {
        let size = self.size();
        assert!(rank < size, "rank {rank} is not one of the {size} ranks");
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
            kept_started: KeptCalls::default(),
            spares: Spares::default(),
            entered: Cell::new(0),
            limit: Cell::new(limit),
            fault: Cell::new(fault),
            depth: Cell::new(unwind::depth()),
            follows: RefCell::new(None),
            bounded: fabric.settings.buffering != Buffering::Unbounded,
            synchronous: fabric.settings.buffering == Buffering::Zero,
            mark: Cell::new(0),
            requests: RefCell::default(),
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
        core.spares.clear();
        core.follows.take();
        // An attribute may own anything, and stays on this thread. A rank that its program has ended has given away its
        // inbox.
        let alone = self.is_alone() && self.attributes.is_empty() && !core.port.has_left();
        if !alone {
            core.port.leave();
        }
        let idle =
            core.requests.borrow().is_empty() && core.port.is_idle() && !core.port.has_started();
        (alone && idle).then(|| EndState {
            calls: (self.calls.get(), self.prints.get()),
            cells: self.cell_port.last(),
            lanes: self.lanes.traffic(),
        })
    }

    /// Whether this `Comm` is all that is alive of this rank.
    pub(crate) fn is_alone(&self) -> bool {
        let only_one = Rc::strong_count(&self.core) == 1 && Rc::strong_count(&self.handle) == 1;
        only_one && Rc::weak_count(&self.core) == 0 && Rc::weak_count(&self.handle) == 0
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
    pub(crate) fn of(core: Rc<Core>, shared: Arc<CommShared>, me: Rank) -> Comm {
        let over = core.port.fabric.settings.transport;
        if core.port.fabric.settings.near.has_bounds() {
            // Most algorithms have a partner for each bit of a rank's number, and trees and rings a few more.
            let partners = shared.members.size().ilog2() as usize + 4;
            shared.lanes.offer(me, partners, over);
        }
        Comm {
            attributes: Attributes::default(),
            lanes: lanes_of(&core, &shared, me),
            core,
            handle: Rc::new(shared.clone()),
            alike: shared.context,
            // Covers the communicator in the fingerprints of all its calls.
            prints: Cell::new(shared.context),
            shared,
            me,
            cell_port: LazyCellPort::default(),
            calls: Cell::new(0),
            shrinks: Cell::new(0),
            half_sent: RefCell::default(),
            half_received: RefCell::default(),
            levels: OnceCell::new(),
            #[cfg(feature = "mpi")]
            parts: OnceCell::new(),
        }
    }

    /// The seed of this world, or 0.
    pub(crate) fn seed(&self) -> u64 {
        self.fabric().settings.seed.unwrap_or(0)
    }

    #[inline]
    pub(crate) fn fabric(&self) -> &Arc<Fabric> {
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
    pub(crate) fn op<R>(
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
    pub(crate) fn recorded<R>(
        &self,
        call: &impl DescribeCall,
        show: &dyn Fn() -> String,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.core.recorded(&self.shared, call, show, body)
    }

    #[inline]
    pub(crate) fn check_rank(&self, what: &str, rank: Rank) -> Result<()> {
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

/// A rank's ends of the lanes of a communicator.
fn lanes_of(core: &Core, shared: &Arc<CommShared>, me: Rank) -> Ends {
    let fabric = &core.port.fabric;
    #[cfg(feature = "mpi")]
    if shared.spans() {
        return Ends::Spread(fabric.spread_lanes(shared, me));
    }
    shared.lanes.ends(me, fabric.settings.transport)
}
