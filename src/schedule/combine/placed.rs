//! In place or from an input: adapters that put the vector of a schedule into the buffers of a call.
//!
//! Algorithms are written in place, on one vector that is the output. A call may promise that its input stays
//! unchanged; these adapters then decide where the vector lies, with as few copies as possible.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{
    Buffer, Combine, Lengths, LocalCopy, Region, Schedule, Step, Transfer, first_from, least_after,
};
use crate::span::Blocks;

/// The buffer in which the result of a reduction stays, and in which it is therefore folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// In every rank's output: from inputs to outputs.
    Everywhere,
    /// In one rank's output, which holds its vector initially. The other vectors are inputs, and those ranks fold in
    /// scratch space.
    AtRoot(Rank),
    /// One block in every rank's output, which has no more space than that; the fold is in scratch space.
    OwnBlock(Blocks),
}

/// A reduction in place, run on inputs that stay unchanged.
///
/// Only elements that are folded into are copied: a rank sends from its input until it has received, and copies what it
/// folds into right before the fold. A leaf of a tree copies nothing.
///
/// ```text
/// a rank's vector     root of a reduce   leaf           inner rank
/// in place            output             output         output
/// placed at the root  output             input          input, from its first fold on scratch
/// ```
///
/// # Panics
///
/// [`step`](Schedule::step) panics if the schedule has local copies.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::{FoldAlong, Keep, Schedule};
/// use rankfold::topology::Topology;
///
/// let reduce = FoldAlong::new(Topology::chain(4).single_port(), 9).placed(Keep::AtRoot(0));
/// check(&reduce, &Goal::reduce(0, 9).at_root_in_place()).unwrap();
/// assert_eq!([0, 1, 3].map(|rank| reduce.lengths(rank).scratch), [0, 9, 0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<S> {
    inner: S,
    keep: Keep,
    fresh: Fresh,
}

/// Which folds are the first into their elements, and therefore require a copy first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// The first fold of a rank: all later folds are into some of its elements.
    First,
    /// All folds.
    Always,
    /// The first fold into each region; regions are either equal or disjoint. A rank uses a region again at most
    /// `within` steps later.
    Regions {
        /// The maximum number of steps between two uses of a region.
        within: usize,
    },
}

impl<S: Schedule> Placed<S> {
    pub(in crate::schedule) fn new(inner: S, keep: Keep) -> Placed<S> {
        Placed {
            inner,
            keep,
            fresh: Fresh::First,
        }
    }

    /// Sets which folds are fresh, for schedules to which [`Fresh::First`] does not apply.
    pub fn fresh(self, fresh: Fresh) -> Placed<S> {
        Placed { fresh, ..self }
    }

    /// The buffer in which the rank's vector is folded; `None` if the vector is there from the start.
    fn work(&self, rank: Rank) -> Option<Buffer> {
        match self.keep {
            Keep::Everywhere => Some(Buffer::Output),
            Keep::AtRoot(root) if root == rank => None,
            Keep::AtRoot(_) | Keep::OwnBlock(_) => Some(Buffer::Scratch),
        }
    }

    /// The first step in which the rank receives.
    fn first_receive(&self, rank: Rank) -> Option<usize> {
        let mut step = first_from(&self.inner, rank, 0)?;
        while self.inner.step(rank, step).recv.is_none() {
            step = self.inner.next_active(rank, Some(step))?;
        }
        Some(step)
    }

    /// The inner step with its regions in their proper buffers, after a copy of the elements that it folds into.
    fn place(&self, rank: Rank, number: usize, step: Step, work: Buffer) -> Step {
        assert!(step.local.is_none(), "rank {rank} copies in step {number}");
        let untouched = |t: &Transfer| self.is_untouched(rank, number, t.region);
        let mut placed = step.map_regions(|region| region.moved_to(work));
        if let Some(send) = placed
            .send
            .as_mut()
            .filter(|_| step.send.is_some_and(|t| untouched(&t)))
        {
            send.region = send.region.moved_to(Buffer::Input);
        }
        let folds = step.combine != Combine::Replace;
        let fresh = |t: &Transfer| folds && (self.fresh == Fresh::Always || untouched(t));
        placed.local = (step.recv.filter(fresh)).and_then(|recv| load(recv.region, work));
        placed
    }

