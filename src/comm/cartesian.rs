//! Ranks on a grid: coordinates and neighbours.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;

use super::Comm;
use super::neighborhood::Neighborhood;
use super::rounds::Leg;
use crate::Rank;
use crate::error::{Error, Result};
use crate::transport::communicator::call::{Call, Detail, Grid, Verb, digest};
use crate::transport::trace::origin::Birth;

/// A communicator whose ranks are arranged on a grid of any number of dimensions, with the last coordinate running
/// fastest. It dereferences to [`Neighborhood`], which has the collectives among neighbours.
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
    neighborhood: Neighborhood,
    places: Places,
}

impl fmt::Debug for Cartesian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, "Cartesian")
    }
}

impl Deref for Cartesian {
    type Target = Neighborhood;

    fn deref(&self) -> &Neighborhood {
        &self.neighborhood
    }
}

impl Cartesian {
    /// Makes a communicator of the ranks of `comm` on a grid of `dims[i]` ranks in each dimension `i`. Where a
    /// dimension is periodic, its two ends are neighbours. All ranks call it together, with the same grid.
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
        let site = Location::caller();
        if let Err(refusal) = check_grid(dims, periodic, comm.size()) {
            let show = || format!("cartesian({dims:?}, {periodic:?})");
            return comm.op(site, &show, || Err(refusal));
        }
        let call = Call {
            detail: Detail::Grid(Grid::new(dims, periodic)),
            algorithm: digest(&(dims, periodic)),
            ..comm.call(Verb::Cartesian, site)
        };
        let comm = comm.once_more(call, &Birth::Cartesian(dims.into()))?;
        let places = Places {
            dims: dims.to_vec(),
            periodic: periodic.to_vec(),
        };
        Ok(Cartesian {
            neighborhood: places.neighborhood(comm),
            places,
        })
    }

    /// Returns the number of ranks in each dimension.
    #[doc(alias = "MPI_Cart_get")]
    pub fn dims(&self) -> &[usize] {
        &self.places.dims
    }

    /// Returns the coordinates of a rank.
    ///
    /// # Panics
    ///
    /// Panics if there is no such rank.
    #[doc(alias = "MPI_Cart_coords")]
    #[track_caller]
    pub fn coords(&self, rank: Rank) -> Vec<usize> {
        assert!(
            rank < self.size(),
            "rank {rank} of a grid of {}",
            self.size()
        );
        self.places.coords(rank)
    }

    /// Returns the rank at `coords`; `None` beyond the end of a dimension that is not periodic.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer or more coordinates than dimensions.
    #[doc(alias = "MPI_Cart_rank")]
    #[track_caller]
    pub fn rank_at(&self, coords: &[isize]) -> Option<Rank> {
        let dims = self.dims();
        let (given, wanted) = (coords.len(), dims.len());
        assert!(
            given == wanted,
            "{given} coordinates in a grid of {wanted} dimensions"
        );
        let mut rank = 0;
        for (dimension, &coord) in coords.iter().enumerate() {
            rank = rank * dims[dimension] + self.places.along(dimension, coord as i128)?;
        }
        Some(rank)
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
    #[track_caller]
    pub fn shift(&self, dimension: usize, by: isize) -> (Option<Rank>, Option<Rank>) {
        let dimensions = self.dims().len();
        assert!(
            dimension < dimensions,
            "dimension {dimension} of a grid of {dimensions}"
        );
        self.places.shift(self.rank(), dimension, by)
    }
}

fn check_grid(dims: &[usize], periodic: &[bool], ranks: usize) -> Result<()> {
    if dims.len() != periodic.len() {
        return Err(Error::usage(format!(
            "{} dimensions, and whether {} are periodic",
            dims.len(),
            periodic.len()
        )));
    }
    let mut sides = dims.iter();
    let places = match sides.try_fold(1usize, |all, dim| all.checked_mul(*dim)) {
        Some(places) if places == ranks => return Ok(()),
        Some(places) => places.to_string(),
        None => "countless".into(),
    };
    Err(Error::usage(format!(
        "a grid of {dims:?} has {places} places, and there are {ranks} ranks"
    )))
}

/// The dimensions of a grid, and which of them are periodic.
struct Places {
    dims: Vec<usize>,
    periodic: Vec<bool>,
}

impl Places {
    fn coords(&self, rank: Rank) -> Vec<usize> {
        let mut rest = rank;
        let mut coords = vec![0; self.dims.len()];
        for (coord, dim) in coords.iter_mut().zip(&self.dims).rev() {
            (*coord, rest) = (rest % dim, rest / dim);
        }
        coords
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

    fn shift(&self, rank: Rank, dimension: usize, by: isize) -> (Option<Rank>, Option<Rank>) {
        let here = self.coords(rank)[dimension];
        // The distance in rank numbers between neighbours along the dimension.
        let apart: usize = self.dims[dimension + 1..].iter().product();
        let moved = |by: i128| {
            let there = self.along(dimension, here as i128 + by)?;
            Some(rank + there * apart - here * apart)
        };
        (moved(-(by as i128)), moved(by as i128))
    }

    /// The neighbours of this rank. There are two rounds for each dimension: all ranks send up, then all send down.
    fn neighborhood(&self, comm: Comm) -> Neighborhood {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for dimension in 0..self.dims.len() {
            let (below, above) = self.shift(comm.rank(), dimension, 1);
            // The places of the blocks; the rounds have the same numbers.
            let (low, high) = (2 * dimension, 2 * dimension + 1);
            let (up, down) = (low, high);
            sends.extend(
                leg(up, above, high)
                    .into_iter()
                    .chain(leg(down, below, low)),
            );
            receives.extend(
                leg(up, below, low)
                    .into_iter()
                    .chain(leg(down, above, high)),
            );
        }
        Neighborhood::of_grid(comm, 2 * self.dims.len(), sends, receives)
    }
}

fn leg(round: usize, peer: Option<Rank>, place: usize) -> Option<Leg> {
    let peer = peer?;
    Some(Leg { round, peer, place })
}
