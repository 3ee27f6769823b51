//! Collectives with an algorithm that the caller chooses: the view. Its methods stand beside those of `Comm`, which run
//! the same code with the automatic choice.

use std::fmt;

use super::Comm;
use crate::collective::Algorithm;

/// # Collectives with an algorithm of your choice
///
/// The automatic choice is usually the best; a program that compares algorithms names them.
impl Comm {
    /// Returns the collectives of this communicator with an algorithm of your choice.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, collective::Algorithm, op};
    ///
    /// let sums = World::new(4).run(|comm| {
    ///     let mut v = [comm.rank(); 8];
    ///     comm.using(Algorithm::Ring).all_reduce(&mut v, op::Sum)?;
    ///     Ok(v[7])
    /// })?;
    /// assert_eq!(sums, [6; 4]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    pub fn using(&self, algorithm: Algorithm) -> Using<'_> {
        Using {
            comm: self,
            algorithm: Some(algorithm),
        }
    }

    /// The collectives with the algorithm that is chosen for each call: those of [`Comm`] itself.
    #[inline]
    pub(super) fn automatic(&self) -> Using<'_> {
        Using {
            comm: self,
            algorithm: None,
        }
    }
}

/// The collectives of a communicator with one algorithm; see [`Comm::using`].
///
/// All ranks must use the same algorithm in the same call.
///
/// # Errors
///
/// Each method fails as the one of [`Comm`] with its name does, and with [`Usage`](crate::ErrorKind::Usage) if the
/// algorithm [refuses](Algorithm::refused) the call: it computes another collective, it needs an operator that
/// commutes (see [`op::commutative`](crate::op::commutative)), another number of ranks or another root, or the vectors
/// do not fit. Ranks that use different algorithms get [`Mismatch`](crate::ErrorKind::Mismatch).
///
/// # Examples
///
/// ```
/// use rankfold::{ErrorKind, World, collective::Algorithm, op};
///
/// let firsts = World::new(5).run(|comm| {
///     // Algorithms have names, too: `rankfold algorithms` prints them.
///     let pipeline = comm.using("chain:segments=10".parse().unwrap());
///     let mut v = [comm.rank() as u64; 100];
///     pipeline.scan(&mut v, op::Sum)?;
///     pipeline.broadcast(4, &mut v)?;
///
///     let refused = comm.using(Algorithm::Dissemination).all_reduce(&mut v, op::Sum).unwrap_err();
///     assert!(matches!(refused.kind(), ErrorKind::Usage { .. }));
///     Ok(v[0])
/// })?;
/// assert_eq!(firsts, [10; 5]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[derive(Clone, Copy)]
#[must_use = "it does nothing until one of its collectives is called"]
pub struct Using<'a> {
    pub(super) comm: &'a Comm,
    /// `None` for the automatic choice.
    pub(super) algorithm: Option<Algorithm>,
}

impl fmt::Debug for Using<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.comm.show(f, "Using")
    }
}
