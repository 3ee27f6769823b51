//! Cells: for each rank of a communicator a few places that this rank alone writes and all ranks may read.
//!
//! A short message for several readers, or from several writers to one reader, is copied once into a cell and read in
//! place: no queue, no loan, one writer for every word, no locked instruction.
//!
//! # How a cell is reused
//!
//! Calls on the cells of a communicator are numbered from 0, and all ranks make the same ones. A rank has [`DEPTH`]
//! cells and posts call `n` in cell `n mod DEPTH`. Each rank publishes, in a word of its own, how many calls it has
//! *left*: it no longer reads any cell of those calls. A cell may be written for call `n` once all ranks have left call
//! `n - DEPTH`. What a rank knows of that is its *floor*: all ranks have left the calls below it. The floor rises when
//! all cells of a call have been seen, since a rank in a call has left the calls before it. It is passed on with every
//! cell. Only if it is still too low are the words of all ranks read. So ranks that meet in every call never read those
//! words, and a root or the first rank of a scan that runs ahead reads them once in a few calls.
//!
//! # Why this is sound
//!
//! - A cell has one writer: the [`CellPort`] of its rank, of which there is one ([`Column::taken`]).
//! - The cell port writes call `n` only while its floor is above `n - DEPTH`, and then no rank reads the cell. A cell
//!   port reads the cell of call `m` through a [`Found`], which borrows the cell port, and leaves `m` through `&mut`.
//!   The floor came to the writer along acquire loads of what each reader wrote, with release, after its last read. A
//!   [`Floor`] is made only in this file, and remains true of its cells for ever.
//! - A cell is read only after its number was seen with acquire; the writer stores the number with release after
//!   everything else. The number has 64 bits and does not wrap.
//! - A message is read as the type and count it was written with: `check` compares both exactly. Bytes are
//!   `MaybeUninit`, so padding and pointers inside elements survive. Packed vectors have a type of their own, not one of
//!   elements, and the number of their signature as count.
#![allow(unsafe_code)]

mod ahead;
mod floor;

use std::mem::{MaybeUninit, align_of, size_of, size_of_val};
use std::ptr;
use std::slice;
use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

use crate::Rank;
use crate::op::Element;
use crate::op::block::{FusedVectors, Packed};
use crate::op::elements::Info;
use crate::op::signature::{ALIGNMENT, LONGEST, Signature};
use crate::sync::{AtomicU32, AtomicU64, Ordering, Place};
use crate::transport::memory::awaited::{Awaited, Waiting};
use crate::transport::memory::bytes::{CACHE_LINE, copy_out, prefetch_bytes_to_write};
use crate::transport::memory::stamp::{Label, Stamp};

/// Number of calls that a rank may be ahead of another one that reads its cells.
const DEPTH: usize = if cfg!(all(test, loom)) { 2 } else { 4 };

/// The longest message beside the number, in the same cache line, in bytes.
const NEAR: usize = 32;

/// The longest message that goes through a cell, in bytes.
pub(crate) const CELL_BYTES: usize = 4096;

/// The description of a rank's message, and the message itself if it is very short.
#[repr(C)]
struct Near {
    body: MaybeUninit<[u8; NEAR]>,
    info: &'static Info,
    count: u32,
    stamp: Stamp,
    /// The distance from the writer's floor up to the call: less than [`DEPTH`], otherwise the cell would not be
    /// written.
    above: u32,
}

impl Near {
    #[cold]
    fn label(&self) -> Label {
        Label {
            stamp: self.stamp,
            count: self.count as usize,
            info: self.info,
        }
    }
}

/// A message, or the part of it that fits, and the number of its call: one cache line.
#[repr(C, align(64))]
struct Cell {
    near: Place<Near>,
    /// One more than the number of the call whose message is here; 0: none yet.
    number: AtomicU64,
}

/// Space for a message that does not fit beside its number, aligned for every element that may be stored there.
#[repr(C, align(64))]
struct Far(MaybeUninit<[u8; CELL_BYTES]>);

/// The cells of one rank.
struct Column {
    cells: CachePadded<[Cell; DEPTH]>,
    /// In memory of its own, which the first message that needs it allocates.
    far: OnceLock<Box<[Place<Far>]>>,
    /// Number of calls that the rank has left.
    left: CachePadded<AtomicU64>,
    /// Number of cell ports created.
    taken: AtomicU32,
    /// The last call of its rank, once the cell port has been dropped.
    end: Mutex<Option<Stamp>>,
}

