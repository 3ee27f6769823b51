//! Backwards, one after the other, and side by side.

use super::assert_same_ranks;
use crate::Rank;
use crate::schedule::{Combine, Lengths, Schedule, Step, first_from, least_after};

/// A schedule run backwards: the last step first, receives become sends, and nothing is folded.
///
/// ```text
/// reduce           ◀▶  broadcast
/// gather           ◀▶  scatter
/// reduce-scatter   ◀▶  all-gather
/// ```
///
/// So `s.then(s.reversed())` is an all-reduce whatever reduction `s` is.
///
/// # Panics
///
/// [`step`](Schedule::step), if the schedule copies inside a rank: that copy would have to come after
/// the receive.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::topology::Topology;
///
/// let broadcast = FoldAlong::new(Topology::chain(5).single_port(), 3).reversed();
/// assert_eq!(broadcast.step(0, 0).send.unwrap().peer, 1);
/// check(&broadcast, &Goal::broadcast(0, 3)).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reversed<S> {
    inner: S,
}

impl<S: Schedule> Reversed<S> {
    pub(in crate::schedule) fn new(inner: S) -> Reversed<S> {
        Reversed { inner }
    }
}

#[cold]
fn copies(rank: Rank, step: usize) -> ! {
    panic!("rank {rank} copies in step {step}: not to be reversed")
}

impl<S: Schedule> Schedule for Reversed<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps()
    }

    #[inline(always)] // a call would copy the step, which costs more than making it
    fn step(&self, rank: Rank, step: usize) -> Step {
        let Some(last) = self.steps().checked_sub(1).filter(|&last| step <= last) else {
            return Step::IDLE;
        };
        let forward = self.inner.step(rank, last - step);
        if forward.local.is_some() {
            copies(rank, last - step);
        }
        Step {
            local: None,
            send: forward.recv,
            recv: forward.send,
            combine: Combine::Replace,
            clash: forward.clash,
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let steps = self.steps();
        let bound = steps.checked_sub(least_after(after)?)?;
        let last = self.inner.last_active(rank, bound)?;
        Some(steps - 1 - last)
    }

    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        let steps = self.steps();
        let first = first_from(&self.inner, rank, steps.saturating_sub(before))?;
        Some(steps - 1 - first)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.inner.lengths(rank)
    }
}

/// First one schedule, then another on the same buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Then<A, B> {
    first: A,
    second: B,
}

impl<A: Schedule, B: Schedule> Then<A, B> {
    #[track_caller]
    pub(in crate::schedule) fn new(first: A, second: B) -> Then<A, B> {
        assert_same_ranks(&first, &second);
        Then { first, second }
    }
}

impl<A: Schedule, B: Schedule> Schedule for Then<A, B> {
    fn ranks(&self) -> usize {
        self.first.ranks()
    }

    fn steps(&self) -> usize {
        self.first.steps() + self.second.steps()
    }

    #[inline(always)] // a call would copy the step, which costs more than making it
    fn step(&self, rank: Rank, step: usize) -> Step {
        match step.checked_sub(self.first.steps()) {
            Some(step) => self.second.step(rank, step),
            None => self.first.step(rank, step),
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let middle = self.first.steps();
        let early = match after {
            Some(step) if step >= middle => None,
            _ => self.first.next_active(rank, after),
        };
        let after = after.and_then(|step| step.checked_sub(middle));
        let late = || {
            self.second
                .next_active(rank, after)
                .map(|step| middle + step)
        };
        early.or_else(late)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.first.lengths(rank).max(self.second.lengths(rank))
    }
}

/// Two schedules in the same steps, on the same buffers.
///
/// Right only where no rank sends twice or receives twice in one step: else the step has a
/// [`Clash`](crate::schedule::Clash), and the checker refuses it.
///
/// # Examples
///
/// Two chains of the same ranks cannot run at once:
///
/// ```
/// use rankfold::check::{Fault, Goal, check};
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::topology::Topology;
///
/// let chain = || FoldAlong::new(Topology::chain(4).single_port(), 8);
/// let twice = chain().overlay(chain());
/// assert!(matches!(check(&twice, &Goal::reduce(0, 8)), Err(Fault::Clash { rank: 2, step: 0, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay<A, B> {
    one: A,
    other: B,
}

impl<A: Schedule, B: Schedule> Overlay<A, B> {
    #[track_caller]
    pub(in crate::schedule) fn new(one: A, other: B) -> Overlay<A, B> {
        assert_same_ranks(&one, &other);
        Overlay { one, other }
    }
}

impl<A: Schedule, B: Schedule> Schedule for Overlay<A, B> {
    fn ranks(&self) -> usize {
        self.one.ranks()
    }

    fn steps(&self) -> usize {
        self.one.steps().max(self.other.steps())
    }

    #[inline(always)] // a call would copy the step, which costs more than making it
    fn step(&self, rank: Rank, step: usize) -> Step {
        self.one
            .step(rank, step)
            .beside(self.other.step(rank, step))
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let one = self.one.next_active(rank, after);
        let other = self.other.next_active(rank, after);
        one.into_iter().chain(other).min()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.one.lengths(rank).max(self.other.lengths(rank))
    }
}
