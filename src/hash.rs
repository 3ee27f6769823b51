//! A hash of a few numbers that takes a few nanoseconds, and is the same in every rank and process. Nothing more is
//! required of it: no program can choose what is hashed so that it collides.

use std::hash::{Hash, Hasher};

/// A multiplicative hash.
#[derive(Clone, Copy)]
pub(crate) struct Mix(u64);

impl Default for Mix {
    fn default() -> Mix {
        Mix(0x9e37_79b9_7f4a_7c15)
    }
}

impl Mix {
    pub(crate) const ODD: u64 = 0xff51_afd7_ed55_8ccd;

    #[inline]
    pub(crate) fn of(what: &impl Hash) -> Mix {
        let mut mix = Mix::default();
        what.hash(&mut mix);
        mix
    }

    #[inline]
    pub(crate) fn bits(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl Hasher for Mix {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        // The high bits of a product depend on all bits of the factor: they become the low ones.
        self.0 = (self.0 ^ n).wrapping_mul(Mix::ODD).rotate_left(29);
    }

    #[inline]
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn few_small_numbers_share_a_place() {
        let keys = || (0..64u32).flat_map(|context| (0..64usize).map(move |rank| (context, rank)));
        let hashes: BTreeSet<u64> = keys().map(|key| Mix::of(&key).finish()).collect();
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
