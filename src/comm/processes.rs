//! Which process each rank is in.

use super::Comm;
use crate::Rank;
use crate::error::Result;

/// # Introspection: processes
///
/// Which ranks share the memory of this process.
impl Comm {
    /// Returns the number of this process among those of the world; 0 if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let processes = World::new(2).run(|comm| Ok((comm.process(), comm.processes())))?;
    /// assert_eq!(processes, [(0, 1); 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn process(&self) -> usize {
        self.fabric().process().0
    }

    /// Returns the number of processes of the world.
    pub fn processes(&self) -> usize {
        self.fabric().process().1
    }

    /// Makes a communicator of one rank of each process, the lowest of this communicator there; returns `None` for the
    /// others. With [`split_by`](Self::split_by)`(Level::Process)` it is what a program needs that works in levels of its
    /// own. All ranks call it together.
    ///
    /// # Errors
    ///
    /// As [`split_if`](Self::split_if).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let leaders = World::new(3).run(|comm| Ok(comm.leaders()?.is_some()))?;
    /// assert_eq!(leaders, [true, false, false]); // one process
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn leaders(&self) -> Result<Option<Comm>> {
        let process = |rank| self.fabric().process_of(self.to_world(rank));
        let leads = (0..self.rank()).all(|rank| process(rank) != self.process());
        self.split_if(leads.then_some(0), 0)
    }

    /// Returns whether a rank of this communicator is in this process (MPI: `MPI_COMM_TYPE_SHARED`). It says nothing of
    /// how far apart the cores of the ranks are.
    ///
    /// # Panics
    ///
    /// Panics if there is no such rank.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(2).run(|comm| {
    ///     assert!(comm.is_near(1 - comm.rank()));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn is_near(&self, rank: Rank) -> bool {
        self.assert_member(rank);
        !self.fabric().is_far(self.to_world(rank))
    }
}
