//! Windows: memory of each rank that all ranks of a communicator can reach (MPI's one-sided communication).
//!
//! [`Comm::window`](crate::Comm::window) makes a [`Window`](crate::Window) of any elements, and
//! [`AtomicWindow::new`](crate::AtomicWindow::new) an [`AtomicWindow`](crate::AtomicWindow) of numbers. This module
//! has the types through which a program accesses a window.
//!
//! # Who may access what, and when
//!
//! In MPI every rank may write into every part at any time, and two that access the same place at once make the program
//! wrong. In safe Rust they cannot be allowed to. So there are two kinds of windows:
//!
//! - In a [`Window`](crate::Window) all access to a part is under that part's lock, shared or exclusive. Reads give
//!   `&[T]`, in place. The own part is `&mut [T]` under its exclusive lock, and so is any other rank's. `put` and
//!   `accumulate` do not write at once: they are kept until the epoch ends, and then written by the owner of the part, in
//!   the order of ranks. So several ranks may put into one part, at the same places too, and the result is the same in
//!   every run.
//! - In an [`AtomicWindow`](crate::AtomicWindow) every element is an atomic. All operations are allowed at any time, and
//!   no rank ever has a reference to an element.
//!
//! Fences and epochs only say who asks for the locks, and when. A rank that opens an epoch gives up every access that
//! it has, since the epoch borrows the window. Whatever a program forgets or leaves by a panic, a lock that is still
//! taken keeps the others out: they get an error, and never a `&mut` beside a reader.
//!
//! A rank cannot keep its part while a fence exposes it, or another's part beyond the end of the epoch:
//!
//! ```compile_fail,E0502
//! # rankfold::World::new(2).run(|comm| {
//! let mut win = comm.window(vec![0; 4])?;
//! let mut mine = win.local_mut()?;
//! let epoch = win.fence()?;
//! mine[0] = 1;
//! # epoch.close()
//! # });
//! ```
//!
//! ```compile_fail,E0505
//! # rankfold::World::new(2).run(|comm| {
//! let mut win = comm.window(vec![0; 4])?;
//! let epoch = win.fence()?;
//! let other = epoch.read(1)?;
//! epoch.close()?;
//! assert_eq!(other[0], 0);
//! # Ok(())
//! # });
//! ```
//!
//! # MPI's calls
//!
//! | MPI | here |
//! |---|---|
//! | `MPI_Win_create`, `_allocate` | [`Comm::window`](crate::Comm::window), [`AtomicWindow::new`](crate::AtomicWindow::new) |
//! | `MPI_Win_free` | drop; the memory lives as long as any rank can reach it |
//! | `MPI_Win_fence` | [`Window::fence`](crate::Window::fence), [`FenceEpoch::fence`], [`FenceEpoch::close`] |
//! | `MPI_Win_lock`, `_unlock` | [`lock_shared`](crate::Window::lock_shared), [`lock_exclusive`](crate::Window::lock_exclusive), [`lock_all`](crate::Window::lock_all); drop of their results |
//! | `MPI_Win_post`, `_wait`, `_test` | [`Window::post`](crate::Window::post), [`ExposureEpoch::wait`], [`ExposureEpoch::test`] |
//! | `MPI_Win_start`, `_complete` | [`Window::start`](crate::Window::start), [`AccessEpoch::complete`] |
//! | `MPI_Get` | [`FenceEpoch::read`], [`AccessEpoch::read`], the results of locks: slices, nothing is copied |
//! | `MPI_Put`, `MPI_Accumulate` | `put`, `accumulate` of an epoch; writes under an exclusive lock |
//! | `MPI_Fetch_and_op`, `MPI_Compare_and_swap`, `MPI_Get_accumulate` | the methods of [`AtomicWindow`](crate::AtomicWindow) |
//! | `MPI_Rput`, `MPI_Rget`, `MPI_Raccumulate` | not needed: `put` has taken the elements when it returns, `read` has nothing to wait for |
//! | `MPI_Win_create_dynamic`, `_attach`, `_detach` | another window for more memory; drop |
//! | `MPI_Win_flush`, `MPI_Win_sync` | not needed: an atomic operation is complete when it returns |
//!
//! # Waiting
//!
//! Only the creation of a window, its fences, its locks, `start` and `wait` wait for other ranks. [`FenceEpoch::read`] and
//! [`ExposureEpoch::test`] lock a part, so they wait while another rank keeps it locked: in an epoch between fences that
//! can only be one that has forgotten a lock, or dropped the epoch. Ranks that can never move again get a
//! [`Deadlock`](crate::ErrorKind::Deadlock) with the calls and lines of all, a rank that needs one that has ended gets
//! [`RankGone`](crate::ErrorKind::RankGone). Locks are granted in the order of the requests, so no rank starves: a rank
//! that asks to read waits behind one that asked to write before it. So a rank that has a part locked to read should not
//! wait for another one that is about to do the same.
//!
//! [`explore`](crate::testing::explore) and worlds with a seed choose the order of messages and of locks, and not that of
//! atomic operations; there a rank locks once all others wait or have ended, so none may poll atomics until it has. Neither
//! reports nor [`World::inject`](crate::World::inject) count `put`, `accumulate` and the methods of atomics.

mod active_target;
mod atomic;
mod atomic_element;
mod create;
mod fence;
mod locks;
mod outbox;
mod waiting;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::Comm;
use crate::Rank;
use crate::error::{Error, Result, Site};
use crate::op::elements::Info;
use crate::op::{Element, Operator};
use crate::transport::communicator::call::{Call, Verb};
use crate::transport::communicator::exposure::Exposure;
use crate::transport::communicator::puts_in::PutsIn;
use crate::transport::memory::window::WindowPart;

