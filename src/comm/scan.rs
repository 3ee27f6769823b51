//! Scans: every rank gets the fold of the vectors of the ranks before it, with or without its own.

use super::Comm;
use super::using::Using;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, Operator};

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
    /// ⌈log₂ P⌉ steps of the whole buffer; a long buffer is read once, and written once, in shares.
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
        self.automatic().scan(buf, op)
    }

    /// Gives rank `r` the fold of the vectors of ranks `0..r`, in rank order, and gives rank 0 the identity.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// ⌈log₂ P⌉ steps of the whole buffer, or one more; a long one is read and written in shares, as in
    /// [`scan`](Self::scan).
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
        self.automatic().exclusive_scan(buf, identity, op)
    }
}

impl Using<'_> {
    /// [`Comm::scan`].
    #[inline]
    #[track_caller]
    pub fn scan<T: Element>(&self, buf: &mut [T], op: impl Operator<T>) -> Result<()> {
        let ask = ask(Collective::Scan, buf.len()).folding(&op);
        self.comm
            .run_call(ask.by(self.algorithm), &[], buf, &op, over_cells::scan)
    }

    /// [`Comm::exclusive_scan`].
    #[inline]
    #[track_caller]
    pub fn exclusive_scan<T: Element>(
        &self,
        buf: &mut [T],
        identity: T,
        op: impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::ExclusiveScan, buf.len()).folding(&op);
        self.comm.run_call(
            ask.by(self.algorithm),
            &[],
            buf,
            &op,
            over_cells::exclusive_scan,
        )?;
        if self.comm.rank() == 0 {
            // `fill` would call the `Clone` implementation of the elements.
            buf.iter_mut().for_each(|one| *one = identity);
        }
        Ok(())
    }
}
