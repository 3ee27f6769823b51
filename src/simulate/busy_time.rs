//! The time for which each rank is busy.

use super::SimulateError;
use super::machine::MachineModel;
use super::run::Simulation;
use super::visit::{Visit, Watch};
use crate::Rank;
use crate::schedule::Schedule;

/// The time for which one rank is busy, in seconds. Sending and receiving overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BusyTime {
    /// The time for which messages occupy its outgoing port.
    pub sending: f64,
    /// The time for which messages occupy its incoming port.
    pub receiving: f64,
    /// The time spent folding.
    pub folding: f64,
}

/// The times for which all ranks are busy.
#[derive(Clone, Debug, PartialEq)]
pub struct BusyTimes {
    /// The time for which each rank is busy.
    pub ranks: Vec<BusyTime>,
    /// The time at which the last rank is done.
    pub total: f64,
}

impl BusyTimes {
    /// The fraction of the time for which ranks are busy with each activity, between 0 and 1, averaged over all ranks.
    /// 0 if no time passes.
    pub fn utilisation(&self) -> BusyTime {
        let whole = self.total * self.ranks.len() as f64;
        let part = |of: fn(&BusyTime) -> f64| {
            let sum: f64 = self.ranks.iter().map(of).sum();
            if whole > 0.0 { sum / whole } else { 0.0 }
        };
        BusyTime {
            sending: part(|busy| busy.sending),
            receiving: part(|busy| busy.receiving),
            folding: part(|busy| busy.folding),
        }
    }
}

/// Times a schedule and sums up the activities of each rank.
///
/// # Errors
///
/// As [`simulate`](super::simulate).
///
/// # Examples
///
/// In a pipeline the ranks in the middle are busy nearly all the time, with both ports:
///
/// ```
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::simulate::{MachineModel, busy_times};
/// use rankfold::topology::{OwnSteps, Topology};
///
/// let chain = FoldAlong::new(OwnSteps::new(Topology::chain(5)), 100).reversed();
/// let times = busy_times(&chain.pipelined(100, 1), &MachineModel::alpha_beta_gamma(1.0, 1.0, 0.0)).unwrap();
/// assert_eq!((times.total, times.ranks[2].sending), (206.0, 200.0));
/// assert_eq!(times.ranks[0].receiving, 0.0);
/// ```
pub fn busy_times<S: Schedule + ?Sized>(
    schedule: &S,
    machine: &MachineModel,
) -> Result<BusyTimes, SimulateError> {
    let mut run = Simulation::new(schedule, machine)?;
    let mut ledger = Ledger(vec![BusyTime::default(); schedule.ranks()]);
    run.finish(&mut ledger)?;
    Ok(BusyTimes {
        ranks: ledger.0,
        total: super::latest(run.clock()).1,
    })
}

struct Ledger(Vec<BusyTime>);

impl Watch for Ledger {
    #[inline]
    fn saw(&mut self, rank: Rank, _: usize, visit: &Visit) {
        let busy = &mut self.0[rank];
        busy.sending += visit.sending;
        busy.receiving += visit.receiving;
        busy.folding += visit.folding;
    }
}
