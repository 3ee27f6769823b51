//! Ranks on a grid: coordinates, neighbours, and the exchange of halos between them.

use std::ops::Deref;
use std::panic::Location;

use super::Comm;
use crate::Rank;
use crate::engine::call::elements;
use crate::error::{Error, Result};
use crate::op::{Element, First};
use crate::schedule::{Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use crate::transport::communicator::call::{Call, Detail, Grid, Verb, digest};
use crate::transport::trace::origin::Birth;

/// A communicator whose ranks are arranged on a grid of any number of dimensions, with the last coordinate running
/// fastest. It dereferences to [`Comm`].
///
/// # Examples
///
/// Each rank of a ring of three gets the values of its left and right neighbours:
///
/// ```
/// use rankfold::{Cartesian, World};
///
/// let sides = World::new(3).run(|comm| {
///     let ring = Cartesian::new(comm, &[3], &[true])?;
///     let mut sides = [0; 2];
///     ring.neighbor_all_gather(&[10 * ring.rank()], &mut sides)?;
///     Ok(sides)
/// })?;
/// assert_eq!(sides, [[20, 10], [0, 20], [10, 0]]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
pub struct Cartesian {
    comm: Comm,
    dims: Vec<usize>,
    periodic: Vec<bool>,
}

impl Deref for Cartesian {
    type Target = Comm;

    fn deref(&self) -> &Comm {
        &self.comm
    }
}

/// Returns the most even grid of `dimensions` dimensions for `ranks` ranks, longest dimension first.
///
/// # Panics
///
/// Panics if `dimensions` is 0.
///
/// # Examples
///
/// ```
/// use rankfold::even_grid;
///
/// assert_eq!(even_grid(12, 2), [4, 3]);
/// assert_eq!(even_grid(7, 3), [7, 1, 1]);
/// ```
#[doc(alias = "MPI_Dims_create")]
pub fn even_grid(ranks: usize, dimensions: usize) -> Vec<usize> {
    assert!(dimensions > 0, "a grid without dimensions");
    let mut dims = vec![1; dimensions];
    for factor in prime_factors(ranks) {
        // The largest factor goes to the shortest side.
        dims.sort_unstable();
        dims[0] *= factor;
    }
    dims.sort_unstable_by(|a, b| b.cmp(a));
    dims
}

/// The prime factors of `n`, largest first.
fn prime_factors(mut n: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut factor = 2;
    while n > 1 {
        if factor * factor > n {
            factor = n;
        }
        while n.is_multiple_of(factor) {
            factors.push(factor);
            n /= factor;
        }
        factor += 1;
    }
    factors.reverse();
    factors
}

impl Cartesian {
    /// Makes a communicator of the ranks of `comm` on a grid of `dims[i]` ranks in each dimension `i`. Where a dimension
    /// is periodic, its two ends are neighbours. All ranks call it together, with the same grid.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the grid has another number of places than there are ranks, or `periodic`
    /// another number of dimensions; otherwise as [`dup`](Comm::dup).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// World::new(6).run(|comm| {
    ///     let grid = Cartesian::new(comm, &[2, 3], &[false, true])?;
    ///     assert_eq!(grid.coords(grid.rank()), [grid.rank() / 3, grid.rank() % 3]);
    ///     assert_eq!(grid.rank_at(&[1, -1]), Some(5)); // round the end of the second dimension
    ///     assert_eq!(grid.rank_at(&[2, 0]), None);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Cart_create")]
    #[track_caller]
    pub fn new(comm: &Comm, dims: &[usize], periodic: &[bool]) -> Result<Self> {
        let places = dims
            .iter()
            .try_fold(1usize, |all, dim| all.checked_mul(*dim));
        if places != Some(comm.size()) || dims.len() != periodic.len() {
            let (grid, ranks) = (
                format!("{dims:?} with {} ends", periodic.len()),
                comm.size(),
            );
            return Err(Error::usage(format!(
                "a grid of {grid} does not fit {ranks} ranks"
            )));
        }
        let call = Call {
            detail: Detail::Grid(Grid::new(dims, periodic)),
            algorithm: digest(&(dims, periodic)),
            ..comm.call(Verb::Cartesian, Location::caller())
        };
        Ok(Cartesian {
            comm: comm.once_more(call, &Birth::Cartesian(dims.into()))?,
            dims: dims.to_vec(),
            periodic: periodic.to_vec(),
        })
    }

    /// Returns the number of ranks in each dimension.
    #[doc(alias = "MPI_Cart_get")]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns the coordinates of a rank.
    ///
    /// # Panics
    ///
    /// Panics if there is no such rank.
    #[doc(alias = "MPI_Cart_coords")]
    pub fn coords(&self, rank: Rank) -> Vec<usize> {
        assert!(rank < self.size(), "rank {rank} of {}", self.size());
        let mut rest = rank;
        let mut coords = vec![0; self.dims.len()];
        for (coord, dim) in coords.iter_mut().zip(&self.dims).rev() {
            (*coord, rest) = (rest % dim, rest / dim);
        }
        coords
    }

    /// Returns the rank at `coords`; `None` beyond the end of a dimension that is not periodic.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer or more coordinates than dimensions.
    #[doc(alias = "MPI_Cart_rank")]
    pub fn rank_at(&self, coords: &[isize]) -> Option<Rank> {
        assert_eq!(
            coords.len(),
            self.dims.len(),
            "coordinates for another grid"
        );
        let mut rank = 0;
        for (place, &coord) in coords.iter().enumerate() {
            rank = rank * self.dims[place] + self.along(place, coord as i128)?;
        }
        Some(rank)
    }

    /// The index of a coordinate in a dimension. The coordinate is wider than `isize`, so that the sum of two cannot
    /// overflow.
    fn along(&self, dimension: usize, coord: i128) -> Option<usize> {
        let dim = self.dims[dimension] as i128;
        let around = if self.periodic[dimension] {
            coord.rem_euclid(dim)
        } else {
            coord
        };
        (0..dim).contains(&around).then_some(around as usize)
    }

    /// Returns the ranks `by` places below and above this one along a dimension: the source and the destination of a
    /// shift by `by`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// World::new(4).run(|comm| {
    ///     let line = Cartesian::new(comm, &[4], &[false])?;
    ///     let (below, above) = line.shift(0, 1);
    ///     assert_eq!((below, above), (line.rank().checked_sub(1), (line.rank() < 3).then(|| line.rank() + 1)));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Cart_shift")]
    pub fn shift(&self, dimension: usize, by: isize) -> (Option<Rank>, Option<Rank>) {
        let here = self.coords(self.rank())[dimension];
        // The distance in rank numbers between neighbours along the dimension.
        let apart: usize = self.dims[dimension + 1..].iter().product();
        let moved = |by: i128| {
            let there = self.along(dimension, here as i128 + by)?;
            Some(self.rank() + there * apart - here * apart)
        };
        (moved(-(by as i128)), moved(by as i128))
    }

    /// Sends a piece to each neighbour and receives one from each: the one below and the one above along the first
    /// dimension, then along the second, and so on.
    ///
    /// # Shape
    ///
    /// `input` and `output` have two pieces for each dimension, all of the same length. Where there is no neighbour,
    /// the piece of `input` is not sent and the piece of `output` stays unchanged.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if the buffers do not fit; otherwise as [`broadcast`](Comm::broadcast).
    ///
    /// # Examples
    ///
    /// Halos: each rank has three cells, and one cell of each neighbour on either side:
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// let cells = World::new(2).run(|comm| {
    ///     let line = Cartesian::new(comm, &[2], &[false])?;
    ///     let mut cells = [0; 5];
    ///     (1..4).for_each(|i| cells[i] = 10 * line.rank() + i);
    ///     let mut halo = [99; 2]; // beyond the ends of the line
    ///     line.neighbor_all_to_all(&[cells[1], cells[3]], &mut halo)?;
    ///     (cells[0], cells[4]) = (halo[0], halo[1]);
    ///     Ok(cells)
    /// })?;
    /// assert_eq!(cells, [[99, 1, 2, 3, 11], [3, 11, 12, 13, 99]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_alltoall")]
    #[track_caller]
    pub fn neighbor_all_to_all<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let piece = |place: usize, length: usize| place * length..(place + 1) * length;
        let call = self.call(Verb::NeighborAllToAll, Location::caller());
        self.around(call, input, output, (input.len(), piece))
    }

    /// Sends the same elements to each neighbour and receives a piece from each, in the order of
    /// [`neighbor_all_to_all`](Self::neighbor_all_to_all).
    ///
    /// # Shape
    ///
    /// `output` has room for two inputs for each dimension.
    ///
    /// # Errors
    ///
    /// As [`neighbor_all_to_all`](Self::neighbor_all_to_all).
    ///
    /// # Examples
    ///
    /// See [`Cartesian`].
    #[doc(alias = "MPI_Neighbor_allgather")]
    #[track_caller]
    pub fn neighbor_all_gather<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let pieces = input.len().saturating_mul(2 * self.dims.len());
        let call = self.call(Verb::NeighborAllGather, Location::caller());
        self.around(call, input, output, (pieces, |_, length| 0..length))
    }

    /// Exchanges pieces with all neighbours. The last argument is the total length of all pieces, and the place of each
    /// piece in the input.
    fn around<T: Element>(
        &self,
        call: Call,
        input: &[T],
        output: &mut [T],
        (all, piece): (usize, impl Fn(usize, usize) -> std::ops::Range<usize>),
    ) -> Result<()> {
        let pieces = 2 * self.dims.len();
        let length = all.checked_div(pieces).unwrap_or(0);
        let fits = output.len() == all && all == pieces * length;
        let fits = fits.then_some(()).ok_or_else(|| {
            let (given, room) = (input.len(), output.len());
            Error::usage(format!(
                "{pieces} equal pieces do not fit an input of {given} elements and an output of {room}"
            ))
        });
        let call = Call {
            length: Some(length),
            ..elements::<T>(call, length)
        };
        let shifts = (0..self.dims.len()).map(|dimension| self.shift(dimension, 1));
        let plan = Around {
            me: self.rank(),
            ranks: self.size(),
            neighbors: shifts.collect(),
            out: (0..pieces)
                .map(|place| Region::input(piece(place, length)))
                .collect(),
            length,
        };
        self.collective(
            call,
            || fits,
            |inside| inside.execute(&plan, input, output, &First),
        )
    }
}

