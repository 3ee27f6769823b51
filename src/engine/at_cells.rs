//! How a rank writes its cell inside a collective call and reads the cells of others. Each read is compared with the
//! call, each wait can fail, and each write is followed by waking the readers that sleep.

use std::cell::{OnceCell, RefCell, RefMut};

use super::agreement::Come;
use super::call::{From, InCall};
use crate::Rank;
use crate::error::Result;
use crate::op::Element;
use crate::transport::CommShared;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::cells::{CellPort, Floor, Found};
use crate::transport::memory::stamp::{Label, Stamp};

/// The shortest message, in bytes, that [`Early::Short`] prefetches only when it is there.
const SHORT: usize = 192 + 1;

/// The same of [`Early::Most`]. A rank that comes from another call together with the writer would take lines away that
/// are being written.
const MEDIUM: usize = 512 + 1;

/// The shortest that [`Early::Short`] does not prefetch at all: more lines than a CPU tracks arrive no earlier than by
/// the reads of a fold.
const LONG: usize = 2048 + 1;

/// A rank that has looked for a message so often waits for a writer that is late: whatever the length of the message, it
/// prefetches the first lines at each look, so that they have come when the number does.
const LOOKS: u32 = 32;

/// A rank's end of the cells, created when it is first needed.
#[derive(Default)]
pub(crate) struct LazyCellPort(OnceCell<RefCell<CellPort>>);

impl LazyCellPort {
    /// The last call over cells that this rank took part in.
    pub(crate) fn last(&self) -> Option<Stamp> {
        self.0.get()?.borrow().last()
    }

    #[inline]
    fn get(&self, shared: &CommShared, me: Rank) -> &RefCell<CellPort> {
        match self.0.get() {
            Some(port) => port,
            None => self.0.get_or_init(|| RefCell::new(shared.cell_port(me))),
        }
    }
}

/// The cells of the ranks in one call, as seen by this rank.
pub(crate) struct AtCellPort<'a> {
    call: &'a InCall<'a>,
    cell_port: RefMut<'a, CellPort>,
    /// The turn of the gate at which all ranks wait for this one.
    holds: Option<u32>,
}

impl<'a> AtCellPort<'a> {
    #[inline]
    pub(crate) fn new(call: &'a InCall<'a>) -> Self {
        let comm = call.comm;
        let cell_port = comm.cell_port.get(&comm.shared, comm.me).borrow_mut();
        AtCellPort {
            call,
            cell_port,
            holds: None,
        }
    }
}

/// Which messages' cache lines are requested before it is known that they are written. Those of the others are when it
/// is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Early {
    /// Only those of messages that are not long.
    Most,
    /// Only those of short messages. Of two ranks that write at the same time, each would take the last lines of a
    /// longer message away while the other still writes them.
    Short,
}

/// The ranks that read a cell, besides its writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    One(Rank),
    /// All ranks above a rank, the writer.
    Above(Rank),
    All,
}

impl Readers {
    /// Whether a rank, not the writer, is a reader.
    pub(crate) fn include(self, rank: Rank) -> bool {
        match self {
            Readers::One(one) => rank == one,
            Readers::Above(writer) => rank > writer,
            Readers::All => true,
        }
    }
}

