//! The actions of every rank: schedules, pure functions from (rank, step) to a [`Step`].
//!
//! A schedule is data. It calls nothing, blocks on nothing and allocates nothing: [`check`](crate::check) runs it on
//! symbols and proves it correct, and the same schedule is executed by threads, timed by a simulator and drawn. An
//! algorithm is written once, here or in [`collective`](crate::collective).
//!
//! The files:
//! - `step`: regions, transfers, and the actions of a rank in one step;
//! - `fold`: the schedule of a [`Pattern`](crate::topology::Pattern);
//! - `combine`: schedules made from schedules: reversed, in sequence, in parallel, in segments, on other ranks, from an
//!   input;
//! - `faults`: declarations of fault types, with the faults common to all consumers of schedules.
//!
//! # Examples
//!
//! An all-reduce from any tree, and its proof:
//!
//! ```
//! use rankfold::check::{Goal, check};
//! use rankfold::schedule::{FoldAlong, Schedule};
//! use rankfold::topology::Topology;
//!
//! let reduce = FoldAlong::new(Topology::k_tree(13, 2).single_port(), 100);
//! let all_reduce = reduce.clone().then(reduce.reversed());
//! let proof = check(&all_reduce, &Goal::all_reduce(100).in_rank_order()).unwrap();
//! assert_eq!((proof.steps, proof.messages()), (2 * 5, 2 * 12));
//! ```

use crate::Rank;
use crate::topology::last_before;
pub(crate) use crate::topology::least_after;

mod combine;
mod faults;
mod fold;
mod step;

pub(crate) use combine::swap;
pub use combine::{
    Copied, Fresh, FromBlocks, HandOut, Keep, Overlay, Pipelined, Placed, Proxied, Reversed,
    Rooted, Swapped, Then,
};
pub(crate) use faults::{faults, faults_of_schedules};
pub use fold::FoldAlong;
pub use step::{Buffer, Clash, Combine, LocalCopy, Region, Step, Transfer};

/// The lengths of a rank's three buffers, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// The input, which is read-only; 0 if the schedule works in place.
    pub input: usize,
    /// The output.
    pub output: usize,
    /// The scratch space.
    pub scratch: usize,
}

impl Lengths {
    /// The lengths of a rank that works in place, with an output of `output` elements.
    pub const fn in_place(output: usize) -> Lengths {
        Lengths {
            input: 0,
            output,
            scratch: 0,
        }
    }

    /// The length of `buffer`.
    pub const fn of(&self, buffer: Buffer) -> usize {
        match buffer {
            Buffer::Input => self.input,
            Buffer::Output => self.output,
            Buffer::Scratch => self.scratch,
        }
    }

    /// With input and output exchanged.
    pub(crate) fn swapped(self) -> Lengths {
        Lengths {
            input: self.output,
            output: self.input,
            scratch: self.scratch,
        }
    }

    /// The element-wise maximum of two.
    fn max(self, other: Lengths) -> Lengths {
        Lengths {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            scratch: self.scratch.max(other.scratch),
        }
    }
}

/// The actions of every rank in every step.
///
/// # Laws
///
/// - In every step the sends and the receives are the same set of messages: if rank `p` sends `m` elements to `q`, then
///   `q` receives `m` elements from `p` in that step, and conversely. A message of step `s` therefore waits only for
///   steps before `s`, and no rank waits forever, even if every send waits for its receive.
/// - From step [`steps`](Self::steps) on, all ranks are [idle](Step::is_idle).
/// - [`next_active`](Self::next_active) skips no step in which the rank is not idle.
/// - Regions lie within their buffers, and nothing is written to the input.
///
/// [`check`](crate::check::check) verifies them. `step` is pure, so threads may share a schedule, and it does not
/// allocate. Ranks must be below [`ranks`](Self::ranks); otherwise it may panic.
///
/// # Examples
///
/// ```
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::topology::Hypercube;
///
/// let exchange: &dyn Schedule = &FoldAlong::new(Hypercube::new(3), 100);
/// let step = exchange.step(5, 1);
/// assert_eq!((step.send.unwrap().peer, step.recv.unwrap().peer), (7, 7));
/// ```
pub trait Schedule: Sync {
    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// The number of steps.
    fn steps(&self) -> usize;

