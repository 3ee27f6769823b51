//! How long a rank yields before it parks.
//!
//! To park and to be woken takes some ten times as long as to yield, and more where a CPU that is idle must be woken by
//! another one. Of many ranks that take turns on the CPUs, those that park delay each other. If a call then takes longer than
//! ranks yield, all of them park in each call, though yielding alone would end it much sooner. So a rank that has parked
//! yields for longer next time than it has waited, if that was not long for so many ranks.

use std::time::Duration;

/// The time for which a rank yields in its next wait, if ranks take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport) struct Yielding(Duration);

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

#[cfg(test)]
mod tests {
    use super::*;

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
