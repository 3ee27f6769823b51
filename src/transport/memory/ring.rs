//! The ring: memory through which one rank hands packets to one other, without locked instructions.
//!
//! ```text
//! cells    │turn│ info head elements … │ × 8…64  written by the writer, at least one cache line each
//! annexes  │elements …│ × 8, and 64               the same, for messages that do not fit into their cells
//! read     │number of packets read│             written by the reader
//! ```
//!
//! A lane of slots is a ring whose cells are cache lines; a fast box is one whose cells have space for longer messages,
//! and which has annexes once a message has needed one. While few packets are unread, the near annexes are used in turn,
//! which stay in the caches; otherwise each cell has a far annex.
//!
//! # Why this is sound
//!
//! - *One writer, one reader.* Only a [`Writer`] writes cells and only a [`Reader`] reads them. A ring is made with one
//!   of each, neither can be copied, and both need `&mut`. Whoever passes an end on to another thread moves it.
//! - *Handed over.* The content of a cell and its annex is the reader's from the release of its turn, which it acquires,
//!   to the release of the read count. The writer writes them again only when the count that it has acquired covers what
//!   was there: a near annex was last written for the packet as many packets ago as there are near annexes, or for one
//!   before that, and is used only if fewer packets are unread.
//! - *Whole.* A turn gives the number of its packet, modulo 2²⁴. A cell holds no packet but the sought one and the one a
//!   lap before, so a packet is read once, and none is taken for another.
//! - *As it was written.* The turn also carries the packet's [`Label`], and the type lies beside the elements:
//!   [`Packet::load`] gets exactly what the writer has described. What a packet owns moves with its bytes.
//! - A packet that is never read is leaked, at worst.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use crate::op::elements::{Elements, ElementsMut, Info, copy_bytes};
use crate::sync::{AtomicU32, AtomicU64, Ordering, Place};
use crate::transport::memory::blocks::{self, PIECE};
use crate::transport::memory::bytes::{CACHE_LINE, copy_lines, prefetch, prefetch_to_write};
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::{BODY_ALIGN, Body, EAGER_BYTES, Label, Packet};

/// The longest message in bytes that is copied to an annex.
pub(in crate::transport) const ANNEX: usize = blocks::LONGEST;
/// Number of near annexes.
const NEAR: usize = if cfg!(all(test, loom)) { 1 } else { 8 };
/// A writer takes the lines of the cell that is this much further from its reader beforehand: the reader has left them.
const SOON: u32 = 3;
/// A reader that has found `BEHIND` messages there, one after the other, is behind its writer: it requests the lines of
/// the cell that is `AHEAD` further.
const BEHIND: u32 = 4;
const AHEAD: u32 = 2;
/// The longest messages for which it does: those of longer ones follow each other, and come by themselves.
const REQUESTED: usize = 2 * CACHE_LINE + EAGER_BYTES;

/// The longest messages whose lines a writer requests before it writes them: the copy of a longer one takes twice as long
/// with such requests (measured; why is not known).
const REQUESTED_TO_WRITE: usize = 2048;

/// A ring of `CELLS` cells, a power of two, which have space for elements of `BYTES` bytes.
pub(in crate::transport) struct Ring<const BYTES: usize, const CELLS: usize> {
    cells: Box<[Cell<BYTES>; CELLS]>,
    /// Memory that no message has needed is not touched.
    near: OnceLock<Box<[Annex]>>,
    far: OnceLock<Box<[Annex]>>,
    /// Number of packets that the reader has read.
    read: CachePadded<AtomicU32>,
}

#[repr(C, align(64))]
struct Cell<const BYTES: usize> {
    /// The number of the packet, and its label.
    turn: AtomicU64,
    content: Place<MaybeUninit<Content<BYTES>>>,
}

/// A packet without its label. The body begins at a multiple of the alignment of a word, so of [`BODY_ALIGN`].
#[repr(C)]
struct Content<const BYTES: usize> {
    info: &'static Info,
    head: Head,
    body: [MaybeUninit<u8>; BYTES],
}

