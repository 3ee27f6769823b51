//! Scans: every rank gets the fold of the vectors of the ranks before it, with or without its own.

use super::Comm;
use super::kept::ask;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
use crate::op::{Associative, Element, Operator};

/// # Scan
///
/// Every rank gets the fold of the vectors of the ranks before it, with or without its own.
impl Comm {
    /// Gives rank `r` the fold of the vectors of ranks `0..=r`, in rank order.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps of the whole buffer.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(4).run(|comm| {
    ///     let mut v = [comm.rank() + 1];
    ///     comm.scan(&mut v, op::Sum)?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(sums, [1, 3, 6, 10]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Hillis and Steele, *Data parallel algorithms*, 1986.
    #[doc(alias = "MPI_Scan")]
    #[track_caller]
    pub fn scan<T: Element>(&self, buf: &mut [T], op: impl Operator<T>) -> Result<()> {
        self.scan_if(None, Collective::Scan, buf, &op)
    }

    /// [`scan`](Self::scan) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut v = [1];
    ///     comm.scan_by(&mut v, |a, b| a + b)?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(sums, [1, 2, 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scan_by<T: Element>(&self, buf: &mut [T], op: impl Fn(T, T) -> T) -> Result<()> {
        self.scan(buf, Associative(op))
    }

    /// [`scan`](Self::scan) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`scan`](Self::scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut v = [1; 10];
    ///     comm.scan_with("chain:segments=4".parse().unwrap(), &mut v, op::Sum)?;
    ///     Ok(v[9])
    /// })?;
    /// assert_eq!(sums, [1, 2, 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn scan_with<T: Element>(
        &self,
        algorithm: Algorithm,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.scan_if(Some(algorithm), Collective::Scan, buf, &op)
    }

    /// Gives rank `r` the fold of the vectors of ranks `0..r`, in rank order, and gives rank 0 the identity.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps of the whole buffer, or one more.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let firsts = World::new(4).run(|comm| {
    ///     let mut first = [10 * comm.rank()]; // how many items this rank has
    ///     comm.exclusive_scan(&mut first, 0, op::Sum)?;
    ///     Ok(first[0]) // the number of its first item
    /// })?;
    /// assert_eq!(firsts, [0, 0, 10, 30]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Exscan")]
    #[track_caller]
    pub fn exclusive_scan<T: Element>(
        &self,
        buf: &mut [T],
        identity: T,
        op: impl Operator<T>,
    ) -> Result<()> {
        self.exclusive_scan_if(None, buf, identity, &op)
    }

    /// [`exclusive_scan`](Self::exclusive_scan) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`exclusive_scan`](Self::exclusive_scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let most = World::new(3).run(|comm| {
    ///     let mut v = [comm.rank()];
    ///     comm.exclusive_scan_by(&mut v, 0, |a, b| a.max(b))?;
    ///     Ok(v[0])
    /// })?;
    /// assert_eq!(most, [0, 0, 1]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan_by<T: Element>(
        &self,
        buf: &mut [T],
        identity: T,
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.exclusive_scan(buf, identity, Associative(op))
    }

    /// [`exclusive_scan`](Self::exclusive_scan) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`exclusive_scan`](Self::exclusive_scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut v = [1; 10];
    ///     comm.exclusive_scan_with("chain".parse().unwrap(), &mut v, 0, op::Sum)?;
    ///     Ok(v[9])
    /// })?;
    /// assert_eq!(sums, [0, 1, 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn exclusive_scan_with<T: Element>(
        &self,
        algorithm: Algorithm,
        buf: &mut [T],
        identity: T,
        op: impl Operator<T>,
    ) -> Result<()> {
        self.exclusive_scan_if(Some(algorithm), buf, identity, &op)
    }

    #[track_caller]
    fn exclusive_scan_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        buf: &mut [T],
        identity: T,
        op: &impl Operator<T>,
    ) -> Result<()> {
        self.scan_if(algorithm, Collective::ExclusiveScan, buf, op)?;
        if self.rank() == 0 {
            // `fill` would call the `Clone` implementation of the elements.
            buf.iter_mut().for_each(|one| *one = identity);
        }
        Ok(())
    }

    #[track_caller]
    fn scan_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        collective: Collective,
        buf: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(collective, buf.len()).folding(op);
        self.run_call(ask.by(algorithm), &[], buf, op)
    }
}
