//! Collectives of short vectors over cells, slots in shared memory of which each rank writes its own: each rank writes
//! its contribution once, and the ranks that need it read it there.
//!
//! This takes one hop. In an all-reduce every rank reads all cells, and so folds for itself. Where ranks take turns on the
//! CPUs it takes two, *gather* and *release*: the last rank to arrive folds for all. Operands are folded in rank order,
//! whichever rank folds. No algorithm is implemented a second time here: which rank
//! needs what from which is all that [`over_cells`](super::over_cells) defines.

use crate::Rank;
use crate::collective::{CELL_BYTES, Call};
use crate::engine::at_cells::{AtCellPort, Early, Readers};
use crate::engine::combine::combined;
use crate::error::Result;
use crate::moves;
use crate::op::{Element, First, Operator};
use crate::schedule::Combine;
use crate::transport::memory::cells::{self, CellPort, Floor, Found};
use crate::transport::memory::stamp::{Label, Stamp};

const _: () = assert!(CELL_BYTES <= cells::CELL_BYTES);

/// Runs this rank's `part` of a call. The buffers have the lengths of the call's [shape](Call). A caller compiles the
/// parts that it names, and no other collective.
#[inline]
pub(crate) fn over_cells(
    cells: &mut AtCellPort<'_>,
    call: &Call,
    part: impl FnOnce(&mut RankAtCells<'_, '_>) -> Result<()>,
) -> Result<()> {
    let mut table = RankAtCells::new(cells, call);
    part(&mut table)?;
    table.cells.leave(table.written_for)
}

/// What a rank holds in an all-reduce.
pub(crate) trait Contribution {
    /// The number of elements as which it travels.
    fn count(&self) -> usize;

    /// The number of their bytes.
    fn bytes(&self) -> usize;

    /// Writes them into a cell.
    fn post(&self, cell_port: &mut CellPort, stamp: Stamp);

    /// Called before another rank's are combined with them, if they may have come from a separate input.
    fn begin(&mut self) {}

    /// Combines those in another rank's cell with them.
    fn combine(&mut self, combine: Combine, found: Found<'_>, stamp: Stamp)
    -> Result<Floor, Label>;
}

/// A vector, the operator that folds others into it, and where it still has to be copied from.
pub(super) struct HeldVector<'a, T, O>(pub &'a mut [T], pub &'a O, pub Option<&'a [T]>);

impl<T: Element, O: Operator<T>> Contribution for HeldVector<'_, T, O> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        size_of_val(self.0)
    }

    #[inline(always)]
    fn post(&self, cell_port: &mut CellPort, stamp: Stamp) {
        cell_port.post(stamp, self.2.unwrap_or(self.0));
    }

    #[inline(always)]
    fn begin(&mut self) {
        if let Some(input) = self.2.take() {
            self.0.copy_from_slice(input);
        }
    }

    #[inline(always)]
    fn combine(
        &mut self,
        combine: Combine,
        found: Found<'_>,
        stamp: Stamp,
    ) -> Result<Floor, Label> {
        let count = self.0.len();
        let show = |theirs: &[T]| combined(combine, self.0, theirs, self.1);
        found.open(stamp, count, show)
    }
}

/// One rank at the cells of a call.
pub(crate) struct RankAtCells<'a, 'c> {
    pub(super) cells: &'a mut AtCellPort<'c>,
    pub(super) call: &'a Call,
    pub(super) ranks: usize,
    pub(super) me: Rank,
    /// All ranks except this one.
    pub(super) others: Readers,
    written_for: Option<Readers>,
}

impl<'a, 'c> RankAtCells<'a, 'c> {
    #[inline(always)]
    fn new(cells: &'a mut AtCellPort<'c>, call: &'a Call) -> Self {
        let (ranks, me) = (call.ranks(), cells.rank());
        RankAtCells {
            me,
            cells,
            call,
            ranks,
            others: match ranks {
                2 => Readers::One(1 - me),
                _ => Readers::All,
            },
            written_for: None,
        }
    }
}

impl RankAtCells<'_, '_> {
    /// Whether the last rank to arrive folds for all.
    #[inline]
    fn takes_turns(&self) -> bool {
        self.ranks > 2 && self.cells.takes_turns()
    }

    #[inline]
    pub(super) fn write_to<T: Element>(&mut self, reader: Rank, data: &[T]) -> Result<()> {
        self.write(data, Readers::One(reader), |_| data.len())
    }

    #[inline]
    pub(super) fn write_to_all<T: Element>(&mut self, data: &[T]) -> Result<()> {
        self.write(data, self.others, |_| data.len())
    }

    /// Writes a vector for the ranks above, if there are any.
    #[inline]
    pub(super) fn write_to_those_above<T: Element>(&mut self, data: &[T]) -> Result<()> {
        match self.others {
            _ if self.me + 1 == self.ranks => Ok(()),
            Readers::One(above) => self.write_to(above, data),
            _ => self.write(data, Readers::Above(self.me), |_| data.len()),
        }
    }

