//! Reductions across the dimensions of a hypercube: with whole vectors, with recursively halved ones, and hybrids.
//!
//! Halving cuts the vector into as many *parts* as there are ranks in the cube. A rank starts with all of them and in
//! every step keeps half of what it has. The *path* of a rank is the number whose bits, highest first, select the
//! halves. A rank ends with the part whose number is its path.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{
    Combine, FoldAlong, HandOut, Lengths, Proxied, Region, Reversed, Schedule, Step, Then, Transfer,
};
use crate::span::Blocks;
use crate::topology::Hypercube;

/// All-reduce by simple exchange: in step `s` every rank exchanges its whole vector with the rank `2^s` away. It works
/// for any number of ranks, and operands stay in rank order.
///
/// ```text
/// step 0   0↔1  2↔3  4↔5  6↔7
/// step 1   0↔2  1↔3  4↔6  5↔7
/// step 2   0↔4  1↔5  2↔6  3↔7
/// ```
///
/// # Cost
///
/// `d (α + N (β + γ))` with `d = ⌊log₂ P⌋`; `2 (α + N β) + N γ` more if P is not a power of two.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2, over the template of 11.1.
#[doc(alias = "butterfly")]
pub fn simple_exchange(ranks: usize, length: usize) -> Proxied<FoldAlong<Hypercube>> {
    let cube = Hypercube::new(ranks.ilog2());
    FoldAlong::new(cube, length).proxied(ranks, HandOut::Vector)
}

/// All-reduce by recursive halving followed by doubling. It works for any number of ranks, and operands stay in rank
/// order.
///
/// # Cost
///
/// `2 α d + N (P-1)/P (2β + γ)` for a power of two; `2 (α + N β) + N γ` more otherwise.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2; Rabenseifner, in Thakur, Rabenseifner and Gropp,
/// *Optimization of collective communication operations in MPICH*, 2005, section 4.5.
#[doc(alias = "recursive-halving")]
pub fn halving_all_reduce(
    ranks: usize,
    length: usize,
) -> Proxied<Then<Halving, Reversed<Halving>>> {
    let halving = Halving::new(ranks.ilog2(), length, Bisection::Near);
    halving
        .clone()
        .then(halving.reversed())
        .proxied(ranks, HandOut::Vector)
}

/// Reduce-scatter by recursive halving: rank `r` ends with block `r`. It works for any number of ranks, and operands
/// stay in rank order. Reversed, it is the all-gather by recursive doubling.
///
/// # Cost
///
/// `d` steps and `N` elements less the rank's own block; if `d ≥ 2`, one more step that brings the blocks to
/// [their ranks](Homing); two more steps if P is not a power of two.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2.
pub fn halving_reduce_scatter(ranks: usize, length: usize) -> Proxied<Then<Halving, Homing>> {
    halving_to_blocks(Blocks::even(length, ranks))
}

/// The reduce-scatter of [`halving_reduce_scatter`] to given blocks.
///
/// # Cost
///
/// That of [`halving_reduce_scatter`], with a rank's own block in place of `N/P`.
///
/// # Panics
///
/// If there are no blocks.
#[track_caller]
pub fn halving_to_blocks(blocks: Blocks) -> Proxied<Then<Halving, Homing>> {
    let ranks = blocks.parts();
    let halving = Halving::to_blocks(blocks.clone(), Bisection::Near);
    let homing = Homing {
        halving: halving.clone(),
    };
    halving
        .then(homing)
        .proxied(ranks, HandOut::Block)
        .cut(blocks)
}

/// Reduce-scatter by recursive halving with the farthest partner first. It needs no step that brings blocks to their
/// ranks, but the operator must commute. It works for any number of ranks.
///
/// # Cost
///
/// `d` steps and `N` elements less the rank's own block; two more steps if P is not a power of two.
///
/// # Panics
///
/// If there are no blocks.
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 4.3.
#[track_caller]
pub fn far_halving_to_blocks(blocks: Blocks) -> Proxied<Halving> {
    let ranks = blocks.parts();
    Halving::to_blocks(blocks.clone(), Bisection::Far)
        .proxied(ranks, HandOut::Block)
        .cut(blocks)
}

