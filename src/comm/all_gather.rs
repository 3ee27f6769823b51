//! All-gather: every rank gets a block from every rank.

use super::Comm;
use super::run_call::blocks_of;
use super::using::Using;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, First};

/// # All-gather
///
/// Every rank gets a block from every rank.
impl Comm {
    /// Collects a block from every rank, in rank order, at every rank.
    ///
    /// # Shape
    ///
    /// `all` has the same length N on every rank, and `block` has the length of the rank's own block:
    /// [`span::block(N, size, rank)`](crate::span::block). Where N is a multiple of the number of ranks, as in MPI, all
    /// blocks have the same length.
    ///
    /// # Cost
    ///
    /// Over shared memory, short blocks go through cells by default (`cells`), and long ones are read in place
    /// (`direct`); [`explain`](Self::explain) says which. By messages, as over channels and between processes:
    ///
    /// Short blocks: ⌈log₂ P⌉ steps. Long ones: P - 1 steps of one block each.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the block has another length; otherwise as [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(3).run(|comm| {
    ///     let mut all = [0; 3];
    ///     comm.all_gather(&[comm.rank() * comm.rank()], &mut all)?;
    ///     Ok(all)
    /// })?;
    /// assert_eq!(all, [[0, 1, 4]; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Bruck et al., *Efficient algorithms for all-to-all communications in multiport message-passing
    /// systems*, 1997; the ring: Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations
    /// in MPICH*, 2005, section 4.1.
    #[doc(alias = "MPI_Allgather")]
    #[track_caller]
    pub fn all_gather<T: Element>(&self, block: &[T], all: &mut [T]) -> Result<()> {
        self.automatic().all_gather(block, all)
    }

    /// [`all_gather`](Self::all_gather) with blocks of any lengths: `counts[r]` elements from rank `r`, the same counts
    /// on every rank.
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
    /// let all = World::new(3).run(|comm| {
    ///     let counts = [1, 0, 2];
    ///     let mut all = [' '; 3];
    ///     comm.all_gather_v(&['x', 'y'][..counts[comm.rank()]], &counts, &mut all)?;
    ///     Ok(all)
    /// })?;
    /// assert_eq!(all, [['x', 'x', 'y']; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Allgatherv")]
    #[track_caller]
    pub fn all_gather_v<T: Element>(
        &self,
        block: &[T],
        counts: &[usize],
        all: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::AllGather, 0);
        self.run_call_v(
            ask,
            blocks_of(self, counts),
            block,
            all,
            &First,
            over_cells::all_gather,
        )
    }
}

impl Using<'_> {
    /// [`Comm::all_gather`].
    #[inline]
    #[track_caller]
    pub fn all_gather<T: Element>(&self, block: &[T], all: &mut [T]) -> Result<()> {
        let ask = ask(Collective::AllGather, all.len()).by(self.algorithm);
        self.comm
            .run_call(ask, block, all, &First, over_cells::all_gather)
    }
}
