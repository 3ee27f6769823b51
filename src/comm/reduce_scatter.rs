//! Reduce-scatter: every rank gets one block of the fold of the vectors of all ranks.

use super::Comm;
use super::kept::ask;
use super::run_call::blocks_of;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
use crate::op::{Associative, Element, Operator};

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
        self.reduce_scatter_if(None, input, output, &op)
    }

    /// [`reduce_scatter`](Self::reduce_scatter) with a closure, which must be associative.
    ///
    /// # Errors
    ///
    /// As [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let most = World::new(2).run(|comm| {
    ///     let mut mine = [0];
    ///     comm.reduce_scatter_by(&[comm.rank(), 7], &mut mine, |a, b| a.max(b))?;
    ///     Ok(mine[0])
    /// })?;
    /// assert_eq!(most, [1, 7]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_by<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.reduce_scatter(input, output, Associative(op))
    }

    /// [`reduce_scatter`](Self::reduce_scatter) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm, op};
    ///
    /// let sums = World::new(3).run(|comm| {
    ///     let mut mine = [0];
    ///     comm.reduce_scatter_with(Algorithm::Ring, &[1, 2, 3], &mut mine, op::Sum)?;
    ///     Ok(mine[0])
    /// })?;
    /// assert_eq!(sums, [3, 6, 9]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn reduce_scatter_with<T: Element>(
        &self,
        algorithm: Algorithm,
        input: &[T],
        output: &mut [T],
        op: impl Operator<T>,
    ) -> Result<()> {
        self.reduce_scatter_if(Some(algorithm), input, output, &op)
    }

    #[track_caller]
    fn reduce_scatter_if<T: Element>(
        &self,
        algorithm: Option<Algorithm>,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(op);
        self.run_call(ask.by(algorithm), input, output, op)
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
        self.run_call_v(ask, blocks_of(self, counts), input, output, &op)
    }
}