/// A hybrid all-reduce: `stages` steps of halving, simple exchange of the rest, and the halving reversed. It works for
/// any number of ranks, and operands stay in rank order.
///
/// # Cost
///
/// `(d+s) α + (N - x)(2β + γ) + (d-s) x (β + γ)` with `s` stages and `x = N/2^s`.
///
/// # Panics
///
/// If `stages` exceeds the number of dimensions.
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2.
#[track_caller]
pub fn hybrid_all_reduce(
    ranks: usize,
    length: usize,
    stages: u32,
) -> Proxied<Then<Then<Halving, Rest>, Reversed<Halving>>> {
    let halving = Halving::new(ranks.ilog2(), length, Bisection::Near).stop_after(stages);
    let rest = Rest {
        halving: halving.clone(),
    };
    let whole = halving.clone().then(rest).then(halving.reversed());
    whole.proxied(ranks, HandOut::Vector)
}

/// The order of a rank's partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bisection {
    /// The neighbour, then the rank 2 away, 4, ...: operands folded together always form a contiguous range of ranks,
    /// so their order survives. Rank `v` ends with the part whose number is `v` with its bits reversed.
    Near,
    /// The rank half the cube away, then a quarter, ...: rank `v` ends with part `v`, but the operands are out of
    /// order.
    Far,
}

/// Recursive halving among `2^d` ranks: in every step a rank exchanges half of its remaining elements with its partner,
/// and folds the other half.
///
/// ```text
/// near, eight parts       rank 0      rank 1      rank 2      rank 3   ...
/// step 0  partner 1       0 1 2 3     4 5 6 7     0 1 2 3     4 5 6 7
/// step 1  partner 2       0 1         4 5         2 3         6 7
/// step 2  partner 4       0           4           2           6        ... then 1 5 3 7
/// ```
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halving {
    dimensions: u32,
    stages: u32,
    blocks: Blocks,
    bisection: Bisection,
    /// The first `doubled` parts are two blocks each, the others one.
    doubled: usize,
}

impl Halving {
    /// Halving of vectors of `length` elements among `2^dimensions` ranks, down to one part each.
    pub fn new(dimensions: u32, length: usize, bisection: Bisection) -> Halving {
        Halving::to_blocks(Blocks::even(length, 1 << dimensions), bisection)
    }

    /// Halving down to the blocks of any number of ranks, among the largest power of two of them: the first parts are
    /// two blocks, for a rank and its neighbour, as [`Proxied`] ranks require.
    ///
    /// # Panics
    ///
    /// If there are no blocks.
    #[track_caller]
    pub fn to_blocks(blocks: Blocks, bisection: Bisection) -> Halving {
        assert!(blocks.parts() > 0, "a reduction of 0 ranks");
        let dimensions = blocks.parts().ilog2();
        Halving {
            dimensions,
            stages: dimensions,
            doubled: blocks.parts() - (1 << dimensions),
            blocks,
            bisection,
        }
    }

    /// The same halving down to the blocks of `ranks` ranks, more than the cube has, cut evenly.
    ///
    /// # Panics
    ///
    /// If `ranks` is less than the number of ranks of the cube, or at least twice that.
    #[track_caller]
    pub fn for_blocks_of(self, ranks: usize) -> Halving {
        let parts = self.ranks();
        assert!(
            (parts..2 * parts).contains(&ranks),
            "{ranks} blocks in {parts} parts"
        );
        let blocks = Blocks::even(self.blocks.length(), ranks);
        Halving {
            stages: self.stages,
            ..Halving::to_blocks(blocks, self.bisection)
        }
    }

    /// The first `stages` steps of the halving.
    ///
    /// # Panics
    ///
    /// If it has fewer steps.
    #[track_caller]
    pub fn stop_after(self, stages: u32) -> Halving {
        assert!(stages <= self.stages, "{stages} stages of {}", self.stages);
        Halving { stages, ..self }
    }

    /// The number of the part with which a rank ends if no step is left out.
    #[inline]
    fn path(&self, v: Rank) -> usize {
        match self.bisection {
            Bisection::Near => reverse_bits(v, self.dimensions),
            Bisection::Far => v,
        }
    }

    /// The range of consecutive parts in the vector.
    #[inline]
    fn parts(&self, parts: Range<usize>) -> Range<usize> {
        let [start, end] = self.starts([parts.start, parts.end]);
        start..end
    }

