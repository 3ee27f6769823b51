//! Which processes take part: those that have not said that they exit, and have sent nothing that no process would send.
//!
//! A process that gets what cannot be true *excludes* its sender: the ranks there have failed, and whatever else comes
//! from that process is dropped. It tells all other processes, also the excluded one, and each that takes part does
//! the same when it hears of that for the first time. So any two that take part for each other exclude the same
//! processes in the end, and [silence](super::silence) is proved among them. A process that hears that it is excluded
//! itself takes all others for gone, and no rank of theirs for the culprit.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use parking_lot::Mutex;

const HERE: u8 = 0;
const LEFT: u8 = 1;
const EXCLUDED: u8 = 2;

/// How the processes stand, as far as this one knows.
pub(super) struct Membership {
    me: usize,
    standings: Box<[AtomicU8]>,
    /// The processes that were excluded here, until the others are told.
    untold: Mutex<Vec<usize>>,
    has_news: AtomicBool,
}

impl Membership {
    /// All of `processes` take part, of which this one is `me`.
    pub(super) fn new((me, processes): (usize, usize)) -> Membership {
        Membership {
            me,
            standings: (0..processes).map(|_| AtomicU8::new(HERE)).collect(),
            untold: Mutex::default(),
            has_news: AtomicBool::new(false),
        }
    }

    /// A process exits, or cannot be reached.
    pub(super) fn leave(&self, process: usize) {
        // Relaxed: read under the lock of the poll, or again later. One that is excluded stays so.
        let _ = self.standings[process].compare_exchange(
            HERE,
            LEFT,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Excludes a process. Returns whether it was not before: then all others are still to be told.
    pub(super) fn exclude(&self, process: usize) -> bool {
        // Relaxed: as in `leave`.
        let is_new = self.standings[process].swap(EXCLUDED, Ordering::Relaxed) != EXCLUDED;
        if is_new {
            self.untold.lock().push(process);
            // Relaxed: read by this thread, which is about to leave MPI, or again later.
            self.has_news.store(true, Ordering::Relaxed);
        }
        is_new
    }

    /// Whether the others are to be told of an exclusion.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        // Relaxed: as in `exclude`.
        self.has_news.load(Ordering::Relaxed)
    }

    /// The exclusions of which the others are to be told now.
    pub(super) fn take_news(&self) -> Vec<usize> {
        // Relaxed: as in `exclude`.
        match self.has_news.swap(false, Ordering::Relaxed) {
            true => std::mem::take(&mut *self.untold.lock()),
            false => Vec::new(),
        }
    }

    /// Whether a process was excluded.
    pub(super) fn is_excluded(&self, process: usize) -> bool {
        // Relaxed: as in `leave`.
        self.standings[process].load(Ordering::Relaxed) == EXCLUDED
    }

    /// The first process that was excluded: this one, if it was.
    pub(super) fn first_excluded(&self) -> Option<usize> {
        let mut all = [self.me].into_iter().chain(0..self.standings.len());
        all.find(|process| self.is_excluded(*process))
    }

    /// Whether another process takes no part any more.
    pub(super) fn has_left(&self, process: usize) -> bool {
        // Relaxed: as in `leave`.
        let standing = self.standings[process].load(Ordering::Relaxed);
        process != self.me && (standing != HERE || self.is_excluded(self.me))
    }

    /// Whether what a process sends is dropped.
    pub(super) fn is_dropped(&self, process: usize) -> bool {
        self.is_excluded(process) || self.is_excluded(self.me)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Processes whose news arrive in the order of a seed, each pair's in the order in which they were sent.
    struct All {
        each: Vec<Membership>,
        /// By sender and receiver.
        sent: Vec<Vec<std::collections::VecDeque<usize>>>,
    }

    impl All {
        fn of(processes: usize) -> All {
            All {
                each: (0..processes)
                    .map(|me| Membership::new((me, processes)))
                    .collect(),
                sent: vec![vec![Default::default(); processes]; processes],
            }
        }

        fn exclude(&mut self, me: usize, process: usize) {
            self.each[me].exclude(process);
            for accused in self.each[me].take_news() {
                self.sent[me]
                    .iter_mut()
                    .for_each(|queue| queue.push_back(accused));
            }
        }

        /// Delivers one message, if there is any; `number` chooses it.
        fn deliver(&mut self, number: u64) -> bool {
            let count = self.each.len();
            let pairs = (0..count * count).map(|pair| (pair / count, pair % count));
            let full: Vec<_> = pairs
                .filter(|(from, to)| !self.sent[*from][*to].is_empty())
                .collect();
            let Some(&(from, to)) = full.get((number % full.len().max(1) as u64) as usize) else {
                return false;
            };
            let accused = self.sent[from][to].pop_front().unwrap();
            if from != to && !self.each[to].is_dropped(from) {
                self.exclude(to, accused);
            }
            true
        }

        fn live(&self, me: usize) -> Vec<bool> {
            (0..self.each.len())
                .map(|other| !self.each[me].has_left(other))
                .collect()
        }
    }

    /// Several processes exclude each other at once, in all orders of a few seeds.
    #[test]
    fn processes_that_take_part_for_each_other_exclude_the_same_ones() {
        let mut alone = 0;
        for seed in 0..2000u64 {
            let mut random = seed;
            let mut next = move || {
                random = random
                    .wrapping_mul(0x5851_f42d_4c95_7f2d)
                    .wrapping_add(0x1405_7b7e_f767_814f);
                random >> 33
            };
            let count = 2 + (next() % 4) as usize;
            let mut all = All::of(count);
            for _ in 0..1 + next() % 3 {
                let (me, process) = (next() as usize % count, next() as usize % count);
                if me != process && !all.each[me].is_dropped(process) {
                    all.exclude(me, process);
                }
                if next() % 2 == 0 {
                    all.deliver(next());
                }
            }
            while all.deliver(next()) {}
            for me in 0..count {
                let mine = all.live(me);
                for other in (0..count).filter(|other| mine[*other]) {
                    assert_eq!(all.live(other), mine, "seed {seed}: {me} and {other}");
                }
                alone += usize::from(mine.iter().filter(|live| **live).count() == 1);
            }
        }
        assert!(alone > 0);
    }

    #[test]
    fn a_process_that_is_excluded_takes_all_others_for_gone() {
        let all = Membership::new((1, 3));
        assert!(all.exclude(1) && !all.exclude(1));
        assert_eq!(
            [0, 1, 2].map(|process| all.has_left(process)),
            [true, false, true]
        );
        assert_eq!(
            (all.first_excluded(), all.take_news(), all.take_news()),
            (Some(1), vec![1], vec![])
        );
    }

    #[test]
    fn a_process_that_exits_is_not_excluded() {
        let all = Membership::new((0, 2));
        all.leave(1);
        assert!(all.has_left(1) && !all.is_dropped(1) && all.first_excluded().is_none());
        assert!(all.exclude(1));
        all.leave(1);
        assert!(all.is_dropped(1));
    }
}
