//! The hatch in a rank's door: a short ring of cells through which one other rank, the one that talks to it most,
//! hands it short messages past its mailbox.
//!
//! A message through the channel of a mailbox moves more than three cache lines between the two ranks, one after the
//! other, since any number of ranks may post there. A cell has one writer and one reader: the line with the message
//! moves, and nothing else does. What does not fit into one line lies in those behind it, up to [`FITS`] bytes.
//!
//! # One order for two ways
//!
//! A message goes by the hatch only if its sender finds the mailbox empty at that moment, and a receiver takes from its
//! mailbox only what was there before it found the hatch empty ([`incoming`](super::incoming)). So of two messages
//! of which one was sent before the other, by the same rank or because of the other, the first is taken first:
//!
//! - *mailbox, then hatch*: the sender of the second has found the first taken, or it would not have used the hatch;
//! - *hatch, then mailbox*: who sees the second in the mailbox sees the first in the hatch when it looks there after
//!   that.
//!
//! # Whose it is
//!
//! A hatch has one writer at a time. Who has sent several messages in a row to one rank [takes](Out) its hatch, if it is
//! free, and lets go of another's that it had. A rank that has none sends by the mailbox, as does whoever finds the
//! ring full. So each rank reads one hatch and writes one at most, however many ranks there are.
//!
//! # Who may touch what
//!
//! A cell is written by the rank that has taken the hatch, and handed over by the release of its turn; it is the
//! writer's again with the release of the count of what was read. From one writer to the next all goes over by the
//! release and acquire of the owner's word. There is one [`In`] at a time: its rank's, and after that whoever counts what was left.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use super::head::{Head, Info};
use super::packet::{self, EAGER_BYTES, PIECE, Packet};
use crate::Rank;
use crate::op::Element;
use crate::sync::{AtomicU32, AtomicU64, Ordering, Place};

/// Messages that a hatch holds.
const CELLS: u32 = if cfg!(all(test, loom)) { 2 } else { 8 };
/// The longest message in bytes: with what is said of it four cache lines.
const FITS: usize = 1024;
/// How many messages in a row make a rank the favourite of their sender.
const ROW: u32 = if cfg!(all(test, loom)) { 1 } else { 8 };
/// Nobody's number.
const NOBODY: u32 = u32::MAX;

/// What the door of a rank has.
pub(super) struct Hatch {
    side: CachePadded<Side>,
    /// How many messages were read.
    read: CachePadded<AtomicU32>,
    /// Made when somebody first takes the hatch.
    ring: OnceLock<Box<Ring>>,
}

type Ring = [Cell; CELLS as usize];

/// What concerns writers only.
struct Side {
    owner: AtomicU32,
    /// How many messages were written when the last owner let go.
    written: AtomicU32,
}

#[repr(C, align(64))]
struct Cell {
    /// The number of the message, from 1 on, and how many elements it has.
    turn: AtomicU64,
    cargo: Place<MaybeUninit<Cargo>>,
}

#[repr(C)]
struct Cargo {
    info: &'static Info,
    head: Head,
    bytes: [MaybeUninit<u8>; FITS],
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Cell>() == 1088 && std::mem::offset_of!(Cargo, bytes) == 24);

// SAFETY: what a cell holds is made of elements, which are `Send`; it is touched by its writer or its reader, who hand
// it over by release and acquire, see the head.
unsafe impl Send for Hatch {}
// SAFETY: the same.
unsafe impl Sync for Hatch {}

impl Cell {
    fn new() -> Cell {
        Cell {
            turn: AtomicU64::new(0),
            cargo: Place::new(MaybeUninit::uninit()),
        }
    }
}

#[inline]
fn turn(number: u32, count: u32) -> u64 {
    u64::from(number) << 32 | u64::from(count)
}

impl Hatch {
    pub(super) fn new() -> Arc<Hatch> {
        let side = Side {
            owner: AtomicU32::new(NOBODY),
            written: AtomicU32::new(0),
        };
        Arc::new(Hatch {
            side: CachePadded::new(side),
            read: CachePadded::new(AtomicU32::new(0)),
            ring: OnceLock::new(),
        })
    }

    /// The cell behind so many messages, if anybody ever wrote one.
    #[inline]
    fn cell(&self, behind: u32) -> Option<&Cell> {
        let ring = self.ring.get()?;
        Some(&ring[(behind % CELLS) as usize])
    }

    /// Whether there is nothing to read. For when nobody reads.
    pub(super) fn is_empty(&self) -> bool {
        let read = self.read.load(Ordering::Acquire);
        !self.cell(read).is_some_and(|cell| cell.has(read))
    }
}

impl Cell {
    /// Whether the message behind so many is there.
    #[inline]
    fn has(&self, behind: u32) -> bool {
        // Acquire: pairs with the release in `write`.
        (self.turn.load(Ordering::Acquire) >> 32) as u32 == behind.wrapping_add(1)
    }
}

/// The reading end.
pub(super) struct In {
    hatch: Arc<Hatch>,
    read: u32,
}

impl In {
    /// There may be one of a hatch at a time.
    pub(super) fn new(hatch: Arc<Hatch>) -> In {
        // Acquire: pairs with the release in `take`, of whoever read before.
        let read = hatch.read.load(Ordering::Acquire);
        In { hatch, read }
    }

