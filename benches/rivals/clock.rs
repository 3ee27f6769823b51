//! How one point is timed: the same loop for every subject, on every rank.
//!
//! ```text
//! back to back   rank 0   │ call call call … │ call call call … │     a batch of at least 50 us is a sample
//! alone          rank 0   fill ┃ │ call      │ check
//!                rank 1   fill ┃   │ call │    check                  last entry to last exit is a sample
//! ```

use std::env;
use std::hint::spin_loop;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::op::{Before, Op, PAUSE, SKEW};

/// Minimum length of a batch in seconds: `RIVALS_BATCH` milliseconds, else 50 us.
static BATCH: LazyLock<f64> = LazyLock::new(|| {
    let set = env::var("RIVALS_BATCH").ok();
    set.and_then(|ms| ms.parse::<f64>().ok())
        .map_or(50e-6, |ms| ms * 1e-3)
});
const MOST_SAMPLES: f64 = 2000.0;

/// How the ranks of a subject agree on what to do, untimed except for the barrier before a call.
pub trait Hub {
    /// Waits for all ranks.
    fn meet(&self);
    /// Returns rank 0's number on every rank.
    fn tell(&self, number: u64) -> u64;
    /// Returns whether this rank is the last to arrive for a call whose arrival is skewed.
    fn is_late(&self, call: usize) -> bool;
    /// Returns the maximum over all ranks' times, place by place, on rank 0; anything on the others.
    fn latest(&self, times: Vec<f64>) -> Vec<f64>;
}

/// The hub of a single thread, which times whole regions that it starts.
pub struct Solo;

impl Hub for Solo {
    fn meet(&self) {}

    fn is_late(&self, _call: usize) -> bool {
        false
    }

    fn tell(&self, number: u64) -> u64 {
        number
    }

    fn latest(&self, times: Vec<f64>) -> Vec<f64> {
        times
    }
}

/// One rank's operation, with its vectors.
pub trait Member {
    /// Runs the operation once.
    fn call(&mut self);
    /// Writes the input of call number `call`.
    fn fill(&mut self, _call: usize) {}
    /// Resets the vectors to zero, where calls would accumulate.
    fn clear(&mut self) {}
    /// Checks the result of the call that was last filled for.
    fn right(&mut self) -> bool {
        true
    }
}

/// Microseconds per call: rank 0's answer.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub median: f64,
    pub min: f64,
    pub p99: f64,
    pub samples: usize,
    pub batch: u64,
}

/// Checks, warms up and times. Returns `None` on all ranks if a result was wrong on one of them.
pub fn point(
    hub: &impl Hub,
    member: &mut impl Member,
    op: Op,
    budget: Duration,
) -> Option<Figures> {
    member.fill(1);
    hub.meet();
    member.call();
    let right = member.right();
    all_right(hub, right)?;
    member.clear();
    let (batch, samples) = plan(hub, member, op, budget);
    hub.meet();
    let seconds = if op.alone() {
        alone(hub, member, op, samples)?
    } else {
        back_to_back(member, samples, batch)
    };
    Some(figures(seconds, op, batch))
}

/// Tells all ranks whether one of them is wrong.
fn all_right(hub: &impl Hub, right: bool) -> Option<()> {
    let wrong = hub.latest(vec![f64::from(u8::from(!right))])[0];
    (hub.tell(wrong.to_bits()) == 0).then_some(())
}

/// Returns the number of calls in a batch, and the number of batches in the budget; rank 0 decides while it warms up.
fn plan(hub: &impl Hub, member: &mut impl Member, op: Op, budget: Duration) -> (u64, u64) {
    let budget = budget.as_secs_f64();
    let mut calls = 2;
    let each = loop {
        let spent = warm(hub, member, op, calls);
        let spent = f64::from_bits(hub.tell(spent.to_bits()));
        if spent >= budget / 4.0 || calls >= 1 << 20 {
            break (spent / calls as f64).max(1e-9);
        }
        calls *= if spent < budget / 40.0 { 4 } else { 2 };
    };
    let batch = if op.alone() {
        1
    } else {
        (*BATCH / each).ceil() as u64
    };
    let samples = (budget / (each * batch as f64)).clamp(3.0, MOST_SAMPLES) as u64;
    (batch, samples)
}

/// Returns the seconds that `calls` calls take, including everything around them.
fn warm(hub: &impl Hub, member: &mut impl Member, op: Op, calls: u64) -> f64 {
    hub.meet();
    let begin = Instant::now();
    for call in 0..calls as usize {
        before(hub, member, op, call);
        member.call();
    }
    begin.elapsed().as_secs_f64()
}

/// Does what comes before call number `call`.
fn before(hub: &impl Hub, member: &mut impl Member, op: Op, call: usize) {
    match op.before {
        Before::Fresh => member.fill(call),
        Before::Paused => compute(PAUSE),
        _ => {}
    }
    if op.alone() {
        hub.meet();
    }
    if op.before == Before::Skewed && hub.is_late(call) {
        compute(SKEW);
    }
}

/// Keeps the CPU busy.
fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        spin_loop();
    }
}

fn back_to_back(member: &mut impl Member, samples: u64, batch: u64) -> Vec<f64> {
    let sample = |_| {
        let begin = Instant::now();
        (0..batch).for_each(|_| member.call());
        begin.elapsed().as_secs_f64() / batch as f64
    };
    (0..samples).map(sample).collect()
}

fn alone(hub: &impl Hub, member: &mut impl Member, op: Op, samples: u64) -> Option<Vec<f64>> {
    let (mut entries, mut exits, mut right) = (Vec::new(), Vec::new(), true);
    for call in 0..samples as usize {
        before(hub, member, op, call);
        entries.push(now());
        member.call();
        exits.push(now());
        right &= !op.fresh() || member.right();
    }
    let (entries, exits) = (hub.latest(entries), hub.latest(exits));
    all_right(hub, right)?;
    Some(
        entries
            .iter()
            .zip(&exits)
            .map(|(entry, exit)| exit - entry)
            .collect(),
    )
}

/// Returns the seconds since some moment, the same for all threads.
fn now() -> f64 {
    static ZERO: LazyLock<Instant> = LazyLock::new(Instant::now);
    ZERO.elapsed().as_secs_f64()
}

/// Converts seconds per call to microseconds per message.
fn figures(mut seconds: Vec<f64>, op: Op, batch: u64) -> Figures {
    seconds.sort_by(f64::total_cmp);
    let at = |part: f64| {
        seconds[((seconds.len() - 1) as f64 * part).round() as usize] * 1e6 / op.trips()
    };
    Figures {
        median: at(0.5),
        min: at(0.0),
        p99: at(0.99),
        samples: seconds.len(),
        batch,
    }
}