type Annex = Place<MaybeUninit<Elsewhere>>;

/// The elements of a message that does not fit into its cell. One line longer than two pages, so that the lines of
/// different ones are in different sets of a cache.
#[repr(C, align(64))]
struct Elsewhere([MaybeUninit<u8>; ANNEX + CACHE_LINE]);

/// The number of an annex, in the body of its cell: the near ones first.
type Number = u32;

const _: () = assert!(BODY_ALIGN <= align_of::<Head>());
// The smallest cells hold short messages of EAGER_BYTES, and any body.
const _: () = assert!(size_of::<Body>() <= EAGER_BYTES);
#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Cell<EAGER_BYTES>>() == 64, "a slot is one line");

// SAFETY: a cell holds a packet, which is `Send`; only the writer or the reader accesses it, and they hand it over by
// release and acquire, see the head.
unsafe impl<const BYTES: usize, const CELLS: usize> Send for Ring<BYTES, CELLS> {}
// SAFETY: the same.
unsafe impl<const BYTES: usize, const CELLS: usize> Sync for Ring<BYTES, CELLS> {}

/// The turn of the packet after the first `behind` packets, without its label.
#[inline]
fn turn(behind: u32) -> u64 {
    u64::from(behind.wrapping_add(1)) << Label::BITS
}

/// Copies a message to its cell or from there.
///
/// # Safety
///
/// As [`copy_bytes`].
#[inline(always)]
unsafe fn copy_message(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes <= EAGER_BYTES {
            true => copy_bytes(to, from, bytes),
            false => copy_lines(to, from, bytes),
        }
    }
}

/// The ends of a new ring, as if `packets` packets had gone through it already.
pub(in crate::transport) fn ring<const BYTES: usize, const CELLS: usize>(
    packets: u32,
) -> (Writer<BYTES, CELLS>, Reader<BYTES, CELLS>) {
    const { assert!(BYTES >= EAGER_BYTES, "any packet fits") };
    const { assert!(CELLS.is_power_of_two(), "places go round") };
    let cells: Box<[Cell<BYTES>]> = (0..CELLS).map(|_| Cell::new(packets)).collect();
    let ring = Arc::new(Ring {
        cells: cells
            .try_into()
            .unwrap_or_else(|_| unreachable!("as many as were made")),
        near: OnceLock::new(),
        far: OnceLock::new(),
        read: CachePadded::new(AtomicU32::new(packets)),
    });
    let writer = Writer {
        ring: ring.clone(),
        written: packets,
        read: packets,
    };
    let reader = Reader {
        ring,
        read: packets,
        row: 0,
    };
    (writer, reader)
}

impl<const BYTES: usize> Cell<BYTES> {
    /// A cell with the turn of the last of `packets` packets: no end looks for that any more.
    fn new(packets: u32) -> Self {
        Cell {
            turn: AtomicU64::new(turn(packets.wrapping_sub(1))),
            content: Place::new(MaybeUninit::uninit()),
        }
    }
}

impl<const BYTES: usize, const CELLS: usize> Ring<BYTES, CELLS> {
    /// The cell of the packet after the first `behind` packets.
    #[inline]
    fn cell(&self, behind: u32) -> &Cell<BYTES> {
        &self.cells[behind as usize % CELLS]
    }

    /// An annex by its number.
    fn annex(&self, number: Number) -> &Annex {
        let new = |count: usize| {
            (0..count)
                .map(|_| Place::new(MaybeUninit::uninit()))
                .collect()
        };
        match number as usize {
            near if near < NEAR => &self.near.get_or_init(|| new(NEAR))[near],
            far => &self.far.get_or_init(|| new(CELLS))[far - NEAR],
        }
    }