    /// Moves the next message into `place`; whether there was one.
    #[inline]
    pub(super) fn take(&mut self, place: &mut Packet) -> bool {
        let Some(cell) = self.hatch.cell(self.read) else {
            return false;
        };
        // Acquire: pairs with the release in `write`.
        let turn = cell.turn.load(Ordering::Acquire);
        if (turn >> 32) as u32 != self.read.wrapping_add(1) {
            return false;
        }
        cell.cargo.with(|cargo| {
            let cargo = cargo.cast::<Cargo>();
            // SAFETY: its turn says that the cell was written, with so many elements of the type that it names, before
            // the release that was acquired. It is not overwritten before the count below is seen.
            unsafe {
                let bytes = (&raw const (*cargo).bytes).cast();
                place.load_short((*cargo).head, (*cargo).info, turn as u32, bytes);
            }
        });
        self.read = self.read.wrapping_add(1);
        // Release: pairs with the acquire in `Out::look`.
        self.hatch.read.store(self.read, Ordering::Release);
        true
    }
}

/// The writing end of a rank: of the hatch that it has taken, if it has.
pub(super) struct Out {
    me: Rank,
    /// Whose hatch it is, and how many messages were written there and, when this end looked last, read.
    taken: Option<(Rank, Arc<Hatch>)>,
    written: u32,
    read: u32,
    /// To whom the last messages went by the mailbox, and how many in a row.
    lately: (Rank, u32),
}

impl Drop for Out {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Out {
    pub(super) fn new(me: Rank) -> Out {
        Out {
            me,
            taken: None,
            written: 0,
            read: 0,
            lately: (me, 0),
        }
    }

    /// Whether a message is short enough.
    #[inline]
    pub(super) fn fits<T: Element>(data: &[T]) -> bool {
        let short = size_of_val(data) <= EAGER_BYTES;
        let long = size_of_val(data) <= FITS && align_of::<T>() <= PIECE;
        (short || long) && u32::try_from(data.len()).is_ok()
    }

    /// Writes a message that [fits](Self::fits), if this rank has taken the hatch of `to` and there is room; whether it
    /// did. Only if the mailbox was just found empty.
    #[inline]
    pub(super) fn post<T: Element>(&mut self, to: Rank, head: Head, data: &[T]) -> bool {
        let Some((whose, hatch)) = &self.taken else {
            return false;
        };
        if *whose != to || self.written.wrapping_sub(self.read) >= CELLS {
            return false;
        }
        let Some(cell) = hatch.cell(self.written) else {
            return false;
        };
        cell.cargo.with_mut(|cargo| {
            let cargo = cargo.cast::<Cargo>();
            // SAFETY: this is the only writer. The reader has read what was here, as its count says that `look` has
            // acquired, and looks at it again only after the release below. There is room for what fits.
            unsafe {
                (&raw mut (*cargo).info).write(Info::of::<T>());
                (&raw mut (*cargo).head).write(head);
                packet::copy_out(data, (&raw mut (*cargo).bytes).cast());
            }
        });
        self.written = self.written.wrapping_add(1);
        // Release: pairs with the acquire in `take`.
        cell.turn
            .store(turn(self.written, data.len() as u32), Ordering::Release);
        true
    }

    /// Whether this rank has taken the hatch of `to`, and there is room as far as it knows.
    #[inline]
    pub(super) fn has_room(&self, to: Rank) -> bool {
        let ours = self.taken.as_ref().is_some_and(|(whose, _)| *whose == to);
        ours && self.written.wrapping_sub(self.read) < CELLS
    }

    /// Sees what was read meanwhile, if it is time for that. Where nobody waits for this rank: right after a post.
    #[inline]
    pub(super) fn look(&mut self) {
        if self.written.wrapping_sub(self.read) > CELLS / 2 {
            self.look_again();
        }
    }

    #[inline(never)]
    fn look_again(&mut self) {
        if let Some((_, hatch)) = &self.taken {
            // Acquire: pairs with the release in `In::take`; the cells up to there are this end's again.
            self.read = hatch.read.load(Ordering::Acquire);
        }
    }

    /// A short message went to `to` by the mailbox, for want of anything better: takes the hatch there if it went there
    /// several times in a row.
    #[cold]
    pub(super) fn went_by_mailbox(&mut self, to: Rank, hatch: &Arc<Hatch>) {
        let (last, row) = self.lately;
        let row = if last == to { row + 1 } else { 1 };
        self.lately = (to, row % ROW);
        if row < ROW {
            return;
        }
        self.look_again();
        let ours = self.taken.as_ref().is_some_and(|(whose, _)| *whose == to);
        if !ours && self.written == self.read {
            self.let_go();
            self.take(to, hatch);
        }
    }

    fn take(&mut self, to: Rank, hatch: &Arc<Hatch>) {
        let Side { owner, written } = &*hatch.side;
        // Acquire: pairs with the release in `let_go`.
        let taken =
            owner.compare_exchange(NOBODY, self.me as u32, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_ok() {
            hatch
                .ring
                .get_or_init(|| Box::new(std::array::from_fn(|_| Cell::new())));
            // Relaxed: the owner's word hands it over.
            self.written = written.load(Ordering::Relaxed);
            self.taken = Some((to, hatch.clone()));
            self.look_again();
        }
    }

    fn let_go(&mut self) {
        if let Some((_, hatch)) = self.taken.take() {
            // Relaxed: the owner's word hands it over.
            hatch.side.written.store(self.written, Ordering::Relaxed);
            // Release: pairs with the acquire in `take`.
            hatch.side.owner.store(NOBODY, Ordering::Release);
        }
    }
}
