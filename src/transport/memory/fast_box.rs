//! The fast box in a rank's endpoint: a short SPSC ring of cells through which one other rank, the most frequent
//! sender, hands it short messages past its mailbox.
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
//! # Synchronisation
//!
//! A cell is written by the rank that has taken the fast box, and handed over by the release of its turn. It is the
//! writer's again with the release of the read count. From one writer to the next everything is handed over by the
//! release and acquire of the owner's word, and from one reader to the next by that of the readers' word; the readers
//! are the rank itself, and after it the thread that counts what was left. Neither end can be copied, and both need
//! `&mut`.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use crate::Rank;
use crate::op::Element;
use crate::sync::{AtomicU32, AtomicU64, Ordering, Place};
use crate::transport::memory::bytes::{self, PIECE};
use crate::transport::memory::head::{Head, Info};
use crate::transport::memory::packet::{EAGER_BYTES, Packet};

/// Number of messages that a fast box holds.
const CELLS: u32 = if cfg!(all(test, loom)) { 2 } else { 8 };
/// The longest message in bytes.
const FITS: usize = 1024;
/// Number of consecutive messages to one receiver after which a sender takes its fast box.
const ROW: u32 = if cfg!(all(test, loom)) { 1 } else { 8 };
/// The value for no rank.
const NOBODY: u32 = u32::MAX;

/// The fast box in a rank's endpoint.
pub(in crate::transport) struct FastBox {
    ends: CachePadded<Ends>,
    /// Number of messages read. The writer looks at it now and then.
    read: CachePadded<AtomicU32>,
    /// Created when the fast box is first taken.
    ring: OnceLock<Box<Ring>>,
}

type Ring = [Cell; CELLS as usize];

/// The owners of both ends.
struct Ends {
    /// The rank that writes.
    owner: AtomicU32,
    /// Number of messages written when the last owner released it.
    written: AtomicU32,
    /// Number of readers: one or none.
    readers: AtomicU32,
}

#[repr(C, align(64))]
struct Cell {
    /// The number of the message, from 1 on, and its number of elements.
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
const _: () = assert!(
    EAGER_BYTES + std::mem::offset_of!(Cargo, bytes) + size_of::<AtomicU64>() <= 64,
    "an eager message lies in one line"
);

// SAFETY: a cell holds elements, which are `Send`; only its writer and its reader access it, and they hand it over by
// release and acquire, see the head.
unsafe impl Send for FastBox {}
// SAFETY: the same.
unsafe impl Sync for FastBox {}

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

/// Whether a turn is that of the message after the first `behind` messages.
#[inline]
fn is_next(turn: u64, behind: u32) -> bool {
    (turn >> 32) as u32 == behind.wrapping_add(1)
}

impl FastBox {
    pub(in crate::transport) fn new() -> Arc<FastBox> {
        FastBox::after(0)
    }

    /// A fast box through which `messages` messages have gone already.
    fn after(messages: u32) -> Arc<FastBox> {
        let ends = Ends {
            owner: AtomicU32::new(NOBODY),
            written: AtomicU32::new(messages),
            readers: AtomicU32::new(0),
        };
        Arc::new(FastBox {
            ends: CachePadded::new(ends),
            read: CachePadded::new(AtomicU32::new(messages)),
            ring: OnceLock::new(),
        })
    }

    /// The cell of the message after the first `behind` messages, if the ring exists.
    #[inline]
    fn cell(&self, behind: u32) -> Option<&Cell> {
        let ring = self.ring.get()?;
        Some(&ring[(behind % CELLS) as usize])
    }

    /// Whether there is nothing to read. Call it only while no thread writes or reads.
    pub(in crate::transport) fn is_empty(&self) -> bool {
        // Relaxed: the caller knows that both ends have left.
        let read = self.read.load(Ordering::Relaxed);
        let next = self.cell(read);
        next.is_none_or(|cell| !is_next(cell.turn.load(Ordering::Relaxed), read))
    }
}

/// The reading end.
pub(in crate::transport) struct In {
    fast_box: Arc<FastBox>,
    read: u32,
}

impl Drop for In {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `new`.
        self.fast_box.ends.readers.store(0, Ordering::Release);
    }
}

impl In {
    /// Takes the reading end. If it is already taken (by a rank whose port was leaked), returns that of a fast box to
    /// which nothing is sent.
    pub(in crate::transport) fn new(fast_box: Arc<FastBox>) -> In {
        // Acquire: pairs with the release in `drop`.
        let free = fast_box.ends.readers.swap(1, Ordering::Acquire) == 0;
        let fast_box = if free { fast_box } else { FastBox::new() };
        // Relaxed: only readers write it.
        let read = fast_box.read.load(Ordering::Relaxed);
        In { fast_box, read }
    }

    /// Moves the next message into `place`. Returns whether there was one.
    #[inline]
    pub(in crate::transport) fn take(&mut self, place: &mut Packet) -> bool {
        let Some(cell) = self.fast_box.cell(self.read) else {
            return false;
        };
        // Acquire: pairs with the release in `post`.
        let turn = cell.turn.load(Ordering::Acquire);
        if !is_next(turn, self.read) {
            return false;
        }
        cell.cargo.with(|cargo| {
            let cargo = cargo.cast::<Cargo>();
            // SAFETY: its turn says that the cell was written, with that many elements of the type that it names,
            // before the release that was acquired. It is not overwritten before the count below is seen.
            unsafe {
                let bytes = (&raw const (*cargo).bytes).cast();
                place.load_short((*cargo).head, (*cargo).info, turn as u32, bytes);
            }
        });
        self.read = self.read.wrapping_add(1);
        // Release: pairs with the acquire in `look_again`.
        self.fast_box.read.store(self.read, Ordering::Release);
        true
    }
}

