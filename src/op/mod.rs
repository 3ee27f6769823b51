//! Operators: the functions with which a reduction combines two elements.
//!
//! | operator | on | rule |
//! |---|---|---|
//! | [`Sum`], [`Product`] | integers, floats | integers wrap around |
//! | [`SumExact`] | `f64`, `f32` | the sum over all ranks, rounded once: the same bits in every order |
//! | [`Sum`] | [`ExactSum`], [`ExactDot`] | rounded once, at the end |
//! | [`Min`], [`Max`] | integers, floats | a NaN wins over any number; -0 is less than +0 |
//! | [`And`], [`Or`], [`Xor`] | integers (bit by bit), `bool` | |
//! | [`LogicalAnd`], [`LogicalOr`], [`LogicalXor`] | integers (nonzero is true), `bool` | what was combined is 0 or 1 |
//! | all of these | arrays and tuples (up to six parts) of these | part by part; for pairs (value, place) see the next line |
//! | [`MinLoc`], [`MaxLoc`] | pairs (value, place) | for equal values the lower place; a NaN wins |
//! | [`First`] | any element | the left one |
//! | a closure or function `Fn(T, T) -> T` | any element | associative: operands stay in rank order |
//! | [`commutative`]`(closure)` | any element | may be applied in any order |
//! | a type of your own that implements [`Operator`] | | |
//!
//! With the feature `num-complex`, [`Sum`] and [`Product`] are also on complex numbers.

pub(crate) mod block;
mod closure;
#[cfg(feature = "num-complex")]
mod complex;
pub(crate) mod copies;
pub(crate) mod element_vec;
pub(crate) mod elements;
pub(crate) mod exact;
pub(crate) mod folds;
pub(crate) mod kernels;
mod listed;
mod local;
pub(crate) mod named;
mod numbers;
pub(crate) mod owned;
mod parts;
#[cfg(feature = "mpi")]
pub(crate) mod plain;
pub(crate) mod signature;
pub(crate) mod vectors;

pub use closure::{Commutative, commutative};
pub use exact::{ExactDot, ExactSum, SumExact};
pub(crate) use kernels::{append, copied};
pub use local::reduce_local;
#[cfg(all(test, feature = "measure"))]
pub(crate) use named::fold_two;
pub(crate) use named::{fold_left, fold_right};
pub use numbers::{
    And, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min, MinLoc, Or, Product, Sum, Xor,
};
#[cfg(feature = "mpi")]
pub use plain::Plain;

/// The values of messages and reductions: any plain data without a destructor.
///
/// There is nothing to derive: every suitable type implements it.
///
/// # Examples
///
/// ```
/// # fn takes<T: rankfold::op::Element>() {}
/// takes::<f64>();
/// takes::<(u8, u64)>();
/// takes::<&'static str>();
/// ```
#[doc(alias = "MPI_Datatype")]
pub trait Element: Copy + Send + Sync + 'static {}
impl<T: Copy + Send + Sync + 'static> Element for T {}

/// An associative operator on elements.
///
/// # Laws
///
/// `combine(combine(a, b), c) = combine(a, combine(b, c))`, at least up to rounding. If [`commutes`](Self::commutes)
/// returns true, `combine(a, b) = combine(b, a)`.
///
/// # Closures
///
/// Every `Fn(T, T) -> T` is an operator: a closure, a function, a method such as `f64::max`, a `&dyn Fn`. It must be
/// associative; its operands stay in rank order, unless [`commutative`] states that they may be exchanged.
///
/// ```
/// use rankfold::World;
///
/// let results = World::new(3).run(|comm| {
///     let (mut sum, mut most, mut map) = ([comm.rank()], [comm.rank() as f64], [(2, comm.rank())]);
///     comm.all_reduce(&mut sum, |a, b| a + b)?;
///     comm.all_reduce(&mut most, f64::max)?;
///     // x -> 2x + rank, one after another: composing maps does not commute.
///     comm.all_reduce(&mut map, |(a, b), (c, d)| (a * c, a * d + b))?;
///     Ok((sum[0], most[0], map[0]))
/// })?;
/// assert_eq!(results, [(3, 2.0, (8, 2 * 1 + 4 * 2)); 3]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
///
/// The compiler learns the types of a closure's parameters only after it has read the closure's body. It needs none for
/// arithmetic, comparisons, casts, calls of functions and patterns of tuples: `|a, b| (a + b) % 1009`,
/// `|a, b| if a < b { a } else { b }`, `|left, _| left`, `|a, b| u64::max(a, b)`, `|(a, b), (c, d)| (a + c, b * d)`.
/// Where the body calls a method of a parameter, accesses a field, or indexes it, write the type of that parameter
/// ("type annotations needed"): `|a: u64, b| a.max(b)`. Patterns of arrays need it, too. Often a function will do:
/// `f64::max`, `Ord::max`, `std::ops::Add::add`.
///
/// # Calls from inside
///
/// An operator may not call, directly or indirectly, a communicator of a rank that runs on its thread. Such a call
/// fails with [`Usage`](crate::ErrorKind::Usage), and the collective continues. It may run other worlds and teams. The same
/// holds for [`commutes`](Self::commutes) and [`kind`](Self::kind), which a call may ask any number of times.
#[doc(alias = "MPI_Op")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operator on `{T}`",
    note = "operators on `{T}` are those of `rankfold::op` that support it, closures `Fn({T}, {T}) -> {T}`, and types that implement `Operator<{T}>`"
)]
pub trait Operator<T: Element> {
    /// `left ⊕ right`.
    fn combine(&self, left: T, right: T) -> T;

    /// Whether the operands may be exchanged. If not, lower ranks stay on the left.
    #[doc(alias = "MPI_Op_commutative")]
    fn commutes(&self) -> bool {
        false
    }

    /// The operator's name in reports; calls on ranks whose operators have different names mismatch.
    fn kind(&self) -> OperatorKind {
        OperatorKind::Own
    }

    /// The type whose exact sums are meant, if this is [`SumExact`].
    #[doc(hidden)]
    #[inline(always)]
    fn exact_of(&self) -> Option<exact::ExactOf>
    where
        Self: Sized,
    {
        None
    }

    /// Runs a fold with this operator, or with the one that it stands for.
    #[doc(hidden)]
    #[inline(always)]
    fn meant<F: named::Fold<T>>(&self, fold: named::Task<F>)
    where
        Self: Sized,
    {
        fold.0.with(self);
    }
}

/// The name of an operator, as printed in reports and compared between calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum OperatorKind {
    /// No operator: the call has none.
    None,
    Sum,
    SumExact,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    MinLoc,
    MaxLoc,
    First,
    Closure,
    Commutative,
    Own,
}

/// Returns the left operand: for schedules that move elements and fold none.
///
/// # Examples
///
/// ```
/// use rankfold::op::{First, Operator};
///
/// assert_eq!(First.combine('a', 'b'), 'a');
/// ```
#[derive(Clone, Copy, Debug)]
pub struct First;

impl<T: Element> Operator<T> for First {
    fn combine(&self, left: T, _: T) -> T {
        left
    }
    #[inline]
    fn kind(&self) -> OperatorKind {
        OperatorKind::First
    }
}
