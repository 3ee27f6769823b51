//! A cache in memory that is organized as a processor's is: a hash table of sets, each with a few places, of which the
//! last one filled comes first.
//!
//! It doubles while what is stored evicts the rest, up to a limit, so that it soon holds all that is sought in turn,
//! and a look-up reads one cache line besides the value.

use std::mem;

/// The places of a set.
const WAYS: usize = 4;

const FEWEST_SETS: usize = 8;

/// For 4,096 values.
const MOST_SETS: usize = 1024;

/// A value, and its hash.
pub(super) struct HashedValue<T> {
    pub hash: u64,
    pub value: T,
}

/// The places for values with equal low bits of their hashes, in one cache line if a value is a pointer.
#[repr(align(64))]
pub(super) struct Set<T>(pub [Option<HashedValue<T>>; WAYS]);

/// The table.
pub(super) struct SetAssociative<T> {
    /// A power of two of them, or none.
    sets: Vec<Set<T>>,
    /// The values that were evicted since the table has grown.
    evicted: usize,
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Set([const { None }; WAYS])
    }
}

impl<T> Default for SetAssociative<T> {
    fn default() -> Self {
        SetAssociative {
            sets: Vec::new(),
            evicted: 0,
        }
    }
}

impl<T> SetAssociative<T> {
    /// Where values with this hash are, if they are stored.
    pub(super) fn set(&self, hash: u64) -> Option<&Set<T>> {
        self.sets.get(self.index(hash))
    }

    /// Stores what `make` makes of the value that it replaces, if that must go.
    pub(super) fn put(&mut self, hash: u64, make: impl FnOnce(Option<T>) -> T) -> &T {
        if self.evicted >= self.sets.len() && self.sets.len() < MOST_SETS {
            self.grow();
        }
        let index = self.index(hash);
        let set = &mut self.sets[index].0;
        set.rotate_right(1);
        let last = set[0].take();
        self.evicted += usize::from(last.is_some());
        let value = make(last.map(|slot| slot.value));
        &set[0].insert(HashedValue { hash, value }).value
    }

    /// The index of the set of a hash; out of range if there are no sets.
    fn index(&self, hash: u64) -> usize {
        hash as usize & self.sets.len().wrapping_sub(1)
    }

    /// Doubles the number of sets. The values of each go to two, in their order.
    #[cold]
    fn grow(&mut self) {
        let wider = (self.sets.len() * 2).max(FEWEST_SETS);
        let sets = mem::take(&mut self.sets);
        self.sets.resize_with(wider, Set::default);
        self.evicted = 0;
        for slot in sets.into_iter().flat_map(|set| set.0).flatten() {
            let index = self.index(slot.hash);
            let mut places = self.sets[index].0.iter_mut();
            let free = places.find(|place| place.is_none());
            *free.expect("there are no more values than before") = Some(slot);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The hash of a number.
    fn hash(number: u64) -> u64 {
        let product = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ (product >> 32)
    }

    fn find(table: &SetAssociative<u64>, number: u64) -> bool {
        let slots = table.set(hash(number)).map(|set| set.0.iter().flatten());
        let mut slots = slots.into_iter().flatten();
        slots.any(|slot| slot.hash == hash(number) && slot.value == number)
    }

    /// Seeks the numbers in turn and stores those that are not there; returns how many were not.
    fn missing(table: &mut SetAssociative<u64>, numbers: u64) -> usize {
        let mut count = 0;
        for number in 0..numbers {
            if !find(table, number) {
                table.put(hash(number), |_| number);
                count += 1;
            }
            assert!(find(table, number));
        }
        count
    }

    #[test]
    fn all_numbers_that_are_sought_in_turn_are_soon_kept() {
        for numbers in [1, 2, 30, 80, 1000] {
            let mut table = SetAssociative::default();
            let first = missing(&mut table, numbers);
            let last = (0..40).map(|_| missing(&mut table, numbers)).last();
            let last = last.expect("it was sought");
            assert_eq!((first, last), (numbers as usize, 0), "{numbers} numbers");
        }
    }

    #[test]
    fn the_table_grows_to_its_limit_and_no_further() {
        let mut table = SetAssociative::default();
        assert!(!find(&table, 0));
        assert!((0..3).all(|_| missing(&mut table, 100_000) > 0));
        assert_eq!(table.sets.len(), MOST_SETS);
    }

    #[test]
    fn one_value_needs_no_more_than_the_fewest_sets() {
        let mut table = SetAssociative::default();
        assert_eq!((0..1000).map(|_| missing(&mut table, 1)).sum::<usize>(), 1);
        assert_eq!(table.sets.len(), FEWEST_SETS);
    }

    #[test]
    fn the_value_that_goes_is_passed_to_the_one_that_comes() {
        let mut table = SetAssociative::default();
        let mut gone = Vec::new();
        for number in 0..5 {
            table.put(0, |last| {
                gone.extend(last);
                number
            });
        }
        assert_eq!(gone, [0]);
    }
}
