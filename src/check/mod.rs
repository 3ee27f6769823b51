//! The checker: runs the schedule of every rank on symbols, and proves it correct or names the fault.
//!
//! The value of an element is the sequence of contributions that it is folded from. A single run therefore shows, for
//! every operator and all data at once, that each result has every required contribution exactly once, and in which
//! order.
//!
//! **Why a checked schedule cannot deadlock**, even if every send waits for its receive: in every step the sends and
//! the receives are the same set of messages, and a rank performs its send and its receive of one step concurrently.
//! Suppose that all ranks have completed the steps before `s`. Then both ends of every message of step `s` reach it,
//! and all ranks complete step `s`.
//!
//! The files:
//! - `goal`: the results that a collective requires; `fault`: the error type;
//! - `legal`: what one rank may do in one step; `run`: all ranks, step by step;
//! - `memory`: a buffer of symbols; `symbols`: the symbols, and how they fold.

use crate::schedule::Schedule;
use crate::span::{Blocks, Pieces};

mod fault;
mod goal;
mod legal;
mod memory;
mod run;
mod symbols;

pub use fault::CheckError;
pub use goal::Goal;

use goal::Cut;
use run::SymbolicRun;

/// Runs a schedule on symbols and compares the outcome with a goal.
///
/// # Cost
///
/// About one visit per rank and step, plus work per message that does not depend on its length. Lengths matter only
/// where they cut the vector into more pieces.
///
/// # Errors
///
/// The first fault, in the order of steps. A wrong fold is a fault only if a result contains it; the error then names
/// the fold.
///
/// # Examples
///
/// ```
/// use rankfold::check::{CheckError, Goal, check};
/// use rankfold::collective::{Bisection, Halving, RingReduceScatter};
///
/// let ring = check(&RingReduceScatter::new(5, 20), &Goal::reduce_scatter(20)).unwrap();
/// assert_eq!((ring.steps, ring.ordered), (4, false)); // only for operators that commute
///
/// let far = Halving::new(3, 64, Bisection::Far);
/// let fault = check(&far, &Goal::reduce_scatter(64).in_rank_order()).unwrap_err();
/// assert_eq!(fault.to_string(), "rank 0 has output 0 folded out of rank order");
/// # assert!(matches!(fault, CheckError::OutOfOrder { .. }));
/// ```
pub fn check(schedule: &dyn Schedule, goal: &Goal) -> Result<Certificate, CheckError> {
    check_with(
        schedule,
        goal,
        Blocks::even(goal.length(), schedule.ranks()),
    )
}

/// Checks a schedule as [`check`] does, but may stop early: after each step `go_on` receives the number of completed
/// steps and returns whether to continue. Returns `None` if stopped.
///
/// # Errors
///
/// Those of [`check`].
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check, check_while};
/// use rankfold::collective::RingReduceScatter;
///
/// let (ring, goal) = (RingReduceScatter::new(5, 20), Goal::reduce_scatter(20));
/// assert_eq!(check_while(&ring, &goal, &mut |_| true)?, Some(check(&ring, &goal)?));
/// assert_eq!(check_while(&ring, &goal, &mut |done| done < 2)?, None);
/// # Ok::<(), rankfold::check::CheckError>(())
/// ```
pub fn check_while(
    schedule: &dyn Schedule,
    goal: &Goal,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Certificate>, CheckError> {
    let blocks = Blocks::even(goal.length(), schedule.ranks());
    let pieces = Pieces::alike(blocks.clone());
    run_while(schedule, goal, Cut { blocks, pieces }, go_on)
}

/// Checks a schedule as [`check`] does, with `blocks` as the blocks that ranks own.
///
/// # Errors
///
/// As for [`check`], and if there is not exactly one block per rank, or the blocks do not make up the goal's vector.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check_with};
/// use rankfold::collective::RingReduceScatter;
/// use rankfold::span::Blocks;
///
/// let blocks = Blocks::of(&[4, 0, 6]).unwrap();
/// let ring = RingReduceScatter::to_blocks(blocks.clone());
/// assert_eq!(check_with(&ring, &Goal::reduce_scatter(10), blocks).unwrap().steps, 2);
/// ```
pub fn check_with(
    schedule: &dyn Schedule,
    goal: &Goal,
    blocks: Blocks,
) -> Result<Certificate, CheckError> {
    let pieces = Pieces::alike(blocks.clone());
    run_all(schedule, goal, Cut { blocks, pieces })
}

/// Checks a schedule of the all-to-all with a count for each pair of ranks.
///
/// # Errors
///
/// As for [`check`].
///
/// # Examples
///
/// ```
/// use rankfold::check::check_pieces;
/// use rankfold::collective::Pairwise;
/// use rankfold::span::Pieces;
///
/// let pieces = Pieces::of(&[0, 2, 0, 3, 0, 1, 4, 0, 0]).unwrap();
/// let proof = check_pieces(&Pairwise::of_pieces(pieces.clone()), pieces).unwrap();
/// assert_eq!((proof.message_steps, proof.elements()), (2, 10));
/// ```
pub fn check_pieces(schedule: &dyn Schedule, pieces: Pieces) -> Result<Certificate, CheckError> {
    let blocks = Blocks::even(0, pieces.ranks());
    run_all(schedule, &Goal::all_to_all(0), Cut { blocks, pieces })
}

fn run_all(schedule: &dyn Schedule, goal: &Goal, cut: Cut) -> Result<Certificate, CheckError> {
    let mut run = SymbolicRun::new(schedule, goal, cut)?;
    for step in 0..schedule.steps() {
        run.step(step)?;
    }
    run.finish(goal)
}

fn run_while(
    schedule: &dyn Schedule,
    goal: &Goal,
    cut: Cut,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Certificate>, CheckError> {
    let mut run = SymbolicRun::new(schedule, goal, cut)?;
    for step in 0..schedule.steps() {
        run.step(step)?;
        if !go_on(step + 1) {
            return Ok(None);
        }
    }
    run.finish(goal).map(Some)
}

/// The facts that the checker has proved about a schedule, with counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The number of steps.
    pub steps: usize,
    /// The number of steps that have messages; the others are local copies.
    pub message_steps: usize,
    /// Whether all results are folded in rank order. If not, the operator must commute.
    pub ordered: bool,
    /// Whether some rank receives into elements that it sends in the same step. An executor must then keep a copy of
    /// the outgoing elements until they are sent.
    pub exchanges_in_place: bool,
    /// The traffic of every rank.
    pub traffic: Vec<Traffic>,
}

impl Certificate {
    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.traffic.len()
    }

    /// The number of messages, including empty ones.
    pub fn messages(&self) -> usize {
        self.traffic.iter().map(|rank| rank.messages_out).sum()
    }

    /// The total number of elements in all messages, saturating at `usize::MAX`.
    pub fn elements(&self) -> usize {
        let sent = self.traffic.iter().map(|rank| rank.elements_out);
        sent.fold(0, usize::saturating_add)
    }
}

/// The elements and messages that one rank sends, receives and folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Traffic {
    /// Messages sent.
    pub messages_out: usize,
    /// Elements sent.
    pub elements_out: usize,
    /// Messages received.
    pub messages_in: usize,
    /// Elements received.
    pub elements_in: usize,
    /// Elements folded into held ones, received or from other regions of the same rank.
    pub folded: usize,
}
