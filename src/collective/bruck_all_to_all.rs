//! All-to-all in the minimum number of steps with messages, for any number of ranks.

use crate::Rank;
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::span;

/// Bruck's all-to-all: block `q` of rank `r`'s input becomes piece `r` of rank `q`'s output, routed through other
/// ranks.
///
/// A rank has a slot for every distance `j`, which initially holds the block for the rank `j` below it on the circle. A
/// block with distance `j` moves by `2^b` for every set bit `b` of `j`, so at the end slot `j` holds the block from the
/// rank `j` above.
///
/// ```text
/// five ranks    rank 0's slots, as (from → to)
/// at first      0→0   0→4   0→3   0→2   0→1
/// bit 0, -1     0→0   1→0   0→3   1→2   0→1       slots 1 and 3 move
/// bit 1, -2     0→0   1→0   2→0   3→0   0→1       slots 2 and 3
/// bit 2, -4     0→0   1→0   2→0   3→0   4→0       slot 4
/// ```
///
/// Slots have the length of the longest block. The elements that follow a shorter block in the input travel with it and
/// are dropped at the end.
///
/// # Cost
///
/// `⌈log₂ P⌉` messages of at most `⌊P/2⌋` slots of `⌈N/P⌉` elements. Blocks enter their slots by one copy each, and
/// leave them by two. The slots of a bit can form runs of different lengths only if P is not a power of two; they are
/// then packed, with two copies before the message and two after it.
///
/// # Source
///
/// Bruck, Ho, Kipnis, Upfal and Weathersby, *Efficient algorithms for all-to-all communications in
/// multiport message-passing systems*, 1997.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BruckAllToAll {
    ranks: usize,
    length: usize,
}

/// The action of a rank in a step.
enum Act {
    /// Fills the slot of a distance.
    Load(usize),
    /// One of the actions of a bit.
    Move { bit: u32, act: usize },
    /// Empties the slots up to the last rank, or those that wrapped around.
    Unload { wrapped: bool },
}

/// The slots of a bit: `runs` runs of `2^bit`, followed by a shorter run of `rest`.
#[derive(Clone, Copy)]
struct Slots {
    bit: u32,
    runs: usize,
    rest: usize,
}

/// The actions of a packed bit: pack, pack and send, unpack, unpack.
const PACKED: usize = 4;

impl Slots {
    fn count(self) -> usize {
        (self.runs << self.bit) + self.rest
    }

    /// Whether all runs have the same length.
    fn regular(self) -> bool {
        self.runs == 0 || self.rest == 0
    }

    fn acts(self) -> usize {
        if self.regular() { 1 } else { PACKED }
    }
}

