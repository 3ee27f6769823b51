//! Algorithms in which every rank owns a block: ring, gather, all-gather, all-to-all.

use super::{Cost, Form, Load, assert_some, ceil_log2, far_halving_reduce_scatter};
use crate::Rank;
use crate::span;
use crate::topology::Topology;

/// A vector with one block per rank.
#[derive(Clone, Copy)]
struct Blocks {
    ranks: usize,
    length: usize,
}

impl Blocks {
    #[track_caller]
    fn new(ranks: usize, length: usize) -> Blocks {
        assert_some(ranks);
        Blocks { ranks, length }
    }

    /// The number of elements of a rank's block.
    fn of(&self, rank: Rank) -> usize {
        span::block(self.length, self.ranks, rank).len()
    }

    /// The number of elements of all other blocks.
    fn but(&self, rank: Rank) -> usize {
        self.length - self.of(rank)
    }

    /// The number of elements of `blocks` blocks, starting with `first`, counted cyclically.
    fn from(&self, first: Rank, blocks: usize) -> usize {
        let cut = |block| span::cut(self.length, self.ranks, block);
        match (first + blocks).checked_sub(self.ranks) {
            None => cut(first + blocks) - cut(first),
            Some(wrapped) => self.length - cut(first) + cut(wrapped),
        }
    }

    /// `N/P`.
    fn mean(&self) -> f64 {
        self.length as f64 / self.ranks as f64
    }

    /// The cost of `steps` steps that move `blocks` blocks in total.
    fn cost(&self, steps: usize, blocks: usize) -> Cost {
        Cost {
            moved: super::times(self.mean(), blocks),
            ..Cost::moving(steps, 0.0)
        }
    }
}

/// Reduce-scatter on a ring. [Reversed](Form::reversed), it is the all-gather on a ring.
///
/// # Cost
///
/// `(P-1) (α + (N/P)(β + γ))`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 4.
#[track_caller]
pub fn ring_reduce_scatter(ranks: usize, length: usize) -> Form {
    let (blocks, steps) = (Blocks::new(ranks, length), ranks - 1);
    let load = move |rank| {
        // A rank receives all blocks except that of its predecessor, which the predecessor keeps.
        let before = (rank + steps) % ranks;
        Load::moving((steps, blocks.but(rank)), (steps, blocks.but(before))).and_folding()
    };
    Form::new(ranks, blocks.cost(steps, steps).and_folding(), load)
}

/// All-reduce on a ring: reduce-scatter followed by all-gather.
///
/// # Cost
///
/// `2 (P-1) (α + (N/P) β) + (P-1) (N/P) γ`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// As [`ring_reduce_scatter`].
#[track_caller]
pub fn ring_all_reduce(ranks: usize, length: usize) -> Form {
    let ring = ring_reduce_scatter(ranks, length);
    ring.clone().then(ring.reversed())
}

/// Gather to rank 0 along the binomial tree. [Reversed](Form::reversed), it is the scatter.
///
/// # Cost
///
/// `⌈log₂ P⌉ α + N (P-1)/P β`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, 4.4.
#[track_caller]
pub fn binomial_gather(ranks: usize, length: usize) -> Form {
    let blocks = Blocks::new(ranks, length);
    let tree = Topology::binomial(ranks);
    let load = move |rank: Rank| {
        let below = if rank == 0 {
            ranks
        } else {
            (ranks - rank).min(1 << rank.trailing_zeros())
        };
        let subtree = blocks.from(rank, below);
        let sent = if rank == 0 { (0, 0) } else { (1, subtree) };
        let received = (tree.predecessor_count(rank), subtree - blocks.of(rank));
        Load::moving(sent, received)
    };
    Form::new(ranks, blocks.cost(ceil_log2(ranks), ranks - 1), load)
}

