//! Marks: a number that travels with a message beside its tag. No receive matches by it.
//!
//! A layer above the library says by it what its messages hold, in the envelope instead of in the message: that of MPI's C
//! interface has type signatures.

use std::fmt;
use std::ops::Deref;

use super::{Comm, Status};

/// A communicator whose messages bear a mark while this value is there: all that this rank sends between two ranks,
/// blocking or started. Without one the mark is 0.
///
/// # Examples
///
/// ```
/// use rankfold::{Marked, World};
///
/// World::new(1).run(|comm| {
///     Marked::new(comm, 5).send(0, 1, &[2.0])?;
///     comm.send(0, 1, &[3.0])?;
///     assert_eq!(comm.recv::<f64>(0, 1)?.1.mark(), 5);
///     assert_eq!(comm.recv::<f64>(0, 1)?.1.mark(), 0);
///     Ok(())
/// })?;
/// # Ok::<(), rankfold::WorldError>(())
/// ```
pub struct Marked<'c> {
    comm: &'c Comm,
}

impl fmt::Debug for Marked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "Marked")
    }
}

impl<'c> Marked<'c> {
    /// Marks what is sent through the result.
    #[inline]
    pub fn new(comm: &'c Comm, mark: u32) -> Marked<'c> {
        comm.core.mark.set(mark);
        Marked { comm }
    }
}

impl Deref for Marked<'_> {
    type Target = Comm;

    #[inline]
    fn deref(&self) -> &Comm {
        self.comm
    }
}

impl Drop for Marked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.comm.core.mark.set(0);
    }
}

impl Status {
    /// Returns the mark of the message.
    #[doc(hidden)]
    #[inline]
    pub fn mark(&self) -> u32 {
        self.mark
    }
}
