//! The operators on numbers and on pairs of a number and a place.

use super::{Operator, OperatorKind};

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
operator!(/// `a & b`; integers bit by bit.
    #[doc(alias = "MPI_BAND")]
    And);
operator!(/// `a | b`; integers bit by bit.
    #[doc(alias = "MPI_BOR")]
    Or);
operator!(/// `a ^ b`; integers bit by bit.
    #[doc(alias = "MPI_BXOR")]
    Xor);
operator!(/// Whether both are true: for integers, 1 if both are nonzero, and 0 otherwise.
    ///
    /// An element that is folded with no other keeps its value: in a world of one rank, 7 stays 7.
    #[doc(alias = "MPI_LAND")]
    LogicalAnd);
operator!(/// Whether one or both are true: for integers, 1 if one is nonzero, and 0 otherwise.
    ///
    /// An element that is folded with no other keeps its value: in a world of one rank, 7 stays 7.
    #[doc(alias = "MPI_LOR")]
    LogicalOr);
operator!(/// Whether exactly one is true: for integers, 1 if exactly one is nonzero, and 0 otherwise.
    ///
    /// An element that is folded with no other keeps its value: in a world of one rank, 7 stays 7.
    #[doc(alias = "MPI_LXOR")]
    LogicalXor);
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
            #[inline]
            fn commutes(&self) -> bool {
                true
            }
            #[inline]
            fn kind(&self) -> OperatorKind {
                OperatorKind::$op
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
        combine!(LogicalAnd: $t => |a, b| ((a != 0) & (b != 0)).into());
        combine!(LogicalOr: $t => |a, b| ((a != 0) | (b != 0)).into());
        combine!(LogicalXor: $t => |a, b| ((a != 0) ^ (b != 0)).into());
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
combine!(LogicalAnd: bool => |a, b| a & b);
combine!(LogicalOr: bool => |a, b| a | b);
combine!(LogicalXor: bool => |a, b| a ^ b);
