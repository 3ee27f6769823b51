//! How a vector is cut into blocks: block `i` of `p` over `n` elements is
//! `floor(i n / p) .. floor((i + 1) n / p)`, so that halved ranges of blocks nest.

use std::ops::Range;
use std::sync::Arc;

/// Block `i` of `p` over `n` elements.
///
/// # Panics
///
/// If `i ≥ p`.
///
/// # Examples
///
/// ```
/// use rankfold::span::block;
/// assert_eq!([block(10, 3, 0), block(10, 3, 1), block(10, 3, 2)], [0..3, 3..6, 6..10]);
/// ```
#[inline]
pub fn block(n: usize, p: usize, i: usize) -> Range<usize> {
    assert!(i < p, "block {i} of {p}");
    cut(n, p, i)..cut(n, p, i + 1)
}

/// Where block `i` of `p` over `n` elements starts; `n` for `i = p`.
///
/// # Panics
///
/// If `i > p`, or if there are no blocks.
///
/// # Examples
///
/// ```
/// use rankfold::span::cut;
/// assert_eq!([cut(10, 3, 0), cut(10, 3, 1), cut(10, 3, 3)], [0, 3, 10]);
/// ```
#[inline]
pub fn cut(n: usize, p: usize, i: usize) -> usize {
    assert!(i <= p, "cut {i} of {p} blocks");
    // Schedules cut in every step, and dividing 128 bits is slow: only where the product needs them.
    match i.checked_mul(n) {
        Some(product) if p.is_power_of_two() => product >> p.trailing_zeros(),
        Some(product) => product / p,
        None => (i as u128 * n as u128 / p as u128) as usize,
    }
}

/// How a vector is cut into a block for each rank: evenly, or by a count for each.
///
/// Cloning costs a few words: counts are shared.
///
/// # Examples
///
/// ```
/// use rankfold::span::Blocks;
///
/// assert_eq!(Blocks::even(10, 3).block(1), 3..6);
/// let uneven = Blocks::of(&[4, 0, 6]).unwrap();
/// assert_eq!((uneven.parts(), uneven.length(), uneven.block(2)), (3, 10, 4..10));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    cuts: Cuts,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Cuts {
    Even {
        length: usize,
        parts: usize,
    },
    /// Where each block starts, and at last the length.
    At(Arc<[usize]>),
}

impl Blocks {
    /// So many blocks over so many elements, as [`block`] cuts them.
    pub const fn even(length: usize, parts: usize) -> Blocks {
        Blocks {
            cuts: Cuts::Even { length, parts },
        }
    }

    /// Blocks of these lengths, one after another; `None` if their sum is no number.
    pub fn of(counts: &[usize]) -> Option<Blocks> {
        let mut cuts = Vec::with_capacity(counts.len() + 1);
        let mut end = 0usize;
        cuts.push(0);
        for count in counts {
            end = end.checked_add(*count)?;
            cuts.push(end);
        }
        Some(Blocks {
            cuts: Cuts::At(cuts.into()),
        })
    }

    /// The number of blocks.
    pub fn parts(&self) -> usize {
        match &self.cuts {
            Cuts::Even { parts, .. } => *parts,
            Cuts::At(cuts) => cuts.len() - 1,
        }
    }

    /// The elements of all blocks.
    pub fn length(&self) -> usize {
        match &self.cuts {
            Cuts::Even { length, .. } => *length,
            Cuts::At(cuts) => cuts[cuts.len() - 1],
        }
    }

    /// Whether this is the even cut, and not counts.
    pub fn is_even(&self) -> bool {
        matches!(self.cuts, Cuts::Even { .. })
    }

    /// Where block `i` starts; the length for `i = parts`.
    ///
    /// # Panics
    ///
    /// If `i > parts`, or if there are no blocks.
    pub fn cut(&self, i: usize) -> usize {
        match &self.cuts {
            Cuts::Even { length, parts } => cut(*length, *parts, i),
            Cuts::At(cuts) => cuts[i],
        }
    }

    /// Where block `i` is.
    ///
    /// # Panics
    ///
    /// If `i ≥ parts`.
    pub fn block(&self, i: usize) -> Range<usize> {
        self.run(i..i + 1)
    }

    /// Where a run of blocks is.
    ///
    /// # Panics
    ///
    /// If it ends beyond the last block, or if there are none.
    pub fn run(&self, blocks: Range<usize>) -> Range<usize> {
        self.cut(blocks.start)..self.cut(blocks.end)
    }

    /// The length of block `i`.
    ///
    /// # Panics
    ///
    /// If `i ≥ parts`.
    pub fn count(&self, i: usize) -> usize {
        self.block(i).len()
    }
}
