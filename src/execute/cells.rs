//! Collectives of short vectors over cells, slots in shared memory of which each rank writes its own: each rank writes
//! its contribution once, and the ranks that need it read it there.
//!
//! This takes one hop where ranks need what others have written, and two, *gather* and *release*, where more than two
//! ranks need one result. Rank 0 then folds for all, or the last rank to arrive where ranks take turns on the CPUs.
//! Operands are folded in rank order, whichever rank folds. No algorithm is implemented a second time here: this module
//! only defines which rank needs what from which.

use crate::Rank;
use crate::collective::{CELL_BYTES, Call, Collective};
use crate::engine::at_cells::{AtCellPort, Early, Read, Readers};
use crate::engine::combine::combined;
use crate::error::{Error, Result};
use crate::moves;
use crate::op::{Element, First, Operator};
use crate::schedule::Combine;
use crate::transport::memory::cells::{self, CellPort, Floor, Found};
use crate::transport::memory::stamp::{Label, Stamp};

const _: () = assert!(CELL_BYTES <= cells::CELL_BYTES);

/// Runs this rank's part of a call. The buffers have the lengths of the call's [shape](Call).
#[inline]
pub(crate) fn over_cells<T: Element>(
    cells: &mut AtCellPort<'_>,
    call: &Call,
    input: &[T],
    output: &mut [T],
    op: &impl Operator<T>,
) -> Result<()> {
    let mut table = Table::new(cells, call);
    match call.collective {
        Collective::AllReduce if table.takes_turns() => {
            let input = call.from_input.then_some(input);
            return table.all_reduce_in_turns(&mut HeldVector(output, op, input));
        }
        Collective::AllReduce if call.from_input => {
            output.copy_from_slice(input);
            table.all_reduce(&mut HeldVector(output, op, None))?;
        }
        Collective::AllReduce => table.all_reduce(&mut HeldVector(output, op, None))?,
        Collective::Barrier => table.all_reduce(&mut HeldVector(&mut [], op, None))?,
        Collective::Broadcast => table.broadcast(output)?,
        Collective::Reduce => table.reduce(input, output, op)?,
        Collective::ReduceScatter => table.reduce_scatter(input, output, op)?,
        Collective::AllGather => table.all_gather(input, output)?,
        Collective::Gather => table.gather(input, output)?,
        Collective::Scatter => table.scatter(input, output)?,
        Collective::AllToAll => table.all_to_all(input, output)?,
        Collective::Scan | Collective::ExclusiveScan => return Err(not_served(call)),
    }
    table.cells.leave(table.written_for)
}

/// Runs this rank's part of an all-reduce in place.
#[inline]
pub(crate) fn all_reduce_over_cells(
    cells: &mut AtCellPort<'_>,
    call: &Call,
    held: &mut impl Held,
) -> Result<()> {
    let mut table = Table::new(cells, call);
    if table.takes_turns() {
        return table.all_reduce_in_turns(held);
    }
    table.all_reduce(held)?;
    table.cells.leave(table.written_for)
}

/// What a rank holds in an all-reduce.
pub(crate) trait Held {
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
struct HeldVector<'a, T, O>(&'a mut [T], &'a O, Option<&'a [T]>);

impl<T: Element, O: Operator<T>> Held for HeldVector<'_, T, O> {
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
        let (theirs, floor) = found.open(stamp, self.0.len())?;
        combined(combine, self.0, theirs, self.1);
        Ok(floor)
    }
}

#[cold]
fn not_served(call: &Call) -> Error {
    Error::usage(format!("{} is not done over cells", call.collective))
}

/// One rank at the cells of a call.
struct Table<'a, 'c> {
    cells: &'a mut AtCellPort<'c>,
    call: &'a Call,
    ranks: usize,
    me: Rank,
    /// All ranks except this one.
    others: Readers,
    written_for: Option<Readers>,
}

