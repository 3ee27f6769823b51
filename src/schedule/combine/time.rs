//! Reversed, in sequence, and in parallel.

use super::assert_same_ranks;
use crate::Rank;
use crate::schedule::{Combine, Lengths, LocalCopy, Schedule, Step, first_from, least_after};
use crate::topology::last_before;

/// A schedule run backwards: the last step comes first, receives become sends, and nothing is folded.
///
/// ```text
/// reduce           ◀▶  broadcast
/// gather           ◀▶  scatter
/// reduce-scatter   ◀▶  all-gather
/// ```
///
/// `s.then(s.reversed())` is therefore an all-reduce for any reduction `s`.
///
/// A copy that preceded the messages of a step now follows them, so it opens the next step; there is one step more if
/// the [first step copies](Schedule::copies_first). Reads from the input would become writes to it: such a schedule
/// must also be [swapped](Schedule::swapped).
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

    /// Whether the first copies become the last, in a step of their own.
    fn copies_last(&self) -> bool {
        self.inner.steps() > 0 && self.inner.copies_first()
    }

    /// The reversed copy of the step whose messages were reversed in the previous step.
    fn undone(&self, rank: Rank, step: usize) -> Option<LocalCopy> {
        if !self.inner.may_copy() {
            return None;
        }
        let mirrored = self.inner.steps().checked_sub(step)?;
        if step == 0 || mirrored == 0 && !self.copies_last() {
            return None;
        }
        let LocalCopy { from, to, .. } = self.inner.step(rank, mirrored).local?;
        Some(LocalCopy::new(to, from))
    }
}

impl<S: Schedule> Schedule for Reversed<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps() + usize::from(self.copies_last())
    }

    #[inline(always)] // a call would copy the step, which costs more than making it
    fn step(&self, rank: Rank, step: usize) -> Step {
        let steps = self.inner.steps();
        let forward = match steps.checked_sub(step + 1) {
            Some(mirrored) => self.inner.step(rank, mirrored),
            None => Step::IDLE,
        };
        Step {
            local: self.undone(rank, step),
            send: forward.recv,
            recv: forward.send,
            combine: Combine::Replace,
            clash: forward.clash,
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        if self.undone(rank, least).is_some() {
            return Some(least);
        }
        let bound = self.inner.steps().checked_sub(least)?;
        // The rank's last forward activity: now a message, or only the copy that comes one step later.
        let mirrored = self.inner.last_active(rank, bound)?;
        let step = self.inner.steps() - 1 - mirrored;
        if !self.inner.may_copy() {
            return Some(step);
        }
        let forward = self.inner.step(rank, mirrored);
        let talks = forward.send.is_some() || forward.recv.is_some() || forward.clash.is_some();
        Some(if talks { step } else { step + 1 })
    }

    fn last_active(&self, rank: Rank, before: usize) -> Option<usize> {
        if self.inner.may_copy() {
            let from = |least: usize| self.next_active(rank, least.checked_sub(1));
            return last_before(before, &from);
        }
        let steps = self.inner.steps();
        let first = first_from(&self.inner, rank, steps.saturating_sub(before))?;
        Some(steps - 1 - first)
    }

    fn may_copy(&self) -> bool {
        self.inner.may_copy()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.inner.lengths(rank)
    }
}

/// One schedule after another, on the same buffers.
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

    fn copies_first(&self) -> bool {
        if self.first.steps() > 0 {
            self.first.copies_first()
        } else {
            self.second.copies_first()
        }
    }

    fn may_copy(&self) -> bool {
        self.first.may_copy() || self.second.may_copy()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.first.lengths(rank).max(self.second.lengths(rank))
    }
}

/// Two schedules in the same steps, on the same buffers.
///
/// Valid only if no rank sends twice or receives twice in one step; otherwise the step has a
/// [`Clash`](crate::schedule::Clash), and the checker refuses it.
///
/// # Examples
///
/// Two chains of the same ranks cannot run at the same time:
///
/// ```
/// use rankfold::check::{CheckError, Goal, check};
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::topology::Topology;
///
/// let chain = || FoldAlong::new(Topology::chain(4).single_port(), 8);
/// let twice = chain().overlay(chain());
/// assert!(matches!(check(&twice, &Goal::reduce(0, 8)), Err(CheckError::Clash { rank: 2, step: 0, .. })));
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

    fn copies_first(&self) -> bool {
        self.one.copies_first() || self.other.copies_first()
    }

    fn may_copy(&self) -> bool {
        self.one.may_copy() || self.other.may_copy()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.one.lengths(rank).max(self.other.lengths(rank))
    }
}
