//! Windows of atomics: every operation is allowed at any time, on any rank's part.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::atomic_element::AtomicElement;
use super::{check_fold, create, outside, refuse};
use crate::Rank;
use crate::engine::Comm;
use crate::error::{Error, Result, Site};
use crate::machine::vec_here;
use crate::op::Operator;
use crate::op::elements::Info;
use crate::transport::communicator::call::{Call, Verb};
use crate::unwind;

/// A window of numbers, each of which all ranks can read and write at any time.
///
/// Each access to an element is atomic. Whoever reads a value sees what its writer did before it wrote it, so a number
/// can announce that others are there. An operation on several elements is one atomic access for each of them, one
/// after another. No operation waits, and each is complete when it returns.
///
/// A loop that reads until a value changes waits without the library's knowledge: it is not seen as waiting if the
/// change never comes. Wait for a message or a fence instead.
///
/// # Examples
///
/// A counter from which each rank takes the number of its next task:
///
/// ```
/// use rankfold::{AtomicWindow, World, op};
///
/// let done = World::new(4).run(|comm| {
///     let win = AtomicWindow::new(comm, if comm.rank() == 0 { vec![0u64] } else { vec![] })?;
///     let mut mine = Vec::new();
///     loop {
///         let task = win.fetch_and_op(0, 0, 1, op::Sum)?;
///         if task >= 100 {
///             return Ok(mine);
///         }
///         mine.push(task);
///     }
/// })?;
/// let mut all = done.concat();
/// all.sort();
/// assert_eq!(all, (0..100).collect::<Vec<_>>());
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[doc(alias = "MPI_Win_flush")]
pub struct AtomicWindow<T: AtomicElement> {
    comm: Comm,
    table: Arc<AtomicParts<T>>,
}

impl<T: AtomicElement> fmt::Debug for AtomicWindow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "AtomicWindow")
    }
}

/// The parts of all ranks.
struct AtomicParts<T: AtomicElement>(Box<[Arc<Cells<T>>]>);

/// The part of one rank.
struct Cells<T: AtomicElement>(Vec<T::Cell>);

impl<T: AtomicElement> AtomicParts<T> {
    fn assemble(parts: Vec<create::AnyPart>) -> Option<create::AnyPart> {
        let parts = parts.into_iter().map(|part| part.downcast().ok());
        Some(Arc::new(AtomicParts::<T>(parts.collect::<Option<_>>()?)))
    }
}