    /// Whether no earlier step has folded into the region of this one.
    fn is_untouched(&self, rank: Rank, number: usize, region: Region) -> bool {
        match self.fresh {
            Fresh::First | Fresh::Always => {
                let first = self.first_receive(rank);
                first.is_none_or(|first| number <= first)
            }
            Fresh::Regions { within } => {
                let mut before = number.saturating_sub(within)..number;
                let received = |step| self.inner.step(rank, step).recv;
                !before.any(|step| received(step).is_some_and(|t| t.region == region))
            }
        }
    }

    fn vector(&self) -> usize {
        self.inner.lengths(0).output
    }

    /// Whether the rank has no peers, so that the input only has to be copied.
    fn alone(&self) -> bool {
        self.ranks() == 1 && !matches!(self.keep, Keep::AtRoot(_))
    }

    /// The final copy: the block that the rank keeps, or everything if there are no other ranks.
    fn last(&self, rank: Rank) -> Option<LocalCopy> {
        let (from, run) = match &self.keep {
            Keep::OwnBlock(blocks) => (Buffer::Scratch, blocks.block(rank)),
            _ => (Buffer::Input, 0..self.vector()),
        };
        let from = if self.alone() { Buffer::Input } else { from };
        let copy = LocalCopy::new(Region::new(from, run.clone()), Region::output(0..run.len()));
        (!copy.to.is_empty()).then_some(copy)
    }

    fn has_last(&self) -> bool {
        self.alone() || matches!(self.keep, Keep::OwnBlock(_))
    }
}

/// The copy from the input of the elements about to be folded into.
fn load(region: Region, work: Buffer) -> Option<LocalCopy> {
    let copy = LocalCopy::new(region.moved_to(Buffer::Input), region.moved_to(work));
    (!region.is_empty()).then_some(copy)
}

impl<S: Schedule> Schedule for Placed<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps() + usize::from(self.has_last())
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if self.has_last() && step == self.inner.steps() {
            return Step {
                local: self.last(rank),
                ..Step::IDLE
            };
        }
        let inner = self.inner.step(rank, step);
        match self.work(rank).filter(|_| !inner.is_idle()) {
            Some(work) => self.place(rank, step, inner, work),
            None => inner,
        }
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        let last = self.inner.steps();
        let copies = || {
            let there = self.has_last() && least <= last && self.last(rank).is_some();
            there.then_some(last)
        };
        self.inner.next_active(rank, after).or_else(copies)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        let n = self.vector();
        let scratch = |needed: bool| if needed { n } else { 0 };
        let (input, output, scratch) = match &self.keep {
            Keep::Everywhere => (n, n, 0),
            Keep::AtRoot(root) if *root == rank => (0, n, 0),
            Keep::AtRoot(_) => (n, 0, scratch(self.first_receive(rank).is_some())),
            Keep::OwnBlock(blocks) => (n, blocks.count(rank), scratch(!self.alone())),
        };
        Lengths {
            input,
            output,
            scratch,
        }
    }

    fn copies_first(&self) -> bool {
        self.ranks() == 1 || self.inner.steps() > 0
    }
}

/// An all-gather in place, run from inputs that are the ranks' blocks: each is first copied to its position.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::collective::RingReduceScatter;
/// use rankfold::schedule::{FromBlocks, Schedule};
/// use rankfold::span::Blocks;
///
/// let blocks = Blocks::even(20, 6);
/// let gather = FromBlocks::new(RingReduceScatter::new(6, 20).reversed(), blocks);
/// check(&gather, &Goal::all_gather(20).from_input()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromBlocks<S> {
    inner: S,
    blocks: Blocks,
}

impl<S: Schedule> FromBlocks<S> {
    /// The schedule from inputs that are `blocks`.
    ///
    /// # Panics
    ///
    /// If there is not one block per rank.
    #[track_caller]
    pub fn new(inner: S, blocks: Blocks) -> FromBlocks<S> {
        let (parts, ranks) = (blocks.parts(), inner.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        FromBlocks { inner, blocks }
    }

    fn load(&self, rank: Rank) -> Option<LocalCopy> {
        let place: Range<usize> = self.blocks.block(rank);
        let copy = LocalCopy::new(Region::input(0..place.len()), Region::output(place));
        (!copy.to.is_empty()).then_some(copy)
    }
}

impl<S: Schedule> Schedule for FromBlocks<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps().max(1)
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let inner = self.inner.step(rank, step);
        if step > 0 {
            return inner;
        }
        let local = self.load(rank);
        inner.beside(Step {
            local,
            ..Step::IDLE
        })
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        match after {
            None if self.load(rank).is_some() => Some(0),
            _ => self.inner.next_active(rank, after),
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        Lengths {
            input: self.blocks.count(rank),
            ..self.inner.lengths(rank)
        }
    }

