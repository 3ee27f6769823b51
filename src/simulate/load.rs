//! How busy each rank is.

use super::Fault;
use super::machine::Machine;
use super::run::{Run, Visit, Watch};
use crate::Rank;
use crate::schedule::Schedule;

/// How long one rank is busy, in seconds. It sends and receives at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// How long messages take its port out.
    pub sending: f64,
    /// How long messages take its port in.
    pub receiving: f64,
    /// How long it folds.
    pub folding: f64,
}

/// How busy the ranks are.
#[derive(Clone, Debug, PartialEq)]
pub struct Loads {
    /// Each rank's load.
    pub ranks: Vec<Load>,
    /// When the last rank is done.
    pub total: f64,
}

impl Loads {
    /// What part of the time the ranks are busy with each, between 0 and 1: the mean of all ranks. 0
    /// where no time passes.
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

/// Times a schedule and adds up what each rank does.
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
    let mut run = Run::new(schedule, machine)?;
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
