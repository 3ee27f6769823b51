//! In place or from an input: where the vector of a schedule lies in the buffers of a call.
//!
//! Algorithms are written in place, on one vector that is the output. A call may promise that what it
//! was given stays as it is; these say where the vector then is, with as few copies as there can be.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{
    Buffer, Combine, Lengths, LocalCopy, Region, Schedule, Step, Transfer, first_from, least_after,
};
use crate::span::Blocks;

/// Where the result of a reduction stays, and so where it is folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// In every rank's output: from inputs to outputs.
    Everywhere,
    /// In one rank's output, where its vector was at first; the others' are inputs, and what they fold
    /// they fold in scratch room.
    AtRoot(Rank),
    /// A block in every rank's output, which holds no more; the fold is in scratch room.
    OwnBlock(Blocks),
}

/// A reduction in place, run on inputs that are left as they are.
///
/// Nothing is copied that is not folded into: what a rank sends before it has received goes out of its
/// input, and what it is about to fold into is copied at that moment. A leaf of a tree copies nothing.
///
/// ```text
/// a rank's vector     root of a reduce   leaf           inner rank
/// in place            output             output         output
/// placed at the root  output             input          input, from its first fold on scratch
/// ```
///
/// # Panics
///
/// [`step`](Schedule::step), if the schedule copies inside a rank.
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

/// Which folds are into elements that were not folded into before, and so must be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// The first of a rank: all later ones are into some of its elements.
    First,
    /// All of them.
    Always,
    /// The first into each region, regions being the same or apart. Whatever else a rank does with a
    /// region it does at most so many steps later.
    Regions {
        /// How many.
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

    /// For schedules whose folds are fresh in another way than [`Fresh::First`].
    pub fn fresh(self, fresh: Fresh) -> Placed<S> {
        Placed { fresh, ..self }
    }

    /// Where the rank's vector is folded; `None` if it is there from the start.
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

    /// The inner step with its regions where they belong, after the copy of what is folded into.
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

    /// Whether nothing was folded into the region of a step before it.
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

    /// Whether there is nobody to talk to, and the input only has to be copied.
    fn alone(&self) -> bool {
        self.ranks() == 1 && !matches!(self.keep, Keep::AtRoot(_))
    }

    /// The last copy: the block that the rank keeps, or all where nobody else is.
    fn last(&self, rank: Rank) -> Option<LocalCopy> {
        let (from, run) = match &self.keep {
            Keep::OwnBlock(blocks) => (Buffer::Scratch, blocks.block(rank)),
            _ => (Buffer::Input, 0..self.vector()),
        };
        let from = if self.alone() { Buffer::Input } else { from };
        let copy = LocalCopy {
            to: Region::output(0..run.len()),
            from: Region::new(from, run),
        };
        (!copy.to.is_empty()).then_some(copy)
    }

    fn has_last(&self) -> bool {
        self.alone() || matches!(self.keep, Keep::OwnBlock(_))
    }
}

/// What is about to be folded into, from the input.
fn load(region: Region, work: Buffer) -> Option<LocalCopy> {
    let copy = LocalCopy {
        from: region.moved_to(Buffer::Input),
        to: region.moved_to(work),
    };
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

/// An all-gather in place, run from inputs that are the ranks' blocks: each is copied to its place
/// first.
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
    /// The schedule from inputs that are blocks cut like this.
    ///
    /// # Panics
    ///
    /// If there is not one for each rank.
    #[track_caller]
    pub fn new(inner: S, blocks: Blocks) -> FromBlocks<S> {
        let (parts, ranks) = (blocks.parts(), inner.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        FromBlocks { inner, blocks }
    }

    fn load(&self, rank: Rank) -> Option<LocalCopy> {
        let place: Range<usize> = self.blocks.block(rank);
        let copy = LocalCopy {
            from: Region::input(0..place.len()),
            to: Region::output(place),
        };
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

/// A reduce-scatter in place, run on inputs that are left as they are: each is copied to scratch room first,
/// and the rank's block to its output last.
///
/// For schedules that fold one part after another, of which [`Placed`] cannot know what has been copied.
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
    /// The schedule from inputs to blocks cut like this.
    ///
    /// # Panics
    ///
    /// If there is not one for each rank.
    #[track_caller]
    pub fn new(inner: S, blocks: Blocks) -> Copied<S> {
        let (parts, ranks) = (blocks.parts(), inner.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        Copied { inner, blocks }
    }

    /// The copy before step 0, or after all steps.
    fn copy(&self, rank: Rank, last: bool) -> Option<LocalCopy> {
        let all = 0..self.blocks.length();
        let block = self.blocks.block(rank);
        let copy = if last {
            LocalCopy {
                to: Region::output(0..block.len()),
                from: Region::scratch(block),
            }
        } else {
            LocalCopy {
                from: Region::input(all.clone()),
                to: Region::scratch(all),
            }
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

/// The same with input and output changing places, as a reversal wants it: what a gather reads, a
/// scatter writes.
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

fn swap(region: Region) -> Region {
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
        let Lengths {
            input,
            output,
            scratch,
        } = self.inner.lengths(rank);
        Lengths {
            input: output,
            output: input,
            scratch,
        }
    }

    fn copies_first(&self) -> bool {
        self.inner.copies_first()
    }
}
