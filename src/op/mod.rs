//! Operators: the functions with which a reduction combines two elements.
//!
//! | operator | on | rule |
//! |---|---|---|
//! | [`Sum`], [`Product`] | integers, floats | integers wrap around |
//! | [`Min`], [`Max`] | integers, floats | a NaN wins over any number; -0 is less than +0 |
//! | [`And`], [`Or`], [`Xor`] | integers (bit by bit), `bool` | |
//! | [`MinLoc`], [`MaxLoc`] | pairs (value, place) | for equal values the lower place; a NaN wins |
//! | [`First`] | any element | the left one |
//! | a closure through the `_by` variant of a reduction | any element | associative: operands stay in rank order |
//! | [`commutative`]`(closure)` | any element | may be applied in any order |

pub(crate) mod copies;
pub(crate) mod kernels;
pub(crate) mod named;

pub(crate) use kernels::{append, copied};
pub(crate) use named::{fold_left, fold_right, fold_two};

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
/// # Calls from inside
///
/// An operator may not call, directly or indirectly, a communicator of a rank that runs on its thread. Such a call
/// fails with [`Usage`](crate::ErrorKind::Usage), and the collective continues. It may run other worlds and teams.
#[doc(alias = "MPI_Op")]
pub trait Operator<T: Element> {
    /// `left ⊕ right`.
    fn combine(&self, left: T, right: T) -> T;

    /// Whether the operands may be exchanged. If not, lower ranks stay on the left.
    #[doc(alias = "MPI_Op_commutative")]
    fn commutes(&self) -> bool {
        false
    }

    /// The operator's name in reports; calls on ranks whose operators have different names mismatch.
    fn kind(&self) -> Kind {
        Kind::Own
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
pub enum Kind {
    /// No operator: the call has none.
    None,
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
    MinLoc,
    MaxLoc,
    First,
    Closure,
    Commutative,
    Own,
}

/// Wraps a closure as an operator that commutes.
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
    fn combine(&self, left: T, right: T) -> T {
        (self.0)(left, right)
    }
    fn commutes(&self) -> bool {
        true
    }
    fn kind(&self) -> Kind {
        Kind::Commutative
    }
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
    fn kind(&self) -> Kind {
        Kind::First
    }
}

/// A closure that is only known to be associative, as passed to the `_by` variants.
pub(crate) struct Associative<F>(pub(crate) F);

impl<T: Element, F: Fn(T, T) -> T> Operator<T> for Associative<F> {
    fn combine(&self, left: T, right: T) -> T {
        (self.0)(left, right)
    }
    fn kind(&self) -> Kind {
        Kind::Closure
    }
}

macro_rules! operator {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;
    };
}
operator!(/// `a + b`; integers wrap around.
    #[doc(alias = "MPI_SUM")]
    Sum);
operator!(/// `a × b`; integers wrap around.
    #[doc(alias = "MPI_PROD")]
    Product);
operator!(/// The minimum. For floats a NaN wins, and -0 is less than +0 (IEEE 754-2019 `minimum`).
    #[doc(alias = "MPI_MIN")]
    Min);
operator!(/// The maximum. For floats a NaN wins, and +0 is greater than -0 (IEEE 754-2019 `maximum`).
    #[doc(alias = "MPI_MAX")]
    Max);
operator!(/// `a & b`.
    #[doc(alias = "MPI_LAND")]
    #[doc(alias = "MPI_BAND")]
    And);
operator!(/// `a | b`.
    #[doc(alias = "MPI_LOR")]
    #[doc(alias = "MPI_BOR")]
    Or);
operator!(/// `a ^ b`.
    #[doc(alias = "MPI_LXOR")]
    #[doc(alias = "MPI_BXOR")]
    Xor);
operator!(/// The pair (value, place) with the smaller value; for equal values the lower place.
    #[doc(alias = "MPI_MINLOC")]
    MinLoc);
operator!(/// The pair (value, place) with the greater value; for equal values the lower place.
    #[doc(alias = "MPI_MAXLOC")]
    MaxLoc);

macro_rules! combine {
    ($op:ident: $($t:ty),* => $f:expr) => { $(
        impl Operator<$t> for $op {
            #[inline(always)]
            fn combine(&self, left: $t, right: $t) -> $t {
                let f: fn($t, $t) -> $t = $f;
                f(left, right)
            }
            fn commutes(&self) -> bool {
                true
            }
            fn kind(&self) -> Kind {
                Kind::$op
            }
        }
    )* };
}
macro_rules! integers {
    ($($t:ty),*) => { $(
        combine!(Sum: $t => |a, b| a.wrapping_add(b));
        combine!(Product: $t => |a, b| a.wrapping_mul(b));
        combine!(Min: $t => |a, b| if b < a { b } else { a });
        combine!(Max: $t => |a, b| if b > a { b } else { a });
        combine!(And: $t => |a, b| a & b);
        combine!(Or: $t => |a, b| a | b);
        combine!(Xor: $t => |a, b| a ^ b);
        located!($t, |a: $t, b: $t| a < b, |a: $t, b: $t| a > b);
    )* };
}
macro_rules! floats {
    ($($t:ty),*) => { $(
        combine!(Sum: $t => |a, b| a + b);
        combine!(Product: $t => |a, b| a * b);
        // The comparisons compile to vector masks, not branches. The `if` yields b if the two are equal or one is a
        // NaN. Equal floats have the same bits except for the sign of zero, which the second mask contributes. If a is
        // a NaN, the result is the sum, which is a NaN: returning a itself would become a masked store in place, which
        // some CPUs execute one element at a time.
        combine!(Min: $t => |a, b| {
            let least = if a < b { a } else { b };
            let sign = if a == b { a.to_bits() } else { 0 };
            if a.is_nan() { a + b } else { <$t>::from_bits(least.to_bits() | sign) }
        });
        combine!(Max: $t => |a, b| {
            let most = if a > b { a } else { b };
            let sign = if a == b { a.to_bits() } else { !0 };
            if a.is_nan() { a + b } else { <$t>::from_bits(most.to_bits() & sign) }
        });
        located!($t, |a: $t, b: $t| a < b || a.is_nan() && !b.is_nan(),
                     |a: $t, b: $t| a > b || a.is_nan() && !b.is_nan());
    )* };
}
/// Pairs (value, place) for the common types of places; `less` and `more` order the values.
macro_rules! located {
    ($t:ty, $less:expr, $more:expr) => {
        located!(@ $t, $less, $more, u32);
        located!(@ $t, $less, $more, u64);
        located!(@ $t, $less, $more, usize);
        located!(@ $t, $less, $more, i32);
    };
    (@ $t:ty, $less:expr, $more:expr, $i:ty) => {
        combine!(MinLoc: ($t, $i) => |a, b| nearest($less, a, b));
        combine!(MaxLoc: ($t, $i) => |a, b| nearest($more, a, b));
    };
}

/// The pair whose value comes first; for equal values, the pair with the lower place.
fn nearest<T: Copy, I: Copy + Ord>(first: fn(T, T) -> bool, a: (T, I), b: (T, I)) -> (T, I) {
    match (first(a.0, b.0), first(b.0, a.0)) {
        (true, _) => a,
        (_, true) => b,
        _ if b.1 < a.1 => b,
        _ => a,
    }
}

integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);
floats!(f32, f64);
combine!(And: bool => |a, b| a & b);
combine!(Or: bool => |a, b| a | b);
combine!(Xor: bool => |a, b| a ^ b);
