//! Sums of several vectors at each place of a block, in an order that compilers vectorize: one vector after the other.

use super::summand::{Partial, Summand};

/// The places of a block: three numbers for each stay in the nearest cache.
pub(crate) const PLACES: usize = 128;

/// What is known of the sums at all places of a block.
pub(crate) struct Block {
    sum: [f64; PLACES],
    rest: [f64; PLACES],
    lost: [f64; PLACES],
}

impl Block {
    pub(crate) const fn new() -> Block {
        Block {
            sum: [0.0; PLACES],
            rest: [0.0; PLACES],
            lost: [0.0; PLACES],
        }
    }

    #[inline(always)]
    fn at(&self, place: usize) -> Partial {
        Partial {
            sum: self.sum[place],
            rest: self.rest[place],
            lost: self.lost[place],
        }
    }

    #[inline(always)]
    fn put(&mut self, place: usize, partial: Partial) {
        self.sum[place] = partial.sum;
        self.rest[place] = partial.rest;
        self.lost[place] = partial.lost;
    }

    /// Begins sums at the first `n` places with two numbers each.
    #[inline(always)]
    pub(crate) fn begin<T: Summand>(&mut self, n: usize, two: impl Fn(usize) -> (T, T)) {
        for place in 0..n.min(PLACES) {
            let (x, y) = two(place);
            self.put(place, Partial::of_two(x.widened(), y.widened()));
        }
    }

    /// Adds one more number to each.
    #[inline(always)]
    pub(crate) fn add<T: Summand>(&mut self, n: usize, number: impl Fn(usize) -> T) {
        for place in 0..n.min(PLACES) {
            self.put(place, self.at(place).plus(number(place).widened()));
        }
    }

    /// Rounds the sums. Returns whether all are right; those that an accumulator must find become a NaN.
    #[inline(always)]
    pub(crate) fn finish<T: Summand>(&self, n: usize, sums: &mut [T; PLACES]) -> bool {
        let mut right = true;
        for (place, sum) in sums[..n.min(PLACES)].iter_mut().enumerate() {
            let (value, is_right) = T::nearest(self.at(place));
            *sum = if is_right { value } else { T::UNKNOWN };
            right &= is_right;
        }
        right
    }
}
