//! Cuts of vectors into blocks, and of all-to-all buffers into pieces for pairs of ranks. An even cut has a closed
//! form: block `i` of `p` over `n` elements is `floor(i n / p) .. floor((i + 1) n / p)`, so that halved ranges of
//! blocks nest.

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

/// The start of block `i` of `p` over `n` elements; `n` for `i = p`.
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
    if i > p {
        no_cut(i, p);
    }
    // Division of 128-bit numbers is slow, so it is used only where the product needs them.
    match i.checked_mul(n) {
        Some(product) => product / p,
        None => (i as u128 * n as u128 / p as u128) as usize,
    }
}

/// Kept out of line: a message with numbers would keep them in memory.
#[cold]
fn no_cut(i: usize, p: usize) -> ! {
    panic!("cut {i} of {p} blocks");
}

/// The cut of a vector into one block per rank: evenly, or with a count for each.
///
/// Cloning copies a few words: counts are shared.
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
        /// `parts` is two to this power, and no product of a part and the length overflows: schedules cut in every
        /// step, and must not divide.
        log: Option<u32>,
    },
    /// The start of each block, followed by the length.
    At(Arc<[usize]>),
}

impl Blocks {
    /// `parts` blocks over `length` elements, as [`block`] cuts them.
    pub const fn even(length: usize, parts: usize) -> Blocks {
        let plain = parts.is_power_of_two() && parts.checked_mul(length).is_some();
        let log = if plain { Some(parts.ilog2()) } else { None };
        Blocks {
            cuts: Cuts::Even { length, parts, log },
        }
    }

    /// Blocks of these lengths, one after another; `None` if their sum overflows.
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
    #[inline]
    pub fn parts(&self) -> usize {
        match &self.cuts {
            Cuts::Even { parts, .. } => *parts,
            Cuts::At(cuts) => cuts.len() - 1,
        }
    }

    /// The total number of elements.
    #[inline]
    pub fn length(&self) -> usize {
        match &self.cuts {
            Cuts::Even { length, .. } => *length,
            Cuts::At(cuts) => cuts[cuts.len() - 1],
        }
    }

    /// Whether this is the even cut, not one with counts.
    pub fn is_even(&self) -> bool {
        matches!(self.cuts, Cuts::Even { .. })
    }

    /// The start of block `i`; the length for `i = parts`.
    ///
    /// # Panics
    ///
    /// If `i > parts`, or if there are no blocks.
    #[inline]
    pub fn cut(&self, i: usize) -> usize {
        match &self.cuts {
            Cuts::Even { length, parts, .. } => cut(*length, *parts, i),
            Cuts::At(cuts) => cuts[i],
        }
    }

    /// The starts of several blocks, as returned by [`cut`](Self::cut); faster than separate calls.
    ///
    /// # Panics
    ///
    /// As [`cut`](Self::cut).
    #[inline(always)]
    pub fn cuts<const N: usize>(&self, blocks: [usize; N]) -> [usize; N] {
        match self.cuts {
            Cuts::Even {
                length,
                parts,
                log: Some(log),
            } if blocks.iter().all(|&i| i <= parts) => blocks.map(|i| (i * length) >> log),
            _ => self.uneven_cuts(blocks),
        }
    }

    #[cold] // keeps it from taking registers from the fast path
    fn uneven_cuts<const N: usize>(&self, blocks: [usize; N]) -> [usize; N] {
        blocks.map(|i| self.cut(i))
    }

    /// The range of block `i`.
    ///
    /// # Panics
    ///
    /// If `i ≥ parts`.
    #[inline]
    pub fn block(&self, i: usize) -> Range<usize> {
        self.run(i..i + 1)
    }

    /// The range of consecutive blocks.
    ///
    /// # Panics
    ///
    /// If the last one is beyond the last block of the vector, or if there are no blocks.
    #[inline]
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

    /// The length of the longest block; 0 if there are none.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::span::Blocks;
    ///
    /// assert_eq!(Blocks::even(10, 4).longest(), 3);
    /// ```
    #[inline]
    pub fn longest(&self) -> usize {
        match &self.cuts {
            Cuts::Even { length, parts, .. } => length.div_ceil((*parts).max(1)),
            Cuts::At(cuts) => cuts
                .windows(2)
                .map(|ends| ends[1] - ends[0])
                .max()
                .unwrap_or(0),
        }
    }
}

