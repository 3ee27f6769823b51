//! Exact sums against integers of any size: each number is an integer times `2^-2148`, and the sum is rounded by looking
//! for the nearest `f64`.

mod again;
mod support;

use num_bigint::BigInt;
use proptest::prelude::*;
use rankfold::op::{self, ExactDot, ExactSum, Operator};
use rankfold::{ErrorKind, World};
use support::guarded;

/// `x · 2^1074`.
fn scaled(x: f64) -> BigInt {
    let bits = x.abs().to_bits();
    let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    let size = match exponent {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | 1 << 52) << (exponent - 1),
    };
    if x < 0.0 { -size } else { size }
}

/// `value / 2^scale`, rounded to nearest, ties to even: found by halving the range of bit patterns.
fn rounded(value: &BigInt, scale: usize) -> f64 {
    let minus = *value < BigInt::from(0);
    let size = if minus { -value.clone() } else { value.clone() };
    let exact = |bits: u64| match bits {
        // The next number after the greatest, if there were no greatest exponent.
        0x7ff0_0000_0000_0000 => BigInt::from(1) << (1024 + 1074),
        _ => scaled(f64::from_bits(bits)),
    } << (scale - 1074);
    let (mut low, mut high) = (0u64, f64::INFINITY.to_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match exact(middle) <= size {
            true => low = middle,
            false => high = middle,
        }
    }
    let up = exact(high) - &size;
    let down = size - exact(low);
    let bits = match down.cmp(&up) {
        std::cmp::Ordering::Less => low,
        std::cmp::Ordering::Greater => high,
        std::cmp::Ordering::Equal => low + (low & 1),
    };
    let size = f64::from_bits(bits);
    if minus { -size } else { size }
}

fn oracle_sum(numbers: &[f64]) -> f64 {
    let sum = numbers.iter().map(|x| scaled(*x)).sum::<BigInt>();
    rounded(&sum, 1074)
}

fn oracle_dot(x: &[f64], y: &[f64]) -> f64 {
    let products = x.iter().zip(y).map(|(x, y)| scaled(*x) * scaled(*y));
    rounded(&products.sum(), 2148)
}

/// The sum of a slice in three ways, which must agree: one by one, all at once, and merged from two parts.
fn sum(numbers: &[f64]) -> f64 {
    let one_by_one: ExactSum = numbers.iter().copied().collect();
    let mut at_once = ExactSum::new();
    at_once.add_all(numbers);
    let (left, right) = numbers.split_at(numbers.len() / 3);
    let [mut left, right] = [left, right].map(|part| part.iter().copied().collect::<ExactSum>());
    left.merge(&right);
    let value = one_by_one.value();
    assert_same(at_once.value(), value);
    assert_same(left.value(), value);
    value
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut dot = ExactDot::new();
    dot.add_all(x, y);
    dot.value()
}

#[track_caller]
fn assert_same(found: f64, expected: f64) {
    assert!(
        found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
        "{found:e} instead of {expected:e}"
    );
}

/// Any finite number, each exponent as likely as another, and often one that is near others.
fn number() -> impl Strategy<Value = f64> {
    let all = any::<u64>().prop_map(f64::from_bits);
    let near = (-60i32..60, any::<i16>()).prop_map(|(e, m)| f64::from(m) * 2f64.powi(e));
    let edge = prop::sample::select(vec![
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        -f64::from_bits(1),
        f64::from_bits((1 << 52) - 1),
        f64::EPSILON / 2.0,
        1.0,
        -0.0,
    ]);
    prop_oneof![all, near, edge].prop_filter("finite", |x| x.is_finite())
}

