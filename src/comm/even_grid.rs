//! The most even grid of a number of ranks.

/// Returns the most even grid of `dimensions` dimensions for `ranks` ranks, longest dimension first: the longest one is as
/// short as it can be, then the next one.
///
/// # Panics
///
/// Panics if `ranks` is 0 or more than `u32::MAX`, or if `dimensions` is 0 or there is no memory for as many.
///
/// # Examples
///
/// ```
/// use rankfold::even_grid;
///
/// assert_eq!(even_grid(72, 2), [9, 8]);
/// assert_eq!(even_grid(7, 3), [7, 1, 1]);
/// ```
#[doc(alias = "MPI_Dims_create")]
#[track_caller]
pub fn even_grid(ranks: usize, dimensions: usize) -> Vec<usize> {
    assert!(dimensions > 0, "a grid without dimensions");
    assert!(ranks > 0, "a grid without ranks");
    assert!(
        u32::try_from(ranks).is_ok(),
        "a grid of {ranks} ranks, which are more than any world has"
    );
    let mut grid = Vec::new();
    if grid.try_reserve_exact(dimensions).is_err() {
        panic!("no memory for a grid of {dimensions} dimensions");
    }
    // No number of ranks has more factors than bits.
    grid.extend(evenest(
        ranks,
        dimensions.min(usize::BITS as usize),
        &divisors(ranks),
    ));
    grid.resize(dimensions, 1);
    grid
}

/// The most even grid of `n` places in at most `dimensions` dimensions, without those of one place.
fn evenest(n: usize, dimensions: usize, divisors: &[usize]) -> Vec<usize> {
    if n == 1 {
        return Vec::new();
    }
    let least = largest_prime(n);
    let may_be_longest = |side: usize| {
        side >= least && n.is_multiple_of(side) && side.saturating_pow(dimensions as u32) >= n
    };
    let sides = divisors.iter().filter(|side| may_be_longest(**side));
    let mut grids = sides.map(|&side| {
        let mut grid = vec![side];
        grid.extend(evenest(n / side, dimensions - 1, divisors));
        grid
    });
    let found = grids.find(|grid| grid.get(1).is_none_or(|next| *next <= grid[0]));
    found.unwrap_or_else(|| vec![n])
}

/// All divisors of `n`, in order.
fn divisors(n: usize) -> Vec<usize> {
    let up_to_root = (1..).take_while(|one| one * one <= n);
    let low: Vec<usize> = up_to_root.filter(|one| n.is_multiple_of(*one)).collect();
    let high = low.iter().rev().map(|one| n / one);
    let mut all: Vec<usize> = low.iter().copied().chain(high).collect();
    all.dedup();
    all
}

/// The largest prime factor of `n`, which is more than 1.
fn largest_prime(mut n: usize) -> usize {
    let mut factor = 2;
    while factor * factor <= n {
        match n.is_multiple_of(factor) {
            true => n /= factor,
            false => factor += 1,
        }
    }
    n
}
