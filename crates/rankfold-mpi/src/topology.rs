//! Process topologies: grids, graphs and distributed graphs, and who the neighbours of a rank are.

use std::ffi::c_int;
use std::rc::Rc;

use crate::abi::*;
use crate::comm::{Communicator, keep};
use crate::error::{Out, failure, require};
use crate::rank::Rank;

/// The topology of a communicator.
#[derive(Clone)]
pub(crate) enum Topology {
    None,
    Grid(Rc<Grid>),
    /// The neighbours of each rank.
    Graph(Rc<Vec<Vec<c_int>>>),
    Distributed(Rc<Edges>),
}

pub(crate) struct Grid {
    pub dims: Vec<c_int>,
    pub periods: Vec<bool>,
}

/// The edges of this rank in a distributed graph.
pub(crate) struct Edges {
    pub sources: Vec<c_int>,
    pub destinations: Vec<c_int>,
    pub weights: Option<(Vec<c_int>, Vec<c_int>)>,
}

impl Topology {
    /// What `MPI_Topo_test` tells.
    pub(crate) fn kind(&self) -> c_int {
        match self {
            Topology::None => MPI_UNDEFINED,
            Topology::Grid(_) => MPI_CART,
            Topology::Graph(_) => MPI_GRAPH,
            Topology::Distributed(_) => MPI_DIST_GRAPH,
        }
    }
}

impl Grid {
    /// A grid; one with a dimension of 0 has no places.
    pub(crate) fn new(dims: &[c_int], periods: &[c_int]) -> Out<Grid> {
        if let Some(dim) = dims.iter().find(|dim| **dim < 0) {
            return Err(failure(
                MPI_ERR_DIMS,
                format!("a dimension of the grid is {dim}"),
            ));
        }
        Ok(Grid {
            dims: dims.to_vec(),
            periods: periods.iter().map(|it| *it != 0).collect(),
        })
    }

    /// The number of ranks on the grid.
    pub(crate) fn places(&self) -> Out<usize> {
        let places = self
            .dims
            .iter()
            .try_fold(1usize, |all, dim| all.checked_mul(*dim as usize));
        places.ok_or_else(|| failure(MPI_ERR_DIMS, "the grid is too large"))
    }

    pub(crate) fn coords(&self, rank: usize) -> Vec<c_int> {
        let mut left = rank as c_int;
        let mut coords: Vec<c_int> = self
            .dims
            .iter()
            .rev()
            .map(|dim| {
                let at = left % dim;
                left /= dim;
                at
            })
            .collect();
        coords.reverse();
        coords
    }

    /// The rank at a place; `None` beyond an end that is not periodic.
    pub(crate) fn rank(&self, coords: &[c_int]) -> Option<c_int> {
        let mut rank = 0;
        for ((at, dim), periodic) in coords.iter().zip(&self.dims).zip(&self.periods) {
            let inside = (0..*dim).contains(at);
            if !inside && !periodic {
                return None;
            }
            rank = rank * dim + at.rem_euclid(*dim);
        }
        Some(rank)
    }

    /// From whom and to whom a shift goes.
    pub(crate) fn shift(&self, me: usize, dimension: usize, by: c_int) -> (c_int, c_int) {
        let dim = i64::from(self.dims[dimension]);
        let at = |by: i64| {
            let mut coords = self.coords(me);
            let place = i64::from(coords[dimension]) + by;
            if !self.periods[dimension] && !(0..dim).contains(&place) {
                return MPI_PROC_NULL;
            }
            coords[dimension] = place.rem_euclid(dim) as c_int;
            self.rank(&coords).unwrap_or(MPI_PROC_NULL)
        };
        let by = i64::from(by);
        (at(-by), at(by))
    }
}

pub(crate) fn grid_of(comm: &Communicator) -> Out<Rc<Grid>> {
    match &comm.topology {
        Topology::Grid(grid) => Ok(grid.clone()),
        _ => Err(failure(MPI_ERR_TOPOLOGY, format!("{comm} is no grid"))),
    }
}

/// The topology of a grid, if its ranks are enough.
fn places_on(comm: &Communicator, grid: &Grid) -> Out<usize> {
    let (places, size) = (grid.places()?, comm.comm.size());
    require(places <= size, MPI_ERR_DIMS, || {
        format!("the grid has {places} places, and {comm} has {size} ranks")
    })?;
    Ok(places)
}