pub use active_target::{AccessEpoch, ExposureEpoch};
pub use atomic::AtomicWindow;
pub use atomic_element::AtomicElement;
pub use fence::FenceEpoch;
pub use locks::{AllParts, ExclusivePart, SharedPart};

/// A window: a part of memory for each rank of a communicator, which all of its ranks can read and write.
///
/// See [`window`](crate::window) for what is allowed when. Parts may have different lengths. Each is the vector that
/// its rank has brought, so it is in memory near that rank if the rank wrote it first.
///
/// A window stays on the thread of its rank. A rank may drop it at any time; the others still reach its part.
///
/// # Examples
///
/// Each rank puts its number into its right neighbour's part:
///
/// ```
/// use rankfold::World;
///
/// let parts = World::new(4).run(|comm| {
///     let mut win = comm.window(vec![0; 2])?;
///     let right = (comm.rank() + 1) % comm.size();
///     let epoch = win.fence()?;
///     epoch.put(right, 1, &[comm.rank()])?;
///     epoch.close()?;
///     let mine = win.local_mut()?;
///     Ok(mine.to_vec())
/// })?;
/// assert_eq!(parts, [[0, 3], [0, 0], [0, 1], [0, 2]]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[doc(alias = "MPI_Win")]
pub struct Window<T: Element> {
    /// A communicator of its own, so that fences of different windows do not match.
    comm: Comm,
    table: Arc<WindowParts<T>>,
}

impl<T: Element> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "Window")
    }
}

/// What all ranks of a window share.
struct WindowParts<T> {
    parts: Box<[Arc<WindowPart<T>>]>,
    exposures: Box<[Exposure]>,
    puts_in: PutsIn,
}

impl<T: Element> WindowParts<T> {
    fn assemble(parts: Vec<create::AnyPart>) -> Option<create::AnyPart> {
        let parts = parts.into_iter().map(|part| part.downcast().ok());
        let parts: Box<[Arc<WindowPart<T>>]> = parts.collect::<Option<_>>()?;
        let exposures = parts.iter().map(|_| Exposure::new()).collect();
        Some(Arc::new(WindowParts {
            parts,
            exposures,
            puts_in: PutsIn::new(),
        }))
    }
}

/// # Windows
///
/// Memory of each rank that all ranks can reach: one-sided communication.
impl Comm {
    /// Makes a window of which this rank's part is `part`. All ranks call it together, with the same type of elements;
    /// the parts may have different lengths.
    ///
    /// The vector is taken as it is, so a part is near the rank that has first written the vector: see
    /// [`vec_here`](crate::machine::vec_here).
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let lengths = World::new(3).run(|comm| {
    ///     let mut win = comm.window(vec![1.5; comm.rank()])?;
    ///     let epoch = win.fence()?;
    ///     let mut sum = 0.0;
    ///     for rank in 0..comm.size() {
    ///         sum += epoch.read(rank)?.iter().sum::<f64>();
    ///     }
    ///     epoch.close()?;
    ///     Ok((win.len(2), sum))
    /// })?;
    /// assert_eq!(lengths, [(2, 4.5); 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Win_create")]
    #[doc(alias = "MPI_Win_allocate")]
    #[track_caller]
    pub fn window<T: Element>(&self, part: Vec<T>) -> Result<Window<T>> {
        let call = Call {
            info: Some(Info::of::<T>()),
            ..self.call(Verb::Window, Location::caller())
        };
        let part = Arc::new(WindowPart::new(part));
        let (comm, table) = create::create(self, call, part, WindowParts::<T>::assemble)?;
        Ok(Window { comm, table })
    }
}

impl<T: Element> Window<T> {
    /// Returns the number of this rank among those of the window, which is its number in the communicator that made it.
    pub fn rank(&self) -> Rank {
        self.comm.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.comm.size()
    }

    /// Returns the number of elements in a rank's part.
    ///
    /// # Panics
    ///
    /// Panics if there is no such rank.
    #[track_caller]
    pub fn len(&self, rank: Rank) -> usize {
        let size = self.size();
        assert!(rank < size, "rank {rank} is not one of the {size} ranks");
        self.table.parts[rank].len()
    }

    /// Returns the part of a rank that exists.
    fn part(&self, rank: Rank) -> Result<&WindowPart<T>> {
        self.comm.check_rank("the target", rank)?;
        Ok(&self.table.parts[rank])
    }
}

/// The error of a call that names a place outside a part.
#[cold]
fn outside(target: Rank, at: usize, count: usize, length: usize) -> Error {
    let elements = match at.checked_add(count) {
        Some(end) => format!("elements {at}..{end}"),
        None => format!("{count} elements from {at} on"),
    };
    Error::usage(format!(
        "{elements} are not all in the part of rank {target}, which has {length}"
    ))
}

/// Refuses [`SumExact`](crate::op::SumExact): an element that is folded time and again would be rounded each time.
fn check_fold<T: Element>(op: &impl Operator<T>) -> Result<()> {
    match op.exact_of() {
        None => Ok(()),
        Some(_) => Err(Error::usage(
            "op::SumExact adds the numbers of all ranks at once, and a window folds one after the other: accumulate \
             elements op::ExactSum in a Window, by op::Sum",
        )),
    }
}

/// Fails with an error that names the call.
#[cold]
fn refuse<R>(comm: &Comm, site: Site, show: &dyn Fn() -> String, error: Error) -> Result<R> {
    comm.op(site, show, || Err(error))
}
