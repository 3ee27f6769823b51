//! Closures as operators, with operands in rank order or in any order.

use super::{Element, Operator, OperatorKind};

/// A closure or function, which must be associative.
impl<T: Element, F: Fn(T, T) -> T> Operator<T> for F {
    #[inline]
    fn combine(&self, left: T, right: T) -> T {
        self(left, right)
    }
    fn kind(&self) -> OperatorKind {
        OperatorKind::Closure
    }
}

/// Wraps a closure as an operator that commutes, so that its operands may be exchanged.
///
/// # Examples
///
/// ```
/// use rankfold::{World, op};
///
/// let longest = World::new(3).run(|comm| {
///     let mut v = [comm.rank() as u64 * 10];
///     comm.all_reduce(&mut v, op::commutative(|a: u64, b| a.max(b)))?;
///     Ok(v[0])
/// })?;
/// assert_eq!(longest, [20, 20, 20]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[doc(alias = "MPI_Op_create")]
pub fn commutative<T: Element, F: Fn(T, T) -> T>(f: F) -> Commutative<F> {
    Commutative(f)
}

/// The operator returned by [`commutative`].
#[derive(Clone, Copy, Debug)]
pub struct Commutative<F>(F);

impl<T: Element, F: Fn(T, T) -> T> Operator<T> for Commutative<F> {
    #[inline]
    fn combine(&self, left: T, right: T) -> T {
        (self.0)(left, right)
    }
    fn commutes(&self) -> bool {
        true
    }
    fn kind(&self) -> OperatorKind {
        OperatorKind::Commutative
    }
}
