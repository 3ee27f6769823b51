//! What the tests of failures share: the net under a test that hangs, cases that scale, reproducible random numbers,
//! and buffers whose memory is spoiled when they are freed.
//!
//! - `net`: aborts a test that hangs
//! - `sweep`: failures at every operation, and their expected outcomes
//! - `neighbors`: which block of a collective among neighbours comes from where
//! - `random`: programs that cannot deadlock, by construction, and how a rank runs its part; `random_draft`: how they
//!   are drawn; `random_model`: which ranks of a wrong one reach their end; `random_messages`, `random_started`: their
//!   messages and started collectives; `random_calls`, `random_meetings`, `random_windows`: collectives in every form,
//!   exact and fused ones and others, and windows
#![allow(dead_code)] // each test binary uses its own part

pub mod neighbors;
pub mod net;
pub mod random;
pub mod random_calls;
pub mod random_draft;
pub mod random_meetings;
pub mod random_messages;
pub mod random_model;
pub mod random_started;
pub mod random_windows;
pub mod sweep;

use std::ops::{Deref, DerefMut, RangeInclusive};

use rankfold::{Comm, Result, World, WorldError};

#[allow(unused_imports)]
pub use net::guarded;

/// Runs a wrong program on each of these numbers of ranks, with check and without, and shows its error to `judge`.
pub fn each_error(
    ranks: RangeInclusive<usize>,
    program: fn(&Comm) -> Result<()>,
    mut judge: impl FnMut(&str, usize, &WorldError),
) {
    for (ranks, check) in ranks.flat_map(|ranks| [(ranks, false), (ranks, true)]) {
        let case = format!("{ranks} ranks, check({check})");
        let world = World::new(ranks).check(check);
        let report = guarded(&|| case.clone(), || world.run_each(program));
        let error = report.into_result().expect_err(&case);
        judge(&format!("{case}: {error}"), ranks, &error);
    }
}

/// Returns `RANKFOLD_SCALE`: the share of the cases to run, 1 for all.
pub fn scale() -> f64 {
    let scale: Option<f64> = setting("RANKFOLD_SCALE");
    scale.filter(|scale| *scale > 0.0).unwrap_or(1.0)
}

/// Reads a number from the environment.
pub fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

/// Selects the cases to run: all of them, or a share, spread evenly and always the same; the first in any case.
pub struct Sieve {
    number: u64,
    part: f64,
    first: bool,
}

impl Sieve {
    pub fn new(seed: u64) -> Self {
        Sieve::part(seed, 1.0)
    }

    /// Selects this share of the cases, times the scale.
    pub fn part(seed: u64, part: f64) -> Self {
        let part = part * scale();
        Sieve {
            number: mix(seed),
            part,
            first: true,
        }
    }

    pub fn takes(&mut self) -> bool {
        self.number = self.number.wrapping_add(1);
        std::mem::take(&mut self.first) || unit(mix(self.number)) < self.part
    }
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A hash that spreads neighbouring numbers (the output function of SplitMix64).
pub fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// SplitMix64: short, and every seed gives its own sequence.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(mix(seed.wrapping_add(0x5851_f42d_4c95_7f2d)))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns one of `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Returns true once in `n` times on average.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const POISON: u64 = 0xdead_dead_dead_dead;

/// A buffer that is spoiled before its memory is freed: a rank that reads it afterwards gets wrong sums.
pub struct Spoiled(Vec<u64>);

impl Spoiled {
    pub fn new(elements: Vec<u64>) -> Self {
        Spoiled(elements)
    }
}

impl Deref for Spoiled {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl DerefMut for Spoiled {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}

impl Drop for Spoiled {
    fn drop(&mut self) {
        self.0.fill(POISON);
        // Without this the compiler may leave out stores that nothing seems to read.
        std::hint::black_box(&mut self.0);
    }
}
