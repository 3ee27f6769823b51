//! The fast box in a rank's endpoint: a [`ring`](crate::transport::memory::ring) through which one other rank, the most
//! frequent sender, hands it messages past its mailbox: copies of short ones, and the packets of others.
//!
//! A message through the channel of a mailbox moves more than three cache lines between the two ranks, one after the
//! other, since any number of ranks may post there. A cell has one writer and one reader: only the lines that the
//! message fills move.
//!
//! # One order for both paths
//!
//! A message goes through the fast box only if its sender finds the mailbox empty at that moment, and a receiver takes
//! from its mailbox only what was there before it found the fast box empty
//! ([`incoming`](crate::transport::matching::incoming)). So if one message was sent before another, by the same rank or
//! as a consequence of the other, the first is taken first:
//!
//! - *mailbox, then fast box*: the sender of the second has found the first taken, otherwise it would not have used the
//!   fast box;
//! - *fast box, then mailbox*: a receiver that sees the second in the mailbox sees the first in the fast box when it
//!   looks there after that.
//!
//! # Ownership
//!
//! A fast box has one writer at a time. A rank that has sent several messages in a row to one receiver takes that
//! receiver's fast box, if it is free, and releases the one that it had. A rank that owns none sends through the
//! mailbox, as does a rank that finds the ring full. So each rank reads one fast box and writes at most one, however
//! many ranks there are.
//!
//! The ends of the ring are values: the writing end is held by the rank that has taken the fast box, the reading end by
//! the rank whose fast box it is, and an end that no rank holds lies in the fast box.

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::op::elements::{Elements, ElementsMut};
use crate::sync::{AtomicU32, Mutex, Ordering};
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::ring::{self, ring};

/// The longest message in bytes that lies in a cell, so that a cell is five lines, and all cells fit into a cache.
const FITS: usize = 288;
/// The longest message that is copied in any case. A longer one is lent, and read once where it lies; copied to an annex
/// if its sender may not wait, or is to run ahead.
const SHORT: usize = 1024;
/// Number of messages that are on their way at most: a window of started ones fits.
const CELLS: usize = if cfg!(all(test, loom)) { 2 } else { 64 };
/// A writer whose messages are not read looks for space again after this many: each look moves a line.
const LOOKS: u32 = if CELLS < 64 { 1 } else { 8 };
/// Number of consecutive messages to one receiver after which a sender takes its fast box.
const ROW: u32 = if cfg!(all(test, loom)) { 1 } else { 8 };

type Ring = ring::Ring<FITS, CELLS>;
type Writer = ring::Writer<FITS, CELLS>;
type Reader = ring::Reader<FITS, CELLS>;

/// The fast box in a rank's endpoint.
pub(in crate::transport) struct FastBox {
    /// 1 while a rank has the writing end, written under the mutex: others ask without moving a line.
    taken: CachePadded<AtomicU32>,
    /// The ends that no rank holds.
    writer: Mutex<Option<Writer>>,
    reader: Mutex<Option<Reader>>,
    /// Created when the fast box is first taken.
    ring: OnceLock<Arc<Ring>>,
}

impl FastBox {
    pub(in crate::transport) fn new() -> Arc<FastBox> {
        Arc::new(FastBox {
            taken: CachePadded::new(AtomicU32::new(0)),
            writer: Mutex::new(None),
            reader: Mutex::new(None),
            ring: OnceLock::new(),
        })
    }

    /// Whether a rank has ever taken it.
    pub(in crate::transport) fn was_taken(&self) -> bool {
        self.ring.get().is_some()
    }

    /// Whether there is nothing to read. Call it only while no thread writes or reads.
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.ring.get().is_none_or(|ring| ring.is_empty())
    }

    /// The writing end, if no rank has it.
    fn take_writer(&self) -> Option<Writer> {
        // Relaxed: a hint; the mutex decides.
        if self.taken.load(Ordering::Relaxed) == 1 {
            return None;
        }
        let mut free = self.writer.lock();
        if self.ring.get().is_none() {
            let (writer, reader) = ring(0);
            *self.reader.lock() = Some(reader);
            // The reader looks for its end from here on.
            self.ring.get_or_init(|| writer.ring().clone());
            *free = Some(writer);
        }
        let writer = free.take();
        // Relaxed: as above.
        self.taken.store(1, Ordering::Relaxed);
        writer
    }

    fn give_back(&self, writer: Writer) {
        let mut free = self.writer.lock();
        *free = Some(writer);
        // Relaxed: as above.
        self.taken.store(0, Ordering::Relaxed);
    }
}

/// The reading end.
pub(in crate::transport) struct In {
    fast_box: Arc<FastBox>,
    /// `None` until a sender takes the fast box. (Also if a rank whose port was leaked has it: nothing is read
    /// then.)
    reader: Option<Reader>,
}

impl Drop for In {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            *self.fast_box.reader.lock() = Some(reader);
        }
    }
}

impl In {
    pub(in crate::transport) fn new(fast_box: Arc<FastBox>) -> In {
        let reader = fast_box.reader.lock().take();
        In { fast_box, reader }
    }

    /// Moves the next message into `place`. Returns whether there was one.
    #[inline]
    pub(in crate::transport) fn take(&mut self, place: &mut Packet) -> bool {
        match &mut self.reader {
            Some(reader) => reader.take(place),
            None => self.fast_box.ring.get().is_some() && self.find_reader() && self.take(place),
        }
    }