    fn copies_first(&self) -> bool {
        true
    }
}

/// A reduce-scatter in place, run on inputs that stay unchanged: each is copied to scratch space first, and at the end
/// the rank's block is copied to its output.
///
/// For schedules that fold one part after another, for which [`Placed`] cannot know what has been copied.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::collective::halving_reduce_scatter;
/// use rankfold::schedule::Copied;
/// use rankfold::span::Blocks;
///
/// let scatter = Copied::new(halving_reduce_scatter(6, 20), Blocks::even(20, 6));
/// check(&scatter, &Goal::reduce_scatter(20).from_input()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied<S> {
    inner: S,
    blocks: Blocks,
}

impl<S: Schedule> Copied<S> {
    /// The schedule from inputs to `blocks`.
    ///
    /// # Panics
    ///
    /// If there is not one block per rank.
    #[track_caller]
    pub fn new(inner: S, blocks: Blocks) -> Copied<S> {
        let (parts, ranks) = (blocks.parts(), inner.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        Copied { inner, blocks }
    }

    /// The copy before step 0, or the copy after all steps.
    fn copy(&self, rank: Rank, last: bool) -> Option<LocalCopy> {
        let all = 0..self.blocks.length();
        let block = self.blocks.block(rank);
        let copy = if last {
            LocalCopy::new(
                Region::scratch(block.clone()),
                Region::output(0..block.len()),
            )
        } else {
            LocalCopy::new(Region::input(all.clone()), Region::scratch(all))
        };
        (!copy.to.is_empty()).then_some(copy)
    }
}

impl<S: Schedule> Schedule for Copied<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps().max(1) + 1
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let last = step + 1 == self.steps();
        let local = if step == 0 || last {
            self.copy(rank, last)
        } else {
            None
        };
        let inner = self.inner.step(rank, step);
        inner
            .map_regions(|region| region.moved_to(Buffer::Scratch))
            .beside(Step {
                local,
                ..Step::IDLE
            })
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = least_after(after)?;
        let last = self.steps() - 1;
        if least == 0 && self.copy(rank, false).is_some() {
            return Some(0);
        }
        let copies = || (least <= last && self.copy(rank, true).is_some()).then_some(last);
        self.inner.next_active(rank, after).or_else(copies)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        Lengths {
            input: self.blocks.length(),
            output: self.blocks.count(rank),
            scratch: self.blocks.length(),
        }
    }

    fn copies_first(&self) -> bool {
        true
    }
}

/// The same schedule with input and output exchanged, as a reversal needs it: a gather reads where a scatter writes.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::collective::BinomialGather;
/// use rankfold::schedule::Schedule;
///
/// let gather = BinomialGather::new(6, 20).from_input();
/// check(&gather, &Goal::gather(0, 20).from_input()).unwrap();
/// check(&gather.reversed().swapped(), &Goal::scatter(0, 20).from_input()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swapped<S> {
    inner: S,
}

impl<S: Schedule> Swapped<S> {
    pub(in crate::schedule) fn new(inner: S) -> Swapped<S> {
        Swapped { inner }
    }
}

/// The same region of the input instead of the output, and conversely.
pub(crate) fn swap(region: Region) -> Region {
    region.moved_to(match region.buffer {
        Buffer::Input => Buffer::Output,
        Buffer::Output => Buffer::Input,
        Buffer::Scratch => Buffer::Scratch,
    })
}

impl<S: Schedule> Schedule for Swapped<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps()
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        self.inner.step(rank, step).map_regions(swap)
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        self.inner.next_active(rank, after)
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.inner.lengths(rank).swapped()
    }

    fn copies_first(&self) -> bool {
        self.inner.copies_first()
    }
}
