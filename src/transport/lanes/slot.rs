//! Slots: the memory through which two ranks hand each other packets, one cache line per message, without locked
//! instructions.
//!
//! # The two paths
//!
//! ```text
//! ring   a → b   │turn│ info kind count call body 32 │ × 8     one line a message, one writer
//! ring   b → a   │turn│ info kind count call body 32 │ × 8
//! line   a ⇄ b   │word  8 B│word  8 B│word  8 B│word  8 B│     one line for both: two halves each
//! ```
//!
//! Any packet fits into a cell of a *ring*. The content of a cell is the reader's from the release of its turn to the
//! release of the read count; the writer looks at that count only when it has used up its credit.
//!
//! The *line* is for messages of at most eight bytes between two ranks that exchange. Both write it, each its own two
//! halves in turn: the rank that holds the cache line reads the other's half and writes its own. An exchange then takes
//! one transfer of a cache line between them instead of two. A rank writes its half number n only if it has read the
//! other's n - 1 (otherwise its message goes through the ring). The other rank wrote that one after it had read this
//! rank's n - 2, which is the half that is overwritten.
//!
//! # One order
//!
//! Both ends count the messages of a direction, those of the ring and those of the line, and a message on either path
//! says how many of the other path came before it. So exactly one of them is the next, whichever path its receiver
//! expects it on, and a reader looks at both. Two ranks whose calls do not match find each other's message, and the
//! mismatch in it, as on a single path.
//!
//! # What accompanies the eight bytes
//!
//! A [word](crate::transport::lanes::slot_words) that gives their exact type and number of elements, and the call to
//! which they belong. A message that a word cannot describe goes through the ring.
//!
//! # Ownership
//!
//! Only [`PairEnd`]s access this memory, there are two of them, neither can be copied, and each needs `&mut`: so
//! everything has one reader and one writer.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::op::Element;
use crate::sync::{AtomicU32, AtomicU64, Ordering, Place};
use crate::transport::lanes::lane::Form;
use crate::transport::lanes::slot_words::{CELLS, Count, Known};
use crate::transport::memory::bytes::Octet;
use crate::transport::memory::head::{Head, Info};
use crate::transport::memory::packet::{Cargo, Packet};

/// Number of messages of a ring that may be short. The last cell is for a lent message, see
/// [`lane`](crate::transport::lanes::lane).
const CREDIT: u32 = CELLS - 1;
/// The bit of a turn that says that the message announces its type.
const ANNOUNCED: u64 = 1;

/// One message of a ring.
#[repr(C, align(64))]
struct Cell {
    turn: AtomicU64,
    cargo: Place<MaybeUninit<Cargo>>,
}

/// One message of the line.
#[repr(C)]
struct Half {
    word: AtomicU64,
    octet: Place<MaybeUninit<Octet>>,
}

/// The line that both ranks write: each rank's halves.
#[repr(C, align(64))]
struct SharedLine([[Half; 2]; 2]);

/// One direction.
struct Direction {
    cells: CachePadded<[Cell; CELLS as usize]>,
    read: CachePadded<Read>,
}

/// What the reader tells the writer, beside a word that never changes.
struct Read {
    /// Number of messages of the ring that the reader has read.
    count: AtomicU32,
    /// The line of all heads; the writer stores it before its first message.
    head: AtomicU64,
}

/// Everything that two ranks share; halves and directions are indexed by sender.
struct Pair {
    line: CachePadded<SharedLine>,
    directions: [Direction; 2],
}

#[cfg(not(all(test, loom)))]
const _: () = assert!(size_of::<Cell>() == 64 && size_of::<SharedLine>() == 64);

// SAFETY: a cargo is a packet, which is `Send`, and an octet holds a short packet's elements. Only the writer or the
// reader accesses either, and they hand it over by the release and acquire of a turn, a word or a count, see the head.
unsafe impl Send for Pair {}
// SAFETY: the same.
unsafe impl Sync for Pair {}

/// One rank's end of everything between two ranks.
pub(in crate::transport) struct PairEnd {
    pair: Arc<Pair>,
    /// Which of the two ranks it is.
    me: usize,
    sent: Known,
    taken: Known,
    /// Number of messages of the ring that the other had read when this end last looked.
    read: u32,
    /// The line of all outgoing heads, and that of all incoming ones; 0 before the first.
    common: u64,
    head: u64,
}

/// The two ends for a pair of ranks.
pub(in crate::transport) fn ends() -> [PairEnd; 2] {
    starting_at(Count { ring: 0, line: 0 })
}

/// The same, as if `messages` messages had gone each way on each path already.
#[cfg(all(test, not(loom)))]
pub(in crate::transport) fn ends_after(messages: u32) -> [PairEnd; 2] {
    starting_at(Count {
        ring: messages,
        line: messages,
    })
}

