//! Broadcast: every rank gets a copy of the root's buffer.

use super::Comm;
use super::kept::ask;
use crate::Rank;
use crate::collective::{Algorithm, Collective};
use crate::error::Result;
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
    /// Short buffers: ⌈log₂ P⌉ steps of the whole buffer. Long ones: twice as many steps, in which a rank sends less
    /// than two buffers.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such root; [`RankGone`](crate::ErrorKind::RankGone),
    /// [`Mismatch`](crate::ErrorKind::Mismatch) and [`Broken`](crate::ErrorKind::Broken) if another rank makes the call
    /// fail: the buffer's contents are then unspecified.
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
    /// The binomial tree of Xiong 1999 (1-tree), run backwards; Sanders' lecture notes.
    #[doc(alias = "MPI_Bcast")]
    #[track_caller]
    pub fn broadcast<T: Element>(&self, root: Rank, buf: &mut [T]) -> Result<()> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        self.run_call(ask.by(None), &[], buf, &First)
    }

    /// [`broadcast`](Self::broadcast) with the algorithm of your choice, the same on every rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the algorithm [refuses](Algorithm::refused) the call; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let all = World::new(5).run(|comm| {
    ///     let mut v = if comm.rank() == 0 { [7; 100] } else { [0; 100] };
    ///     comm.broadcast_with("chain:segments=10".parse().unwrap(), 0, &mut v)?;
    ///     Ok(v[99])
    /// })?;
    /// assert_eq!(all, [7; 5]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn broadcast_with<T: Element>(
        &self,
        algorithm: Algorithm,
        root: Rank,
        buf: &mut [T],
    ) -> Result<()> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        self.run_call(ask.by(Some(algorithm)), &[], buf, &First)
    }
}