    /// Whether the packet after the first `read` packets is not there.
    #[inline]
    fn lacks(&self, read: u32) -> bool {
        // Relaxed: nothing else is read.
        let there = self.cell(read).turn.load(Ordering::Relaxed);
        there >> Label::BITS != turn(read) >> Label::BITS
    }

    /// Whether everything was read. Exact while no rank posts or takes.
    pub(in crate::transport) fn is_empty(&self) -> bool {
        // Relaxed: the caller knows that both ranks have left.
        self.lacks(self.read.load(Ordering::Relaxed))
    }
}

/// The writing end.
pub(in crate::transport) struct Writer<const BYTES: usize, const CELLS: usize> {
    ring: Arc<Ring<BYTES, CELLS>>,
    written: u32,
    /// Number of packets that had been read when this end last looked.
    read: u32,
}

impl<const BYTES: usize, const CELLS: usize> Writer<BYTES, CELLS> {
    /// Whether a message can be posted by [`post`](Self::post).
    #[inline]
    pub(in crate::transport) fn fits(data: Elements<'_>) -> bool {
        let bytes = data.size();
        let short = bytes <= EAGER_BYTES || bytes <= BYTES && data.info().align() <= PIECE;
        short && u32::try_from(data.len()).is_ok()
    }

    /// Whether a message can be posted by [`post_long`](Self::post_long).
    #[inline]
    pub(in crate::transport) fn fits_annex(data: Elements<'_>) -> bool {
        BYTES < data.size() && data.size() <= ANNEX && data.info().align() <= PIECE
    }

    /// Number of packets written; it wraps.
    #[inline]
    pub(in crate::transport) fn written(&self) -> u32 {
        self.written
    }

    /// The ring, to be asked whether it is empty.
    pub(in crate::transport) fn ring(&self) -> &Arc<Ring<BYTES, CELLS>> {
        &self.ring
    }

    /// Number of packets that had not been read when this end last looked.
    #[inline]
    pub(in crate::transport) fn unread(&self) -> u32 {
        self.written.wrapping_sub(self.read)
    }

    /// Whether a cell was free when this end last looked.
    #[inline]
    pub(in crate::transport) fn has_room(&self) -> bool {
        self.unread() < CELLS as u32
    }

    /// Takes the lines of a later cell from the reader, as many as a message of `bytes` bytes needs there.
    #[inline]
    pub(in crate::transport) fn prefetch(&self, bytes: usize) {
        let cell = self.ring.cell(self.written.wrapping_add(SOON));
        prefetch_to_write(cell, if bytes <= BYTES { bytes } else { 0 });
    }

    /// Number of packets that have not been read by now.
    #[cold]
    #[inline]
    pub(in crate::transport) fn look(&mut self) -> u32 {
        // Acquire: pairs with the release in `count_read`; the cells up to there are this end's again.
        self.read = self.ring.read.load(Ordering::Acquire);
        self.unread()
    }

    /// Posts a copy of a short message.
    ///
    /// # Panics
    ///
    /// If it does not [fit](Self::fits), or if no cell is free.
    #[inline(always)]
    pub(in crate::transport) fn post(&mut self, head: Head, data: Elements<'_>) {
        assert!(Self::fits(data), "a long message in a short packet");
        self.write(head, data.info(), Label::of(data), |_, body| {
            // SAFETY: the body has space for every message that fits.
            unsafe { copy_message(body, data.first(), data.size()) };
        });
    }

    /// Posts a copy of a message that does not fit into a cell, in the annex of one.
    ///
    /// # Panics
    ///
    /// If it does not [fit](Self::fits_annex), or if no cell is free.
    #[inline(never)]
    pub(in crate::transport) fn post_long(&mut self, head: Head, data: Elements<'_>) {
        assert!(Self::fits_annex(data), "a message longer than an annex");
        let number = self.free_annex();
        self.write(head, data.info(), Label::of(data), |ring, body| {
            let annex = ring.annex(number);
            if data.size() <= REQUESTED_TO_WRITE {
                // All lines at once: stores take one line after the other from the reader.
                prefetch_to_write(annex, data.size());
            }
            annex.with_mut(|place| {
                // SAFETY: the annex has space for every message that fits. What was there has been read, see
                // `free_annex`, and it is handed over with this cell.
                unsafe { copy_lines(place.cast(), data.first(), data.size()) };
            });
            // SAFETY: a body has space for a number, and is aligned for one.
            unsafe { body.cast::<Number>().write(number) };
        });
    }

