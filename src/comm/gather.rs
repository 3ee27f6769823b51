//! Gather: the root gets a block from every rank.

use super::Comm;
use super::run_call::blocks_of;
use super::started_movements::blocks_like;
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, First};

/// # Gather
///
/// The root gets a block from every rank.
impl Comm {
    /// Collects a block from every rank at the root. The root gets them in rank order, the other ranks get `None`.
    ///
    /// # Shape
    ///
    /// Blocks have the same length on every rank; for other lengths see [`gather_v`](Self::gather_v).
    ///
    /// # Cost
    ///
    /// Over shared memory, short blocks go through cells by default (`cells`), and long ones are read in place
    /// (`direct`); [`explain`](Self::explain) says which. By messages, as over channels and between processes:
    ///
    /// Short blocks: ⌈log₂ P⌉ steps. Long ones: P - 1 steps at the root, each block moved once.
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
    /// let all = World::new(3).run(|comm| comm.gather(1, &[comm.rank(), 9]))?;
    /// assert_eq!(all, [None, Some(vec![0, 9, 1, 9, 2, 9]), None]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Gather")]
    #[track_caller]
    pub fn gather<T: Element>(&self, root: Rank, block: &[T]) -> Result<Option<Vec<T>>> {
        self.automatic().gather(root, block)
    }

    /// [`gather`](Self::gather) into a buffer that the root provides.
    ///
    /// # Shape
    ///
    /// `all` has room for the blocks of all ranks at the root, and is empty on the other ranks.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if `all` has another length, on whatever rank; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let mut all = vec![0; if comm.rank() == 0 { 3 } else { 0 }];
    ///     comm.gather_into(0, &[10 * comm.rank()], &mut all)?;
    ///     assert!(comm.rank() > 0 || all == [0, 10, 20]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn gather_into<T: Element>(&self, root: Rank, block: &[T], all: &mut [T]) -> Result<()> {
        self.automatic().gather_into(root, block, all)
    }

    /// [`gather_into`](Self::gather_into) with blocks of any lengths: `counts[r]` elements from rank `r`, the same
    /// counts on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a buffer does not fit the counts; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let counts = [2, 0, 1];
    ///     let mut all = vec![' '; if comm.rank() == 0 { 3 } else { 0 }];
    ///     comm.gather_v(0, &['a', 'b'][..counts[comm.rank()]], &counts, &mut all)?;
    ///     assert!(comm.rank() > 0 || all == ['a', 'b', 'a']);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Gatherv")]
    #[track_caller]
    pub fn gather_v<T: Element>(
        &self,
        root: Rank,
        block: &[T],
        counts: &[usize],
        all: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::Gather, 0).to_root(root);
        self.run_call_v(
            ask,
            blocks_of(self, counts),
            block,
            all,
            &First,
            over_cells::gather,
        )
    }
}

impl Using<'_> {
    /// [`Comm::gather`].
    #[inline]
    #[track_caller]
    pub fn gather<T: Element>(&self, root: Rank, block: &[T]) -> Result<Option<Vec<T>>> {
        let at_root = self.comm.rank() == root;
        let ranks = if at_root { self.comm.size() } else { 0 };
        let mut all = blocks_like(block, ranks);
        self.gather_into(root, block, &mut all)?;
        Ok(at_root.then_some(all))
    }

    /// [`Comm::gather_into`].
    #[inline]
    #[track_caller]
    pub fn gather_into<T: Element>(&self, root: Rank, block: &[T], all: &mut [T]) -> Result<()> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Gather, length).to_root(root);
        self.comm.run_call(
            ask.by(self.algorithm),
            block,
            all,
            &First,
            over_cells::gather,
        )
    }
}