    /// Folds the vectors of all ranks below into that of this rank; that of the nearest one first, combined in its own
    /// way.
    #[inline]
    pub(super) fn fold_those_below<T: Element>(
        &mut self,
        acc: &mut [T],
        op: &impl Operator<T>,
        nearest: Combine,
    ) -> Result<()> {
        let mut combine = nearest;
        for from in (0..self.me).rev() {
            self.take(from, &mut HeldVector(acc, op, None), combine, Early::Most)?;
            combine = Combine::FoldLeft;
        }
        Ok(())
    }

    /// Writes a vector of which each rank reads its own block: for a single reader only that block.
    #[inline]
    pub(super) fn write_blocks<T: Element>(&mut self, data: &[T]) -> Result<()> {
        // See `Call::most_written`.
        let blocks = &self.call.blocks;
        match self.others {
            Readers::One(one) => self.write_to(one, &data[blocks.block(one)]),
            _ => self.write(data, Readers::All, |rank| blocks.count(rank)),
        }
    }

    /// Takes this rank's block of a vector of `whole` elements that another rank has written in blocks.
    #[inline]
    pub(super) fn take_block<T: Element>(
        &mut self,
        from: Rank,
        whole: usize,
        combine: Combine,
        into: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let count = match self.others {
            Readers::One(_) => self.call.blocks.count(self.me),
            _ => whole,
        };
        let bytes = count * size_of::<T>();
        self.cells.wait_until_written(from, bytes, Early::Most)?;
        let opened = self.open_block(from, count, combine, into, op);
        self.cells.opened(from, opened)
    }

    /// The same when the cells of all are there, and of more than two ranks.
    #[inline]
    pub(super) fn take_block_of_all<T: Element>(
        &mut self,
        counted: bool,
        (from, combine): (Rank, Combine),
        whole: usize,
        into: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        if !counted {
            return self.take_block(from, whole, combine, into, op);
        }
        let opened = self.open_block(from, whole, combine, into, op);
        self.cells.opened_of_all(from, opened)
    }