/// Many numbers: mantissas times powers of two from one range, which moves now and then, and few that are something else.
fn many() -> impl Strategy<Value = Vec<f64>> {
    let lengths = prop_oneof![1..70usize, 2_040..2_060usize, 1..9_000usize];
    let ranges = prop::collection::vec(
        (
            -1_074i32..1_020,
            prop::sample::select(vec![0, 1, 30, 34, 60, 400]),
        ),
        1..5,
    );
    let odd = prop_oneof![number(), any::<u64>().prop_map(f64::from_bits)];
    let odd = prop::collection::vec((any::<prop::sample::Index>(), odd), 0..4);
    (lengths, ranges, odd, any::<u64>()).prop_map(|(length, ranges, odd, seed)| {
        let mut random = seed | 1;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let mut numbers: Vec<f64> = (0..length)
            .map(|place| {
                let (least, range) = ranges[place * ranges.len() / length];
                let exponent = (least + (next() % (range + 1)) as i32).min(1_022);
                let size = 1.0 + (next() >> 12) as f64 * 2f64.powi(-52);
                // In two steps, as a power may be too small for a number.
                let x = size * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
                if next() % 3 == 0 { -x } else { x }
            })
            .collect();
        odd.into_iter()
            .for_each(|(place, x)| *place.get_mut(&mut numbers) = x);
        numbers
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sums_of_many_numbers_are_those_one_by_one(numbers in many(), cancel in any::<bool>()) {
        let mut numbers = numbers;
        if cancel {
            let back: Vec<f64> = numbers.iter().skip(1).map(|x| -x).collect();
            numbers.extend(back);
        }
        sum(&numbers);
        sum(&numbers.iter().map(|x| x.clamp(-0.0, 0.0)).collect::<Vec<_>>());
    }
}

#[test]
fn numbers_of_one_size_after_many_of_any() {
    let wide = |n: i32| 2f64.powi(n % 1_000 - 500) * f64::from(n % 7 - 3);
    let alike = |n: i32| f64::from(n % 1_000 + 1) / 3.0;
    let mut numbers: Vec<f64> = (0..45_000)
        .map(|n| match n {
            0..2_048 | 40_000..42_000 => wide(n),
            _ => alike(n),
        })
        .collect();
    assert_same(sum(&numbers), oracle_sum(&numbers));
    numbers[44_000] = f64::NEG_INFINITY;
    assert_same(sum(&numbers), f64::NEG_INFINITY);
}

#[test]
fn the_ends_of_the_range_of_extraction() {
    for exponent in (-1_080..-900).chain(-60..60).chain(900..=1_023) {
        for apart in [0, 33, 34, 43, 85, 86] {
            let at = |exponent: i32| 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
            let [large, small] = [exponent, exponent - apart].map(at);
            let numbers: Vec<f64> = (0..100)
                .map(|n| {
                    if n % 30 == 7 {
                        -small * 1.1
                    } else {
                        large / 3.0
                    }
                })
                .collect();
            assert_same(sum(&numbers), oracle_sum(&numbers));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_sum_is_rounded_once(mut numbers in prop::collection::vec(number(), 1..40), cancel in any::<bool>()) {
        if cancel {
            // Most of it vanishes.
            let back: Vec<f64> = numbers.iter().skip(1).map(|x| -x).collect();
            numbers.extend(back);
        }
        if numbers.iter().any(|x| x.to_bits() != (-0.0f64).to_bits()) {
            assert_same(sum(&numbers), oracle_sum(&numbers));
        }
    }

    #[test]
    fn a_dot_product_is_rounded_once(pairs in prop::collection::vec((number(), number()), 1..30)) {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let expected = oracle_dot(&x, &y);
        if expected != 0.0 {
            assert_same(dot(&x, &y), expected);
        } else {
            prop_assert_eq!(dot(&x, &y), 0.0);
        }
    }

    #[test]
    fn ties_and_what_is_next_to_them(bits in any::<u64>(), nudge in -1i32..=1) {
        let x = f64::from_bits(bits & !(1 << 63));
        let next = f64::from_bits(x.to_bits() + 1);
        prop_assume!(next.is_finite() && x >= 2f64.powi(-900));
        let half = (next - x) / 2.0;
        let numbers = [x, half, f64::from(nudge) * f64::from_bits(1)];
        assert_same(sum(&numbers), oracle_sum(&numbers));
        let minus = numbers.map(|x| -x);
        assert_same(sum(&minus), oracle_sum(&minus));
    }
}

#[test]
fn carries_are_moved_up_in_time() {
    for x in [
        f64::from_bits(0x3fff_ffff_ffff_ffff),
        f64::MAX,
        f64::from_bits((1 << 52) - 1),
    ] {
        let mut numbers = vec![x; 12_345];
        assert_same(sum(&numbers), oracle_sum(&numbers));
        numbers.extend(vec![-x; 12_344]);
        assert_same(sum(&numbers), x);
        let ones = vec![1.0; numbers.len()];
        assert_same(dot(&numbers, &ones), x);
        assert_same(
            dot(&vec![x; 5_000], &vec![x; 5_000]),
            oracle_dot(&vec![x; 5_000], &vec![x; 5_000]),
        );
    }
}

#[test]
fn intermediate_sums_do_not_overflow() {
    let (max, half_step) = (f64::MAX, 2f64.powi(969));
    assert_same(sum(&[max, max, -max]), max);
    assert_same(sum(&[max, half_step]), max);
    // 2^970 is half of a step: the tie goes to the even neighbour, which is infinite.
    assert_same(sum(&[max, 2.0 * half_step]), f64::INFINITY);
    assert_same(sum(&[max, 2.0 * half_step, -f64::from_bits(1)]), max);
    assert_same(dot(&[max, -max, 3.0], &[max, max, 5.0]), 15.0);
    assert_same(dot(&[f64::from_bits(1)], &[0.25]), 0.0);
    assert_same(dot(&[f64::from_bits(1)], &[-0.25]), -0.0);
    assert_same(dot(&[f64::from_bits(3)], &[0.5]), f64::from_bits(2));
}

#[test]
fn special_values() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert_same(sum(&[]), 0.0);
    assert_same(sum(&[-0.0]), -0.0);
    assert_same(sum(&[-0.0, -0.0]), -0.0);
    assert_same(sum(&[-0.0, 0.0]), 0.0);
    assert_same(sum(&[1.0, -1.0]), 0.0);
    assert_same(sum(&[1.0, inf]), inf);
    assert_same(sum(&[-inf, f64::MAX]), -inf);
    assert_same(sum(&[inf, -inf]), nan);
    assert_same(sum(&[1.0, nan, inf]), nan);
    assert_same(dot(&[inf], &[0.0]), nan);
    assert_same(dot(&[inf, 1.0], &[-2.0, 1.0]), -inf);
    assert_same(dot(&[0.0], &[-1.0]), -0.0);
    assert_same(dot(&[0.0, 0.0], &[-1.0, 1.0]), 0.0);
    assert_same(dot(&[1e200, -1e200], &[1e200, 1e200]), 0.0);
}

/// The numbers of all ranks: of very different sizes, with a sum that is far smaller.
fn numbers() -> Vec<f64> {
    let number = |i: i32| f64::from(i % 17 - 8) * 2f64.powi(i * 37 % 600 - 300);
    (0..1_000)
        .map(number)
        .chain((0..500).map(|i| -number(i)))
        .collect()
}

#[test]
fn every_number_of_ranks_and_distribution_gives_the_same_bits() {
    let all = numbers();
    let y: Vec<f64> = all.iter().rev().copied().collect();
    let (expected, expected_dot) = (oracle_sum(&all), oracle_dot(&all, &y));
    for ranks in (1..=33).chain([64]) {
        let run = || {
            World::new(ranks).run(|comm| {
                // Rank r has every number whose index is r modulo P, or a contiguous part; some ranks have none.
                let mine = |v: &[f64]| {
                    v.iter()
                        .skip(comm.rank())
                        .step_by(ranks)
                        .copied()
                        .collect::<Vec<_>>()
                };
                let part = all
                    .chunks(all.len() / ranks + 40)
                    .nth(comm.rank())
                    .unwrap_or(&[]);
                let sums = [comm.sum_exact(&mine(&all))?, comm.sum_exact(part)?];
                Ok((sums, comm.dot_exact(&mine(&all), &mine(&y))?))
            })
        };
        for (sums, dot) in guarded(&|| format!("{ranks} ranks"), run).unwrap() {
            for sum in sums {
                assert_same(sum, expected);
            }
            assert_same(dot, expected_dot);
        }
    }
}

#[test]
fn exact_sums_are_elements() {
    let sums = World::new(5).run(|comm| {
        let mut v =
            [1e300, 1.0].map(|x| ExactSum::from(if comm.rank() == 3 { -4.0 * x } else { x }));
        comm.reduce(2, &mut v, op::Sum)?;
        Ok(v.map(|sum| sum.value()))
    });
    assert_eq!(sums.unwrap()[2], [0.0, 0.0]);
    let both = op::Sum.combine(ExactSum::from(0.1), ExactSum::from(0.2));
    assert_eq!(both.value(), 0.1 + 0.2);
}

#[test]
fn vectors_of_different_lengths_are_refused() {
    let line = line!() + 1;
    let failed = World::new(1).run(|comm| Ok(comm.dot_exact(&[1.0], &[]).unwrap_err()));
    let error = &failed.unwrap()[0];
    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
    assert_eq!(error.site().map(|site| site.line()), Some(line), "{error}");
    assert!(
        error
            .to_string()
            .contains("one vector has 1 numbers, the other 0"),
        "{error}"
    );
}

/// Long enough for sums for each exponent.
const LONG: usize = 9_001;

#[test]
fn long_slices() {
    // Every exponent, both signs, subnormal numbers, zeros.
    let number = |i: usize| {
        let bits = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        f64::from_bits(bits ^ bits >> 31)
    };
    let finite = |x: &f64| x.is_finite();
    let all: Vec<f64> = (0..LONG).map(number).filter(finite).collect();
    assert!(all.len() > 8_000);
    assert_same(sum(&all), oracle_sum(&all));
    let halves: Vec<f64> = all.iter().map(|x| x * 2f64.powi(-600)).collect();
    let back = halves.iter().map(|x| -x).skip(1);
    let cancelled: Vec<f64> = halves.iter().copied().chain(back).collect();
    assert_same(sum(&cancelled), halves[0]);
}

#[test]
fn special_values_in_long_slices() {
    let with = |filler: f64, special: &[f64]| {
        let mut numbers = vec![filler; LONG];
        for (place, x) in special.iter().enumerate() {
            numbers[place * 4_000 + 1] = *x;
        }
        sum(&numbers)
    };
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert_same(with(-0.0, &[]), -0.0);
    assert_same(with(-0.0, &[0.0]), 0.0);
    assert_same(with(1.0, &[inf]), inf);
    assert_same(with(f64::MAX, &[-inf]), -inf);
    assert_same(with(f64::MAX, &[]), inf);
    assert_same(with(1.0, &[inf, -inf]), nan);
    assert_same(with(1.0, &[inf, nan]), nan);
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