// SAFETY: see the head: a place is written by one thread while no thread reads it, and read only after the number that
// was stored with release. Everything that may be stored there is `Send` and `Sync` (`Element`).
unsafe impl Sync for Column {}
// SAFETY: as above.
unsafe impl Send for Column {}

impl Column {
    fn new() -> Column {
        let cell = || Cell {
            near: Place::new(Near {
                body: MaybeUninit::uninit(),
                info: Info::of::<()>(),
                count: 0,
                stamp: Stamp::default(),
                above: 0,
            }),
            number: AtomicU64::new(0),
        };
        Column {
            cells: CachePadded::new(std::array::from_fn(|_| cell())),
            far: OnceLock::new(),
            left: CachePadded::new(AtomicU64::new(0)),
            taken: AtomicU32::new(0),
            end: Mutex::new(None),
        }
    }

    /// The space for the long message of a cell.
    #[inline]
    fn far(&self, place: usize) -> &Place<Far> {
        match self.far.get() {
            Some(far) => &far[place],
            None => self.make_far(place),
        }
    }

    #[cold]
    fn make_far(&self, place: usize) -> &Place<Far> {
        let far = || Place::new(Far(MaybeUninit::uninit()));
        &self.far.get_or_init(|| (0..DEPTH).map(|_| far()).collect())[place]
    }
}

/// The cells of all ranks of a communicator.
pub(crate) struct Cells {
    columns: Box<[Column]>,
    /// The ranks that wait for others to leave a call.
    waiting: Awaited,
}

impl Cells {
    pub(crate) fn new(ranks: usize) -> Cells {
        Cells {
            columns: (0..ranks).map(|_| Column::new()).collect(),
            waiting: Awaited::new(),
        }
    }

    /// Announces a rank that waits for others to leave a call, until the result is dropped.
    pub(crate) fn wait_for_room(&self) -> Waiting<'_> {
        self.waiting.announce()
    }

    /// The last call that each rank took part in; `None` if a cell port still exists or was leaked.
    pub(crate) fn ends(&self) -> Option<Vec<Option<Stamp>>> {
        let end = |column: &Column| {
            let end = *column.end.lock();
            // Relaxed: called when all threads are done; otherwise the caller asks again.
            let used = column.taken.load(Ordering::Relaxed) > 0;
            (end.is_some() || !used).then_some(end)
        };
        self.columns.iter().map(end).collect()
    }
}

/// A rank's end of the cells of a communicator.
pub(crate) struct CellPort {
    cells: Arc<Cells>,
    me: Rank,
    /// The call it is in, or the next one.
    call: u64,
    /// All ranks have left the calls below this number.
    floor: u64,
    /// The cells of all ranks below this number have been seen in this call.
    seen: Rank,
    /// Whether its own cell is written for this call.
    posted: bool,
    /// The last call that it has left.
    last: Option<Stamp>,
    /// The last call whose cell was touched ahead of its message.
    warm: u64,
    /// Whether it has waited for a message of this call.
    waited: bool,
    /// Whether the messages of the call before were there when it came, and it wrote none.
    behind: bool,
    /// Number of lines of the last message in each place, if it was long.
    lines: [usize; DEPTH],
}

impl Drop for CellPort {
    /// Records the last call. At the end, unread messages are found by comparing the last calls of all ranks.
    fn drop(&mut self) {
        *self.cells.columns[self.me].end.lock() = self.last;
    }
}

impl CellPort {
    /// Takes the cell port of rank `me`.
    ///
    /// # Panics
    ///
    /// If this rank has one already.
    pub(crate) fn new(cells: Arc<Cells>, me: Rank) -> CellPort {
        // Relaxed: exactly one increment comes first, from whichever thread.
        let before = cells.columns[me].taken.fetch_add(1, Ordering::Relaxed);
        assert!(before == 0, "a rank has one cell port");
        CellPort {
            cells,
            me,
            call: 0,
            floor: 0,
            seen: 0,
            posted: false,
            last: None,
            warm: 0,
            waited: false,
            behind: false,
            lines: [0; DEPTH],
        }
    }

    /// The last call that this rank took part in.
    pub(crate) fn last(&self) -> Option<Stamp> {
        self.last
    }

    pub(crate) fn cells(&self) -> Arc<Cells> {
        self.cells.clone()
    }

    /// The rank that owns this cell port.
    #[inline]
    pub(in crate::transport) fn me(&self) -> Rank {
        self.me
    }

    /// Whether a message fits into a cell.
    #[inline]
    pub(crate) fn fits(info: &'static Info, count: usize) -> bool {
        let bytes = count.saturating_mul(info.size());
        bytes <= CELL_BYTES && info.align() <= align_of::<Far>() && count <= u32::MAX as usize
    }

