//! The load of each rank.

use super::Fault;
use super::machine::Machine;
use super::run::Simulation;
use super::visit::{Visit, Watch};
use crate::Rank;
use crate::schedule::Schedule;

/// The time for which one rank is busy, in seconds. Sending and receiving overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// The time for which messages occupy its outgoing port.
    pub sending: f64,
    /// The time for which messages occupy its incoming port.
    pub receiving: f64,
    /// The time spent folding.
    pub folding: f64,
}

/// The loads of all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Loads {
    /// The load of each rank.
    pub ranks: Vec<Load>,
    /// The time at which the last rank is done.
    pub total: f64,
}

impl Loads {
    /// The fraction of the time for which ranks are busy with each activity, between 0 and 1, averaged over all ranks.
    /// 0 if no time passes.
    pub fn utilisation(&self) -> Load {
        let whole = self.total * self.ranks.len() as f64;
        let part = |of: fn(&Load) -> f64| {
            let busy: f64 = self.ranks.iter().map(of).sum();
            if whole > 0.0 { busy / whole } else { 0.0 }
        };
        Load {
            sending: part(|load| load.sending),
            receiving: part(|load| load.receiving),
            folding: part(|load| load.folding),
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
/// use rankfold::simulate::{Machine, loads};
/// use rankfold::topology::{OwnSteps, Topology};
///
/// let chain = FoldAlong::new(OwnSteps::new(Topology::chain(5)), 100).reversed();
/// let loads = loads(&chain.pipelined(100, 1), &Machine::alpha_beta_gamma(1.0, 1.0, 0.0)).unwrap();
/// assert_eq!((loads.total, loads.ranks[2].sending), (206.0, 200.0));
/// assert_eq!(loads.ranks[0].receiving, 0.0);
/// ```
pub fn loads<S: Schedule + ?Sized>(schedule: &S, machine: &Machine) -> Result<Loads, Fault> {
    let mut run = Simulation::new(schedule, machine)?;
    let mut ledger = Ledger(vec![Load::default(); schedule.ranks()]);
    run.finish(&mut ledger)?;
    Ok(Loads {
        ranks: ledger.0,
        total: super::latest(run.clock()).1,
    })
}

struct Ledger(Vec<Load>);

impl Watch for Ledger {
    #[inline]
    fn saw(&mut self, rank: Rank, _: usize, visit: &Visit) {
        let load = &mut self.0[rank];
        load.sending += visit.sending;
        load.receiving += visit.receiving;
        load.folding += visit.folding;
    }
}
