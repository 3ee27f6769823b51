//! Which process each rank is in.

use super::Comm;
use crate::Rank;

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

    /// Returns whether a rank of this communicator is in this process.
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
    pub fn is_near(&self, rank: Rank) -> bool {
        !self.fabric().is_far(self.world_rank(rank))
    }
}
