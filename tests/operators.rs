//! The laws of the built-in operators, and their guarantees at the edges: wrapping, NaN, signed zeros, equal values.

use proptest::prelude::*;
use rankfold::op::{
    And, Element, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min, MinLoc, Operator, Or,
    Product, Sum, Xor, commutative, reduce_local,
};

/// Returns whether `op` is associative and commutative on these three, compared by `same`.
fn lawful<T: Element>(
    op: impl Operator<T>,
    [a, b, c]: [T; 3],
    same: impl Fn(T, T) -> bool,
) -> bool {
    let left = op.combine(op.combine(a, b), c);
    let right = op.combine(a, op.combine(b, c));
    op.commutes() && same(left, right) && same(op.combine(a, b), op.combine(b, a))
}

/// Floats with frequent special values.
fn floats() -> impl Strategy<Value = f64> {
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0,
        -1.0,
    ];
    prop_oneof![proptest::sample::select(special.to_vec()), any::<f64>()]
}

/// Equal bit patterns, with all NaNs alike.
fn same_float(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

proptest! {
    #[test]
    fn integer_operators_are_associative_and_commute(v: [i16; 3]) {
        let equal = |a, b| a == b;
        prop_assert!(lawful(Sum, v, equal) && lawful(Product, v, equal));
        prop_assert!(lawful(Min, v, equal) && lawful(Max, v, equal));
        prop_assert!(lawful(And, v, equal) && lawful(Or, v, equal) && lawful(Xor, v, equal));
    }

    #[test]
    fn bool_operators_are_associative_and_commute(v: [bool; 3]) {
        let equal = |a, b| a == b;
        prop_assert!(lawful(And, v, equal) && lawful(Or, v, equal) && lawful(Xor, v, equal));
        prop_assert!(lawful(LogicalAnd, v, equal) && lawful(LogicalOr, v, equal));
        prop_assert!(lawful(LogicalXor, v, equal));
    }

    #[test]
    fn logical_operators_on_integers_are_those_on_truth_values(
        v in [0u8..3, 0u8..3, 0u8..3]
    ) {
        // MPI's result is 0 or 1, whatever stood for true.
        let truth = v.map(|x| x != 0);
        let [a, b, _] = v;
        let [p, q, _] = truth;
        prop_assert_eq!(LogicalAnd.combine(a, b), u8::from(LogicalAnd.combine(p, q)));
        prop_assert_eq!(LogicalOr.combine(a, b), u8::from(LogicalOr.combine(p, q)));
        prop_assert_eq!(LogicalXor.combine(a, b), u8::from(LogicalXor.combine(p, q)));
        let equal = |a, b| a == b;
        prop_assert!(lawful(LogicalAnd, v, equal) && lawful(LogicalOr, v, equal));
        prop_assert!(lawful(LogicalXor, v, equal));
    }

    #[test]
    fn arrays_and_tuples_are_folded_part_by_part(
        v in [(any::<u32>(), floats(), any::<[i8; 2]>()), (any::<u32>(), floats(), any::<[i8; 2]>())]
    ) {
        let [a, b] = v;
        let (whole, sum) = (Max.combine(a, b), Sum.combine([a.0; 3], [b.0; 3]));
        prop_assert_eq!(whole.0, Max.combine(a.0, b.0));
        prop_assert!(same_float(whole.1, Max.combine(a.1, b.1)));
        prop_assert_eq!(whole.2, [Max.combine(a.2[0], b.2[0]), Max.combine(a.2[1], b.2[1])]);
        prop_assert_eq!(sum, [Sum.combine(a.0, b.0); 3]);
    }

    #[test]
    fn float_minimum_and_maximum_are_associative_and_commute(v in [floats(), floats(), floats()]) {
        prop_assert!(lawful(Min, v, same_float) && lawful(Max, v, same_float), "{v:?}");
    }

    #[test]
    fn located_operators_are_associative_and_commute(
        v in [(floats(), 0u32..3), (floats(), 0u32..3), (floats(), 0u32..3)]
    ) {
        // Which of two zeros or NaNs at one place is kept is unspecified.
        let same = |a: (f64, u32), b: (f64, u32)| (a.0 == b.0 || a.0.is_nan() && b.0.is_nan()) && a.1 == b.1;
        prop_assert!(lawful(MinLoc, v, same) && lawful(MaxLoc, v, same), "{v:?}");
    }

    #[test]
    fn float_minimum_is_the_least_number_unless_there_is_a_nan(a in floats(), b in floats()) {
        let min = Min.combine(a, b);
        prop_assert_eq!(min.is_nan(), a.is_nan() || b.is_nan());
        prop_assert!(min.is_nan() || min <= a && min <= b && (min == a || min == b));
    }
}

/// Long enough for the loops of every instruction set, in arrays that no vector register holds as a whole.
#[test]
fn vectors_of_arrays_and_tuples_are_folded_element_by_element() {
    for n in [0, 1, 7, 1000] {
        let left: Vec<([f32; 3], (u8, i64))> = (0..n)
            .map(|i| ([i as f32, 1.0, -1.0], (i as u8, i as i64)))
            .collect();
        let mut sums = left.clone();
        reduce_local(&left, &mut sums, Sum);
        let twice =
            |&(a, (b, c)): &([f32; 3], (u8, i64))| (a.map(|x| x + x), (b.wrapping_add(b), c + c));
        assert_eq!(sums, left.iter().map(twice).collect::<Vec<_>>());
    }
    assert_eq!(Product.combine([2; 0], [3; 0]), [0i32; 0]);
    assert_eq!(
        LogicalOr.combine((true, 0, 3, 0), (false, 5, 4, 0)),
        (true, 1, 1, 0)
    );
    assert_eq!(
        Xor.combine((1, 2, 3, 4, 5, 6), (1, 1, 1, 1, 1, 1)),
        (0, 3, 2, 5, 4, 7)
    );
}

/// `inout = in ⊕ inout`, in this order: MPI 4.1, section 6.9.7.
#[test]
fn a_local_reduction_puts_the_input_on_the_left() {
    let mut inout = vec!['b'; 40];
    reduce_local(&['a'; 40], &mut inout, |left, _| left);
    assert_eq!(inout, ['a'; 40]);
    let mut quotients = [2, 5];
    reduce_local(&[20, 30], &mut quotients, |a, b| a / b);
    assert_eq!(quotients, [10, 6]);
}

#[test]
#[should_panic(expected = "different lengths")]
fn a_local_reduction_of_different_lengths_panics() {
    reduce_local(&[1, 2], &mut [1, 2, 3], Sum);
}

#[test]
fn integers_wrap_round() {
    assert_eq!(Sum.combine(250u8, 10), 4);
    assert_eq!(Product.combine(i32::MAX, 2), -2);
}

#[test]
fn minus_zero_is_less_than_zero() {
    assert!(Min.combine(0.0f32, -0.0).is_sign_negative());
    assert!(Max.combine(-0.0f64, 0.0).is_sign_positive());
}

#[test]
fn of_equal_values_the_lower_place_is_kept() {
    assert_eq!(MinLoc.combine((3, 7usize), (3, 2)), (3, 2));
    assert_eq!(MaxLoc.combine((3.5, 1u64), (3.5, 2)), (3.5, 1));
}

#[test]
fn a_nan_wins_with_its_place() {
    assert_eq!(MinLoc.combine((1.0, 0u32), (f64::NAN, 5)).1, 5);
    assert_eq!(MaxLoc.combine((f64::NAN, 9i32), (f64::NAN, 5)).1, 5);
}

#[test]
fn a_commutative_closure_commutes_and_a_user_type_can_be_an_operator() {
    struct Gcd;
    impl Operator<u32> for Gcd {
        fn combine(&self, left: u32, right: u32) -> u32 {
            if right == 0 {
                left
            } else {
                self.combine(right, left % right)
            }
        }
    }
    assert!(commutative(|a: u8, b| a.max(b)).commutes());
    assert!(!Gcd.commutes());
    assert_eq!(Gcd.combine(12, 18), 6);
}

/// The rule of `Min` and `Max` in the plainest code, and pairs of floats to check them: whichever operand is chosen,
/// all its bits must be kept, except that a signalling NaN may come out as the quiet one.
macro_rules! plain_rule {
    ($name:ident, $float:ty, $bits:ty) => {
        mod $name {
            use super::*;

            /// All permitted results: one of the two, or either of two NaNs.
            fn allowed(a: $float, b: $float, first: impl Fn($float, $float) -> bool) -> Vec<$bits> {
                let chosen = match (a.is_nan(), b.is_nan()) {
                    (true, true) => vec![a, b],
                    (true, false) => vec![a],
                    (false, true) => vec![b],
                    (false, false) if first(a, b) => vec![a],
                    (false, false) => vec![b],
                };
                chosen.into_iter().map(quiet).collect()
            }

            /// The bits of a number, or of the quiet form of a NaN.
            fn quiet(number: $float) -> $bits {
                let bit = 1 << (<$float>::MANTISSA_DIGITS - 2);
                number.to_bits() | if number.is_nan() { bit } else { 0 }
            }

            fn holds(a: $bits, b: $bits) {
                let (a, b) = (<$float>::from_bits(a), <$float>::from_bits(b));
                // -0 counts as less than +0.
                let less = |a: $float, b: $float| {
                    a < b || a == b && a.is_sign_negative() && b.is_sign_positive()
                };
                let lesser = allowed(a, b, less);
                let greater = allowed(a, b, |a, b| !less(a, b));
                assert!(
                    lesser.contains(&quiet(Min.combine(a, b))),
                    "min of {a:?} and {b:?}"
                );
                assert!(
                    greater.contains(&quiet(Max.combine(a, b))),
                    "max of {a:?} and {b:?}"
                );
            }

            #[test]
            fn of_zeros_subnormals_infinities_and_nans_the_right_one_is_chosen() {
                let (least, quiet) = (<$float>::from_bits(1), <$float>::NAN.to_bits());
                let numbers = [
                    0.0,
                    least,
                    1.0,
                    <$float>::MIN_POSITIVE,
                    <$float>::MAX,
                    <$float>::INFINITY,
                ];
                let largest_subnormal = <$float>::MIN_POSITIVE.to_bits() - 1;
                let mut all: Vec<$bits> = numbers.iter().map(|number| number.to_bits()).collect();
                all.extend([largest_subnormal, quiet, quiet | 1, quiet | 0x5a5a]);
                let negative: Vec<$bits> = all
                    .iter()
                    .map(|bits| bits | 1 << (<$bits>::BITS - 1))
                    .collect();
                all.extend(negative);
                for &a in &all {
                    for &b in &all {
                        holds(a, b);
                    }
                }
            }

            proptest! {
                #[test]
                fn of_any_two_floats_the_right_one_is_chosen(a: $bits, b: $bits) {
                    holds(a, b);
                    holds(a, a);
                }
            }
        }
    };
}
plain_rule!(single, f32, u32);
plain_rule!(double, f64, u64);