/// All-gather in the minimum number of steps: the number of blocks doubles in each, and two local copies follow.
///
/// # Cost
///
/// `⌈log₂ P⌉ α + N (P-1)/P β`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Bruck, Ho, Kipnis, Upfal and Weathersby, *Efficient algorithms for all-to-all communications in
/// multiport message-passing systems*, 1997.
#[track_caller]
pub fn bruck_all_gather(ranks: usize, length: usize) -> Form {
    let (blocks, steps) = (Blocks::new(ranks, length), ceil_log2(ranks));
    let copies = if ranks > 1 { 2 } else { 0 };
    let cost = Cost {
        steps: steps + copies,
        ..blocks.cost(steps, ranks - 1)
    };
    let load = move |rank| {
        let moved = |step: usize| (1 << step).min(ranks - (1 << step));
        let sent = (0..steps).map(|step| blocks.from(rank, moved(step))).sum();
        Load::moving((steps, sent), (steps, blocks.but(rank)))
    };
    Form::new(ranks, cost, load)
}

/// Broadcast of long vectors from rank 0: the binomial scatter followed by an all-gather, by recursive doubling if P is
/// a power of two, else on a ring.
///
/// A version with another all-gather is `binomial_gather(ranks, length).reversed().`[`then`](Form::then)`(that)`.
///
/// # Cost
///
/// `2 (d α + N (P-1)/P β)` for `P = 2^d`; otherwise `(⌈log₂ P⌉ + P - 1) α + 2 N (P-1)/P β`.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, chapter 11, and van de Geijn.
#[track_caller]
pub fn scatter_all_gather(ranks: usize, length: usize) -> Form {
    let all_gather = if ranks.is_power_of_two() {
        far_halving_reduce_scatter(ranks, length)
    } else {
        ring_reduce_scatter(ranks, length)
    };
    let scatter = binomial_gather(ranks, length).reversed();
    scatter.then(all_gather.reversed())
}

/// All-to-all with one partner per step, of inputs of `length` elements.
///
/// # Cost
///
/// `(P-1) (α + (N/P) β)`; a single rank takes one step, with one copy.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 3.
#[track_caller]
pub fn pairwise_all_to_all(ranks: usize, length: usize) -> Form {
    let (blocks, messages) = (Blocks::new(ranks, length), ranks - 1);
    let cost = Cost {
        steps: messages.max(1),
        ..blocks.cost(messages, messages)
    };
    let load = move |rank| {
        let pieces = blocks.of(rank).saturating_mul(messages);
        Load::moving((messages, blocks.but(rank)), (messages, pieces))
    };
    Form::new(ranks, cost, load)
}

/// All-to-all in the minimum number of steps: a block with distance j travels by the bits of j.
///
/// Blocks travel in slots with the length of the longest block. Steps include local copies: a rank fills its slots one
/// by one, empties them in two steps, and packs the slots of a bit that are not regularly spaced.
///
/// # Cost
///
/// `⌈log₂ P⌉` messages of at most `⌊P/2⌋` slots: `log₂ P (α + (N/2) β)` for powers of two that divide N.
///
/// # Panics
///
/// If `ranks` is 0.
///
/// # Source
///
/// As [`bruck_all_gather`].
#[track_caller]
pub fn bruck_all_to_all(ranks: usize, length: usize) -> Form {
    assert!(ranks > 0, "an all-to-all of 0 ranks");
    let (messages, slot) = (ceil_log2(ranks), length.div_ceil(ranks));
    let slots = (0..messages).map(|bit| with_bit(bit, ranks)).sum();
    let moves: usize = (0..messages).map(|bit| acts(bit, ranks)).sum();
    let cost = Cost {
        steps: if ranks == 1 { 1 } else { ranks - 1 + moves + 2 },
        moved: super::times(slot as f64, slots),
        ..Cost::moving(messages, 0.0)
    };
    let each = (messages, slot.saturating_mul(slots));
    Form::new(ranks, cost, move |_| Load::moving(each, each))
}

/// The number of steps for a bit: more than one if the numbers below `n` that have it form whole runs followed by a
/// shorter one.
fn acts(bit: usize, n: usize) -> usize {
    let whole = n >> bit >> 1;
    let cut = with_bit(bit, n) > whole << bit;
    if whole > 0 && cut { 4 } else { 1 }
}

/// The count of numbers below `n` that have a bit set.
fn with_bit(bit: usize, n: usize) -> usize {
    let half = 1 << bit;
    // The upper half of every 2^(bit+1) numbers has it; the last such run may be cut.
    let last = if n & half == 0 { 0 } else { n & (half - 1) };
    (n >> bit >> 1 << bit) + last
}