impl<T: AtomicElement> AtomicWindow<T> {
    /// Makes a window of atomics of which this rank's part has these values. All ranks call it together, with the same
    /// type of elements; the parts may have different lengths.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Comm::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{AtomicWindow, World};
    ///
    /// let values = World::new(3).run(|comm| {
    ///     let win = AtomicWindow::new(comm, vec![comm.rank() as f32; 2])?;
    ///     win.put((comm.rank() + 1) % 3, 1, &[0.5])?;
    ///     win.fence()?;
    ///     Ok((win.get(2, 0)?, win.get(2, 1)?))
    /// })?;
    /// assert_eq!(values, [(2.0, 0.5); 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn new(comm: &Comm, part: Vec<T>) -> Result<AtomicWindow<T>> {
        let call = Call {
            info: Some(Info::of::<T>()),
            ..comm.call(Verb::AtomicWindow, Location::caller())
        };
        let cells: Cells<T> = Cells(vec_here(part.len(), |i| part[i].cell()));
        let (comm, table) =
            create::create(comm, call, Arc::new(cells), AtomicParts::<T>::assemble)?;
        Ok(AtomicWindow { comm, table })
    }

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
        self.table.0[rank].0.len()
    }

    /// Waits until all ranks of the window have called it: what each did before is visible to all after it.
    ///
    /// # Errors
    ///
    /// As [`barrier`](Comm::barrier).
    #[track_caller]
    pub fn fence(&self) -> Result<()> {
        let call = self.comm.call(Verb::Fence, Location::caller());
        self.comm
            .collective(call, || Ok(()), |inside| inside.pass_gate())
    }

    /// Returns one element.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank or element. So do the methods below.
    #[track_caller]
    #[inline]
    pub fn get(&self, target: Rank, at: usize) -> Result<T> {
        let cells = self.cells("get", (target, at, 1), Location::caller())?;
        Ok(T::load(&cells[0]))
    }

    /// Copies elements from `at` on.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    #[track_caller]
    pub fn get_into(&self, target: Rank, at: usize, into: &mut [T]) -> Result<()> {
        let cells = self.cells("get_into", (target, at, into.len()), Location::caller())?;
        for (to, cell) in into.iter_mut().zip(cells) {
            *to = T::load(cell);
        }
        Ok(())
    }

    /// Stores elements from `at` on.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    #[track_caller]
    #[inline]
    pub fn put(&self, target: Rank, at: usize, elements: &[T]) -> Result<()> {
        let cells = self.cells("put", (target, at, elements.len()), Location::caller())?;
        for (cell, element) in cells.iter().zip(elements) {
            T::store(cell, *element);
        }
        Ok(())
    }

    /// Folds elements into those from `at` on: each becomes `part[at + i] ⊕ elements[i]`. The operator should commute:
    /// the ranks' elements are folded in the order in which they come. It may be called more than once for an element
    /// that several ranks change.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and [`Usage`](crate::ErrorKind::Usage) for [`op::SumExact`](crate::op::SumExact), which
    /// adds the numbers of all ranks at once.
    #[track_caller]
    pub fn accumulate(
        &self,
        target: Rank,
        at: usize,
        elements: &[T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let place = (target, at, elements.len());
        let cells = self.cells_to_fold("accumulate", place, &op, Location::caller())?;
        for (cell, element) in cells.iter().zip(elements) {
            fold(cell, *element, &op);
        }
        Ok(())
    }

    /// [`accumulate`](Self::accumulate) that returns in `before` the elements that were there.
    ///
    /// # Errors
    ///
    /// As [`accumulate`](Self::accumulate), and [`Usage`](crate::ErrorKind::Usage) if the two slices have different
    /// lengths.
    #[doc(alias = "MPI_Get_accumulate")]
    #[track_caller]
    pub fn get_accumulate(
        &self,
        target: Rank,
        at: usize,
        elements: &[T],
        before: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let (site, count) = (Location::caller(), elements.len());
        let cells = self.cells_to_fold("get_accumulate", (target, at, count), &op, site)?;
        if before.len() != count {
            let error = format!("{count} elements cannot be exchanged for {}", before.len());
            let show = || shown("get_accumulate", target, at, count);
            return refuse(&self.comm, site, &show, Error::usage(error));
        }
        for ((cell, element), before) in cells.iter().zip(elements).zip(before) {
            *before = fold(cell, *element, &op);
        }
        Ok(())
    }

    /// Folds a value into one element, and returns the element that was there.
    ///
    /// # Errors
    ///
    /// As [`accumulate`](Self::accumulate).
    #[doc(alias = "MPI_Fetch_and_op")]
    #[track_caller]
    #[inline]
    pub fn fetch_and_op(
        &self,
        target: Rank,
        at: usize,
        value: T,
        op: impl Operator<T>,
    ) -> Result<T> {
        let place = (target, at, 1);
        let cells = self.cells_to_fold("fetch_and_op", place, &op, Location::caller())?;
        Ok(fold(&cells[0], value, &op))
    }

    /// Stores `new` if the element is `old`, bit by bit, and returns the element that was there: `old` if it was
    /// stored.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{AtomicWindow, World};
    ///
    /// let first = World::new(4).run(|comm| {
    ///     let win = AtomicWindow::new(comm, vec![-1i64])?;
    ///     let before = win.compare_and_swap(0, 0, -1, comm.rank() as i64)?;
    ///     Ok(before == -1)
    /// })?;
    /// assert_eq!(first.iter().filter(|won| **won).count(), 1);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Compare_and_swap")]
    #[track_caller]
    #[inline]
    pub fn compare_and_swap(&self, target: Rank, at: usize, old: T, new: T) -> Result<T> {
        let cells = self.cells("compare_and_swap", (target, at, 1), Location::caller())?;
        let (Ok(before) | Err(before)) = T::exchange(&cells[0], old, new);
        Ok(before)
    }

    /// The atomics of `count` elements from `at` on.
    #[inline]
    fn cells(
        &self,
        call: &str,
        (target, at, count): (Rank, usize, usize),
        site: Site,
    ) -> Result<&[T::Cell]> {
        let part = self.table.0.get(target);
        let range = at..at.saturating_add(count);
        match part.and_then(|part| part.0.get(range)) {
            Some(cells) => Ok(cells),
            None => self.refuse(call, (target, at, count), site),
        }
    }

    /// The same for folds by `op`.
    #[inline]
    fn cells_to_fold(
        &self,
        call: &str,
        (target, at, count): (Rank, usize, usize),
        op: &impl Operator<T>,
        site: Site,
    ) -> Result<&[T::Cell]> {
        let cells = self.cells(call, (target, at, count), site)?;
        match check_fold(op) {
            Ok(()) => Ok(cells),
            Err(error) => refuse(&self.comm, site, &|| shown(call, target, at, count), error),
        }
    }

    #[cold]
    fn refuse<R>(
        &self,
        call: &str,
        (target, at, count): (Rank, usize, usize),
        site: Site,
    ) -> Result<R> {
        let length = self.table.0.get(target).map_or(0, |part| part.0.len());
        let checked = self.comm.check_rank("the target", target);
        let error = checked.map_or_else(|error| error, |()| outside(target, at, count, length));
        refuse(&self.comm, site, &|| shown(call, target, at, count), error)
    }
}

/// A call, as errors print it.
fn shown(call: &str, target: Rank, at: usize, count: usize) -> String {
    match count {
        1 => format!("{call}(part {target}, at {at})"),
        _ => format!("{call}(part {target}, at {at}, {count} elements)"),
    }
}

/// Folds a value into an element; returns the element that was there.
#[inline]
fn fold<T: AtomicElement>(cell: &T::Cell, value: T, op: &impl Operator<T>) -> T {
    let mut before = T::load(cell);
    loop {
        let folded = unwind::operator(|| op.combine(before, value));
        match T::exchange(cell, before, folded) {
            Ok(before) => return before,
            Err(now) => before = now,
        }
    }
}
