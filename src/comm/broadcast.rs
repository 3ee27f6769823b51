//! Broadcast: every rank gets a copy of the root's buffer.

use super::Comm;
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::{Element, First};

/// # Broadcast
///
/// Every rank gets a copy of the root's buffer.
impl Comm {
    /// Copies the root's buffer into the buffer of every other rank.
    ///
    /// # Shape
    ///
    /// `buf` has the same length on every rank; it may be empty.
    ///
    /// # Cost
    ///
    /// Over shared memory, short buffers go through cells by default (`cells`), and long ones are read in place
    /// (`direct`); [`explain`](Self::explain) says which. By messages, as over channels and between processes:
    ///
    /// Short buffers: ⌈log₂ P⌉ steps of the whole buffer. Long ones: twice as many steps, in which a rank sends less
    /// than two buffers.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such root; [`RankGone`](crate::ErrorKind::RankGone),
    /// [`Mismatch`](crate::ErrorKind::Mismatch) and [`Broken`](crate::ErrorKind::Broken) if another rank makes the call
    /// fail: the buffer's contents are then unspecified. So they are after [`Deadlock`](crate::ErrorKind::Deadlock), if a
    /// rank can never come; [`TimedOut`](crate::ErrorKind::TimedOut), by [`World::timeout`](crate::World::timeout); and
    /// [`Revoked`](crate::ErrorKind::Revoked), if another rank has called [`shrink`](Self::shrink).
    /// [`NotPlain`](crate::ErrorKind::NotPlain) if ranks are in several processes and the elements cannot be sent there.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(5).run(|comm| {
    ///     let mut word = if comm.rank() == 3 { *b"here" } else { [0; 4] };
    ///     comm.broadcast(3, &mut word)?;
    ///     Ok(word)
    /// })?;
    /// assert_eq!(all, [*b"here"; 5]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// The binomial tree broadcast: Sanders' lecture notes; a reduction of Xiong 2015, run backwards.
    #[doc(alias = "MPI_Bcast")]
    #[track_caller]
    pub fn broadcast<T: Element>(&self, root: Rank, buf: &mut [T]) -> Result<()> {
        self.automatic().broadcast(root, buf)
    }
}

impl Using<'_> {
    /// [`Comm::broadcast`].
    #[inline]
    #[track_caller]
    pub fn broadcast<T: Element>(&self, root: Rank, buf: &mut [T]) -> Result<()> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        let ask = ask.by(self.algorithm);
        #[cfg(feature = "mpi")]
        if self.comm.shared.spans()
            && let Some(done) = self.comm.broadcast_in_levels(&ask, buf)
        {
            return done;
        }
        self.comm
            .run_call(ask, &[], buf, &First, over_cells::broadcast)
    }
}
