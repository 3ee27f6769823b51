//! How a thread waits that runs no rank at the moment: it looks for work for a while, then sleeps.

use std::hint::spin_loop;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use crate::sync::Parker;
use crate::transport::progress::wait::PATIENT;
use crate::transport::wakeup::sleeper::Sleeper;

/// How long a thread that runs no rank at the moment looks for work, or for its end, and how many looks it takes before
/// it begins to yield: some microseconds.
pub(crate) const LINGERING: Duration = Duration::from_micros(100);
pub(in crate::transport) const LINGERING_SPINS: u32 = 64;

/// The stages of a thread that runs no rank at the moment, before it goes to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// There is a CPU for it: it spins for a moment, then yields.
    Spin,
    /// A CPU is free now and then: it yields.
    Yield,
    /// It would only be in the way: it does neither.
    None,
}

/// Waits until `look` finds something that does not come from a rank inside an operation, and after which this thread
/// is roused. Before it sleeps it looks for so long. `part` is called when it begins to yield.
pub(in crate::transport) fn idle<R>(
    sleeper: &Sleeper,
    parker: &Parker,
    patience: (Patience, Duration),
    part: impl FnOnce(),
    mut look: impl FnMut() -> Option<R>,
) -> R {
    if let Some(found) = linger(patience, part, &mut look) {
        return found;
    }
    loop {
        sleeper.lie_down();
        let found = look();
        if found.is_none() {
            parker.park();
        }
        sleeper.get_up();
        if let Some(found) = found {
            return found;
        }
    }
}

/// The stages before sleeping. They do not spin for long: an idle thread is not counted among those that need a CPU.
pub(in crate::transport) fn linger<R>(
    (patience, time): (Patience, Duration),
    part: impl FnOnce(),
    look: &mut impl FnMut() -> Option<R>,
) -> Option<R> {
    let spins = match patience {
        Patience::Spin => LINGERING_SPINS,
        _ => 1,
    };
    for _ in 0..if PATIENT { spins } else { 0 } {
        if let Some(found) = look() {
            return Some(found);
        }
        spin_loop();
    }
    if !PATIENT || patience == Patience::None {
        return None;
    }
    part();
    let start = Instant::now();
    while start.elapsed() < time {
        yield_now();
        if let Some(found) = look() {
            return Some(found);
        }
    }
    None
}
