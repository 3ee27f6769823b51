//! The faults of schedules, each with its culprit.

use crate::Rank;
use crate::schedule::{Buffer, Region, faults_of_schedules};

faults_of_schedules! {
/// The reason why a schedule misses its goal.
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
pub enum CheckError {
    /// The schedule has no ranks.
    NoRanks => "no ranks";
    /// The goal's root is not a rank of the schedule.
    NoSuchRoot { root: Rank, ranks: usize } => "root {root} of {ranks} ranks";
    /// The blocks that ranks are to own are not one per rank, or do not make up the goal's vector.
    OtherBlocks { parts: usize, ranks: usize, length: usize, goal: usize }
        => "{parts} blocks of {length} elements for {ranks} ranks and vectors of {goal}";
    /// A buffer is too short for what the goal places in it.
    TooShort { rank: Rank, buffer: Buffer, length: usize, needed: usize }
        => "rank {rank}'s {buffer} holds {length} elements, and {needed} are needed";
    /// A region exceeds its buffer.
    OutOfBounds { rank: Rank, step: usize, region: Region, length: usize }
        => "rank {rank} uses {region} in step {step}, and it holds {length} elements";
    /// The runs of a region overlap.
    OverlapsItself { rank: Rank, step: usize, region: Region }
        => "rank {rank} uses {region} in step {step}, which overlaps itself";
    /// A step writes to the input.
    WritesInput { rank: Rank, step: usize, region: Region }
        => "rank {rank} writes {region} in step {step}";
    /// A local copy between regions that overlap or differ in extent.
    NoCopy { rank: Rank, step: usize, from: Region, to: Region }
        => "rank {rank} cannot copy {from} to {to} in step {step}";
    /// The rank's next active step, as returned by the schedule, does not come later or is beyond the end.
    WrongNext { rank: Rank, after: Option<usize>, next: usize }
        => "rank {rank} cannot be active {}", next_after(*next, *after);
    /// A rank copies, sends or folds into an element that was never written.
    ReadsNothing { rank: Rank, step: usize, buffer: Buffer, element: usize }
        => "rank {rank} reads {buffer} {element} in step {step}, where nothing was written";
    /// A result is folded from different elements.
    Mixes { rank: Rank, step: usize, peer: Rank, held: usize, received: usize }
        => "rank {rank} folds element {received} of rank {peer} into its element {held} in step {step}";
    /// A result contains a contribution twice, starting with this fold.
    CountedTwice { rank: Rank, step: usize, peer: Rank, contributor: Rank }
        => "rank {rank} counts rank {contributor} twice in step {step}, when it folds what rank {peer} sends";
    /// A result is missing.
    Nothing { rank: Rank, element: usize } => "rank {rank} has no output {element}";
    /// A result belongs to another element.
    Misplaced { rank: Rank, element: usize, index: usize }
        => "rank {rank} has element {index} as output {element}";
    /// A result contains a contribution that does not belong to it.
    Foreign { rank: Rank, element: usize, contributor: Rank }
        => "rank {rank} has something of rank {contributor} in output {element}";
    /// A result lacks a contribution.
    Lacks { rank: Rank, element: usize, contributor: Rank }
        => "rank {rank} has nothing of rank {contributor} in output {element}";
    /// A result has all contributions, but not in rank order as the goal requires.
    OutOfOrder { rank: Rank, element: usize }
        => "rank {rank} has output {element} folded out of rank order";
    /// A rank leaves the barrier without having heard from another.
    Unheard { rank: Rank, of: Rank } => "rank {rank} has not heard of rank {of}";
}
}

fn next_after(next: usize, after: Option<usize>) -> String {
    match after {
        None => format!("first in step {next}"),
        Some(after) => format!("next in step {next} after step {after}"),
    }
}
