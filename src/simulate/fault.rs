//! The reasons why a schedule cannot be timed, each with its culprit.

use super::MOST_RANKS;
use crate::Rank;
use crate::schedule::faults_of_schedules;

faults_of_schedules! {
/// The reason why a schedule cannot be timed.
///
/// # Examples
///
/// ```
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::simulate::{MachineModel, simulate};
/// use rankfold::topology::Topology;
///
/// let chain = || FoldAlong::new(Topology::chain(4).single_port(), 8);
/// let fault = simulate(&chain().overlay(chain()), &MachineModel::default()).unwrap_err();
/// assert_eq!(fault.to_string(), "rank 2 has two receives in step 0");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum SimulateError {
    /// The schedule has no ranks.
    NoRanks => "no ranks";
    /// The schedule has more than [`MOST_RANKS`] ranks.
    TooManyRanks { ranks: usize } => "{ranks} ranks, of which {MOST_RANKS} can be timed";
    /// A parameter of the machine, or what follows from several, is negative or not finite.
    NoTime { what: &'static str, value: f64 }
        => "a {what} of {value}: it must be finite and not negative";
    /// A two-level machine whose nodes have no ranks.
    EmptyNodes => "nodes of 0 ranks: a node has at least one";
    /// The critical path is unavailable where nodes share links: it could lead through any earlier message.
    SharedLinks => "the critical path is not known where the ranks of a node share its links";
    /// The rank's next active step, as returned by the schedule, does not come later or is beyond the end.
    WrongNext { rank: Rank, after: usize, next: usize }
        => "rank {rank} cannot be active next in step {next} after step {after}";
    /// The schedule returns different results for the same arguments.
    NotPure { step: usize } => "the schedule answers differently each time for step {step}";
}
}
