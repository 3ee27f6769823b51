//! Many threads that wait for each other repeatedly, and that fold one number.
//!
//! ```text
//! 0 ──▶ ┃ ──▶ ┃ ──▶         no thread passes a barrier before the last has arrived:
//! 1 ────▶ ┃ ─▶ ┃ ─▶         a witness counts arrivals, in runs that check it
//! 2 ─▶ ┃ ────▶ ┃ ──▶
//! ```

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;
use rankfold::op;

use super::{On, ranks, threads};

/// Counts arrivals, to check that no thread passes early. It is a shared line, so it is absent from timed runs.
#[derive(Debug, Default)]
pub struct Witness(AtomicU64);

impl Witness {
    fn comes(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn passes(&self, time: u64, n: usize) {
        let here = self.0.load(Ordering::Relaxed);
        assert!(here >= (time + 1) * n as u64, "passed before all had come");
    }
}

/// Passes `times` times in one thread, checked by the witness if there is one.
fn pass_often<E>(
    n: usize,
    times: u64,
    witness: Option<&Witness>,
    pass: impl Fn() -> Result<(), E>,
) -> Result<(), E> {
    for time in 0..times {
        if let Some(witness) = witness {
            witness.comes();
        }
        pass()?;
        if let Some(witness) = witness {
            witness.passes(time, n);
        }
    }
    Ok(())
}

fn pass_plain(n: usize, times: u64, witness: Option<&Witness>, pass: impl Fn()) {
    let Ok(()) = pass_often::<std::convert::Infallible>(n, times, witness, || {
        pass();
        Ok(())
    });
}

/// The library's barrier.
pub fn barrier(on: On, n: usize, times: u64, witness: Option<&Witness>) -> Duration {
    ranks(on, n, |comm| {
        pass_often(n, times, witness, || comm.barrier())
    })
}

/// The standard library's barrier.
pub fn std_barrier(on: On, n: usize, times: u64, witness: Option<&Witness>) -> Duration {
    let barrier = Barrier::new(n);
    threads(on, n, |_| {
        pass_plain(n, times, witness, || {
            barrier.wait();
        });
    })
}

/// A minimal barrier: a counter, and a turn that the last thread changes.
pub fn central(on: On, n: usize, times: u64, pause: fn(), witness: Option<&Witness>) -> Duration {
    let counter = Central::new(n);
    threads(on, n, |_| {
        pass_plain(n, times, witness, || counter.pass(pause))
    })
}

struct Central {
    size: usize,
    arrived: CachePadded<AtomicUsize>,
    turn: CachePadded<AtomicUsize>,
}

impl Central {
    fn new(size: usize) -> Self {
        Central {
            size,
            arrived: CachePadded::default(),
            turn: CachePadded::default(),
        }
    }

    fn pass(&self, pause: fn()) {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.arrived.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
        } else {
            while self.turn.load(Ordering::Acquire) == turn {
                pause();
            }
        }
    }
}

/// The library's sum of `words` words over all ranks; every first word is compared.
pub fn all_reduce(on: On, n: usize, words: usize, times: u64) -> Duration {
    ranks(on, n, |comm| {
        let mut v = vec![0u64; words];
        for time in 0..times {
            v[0] = time + comm.rank() as u64;
            comm.all_reduce(&mut v, op::Sum)?;
            assert_eq!(v[0], n as u64 * time + (n * (n - 1) / 2) as u64);
        }
        Ok(())
    })
}
