//! Ranks that ask again and again, by `MPI_Test` or `MPI_Iprobe` and their like, for what does not come.
//!
//! Such a rank is not seen as waiting: it may stop asking for a reason that is not known here, such as the time, a file, or
//! another thread. So it is no deadlock, and ends nothing by itself. But if no other rank moves either, each of them being
//! in one call all the time, asking too, or gone, then nothing is on its way to it, and it is told after a while. Only where
//! the program is run with a timeout, which says how long ranks may wait, does asking for twice as long end the rank.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rankfold::ErrorKind;
use rankfold::error::Gone;

use crate::abi::MPI_ERR_OTHER;
use crate::error::{Out, failure};
use crate::line;

/// How long a rank asks before it is told.
const LONG: Duration = Duration::from_secs(10);

/// What other ranks see of one. It has its cache lines for itself.
///
/// All is read and written with relaxed ordering: what is seen late is a delay, and each number stands for itself.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Doing {
    /// Calls begun and ended: odd within a call.
    steps: AtomicU64,
    /// Since when the rank only asks, and when it asked last, in nanoseconds; 0 if it does something else.
    since: AtomicU64,
    last: AtomicU64,
    gone: AtomicBool,
    /// Whether it has ended as MPI lets it: its `main` has returned after `MPI_Finalize`.
    well: AtomicBool,
}

/// What was seen of a rank.
#[derive(Clone, Copy)]
struct Seen {
    steps: u64,
    since: u64,
}

impl Doing {
    fn leaves(&self, well: bool) {
        self.well.store(well, Ordering::Relaxed);
        self.gone.store(true, Ordering::Relaxed);
    }

    fn seen(&self) -> Seen {
        Seen {
            steps: self.steps.load(Ordering::Relaxed),
            since: self.since.load(Ordering::Relaxed),
        }
    }

    /// What a rank does that has not moved since it was seen, at `then`; `None` if it has.
    fn idle(&self, before: Seen, then: u64) -> Option<&'static str> {
        let now = self.seen();
        if self.gone.load(Ordering::Relaxed) {
            return Some("has ended");
        }
        if now.steps == before.steps && now.steps % 2 == 1 {
            return Some("waits in a call");
        }
        let asks = now.since != 0 && now.since == before.since;
        let still = self.last.load(Ordering::Relaxed) > then;
        (asks && still).then_some("asks, too")
    }
}

