//! Duplicates of a communicator that are made without waiting.

use std::panic::Location;

use super::Comm;
use crate::error::{Error, Result};
use crate::transport::trace::origin::Birth;

/// # Communicators: non-blocking duplicates
impl Comm {
    /// [`dup`](Comm::dup) that waits for no other rank. All ranks call it, the first to do so makes the communicator, and
    /// the n-th call of each gives the same one; what is sent there to a rank that has not called it yet is there when
    /// it has. Unlike collective calls, those that do not match are not found: a rank that never calls it is one that
    /// never comes to the first collective there.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if some ranks are in other processes.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(2).run(|comm| {
    ///     if comm.rank() == 0 {
    ///         comm.idup()?.send(1, 7, &[2])?;
    ///         comm.send(1, 7, &[1])?;
    ///     } else {
    ///         // Rank 0 has not waited for this rank.
    ///         assert_eq!(comm.recv::<i32>(0, 7)?.0, [1]);
    ///         assert_eq!(comm.idup()?.recv::<i32>(0, 7)?.0, [2]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Comm_idup")]
    #[track_caller]
    pub fn idup(&self) -> Result<Comm> {
        let site = Location::caller();
        let duplicate = self.op(site, &|| "idup".into(), || {
            if let Some(far) = (0..self.size()).find(|rank| self.is_elsewhere(*rank)) {
                return Err(Error::usage(format!(
                    "rank {far} is in another process, where no duplicate can be found: use dup"
                )));
            }
            let make = || {
                let origin = self.shared.origin.child(Birth::Dup, site);
                self.fabric().new_comm(self.shared.members.clone(), origin)
            };
            let (me, size) = (self.rank(), self.size());
            let shared = self.shared.duplicates.take(me, size, make);
            let mut duplicate = Comm::of(self.core.clone(), shared, me);
            duplicate.alike = self.alike;
            Ok(duplicate)
        })?;
        // Afterwards, since it calls functions of the program.
        self.attributes.copy_to(&duplicate.attributes);
        Ok(duplicate)
    }
}