/// The same, as if the counted messages had gone in both directions already.
fn starting_at(count: Count) -> [PairEnd; 2] {
    let pair = Arc::new(Pair::new(count));
    [0, 1].map(|me| PairEnd {
        pair: pair.clone(),
        me,
        sent: Known::new(count),
        taken: Known::new(count),
        read: count.ring,
        common: 0,
        head: 0,
    })
}

impl Pair {
    fn new(count: Count) -> Pair {
        let halves = |_| [0, 1].map(|place| Half::new(count, place));
        Pair {
            line: CachePadded::new(SharedLine([0, 1].map(halves))),
            directions: [0, 1].map(|_| Direction::new(count)),
        }
    }
}

impl Direction {
    fn new(count: Count) -> Direction {
        let read = Read {
            count: AtomicU32::new(count.ring),
            head: AtomicU64::new(0),
        };
        Direction {
            cells: CachePadded::new(std::array::from_fn(|place| Cell::new(count, place as u32))),
            read: CachePadded::new(read),
        }
    }
}

impl Cell {
    /// A cell whose turn is that of the last message that used it, already read.
    fn new(count: Count, place: u32) -> Cell {
        let last = count.ring.wrapping_sub(1);
        let before = Count {
            ring: last.wrapping_sub(last.wrapping_sub(place) % CELLS),
            ..count
        };
        Cell {
            turn: AtomicU64::new(before.turn()),
            cargo: Place::new(MaybeUninit::uninit()),
        }
    }
}

impl Half {
    /// A half whose word is that of the last message that used it, already read.
    fn new(count: Count, place: usize) -> Half {
        let back = if count.half() == place { 2 } else { 1 };
        let before = Count {
            line: count.line.wrapping_sub(back),
            ..count
        };
        Half {
            word: AtomicU64::new(before.number() << 48),
            octet: Place::new(MaybeUninit::uninit()),
        }
    }
}

impl PairEnd {
    /// Whether a short message may be posted now.
    #[inline]
    pub(in crate::transport) fn has_room(&mut self) -> bool {
        self.unread() < CREDIT || self.look() < CREDIT
    }

    /// Number of messages of the ring that the other had not read when this end last looked.
    #[inline]
    fn unread(&self) -> u32 {
        self.sent.count.ring.wrapping_sub(self.read)
    }

    /// The same, as of now.
    #[cold]
    fn look(&mut self) -> u32 {
        // Acquire: pairs with the release in `take_from_ring`; the cells up to there are this end's again.
        self.read = self.pair.directions[self.me]
            .read
            .count
            .load(Ordering::Acquire);
        self.unread()
    }

    /// Posts a copy of a short message, right after [`has_room`](Self::has_room) returned `true`.
    #[inline]
    pub(in crate::transport) fn post<T: Element>(&mut self, form: Form, head: Head, data: &[T]) {
        if form == Form::OneWay || !self.post_to_line(head, data) {
            // SAFETY: `post_to_ring` lets it write there.
            self.post_to_ring(form, head, Info::of::<T>(), |place| unsafe {
                Cargo::write_eager(place, head, data);
            });
        }
    }

    /// Posts any packet, after [`has_room`](Self::has_room) returned `true`; a lent one at any time.
    pub(in crate::transport) fn post_packet(&mut self, form: Form, packet: Packet) {
        let (head, info) = (packet.head, packet.info());
        // SAFETY: `post_to_ring` lets it write there.
        self.post_to_ring(form, head, info, |place| unsafe {
            place.write(packet.into_cargo().1);
        });
    }

    /// The word for a short message, if it can go through the line.
    #[inline]
    fn say<T: Element>(&self, head: Head, data: &[T]) -> Option<u64> {
        // If this end has read the other's last message, the other has read this end's last but one, see the head.
        let ahead = self.sent.count.line.wrapping_sub(self.taken.count.line);
        if ahead as i32 > 0 || !Octet::fits(data) {
            return None;
        }
        self.sent.say(head, Info::of::<T>(), data.len())
    }

    #[inline]
    fn post_to_line<T: Element>(&mut self, head: Head, data: &[T]) -> bool {
        let Some(word) = self.say(head, data) else {
            return false;
        };
        let half = &self.pair.line.0[self.me][self.sent.count.half()];
        half.octet.with_mut(|place| {
            // SAFETY: the other end has read what was here, or nothing was here, as `say` has checked, and it looks at
            // the place again only after the release below; this is the only end that writes it.
            unsafe { Octet::write(place.cast(), data) };
        });
        // Release: pairs with the acquire in `take_from_line`.
        half.word.store(word, Ordering::Release);
        self.sent.went_by_line(head);
        true
    }