impl AtCellPort<'_> {
    #[inline]
    pub(crate) fn rank(&self) -> Rank {
        self.call.rank()
    }

    /// Writes this rank's cell, by `post`, for `readers`; each reader reads its number of `bytes`. A function for each
    /// kind of share: a choice at run time costs a short call 4 %.
    #[inline]
    pub(crate) fn write(
        &mut self,
        readers: Readers,
        bytes: impl Fn(Rank) -> usize,
        post: impl FnOnce(&mut CellPort, Stamp),
    ) -> Result<()> {
        let call = self.call;
        call.comm.core.tick()?;
        if self.cell_port.lagging().is_some() {
            self.wait_for_room()?;
        }
        if call.comm.core.port.recorder.traces() {
            call.each(readers, |reader| call.note_sending(reader, bytes(reader)));
        }
        // Checked before the post: after it a reader may read and return.
        let gone = call.first_gone(readers);
        post(&mut self.cell_port, call.stamp());
        call.rouse_readers(readers);
        call.count_sent(readers, bytes);
        self.call.settle();
        match gone {
            None => Ok(()),
            Some(gone) => Err(call.gone(gone)),
        }
    }

    /// Waits until all other ranks have written their cells, which are expected to have `bytes` bytes.
    #[inline]
    pub(crate) fn wait_for_all(&mut self, bytes: usize) -> Result<()> {
        self.call.settle();
        let ahead = if bytes < MEDIUM { bytes } else { 0 };
        match self.cell_port.missing(ahead) {
            None => Ok(()),
            Some(_) => {
                self.cell_port.has_waited();
                self.wait_for_missing(ahead)
            }
        }
    }

    /// Counts that this rank reads the cells of all others, if that can be counted at once: no message is traced, and no
    /// injected fault strikes among the reads.
    #[inline]
    pub(crate) fn count_reads_of_all(&self) -> bool {
        let (core, others) = (&self.call.comm.core, self.call.size() - 1);
        let at_once =
            self.holds.is_none() && !core.port.recorder.traces() && core.tick_all(others as u64);
        if at_once && others > 0 {
            let last = others - usize::from(self.call.rank() == others);
            let last = self.call.comm.to_world(last);
            core.port.recorder.has_received_all(others as u64, last);
        }
        at_once
    }

    /// Prefetches the long message of a rank, if there is such a rank: all are there, and this one is read soon.
    #[inline]
    pub(crate) fn fetch_of_all(&self, from: Rank, bytes: usize) {
        if bytes >= MEDIUM && from < self.call.size() {
            self.cell_port.fetch(from, bytes);
        }
    }

    /// Takes note of a cell that was opened after all were seen and its read was counted, or could not be opened.
    #[inline(always)]
    pub(crate) fn opened_of_all(&self, from: Rank, opened: Result<Floor, Label>) -> Result<()> {
        match opened {
            Ok(_) => Ok(()),
            Err(label) => Err(self.call.strange_cell(from, label)),
        }
    }

    /// Whether ranks take turns on the CPUs. Waiting for one particular rank is then expensive, and which rank folds
    /// may be left open.
    /// Not where messages are traced, nor where a scheduler chooses which message arrives first.
    #[inline]
    pub(crate) fn takes_turns(&self) -> bool {
        let fabric = self.call.comm.fabric();
        let core = &self.call.comm.core;
        fabric.is_crowded() && !fabric.settings.trace && !core.port.is_controlled()
    }

    /// Writes this rank's cell, with a message of `bytes` bytes, for the last rank to arrive.
    pub(crate) fn bring(
        &mut self,
        bytes: usize,
        post: impl FnOnce(&mut CellPort, Stamp),
    ) -> Result<()> {
        self.put(post)?;
        // Which rank folds is a matter of timing: messages are counted as if rank 0 did.
        let call = self.call;
        let messages = if call.rank() == 0 { call.size() - 1 } else { 1 };
        (0..messages).for_each(|_| call.comm.core.port.count(bytes));
        Ok(())
    }

    /// Writes this rank's cell for all others, as the last rank to arrive, before it releases them.
    pub(crate) fn tell_all(&mut self, post: impl FnOnce(&mut CellPort, Stamp)) -> Result<()> {
        let gone = self.call.first_gone(Readers::All);
        self.put(post)?;
        gone.map_or(Ok(()), |gone| Err(self.call.gone(gone)))
    }

    /// Waits until all ranks have arrived and the last of them has released the others; returns that rank. `None` if it
    /// is this rank, and all wait for it.
    pub(crate) fn come(&mut self) -> Result<Option<Rank>> {
        Ok(match self.call.come()? {
            Come::Last(turn) => {
                self.holds = Some(turn);
                None
            }
            Come::LetGoBy(last) => Some(last),
        })
    }

    /// Releases all ranks, as the last rank to arrive.
    pub(crate) fn let_go(&mut self) {
        if let Some(turn) = self.holds.take() {
            self.call.let_go(turn);
        }
    }

    /// Prefetches a cell of `count` elements that will be read soon.
    #[inline]
    pub(crate) fn ask_for<T: Element>(&self, from: Rank, count: usize) {
        self.cell_port.find(from, count * size_of::<T>());
    }

    /// Waits until a rank has written its cell, which is expected to have `bytes` bytes.
    #[inline(always)] // the short way, here and below
    pub(crate) fn wait_until_written(
        &mut self,
        from: Rank,
        bytes: usize,
        early: Early,
    ) -> Result<()> {
        self.call.settle();
        let (ahead, late) = match (early, bytes) {
            (Early::Short, LONG..) => (0, 0),
            (Early::Short, SHORT..) | (Early::Most, MEDIUM..) => (0, bytes),
            _ => (bytes, 0),
        };
        if self.cell_port.find(from, ahead).is_some() {
            self.cell_port.fetch_next(from, bytes);
        } else {
            self.wait_for_cell(from, ahead, bytes)?;
            self.cell_port.has_waited();
        }
        self.cell_port.fetch(from, late);
        Ok(())
    }

    /// A cell that is written, and the stamp that it must have.
    #[inline(always)]
    pub(crate) fn found(&self, from: Rank) -> (Found<'_>, Stamp) {
        let found = self.cell_port.find(from, 0).expect("it is there");
        (found, self.call.stamp())
    }

    /// Takes note of a cell that was opened, or could not be.
    #[inline(always)]
    pub(crate) fn opened(&mut self, from: Rank, opened: Result<Floor, Label>) -> Result<()> {
        match opened {
            Ok(floor) => self.cell_port.learn(floor),
            Err(label) => return Err(self.call.strange_cell(from, label)),
        }
        if from != self.call.rank() {
            // Which rank arrives last is a matter of timing: it counts no more operations than the others.
            if self.holds.is_none() {
                self.call.comm.core.tick()?;
            }
            self.call.note_received(from);
        }
        Ok(())
    }

    /// Declares that this rank reads nothing of this call any more. Without buffering, waits until its own cell, if it
    /// was written, has been read.
    #[inline(always)]
    pub(crate) fn leave(&mut self, written_for: Option<Readers>) -> Result<()> {
        self.cell_port.leave(self.call.stamp());
        let comm = self.call.comm;
        comm.shared.after_leaving(&self.cell_port);
        match written_for {
            Some(readers) if comm.core.synchronous => self.wait_until_read(readers),
            _ => Ok(()),
        }
    }
}

