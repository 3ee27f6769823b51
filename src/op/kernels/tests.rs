//! The loops against the simplest ones: the same bits from every instruction set, for every type of elements and
//! operators.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use super::*;
use crate::op::{And, First, Max, MaxLoc, Min, MinLoc, Or, Product, Sum, Xor, commutative};

/// The instruction sets of this machine.
fn sets() -> Vec<Set> {
    let all = [
        Set::Plain,
        #[cfg(target_arch = "x86_64")]
        Set::Avx2,
        #[cfg(target_arch = "x86_64")]
        Set::Avx512,
    ];
    all.into_iter().filter(|set| set.is_there()).collect()
}

/// Elements from any bits, with frequent edge cases.
trait Arbitrary: Element + Debug {
    fn from_bits(bits: u64) -> Self;
    /// Bitwise equality, except that all NaNs are equal.
    fn same(self, other: Self) -> bool;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Arbitrary for $t {
            fn from_bits(bits: u64) -> Self {
                match bits % 8 {
                    0 => <$t>::MAX,
                    1 => <$t>::MIN,
                    _ => (bits >> 3) as $t,
                }
            }
            fn same(self, other: Self) -> bool {
                self == other
            }
        }
    )* };
}
integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

macro_rules! floats {
    ($($t:ty: $bits:ty),*) => { $(
        impl Arbitrary for $t {
            fn from_bits(bits: u64) -> Self {
                let special = [0.0, -0.0, <$t>::NAN, -<$t>::NAN, <$t>::INFINITY, <$t>::NEG_INFINITY, 1.0];
                match special.get((bits % 10) as usize) {
                    Some(&special) => special,
                    None => <$t>::from_bits((bits >> 4) as $bits),
                }
            }
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )* };
}
floats!(f32: u32, f64: u64);

impl Arbitrary for bool {
    fn from_bits(bits: u64) -> Self {
        bits & 1 == 1
    }
    fn same(self, other: Self) -> bool {
        self == other
    }
}

impl<V: Arbitrary, I: Arbitrary> Arbitrary for (V, I) {
    fn from_bits(bits: u64) -> Self {
        (V::from_bits(bits), I::from_bits(bits.rotate_left(32)))
    }
    fn same(self, other: Self) -> bool {
        self.0.same(other.0) && self.1.same(other.1)
    }
}

/// Wider than any register, and wider than a block.
impl Arbitrary for [u64; 200] {
    fn from_bits(bits: u64) -> Self {
        std::array::from_fn(|i| bits ^ i as u64)
    }
    fn same(self, other: Self) -> bool {
        self == other
    }
}

/// A number of vectors with a number of elements each, and the range of elements that is folded.
#[derive(Clone, Copy, Debug)]
struct Case {
    seed: u64,
    vectors: usize,
    from: usize,
    n: usize,
}

impl Case {
    fn vectors<T: Arbitrary>(self) -> Vec<Vec<T>> {
        let mut state = self.seed;
        let mut next = || {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            T::from_bits(state ^ state >> 29)
        };
        let mut vector = || (0..self.from + self.n + 3).map(|_| next()).collect();
        (0..self.vectors).map(|_| vector()).collect()
    }

    /// The expected result at each place, folded one element after another.
    fn folded<T: Arbitrary>(self, op: &impl Operator<T>, inputs: &[Vec<T>]) -> Vec<T> {
        let fold = |i: usize| {
            let column = inputs.iter().map(|vector| vector[i]);
            column.reduce(|a, b| op.combine(a, b)).unwrap()
        };
        (self.from..self.from + self.n).map(fold).collect()
    }

    /// `held` with the folded elements inserted.
    fn put<T: Copy>(self, held: &[T], folded: &[T]) -> Vec<T> {
        let mut held = held.to_vec();
        held[self.from..self.from + self.n].copy_from_slice(folded);
        held
    }

    /// Checks all forms of the fold with one operator, on every instruction set.
    fn check<T: Arbitrary>(self, op: impl Operator<T>) -> Result<(), TestCaseError> {
        for set in sets() {
            self.check_slices(set, &op)?;
            self.check_in_place(set, &op)?;
            self.check_into(set, &op)?;
            self.check_at_places(set, &op)?;
        }
        Ok(())
    }

    fn check_slices<T: Arbitrary>(
        self,
        set: Set,
        op: &impl Operator<T>,
    ) -> Result<(), TestCaseError> {
        let pair = Case { vectors: 2, ..self };
        let given = pair.vectors::<T>();
        let want = Case { from: 0, ..pair }.folded(op, &given);
        let (a, b, n) = (&given[0], &given[1], self.n);
        let (mut right, mut left, mut two) = (a.clone(), b.clone(), b.clone());
        // SAFETY: the vectors have at least n elements and do not overlap.
        unsafe {
            right_raw(set, op, right.as_mut_ptr(), b.as_ptr(), n);
            left_raw(set, op, left.as_mut_ptr(), a.as_ptr(), n);
            two_raw(set, op, two.as_mut_ptr(), a.as_ptr(), b.as_ptr(), n);
        }
        for (got, rest) in [(right, a), (left, b), (two, b)] {
            let want: Vec<T> = want.iter().chain(&rest[n..]).copied().collect();
            same(&got, &want)?;
        }
        Ok(())
    }

    fn check_in_place<T: Arbitrary>(
        self,
        set: Set,
        op: &impl Operator<T>,
    ) -> Result<(), TestCaseError> {
        let given = self.vectors::<T>();
        let folded = self.folded(op, &given);
        let mut held = given.clone();
        let places: Vec<*mut T> = held.iter_mut().map(|vector| vector.as_mut_ptr()).collect();
        let inputs: Vec<*const T> = places.iter().map(|place| place.cast_const()).collect();
        // SAFETY: every vector has these elements, and no slice over one exists meanwhile.
        unsafe { several_on(set, op, &inputs, self.from, self.n, &To::All(&places)) }
        for (got, given) in held.iter().zip(&given) {
            same(got, &self.put(given, &folded))?;
        }
        Ok(())
    }

    fn check_into<T: Arbitrary>(
        self,
        set: Set,
        op: &impl Operator<T>,
    ) -> Result<(), TestCaseError> {
        let given = self.vectors::<T>();
        let folded = self.folded(op, &given);
        let inputs: Vec<*const T> = given.iter().map(|vector| vector.as_ptr()).collect();
        let mut outputs = vec![given[0].clone(), given[0].clone()];
        let places: Vec<*mut T> = outputs.iter_mut().map(|out| out.as_mut_ptr()).collect();
        let mut own = given[0].clone();
        // SAFETY: every vector has these elements, and no two overlap.
        unsafe {
            several_on(set, op, &inputs, self.from, self.n, &To::All(&places));
            let own = To::Own(own.as_mut_ptr());
            several_on(set, op, &inputs, self.from, self.n, &own);
        }
        for got in &outputs {
            same(got, &self.put(&given[0], &folded))?;
        }
        self.check_past_caches(set, op, &given, &folded)?;
        same(&own, &Case { from: 0, ..self }.put(&given[0], &folded))
    }

    /// Checks stores past the caches, with and without a destination with normal stores.
    fn check_past_caches<T: Arbitrary>(
        self,
        set: Set,
        op: &impl Operator<T>,
        given: &[Vec<T>],
        folded: &[T],
    ) -> Result<(), TestCaseError> {
        let inputs: Vec<*const T> = given.iter().map(|vector| vector.as_ptr()).collect();
        for near in [0, 1] {
            let mut outputs = vec![given[0].clone(); 3];
            let places: Vec<*mut T> = outputs.iter_mut().map(|out| out.as_mut_ptr()).collect();
            let to = To::Past(places[..near].first().copied(), &places[near..]);
            // SAFETY: every vector has these elements, and no two overlap.
            unsafe { several_on(set, op, &inputs, self.from, self.n, &to) }
            for got in &outputs {
                same(got, &self.put(&given[0], folded))?;
            }
        }
        Ok(())
    }

    /// The result at a place. Operands stay in order, but may be bracketed differently: all operators used here are
    /// associative on integers, and floats are folded in the order that the kernel promises, those before the place
    /// first.
    fn folded_at<T: Arbitrary>(
        self,
        op: &impl Operator<T>,
        given: &[Vec<T>],
        place: usize,
    ) -> Vec<T> {
        let (before, after) = given.split_at(place);
        if before.is_empty() {
            return self.folded(op, after);
        }
        let mut first = given[place].clone();
        let before = self.folded(op, before);
        for (i, &before) in (self.from..).zip(&before) {
            first[i] = op.combine(before, first[i]);
        }
        let mut rest = vec![first];
        rest.extend_from_slice(&after[1..]);
        self.folded(op, &rest)
    }

    fn check_at_places<T: Arbitrary>(
        self,
        set: Set,
        op: &impl Operator<T>,
    ) -> Result<(), TestCaseError> {
        let given = self.vectors::<T>();
        for place in 0..self.vectors {
            let folded = self.folded_at(op, &given, place);
            let mut held = given.clone();
            let inputs: Vec<*const T> = held
                .iter_mut()
                .map(|vector| vector.as_mut_ptr().cast_const())
                .collect();
            // SAFETY: every vector has these elements, and no slice over one exists meanwhile.
            unsafe { several_on(set, op, &inputs, self.from, self.n, &To::Place(place)) }
            for (i, (got, given)) in held.iter().zip(&given).enumerate() {
                let want = if i == place {
                    self.put(given, &folded)
                } else {
                    given.clone()
                };
                same(got, &want)?;
            }
        }
        Ok(())
    }
}

/// The exact sums of more than two vectors, to every destination, against accumulators.
impl Case {
    fn check_sums<T: Arbitrary + Summand>(self) -> Result<(), TestCaseError> {
        let given = Case {
            vectors: self.vectors + 2,
            ..self
        }
        .vectors::<T>();
        let sum = |i: usize| T::sum_of(given.iter().map(|vector| vector[i]));
        let sums: Vec<T> = (self.from..self.from + self.n).map(sum).collect();
        for set in sets() {
            self.check_sums_on(set, &given, &sums)?;
        }
        Ok(())
    }

    fn check_sums_on<T: Arbitrary + Summand>(
        self,
        set: Set,
        given: &[Vec<T>],
        sums: &[T],
    ) -> Result<(), TestCaseError> {
        let (mut all, mut placed) = (given.to_vec(), given.to_vec());
        let (to_all, to_placed) = (pointers(&mut all), pointers(&mut placed));
        let inputs =
            |to: &[*mut T]| -> Vec<*const T> { to.iter().map(|p| p.cast_const()).collect() };
        // SAFETY: every vector has these elements, no two overlap, and no slice over one exists meanwhile.
        unsafe {
            let (read, all) = (inputs(&to_all), To::All(&to_all));
            sum_several_on(set, &read, self.from, self.n, &all);
            let read = inputs(&to_placed);
            sum_several_on(set, &read, self.from, self.n, &To::Place(1));
        }
        for (i, given) in given.iter().enumerate() {
            same(&all[i], &self.put(given, sums))?;
            let at_place = self.put(
                given,
                if i == 1 {
                    sums
                } else {
                    &given[self.from..][..self.n]
                },
            );
            same(&placed[i], &at_place)?;
        }
        self.check_sums_apart(set, given, sums)
    }

    fn check_sums_apart<T: Arbitrary + Summand>(
        self,
        set: Set,
        given: &[Vec<T>],
        sums: &[T],
    ) -> Result<(), TestCaseError> {
        let (mut past, mut own) = (vec![given[0].clone(); 3], given[0].clone());
        let to_past = pointers(&mut past);
        let read: Vec<*const T> = given.iter().map(|v| v.as_ptr()).collect();
        let (to_own, to_past) = (
            To::Own(own.as_mut_ptr()),
            To::Past(Some(to_past[0]), &to_past[1..]),
        );
        // SAFETY: every vector has these elements, and no two overlap.
        unsafe {
            sum_several_on(set, &read, self.from, self.n, &to_own);
            sum_several_on(set, &read, self.from, self.n, &to_past);
        }
        for past in &past {
            same(past, &self.put(&given[0], sums))?;
        }
        same(&own, &Case { from: 0, ..self }.put(&given[0], sums))
    }
}

fn pointers<T>(vectors: &mut [Vec<T>]) -> Vec<*mut T> {
    vectors.iter_mut().map(|v| v.as_mut_ptr()).collect()
}

fn same<T: Arbitrary>(got: &[T], want: &[T]) -> Result<(), TestCaseError> {
    prop_assert_eq!(got.len(), want.len());
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        prop_assert!(got.same(want), "{:?} and not {:?} at {}", got, want, i);
    }
    Ok(())
}