    /// Lets `write` write the next cell of the ring.
    #[inline]
    fn post_to_ring(
        &mut self,
        form: Form,
        head: Head,
        info: &'static Info,
        write: impl FnOnce(*mut Cargo),
    ) {
        let room = self.unread() < CELLS || self.look() < CELLS;
        assert!(room, "a ring is full, see `lane` why it is not");
        let mut turn = self.sent.count.turn();
        if form == Form::Exchange && !self.sent.knows(info) {
            self.sent.announce(info);
            turn |= ANNOUNCED;
        }
        self.introduce(head);
        let cell = &self.pair.directions[self.me].cells[self.sent.count.cell()];
        // The other end has read what was here a lap before, as its count says that `look` has acquired, and looks at
        // it again only after the release below; this is the only end that writes it.
        cell.cargo.with_mut(|place| write(place.cast()));
        // Release: pairs with the acquire in `take_from_ring`.
        cell.turn.store(turn, Ordering::Release);
        self.sent.went_by_ring(head);
    }

    /// Tells the other end what all heads have in common. The first message goes through the ring, since no type is
    /// known.
    #[inline]
    fn introduce(&mut self, head: Head) {
        if self.common == 0 {
            self.common = head.line();
            // Relaxed: the release of the first turn publishes it.
            let common = &self.pair.directions[self.me].read.head;
            common.store(head.line(), Ordering::Relaxed);
        }
        assert!(self.common == head.line(), "a packet of another lane");
    }

    /// Moves the next packet into `place`. Returns whether there was one.
    #[inline]
    pub(in crate::transport) fn take(&mut self, form: Form, place: &mut Packet) -> bool {
        // It may arrive on the other path, if the two ranks' calls do not match.
        match form {
            Form::Exchange => self.take_from_line(place) || self.take_from_ring(place),
            Form::OneWay => self.take_from_ring(place) || self.take_from_line(place),
        }
    }

    #[inline]
    fn take_from_line(&mut self, packet: &mut Packet) -> bool {
        let half = &self.pair.line.0[1 - self.me][self.taken.count.half()];
        // Acquire: pairs with the release in `post_to_line`.
        let word = half.word.load(Ordering::Acquire);
        if word >> 48 != self.taken.count.number() {
            return false;
        }
        let (head, info, count) = self.taken.hear(word, self.head);
        half.octet.with(|octet| {
            // SAFETY: `post_to_line` wrote the octet as its word says, before the release that was acquired, and both
            // ends have the same list of types, see the head. It is not overwritten before this end has posted again.
            unsafe { packet.load_octet(head, info, count, octet.cast()) };
        });
        self.taken.went_by_line(head);
        true
    }

    #[inline]
    fn take_from_ring(&mut self, packet: &mut Packet) -> bool {
        let way = &self.pair.directions[1 - self.me];
        let cell = &way.cells[self.taken.count.cell()];
        // Acquire: pairs with the release in `post_to_ring`.
        let turn = cell.turn.load(Ordering::Acquire);
        if turn & !ANNOUNCED != self.taken.count.turn() {
            return false;
        }
        if self.head == 0 {
            // Relaxed: written before the turn that was acquired.
            self.head = way.read.head.load(Ordering::Relaxed);
        }
        cell.cargo.with(|cargo| {
            // SAFETY: its turn says that it was written, before the release that was acquired. It is moved out once,
            // since the count advances, and not overwritten before that count is seen.
            unsafe { packet.load(self.head, cargo.cast()) };
        });
        if turn & ANNOUNCED != 0 {
            self.taken.announce(packet.info());
        }
        self.taken.went_by_ring(packet.head);
        // Release: pairs with the acquire in `look`.
        way.read
            .count
            .store(self.taken.count.ring, Ordering::Release);
        true
    }

    /// Numbers of messages sent and taken; the numbers wrap.
    pub(in crate::transport) fn traffic(&self) -> (u32, u32) {
        let all = |known: &Known| known.count.ring.wrapping_add(known.count.line);
        (all(&self.sent), all(&self.taken))
    }

    /// Whether there is nothing to take.
    pub(in crate::transport) fn is_empty(&self) -> bool {
        let Known { count, .. } = self.taken;
        let cell = &self.pair.directions[1 - self.me].cells[count.cell()];
        let half = &self.pair.line.0[1 - self.me][count.half()];
        // Relaxed: nothing else is read.
        cell.turn.load(Ordering::Relaxed) & !ANNOUNCED != count.turn()
            && half.word.load(Ordering::Relaxed) >> 48 != count.number()
    }

    /// Takes everything that is left.
    pub(in crate::transport) fn drain(&mut self) -> Vec<Packet> {
        let next = || {
            let mut place = Packet::empty();
            self.take(Form::OneWay, &mut place).then_some(place)
        };
        std::iter::from_fn(next).collect()
    }
}
