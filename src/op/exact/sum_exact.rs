//! The operator whose reductions are exact sums, rounded once.

use super::summand::Summand;
use crate::op::{Operator, OperatorKind};

/// The correctly rounded sum of `f64` or `f32`: in a reduction over ranks, the sum of the numbers of all ranks at each
/// place, rounded once.
///
/// The result has the same bits for every algorithm, every order of the ranks and every distribution of the numbers
/// among them. It is that of [`all_reduce`](crate::Comm::all_reduce), [`reduce`](crate::Comm::reduce),
/// [`reduce_scatter`](crate::Comm::reduce_scatter), [`scan`](crate::Comm::scan),
/// [`exclusive_scan`](crate::Comm::exclusive_scan), their variants, [`reduce_over`](crate::Comm::reduce_over) and
/// [`run_schedule`](crate::Comm::run_schedule). Calls that fold one number after the other refuse it: started and fused
/// ones, and windows. [`Comm::sum_exact`](crate::Comm::sum_exact) is for one sum of all numbers of all vectors.
///
/// [`combine`](Operator::combine) has two operands and one result, so it is their plain sum: a function of your own
/// that calls it for several operands rounds several times.
///
/// # Special values
///
/// As those of [`ExactSum`](crate::op::ExactSum): a NaN, or infinities of both signs, give the one NaN `f64::NAN`;
/// otherwise an infinity gives itself. Intermediate sums do not overflow. A sum that is zero is `+0`, unless all
/// numbers are `-0`.
///
/// # Cost
///
/// Two ranks add as by [`Sum`](crate::op::Sum). Of more ranks, reductions without a named algorithm read the vectors of
/// all ranks in place (algorithm `direct`); up to seven `f64`, in an all_reduce of more than four ranks with a CPU each up
/// to three, go over cells, as accumulators. Times of an all_reduce of `f64`, divided by those by `Sum`, on two cores of an
/// EPYC:
///
/// | ranks | 1 Ki | 64 Ki | 1 Mi |
/// |---|---|---|---|
/// | 2 | 1.0 | 1.0 | 1.0 |
/// | 4 | 1.2-1.3 | 2.8-3.2 | 1.3-1.5 |
/// | 8 | 1.2 | 2.2-2.3 | 1.6-1.7 |
/// | 8, all sums of numbers of very different sizes cancel | 3.9 | 28 | 9 |
///
/// Vectors of up to 64 numbers take 1.2 to 2.2 times as long. A scan of more than two ranks, and an algorithm by name
/// other than `direct`, exchange accumulators: 280 bytes for each `f64`, 48 for each `f32`. A scan without a named
/// algorithm takes cells for up to 2 KiB of them where a scan of as many bytes does, otherwise `doubling`. At four ranks,
/// 1 Ki `f64`
/// take 13 to 30 times as long as by `Sum`, 64 Ki 180 to 230 times. They go in pieces of 256 KiB, except that a
/// `reduce_scatter` by name needs accumulators for the whole vector. [Tuning tables](crate::World::tuned) and
/// [`explain`](crate::Comm::explain) concern other operators.
///
/// # Examples
///
/// ```
/// use rankfold::{World, op};
///
/// let parts = [[1e16, 1e300], [1.0, 1.0], [-1e16, -1e300]];
/// let sums = World::new(3).run(|comm| {
///     let mut v = parts[comm.rank()];
///     comm.all_reduce(&mut v, op::SumExact)?;
///     Ok(v)
/// })?;
/// assert_eq!(sums, [[1.0, 1.0]; 3]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
///
/// # Source
///
/// Neal, *Fast Exact Summation Using Small and Large Superaccumulators*, 2015; Ogita, Rump and Oishi, *Accurate Sum and
/// Dot Product*, 2005.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SumExact;

/// The types of which [`SumExact`] forms sums.
#[derive(Clone, Copy, Debug)]
pub enum ExactOf {
    F32,
    F64,
}

macro_rules! sum_exact {
    ($t:ty, $of:expr) => {
        impl Operator<$t> for SumExact {
            #[inline(always)]
            fn combine(&self, left: $t, right: $t) -> $t {
                (left + right).canonical()
            }
            #[inline]
            fn commutes(&self) -> bool {
                true
            }
            #[inline]
            fn kind(&self) -> OperatorKind {
                OperatorKind::SumExact
            }
            #[inline(always)]
            fn exact_of(&self) -> Option<ExactOf> {
                Some($of)
            }
        }
    };
}
sum_exact!(f32, ExactOf::F32);
sum_exact!(f64, ExactOf::F64);