    /// Writes this rank's message of the current call.
    ///
    /// # Panics
    ///
    /// If its cell is not free (see [`lagging`](Self::lagging)), if it is written already, or if the message does not
    /// [fit](Self::fits).
    #[inline(always)]
    pub(crate) fn post<T: Element>(&mut self, stamp: Stamp, data: &[T]) {
        let (info, bytes) = (Info::of::<T>(), size_of_val(data));
        assert!(Self::fits(info, data.len()), "too long for a cell");
        let place = self.take_place(bytes);
        let column = &self.cells.columns[self.me];
        match bytes <= NEAR {
            true => column.cells[place].near.with_mut(|near| {
                // SAFETY: no other thread accesses the place (see the head), it fits, and the memory is not the caller's.
                unsafe { copy_out(data, (&raw mut (*near).body).cast()) };
            }),
            false => column.far(place).with_mut(|far| {
                // SAFETY: as above, and every message that fits has space there.
                unsafe { ptr::copy_nonoverlapping(data.as_ptr().cast::<u8>(), far.cast(), bytes) };
            }),
        }
        self.publish(place, stamp, info, data.len());
    }

    /// The same for the packed vectors of a fused call.
    #[inline(always)]
    pub(crate) fn post_packed(&mut self, stamp: Stamp, parts: &FusedVectors<'_, '_>) {
        const { assert!(LONGEST <= CELL_BYTES && ALIGNMENT <= align_of::<Far>()) }
        let (signature, bytes) = (parts.signature(), parts.signature().bytes());
        let place = self.take_place(bytes);
        let column = &self.cells.columns[self.me];
        column.far(place).with_mut(|far| {
            column.cells[place].near.with_mut(|near| {
                if bytes > NEAR {
                    // Words are packed one by one: without this a CPU that does not own the lines gets one after the other.
                    prefetch_bytes_to_write(far.cast(), bytes - 1);
                }
                // SAFETY: no other thread accesses the places (see the head), and the longest packed vectors have space.
                unsafe {
                    parts.pack(match bytes <= NEAR {
                        true => (&raw mut (*near).body).cast(),
                        false => far.cast(),
                    });
                }
            });
        });
        self.publish(place, stamp, Packed::info(), signature.id() as usize);
    }

    /// Takes the cell for a message, and returns its index.
    #[inline(always)]
    fn take_place(&mut self, bytes: usize) -> usize {
        assert!(self.is_free() && !self.posted, "a cell that is in use");
        self.posted = true;
        let place = place_of(self.call);
        self.lines[place] = usize::from(bytes > NEAR) * bytes.div_ceil(CACHE_LINE);
        place
    }

    /// Labels the message in the cell, and lets other ranks read it.
    #[inline(always)]
    fn publish(&mut self, place: usize, stamp: Stamp, info: &'static Info, count: usize) {
        let cell = &self.cells.columns[self.me].cells[place];
        cell.near.with_mut(|near| {
            // SAFETY: no other thread accesses the place, see the head.
            let near = unsafe { &mut *near };
            near.info = info;
            near.count = count as u32;
            near.stamp = stamp;
            near.above = (self.call - self.floor) as u32;
        });
        // Release: pairs with the acquire in `find`.
        cell.number.store(self.call + 1, Ordering::Release);
        self.warm_next();
    }

    /// A rank's message of the current call, if it is there. It is expected to have `bytes` bytes. The lines of the
    /// message that are not beside its number are prefetched first, so that all lines arrive side by side and not one
    /// after the other.
    #[inline]
    pub(crate) fn find(&self, from: Rank, bytes: usize) -> Option<Found<'_>> {
        let (column, place) = (&self.cells.columns[from], place_of(self.call));
        let cell = &column.cells[place];
        self.fetch(from, bytes);
        // Acquire: pairs with the release in `publish`.
        let here = cell.number.load(Ordering::Acquire) == self.call + 1;
        here.then_some(Found {
            cells: &self.cells,
            column,
            cell,
            call: self.call,
            all_here: from != self.me && self.cells.columns.len() == 2,
        })
    }

    /// Leaves the current call: this rank no longer reads any of its messages.
    #[inline]
    pub(crate) fn leave(&mut self, stamp: Stamp) {
        self.warm_next();
        self.last = Some(stamp);
        self.call += 1;
        self.seen = 0;
        self.behind = !self.posted && !self.waited;
        self.posted = false;
        self.waited = false;
        // Release: pairs with the acquires in `find_lagging` and in `has_left`.
        self.cells.columns[self.me]
            .left
            .store(self.call, Ordering::Release);
    }

    /// Writes arbitrary bytes to the cell of the next call, if it is free and this has not been done yet. Its lines, as
    /// many as were used last time, then travel from the readers' caches to this rank while it waits for others or does
    /// other work.
    #[inline]
    fn warm_next(&mut self) {
        let call = self.call + 1;
        if self.warm < call && self.is_free_for(call) {
            self.warm = call;
            let (column, place) = (&self.cells.columns[self.me], place_of(call));
            // SAFETY: no rank reads the place before its number is stored, see the head.
            column.cells[place]
                .near
                .with_mut(|near| unsafe { (*near).above = 0 });
            for line in 0..self.lines[place] {
                // SAFETY: as above, and the place has at least this many lines.
                column
                    .far(place)
                    .with_mut(|far| unsafe { far.cast::<u8>().add(line * CACHE_LINE).write(0) });
            }
        }
    }
}

