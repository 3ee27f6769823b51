//! Locks: a rank accesses one part, or all, without any call of the other ranks (passive target).

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use super::Window;
use super::waiting::{Shown, take};
use crate::Rank;
use crate::error::{Result, Site};
use crate::op::Element;
use crate::transport::memory::part_lock::Mode;
use crate::transport::memory::window::{ExclusiveElements, SharedElements};
use crate::transport::trace::call_event::CallEvent;

/// A rank's part of a window, locked to read it; see [`Window::lock_shared`]. It dereferences to `[T]`, and unlocks
/// when it is dropped.
#[must_use = "it unlocks when it is dropped"]
pub struct SharedPart<'w, T: Element>(SharedElements<'w, T>);

impl<T: Element> fmt::Debug for SharedPart<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPart")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<T: Element> Deref for SharedPart<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.0.elements()
    }
}

/// A rank's part of a window, locked to read and to write it; see [`Window::lock_exclusive`]. It dereferences to `[T]`,
/// and unlocks when it is dropped, also while its rank unwinds.
#[doc(alias = "MPI_Win_unlock")]
#[must_use = "it unlocks when it is dropped"]
pub struct ExclusivePart<'w, T: Element>(ExclusiveElements<'w, T>);

impl<T: Element> fmt::Debug for ExclusivePart<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExclusivePart")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<T: Element> Deref for ExclusivePart<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.0.elements()
    }
}

impl<T: Element> DerefMut for ExclusivePart<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.elements_mut()
    }
}

/// All parts of a window, locked to read them; see [`Window::lock_all`]. It unlocks them when it is dropped.
#[doc(alias = "MPI_Win_unlock_all")]
#[must_use = "it unlocks when it is dropped"]
pub struct AllParts<'w, T: Element>(Vec<SharedElements<'w, T>>);

impl<T: Element> fmt::Debug for AllParts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllParts")
            .field("size", &self.0.len())
            .finish_non_exhaustive()
    }
}

impl<T: Element> AllParts<'_, T> {
    /// Returns the parts, in rank order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        self.0.iter().map(SharedElements::elements)
    }

    /// Returns the part of a rank.
    ///
    /// # Panics
    ///
    /// Panics if there is no such rank.
    #[track_caller]
    pub fn part(&self, rank: Rank) -> &[T] {
        self.0[rank].elements()
    }
}

impl<T: Element> Window<T> {
    /// Locks a part to read it, beside others that only read it.
    ///
    /// It waits while another rank has it locked to write, or asked for that before. A rank locks a part once at a
    /// time.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank, or if this rank has locked the part already;
    /// [`RankGone`](crate::ErrorKind::RankGone) if a rank has ended that has it locked;
    /// [`Deadlock`](crate::ErrorKind::Deadlock) if ranks wait for each other's locks.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let firsts = World::new(3).run(|comm| {
    ///     let win = comm.window(vec![comm.rank() * 10; 4])?;
    ///     Ok(win.lock_shared(2)?[0])
    /// })?;
    /// assert_eq!(firsts, [20; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_LOCK_SHARED")]
    #[track_caller]
    pub fn lock_shared(&self, rank: Rank) -> Result<SharedPart<'_, T>> {
        let (show, site) = (&|| format!("lock_shared(part {rank})"), Location::caller());
        let event = || CallEvent::named("lock_shared", site);
        self.comm.recorded(&event, show, || {
            let call = Shown { show, site };
            self.shared(rank, call).map(SharedPart)
        })
    }

    /// Locks a part to read and to write it: no other rank accesses it meanwhile. It is the same for the own part and
    /// for others'.
    ///
    /// # Errors
    ///
    /// As [`lock_shared`](Self::lock_shared).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let counts = World::new(4).run(|comm| {
    ///     let win = comm.window(vec![0; 1])?;
    ///     for _ in 0..100 {
    ///         win.lock_exclusive(0)?[0] += 1;
    ///     }
    ///     comm.barrier()?;
    ///     Ok(win.lock_shared(0)?[0])
    /// })?;
    /// assert_eq!(counts, [400; 4]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Win_lock")]
    #[doc(alias = "MPI_LOCK_EXCLUSIVE")]
    #[track_caller]
    pub fn lock_exclusive(&self, rank: Rank) -> Result<ExclusivePart<'_, T>> {
        let show = &|| format!("lock_exclusive(part {rank})");
        self.lock_to_write(rank, ("lock_exclusive", show), Location::caller())
    }

    /// Locks the own part to read and to write it: [`lock_exclusive`](Self::lock_exclusive) of the own rank. Outside of
    /// the epochs of fences it does not wait in a program that uses fences alone, except for its turn in a world whose
    /// orders are chosen ([`explore`](crate::testing::explore)); otherwise it waits for other ranks that have locked the part
    /// or access it in an epoch.
    ///
    /// # Errors
    ///
    /// As [`lock_shared`](Self::lock_shared).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(2).run(|comm| {
    ///     let win = comm.window(vec![0; 3])?;
    ///     win.local_mut()?.fill(comm.rank());
    ///     assert_eq!(win.local_mut()?[2], comm.rank());
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn local_mut(&self) -> Result<ExclusivePart<'_, T>> {
        let call = ("local_mut", &|| "local_mut".into());
        self.lock_to_write(self.rank(), call, Location::caller())
    }

    /// Locks all parts to read them, one after another in rank order.
    ///
    /// # Errors
    ///
    /// As [`lock_shared`](Self::lock_shared).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let win = comm.window(vec![comm.rank(); comm.rank()])?;
    ///     let all = win.lock_all()?;
    ///     assert_eq!(all.part(2), [2, 2]);
    ///     Ok(all.iter().flatten().sum::<usize>())
    /// })?;
    /// assert_eq!(sums, [5; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Win_lock_all")]
    #[track_caller]
    pub fn lock_all(&self) -> Result<AllParts<'_, T>> {
        let (show, site) = (&|| "lock_all".into(), Location::caller());
        self.comm.op(site, show, || {
            let call = Shown { show, site };
            let parts = (0..self.size()).map(|rank| self.shared(rank, call));
            parts.collect::<Result<_>>().map(AllParts)
        })
    }

    fn lock_to_write(
        &self,
        rank: Rank,
        (verb, show): (&'static str, &impl Fn() -> String),
        site: Site,
    ) -> Result<ExclusivePart<'_, T>> {
        let event = || CallEvent::named(verb, site);
        self.comm.recorded(&event, show, || {
            let call = Shown { show, site };
            self.exclusive(rank, call).map(ExclusivePart)
        })
    }

    /// Takes the shared lock of a part, inside a call.
    pub(super) fn shared(&self, rank: Rank, call: Shown<'_>) -> Result<SharedElements<'_, T>> {
        let part = self.part(rank)?;
        let held = take(&self.comm, &part.lock, (rank, Mode::Shared), call)?;
        Ok(part.shared(held))
    }

    /// Takes the exclusive lock of a part, inside a call.
    pub(super) fn exclusive(
        &self,
        rank: Rank,
        call: Shown<'_>,
    ) -> Result<ExclusiveElements<'_, T>> {
        let part = self.part(rank)?;
        let held = take(&self.comm, &part.lock, (rank, Mode::Exclusive), call)?;
        Ok(part.exclusive(held))
    }
}
