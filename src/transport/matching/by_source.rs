//! Maps by the context and the sender of messages, with a hash that costs less than the message.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::Rank;

/// Values by context and source.
pub(in crate::transport) type BySource<V> = HashMap<(u32, Rank), V, BuildHasherDefault<Mixed>>;

/// A hash of a few numbers that takes a nanosecond. No program can choose them so that they meet.
#[derive(Default)]
pub(in crate::transport) struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn few_sources_of_few_contexts_share_a_place() {
        let hasher = BuildHasherDefault::<Mixed>::default();
        let keys = || (0..64u32).flat_map(|context| (0..64usize).map(move |rank| (context, rank)));
        let hashes: BTreeSet<u64> = keys().map(|key| hasher.hash_one(key)).collect();
        assert_eq!(hashes.len(), keys().count());
        // What a table of as many places looks at, and what it compares first.
        let low: BTreeSet<u64> = hashes.iter().map(|hash| hash % 4096).collect();
        let high: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        assert!(
            low.len() > 2048 && high.len() == 128,
            "{} {}",
            low.len(),
            high.len()
        );
    }
}
