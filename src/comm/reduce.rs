//! Reduce: the root gets the fold of the vectors of all ranks.

use super::Comm;
use super::run_call::kept_unless;
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, Operator};

/// # Reduce
///
/// The root gets the fold of the vectors of all ranks.
impl Comm {
    /// Folds the buffers of all ranks into the root's buffer; the buffers of the other ranks are unchanged.
    ///
    /// The root's `buf[i]` becomes `x₀[i] ⊕ x₁[i] ⊕ … ⊕ xₚ₋₁[i]`, where `xᵣ` is the buffer that rank `r` passed.
    /// Operands of an operator that does not commute stay in rank order, whatever the root.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// Over shared memory, short vectors go through cells by default (`cells`), and long ones are read in place
    /// (`direct`). [`explain`](Self::explain) says which. By messages, as over channels and between processes:
    ///
    /// Short vectors: ⌈log₂ P⌉ steps of the whole buffer, and one more for an operator that does not commute and a root
    /// that is not rank 0. Long ones: about twice as many steps, in which a rank sends less than two vectors.
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
    ///     let mut v = [comm.rank(), 1];
    ///     comm.reduce(2, &mut v, op::Sum)?;
    ///     Ok(v)
    /// })?;
    /// assert_eq!(sums, [[0, 1], [1, 1], [6, 4], [3, 1]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// The unified reduce loop of Xiong 2015 over the binomial tree; Rabenseifner's reduce, in
    /// Thakur, Rabenseifner and Gropp 2005, section 4.4.
    #[doc(alias = "MPI_Reduce")]
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        root: Rank,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.automatic().reduce(root, buf, op)
    }

    /// [`reduce`](Self::reduce) from inputs that stay unchanged on all ranks: the result goes to the root's `output`.
    ///
    /// Some ranks may call this and others [`reduce`](Self::reduce).
    ///
    /// # Shape
    ///
    /// `input` and the root's `output` have the same length on every rank. The outputs of the other ranks are left as
    /// they are, and may be empty.
    ///
    /// # Cost
    ///
    /// As [`reduce`](Self::reduce). A long vector is not copied first if all ranks fold it
    /// directly ([`Algorithm::Direct`](crate::collective::Algorithm::Direct)).
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the root's output is not as long as its input; otherwise as
    /// [`reduce`](Self::reduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut sum = [0; 2];
    ///     comm.reduce_into(1, &[comm.rank(), 1], &mut sum, op::Sum)?;
    ///     Ok(sum)
    /// })?;
    /// assert_eq!(sums, [[0, 0], [3, 3], [0, 0]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_into<T: Element>(
        &self,
        root: Rank,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.automatic().reduce_into(root, input, output, op)
    }
}

impl Using<'_> {
    /// [`Comm::reduce`].
    #[inline]
    #[track_caller]
    pub fn reduce<T: Element>(
        &self,
        root: Rank,
        buf: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::Reduce, buf.len()).to_root(root);
        let ask = ask.folding(&op).by(self.algorithm);
        let (input, output) = kept_unless(self.comm.rank() == root, buf);
        self.comm
            .run_call(ask, input, output, &op, over_cells::reduce)
    }

    /// [`Comm::reduce_into`].
    #[inline]
    #[track_caller]
    pub fn reduce_into<T: Element>(
        &self,
        root: Rank,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::Reduce, input.len()).to_root(root);
        let mut ask = ask.folding(&op).by(self.algorithm);
        if self.comm.rank() != root {
            return self
                .comm
                .run_call(ask, input, &mut [], &op, over_cells::reduce);
        }
        ask.from_input = true;
        self.comm
            .run_reduce_into(ask, input, output, &op, over_cells::reduce)
    }
}
