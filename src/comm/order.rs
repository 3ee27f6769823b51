//! The order of a reduction over a topology, and whose contributions its result has.

#[cfg(doc)]
use super::ReduceOver;
use crate::Rank;
#[cfg(doc)]
use crate::topology::Topology;

/// The order in which a rank folds the contributions of its predecessors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the messages arrive, from any predecessor. This is the fastest order. Only for operators that commute;
    /// floating-point bits may differ from run to run.
    Arrival,
    /// By time step, then by rank: the same bits in every run over one topology. Only for operators that commute.
    Step,
    /// Lower ranks on the left: for any associative operator, over a topology whose subtrees are runs of neighbouring
    /// ranks (see [`Topology::is_in_rank_order`]).
    Rank,
}

/// The ranks that contributed to a result; see [`ReduceOver::survivors`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivors {
    /// The ranks whose contributions are in the result.
    pub contributors: Vec<Rank>,
    /// The ranks whose contributions are not: those that have ended, and those that had passed their contribution to a
    /// rank that ended.
    pub missing: Vec<Rank>,
}