    /// Copies the next message into a buffer, as [`Reader::take_into`] does.
    #[inline]
    pub(in crate::transport) fn take_into(
        &mut self,
        into: &mut ElementsMut<'_>,
        accepts: impl FnOnce(Head) -> bool,
    ) -> Option<(Head, usize)> {
        self.reader.as_mut()?.take_into(into, accepts)
    }

    /// Whether there is nothing to take.
    #[inline]
    pub(in crate::transport) fn is_empty(&self) -> bool {
        match &self.reader {
            Some(reader) => reader.is_empty(),
            None => self.fast_box.ring.get().is_none(),
        }
    }

    /// Takes the reading end, which lies there since the fast box was first taken.
    #[cold]
    fn find_reader(&mut self) -> bool {
        self.reader = self.fast_box.reader.lock().take();
        self.reader.is_some()
    }
}

/// The writing end of a rank, for the fast box that it has taken, if any.
pub(in crate::transport) struct Out {
    /// The receiver, its fast box, and the writing end.
    taken: Option<(Rank, Arc<FastBox>, Writer)>,
    /// The receiver of the last messages that went through the mailbox, and how many there were in a row.
    lately: (Rank, u32),
}

impl Drop for Out {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Out {
    pub(in crate::transport) fn new(me: Rank) -> Out {
        Out {
            taken: None,
            lately: (me, 0),
        }
    }

    /// Whether there is space for a message, as far as this end knows.
    #[inline]
    pub(in crate::transport) fn has_room(&self, to: Rank, data: Elements<'_>, row: bool) -> bool {
        let writer = self.taken.as_ref().filter(|(whose, ..)| *whose == to);
        writer.is_some_and(|(.., writer)| writer.has_room() && Self::copies(data, row))
    }

    /// Whether a message is copied: any that is short, and in a `row` of messages without a receive between them any that
    /// has a place. A copy lets its sender run ahead, which between two ranks that answer each other only takes time.
    #[inline]
    pub(in crate::transport) fn copies(data: Elements<'_>, row: bool) -> bool {
        Writer::fits(data) || (row || data.size() <= SHORT) && Writer::fits_annex(data)
    }

    /// The writing end for a message to `to` that is copied, in a `row` or not, if a cell is free.
    #[inline]
    pub(in crate::transport) fn free_for(
        &mut self,
        to: Rank,
        data: Elements<'_>,
        row: bool,
    ) -> Option<&mut Writer> {
        match Self::copies(data, row) {
            true => self.free(to),
            false => None,
        }
    }

    /// The writing end for messages to `to`, if a cell is free.
    #[inline]
    fn free(&mut self, to: Rank) -> Option<&mut Writer> {
        let (whose, _, writer) = self.taken.as_mut()?;
        let space = |writer: &mut Writer| writer.has_room() || writer.look() < CELLS as u32;
        (*whose == to && space(writer)).then_some(writer)
    }

    /// Writes a copy of a message, if there is space and the mailbox of `to` is empty, which is checked last; of one that
    /// is not short only in a `row`. Returns whether it did.
    #[inline]
    pub(in crate::transport) fn post(
        &mut self,
        to: Rank,
        head: Head,
        data: Elements<'_>,
        row: bool,
        is_empty: impl FnOnce() -> bool,
    ) -> bool {
        if !Self::copies(data, row) {
            return false;
        }
        let Some(writer) = self.free(to).filter(|_| is_empty()) else {
            return false;
        };
        writer.post_copy(head, data);
        true
    }

    /// Writes a packet that was made elsewhere, on the same conditions; otherwise returns it.
    pub(in crate::transport) fn post_packet(
        &mut self,
        to: Rank,
        packet: Packet,
        is_empty: impl FnOnce() -> bool,
    ) -> Result<(), Packet> {
        let Some(writer) = self.free(to).filter(|_| is_empty()) else {
            return Err(packet);
        };
        writer.post_packet(packet);
        Ok(())
    }

    /// Prepares the next posts after one of `bytes` bytes, when no rank waits for this one: looks how much was read, if
    /// it is time for that. In a `row` of messages without a receive between them it also prefetches the lines of a later
    /// one: between two ranks that answer each other that only takes time.
    #[inline]
    pub(in crate::transport) fn prepare(&mut self, bytes: usize, row: bool) {
        const HALF: u32 = CELLS as u32 / 2;
        let Some((.., writer)) = &mut self.taken else {
            return;
        };
        if row {
            writer.prefetch(bytes);
        }
        if writer.unread() > HALF && writer.unread().is_multiple_of(LOOKS) {
            writer.look();
        }
    }

    /// Counts a message that goes to `to` through the mailbox. If it is the last of several in a row, the next one may go
    /// through the receiver's fast box.
    #[cold]
    pub(in crate::transport) fn goes_by_mailbox(&mut self, to: Rank, fast_box: &Arc<FastBox>) {
        let (last, row) = self.lately;
        let row = if last == to { row + 1 } else { 1 };
        self.lately = (to, row % ROW);
        if row == ROW {
            self.turn_to(to, fast_box);
        }
    }

    /// Takes the fast box of `to`, unless another rank has it, or messages that this rank has put into another fast box
    /// are still unread.
    fn turn_to(&mut self, to: Rank, fast_box: &Arc<FastBox>) {
        let can_go =
            |(whose, _, writer): &mut (Rank, _, Writer)| writer.look() == 0 && *whose != to;
        if self.taken.as_mut().is_none_or(can_go) {
            self.let_go();
            let writer = fast_box.take_writer();
            self.taken = writer.map(|writer| (to, fast_box.clone(), writer));
        }
    }

    fn let_go(&mut self) {
        if let Some((_, fast_box, writer)) = self.taken.take() {
            fast_box.give_back(writer);
        }
    }
}