impl<'a, 'c> Table<'a, 'c> {
    #[inline(always)]
    fn new(cells: &'a mut AtCellPort<'c>, call: &'a Call) -> Self {
        let (ranks, me) = (call.ranks(), cells.rank());
        Table {
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

impl Table<'_, '_> {
    /// Whether the last rank to arrive folds for all.
    #[inline]
    fn takes_turns(&self) -> bool {
        self.ranks > 2 && self.cells.takes_turns()
    }

    #[inline]
    fn write_to<T: Element>(&mut self, reader: Rank, data: &[T]) -> Result<()> {
        self.write(data, Readers::One(reader), |_| data.len())
    }

    #[inline]
    fn write_to_all<T: Element>(&mut self, data: &[T]) -> Result<()> {
        self.write(data, self.others, |_| data.len())
    }

    /// Writes a vector of which each rank reads its own block: for a single reader only that block.
    #[inline]
    fn write_blocks<T: Element>(&mut self, data: &[T]) -> Result<()> {
        // See `Call::most_written`.
        let blocks = &self.call.blocks;
        match self.others {
            Readers::One(one) => self.write_to(one, &data[blocks.block(one)]),
            Readers::All => self.write(data, Readers::All, |rank| blocks.count(rank)),
        }
    }

    /// Takes this rank's block of a vector of `whole` elements that another rank has written in blocks.
    fn take_block<T: Element>(
        &mut self,
        from: Rank,
        whole: usize,
        combine: Combine,
        into: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        let block = self.call.blocks.block(self.me);
        moves::note(from, self.me, block.clone());
        let (count, part) = match self.others {
            Readers::One(_) => (block.len(), 0..block.len()),
            Readers::All => (whole, block),
        };
        let read = Read {
            from,
            count,
            part,
            early: Early::All,
        };
        self.cells
            .take(read, |theirs| combined(combine, into, theirs, op))
    }

    /// Combines all elements of another rank with those held.
    #[inline(always)] // a call would pass the description of the read through memory
    fn take(
        &mut self,
        from: Rank,
        held: &mut impl Held,
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
    fn copy<T: Element>(&mut self, from: Rank, into: &mut [T]) -> Result<()> {
        self.replace(from, &mut HeldVector(into, &First, None))
    }

    #[inline]
    fn replace(&mut self, from: Rank, held: &mut impl Held) -> Result<()> {
        self.take(from, held, Combine::Replace, Early::All)
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
    fn write_held(&mut self, readers: Readers, held: &impl Held) -> Result<()> {
        self.written_for = Some(readers);
        let bytes = held.bytes();
        self.cells
            .write(readers, |_| bytes, |port, stamp| held.post(port, stamp))
    }

    /// Waits until all other ranks have written. If there is only one other rank, reading its cell waits anyway.
    #[inline]
    fn wait_for_others(&mut self) -> Result<()> {
        match self.others {
            Readers::One(_) => Ok(()),
            Readers::All => self.cells.wait_for_all(),
        }
    }

    /// Two ranks read each other's cells; of more ranks, rank 0 folds for all.
    #[inline(always)]
    fn all_reduce(&mut self, held: &mut impl Held) -> Result<()> {
        if self.ranks == 2 {
            self.write_held(self.others, held)?;
            return self.fold_held(held);
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
    fn all_reduce_in_turns(&mut self, held: &mut impl Held) -> Result<()> {
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
        self.cells.leave(None)
    }

    #[inline]
    fn broadcast<T: Element>(&mut self, all: &mut [T]) -> Result<()> {
        let root = self.call.root;
        match self.me == root {
            true => self.write_to_all(all),
            false => self.copy(root, all),
        }
    }

    #[inline]
    fn reduce<T: Element>(
        &mut self,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        if self.me != self.call.root {
            return self.write_to(self.call.root, input);
        }
        // A rank in the middle of the order reads its own contribution from its own cell.
        if self.me > 1 {
            self.write_to(self.me, output)?;
        }
        self.fold(output, op)
    }

    fn reduce_scatter<T: Element>(
        &mut self,
        input: &[T],
        own: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        self.write_blocks(input)?;
        let block = self.call.blocks.block(self.me);
        if let Readers::One(_) = self.others {
            own.copy_from_slice(&input[block]);
            return self.fold(own, op);
        }
        self.cells.wait_for_all()?;
        for from in 0..self.ranks {
            let combine = match from {
                0 => Combine::Replace,
                _ => Combine::FoldRight,
            };
            match from == self.me {
                true => combined(combine, own, &input[block.clone()], op),
                false => self.take_block(from, input.len(), combine, own, op)?,
            }
        }
        Ok(())
    }

    fn all_gather<T: Element>(&mut self, own: &[T], all: &mut [T]) -> Result<()> {
        self.write_to_all(own)?;
        self.collect(own, all)
    }

    fn gather<T: Element>(&mut self, own: &[T], all: &mut [T]) -> Result<()> {
        match self.me == self.call.root {
            true => self.collect(own, all),
            false => self.write_to(self.call.root, own),
        }
    }

    /// Puts every rank's block in its place, its own while those of the others are on their way.
    fn collect<T: Element>(&mut self, own: &[T], all: &mut [T]) -> Result<()> {
        let block = |rank| self.call.blocks.block(rank);
        if let Readers::One(other) = self.others {
            self.cells.ask_for::<T>(other, block(other).len());
        }
        all[block(self.me)].copy_from_slice(own);
        self.wait_for_others()?;
        for from in self.all_others() {
            let place = self.call.blocks.block(from);
            self.copy(from, &mut all[place])?;
        }
        Ok(())
    }

    fn scatter<T: Element>(&mut self, all: &[T], own: &mut [T]) -> Result<()> {
        let (root, block) = (self.call.root, self.call.blocks.block(self.me));
        if self.me == root {
            self.write_blocks(all)?;
            own.copy_from_slice(&all[block]);
            return Ok(());
        }
        self.take_block(root, self.call.length(), Combine::Replace, own, &First)
    }

    fn all_to_all<T: Element>(&mut self, input: &[T], output: &mut [T]) -> Result<()> {
        self.write_blocks(input)?;
        let block = self.call.blocks.block(self.me);
        let place = |from| from * block.len()..(from + 1) * block.len();
        output[place(self.me)].copy_from_slice(&input[block.clone()]);
        self.wait_for_others()?;
        for from in self.all_others() {
            let place = &mut output[place(from)];
            self.take_block(from, input.len(), Combine::Replace, place, &First)?;
        }
        Ok(())
    }

    fn all_others(&self) -> impl Iterator<Item = Rank> + use<> {
        let me = self.me;
        (0..self.ranks).filter(move |rank| *rank != me)
    }

    /// Folds the contributions of all ranks into that of this rank. Its own cell need not be written if it is the first
    /// or second rank.
    #[inline]
    fn fold<T: Element>(&mut self, acc: &mut [T], op: &impl Operator<T>) -> Result<()> {
        self.fold_held(&mut HeldVector(acc, op, None))
    }

    #[inline]
    fn fold_held(&mut self, acc: &mut impl Held) -> Result<()> {
        let Readers::One(other) = self.others else {
            return self.fold_all(acc);
        };
        let early = match self.written_for {
            Some(_) => Early::Short,
            None => Early::All,
        };
        let combine = Combine::by_rank(self.me, other);
        self.take(other, acc, combine, early)
    }

    fn fold_all(&mut self, acc: &mut impl Held) -> Result<()> {
        self.cells.wait_for_all()?;
        // A contribution that is already in `acc` is not read from the cell.
        let lies_there = self.me < 2;
        let me = self.me;
        let skip = |from: Rank| from + Rank::from(lies_there && from == me);
        let mut from = skip(0);
        while from < self.ranks {
            let combine = match from {
                0 if !lies_there => Combine::Replace,
                0 => Combine::FoldLeft,
                _ => Combine::FoldRight,
            };
            self.take(from, acc, combine, Early::All)?;
            from = skip(from + 1);
        }
        Ok(())
    }
}
