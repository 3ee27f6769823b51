//! Distributed arrays: the part of a rank of an array that is distributed over a grid of ranks by blocks or cyclically.

use std::ffi::c_int;

use super::Datatype;
use super::build::{Block, MOST, beyond, blocks_within, too_many};
use super::decode::Made;
use crate::abi::*;
use crate::error::{Out, failure, require};

/// How an array is distributed, by dimension.
pub(crate) struct Distribution {
    pub ranks: c_int,
    pub rank: c_int,
    pub sizes: Vec<i64>,
    pub kinds: Vec<c_int>,
    pub arguments: Vec<c_int>,
    pub grid: Vec<c_int>,
    pub order: c_int,
}

impl Distribution {
    fn check(&self) -> Out {
        let places = self
            .grid
            .iter()
            .try_fold(1, |all: c_int, it| all.checked_mul(*it).filter(|_| *it > 0));
        require(places == Some(self.ranks), MPI_ERR_ARG, || {
            format!("a grid of {:?} has not {} ranks", self.grid, self.ranks)
        })?;
        require((0..self.ranks).contains(&self.rank), MPI_ERR_RANK, || {
            format!("{} is no rank of {}", self.rank, self.ranks)
        })?;
        require(self.sizes.iter().all(|size| *size > 0), MPI_ERR_ARG, || {
            format!("an array of {:?} has no elements", self.sizes)
        })?;
        require(
            [MPI_ORDER_C, MPI_ORDER_FORTRAN].contains(&self.order),
            MPI_ERR_ARG,
            || {
                format!(
                    "order {} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN",
                    self.order
                )
            },
        )
    }

    /// The place of the rank on the grid; the last dimension varies fastest, whatever the order of the array.
    fn coords(&self) -> Vec<c_int> {
        let mut left = self.rank;
        let mut coords: Vec<c_int> = Vec::new();
        for dim in self.grid.iter().rev() {
            coords.push(left % dim);
            left /= dim;
        }
        coords.reverse();
        coords
    }

    /// The indices of the rank in one dimension, as runs: the first of each, and how many there are.
    fn runs(&self, dimension: usize, coord: c_int) -> Out<Vec<(i64, i64)>> {
        let (size, places) = (self.sizes[dimension], i64::from(self.grid[dimension]));
        let (coord, argument) = (i64::from(coord), i64::from(self.arguments[dimension]));
        let is_default = argument == i64::from(MPI_DISTRIBUTE_DFLT_DARG);
        let block = match self.kinds[dimension] {
            MPI_DISTRIBUTE_NONE => size,
            MPI_DISTRIBUTE_BLOCK if is_default => {
                size.div_euclid(places) + i64::from(size % places > 0)
            }
            MPI_DISTRIBUTE_BLOCK => {
                let fits = argument > 0 && argument * places >= size;
                require(fits, MPI_ERR_ARG, || {
                    format!("blocks of {argument} on {places} ranks do not hold {size}")
                })?;
                argument
            }
            MPI_DISTRIBUTE_CYCLIC if is_default => 1,
            MPI_DISTRIBUTE_CYCLIC => argument,
            other => return Err(failure(MPI_ERR_ARG, format!("{other} is no distribution"))),
        };
        require(block > 0, MPI_ERR_ARG, || {
            format!("the length of a block is {block}")
        })?;
        // An array that is not distributed has one place in this dimension, which has it all.
        let places = if self.kinds[dimension] == MPI_DISTRIBUTE_NONE {
            1
        } else {
            places
        };
        let coord = if places == 1 { 0 } else { coord };
        let step = block.saturating_mul(places);
        require(size / step < MOST as i64, MPI_ERR_NO_MEM, too_many)?;
        let starts = (coord.saturating_mul(block)..size).step_by(step as usize);
        Ok(starts
            .map(|start| (start, block.min(size - start)))
            .collect())
    }
}

/// Blocks of elements: the place of each, and how many elements there are.
type Parts = Vec<(isize, usize)>;

/// The blocks that there are in an array of one more dimension.
fn repeated(parts: &Parts, runs: &[(i64, i64)], stride: isize) -> Out<Parts> {
    if parts.is_empty() {
        // However long the other dimensions are.
        return Ok(Parts::new());
    }
    let steps: i64 = runs.iter().map(|(_, len)| len).sum();
    let number = parts.len().saturating_mul(steps as usize);
    require(number <= MOST, MPI_ERR_NO_MEM, too_many)?;
    let steps = runs.iter().flat_map(|(start, len)| *start..start + len);
    let moved = |step: i64| {
        let by = step as isize * stride;
        parts.iter().map(move |(at, len)| (at + by, *len))
    };
    Ok(steps.flat_map(moved).collect())
}

pub(crate) fn create(made: Made, it: &Distribution, of: &Datatype) -> Out<MPI_Datatype> {
    it.check()?;
    let coords = it.coords();
    let mut dimensions: Vec<usize> = (0..it.sizes.len()).collect();
    if it.order == MPI_ORDER_C {
        dimensions.reverse();
    }
    // From the dimension that varies fastest on, in which runs are blocks.
    let (mut parts, mut stride) = (vec![(0isize, 1usize)], of.extent());
    for (nth, dimension) in dimensions.into_iter().enumerate() {
        let next = stride.checked_mul(it.sizes[dimension] as isize);
        let next = next.ok_or_else(beyond)?;
        let runs = it.runs(dimension, coords[dimension])?;
        parts = match nth {
            0 => {
                let block = |(start, len): &(i64, i64)| (*start as isize * stride, *len as usize);
                runs.iter().map(block).collect()
            }
            _ => repeated(&parts, &runs, stride)?,
        };
        stride = next;
    }
    let block = |(at, len)| Block { at, len, of };
    let all: Vec<_> = parts.into_iter().map(block).collect();
    blocks_within(made, &all, (0, stride))
}