    /// Opens a cell of `count` elements: this rank's block, or the whole vector.
    #[inline(always)]
    fn open_block<T: Element>(
        &self,
        from: Rank,
        count: usize,
        combine: Combine,
        into: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<Floor, Label> {
        let block = self.call.blocks.block(self.me);
        moves::note(from, self.me, block.clone());
        let part = match self.others {
            Readers::One(_) => 0..block.len(),
            _ => block,
        };
        let (found, stamp) = self.cells.found(from);
        let show = |theirs: &[T]| combined(combine, into, &theirs[part], op);
        found.open(stamp, count, show)
    }

    /// Combines all elements of another rank with those held.
    #[inline(always)] // a call would pass the description of the read through memory
    fn take(
        &mut self,
        from: Rank,
        held: &mut impl Contribution,
        combine: Combine,
        early: Early,
    ) -> Result<()> {
        moves::note(from, self.me, 0..held.count());
        self.cells.wait_until_written(from, held.bytes(), early)?;
        let (found, stamp) = self.cells.found(from);
        let opened = held.combine(combine, found, stamp);
        self.cells.opened(from, opened)
    }

    /// Copies the whole vector of another rank.
    #[inline]
    pub(super) fn copy<T: Element>(&mut self, from: Rank, into: &mut [T]) -> Result<()> {
        self.replace(from, &mut HeldVector(into, &First, None))
    }

    #[inline]
    pub(super) fn replace(&mut self, from: Rank, held: &mut impl Contribution) -> Result<()> {
        self.take(from, held, Combine::Replace, Early::Most)
    }

    #[inline]
    fn write<T: Element>(
        &mut self,
        data: &[T],
        readers: Readers,
        share: impl Fn(Rank) -> usize,
    ) -> Result<()> {
        self.written_for = Some(readers);
        let bytes = |reader| share(reader) * size_of::<T>();
        self.cells
            .write(readers, bytes, |port, stamp| port.post(stamp, data))
    }

    /// Writes the whole of what this rank holds.
    #[inline]
    pub(super) fn write_held(&mut self, readers: Readers, held: &impl Contribution) -> Result<()> {
        self.written_for = Some(readers);
        let bytes = held.bytes();
        self.cells
            .write(readers, |_| bytes, |port, stamp| held.post(port, stamp))
    }

    /// Waits until all other ranks have written messages of about `bytes` bytes; returns whether the reads of all of them were
    /// counted. If there is only one other rank, reading its cell waits and counts anyway.
    #[inline]
    pub(super) fn wait_for_others(&mut self, bytes: usize) -> Result<bool> {
        if let Readers::One(_) = self.others {
            return Ok(false);
        }
        self.cells.wait_for_all(bytes)?;
        Ok(self.cells.count_reads_of_all())
    }

    /// All-reduces what the ranks hold.
    #[inline]
    pub(crate) fn all_reduce(&mut self, held: &mut impl Contribution) -> Result<()> {
        if self.takes_turns() {
            return self.all_reduce_in_turns(held);
        }
        // The first two ranks fold others into what they hold; the rest take what rank 0 has first.
        if self.me < 2 {
            held.begin();
        }
        self.all_reduce_held(held)
    }

    /// Every rank reads the cells of all others; where ranks take turns, rank 0 folds for all.
    #[inline(always)]
    pub(super) fn all_reduce_held(&mut self, held: &mut impl Contribution) -> Result<()> {
        if self.ranks == 2 {
            self.write_held(self.others, held)?;
            return self.fold_held(held);
        }
        if !self.call.crowded {
            self.write_held(Readers::All, held)?;
            return self.fold_all(held);
        }
        if self.me > 0 {
            self.write_held(Readers::One(0), held)?;
            return self.replace(0, held);
        }
        self.fold_held(held)?;
        self.write_held(self.others, held)
    }

    /// All-reduce where ranks take turns on the CPUs: the last rank to arrive folds for all. If it were always the same
    /// rank, all would wait until that rank is scheduled once more after every rank has arrived.
    ///
    /// These are two calls at the cells: all ranks write in the first and the last one reads it, and it writes in the
    /// second.
    fn all_reduce_in_turns(&mut self, held: &mut impl Contribution) -> Result<()> {
        let bytes = held.bytes();
        self.cells
            .bring(bytes, |port, stamp| held.post(port, stamp))?;
        match self.cells.come()? {
            None => {
                held.begin();
                self.fold_all(held)?;
                self.cells.leave(None)?;
                self.cells.tell_all(|port, stamp| held.post(port, stamp))?;
                self.cells.let_go();
            }
            Some(last) => {
                self.cells.leave(None)?;
                self.replace(last, held)?;
            }
        }
        Ok(())
    }

    /// Puts every rank's block in its place, its own while those of the others are on their way.
    #[inline]
    pub(super) fn collect<T: Element>(&mut self, own: &[T], all: &mut [T]) -> Result<()> {
        let block = |rank| self.call.blocks.block(rank);
        if let Readers::One(other) = self.others {
            self.cells.ask_for::<T>(other, block(other).len());
        }
        all[block(self.me)].copy_from_slice(own);
        let counted = self.wait_for_others(size_of_val(own))?;
        for from in self.all_others() {
            let place = self.call.blocks.block(from);
            let held = &mut HeldVector(&mut all[place], &First, None);
            self.take_of_all(counted, from, held, Combine::Replace)?;
        }
        Ok(())
    }

    pub(super) fn all_others(&self) -> impl Iterator<Item = Rank> + use<> {
        let me = self.me;
        (0..self.ranks).filter(move |rank| *rank != me)
    }

    /// Folds the contributions of all ranks into that of this rank. Its own cell need not be written if it is the first
    /// or second rank.
    #[inline]
    pub(super) fn fold<T: Element>(&mut self, acc: &mut [T], op: &impl Operator<T>) -> Result<()> {
        self.fold_held(&mut HeldVector(acc, op, None))
    }

    #[inline]
    pub(super) fn fold_held(&mut self, acc: &mut impl Contribution) -> Result<()> {
        let Readers::One(other) = self.others else {
            return self.fold_all(acc);
        };
        let early = match self.written_for {
            Some(_) => Early::Short,
            None => Early::Most,
        };
        let combine = Combine::by_rank(self.me, other);
        self.take(other, acc, combine, early)
    }

    fn fold_all(&mut self, acc: &mut impl Contribution) -> Result<()> {
        let bytes = acc.bytes();
        let counted = self.wait_for_others(bytes)?;
        self.cells.fetch_of_all(Rank::from(self.me == 0), bytes);
        for (from, combine) in in_order(self.ranks, self.me) {
            self.cells.fetch_of_all(from + 1, bytes);
            self.take_of_all(counted, from, acc, combine)?;
        }
        Ok(())
    }

    /// Combines all elements of a rank with those held, when the cells of all are there.
    #[inline(always)]
    fn take_of_all(
        &mut self,
        counted: bool,
        from: Rank,
        held: &mut impl Contribution,
        combine: Combine,
    ) -> Result<()> {
        if !counted {
            return self.take(from, held, combine, Early::Most);
        }
        moves::note(from, self.me, 0..held.count());
        let (found, stamp) = self.cells.found(from);
        let opened = held.combine(combine, found, stamp);
        self.cells.opened_of_all(from, opened)
    }
}

/// The ranks whose vectors a rank folds into its own, and how, in rank order. Its own is already there, if it is the first or
/// the second; otherwise it is read from its cell when its turn comes.
#[inline]
fn in_order(ranks: usize, me: Rank) -> impl Iterator<Item = (Rank, Combine)> {
    let lies_there = me < 2;
    let all = (0..ranks).filter(move |&from| !(lies_there && from == me));
    all.map(move |from| match from {
        0 if !lies_there => (from, Combine::Replace),
        0 => (from, Combine::FoldLeft),
        _ => (from, Combine::FoldRight),
    })
}