/// The writing end of a rank, for the fast box that it has taken, if any.
pub(in crate::transport) struct Out {
    me: Rank,
    /// The receiver, and its fast box.
    taken: Option<(Rank, Arc<FastBox>)>,
    /// The number of messages written there, and the number read when this end last looked.
    written: u32,
    read: u32,
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
            me,
            taken: None,
            written: 0,
            read: 0,
            lately: (me, 0),
        }
    }

    /// Whether a message is short enough.
    #[inline]
    fn fits<T: Element>(data: &[T]) -> bool {
        let eager = size_of_val(data) <= EAGER_BYTES;
        let short = size_of_val(data) <= FITS && align_of::<T>() <= PIECE;
        (eager || short) && u32::try_from(data.len()).is_ok()
    }

    /// Whether there is space for a message, as far as this end knows.
    #[inline]
    pub(in crate::transport) fn has_room<T: Element>(&self, to: Rank, data: &[T]) -> bool {
        self.room(to, data).is_some()
    }

    /// The next cell, if this rank has taken the fast box of `to` and the message fits there.
    #[inline]
    fn room<T: Element>(&self, to: Rank, data: &[T]) -> Option<&Cell> {
        let (_, fast_box) = self.taken.as_ref().filter(|(whose, _)| *whose == to)?;
        let free = self.written.wrapping_sub(self.read) < CELLS;
        let cell = fast_box.cell(self.written)?;
        (free && Self::fits(data)).then_some(cell)
    }

    /// Writes a message, if there is space and the mailbox of `to` is empty, which is checked last. Returns whether it
    /// did.
    #[inline]
    pub(in crate::transport) fn post<T: Element>(
        &mut self,
        to: Rank,
        head: Head,
        data: &[T],
        is_empty: impl FnOnce() -> bool,
    ) -> bool {
        let Some(cell) = self.room(to, data).filter(|_| is_empty()) else {
            return false;
        };
        let number = self.written.wrapping_add(1);
        cell.cargo.with_mut(|cargo| {
            let cargo = cargo.cast::<Cargo>();
            // SAFETY: this is the only writer. The reader has read what was here, as its count says that `look_again`
            // has acquired, and looks at the cell again only after the release below. Every message that fits has space
            // there.
            unsafe {
                (&raw mut (*cargo).info).write(Info::of::<T>());
                (&raw mut (*cargo).head).write(head);
                bytes::copy_out(data, (&raw mut (*cargo).bytes).cast());
            }
        });
        // Release: pairs with the acquire in `take`.
        cell.turn
            .store(turn(number, data.len() as u32), Ordering::Release);
        self.written = number;
        true
    }

    /// Looks how much was read, if it is time for that. Called after a post, when no rank waits for this one.
    #[inline]
    pub(in crate::transport) fn look(&mut self) {
        if self.written.wrapping_sub(self.read) > CELLS / 2 {
            self.look_again();
        }
    }

    #[inline(never)]
    fn look_again(&mut self) {
        if let Some((_, fast_box)) = &self.taken {
            // Acquire: pairs with the release in `In::take`; the cells up to there are this end's again.
            self.read = fast_box.read.load(Ordering::Acquire);
        }
    }

    /// Counts a message that goes to `to` through the mailbox. If it would fit and is the last of several in a row, the
    /// next one may go through the receiver's fast box.
    #[cold]
    pub(in crate::transport) fn goes_by_mailbox<T: Element>(
        &mut self,
        to: Rank,
        data: &[T],
        fast_box: &Arc<FastBox>,
    ) {
        if Self::fits(data) {
            self.count(to, fast_box);
        }
    }

    fn count(&mut self, to: Rank, fast_box: &Arc<FastBox>) {
        let (last, row) = self.lately;
        let row = if last == to { row + 1 } else { 1 };
        self.lately = (to, row % ROW);
        if row == ROW {
            self.look_again();
            self.turn_to(to, fast_box);
        }
    }

    /// Takes the fast box of `to`, unless another rank has it, or messages that this rank has put into another fast box
    /// are still unread.
    fn turn_to(&mut self, to: Rank, fast_box: &Arc<FastBox>) {
        let has = self.taken.as_ref().is_some_and(|(whose, _)| *whose == to);
        if !has && self.written == self.read {
            self.let_go();
            self.take(to, fast_box);
        }
    }

    fn take(&mut self, to: Rank, fast_box: &Arc<FastBox>) {
        let Ends { owner, written, .. } = &*fast_box.ends;
        let me = self.me as u32;
        // Relaxed: a look that does not move the cache line. Acquire: pairs with the release in `let_go`.
        let free = owner.load(Ordering::Relaxed) == NOBODY
            && owner
                .compare_exchange(NOBODY, me, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if !free {
            return;
        }
        let new = || Box::new(std::array::from_fn(|_| Cell::new()));
        fast_box.ring.get_or_init(new);
        // Relaxed: the owner's word hands it over.
        self.written = written.load(Ordering::Relaxed);
        self.taken = Some((to, fast_box.clone()));
        self.look_again();
    }

    fn let_go(&mut self) {
        if let Some((_, fast_box)) = self.taken.take() {
            let Ends { owner, written, .. } = &*fast_box.ends;
            // Relaxed: the owner's word hands it over.
            written.store(self.written, Ordering::Relaxed);
            // Release: pairs with the acquire in `take`.
            owner.store(NOBODY, Ordering::Release);
            (self.written, self.read) = (0, 0);
        }
    }
}
