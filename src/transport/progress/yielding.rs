//! How long a rank yields before it parks.
//!
//! To park and to be woken takes some ten times as long as to yield, and more where a CPU that is idle must be woken by
//! another one. Of many ranks that take turns on the CPUs, those that park delay each other. If a call then takes longer than
//! ranks yield, all of them park in each call, though yielding alone would end it much sooner. So a rank that has parked
//! yields for longer next time than it has waited, if that was not long for so many ranks.
//!
//! Only a rank that parks learns that another one has ended or failed. So the first end of a run is noted where ranks that
//! yield see it: they park soon, and none yields for longer than at first in the rest of the run.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::transport::Fabric;
use crate::transport::progress::live::{Live, are_crowded};

/// The time for which a rank yields in its next wait, if ranks take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport) struct Yielding(Duration);

/// Minimum number of yields before a rank parks.
const YIELDS: u32 = 8;

/// The maximum of that time for each rank that a CPU has, and that for all.
const EACH: Duration = Duration::from_millis(4);
const MOST: Duration = Duration::from_millis(500);

impl Yielding {
    /// At first, and where ranks take no turns.
    pub(in crate::transport) const FIRST: Yielding = Yielding(Duration::from_micros(500));

    pub(in crate::transport) fn time(self) -> Duration {
        self.0
    }

    /// After a wait so long, in which one of `live` ranks on `cpus` CPUs has parked.
    pub(in crate::transport) fn after(waited: Duration, live: usize, cpus: usize) -> Yielding {
        let turns = live.div_ceil(cpus.max(1)) as u32;
        let most = EACH.saturating_mul(turns).min(MOST);
        match waited < most {
            true => Yielding((2 * waited).clamp(Yielding::FIRST.0, most)),
            false => Yielding::FIRST,
        }
    }
}

impl Fabric {
    /// A rank has ended or a communicator has broken.
    pub(in crate::transport) fn tell_yielding(&self) {
        // The ranks of a team are counted when all of them have been given their jobs: one of them may have ended by then.
        let live = self.endpoints.len().max(Live::count());
        // Relaxed: a hint. Who comes to look opens the registry.
        if are_crowded(live, self.settings.cpus) && !self.has_ends.load(Ordering::Relaxed) {
            self.has_ends.store(true, Ordering::Relaxed);
        }
    }
}

/// The yielding stage of one wait.
pub(in crate::transport) struct YieldingStage<'a> {
    fabric: &'a Fabric,
    /// For how long it lasts, and for how many turns at least.
    time: Duration,
    turns: u32,
    /// Whether this rank knows that another one has ended.
    is_told: bool,
}

impl<'a> YieldingStage<'a> {
    pub(in crate::transport) fn new(fabric: &'a Fabric, time: Duration) -> Self {
        YieldingStage {
            fabric,
            time,
            turns: YIELDS,
            is_told: false,
        }
    }

    /// Begins the next turn, if there is one, so long after the wait began.
    #[inline]
    pub(in crate::transport) fn goes_on(&mut self, elapsed: impl Fn() -> Duration) -> bool {
        // Relaxed: a hint.
        if !self.is_told && self.fabric.has_ends.load(Ordering::Relaxed) {
            self.is_told = true;
            self.shorten(elapsed() + Yielding::FIRST.0);
        }
        let goes_on = self.turns > 0 || elapsed() < self.time;
        self.turns = self.turns.saturating_sub(1);
        goes_on
    }

    /// Ends the stage at this time, if that is sooner: what this rank waits for may just have come, so not at once.
    fn shorten(&mut self, time: Duration) {
        if time < self.time {
            (self.time, self.turns) = (time, YIELDS);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::{Error, Gone};
    use crate::transport::Settings;

    const LONG: Duration = Duration::from_millis(400);

    /// The milliseconds that a stage lasts in a world of more ranks than CPUs, if something happens in its first turn and
    /// each turn takes one.
    fn lasts(fabric: &Fabric, event: impl FnOnce(&Fabric)) -> u64 {
        let mut stage = YieldingStage::new(fabric, LONG);
        assert!(stage.goes_on(|| Duration::ZERO));
        event(fabric);
        let mut turns = 1..;
        turns
            .find(|&turn| !stage.goes_on(|| Duration::from_millis(turn)))
            .unwrap()
    }

    #[test]
    fn a_rank_that_yields_for_long_parks_soon_after_others_have_ended() {
        let after = |event: fn(&Fabric)| lasts(&Fabric::new(2, Settings::default()), event);
        assert_eq!(after(|_| ()), 400);
        let turns = u64::from(YIELDS) + 1;
        assert_eq!(after(|fabric| fabric.record_return(1)), turns);
        assert_eq!(
            after(|fabric| fabric.record_end(1, Gone::Failed("wrong".into()), None, None)),
            turns
        );
        let break_it = |fabric: &Fabric| fabric.break_comm(&fabric.all, &Error::user("wrong"), 1);
        assert_eq!(after(break_it), turns);
    }

    #[test]
    fn the_ends_of_one_run_shorten_no_wait_of_the_next() {
        let fabric = Fabric::new(1, Settings::default());
        assert!(lasts(&fabric, |fabric| fabric.record_return(0)) < 400);
        assert!(lasts(&fabric, |_| ()) < 400);
        fabric.begin_again(false);
        assert_eq!(lasts(&fabric, |_| ()), 400);
    }

    #[test]
    fn short_sleeps_make_a_rank_yield_for_longer_and_a_long_one_for_as_long_as_at_first() {
        let ms = Duration::from_millis;
        let after = |waited, live, cpus| Yielding::after(waited, live, cpus).time();
        let first = Yielding::FIRST.time();
        assert_eq!(after(ms(3), 64, 16), ms(6));
        assert_eq!(after(ms(15), 64, 16), ms(16));
        assert_eq!(after(ms(16), 64, 16), first);
        assert_eq!(after(ms(300), 1024, 2), ms(500));
        assert_eq!(after(ms(500), 1024, 2), first);
        assert_eq!(after(first / 4, 3, 2), first);
        assert_eq!(after(ms(7), 3, 0), ms(12));
    }
}
