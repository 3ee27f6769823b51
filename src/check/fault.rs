//! What can be wrong with a schedule, each with its culprit.

use std::{error, fmt};

use crate::Rank;
use crate::schedule::{Buffer, Clash, Region};

/// Why a schedule does not do what it should.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::FoldAlong;
/// use rankfold::topology::Circle;
///
/// let fault = check(&FoldAlong::new(Circle::new(3), 5), &Goal::all_reduce(5)).unwrap_err();
/// assert_eq!(fault.to_string(), "rank 0 counts rank 0 twice in step 1, when it folds what rank 1 sends");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields say what their names say: who, when, with whom
pub enum Fault {
    /// There is nobody.
    NoRanks,
    /// The goal's root is not in the schedule.
    NoSuchRoot { root: Rank, ranks: usize },
    /// The blocks that ranks are to own are not one for each rank, or not of the goal's vector.
    OtherBlocks {
        parts: usize,
        ranks: usize,
        length: usize,
        goal: usize,
    },
    /// A buffer cannot hold what the goal puts there.
    TooShort {
        rank: Rank,
        buffer: Buffer,
        length: usize,
        needed: usize,
    },
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
    /// A region is not inside its buffer.
    OutOfBounds {
        rank: Rank,
        step: usize,
        region: Region,
        length: usize,
    },
    /// The runs of a region overlap.
    OverlapsItself {
        rank: Rank,
        step: usize,
        region: Region,
    },
    /// Something goes into the input.
    WritesInput {
        rank: Rank,
        step: usize,
        region: Region,
    },
    /// A local copy between regions that overlap, or of different extents.
    NoCopy {
        rank: Rank,
        step: usize,
        from: Region,
        to: Region,
    },
    /// What the schedule names as the rank's next step does not come later, or is beyond the end.
    WrongNext {
        rank: Rank,
        after: Option<usize>,
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
    /// A rank copies, sends or folds into what was never written.
    ReadsNothing {
        rank: Rank,
        step: usize,
        buffer: Buffer,
        element: usize,
    },
    /// A result is folded from different elements.
    Mixes {
        rank: Rank,
        step: usize,
        peer: Rank,
        held: usize,
        received: usize,
    },
    /// A result has a contribution twice, from this fold on.
    CountedTwice {
        rank: Rank,
        step: usize,
        peer: Rank,
        contributor: Rank,
    },
    /// There is no result.
    Nothing { rank: Rank, element: usize },
    /// A result is that of another element.
    Misplaced {
        rank: Rank,
        element: usize,
        index: usize,
    },
    /// A result has a contribution that does not belong to it.
    Foreign {
        rank: Rank,
        element: usize,
        contributor: Rank,
    },
    /// A result lacks a contribution.
    Lacks {
        rank: Rank,
        element: usize,
        contributor: Rank,
    },
    /// A result has all contributions, but the goal wants them in rank order.
    OutOfOrder { rank: Rank, element: usize },
    /// A rank leaves the barrier and has not heard of another.
    Unheard { rank: Rank, of: Rank },
}

impl fmt::Display for Fault {
    // One arm a variant, and none for the rest: a fault that is added must say something.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoRanks => write!(f, "no ranks"),
            Fault::NoSuchRoot { root, ranks } => write!(f, "root {root} of {ranks} ranks"),
            Fault::OtherBlocks {
                parts,
                ranks,
                length,
                goal,
            } => write!(
                f,
                "{parts} blocks of {length} elements for {ranks} ranks and vectors of {goal}"
            ),
            Fault::Nothing { rank, element } => {
                write!(f, "rank {rank} has no output {element}")
            }
            Fault::Misplaced {
                rank,
                element,
                index,
            } => {
                write!(f, "rank {rank} has element {index} as output {element}")
            }
            Fault::Foreign {
                rank,
                element,
                contributor,
            } => {
                write!(
                    f,
                    "rank {rank} has something of rank {contributor} in output {element}"
                )
            }
            Fault::Lacks {
                rank,
                element,
                contributor,
            } => {
                write!(
                    f,
                    "rank {rank} has nothing of rank {contributor} in output {element}"
                )
            }
            Fault::OutOfOrder { rank, element } => {
                write!(
                    f,
                    "rank {rank} has output {element} folded out of rank order"
                )
            }
            Fault::Unheard { rank, of } => write!(f, "rank {rank} has not heard of rank {of}"),
            Fault::TooShort {
                rank,
                buffer,
                length,
                needed,
            } => write!(
                f,
                "rank {rank}'s {buffer} holds {length} elements, and {needed} are needed"
            ),
            Fault::OutOfBounds {
                rank,
                step,
                region,
                length,
            } => write!(
                f,
                "rank {rank} uses {region} in step {step}, and it holds {length} elements"
            ),
            Fault::OverlapsItself { rank, step, region } => {
                write!(
                    f,
                    "rank {rank} uses {region} in step {step}, which overlaps itself"
                )
            }
            Fault::WritesInput { rank, step, region } => {
                write!(f, "rank {rank} writes {region} in step {step}")
            }
            Fault::NoCopy {
                rank,
                step,
                from,
                to,
            } => {
                write!(f, "rank {rank} cannot copy {from} to {to} in step {step}")
            }
            Fault::ReadsNothing {
                rank,
                step,
                buffer,
                element,
            } => write!(
                f,
                "rank {rank} reads {buffer} {element} in step {step}, where nothing was written"
            ),
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
            Fault::WrongNext {
                rank,
                after: None,
                next,
            } => {
                write!(f, "rank {rank} cannot be active first in step {next}")
            }
            Fault::WrongNext {
                rank,
                after: Some(after),
                next,
            } => {
                write!(
                    f,
                    "rank {rank} cannot be active next in step {next} after step {after}"
                )
            }
            Fault::Overlooked { rank, step } => {
                write!(
                    f,
                    "rank {rank} is active in step {step}, which is not its next one"
                )
            }
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
            Fault::Mixes {
                rank,
                step,
                peer,
                held,
                received,
            } => write!(
                f,
                "rank {rank} folds element {received} of rank {peer} into its element {held} in step {step}"
            ),
            Fault::CountedTwice {
                rank,
                step,
                peer,
                contributor,
            } => write!(
                f,
                "rank {rank} counts rank {contributor} twice in step {step}, when it folds what rank {peer} sends"
            ),
        }
    }
}

impl error::Error for Fault {}
