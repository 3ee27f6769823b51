//! Algorithms in which every rank owns a block: ring, gather, all-gather, all-to-all.

use super::{Cost, Form, Load, assert_some, ceil_log2, far_halving_reduce_scatter};
use crate::Rank;
use crate::span;
use crate::topology::Topology;

/// A vector with a block for every rank.
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

    /// The elements of a rank's block.
    fn of(&self, rank: Rank) -> usize {
        span::block(self.length, self.ranks, rank).len()
    }

    /// The elements of all other blocks.
    fn but(&self, rank: Rank) -> usize {
        self.length - self.of(rank)
    }

    /// The elements of so many blocks from one on, round the circle.
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

    /// So many steps, in which so many blocks move in all.
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
/// If there is no rank.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 4.
pub fn ring_reduce_scatter(ranks: usize, length: usize) -> Form {
    let (blocks, steps) = (Blocks::new(ranks, length), ranks - 1);
    let load = move |rank| {
        // What comes in are all blocks but that of the rank before, which that one keeps.
        let before = (rank + steps) % ranks;
        Load::moving((steps, blocks.but(rank)), (steps, blocks.but(before))).and_folding()
    };
    Form::new(ranks, blocks.cost(steps, steps).and_folding(), load)
}

/// All-reduce on a ring: reduce-scatter, then all-gather.
///
/// # Cost
///
/// `2 (P-1) (α + (N/P) β) + (P-1) (N/P) γ`.
///
/// # Panics
///
/// If there is no rank.
///
/// # Source
///
/// As [`ring_reduce_scatter`].
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
/// If there is no rank.
///
/// # Source
///
/// Grama, Gupta, Karypis and Kumar, *Introduction to Parallel Computing*, 4.4.
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

/// All-gather in the least number of steps: twice as many blocks in each, then two local copies.
///
/// # Cost
///
/// `⌈log₂ P⌉ α + N (P-1)/P β`.
///
/// # Panics
///
/// If there is no rank.
///
/// # Source
///
/// Bruck, Ho, Kipnis, Upfal and Weathersby, *Efficient algorithms for all-to-all communications in
/// multiport message-passing systems*, 1997.
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

/// Broadcast of long vectors from rank 0: the binomial scatter, then an all-gather, by recursive
/// doubling where P is a power of two and on a ring elsewhere.
///
/// With another all-gather it is
/// `binomial_gather(ranks, length).reversed().`[`then`](Form::then)`(that)`.
///
/// # Cost
///
/// `2 (d α + N (P-1)/P β)` for `P = 2^d`; elsewhere `(⌈log₂ P⌉ + P - 1) α + 2 N (P-1)/P β`.
///
/// # Panics
///
/// If there is no rank.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, chapter 11, and van de Geijn.
pub fn scatter_all_gather(ranks: usize, length: usize) -> Form {
    let all_gather = if ranks.is_power_of_two() {
        far_halving_reduce_scatter(ranks, length)
    } else {
        ring_reduce_scatter(ranks, length)
    };
    let scatter = binomial_gather(ranks, length).reversed();
    scatter.then(all_gather.reversed())
}

/// All-to-all, one partner a step, of inputs of so many elements.
///
/// # Cost
///
/// `(P-1) (α + (N/P) β)`; one rank copies in one step.
///
/// # Panics
///
/// If there is no rank.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 3.
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

/// All-to-all in the least number of steps: what has to go j ranks further travels by the bits of j.
///
/// Blocks travel in slots as long as the longest of them. Steps count the local copies too: a rank fills
/// its slots one by one, empties them in two, and packs those of a bit that do not lie regularly.
///
/// # Cost
///
/// `⌈log₂ P⌉` messages of at most `⌊P/2⌋` slots: `log₂ P (α + (N/2) β)` for powers of two that divide N.
///
/// # Panics
///
/// If there is no rank.
///
/// # Source
///
/// As [`bruck_all_gather`].
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

/// The steps of a bit: more than one where the numbers below `n` that have it are whole runs and one that
/// is cut.
fn acts(bit: usize, n: usize) -> usize {
    let whole = n >> bit >> 1;
    let cut = with_bit(bit, n) > whole << bit;
    if whole > 0 && cut { 4 } else { 1 }
}

/// How many of the numbers below `n` have a bit set.
fn with_bit(bit: usize, n: usize) -> usize {
    let half = 1 << bit;
    // Of every 2^(bit+1) numbers the upper half has it; the last such run may be cut.
    let last = if n & half == 0 { 0 } else { n & (half - 1) };
    (n >> bit >> 1 << bit) + last
}