macro_rules! check {
    ($case:ident: $($t:ty),* => $($op:expr),*) => {
        check!(@ $case: [$($t),*] => [$($op),*])
    };
    (@ $case:ident: [$($t:ty),*] => $ops:tt) => { $( check!(@@ $case: $t => $ops); )* };
    (@@ $case:ident: $t:ty => [$($op:expr),*]) => { $( $case.check::<$t>($op)?; )* };
}

fn cases() -> impl Strategy<Value = Case> {
    // Shorter and longer than registers, chunks and blocks, at various distances from their edges.
    let lengths = prop_oneof![0..20usize, 100..140usize, 500..530usize, 1000..1100usize];
    let all = (any::<u64>(), 1..6usize, 0..9usize, lengths);
    all.prop_map(|(seed, vectors, from, n)| Case {
        seed,
        vectors,
        from,
        n,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_set_leaves_the_same_bits_of_integers(case in cases()) {
        check!(case: i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
            => Sum, Product, Min, Max, And, Or, Xor);
        check!(case: bool => And, Or, Xor);
    }

    #[test]
    fn every_set_leaves_the_same_bits_of_floats(case in cases()) {
        check!(case: f32, f64 => Sum, Product, Min, Max);
    }

    #[test]
    fn every_set_leaves_the_exact_sums_of_floats(case in cases()) {
        case.check_sums::<f32>()?;
        case.check_sums::<f64>()?;
    }

    #[test]
    fn every_set_leaves_the_same_bits_of_pairs(case in cases()) {
        check!(case: (f64, u32), (f32, u32), (i64, i32), (u8, usize), (i128, u64) => MinLoc, MaxLoc);
    }

    #[test]
    fn every_set_leaves_the_same_bits_of_closures_and_wide_elements(case in cases()) {
        case.check::<f32>(|a: f32, b: f32| a * 0.5 + b)?;
        case.check::<u32>(commutative(|a: u32, b| a.rotate_left(5) ^ b))?;
        case.check::<(u64, u64)>(|f: (u64, u64), g: (u64, u64)| {
            (f.0.wrapping_mul(g.0), f.0.wrapping_mul(g.1).wrapping_add(f.1))
        })?;
        let wide = Case { n: case.n % 20, ..case };
        wide.check::<[u64; 200]>(First)?;
        wide.check::<[u64; 200]>(|a: [u64; 200], b: [u64; 200]| {
            std::array::from_fn(|i| a[i].wrapping_sub(b[i]))
        })?;
    }
}

#[test]
fn elements_of_no_size_are_folded() {
    let (mut acc, right) = ([(); 9], [(); 12]);
    fold_right(&|(), ()| (), &mut acc, &right);
    fold_left(&First, &mut acc, &right);
    fold_two(&First, &mut acc, &right, &right);
}

#[test]
fn an_operator_that_panics_leaves_what_was_folded_before() {
    for at in [0, 1, 77, 299] {
        let op = |a: u32, b: u32| {
            assert_ne!(a, at, "as asked");
            a + b
        };
        let (mut acc, right): (Vec<u32>, _) = ((0..300).collect(), [1000; 300]);
        let result = catch_unwind(AssertUnwindSafe(|| fold_right(&op, &mut acc, &right)));
        assert!(result.is_err());
        let want = |i: u32| if i < at { i + 1000 } else { i };
        assert_eq!(acc, (0..300).map(want).collect::<Vec<_>>());
    }
}

#[test]
fn every_set_extracts_the_same_leading_parts() {
    let numbers = |count: i32| (0..count).map(|n| 1.0 / f64::from(n - 7));
    for count in [1, 63, 64, 65, 1000] {
        let numbers: Vec<f64> = numbers(count).filter(|x| x.is_finite()).collect();
        let by_set = sets().into_iter().map(|set| {
            let mut survey = Default::default();
            loops::survey_on(set, &numbers, &mut survey);
            let mut leading = survey.leading().expect("they differ little");
            loops::extract_on(set, &numbers, &mut leading);
            (survey, leading)
        });
        let by_set: Vec<_> = by_set.collect();
        assert!(by_set.windows(2).all(|two| two[0] == two[1]), "{count}");
    }
}
