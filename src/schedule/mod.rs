//! What every rank does: schedules, pure functions from (rank, step) to a [`Step`].
//!
//! A schedule is data. Nobody is called, nothing blocks and nothing is allocated:
//! [`check`](crate::check) runs it on symbols and proves it, and threads, a simulator or a pen can run, time
//! and draw the same. An algorithm is written once, here or in [`collective`](crate::collective).
//!
//! The files, one idea each:
//! - `step`: regions, transfers, and what a rank does in one step;
//! - `fold`: the schedule that a [`Pattern`](crate::topology::Pattern) is;
//! - `combine`: schedules made from schedules: backwards, one after the other, side by side, in
//!   segments, on other ranks, from an input;
//! - `faults`: lists of what can be wrong, with what every reader of schedules may find.
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

mod combine;
mod faults;
mod fold;
mod step;

pub use combine::{
    Copied, Fresh, FromBlocks, HandOut, Keep, Overlay, Pipelined, Placed, Proxied, Reversed,
    Rooted, Swapped, Then,
};
pub(crate) use faults::{faults, faults_of_schedules};
pub use fold::FoldAlong;
pub use step::{Buffer, Clash, Combine, LocalCopy, Region, Step, Transfer};

/// How long a rank's three buffers are, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lengths {
    /// The input, which is only read; 0 for what works in place.
    pub input: usize,
    /// The output.
    pub output: usize,
    /// The scratch room.
    pub scratch: usize,
}

impl Lengths {
    /// Those of a rank that works in place.
    pub const fn in_place(output: usize) -> Lengths {
        Lengths {
            input: 0,
            output,
            scratch: 0,
        }
    }

    /// The length of one of them.
    pub const fn of(&self, buffer: Buffer) -> usize {
        match buffer {
            Buffer::Input => self.input,
            Buffer::Output => self.output,
            Buffer::Scratch => self.scratch,
        }
    }

    /// Each as long as the longer of two.
    fn max(self, other: Lengths) -> Lengths {
        Lengths {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            scratch: self.scratch.max(other.scratch),
        }
    }
}

/// What every rank does in every step.
///
/// # Laws
///
/// - In every step the sends and the receives are the same set of messages: if rank `p` sends `m`
///   elements to `q`, then `q` receives `m` elements from `p` in that step, and conversely. So a
///   message of step `s` waits only for steps before `s`, and no rank waits for ever, even where
///   every send waits for its receive.
/// - From step [`steps`](Self::steps) on, all ranks are [idle](Step::is_idle).
/// - [`next_active`](Self::next_active) skips no step in which the rank is not idle.
/// - Regions lie inside the buffers, and nothing is written to the input.
///
/// [`check`](crate::check::check) holds a schedule against them. `step` is pure, so threads may share
/// a schedule, and does not allocate; ranks are below [`ranks`](Self::ranks), else it may panic.
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

    /// What `rank` does in a step.
    fn step(&self, rank: Rank, step: usize) -> Step;

    /// The first step after `after` (or at all) in which the rank is not idle. Schedules of many
    /// steps in which a rank has little to do answer this without looking at each.
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let first = least_after(after)?;
        (first..self.steps()).find(|&s| !self.step(rank, s).is_idle())
    }

    /// The last step before `before` in which the rank is not idle: what
    /// [`next_active`](Self::next_active) is to the schedule [reversed](Self::reversed).
    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        let from = |least: usize| self.next_active(rank, least.checked_sub(1));
        last_before(before, from)
    }

    /// How long the rank's buffers are.
    fn lengths(&self, rank: Rank) -> Lengths;

    /// Whether a rank may copy in step 0. The reversed schedule then has one step more, in which it
    /// copies last.
    fn copies_first(&self) -> bool {
        false
    }

    /// Whether any rank may copy in any step. What [reverses](Self::reversed) a schedule that may has to
    /// look for copies in every step.
    fn may_copy(&self) -> bool {
        true
    }

    /// The same run backwards: receives become sends, and nothing is folded. What gathers now
    /// scatters.
    fn reversed(self) -> Reversed<Self>
    where
        Self: Sized,
    {
        Reversed::new(self)
    }

    /// The same for a call whose vectors lie elsewhere: a reduction that leaves inputs as they are.
    fn placed(self, keep: Keep) -> Placed<Self>
    where
        Self: Sized,
    {
        Placed::new(self, keep)
    }

    /// The same with input and output changing places.
    fn swapped(self) -> Swapped<Self>
    where
        Self: Sized,
    {
        Swapped::new(self)
    }

    /// First this, then that.
    fn then<S: Schedule>(self, next: S) -> Then<Self, S>
    where
        Self: Sized,
    {
        Then::new(self, next)
    }

    /// Both in the same steps, side by side. A rank that would send or receive twice in one step has
    /// a [`Clash`].
    fn overlay<S: Schedule>(self, other: S) -> Overlay<Self, S>
    where
        Self: Sized,
    {
        Overlay::new(self, other)
    }

    /// The vector cut into segments, one starting every `period` steps.
    fn pipelined(self, segments: usize, period: usize) -> Pipelined<Self>
    where
        Self: Sized,
    {
        Pipelined::new(self, segments, period)
    }

    /// The same for more ranks than it has, up to twice as many less one.
    fn proxied(self, ranks: usize, hand_out: HandOut) -> Proxied<Self>
    where
        Self: Sized,
    {
        Proxied::new(self, ranks, hand_out)
    }

    /// The same with the ranks turned until `root` does what rank 0 did.
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

/// The first step that comes after `after`, if there is one at all.
pub(crate) fn least_after(after: Option<usize>) -> Option<usize> {
    after.map_or(Some(0), |step| step.checked_add(1))
}

/// The first step from `least` on in which the rank is not idle.
fn first_from(schedule: &impl Schedule, rank: Rank, least: usize) -> Option<usize> {
    schedule.next_active(rank, least.checked_sub(1))
}
