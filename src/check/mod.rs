//! The checker: runs the schedule of every rank on symbols, and proves it or names what is wrong.
//!
//! The value of an element is the sequence of contributions that it is folded from. So one run shows,
//! for every operator and all data at once, that each result has every contribution it needs exactly
//! once, and in which order.
//!
//! **Why a checked schedule cannot deadlock**, even where every send waits for its receive: in every
//! step the sends and the receives are the same set of messages, and a rank does its send and its
//! receive of one step together. Suppose that all ranks are done with the steps before `s`; then both
//! ends of every message of step `s` come to it, and all get done with step `s`.
//!
//! The files, one idea each:
//! - `goal`: what a collective must leave where; `fault`: what can be wrong;
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

pub use fault::Fault;
pub use goal::Goal;

use goal::Cut;
use run::Run;

/// Runs a schedule on symbols and holds the outcome against a goal.
///
/// # Cost
///
/// About one visit to each rank and step, and some work for each message that does not depend on its
/// length. Lengths matter only where they cut the vector into more pieces.
///
/// # Errors
///
/// The first thing that is wrong, in the order of steps. What was folded wrongly is wrong only if a
/// result has it; then the fault is the fold.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Fault, Goal, check};
/// use rankfold::collective::{Bisection, Halving, RingReduceScatter};
///
/// let ring = check(&RingReduceScatter::new(5, 20), &Goal::reduce_scatter(20)).unwrap();
/// assert_eq!((ring.steps, ring.ordered), (4, false)); // only for operators that commute
///
/// let far = Halving::new(3, 64, Bisection::Far);
/// let fault = check(&far, &Goal::reduce_scatter(64).in_rank_order()).unwrap_err();
/// assert_eq!(fault.to_string(), "rank 0 has output 0 folded out of rank order");
/// # assert!(matches!(fault, Fault::OutOfOrder { .. }));
/// ```
pub fn check(schedule: &dyn Schedule, goal: &Goal) -> Result<Certificate, Fault> {
    check_with(
        schedule,
        goal,
        Blocks::even(goal.length(), schedule.ranks()),
    )
}

/// Holds a schedule against a goal as [`check`] does, as long as it is wanted: `go_on` is told after each step how many are
/// done, and says whether to go on. `None` if not.
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
/// # Ok::<(), rankfold::check::Fault>(())
/// ```
pub fn check_while(
    schedule: &dyn Schedule,
    goal: &Goal,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Certificate>, Fault> {
    let blocks = Blocks::even(goal.length(), schedule.ranks());
    let pieces = Pieces::alike(blocks.clone());
    run_while(schedule, goal, Cut { blocks, pieces }, go_on)
}

/// Holds a schedule against a goal as [`check`] does, where ranks own blocks cut in another way.
///
/// # Errors
///
/// As those of [`check`], and if there is not a block for each rank, or if they do not make up the
/// goal's vector.
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
) -> Result<Certificate, Fault> {
    let pieces = Pieces::alike(blocks.clone());
    run_all(schedule, goal, Cut { blocks, pieces })
}

/// Holds a schedule against the all-to-all with a count for each pair of ranks.
///
/// # Errors
///
/// As those of [`check`].
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
pub fn check_pieces(schedule: &dyn Schedule, pieces: Pieces) -> Result<Certificate, Fault> {
    let blocks = Blocks::even(0, pieces.ranks());
    run_all(schedule, &Goal::all_to_all(0), Cut { blocks, pieces })
}

fn run_all(schedule: &dyn Schedule, goal: &Goal, cut: Cut) -> Result<Certificate, Fault> {
    let mut run = Run::new(schedule, goal, cut)?;
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
) -> Result<Option<Certificate>, Fault> {
    let mut run = Run::new(schedule, goal, cut)?;
    for step in 0..schedule.steps() {
        run.step(step)?;
        if !go_on(step + 1) {
            return Ok(None);
        }
    }
    run.finish(goal).map(Some)
}

/// What the checker has proved of a schedule, and what it counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The number of steps.
    pub steps: usize,
    /// The number of steps in which there are messages; the others are local copies.
    pub message_steps: usize,
    /// Whether all results are folded in rank order. If not, the operator must commute.
    pub ordered: bool,
    /// Whether somewhere a rank receives into elements that it sends in the same step: what runs the
    /// schedule must then keep what it sends until it is sent.
    pub exchanges_in_place: bool,
    /// What every rank sends, receives and folds.
    pub traffic: Vec<Traffic>,
}

impl Certificate {
    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.traffic.len()
    }

    /// The number of messages, empty ones included.
    pub fn messages(&self) -> usize {
        self.traffic.iter().map(|rank| rank.messages_out).sum()
    }

    /// The number of elements in all messages.
    pub fn elements(&self) -> usize {
        self.traffic.iter().map(|rank| rank.elements_out).sum()
    }
}

/// What one rank sends, receives and folds.
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
    /// Elements received that were folded into held ones.
    pub folded: usize,
}
