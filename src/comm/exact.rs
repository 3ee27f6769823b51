//! Exact sums of the numbers of all ranks.

use std::panic::Location;

use super::Comm;
use crate::error::{Error, Result};
use crate::op::{self, ExactDot, ExactSum};

/// # Exact sums
///
/// Correctly rounded sums of all numbers of all ranks.
// Inlined: a program that sums exactly compiles the `all_reduce` of accumulators, as for an element type of its own.
impl Comm {
    /// Returns the sum of the numbers of all ranks, correctly rounded, to every rank.
    ///
    /// The result has the same bits for every number of ranks, distribution and order of the numbers. Special values
    /// are those of [`ExactSum`].
    ///
    /// # Shape
    ///
    /// The ranks may have different numbers of numbers, and none.
    ///
    /// # Errors
    ///
    /// As [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let parts = [vec![1e16, 1.0], vec![], vec![-1e16, 1.0]];
    /// let sums = World::new(3).run(|comm| comm.sum_exact(&parts[comm.rank()]))?;
    /// assert_eq!(sums, [2.0; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    ///
    /// # Source
    ///
    /// Neal, *Fast Exact Summation Using Small and Large Superaccumulators*, 2015.
    #[inline]
    #[track_caller]
    pub fn sum_exact(&self, numbers: &[f64]) -> Result<f64> {
        let mut sum = [ExactSum::new()];
        sum[0].add_all(numbers);
        self.all_reduce(&mut sum, op::Sum)?;
        Ok(sum[0].value())
    }

    /// Returns the sum of the products `x[i] · y[i]` of all ranks, correctly rounded, to every rank.
    ///
    /// # Shape
    ///
    /// `x` and `y` have the same length; the ranks may have different lengths.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the lengths of `x` and `y` differ; otherwise as
    /// [`broadcast`](Self::broadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let dots = World::new(2).run(|comm| match comm.rank() {
    ///     0 => comm.dot_exact(&[1e200, 3.0], &[1e200, 5.0]),
    ///     _ => comm.dot_exact(&[-1e200], &[1e200]),
    /// })?;
    /// assert_eq!(dots, [15.0; 2]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn dot_exact(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        if x.len() != y.len() {
            let (x, y) = (x.len(), y.len());
            let refused = || {
                let lengths = format!("one vector has {x} numbers, the other {y}");
                Err(Error::usage(lengths))
            };
            return self.op(Location::caller(), &|| "dot_exact".into(), refused);
        }
        let mut dot = [ExactDot::new()];
        dot[0].add_all(x, y);
        self.all_reduce(&mut dot, op::Sum)?;
        Ok(dot[0].value())
    }
}
