//! Barrier: no rank leaves it before every rank has entered it.

use super::Comm;
use super::using::Using;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::First;

/// # Barrier
///
/// No rank leaves a barrier before every rank has entered it.
impl Comm {
    /// Blocks until every rank has called it.
    ///
    /// # Errors
    ///
    /// [`RankGone`](crate::ErrorKind::RankGone) if a rank has ended and will not come,
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if a rank is in another collective; otherwise as
    /// [`broadcast`](Self::broadcast), except for the root and the elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let here = AtomicUsize::new(0);
    /// World::new(4).run(|comm| {
    ///     here.fetch_add(1, Ordering::Relaxed);
    ///     comm.barrier()?;
    ///     assert_eq!(here.load(Ordering::Relaxed), 4);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Barrier")]
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.automatic().barrier()
    }
}

impl Using<'_> {
    /// [`Comm::barrier`].
    #[inline]
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        let ask = ask(Collective::Barrier, 0).by(self.algorithm);
        #[cfg(feature = "mpi")]
        if self.comm.shared.spans()
            && let Some(done) = self.comm.barrier_in_levels(&ask)
        {
            return done;
        }
        let comm = self.comm;
        comm.core.port.meeting(comm.shared.context, || {
            comm.run_call::<(), _>(ask, &[], &mut [], &First, over_cells::barrier)
        })
    }
}