/// The schedule of one rank: for each dimension a step up and a step down. It is valid only for that rank.
struct Around {
    me: Rank,
    ranks: usize,
    neighbors: Vec<(Option<Rank>, Option<Rank>)>,
    /// The elements that each neighbour gets.
    out: Vec<Region>,
    length: usize,
}

impl Schedule for Around {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        self.out.len()
    }

    fn step(&self, _: Rank, step: usize) -> Step {
        let Some(&(below, above)) = self.neighbors.get(step / 2) else {
            return Step::IDLE;
        };
        // Data sent up arrives from below, and the other way round.
        let (low, high) = (step / 2 * 2, step / 2 * 2 + 1);
        let (to, from, sent, got) = match step.is_multiple_of(2) {
            true => (above, below, high, low),
            false => (below, above, low, high),
        };
        let into = Region::output(got * self.length..(got + 1) * self.length);
        if to == Some(self.me) {
            let local = LocalCopy::new(self.out[sent], into);
            return Step {
                local: Some(local),
                ..Step::IDLE
            };
        }
        let transfer = |peer: Option<Rank>, region| {
            Some(Transfer {
                peer: peer?,
                region,
            })
        };
        Step {
            send: transfer(to, self.out[sent]),
            recv: transfer(from, into),
            ..Step::IDLE
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        let end = self.out.iter().filter_map(Region::end).max();
        Lengths {
            input: end.unwrap_or(0),
            output: self.out.len() * self.length,
            scratch: 0,
        }
    }
}