/// A message that is there. Its finder has not left the call: that would need `&mut` access to its cell port.
pub(crate) struct Found<'a> {
    cells: &'a Cells,
    column: &'a Column,
    cell: &'a Cell,
    call: u64,
    /// Whether its writer is the only other rank, so that all ranks are in this call.
    all_here: bool,
}

/// The floor carried by an opened message: all ranks have left the calls below it.
pub(crate) struct Floor {
    of: *const Cells,
    floor: u64,
}

impl<'a> Found<'a> {
    /// Shows the message, and returns the floor that its writer knew, or that follows from the message being there. If
    /// the message is of another call, another length or another type, returns its label instead.
    #[inline(always)]
    pub(crate) fn open<T: Element>(
        self,
        stamp: Stamp,
        count: usize,
        show: impl FnOnce(&[T]),
    ) -> Result<Floor, Label> {
        let (near, floor) = self.check(stamp, Info::of::<T>(), count)?;
        let bytes = count * size_of::<T>();
        let show = |first: *const u8| {
            // An empty message may be of a type that is not aligned here.
            let nowhere = ptr::NonNull::dangling().as_ptr();
            let first = if bytes == 0 {
                nowhere
            } else {
                first.cast::<T>()
            };
            // SAFETY: type and count are those with which `post` has written there, and no thread writes the place
            // before the finder leaves the call, which needs `&mut` access to its cell port. Either place begins at a
            // multiple of 64, and no element stored there is aligned more strictly: a message in `near` is no longer
            // than 32 bytes, and one in `far` was checked by `fits`.
            show(unsafe { slice::from_raw_parts(first, count) })
        };
        match bytes <= NEAR {
            true => show(near),
            false => self.far().with(|far| show(far.cast())),
        }
        Ok(floor)
    }

    /// The packed vectors of this signature, and the floor, or the label of another message.
    #[inline(always)]
    pub(crate) fn open_packed(
        self,
        stamp: Stamp,
        signature: &'static Signature,
    ) -> Result<(Packed<'a>, Floor), Label> {
        let (near, floor) = self.check(stamp, Packed::info(), signature.id() as usize)?;
        let first = match signature.bytes() <= NEAR {
            true => near,
            false => self.far().with(|far| far.cast()),
        };
        // SAFETY: `post_packed` alone labels messages so, and this is the number of the signature whose vectors it has
        // packed there; no thread writes them, as above.
        Ok((unsafe { Packed::new(first, signature) }, floor))
    }

    fn far(&self) -> &'a Place<Far> {
        self.column.far(place_of(self.call))
    }

    /// The place beside the number, and the floor, if stamp, type and count of the message are these.
    #[inline(always)]
    fn check(
        &self,
        stamp: Stamp,
        info: &'static Info,
        count: usize,
    ) -> Result<(*const u8, Floor), Label> {
        self.cell.near.with(|near| {
            // SAFETY: it is written, as its finder has seen, and the finder has not left the call (see the head).
            let near = unsafe { &*near };
            let ours = near.stamp == stamp && near.count as usize == count;
            if !ours || !near.info.is(info) {
                return Err(near.label());
            }
            let above = if self.all_here { 0 } else { near.above };
            let floor = Floor {
                of: self.cells,
                floor: self.call - u64::from(above),
            };
            Ok((near.body.as_ptr().cast(), floor))
        })
    }
}

/// The index of a rank's cell for a call.
#[inline]
fn place_of(call: u64) -> usize {
    (call % DEPTH as u64) as usize
}
