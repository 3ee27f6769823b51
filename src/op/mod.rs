//! Operators: what a reduction does with two elements.
//!
//! | operator | on | rule |
//! |---|---|---|
//! | [`Sum`], [`Product`] | integers, floats | integers wrap round |
//! | [`Min`], [`Max`] | integers, floats | a NaN wins over any number; -0 is less than +0 |
//! | [`And`], [`Or`], [`Xor`] | integers (bit by bit), `bool` | |
//! | [`MinLoc`], [`MaxLoc`] | pairs (value, place) | of equal values the lower place; a NaN wins |
//! | [`First`] | any element | the left one |
//! | a closure through the `_by` twin of a reduction | any element | associative: operands stay in rank order |
//! | [`commutative`]`(closure)` | any element | may be applied in any order |

pub(crate) mod copies;
pub(crate) mod kernels;

pub(crate) use kernels::{append, copied, fold_left, fold_right, fold_two};

/// Values that messages and reductions are made of: any plain data without a destructor.
///
/// There is nothing to derive: every type that fits has it.
///
/// # Examples
///
/// ```
/// # fn takes<T: rankfold::op::Element>() {}
/// takes::<f64>();
/// takes::<(u8, u64)>();
/// takes::<&'static str>();
/// ```
pub trait Element: Copy + Send + Sync + 'static {}
impl<T: Copy + Send + Sync + 'static> Element for T {}

/// An associative operator on elements.
///
/// # Laws
///
/// `combine(combine(a, b), c) = combine(a, combine(b, c))`, at least up to rounding. If
/// [`commutes`](Self::commutes) says so, `combine(a, b) = combine(b, a)`.
///
/// # Calls from inside
///
/// An operator may not call a communicator of any rank that its thread already is, by whatever way: such a call fails
/// with [`Usage`](crate::ErrorKind::Usage), and the collective goes on. It may run other worlds and teams.
pub trait Operator<T: Element> {
    /// `left ⊕ right`.
    fn combine(&self, left: T, right: T) -> T;

    /// Whether the operands may change places. If not, lower ranks stay on the left.
    fn commutes(&self) -> bool {
        false
    }

    /// What it is called in reports; ranks whose operators have other names mismatch.
    fn kind(&self) -> Kind {
        Kind::Own
    }
}

/// The name of an operator, as reports print it and as calls are compared.
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

/// A closure as an operator that may change the order of its operands.
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
pub fn commutative<T: Element, F: Fn(T, T) -> T>(f: F) -> Commutative<F> {
    Commutative(f)
}

/// What [`commutative`] makes.
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

/// The left one of two: for schedules that move elements and fold none.
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

/// A closure that is only known to be associative: what the `_by` twins make of theirs.
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
operator!(/// `a + b`; integers wrap round.
    Sum);
operator!(/// `a × b`; integers wrap round.
    Product);
operator!(/// The lesser. Of floats a NaN wins, and -0 is less than +0 (IEEE 754-2019 `minimum`).
    Min);
operator!(/// The greater. Of floats a NaN wins, and +0 is greater than -0 (IEEE 754-2019 `maximum`).
    Max);
operator!(/// `a & b`.
    And);
operator!(/// `a | b`.
    Or);
operator!(/// `a ^ b`.
    Xor);
operator!(/// The pair (value, place) with the lesser value; of equal values the lower place.
    MinLoc);
operator!(/// The pair (value, place) with the greater value; of equal values the lower place.
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
        // Comparisons that become masks of vectors, and no branches. What `if` leaves is b where the two are equal or
        // one is a NaN; equal floats have the same bits but for the sign of zero, which the second mask brings in. For a
        // NaN in a their sum is one: were it a itself, that would become a masked store in place, which some CPUs make
        // an element at a time.
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
/// Pairs (value, place) for the usual types of places; `less` and `more` order the values.
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

/// The pair whose value comes first, or of equal ones the one with the lower place.
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