    /// Posts a copy of a message, in the annex of a cell if it does not fit into one.
    ///
    /// # Panics
    ///
    /// If it fits neither into a cell nor into an [annex](Self::fits_annex), or if no cell is free.
    #[inline(always)]
    pub(in crate::transport) fn post_copy(&mut self, head: Head, data: Elements<'_>) {
        match Self::fits(data) {
            true => self.post(head, data),
            false => self.post_long(head, data),
        }
    }

    /// The number of an annex for the next packet: a near one if fewer packets are unread than there are near ones,
    /// otherwise that of the cell. If many are unread, it looks each time as many more are.
    fn free_annex(&mut self) -> Number {
        let near = NEAR as u32;
        if self.unread() >= near && self.unread().is_multiple_of(near) {
            self.look();
        }
        match self.unread() < near {
            true => self.written % near,
            false => near + self.written % CELLS as u32,
        }
    }

    /// Posts a packet that was made elsewhere.
    ///
    /// # Panics
    ///
    /// If no cell is free.
    #[inline]
    pub(in crate::transport) fn post_packet(&mut self, packet: Packet) {
        let (head, info) = (packet.head, packet.info());
        let (label, body) = packet.into_body();
        self.write(head, info, label, |_, place| {
            // SAFETY: a body fits into every cell, which is aligned for it.
            unsafe { place.cast::<Body>().write(body) };
        });
    }

    /// Writes the next cell; `write` writes its body, or its annex.
    #[inline(always)]
    fn write(
        &mut self,
        head: Head,
        info: &'static Info,
        label: Label,
        write: impl FnOnce(&Ring<BYTES, CELLS>, *mut u8),
    ) {
        let room = self.has_room() || self.look() < CELLS as u32;
        assert!(room, "a ring is full");
        let cell = self.ring.cell(self.written);
        cell.content.with_mut(|content| {
            let content = content.cast::<Content<BYTES>>();
            // SAFETY: this is the only writer. The reader has read what was here, as its count says that `look` has
            // acquired, and looks at the cell again only after the release below.
            unsafe {
                (&raw mut (*content).info).write(info);
                (&raw mut (*content).head).write(head);
                write(&self.ring, (&raw mut (*content).body).cast());
            }
        });
        // Release: pairs with the acquire in `next`.
        let turn = turn(self.written) | label.bits();
        cell.turn.store(turn, Ordering::Release);
        self.written = self.written.wrapping_add(1);
    }
}

/// The reading end.
pub(in crate::transport) struct Reader<const BYTES: usize, const CELLS: usize> {
    ring: Arc<Ring<BYTES, CELLS>>,
    read: u32,
    /// Number of messages copied by [`take_into`](Self::take_into), each of which was there at its first look. Other ways to
    /// take or to look leave it.
    row: u32,
}

impl<const BYTES: usize, const CELLS: usize> Reader<BYTES, CELLS> {
    /// The cell of the next packet and its label, if it is there.
    #[inline]
    fn next(&self) -> Option<(&Cell<BYTES>, Label)> {
        let cell = self.ring.cell(self.read);
        // Acquire: pairs with the release in `write`.
        let there = cell.turn.load(Ordering::Acquire);
        let is_next = there >> Label::BITS == turn(self.read) >> Label::BITS;
        is_next.then(|| (cell, Label::from_bits(there)))
    }

