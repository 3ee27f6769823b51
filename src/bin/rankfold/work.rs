//! Long work: reports its progress and its expected end, and checks whether to go on.
//!
//! On a terminal the report is a bar. Elsewhere it is a line from time to time, the first after ten seconds, so that
//! short work reports nothing. All of it goes to standard error. Ctrl-C ends the work after the current step.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use rankfold::collective::{Algorithm, Call};
use rankfold::measure::Control;
use rankfold::schedule::Schedule;

use super::bench::control;
use super::progress;

/// Interval between updates of a bar.
const MOVE: Duration = Duration::from_millis(100);
/// Time of the first line, and maximum time from one line to the next.
const FIRST: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_secs(120);

/// The work of a command, counted in steps of ranks.
pub struct Work {
    what: &'static str,
    control: Control,
    begin: Instant,
    total: f64,
    state: Mutex<State>,
}

struct State {
    done: f64,
    /// When the next report is due, since the start.
    next: Duration,
    bar: Option<ProgressBar>,
}

impl Work {
    /// Starts work of `total` steps.
    pub fn new(what: &'static str, total: f64) -> Work {
        let bar = io::stderr().is_terminal().then(progress::of_work);
        Work {
            what,
            control: control(),
            begin: Instant::now(),
            total,
            state: Mutex::new(State {
                done: 0.0,
                next: if bar.is_some() { MOVE } else { FIRST },
                bar,
            }),
        }
    }

    /// Returns whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.control.is_stopped()
    }

    /// Counts completed work, and returns whether to go on.
    pub fn add(&self, done: f64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += done;
        let elapsed = self.begin.elapsed();
        if elapsed >= state.next {
            let share = (state.done / self.total).clamp(0.0, 1.0);
            state.next = elapsed + self.say(&state, share, elapsed);
        }
        !self.is_stopped()
    }

    /// Reports the progress; returns the time to the next report.
    fn say(&self, state: &State, share: f64, elapsed: Duration) -> Duration {
        let left = left(share, elapsed);
        match &state.bar {
            Some(bar) => {
                bar.set_position((1000.0 * share) as u64);
                bar.set_message(left);
                MOVE
            }
            None => {
                // The first percent of very long work takes a while.
                let digits = if share < 0.01 { 3 } else { 0 };
                let line = format!("{}: {:.digits$} % done, {left}\n", self.what, 100.0 * share);
                // The work goes on even if nothing reads the report.
                let _ = io::stderr().write_all(line.as_bytes());
                elapsed.clamp(FIRST, MOST)
            }
        }
    }

    /// Counts the steps of a schedule, which together are `weight` of work.
    pub fn part(&self, weight: f64, steps: usize) -> ScheduleWork<'_> {
        ScheduleWork {
            work: self,
            weight,
            steps: steps.max(1) as f64,
            before: 0,
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        let state = self.state.into_inner();
        if let Some(bar) = state.unwrap_or_else(PoisonError::into_inner).bar {
            bar.finish_and_clear();
        }
    }
}

/// The steps of one schedule.
pub struct ScheduleWork<'a> {
    work: &'a Work,
    weight: f64,
    steps: f64,
    before: usize,
}

impl ScheduleWork<'_> {
    /// Records that `steps` steps have been done; returns whether to go on.
    pub fn done(&mut self, steps: usize) -> bool {
        let new = steps.saturating_sub(self.before);
        self.before = steps;
        self.work.add(self.weight * new as f64 / self.steps)
    }
}

/// Estimates the time left from the speed so far.
fn left(share: f64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64() * (1.0 - share) / share;
    match seconds {
        ..100.0 => format!("about {:.0} s left", seconds.max(1.0)),
        ..6000.0 => format!("about {:.0} min left", seconds / 60.0),
        ..360_000.0 => format!("about {:.0} h left", seconds / 3600.0),
        ..1e9 => format!("about {:.0} days left", seconds / 86_400.0),
        _ => "time left not known yet".into(),
    }
}

/// Maximum number of steps that are examined.
const LOOKED_AT: usize = 64;

/// Estimates from the rank in the middle how many steps the ranks of a call's schedule are active in, summed over all
/// ranks; 0 if the call is refused.
pub fn weight(algorithm: Algorithm, call: &Call) -> f64 {
    algorithm
        .schedule(call)
        .map_or(0.0, |schedule| estimate(&*schedule))
}

fn estimate(schedule: &dyn Schedule) -> f64 {
    let (ranks, steps) = (schedule.ranks(), schedule.steps());
    let middle = ranks / 2;
    let mut active = 0;
    let mut last = None;
    while active < LOOKED_AT {
        match schedule.next_active(middle, last) {
            Some(next) if next < steps && last.is_none_or(|last| next > last) => last = Some(next),
            _ => break,
        }
        active += 1;
    }
    // Assumes the same share for the steps that were not looked at as for those that were.
    let seen = last.map_or(1, |last| last + 1);
    let share = active as f64 / seen as f64;
    let visits = match active {
        LOOKED_AT => share * steps as f64,
        all => all as f64,
    };
    ranks as f64 * visits.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankfold::collective::Collective;
    use rankfold::topology::TreeName;

    #[test]
    fn the_rest_takes_as_long_as_what_was_done() {
        let after = |share, seconds| left(share, Duration::from_secs(seconds));
        assert_eq!(after(0.5, 30), "about 30 s left");
        assert_eq!(after(0.25, 120), "about 6 min left");
        assert_eq!(after(0.01, 120), "about 3 h left");
        assert_eq!(after(1.0, 120), "about 1 s left");
        assert_eq!(after(0.0001, 120), "about 14 days left");
        assert_eq!(after(0.0, 10), "time left not known yet");
    }

    #[test]
    fn schedules_weigh_what_their_ranks_do() {
        let weight = |algorithm: Algorithm, ranks| {
            weight(
                algorithm,
                &Call::new(Collective::AllReduce, ranks, 8).commuting(),
            )
        };
        let ring = weight(Algorithm::Ring, 1000);
        assert!((ring / 1_998_000.0 - 1.0).abs() < 0.01, "{ring}");
        assert_eq!(weight(Algorithm::Exchange, 1024), 10.0 * 1024.0);
        // A rank of a chain is active in its own turns only.
        let chain = weight(Algorithm::tree(TreeName::Chain), 1000);
        assert!(chain <= 4.0 * 1000.0, "{chain}");
    }

    #[test]
    fn a_part_counts_each_of_its_steps_once() {
        let work = Work::new("test", 100.0);
        let mut part = work.part(50.0, 10);
        assert!(part.done(1) && part.done(4) && part.done(10));
        assert_eq!(work.state.lock().unwrap().done, 50.0);
    }
}
