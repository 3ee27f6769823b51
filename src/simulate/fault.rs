//! Why a schedule cannot be timed, each with its culprit.

use std::{error, fmt};

use super::MOST_RANKS;
use crate::Rank;
use crate::schedule::Clash;

/// Why a schedule cannot be timed.
///
/// # Examples
///
/// ```
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::simulate::{Machine, simulate};
/// use rankfold::topology::Topology;
///
/// let chain = || FoldAlong::new(Topology::chain(4).single_port(), 8);
/// let fault = simulate(&chain().overlay(chain()), &Machine::default()).unwrap_err();
/// assert_eq!(fault.to_string(), "rank 2 has two receives in step 0");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields say what their names say: who, when, with whom
pub enum Fault {
    /// There is nobody.
    NoRanks,
    /// There are more than [`MOST_RANKS`].
    TooManyRanks { ranks: usize },
    /// A parameter of the machine that is negative or no number.
    NoTime { what: &'static str, value: f64 },
    /// A two-level machine whose nodes have no ranks.
    EmptyNodes,
    /// The critical path is not told where nodes share links: it could lead through any message before.
    SharedLinks,
    /// A rank is to send, receive or copy twice in one step.
    Clash {
        rank: Rank,
        step: usize,
        what: Clash,
    },
    /// A rank talks to one that is not there.
    NoSuchPeer {
        rank: Rank,
        step: usize,
        peer: Rank,
        ranks: usize,
    },
    /// A rank talks to itself.
    OwnPeer { rank: Rank, step: usize },
    /// What the schedule names as the rank's next step does not come later, or is beyond the end.
    WrongNext {
        rank: Rank,
        after: usize,
        next: usize,
    },
    /// A step in which the rank does something is not named as its next one.
    Overlooked { rank: Rank, step: usize },
    /// A rank waits for a message that its peer does not send in this step.
    NoSend { rank: Rank, step: usize, peer: Rank },
    /// A rank sends a message that its peer does not receive in this step.
    NoReceive { rank: Rank, step: usize, peer: Rank },
    /// The ends of a message differ in the number of its elements.
    UnequalExtents {
        rank: Rank,
        step: usize,
        peer: Rank,
        sent: usize,
        expected: usize,
    },
    /// The schedule gives another answer when it is asked once more.
    NotPure { step: usize },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoRanks => write!(f, "no ranks"),
            Fault::TooManyRanks { ranks } => {
                write!(f, "{ranks} ranks, of which {MOST_RANKS} can be timed")
            }
            Fault::NoTime { what, value } => {
                write!(f, "a {what} of {value}: it must be finite and not negative")
            }
            Fault::SharedLinks => {
                write!(
                    f,
                    "the critical path is not known where the ranks of a node share its links"
                )
            }
            Fault::EmptyNodes => write!(f, "nodes of 0 ranks: a node has at least one"),
            Fault::Clash { rank, step, what } => {
                write!(f, "rank {rank} has two {what} in step {step}")
            }
            Fault::NoSuchPeer {
                rank,
                step,
                peer,
                ranks,
            } => {
                write!(
                    f,
                    "rank {rank} talks to rank {peer} of {ranks} in step {step}"
                )
            }
            Fault::OwnPeer { rank, step } => {
                write!(f, "rank {rank} talks to itself in step {step}")
            }
            Fault::WrongNext { rank, after, next } => write!(
                f,
                "rank {rank} cannot be active next in step {next} after step {after}"
            ),
            Fault::Overlooked { rank, step } => write!(
                f,
                "rank {rank} is active in step {step}, which is not its next one"
            ),
            Fault::NoSend { rank, step, peer } => write!(
                f,
                "rank {rank} waits for rank {peer} in step {step}, which does not send to it"
            ),
            Fault::NoReceive { rank, step, peer } => write!(
                f,
                "rank {rank} sends to rank {peer} in step {step}, which does not receive from it"
            ),
            Fault::UnequalExtents {
                rank,
                step,
                peer,
                sent,
                expected,
            } => write!(
                f,
                "rank {rank} sends {sent} elements to rank {peer} in step {step}, which expects {expected}"
            ),
            Fault::NotPure { step } => {
                write!(
                    f,
                    "the schedule answers differently each time for step {step}"
                )
            }
        }
    }
}

impl error::Error for Fault {}
