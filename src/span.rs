//! How a vector is cut into blocks: block `i` of `p` over `n` elements is
//! `floor(i n / p) .. floor((i + 1) n / p)`, so that halved ranges of blocks nest.

use std::ops::Range;

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
