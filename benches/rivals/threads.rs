//! Plain threads as ranks: pinned like all others, with a spinning counter as their barrier.

use std::hint::spin_loop;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, yield_now};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::clock::{self, Figures, Hub, Member};
use super::op::Op;
use super::place::Place;

/// The textbook barrier: arriving threads count up, and the last one releases all.
#[derive(Debug)]
pub struct Counter {
    come: CachePadded<AtomicUsize>,
    passed: CachePadded<AtomicUsize>,
    ranks: usize,
    wait: fn(),
}

impl Counter {
    pub fn new(place: &Place) -> Counter {
        Counter {
            come: CachePadded::default(),
            passed: CachePadded::default(),
            ranks: place.ranks,
            wait: waiting(place),
        }
    }

    #[inline]
    pub fn meet(&self) {
        let passed = self.passed.load(Ordering::Relaxed);
        // AcqRel: the last thread sees what all did before, and its Release store below passes it on.
        if self.come.fetch_add(1, Ordering::AcqRel) + 1 == self.ranks {
            self.come.store(0, Ordering::Relaxed);
            self.passed.store(passed + 1, Ordering::Release);
            return;
        }
        while self.passed.load(Ordering::Acquire) == passed {
            (self.wait)();
        }
    }
}

/// Returns what a thread does while it waits for another: spin, or yield if there are more threads than CPUs.
pub fn waiting(place: &Place) -> fn() {
    if place.crowded() {
        yield_now
    } else {
        spin_loop
    }
}

/// What the threads of one point share.
struct Shared {
    counter: Counter,
    told: AtomicU64,
    latest: Mutex<Vec<f64>>,
}

/// One thread's view of it.
pub struct Spot<'s> {
    shared: &'s Shared,
    rank: usize,
}

impl Hub for Spot<'_> {
    fn meet(&self) {
        self.shared.counter.meet();
    }

    fn is_late(&self, call: usize) -> bool {
        call % self.shared.counter.ranks == self.rank
    }

    fn tell(&self, number: u64) -> u64 {
        if self.rank == 0 {
            self.shared.told.store(number, Ordering::Relaxed);
        }
        self.meet();
        let told = self.shared.told.load(Ordering::Relaxed);
        self.meet();
        told
    }

    fn latest(&self, times: Vec<f64>) -> Vec<f64> {
        let mut latest = self.shared.latest.lock().expect("nobody panicked");
        latest.resize(times.len(), f64::MIN);
        latest
            .iter_mut()
            .zip(&times)
            .for_each(|(all, one)| *all = all.max(*one));
        drop(latest);
        self.meet();
        let all = self.shared.latest.lock().expect("nobody panicked").clone();
        self.meet();
        self.shared.latest.lock().expect("nobody panicked").clear();
        self.meet();
        all
    }
}

/// Times one operation of threads, each of them with what `member` makes for it.
pub fn point<M: Member>(
    place: &Place,
    op: Op,
    budget: Duration,
    member: impl Fn(usize) -> M + Sync,
) -> Option<Figures> {
    let shared = Shared {
        counter: Counter::new(place),
        told: AtomicU64::new(0),
        latest: Mutex::default(),
    };
    let live = |rank| {
        place.pin(rank);
        let hub = Spot {
            shared: &shared,
            rank,
        };
        clock::point(&hub, &mut member(rank), op, budget)
    };
    let live = &live;
    thread::scope(|scope| {
        let ranks: Vec<_> = (0..place.ranks)
            .map(|rank| scope.spawn(move || live(rank)))
            .collect();
        let mut all = ranks
            .into_iter()
            .map(|rank| rank.join().expect("no thread fails"));
        let first = all.next().expect("there is a rank");
        all.for_each(drop);
        first
    })
}