pub(crate) fn create_grid(rank: &Rank, comm: MPI_Comm, grid: Grid) -> Out<MPI_Comm> {
    let parent = rank.comm(comm)?;
    let places = places_on(&parent, &grid)?;
    require(places > 0, MPI_ERR_DIMS, || {
        "a dimension of the grid is 0".into()
    })?;
    let me = parent.comm.rank();
    match parent
        .comm
        .split_if((me < places).then_some(0), me as i64)?
    {
        Some(comm) => keep(rank, comm, &parent, Topology::Grid(Rc::new(grid))),
        None => Ok(MPI_COMM_NULL),
    }
}

/// `MPI_Cart_map`: ranks keep their numbers.
pub(crate) fn map(comm: &Communicator, grid: &Grid) -> Out<c_int> {
    let places = places_on(comm, grid)?;
    let me = comm.comm.rank();
    Ok(if me < places {
        me as c_int
    } else {
        MPI_UNDEFINED
    })
}

pub(crate) fn subgrid(rank: &Rank, comm: MPI_Comm, kept: &[bool]) -> Out<MPI_Comm> {
    let parent = rank.comm(comm)?;
    let grid = grid_of(&parent)?;
    let coords = grid.coords(parent.comm.rank());
    let (mut color, mut key) = (0, 0);
    for ((at, dim), kept) in coords.iter().zip(&grid.dims).zip(kept) {
        let number = if *kept { &mut key } else { &mut color };
        *number = *number * i64::from(*dim) + i64::from(*at);
    }
    let kept_of = |all: &[c_int]| -> Vec<c_int> {
        all.iter()
            .zip(kept)
            .filter(|(_, kept)| **kept)
            .map(|(it, _)| *it)
            .collect()
    };
    let periods: Vec<c_int> = grid.periods.iter().map(|it| c_int::from(*it)).collect();
    let part = Grid::new(&kept_of(&grid.dims), &kept_of(&periods))?;
    let made = parent.comm.split(color as u32, key)?;
    keep(rank, made, &parent, Topology::Grid(Rc::new(part)))
}

/// `MPI_Dims_create`: fills dimensions that are 0.
pub(crate) fn dims_create(nodes: usize, dims: &mut [c_int]) -> Out {
    if let Some(dim) = dims.iter().find(|dim| **dim < 0) {
        return Err(failure(MPI_ERR_DIMS, format!("a dimension is {dim}")));
    }
    let free = dims.iter().filter(|dim| **dim == 0).count();
    let fixed: usize = dims
        .iter()
        .filter(|dim| **dim > 0)
        .map(|dim| *dim as usize)
        .product();
    let fits = nodes > 0 && nodes.is_multiple_of(fixed) && (free > 0 || fixed == nodes);
    require(fits, MPI_ERR_DIMS, || {
        format!("{nodes} ranks do not fill a grid of {dims:?}")
    })?;
    if free == 0 {
        return Ok(());
    }
    let mut sizes = rankfold::even_grid(nodes / fixed, free);
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let places = dims.iter_mut().filter(|dim| **dim == 0);
    places
        .zip(sizes)
        .for_each(|(dim, size)| *dim = size as c_int);
    Ok(())
}

/// The neighbours from which a rank receives and to which it sends, with the number that distinguishes messages between
/// the same two ranks: on a grid, the direction in which a message goes.
pub(crate) struct Neighbors {
    pub sources: Vec<(c_int, u32)>,
    pub destinations: Vec<(c_int, u32)>,
}

pub(crate) fn neighbors(comm: &Communicator) -> Out<Neighbors> {
    let me = comm.comm.rank();
    let plain = |list: &[c_int]| list.iter().map(|rank| (*rank, 0)).collect();
    match &comm.topology {
        Topology::None => Err(failure(MPI_ERR_TOPOLOGY, format!("{comm} has no topology"))),
        Topology::Graph(all) => Ok(Neighbors {
            sources: plain(&all[me]),
            destinations: plain(&all[me]),
        }),
        Topology::Distributed(edges) => Ok(Neighbors {
            sources: plain(&edges.sources),
            destinations: plain(&edges.destinations),
        }),
        Topology::Grid(grid) => {
            let (mut sources, mut destinations) = (Vec::new(), Vec::new());
            for dimension in 0..grid.dims.len() {
                let (down, up) = grid.shift(me, dimension, 1);
                let direction = 2 * dimension as u32;
                // What comes from below goes upwards.
                sources.extend([(down, direction + 1), (up, direction)]);
                destinations.extend([(down, direction), (up, direction + 1)]);
            }
            Ok(Neighbors {
                sources,
                destinations,
            })
        }
    }
}