    /// Moves the next packet into `place`. Returns whether there was one.
    #[inline]
    pub(in crate::transport) fn take(&mut self, place: &mut Packet) -> bool {
        let Some((cell, label)) = self.next() else {
            return false;
        };
        cell.content.with(|content| {
            let content = content.cast::<Content<BYTES>>();
            // SAFETY: its turn says that the cell was written, before the release that was acquired, with the packet
            // that its label describes. It is moved out once, since the count advances, and not overwritten before the
            // count below is seen.
            unsafe {
                let body = (&raw const (*content).body).cast();
                let (head, info) = ((*content).head, (*content).info);
                match BYTES > EAGER_BYTES && label.landed_bytes(info) > BYTES {
                    true => self.in_annex(body, |annex| place.load(head, info, label, annex)),
                    false => place.load(head, info, label, body),
                }
            }
        });
        self.count_read();
        true
    }

    /// Copies the next message to the front of `into`, if it was copied to the ring, its elements are of the type of
    /// `into`, for which they are not too many, and `accepts` takes its head. Returns its head and the number of its
    /// elements.
    #[inline]
    pub(in crate::transport) fn take_into(
        &mut self,
        into: &mut ElementsMut<'_>,
        accepts: impl FnOnce(Head) -> bool,
    ) -> Option<(Head, usize)> {
        let Some((cell, label)) = self.next() else {
            self.row = 0;
            return None;
        };
        let taken = cell.content.with(|content| {
            let content = content.cast::<Content<BYTES>>();
            // SAFETY: as in `take`. The label says that so many elements of this type lie in the body, or in the annex
            // whose number that is, and `into` has space for them.
            unsafe {
                let (head, info) = ((*content).head, (*content).info);
                let count = label.copied_elements()?;
                if !info.is(into.info()) || count > into.len() || !accepts(head) {
                    return None;
                }
                let body = (&raw const (*content).body).cast();
                let (to, bytes) = (into.first(), count * info.size());
                self.request(bytes);
                match bytes <= BYTES {
                    true => copy_message(to, body, bytes),
                    false => self.in_annex(body, |annex| copy_lines(to, annex, bytes)),
                }
                Some((head, count))
            }
        })?;
        self.row = self.row.saturating_add(1);
        self.count_read();
        Some(taken)
    }

    /// Requests the lines of a later cell, as many as a message of `bytes` bytes needs, if this end is behind its writer.
    #[inline]
    fn request(&self, bytes: usize) {
        if self.row < BEHIND || bytes > REQUESTED {
            return;
        }
        let cell = ptr::from_ref(self.ring.cell(self.read.wrapping_add(AHEAD))).cast();
        prefetch(cell, 0);
        for line in 1..=(bytes + EAGER_BYTES - 1) / CACHE_LINE {
            prefetch(cell, line);
        }
    }

    /// Counts the next packet as read.
    #[inline]
    fn count_read(&mut self) {
        self.read = self.read.wrapping_add(1);
        // Release: pairs with the acquire in `look`.
        self.ring.read.store(self.read, Ordering::Release);
    }

    /// Shows the annex of the next cell, whose body this is, to `read`.
    ///
    /// # Safety
    ///
    /// The writer has handed over that cell with this content, of a message that does not fit into it.
    #[inline(never)]
    unsafe fn in_annex(&self, body: *const u8, read: impl FnOnce(*const u8)) {
        // SAFETY: the body of such a message is the number of its annex. The message was written there before its cell
        // was handed over, and stays there until that is given back.
        let number = unsafe { body.cast::<Number>().read() };
        self.ring.annex(number).with(|annex| read(annex.cast()));
    }

    /// Number of packets read; it wraps.
    pub(in crate::transport) fn read(&self) -> u32 {
        self.read
    }

    /// Whether there is nothing to take.
    #[inline]
    pub(in crate::transport) fn is_empty(&self) -> bool {
        self.ring.lacks(self.read)
    }
}
