//! Scatter: every rank gets a block of the root's vector.

use super::Comm;
use super::run_call::blocks_of;
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, First};

/// # Scatter
///
/// Every rank gets a block of the root's vector.
impl Comm {
    /// Distributes the root's vector: rank `r` gets block `r`.
    ///
    /// # Shape
    ///
    /// Blocks have the same length on every rank; for other lengths see [`scatter_v`](Self::scatter_v). The root passes
    /// all blocks, the other ranks pass `None`.
    ///
    /// # Cost
    ///
    /// As [`gather`](Self::gather), of which it is the reverse.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the root passes no vector or one of another length, or if another rank
    /// passes one with elements; otherwise as [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let blocks = World::new(3).run(|comm| {
    ///     let all = [1, 2, 3, 4, 5, 6];
    ///     let mut mine = [0; 2];
    ///     comm.scatter(2, (comm.rank() == 2).then_some(&all[..]), &mut mine)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [[1, 2], [3, 4], [5, 6]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Scatter")]
    #[track_caller]
    pub fn scatter<T: Element>(
        &self,
        root: Rank,
        all: Option<&[T]>,
        block: &mut [T],
    ) -> Result<()> {
        self.automatic().scatter(root, all, block)
    }

    /// [`scatter`](Self::scatter) with blocks of any lengths: `counts[r]` elements to rank `r`, the same counts on
    /// every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit the counts; otherwise as [`scatter`](Self::scatter).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let blocks = World::new(2).run(|comm| {
    ///     let counts = [1, 2];
    ///     let mut mine = vec![0; counts[comm.rank()]];
    ///     let all = (comm.rank() == 1).then_some(&[5, 6, 7][..]);
    ///     comm.scatter_v(1, all, &counts, &mut mine)?;
    ///     Ok(mine)
    /// })?;
    /// assert_eq!(blocks, [vec![5], vec![6, 7]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Scatterv")]
    #[track_caller]
    pub fn scatter_v<T: Element>(
        &self,
        root: Rank,
        all: Option<&[T]>,
        counts: &[usize],
        block: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::Scatter, 0).to_root(root);
        self.run_call_v(
            ask,
            blocks_of(self, counts),
            all.unwrap_or(&[]),
            block,
            &First,
            over_cells::scatter,
        )
    }
}

impl Using<'_> {
    /// [`Comm::scatter`].
    #[inline]
    #[track_caller]
    pub fn scatter<T: Element>(
        &self,
        root: Rank,
        all: Option<&[T]>,
        block: &mut [T],
    ) -> Result<()> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Scatter, length)
            .to_root(root)
            .by(self.algorithm);
        self.comm
            .run_call(ask, all.unwrap_or(&[]), block, &First, over_cells::scatter)
    }
}