/// The elements that every rank has for every other in an all-to-all: the blocks of one cut that all inputs share, or a
/// count for each pair.
///
/// Cloning copies a few words: counts are shared.
///
/// # Examples
///
/// Rank 0 keeps one element and sends two, rank 1 sends three and keeps none:
///
/// ```
/// use rankfold::span::Pieces;
///
/// let pieces = Pieces::of(&[1, 2, 3, 0]).unwrap();
/// assert_eq!((pieces.sent(1, 0), pieces.put(0, 1)), (0..3, 1..4));
/// assert_eq!((pieces.input(0), pieces.output(0)), (3, 4));
/// assert_eq!(Pieces::of(&[1, 2, 3]), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pieces {
    counts: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Counts {
    /// All inputs have this cut.
    Alike(Blocks),
    /// The start of each piece in the input of its sender, by sender and receiver, and in the output of its receiver,
    /// by receiver and sender; each row is followed by its length.
    Pairs {
        ranks: usize,
        sent: Arc<[usize]>,
        put: Arc<[usize]>,
    },
}

impl Pieces {
    /// Block `q` of every input goes to rank `q`.
    pub const fn alike(blocks: Blocks) -> Pieces {
        Pieces {
            counts: Counts::Alike(blocks),
        }
    }

    /// `counts[p * n + q]` elements from rank `p` to rank `q`, of `n` ranks; `None` if there is not exactly one count
    /// for each pair, or a sum overflows.
    pub fn of(counts: &[usize]) -> Option<Pieces> {
        let ranks = counts.len().isqrt();
        if ranks * ranks != counts.len() {
            return None;
        }
        let starts = |count: &dyn Fn(usize, usize) -> usize| {
            let mut starts = Vec::with_capacity(ranks * (ranks + 1));
            for one in 0..ranks {
                let mut end = 0usize;
                starts.push(end);
                for other in 0..ranks {
                    end = end.checked_add(count(one, other))?;
                    starts.push(end);
                }
            }
            Some(starts.into())
        };
        Some(Pieces {
            counts: Counts::Pairs {
                ranks,
                sent: starts(&|from, to| counts[from * ranks + to])?,
                put: starts(&|to, from| counts[from * ranks + to])?,
            },
        })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        match &self.counts {
            Counts::Alike(blocks) => blocks.parts(),
            Counts::Pairs { ranks, .. } => *ranks,
        }
    }

    /// The range in the input of `from` that goes to `to`.
    ///
    /// # Panics
    ///
    /// If `from` or `to` is not a rank.
    pub fn sent(&self, from: usize, to: usize) -> Range<usize> {
        match &self.counts {
            Counts::Alike(blocks) => blocks.block(to),
            Counts::Pairs { ranks, sent, .. } => start(sent, *ranks, from, to),
        }
    }

    /// The range in the output of `to` that comes from `from`.
    ///
    /// # Panics
    ///
    /// If `from` or `to` is not a rank.
    pub fn put(&self, to: usize, from: usize) -> Range<usize> {
        match &self.counts {
            Counts::Alike(blocks) => {
                let count = blocks.count(to);
                from * count..(from + 1) * count
            }
            Counts::Pairs { ranks, put, .. } => start(put, *ranks, to, from),
        }
    }

    /// The length of a rank's input.
    ///
    /// # Panics
    ///
    /// If `rank` is out of range.
    pub fn input(&self, rank: usize) -> usize {
        self.sent(rank, self.ranks() - 1).end
    }

    /// The length of a rank's output.
    ///
    /// # Panics
    ///
    /// If `rank` is out of range.
    pub fn output(&self, rank: usize) -> usize {
        self.put(rank, self.ranks() - 1).end
    }
}

/// The range of a piece in a square of starts with an end after each row.
fn start(starts: &[usize], ranks: usize, row: usize, column: usize) -> Range<usize> {
    assert!(
        row < ranks && column < ranks,
        "{row}, {column} of {ranks} ranks"
    );
    let at = row * (ranks + 1) + column;
    starts[at]..starts[at + 1]
}
