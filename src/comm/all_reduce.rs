//! All-reduce: every rank gets the fold of the vectors of all ranks.

use super::Comm;
use super::using::Using;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, Operator};

/// # All-reduce
///
/// Every rank gets the fold of the vectors of all ranks.
impl Comm {
    /// Folds the buffers of all ranks, and gives every rank the result.
    ///
    /// Every `buf[i]` becomes `x₀[i] ⊕ x₁[i] ⊕ … ⊕ xₚ₋₁[i]`, with operands in rank order. All ranks get the same bits,
    /// even for floating-point numbers, and the same bits in every run: a rank that folds for itself folds the same operands
    /// in the same order as the others. Only where several NaNs meet, sign and payload of the NaN that results may differ
    /// between ranks, as Rust [leaves them open](f64#nan-bit-patterns). With [`op::SumExact`](crate::op::SumExact) the bits are
    /// the same for every number of ranks and algorithm, too, and every NaN is `NAN`.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// Over shared memory, short vectors go through cells by default (`cells`), and long ones are read in place
    /// (`direct`); [`explain`](Self::explain) says which. By messages, as over channels and between processes:
    ///
    /// Short vectors: ⌊log₂ P⌋ steps of the whole buffer. Long ones: twice as many steps, in which a rank sends less
    /// than two vectors. Two more steps if P is not a power of two.
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
    ///     let mut v = [comm.rank() as f64, 1.0];
    ///     comm.all_reduce(&mut v, op::Sum)?;
    ///     Ok(v)
    /// })?;
    /// assert_eq!(sums, [[6.0, 4.0]; 4]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Foster, *Designing and Building Parallel Programs*, 11.1 and 11.2; Rabenseifner, in Thakur,
    /// Rabenseifner and Gropp 2005, section 4.5.
    #[doc(alias = "MPI_Allreduce")]
    #[doc(alias = "MPI_IN_PLACE")]
    #[track_caller]
    pub fn all_reduce<T: Element>(&self, buf: &mut [T], op: impl Operator<T>) -> Result<()> {
        self.automatic().all_reduce(buf, op)
    }

    /// [`all_reduce`](Self::all_reduce) from one buffer into another.
    ///
    /// # Shape
    ///
    /// `input` and `output` have the same length, the same on every rank. Ranks that reduce in place may take part.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the two lengths differ; otherwise as [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut sum = [0];
    ///     comm.all_reduce_into(&[comm.rank()], &mut sum, op::Sum)?;
    ///     Ok(sum[0])
    /// })?;
    /// assert_eq!(sums, [3, 3, 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn all_reduce_into<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.automatic().all_reduce_into(input, output, op)
    }
}

impl Using<'_> {
    /// [`Comm::all_reduce`].
    #[inline]
    #[track_caller]
    pub fn all_reduce<T: Element>(&self, buf: &mut [T], op: impl Operator<T>) -> Result<()> {
        let ask = ask(Collective::AllReduce, buf.len()).folding(&op);
        let ask = ask.by(self.algorithm);
        #[cfg(feature = "mpi")]
        if self.comm.shared.spans()
            && let Some(done) = self.comm.all_reduce_in_levels(&ask, &[], buf, &op)
        {
            return done;
        }
        self.comm
            .run_call(ask, &[], buf, &op, over_cells::all_reduce)
    }

    /// [`Comm::all_reduce_into`].
    #[inline]
    #[track_caller]
    pub fn all_reduce_into<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let mut ask = ask(Collective::AllReduce, output.len()).folding(&op);
        ask.from_input = true;
        let ask = ask.by(self.algorithm);
        #[cfg(feature = "mpi")]
        if self.comm.shared.spans()
            && let Some(done) = self.comm.all_reduce_in_levels(&ask, input, output, &op)
        {
            return done;
        }
        self.comm
            .run_call(ask, input, output, &op, over_cells::all_reduce_into)
    }
}
