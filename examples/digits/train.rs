//! Gradient descent over ranks: each rank sums the gradient over its own block of the digits, ONE `all_reduce` per step
//! adds the ranks' sums, and all ranks take the same step.
//!
//! ```text
//! digits     ├── rank 0 ──┼── rank 1 ──┼── rank 2 ──┤     span::block
//! sums        gradient,     gradient,    gradient,        softmax::add_up
//!             loss          loss         loss
//!                 └─────── all_reduce ──────┘             comm.all_reduce(&mut sums, op::Sum)
//! weights       same          same         same           Descent::step
//! ```

use std::time::{Duration, Instant};

use rankfold::machine::Placement;
use rankfold::span::block;
use rankfold::{Comm, World, WorldError, op};

use crate::data::{CLASSES, Digit};
use crate::softmax::{BLANK, SUMS, Weights, add_up};

/// The step size, and the share of the last step that is kept (Polyak's heavy ball, 1964).
const RATE: f64 = 0.2;
const MOMENTUM: f64 = 0.9;

/// The result of training with some number of ranks.
pub struct Run {
    pub ranks: usize,
    pub placement: Placement,
    pub weights: Weights,
    /// The mean loss over all digits: `losses[k]` after `k` steps.
    pub losses: Vec<f64>,
    /// The slowest rank's time of a step, the median over the steps.
    pub step_time: Duration,
    /// The slowest rank's time of all steps, divided by their number: more than the median if something else used the
    /// CPUs for a while.
    pub mean_step_time: Duration,
    /// The share of a rank's time spent in `all_reduce`, in ascending order: one entry per rank.
    pub communication: Vec<f64>,
}

impl Run {
    pub fn final_loss(&self) -> f64 {
        self.losses.last().copied().unwrap_or(f64::NAN)
    }
}

/// The result of one rank.
struct Learned {
    weights: Weights,
    losses: Vec<f64>,
    /// The time of each step.
    times: Vec<Duration>,
    /// The time in `all_reduce`, including waiting for slower ranks.
    communication: Duration,
}

/// Trains with `ranks` ranks. Rank 0 reports every loss to `watch`, between two steps.
pub fn train(
    ranks: usize,
    digits: &[Digit],
    steps: usize,
    watch: &(impl Fn(usize, f64) + Sync),
) -> Result<Run, WorldError> {
    let report = World::new(ranks).try_run_each(|comm| learn(comm, digits, steps, watch))?;
    let placement = report.placement.clone();
    let mut learned = report.into_result()?;
    let (step_time, mean_step_time) = (median_step(&learned), mean_step(&learned));
    let communication = shares(&learned);
    // All ranks have the same weights and losses, bit for bit.
    let Learned {
        weights, losses, ..
    } = learned.swap_remove(0);
    Ok(Run {
        ranks,
        placement,
        weights,
        losses,
        step_time,
        mean_step_time,
        communication,
    })
}

/// The program of every rank.
fn learn(
    comm: &Comm,
    digits: &[Digit],
    steps: usize,
    watch: &impl Fn(usize, f64),
) -> rankfold::Result<Learned> {
    let mine = &digits[block(digits.len(), comm.size(), comm.rank())];
    let mut descent = Descent::new();
    let mut learned = Learned::new(steps);
    comm.barrier()?; // all threads have started: from here on, training is timed
    // Once more than there are steps: the loss after the last step is known only after it.
    for step in 0..=steps {
        let begin = Instant::now();
        let mut sums = [0.0; SUMS];
        add_up(&descent.weights, mine, digits.len(), &mut sums);
        let computed = Instant::now();
        comm.all_reduce(&mut sums, op::Sum)?;
        learned.communication += computed.elapsed();
        if step < steps {
            descent.step(&sums[..SUMS - 1]);
        }
        learned.times.push(begin.elapsed());
        learned.losses.push(sums[SUMS - 1]);
        if comm.rank() == 0 {
            watch(step, sums[SUMS - 1]);
        }
    }
    learned.weights = descent.weights;
    Ok(learned)
}

impl Learned {
    fn new(steps: usize) -> Learned {
        Learned {
            weights: BLANK,
            losses: Vec::with_capacity(steps + 1),
            times: Vec::with_capacity(steps + 1),
            communication: Duration::ZERO,
        }
    }

    /// Returns the share of the rank's time spent in `all_reduce`.
    fn share(&self) -> f64 {
        // Never divides by zero, however coarse the clock.
        self.communication.as_secs_f64() / self.all().as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn all(&self) -> Duration {
        self.times.iter().sum()
    }
}

/// Weights and their last step.
struct Descent {
    weights: Weights,
    velocity: Weights,
}

impl Descent {
    fn new() -> Descent {
        Descent {
            weights: BLANK,
            velocity: BLANK,
        }
    }