impl AtCellPort<'_> {
    /// Writes this rank's cell, for any rank that reads it.
    fn put(&mut self, post: impl FnOnce(&mut CellPort, Stamp)) -> Result<()> {
        self.call.comm.core.tick()?;
        if self.cell_port.lagging().is_some() {
            self.wait_for_room()?;
        }
        post(&mut self.cell_port, self.call.stamp());
        Ok(())
    }

    #[inline(never)]
    fn wait_for_missing(&mut self, ahead: usize) -> Result<()> {
        let (call, cell_port) = (self.call, RefCell::new(&mut *self.cell_port));
        let needs = || {
            let cell_port = cell_port.borrow();
            call.all_of(|rank| !cell_port.is_here(rank))
        };
        let look = || {
            cell_port
                .borrow_mut()
                .missing(ahead)
                .is_none()
                .then_some(())
        };
        call.wait(&needs, None, look)
    }

    // The caller looks up the result again: this function would return it through memory, while the look-up leaves it
    // in registers.
    #[inline(never)]
    fn wait_for_cell(&self, from: Rank, ahead: usize, bytes: usize) -> Result<()> {
        let needs = || self.call.needs(&From::Rank(from));
        let mut looks = 0;
        let look = || {
            let ahead = if looks < LOOKS { ahead } else { bytes };
            looks = looks.saturating_add(1);
            self.cell_port.find(from, ahead).map(|_| ())
        };
        self.call.wait(&needs, None, look)
    }

    /// Waits until the readers of this rank's cell have left the call that this rank has just left.
    #[cold]
    fn wait_until_read(&mut self, readers: Readers) -> Result<()> {
        let (call, cell_port) = (self.call, &self.cell_port);
        let cells = cell_port.cells();
        let _waiting = cells.wait_for_room();
        let reads = |rank: Rank| readers.include(rank) && !cell_port.has_left(rank);
        let reading = || call.others().any(reads);
        let needs = || call.all_of(reads);
        call.wait(&needs, None, || (!reading()).then_some(()))
    }

    /// Waits until all ranks have left the call whose message occupies the place of the next one.
    #[cold]
    fn wait_for_room(&mut self) -> Result<()> {
        let (call, cells) = (self.call, self.cell_port.cells());
        let _waiting = cells.wait_for_room();
        let cell_port = RefCell::new(&mut *self.cell_port);
        let needs = || {
            let lagging = cell_port.borrow_mut().lagging();
            call.all_of(|rank| lagging == Some(rank))
        };
        let look = || cell_port.borrow_mut().lagging().is_none().then_some(());
        call.wait(&needs, None, look)
    }
}

impl InCall<'_> {
    /// All ranks except this one.
    #[inline]
    fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        let me = self.rank();
        (0..self.size()).filter(move |rank| *rank != me)
    }

    /// The needs of a wait for all other ranks that satisfy `which`.
    fn all_of(&self, which: impl Fn(Rank) -> bool) -> Needs {
        let others = self.others().filter(|rank| which(*rank));
        Needs::All(others.map(|rank| self.comm.to_world(rank)).collect())
    }

    /// Calls `f` for each reader of this rank's cell except itself.
    #[inline]
    fn each(&self, readers: Readers, mut f: impl FnMut(Rank)) {
        match readers {
            Readers::One(one) if one == self.rank() => (),
            Readers::One(one) => f(one),
            Readers::Above(writer) => (writer + 1..self.size()).for_each(f),
            Readers::All => self.others().for_each(f),
        }
    }

    /// Counts a message to each reader of this rank's cell.
    #[inline]
    fn count_sent(&self, readers: Readers, bytes: impl Fn(Rank) -> usize) {
        let (mut messages, mut total, mut last) = (0, 0, None);
        self.each(readers, |reader| {
            messages += 1;
            total += bytes(reader);
            last = Some(reader);
        });
        if let Some(last) = last {
            let port = &self.comm.core.port;
            port.count_all(messages, total);
            port.recorder
                .has_sent_all(messages, self.comm.to_world(last));
        }
    }

    /// The first reader of this rank's cell that has ended. Its own rank has not.
    #[inline]
    fn first_gone(&self, readers: Readers) -> Option<Rank> {
        let readers = match readers {
            Readers::One(one) => one..one + 1,
            Readers::Above(writer) => writer + 1..self.size(),
            Readers::All => 0..self.size(),
        };
        let run = self.comm.core.port.run();
        self.comm.shared.first_gone(readers, run)
    }

    #[inline]
    fn rouse_readers(&self, readers: Readers) {
        match readers {
            Readers::One(one) => self.comm.shared.rouse(one),
            Readers::Above(_) | Readers::All => self.comm.shared.rouse_others(self.rank()),
        }
    }
}