/// All nanoseconds, or as many as can be counted, which are centuries.
fn nanos(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// The ranks of a run.
pub(crate) struct Doings {
    all: Vec<Arc<Doing>>,
    begin: Instant,
    /// How long a rank asks, in nanoseconds.
    limit: u64,
    ends: bool,
    /// How many ranks have ended as MPI lets them.
    well: AtomicUsize,
}

impl Doings {
    pub(crate) fn new(ranks: usize, timeout: Option<Duration>) -> Doings {
        Doings {
            all: (0..ranks).map(|_| Arc::default()).collect(),
            begin: Instant::now(),
            // A rank that waits is to be ended before one that asks.
            limit: nanos(timeout.map_or(LONG, |timeout| timeout.saturating_mul(2))),
            ends: timeout.is_some(),
            well: AtomicUsize::new(0),
        }
    }

    pub(crate) fn of(&self, rank: usize) -> Arc<Doing> {
        self.all[rank].clone()
    }

    /// Notes that a rank ends, and whether as MPI lets it.
    pub(crate) fn leaves(&self, rank: usize, well: bool) {
        self.all[rank].leaves(well);
        if well {
            // Relaxed: who learns of the end from the engine learns of this too.
            self.well.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether any rank has ended as MPI lets it.
    pub(crate) fn has_any_left(&self) -> bool {
        // Relaxed: as above.
        self.well.load(Ordering::Relaxed) > 0
    }

    /// Whether an operation fails because its rank has ended as MPI lets it: on other MPIs it would never be over.
    pub(crate) fn has_left(&self, error: &rankfold::Error) -> bool {
        let ErrorKind::RankGone { rank, why, .. } = error.kind() else {
            return false;
        };
        // Relaxed: as above.
        *why == Gone::Returned && self.all[*rank].well.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        // Never 0.
        nanos(self.begin.elapsed()) + 1
    }
}

/// What a rank knows of its own asking.
pub(crate) struct Asking {
    me: usize,
    doing: Arc<Doing>,
    steps: Cell<u64>,
    /// The step of the last call that asked in vain, and how many there were in a row.
    vain: Cell<u64>,
    times: Cell<u64>,
    /// What it saw of all ranks, and when.
    seen: RefCell<Option<(u64, Vec<Seen>)>>,
    told: Cell<bool>,
}

impl Asking {
    pub(crate) fn new(me: usize, doing: Arc<Doing>) -> Asking {
        Asking {
            me,
            doing,
            steps: Cell::new(0),
            vain: Cell::new(0),
            times: Cell::new(0),
            seen: RefCell::default(),
            told: Cell::new(false),
        }
    }

    /// Notes that a call begins or ends.
    #[inline]
    pub(crate) fn step(&self) {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        self.doing.steps.store(steps, Ordering::Relaxed);
    }

    /// Notes that the call in progress has asked in vain.
    ///
    /// # Errors
    ///
    /// Where a timeout is set: that of a rank that has asked for too long, while no other one has moved.
    pub(crate) fn in_vain(&self, doings: &Doings) -> Out {
        /// The time is looked up once in this number of calls.
        const OFTEN: u64 = 16;
        let step = self.steps.get();
        let in_a_row = self.vain.replace(step) + 2 == step;
        if !in_a_row {
            self.times.set(0);
            self.doing.since.store(0, Ordering::Relaxed);
            self.seen.take();
            self.told.set(false);
        }
        let times = self.times.get() + 1;
        self.times.set(times);
        match times % OFTEN {
            0 => self.asks(doings, doings.now()),
            _ => Ok(()),
        }
    }

    #[cold]
    fn asks(&self, doings: &Doings, now: u64) -> Out {
        self.doing.last.store(now, Ordering::Relaxed);
        let since = self.doing.since.load(Ordering::Relaxed);
        if since == 0 {
            self.doing.since.store(now, Ordering::Relaxed);
            return Ok(());
        }
        if self.told.get() {
            return Ok(());
        }
        let half = doings.limit / 2;
        let seen = self.seen.borrow().as_ref().map(|(then, _)| *then);
        match seen {
            Some(then) if now - then >= half => {}
            None if now - since >= half => {
                self.look(doings, now);
                return Ok(());
            }
            _ => return Ok(()),
        }
        match self.idle_others(doings) {
            Some(others) => self.tell(doings, now - since, &others),
            None => {
                self.look(doings, now);
                Ok(())
            }
        }
    }

    fn look(&self, doings: &Doings, now: u64) {
        let all = doings.all.iter().map(|it| it.seen()).collect();
        *self.seen.borrow_mut() = Some((now, all));
    }

    /// What the other ranks do, if none of them has moved since it was looked.
    fn idle_others(&self, doings: &Doings) -> Option<String> {
        let seen = self.seen.borrow();
        let (then, before) = seen.as_ref()?;
        let mut text = String::new();
        for (rank, doing) in doings.all.iter().enumerate() {
            if rank != self.me {
                let does = doing.idle(before[rank], *then)?;
                text.push_str(&format!("\n  rank {rank} {does}"));
            }
        }
        Some(text)
    }

    fn tell(&self, doings: &Doings, nanos: u64, others: &str) -> Out {
        let time = Duration::from_nanos(nanos);
        if doings.ends {
            let text =
                format!("it asks for {time:.1?} in vain, and no other rank has moved{others}");
            return Err(failure(MPI_ERR_OTHER, text));
        }
        self.told.set(true);
        let place = line::of_the_program();
        let place = place.map_or_else(String::new, |place| format!(" at {place}"));
        eprintln!(
            "rank {}: it asks{place} for {time:.0?} in vain, and no other rank has moved; --timeout would end it{others}",
            self.me
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(1);

    /// Rank 0 asks for `seconds`, while `other` does something each second; returns how it ends.
    fn asked(seconds: u32, timeout: u64, other: impl Fn(u32, &Doing)) -> Out {
        let doings = Doings::new(2, Some(Duration::from_secs(timeout)));
        let (me, there) = (Asking::new(0, doings.of(0)), doings.of(1));
        for second in 1..=seconds {
            let now = STEP * second;
            other(second, &there);
            me.asks(&doings, now.as_nanos() as u64)?;
        }
        Ok(())
    }

    #[test]
    fn a_rank_asks_in_vain_if_the_others_wait_ask_or_are_gone() {
        let waits = |_, other: &Doing| other.steps.store(7, Ordering::Relaxed);
        assert!(
            asked(30, 5, waits)
                .unwrap_err()
                .text
                .contains("rank 1 waits in a call")
        );
        asked(9, 5, waits).unwrap();
        let gone = |_, other: &Doing| other.leaves(true);
        assert!(
            asked(30, 5, gone)
                .unwrap_err()
                .text
                .contains("rank 1 has ended")
        );
        let asks = |second: u32, other: &Doing| {
            let now = (STEP * second).as_nanos() as u64;
            other
                .steps
                .store(8 + 2 * u64::from(second), Ordering::Relaxed);
            other.since.store(1, Ordering::Relaxed);
            other.last.store(now, Ordering::Relaxed);
        };
        assert!(
            asked(30, 5, asks)
                .unwrap_err()
                .text
                .contains("rank 1 asks, too")
        );
    }

    #[test]
    fn a_timeout_of_centuries_ends_no_rank() {
        for timeout in [9_223_372_037, u64::MAX / 2, u64::MAX] {
            asked(300, timeout, |_, other| other.leaves(true)).unwrap();
        }
    }

    #[test]
    fn a_rank_that_computes_or_moves_is_waited_for() {
        asked(300, 5, |_, other| other.steps.store(8, Ordering::Relaxed)).unwrap();
        // It is in another call each second.
        let moves = |second: u32, other: &Doing| {
            other
                .steps
                .store(1 + 2 * u64::from(second), Ordering::Relaxed);
        };
        asked(300, 5, moves).unwrap();
        // It has asked, and computes since.
        let asked_once = |second: u32, other: &Doing| {
            other.since.store(1, Ordering::Relaxed);
            other
                .last
                .store(u64::from(second.min(2)), Ordering::Relaxed);
        };
        asked(300, 5, asked_once).unwrap();
    }
}