    fn step(&mut self, gradient: &[f64]) {
        let rows = self.weights.iter_mut().zip(&mut self.velocity);
        for ((weights, velocity), gradient) in rows.zip(gradient.chunks_exact(CLASSES)) {
            for ((w, v), g) in weights.iter_mut().zip(velocity).zip(gradient) {
                *v = MOMENTUM * *v - RATE * g;
                *w += *v;
            }
        }
    }
}

/// Returns the slowest rank's time of each step; of these the median.
fn median_step(learned: &[Learned]) -> Duration {
    let steps = learned[0].times.len();
    let slowest = |step: usize| learned.iter().map(|rank| rank.times[step]).max();
    let mut times: Vec<Duration> = (0..steps).filter_map(slowest).collect();
    times.sort_unstable();
    (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2
}

fn mean_step(learned: &[Learned]) -> Duration {
    let slowest = learned.iter().max_by_key(|rank| rank.all());
    slowest.map_or(Duration::ZERO, |rank| {
        rank.all().div_f64(rank.times.len() as f64)
    })
}

fn shares(learned: &[Learned]) -> Vec<f64> {
    let mut shares: Vec<f64> = learned.iter().map(Learned::share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agree::furthest_apart;
    use crate::data;
    use crate::options::Options;
    use crate::softmax::accuracy;
    use std::sync::Mutex;

    fn digits() -> data::Digits {
        data::read(&Options::default().file).unwrap()
    }

    fn trained(ranks: usize, digits: &[Digit], steps: usize) -> Run {
        train(ranks, digits, steps, &|_, _| ()).unwrap()
    }

    #[test]
    fn one_to_four_ranks_learn_alike() {
        let digits = &digits().train[..301];
        let runs: Vec<Run> = (1..=4).map(|p| trained(p, digits, 12)).collect();
        for run in &runs {
            assert_eq!(run.losses.len(), 13);
            assert_eq!(run.communication.len(), run.ranks);
        }
        let apart = furthest_apart(&runs).unwrap();
        assert!(apart.is_rounding(), "{apart}");
    }

    #[test]
    fn all_ranks_hold_the_same_bits() {
        let digits = &digits().train[..100];
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let all = World::new(3)
            .run(|comm| learn(comm, digits, 5, &|_, _| ()))
            .unwrap();
        for rank in &all {
            assert_eq!(bits(&rank.losses), bits(&all[0].losses));
            assert_eq!(
                bits(rank.weights.as_flattened()),
                bits(all[0].weights.as_flattened())
            );
        }
    }

    #[test]
    fn more_ranks_than_digits_leave_some_without_any() {
        let digits = &digits().train[..3];
        let (few, one) = (trained(5, digits, 4), trained(1, digits, 4));
        assert!(furthest_apart(&[few, one]).unwrap().is_rounding());
    }

    #[test]
    fn the_loss_falls_and_held_out_digits_are_read() {
        let digits = digits();
        let run = trained(2, &digits.train, 45);
        assert!((run.losses[0] - (CLASSES as f64).ln()).abs() < 1e-12);
        assert!(run.final_loss() < 0.3, "{}", run.final_loss());
        assert!(accuracy(&run.weights, &digits.held_out) > 0.9);
    }

    #[test]
    fn every_loss_is_shown_once_and_in_order() {
        let seen = Mutex::new(Vec::new());
        let watch = |step, loss| seen.lock().unwrap().push((step, loss));
        let run = train(2, &digits().train[..20], 6, &watch).unwrap();
        let want: Vec<_> = run.losses.iter().copied().enumerate().collect();
        assert_eq!(seen.into_inner().unwrap(), want);
    }

    #[test]
    fn a_step_takes_as_long_as_its_slowest_rank_and_shares_are_of_the_ranks_own_time() {
        let rank = |times: [u64; 3], communication: u64| Learned {
            times: times.map(Duration::from_millis).to_vec(),
            communication: Duration::from_millis(communication),
            ..Learned::new(2)
        };
        let both = [rank([10, 98, 20], 64), rank([30, 60, 38], 16)];
        assert_eq!(median_step(&both), Duration::from_millis(38));
        assert_eq!(mean_step(&both), Duration::from_nanos(42_666_667));
        assert_eq!(shares(&both), [0.125, 0.5]);
    }
}