    /// The actions of `rank` in `step`.
    fn step(&self, rank: Rank, step: usize) -> Step;

    /// The first step after `after` (or the first of all, for `None`) in which the rank is not idle. Schedules with
    /// many steps in which a rank is mostly idle answer this without visiting each step.
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let (mut step, steps) = (least_after(after)?, self.steps());
        while step < steps {
            if !self.step(rank, step).is_idle() {
                return Some(step);
            }
            step += 1;
        }
        None
    }

    /// The last step before `before` in which the rank is not idle: the counterpart of
    /// [`next_active`](Self::next_active) for the [reversed](Self::reversed) schedule.
    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        let from = |least: usize| self.next_active(rank, least.checked_sub(1));
        last_before(before, &from)
    }

    /// The lengths of the rank's buffers.
    fn lengths(&self, rank: Rank) -> Lengths;

    /// Whether a rank may copy in step 0. The reversed schedule then has one step more, for these copies at the end.
    fn copies_first(&self) -> bool {
        false
    }

    /// Whether any rank may copy in any step. If so, a [reversal](Self::reversed) has to look for copies in every step.
    fn may_copy(&self) -> bool {
        true
    }

    /// The same schedule run backwards: receives become sends, and nothing is folded. A gather becomes a scatter.
    fn reversed(self) -> Reversed<Self>
    where
        Self: Sized,
    {
        Reversed::new(self)
    }

    /// The same schedule for a call with its vectors in other buffers: a reduction that leaves its inputs unchanged.
    fn placed(self, keep: Keep) -> Placed<Self>
    where
        Self: Sized,
    {
        Placed::new(self, keep)
    }

    /// The same schedule with input and output exchanged.
    fn swapped(self) -> Swapped<Self>
    where
        Self: Sized,
    {
        Swapped::new(self)
    }

    /// This schedule, followed by `next`.
    fn then<S: Schedule>(self, next: S) -> Then<Self, S>
    where
        Self: Sized,
    {
        Then::new(self, next)
    }

    /// Both schedules in the same steps. A rank that would send or receive twice in one step has a [`Clash`].
    fn overlay<S: Schedule>(self, other: S) -> Overlay<Self, S>
    where
        Self: Sized,
    {
        Overlay::new(self, other)
    }

    /// The schedule for a vector cut into segments, one of which starts every `period` steps.
    fn pipelined(self, segments: usize, period: usize) -> Pipelined<Self>
    where
        Self: Sized,
    {
        Pipelined::new(self, segments, period)
    }

    /// The same schedule extended to more ranks, up to twice as many less one.
    fn proxied(self, ranks: usize, hand_out: HandOut) -> Proxied<Self>
    where
        Self: Sized,
    {
        Proxied::new(self, ranks, hand_out)
    }

    /// The same schedule with rotated ranks, so that `root` takes the part of rank 0.
    fn rooted(self, root: Rank) -> Rooted<Self>
    where
        Self: Sized,
    {
        Rooted::new(self, root)
    }
}

macro_rules! forward {
    ($($head:tt)*) => {
        $($head)* {
            fn ranks(&self) -> usize {
                (**self).ranks()
            }
            fn steps(&self) -> usize {
                (**self).steps()
            }
            fn step(&self, rank: Rank, step: usize) -> Step {
                (**self).step(rank, step)
            }
            fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
                (**self).next_active(rank, after)
            }
            fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
                (**self).last_active(rank, before)
            }
            fn lengths(&self, rank: Rank) -> Lengths {
                (**self).lengths(rank)
            }
            fn copies_first(&self) -> bool {
                (**self).copies_first()
            }
            fn may_copy(&self) -> bool {
                (**self).may_copy()
            }
        }
    };
}

forward!(impl<S: Schedule + ?Sized> Schedule for &S);
forward!(impl<S: Schedule + ?Sized> Schedule for Box<S>);

/// The first step, not before `least`, in which the rank is not idle.
fn first_from(schedule: &impl Schedule, rank: Rank, least: usize) -> Option<usize> {
    schedule.next_active(rank, least.checked_sub(1))
}
