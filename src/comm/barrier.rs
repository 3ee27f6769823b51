//! Barrier: no rank leaves it before every rank has entered it.

use super::Comm;
use super::kept::ask;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
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
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if a rank is in another collective.
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
        self.run_call::<()>(ask(Collective::Barrier, 0), &[], &mut [], &First)
    }

    /// [`barrier`](Self::barrier) by messages, with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`barrier`](Self::barrier).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm};
    ///
    /// World::new(5).run(|comm| comm.barrier_with(Algorithm::Dissemination))?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn barrier_with(&self, algorithm: Algorithm) -> Result<()> {
        let ask = ask(Collective::Barrier, 0);
        self.run_call::<()>(ask.by(Some(algorithm)), &[], &mut [], &First)
    }
}
