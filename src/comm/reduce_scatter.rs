//! Reduce-scatter: every rank gets one block of the fold of the vectors of all ranks.

use super::Comm;
use super::run_call::blocks_of;
use super::using::Using;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, Operator};

/// # Reduce-scatter
///
/// Every rank gets one block of the fold of the vectors of all ranks.
impl Comm {
    /// Folds the vectors of all ranks, and gives rank `r` block `r` of the result.
    ///
    /// # Shape
    ///
    /// `input` has the same length N on every rank, and `output` has the length of the rank's own block:
    /// [`span::block(N, size, rank)`](crate::span::block).
    ///
    /// # Cost
    ///
    /// Over shared memory, short vectors go through cells by default (`cells`), and long ones are read in place
    /// (`direct`); [`explain`](Self::explain) says which. By messages, as over channels and between processes:
    ///
    /// A rank sends its vector except its own block, in ⌈log₂ P⌉ steps or a few more.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the output is not as long as the block; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let blocks = World::new(3).run(|comm| {
    ///     let mut mine = [0; 2];
    ///     comm.reduce_scatter(&[1, 2, 3, 4, 5, 6], &mut mine, op::Sum)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [[3, 6], [9, 12], [15, 18]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Foster, *Designing and Building Parallel Programs*, 11.2: recursive halving.
    #[doc(alias = "MPI_Reduce_scatter_block")]
    #[track_caller]
    pub fn reduce_scatter<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.automatic().reduce_scatter(input, output, op)
    }

    /// [`reduce_scatter`](Self::reduce_scatter) with blocks of any lengths: `counts[r]` elements for rank `r`, the same
    /// counts on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit the counts; otherwise as
    /// [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let blocks = World::new(2).run(|comm| {
    ///     let mut mine = vec![0; [3, 1][comm.rank()]];
    ///     comm.reduce_scatter_v(&[1, 2, 3, 4], &[3, 1], &mut mine, op::Sum)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [vec![2, 4, 6], vec![8]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Reduce_scatter")]
    #[track_caller]
    pub fn reduce_scatter_v<T: Element>(
        &self,
        input: &[T],
        counts: &[usize],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        self.run_call_v(
            ask,
            blocks_of(self, counts),
            input,
            output,
            &op,
            over_cells::reduce_scatter,
        )
    }
}

impl Using<'_> {
    /// [`Comm::reduce_scatter`].
    #[inline]
    #[track_caller]
    pub fn reduce_scatter<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        let ask = ask.by(self.algorithm);
        self.comm
            .run_call(ask, input, output, &op, over_cells::reduce_scatter)
    }
}
