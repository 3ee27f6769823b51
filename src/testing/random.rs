//! Random numbers, repeatable by seed and different for each rank.

use crate::comm::Comm;
use crate::transport::deadlock::choice::noise;

/// Random numbers (SplitMix64), with a sequence for each seed. Not for cryptography.
///
/// # Examples
///
/// ```
/// use rankfold::testing::Random;
///
/// let (mut one, mut other) = (Random::new(7), Random::new(7));
/// assert_eq!(one.next_u64(), other.next_u64());
/// assert!(one.below(10) < 10);
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// Creates the sequence of `seed`.
    pub fn new(seed: u64) -> Random {
        Random { seed, drawn: 0 }
    }

    /// Returns any number.
    pub fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        noise(self.seed, self.drawn)
    }

    /// Returns a number in `0..n`.
    ///
    /// # Panics
    ///
    /// Panics if `n` is 0.
    #[track_caller]
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "no number is below 0");
        (self.next_u64() % n as u64) as usize
    }

    /// Returns a number from 0 up to, but not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Returns random numbers for this rank: each rank has its own sequence, and the seed of the world repeats it. In a
/// world without a [seed](crate::World::seed) they are the same in every run.
///
/// # Examples
///
/// ```
/// use rankfold::{World, testing};
///
/// let draw = |seed| World::new(2).seed(seed).run(|comm| Ok(testing::random(comm).next_u64()));
/// let drawn = draw(5)?;
/// assert_ne!(drawn[0], drawn[1]);
/// assert_eq!(drawn, draw(5)?);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
pub fn random(comm: &Comm) -> Random {
    let rank = comm.world_rank(comm.rank()) as u64;
    Random::new(noise(comm.seed(), u64::MAX - 1 - rank))
}