impl BruckAllToAll {
    /// The all-to-all among `ranks` ranks, of inputs of `length` elements, cut evenly.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: usize, length: usize) -> BruckAllToAll {
        assert!(ranks > 0, "an all-to-all of 0 ranks");
        BruckAllToAll { ranks, length }
    }

    /// The length of a slot.
    fn slot(&self) -> usize {
        self.length.div_ceil(self.ranks)
    }

    fn bits(&self) -> impl Iterator<Item = Slots> {
        let ranks = self.ranks;
        let bits = 0..super::ceil_log2(ranks) as u32;
        bits.map(move |bit| Slots {
            bit,
            runs: ranks >> bit >> 1,
            rest: (ranks - (ranks >> bit >> 1 << bit << 1)).saturating_sub(1 << bit),
        })
    }

    /// The total number of actions for all bits.
    fn moves(&self) -> usize {
        self.bits().map(Slots::acts).sum()
    }

    /// The action of a step. The last load and the first message share one step.
    fn act(&self, step: usize) -> Option<Act> {
        let loads = self.ranks - 1;
        let Some(mut moves) = step.checked_sub(loads) else {
            return Some(Act::Load(step));
        };
        for slots in self.bits() {
            if moves < slots.acts() {
                let (bit, act) = (slots.bit, moves);
                return Some(Act::Move { bit, act });
            }
            moves -= slots.acts();
        }
        (moves < 2).then_some(Act::Unload {
            wrapped: moves == 1,
        })
    }

    /// A run of slots in scratch space.
    fn run(&self, first: usize, slots: usize) -> Region {
        let slot = self.slot();
        let start = |number: usize| number.saturating_mul(slot);
        Region::scratch(start(first)..start(first + slots))
    }

    /// The whole runs of a bit at their original position.
    fn runs(&self, slots: Slots) -> Region {
        let slot = self.slot();
        Region {
            length: slot << slots.bit,
            stride: slot << slots.bit << 1,
            count: slots.runs,
            ..self.run(1 << slots.bit, 0)
        }
    }

    /// The shorter run of a bit.
    fn rest(&self, slots: Slots) -> Region {
        self.run(
            (slots.runs << slots.bit << 1) + (1 << slots.bit),
            slots.rest,
        )
    }

    /// The first slot of the space for packed slots, outgoing or incoming.
    fn packed(&self, come: bool) -> usize {
        self.ranks + if come { self.ranks / 2 } else { 0 }
    }

    fn load(&self, rank: Rank, distance: usize) -> Option<LocalCopy> {
        let to = (rank + self.ranks - distance) % self.ranks;
        let start = span::cut(self.length, self.ranks, to);
        // The last block is one of the longest, so the input has elements after every shorter one.
        let copy = LocalCopy::new(
            Region::input(start..start + self.slot()),
            self.run(distance, 1),
        );
        (!copy.from.is_empty()).then_some(copy)
    }

    /// A copy between slots and their packed position.
    fn pack(&self, slots: Slots, whole: bool, come: bool) -> Option<LocalCopy> {
        let packed = self.packed(come);
        let (lies, packed) = if whole {
            (self.runs(slots), self.run(packed, slots.runs << slots.bit))
        } else {
            let after = packed + (slots.runs << slots.bit);
            (self.rest(slots), self.run(after, slots.rest))
        };
        let (from, to) = if come { (packed, lies) } else { (lies, packed) };
        (!from.is_empty()).then_some(LocalCopy::new(from, to))
    }

    fn message(&self, rank: Rank, slots: Slots) -> Step {
        let n = self.ranks;
        let away = 1 << slots.bit;
        let region = |come: bool| match slots {
            Slots { rest: 0, .. } => self.runs(slots),
            Slots { runs: 0, .. } => self.rest(slots),
            _ => self.run(self.packed(come), slots.count()),
        };
        Step {
            send: Some(Transfer {
                peer: (rank + n - away) % n,
                region: region(false),
            }),
            recv: Some(Transfer {
                peer: (rank + away) % n,
                region: region(true),
            }),
            ..Step::IDLE
        }
    }

    fn move_slots(&self, rank: Rank, slots: Slots, act: usize) -> Step {
        let message = self.message(rank, slots);
        let with = |local, step| Step { local, ..step };
        match act {
            0 if slots.bit == 0 => with(self.load(rank, self.ranks - 1), message),
            _ if slots.regular() => message,
            0 => with(self.pack(slots, true, false), Step::IDLE),
            1 => with(self.pack(slots, false, false), message),
            2 => with(self.pack(slots, true, true), Step::IDLE),
            _ => with(self.pack(slots, false, true), Step::IDLE),
        }
    }

    fn unload(&self, rank: Rank, wrapped: bool) -> Option<LocalCopy> {
        let piece = span::block(self.length, self.ranks, rank).len();
        let (slots, pieces) = if wrapped {
            (self.ranks - rank..self.ranks, 0..rank)
        } else {
            (0..self.ranks - rank, rank..self.ranks)
        };
        let copy = LocalCopy::new(
            Region {
                length: piece,
                stride: self.slot(),
                count: slots.len(),
                ..self.run(slots.start, 0)
            },
            Region::output(pieces.start * piece..pieces.end * piece),
        );
        (!copy.from.is_empty()).then_some(copy)
    }

    fn alone(&self) -> Step {
        let whole = 0..self.length;
        let copy = LocalCopy::new(Region::input(whole.clone()), Region::output(whole));
        Step {
            local: (!copy.from.is_empty()).then_some(copy),
            ..Step::IDLE
        }
    }
}

impl Schedule for BruckAllToAll {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        match self.ranks {
            1 => 1,
            n => n - 1 + self.moves() + 2,
        }
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if self.ranks == 1 {
            return if step == 0 { self.alone() } else { Step::IDLE };
        }
        let only = |local| Step {
            local,
            ..Step::IDLE
        };
        match self.act(step) {
            None => Step::IDLE,
            Some(Act::Load(distance)) => only(self.load(rank, distance)),
            Some(Act::Unload { wrapped }) => only(self.unload(rank, wrapped)),
            Some(Act::Move { bit, act }) => {
                let slots = self.bits().nth(bit as usize);
                slots.map_or(Step::IDLE, |slots| self.move_slots(rank, slots, act))
            }
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        let slots = self.ranks + self.ranks / 2 * 2;
        Lengths {
            input: self.length,
            output: span::block(self.length, self.ranks, rank).len() * self.ranks,
            scratch: slots.saturating_mul(self.slot()),
        }
    }

    fn copies_first(&self) -> bool {
        true
    }
}
