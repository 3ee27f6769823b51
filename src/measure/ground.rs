//! What the machine itself can do: the time of a cache line between two cores, and how fast cores copy and add. Nothing
//! here passes a message.

use std::hint::{black_box, spin_loop};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use super::statistics::{median, sorted};
use crate::machine::{Bind, Cpus, Machine, pin};

/// Two CPUs between which something is measured.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Their numbers.
    pub cpu: [usize; 2],
    cpus: Cpus,
}

impl Pair {
    /// Creates a pair of these two CPUs.
    pub fn of(machine: &Machine, cpu: [usize; 2]) -> Pair {
        Pair {
            cpu,
            cpus: machine.usable.clone(),
        }
    }

    /// Returns the first two CPUs of a machine that are on different cores, if it has two.
    pub fn first(machine: &Machine) -> Option<Pair> {
        let placed = machine.place(2, &Bind::Core, true).ok()?;
        match placed.cpu[..] {
            [Some(a), Some(b)] if machine.distinct_cores(&[a, b]) == 2 => {
                Some(Pair::of(machine, [a, b]))
            }
            _ => None,
        }
    }
}

/// Returns one CPU on each of as many different cores as there are, but at most `most`.
pub fn each_on(machine: &Machine, most: usize) -> Vec<usize> {
    let whole = machine
        .usable
        .quota
        .map_or(usize::MAX, |quota| quota.max(1.0) as usize);
    for count in (1..=most.min(whole).min(machine.usable.mask.len())).rev() {
        let placed = machine
            .place(count, &Bind::Core, true)
            .map(|placed| placed.cpu);
        let cpus: Vec<usize> = placed.unwrap_or_default().into_iter().flatten().collect();
        if cpus.len() == count && machine.distinct_cores(&cpus) == count {
            return cpus;
        }
    }
    Vec::new()
}

/// Round trips per batch, and number of batches.
const TRIPS: u64 = 200;
const BATCHES: usize = 25;

/// Returns the seconds that a cache line takes from one core to another: two threads write it in turn.
///
/// # Errors
///
/// The system's error if it refused to start a thread.
pub fn cache_line(pair: &Pair) -> io::Result<f64> {
    let line = CachePadded::new(AtomicU64::new(0));
    let play = |me: u64| {
        let mut times = Vec::new();
        for batch in 0..BATCHES as u64 {
            let begin = Instant::now();
            for trip in 0..TRIPS {
                let word = 2 * (batch * TRIPS + trip) + me;
                while line.load(Ordering::Acquire) != word {
                    spin_loop();
                }
                line.store(word + 1, Ordering::Release);
            }
            times.push(begin.elapsed().as_secs_f64() / (2 * TRIPS) as f64);
        }
        median(&sorted(times))
    };
    let both = together(&pair.cpu, &pair.cpus, &|me| play(me as u64))?;
    Ok(both.into_iter().fold(0.0, f64::max))
}

/// Minimum time for which one operation is repeated.
const ENOUGH: Duration = Duration::from_millis(4);

/// Returns the seconds in which each CPU of `on` copies `bytes` bytes from its own memory to its own memory, all at the
/// same time: the median of the slowest CPU.
///
/// # Errors
///
/// As [`cache_line`].
pub fn copy(on: &[usize], machine: &Machine, bytes: usize) -> io::Result<f64> {
    repeated(on, machine, bytes, |to, from| to.copy_from_slice(from))
}

/// Like [`copy`], but adds `bytes` bytes of `f32` to others.
///
/// # Errors
///
/// As [`cache_line`].
pub fn add(on: &[usize], machine: &Machine, bytes: usize) -> io::Result<f64> {
    repeated(on, machine, bytes, |to, from| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    })
}

fn repeated(
    on: &[usize],
    machine: &Machine,
    bytes: usize,
    once: impl Fn(&mut [f32], &[f32]) + Sync,
) -> io::Result<f64> {
    let length = (bytes / size_of::<f32>()).max(1);
    // Short vectors go in batches that a clock can time.
    let calls = (16384 / length).max(1);
    let slowest = together(on, &machine.usable, &|_| {
        let (mut to, from) = (vec![1.0; length], vec![2.0; length]);
        let mut times = Vec::new();
        let begin = Instant::now();
        while times.len() < 3 || begin.elapsed() < ENOUGH {
            let start = Instant::now();
            for _ in 0..calls {
                once(black_box(&mut to), black_box(&from));
            }
            times.push(start.elapsed().as_secs_f64() / calls as f64);
        }
        median(&sorted(times))
    })?;
    Ok(slowest.into_iter().fold(0.0, f64::max))
}

/// Runs `f` on each CPU of `on`, starting at the same time, and returns the results. Nothing runs unless every thread
/// could be started: otherwise the threads that did start are told so, and end.
fn together(on: &[usize], cpus: &Cpus, f: &(dyn Fn(usize) -> f64 + Sync)) -> io::Result<Vec<f64>> {
    let (complete, start) = (OnceLock::new(), Barrier::new(on.len()));
    let one = |me: usize| {
        if !complete.wait() {
            return f64::NAN;
        }
        // Where pinning is refused, the thread runs unpinned, which is no worse than not measuring.
        let _ = pin(on[me], cpus);
        start.wait();
        f(me)
    };
    let one = &one;
    thread::scope(|scope| {
        let spawn = |me| thread::Builder::new().spawn_scoped(scope, move || one(me));
        let threads: io::Result<Vec<_>> = (0..on.len()).map(spawn).collect();
        let _ = complete.set(threads.is_ok());
        let ends = threads?.into_iter().map(|thread| thread.join());
        Ok(ends.map(|end| end.unwrap_or(f64::NAN)).collect())
    })
}