    /// The starts of some parts.
    #[inline(always)]
    fn starts<const N: usize>(&self, parts: [usize; N]) -> [usize; N] {
        let block = |part: usize| part + part.min(self.doubled);
        self.blocks.cuts(parts.map(block))
    }

    /// The parts that a rank keeps in a stage, and those that it sends to its partner.
    #[inline(always)]
    fn halves(&self, v: Rank, stage: u32) -> (Range<usize>, Range<usize>) {
        let path = self.path(v);
        let had = self.left(path, stage);
        let middle = had.start.midpoint(had.end);
        let [start, cut, end] = self.starts([had.start, middle, had.end]);
        if path >= middle {
            (cut..end, start..cut)
        } else {
            (start..cut, cut..end)
        }
    }

    /// The parts that remain on a path after `stages` stages.
    #[inline]
    fn left(&self, path: usize, stages: u32) -> Range<usize> {
        let log = self.dimensions - stages;
        let first = path >> log << log;
        first..first + (1 << log)
    }

    #[inline]
    fn partner(&self, v: Rank, stage: u32) -> Rank {
        match self.bisection {
            Bisection::Near => v ^ 1 << stage,
            Bisection::Far => v ^ 1 << (self.dimensions - 1 - stage),
        }
    }
}

impl Schedule for Halving {
    fn ranks(&self) -> usize {
        1 << self.dimensions
    }

    fn steps(&self) -> usize {
        self.stages as usize
    }

    #[inline(always)] // a call would copy the step, which costs more than making it
    fn step(&self, v: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        let stage = step as u32;
        let peer = self.partner(v, stage);
        let (kept, given) = self.halves(v, stage);
        let (kept, given) = (Region::output(kept), Region::output(given));
        Step {
            send: Some(Transfer {
                peer,
                region: given,
            }),
            recv: Some(Transfer { peer, region: kept }),
            combine: Combine::by_rank(v, peer),
            ..Step::IDLE
        }
    }

    fn may_copy(&self) -> bool {
        false
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.blocks.length())
    }
}

/// The step after near halving: every rank exchanges its part with the rank that holds its own.
///
/// ```text
/// 0   1 ↔ 4   2   3 ↔ 6   5   7        (0  1 2  3, four ranks: 1 ↔ 2)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homing {
    halving: Halving,
}

impl Schedule for Homing {
    fn ranks(&self) -> usize {
        self.halving.ranks()
    }

    fn steps(&self) -> usize {
        usize::from(self.halving.dimensions >= 2)
    }

    #[inline]
    fn step(&self, v: Rank, step: usize) -> Step {
        let peer = self.halving.path(v);
        if step >= self.steps() || peer == v {
            return Step::IDLE;
        }
        let part = |part: usize| {
            let region = Region::output(self.halving.parts(part..part + 1));
            Some(Transfer { peer, region })
        };
        Step {
            send: part(peer),
            recv: part(v),
            ..Step::IDLE
        }
    }

    fn may_copy(&self) -> bool {
        false
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.halving.lengths(rank)
    }
}

/// The dimensions that halving left out: a simple exchange of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    halving: Halving,
}

impl Schedule for Rest {
    fn ranks(&self) -> usize {
        self.halving.ranks()
    }

    fn steps(&self) -> usize {
        (self.halving.dimensions - self.halving.stages) as usize
    }

    #[inline]
    fn step(&self, v: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        let stages = self.halving.stages;
        let peer = self.halving.partner(v, stages + step as u32);
        let left = self.halving.left(self.halving.path(v), stages);
        let region = Region::output(self.halving.parts(left));
        let transfer = Some(Transfer { peer, region });
        Step {
            send: transfer,
            recv: transfer,
            combine: Combine::by_rank(v, peer),
            ..Step::IDLE
        }
    }

    fn may_copy(&self) -> bool {
        false
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.halving.lengths(rank)
    }
}

/// The lowest `bits` bits of `v` in reverse; `bits` is less than the width.
#[inline]
fn reverse_bits(v: usize, bits: u32) -> usize {
    v.reverse_bits() >> 1 >> (usize::BITS - 1 - bits)
}
