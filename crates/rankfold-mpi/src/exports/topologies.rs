//! Process topologies: grids, graphs and distributed graphs.

use std::ffi::c_int;

use super::arguments::{array, flag};
use crate::abi::*;
use crate::comm::Communicator;
use crate::error::{Out, count, failure, require};
use crate::graph as make;
use crate::memory::Caller;
use crate::topology::{self, Edges, Grid, Topology};

fn grid(caller: &Caller, ndims: c_int, dims: *const c_int, periods: *const c_int) -> Out<Grid> {
    Grid::new(
        &array(caller, dims, ndims)?,
        &array(caller, periods, ndims)?,
    )
}

/// The neighbours of each rank of a graph.
fn graph(comm: &Communicator) -> Out<&[Vec<c_int>]> {
    match &comm.topology {
        Topology::Graph(all) => Ok(all),
        _ => Err(failure(MPI_ERR_TOPOLOGY, format!("{comm} is no graph"))),
    }
}

fn edges(comm: &Communicator) -> Out<&Edges> {
    match &comm.topology {
        Topology::Distributed(edges) => Ok(edges),
        _ => Err(failure(
            MPI_ERR_TOPOLOGY,
            format!("{comm} is no distributed graph"),
        )),
    }
}

/// Writes at most `room` of some numbers.
fn write_some(caller: &Caller, to: *mut c_int, room: c_int, all: &[c_int]) -> Out {
    let room = count(room, "the room for neighbours")?;
    caller.write_all(to, all.iter().copied().take(room))
}

/// Weights of some edges, if the program gives any.
fn weights(caller: &Caller, at: *const c_int, number: c_int) -> Out<Option<Vec<c_int>>> {
    match at.cast_mut() {
        MPI_UNWEIGHTED => Ok(None),
        MPI_WEIGHTS_EMPTY if number > 0 => Err(failure(
            MPI_ERR_ARG,
            format!("the weights of {number} edges are MPI_WEIGHTS_EMPTY, which is for none"),
        )),
        MPI_WEIGHTS_EMPTY => Ok(Some(Vec::new())),
        _ => array(caller, at, number).map(Some),
    }
}

super::calls! {
    fn MPI_Cart_create(comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, _reorder: c_int, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        let grid = grid(caller, ndims, dims, periods)?;
        caller.write(newcomm, topology::create_grid(rank, comm, grid)?)
    }
    fn MPI_Cart_map(comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int) on comm |rank, caller| {
        let grid = grid(caller, ndims, dims, periods)?;
        caller.write(newrank, topology::map(&*rank.comm(comm)?, &grid)?)
    }
    fn MPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) on comm |rank, caller| {
        let grid = topology::grid_of(&*rank.comm(comm)?)?;
        caller.write(ndims, grid.dims.len() as c_int)
    }
    fn MPI_Cart_get(comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let grid = topology::grid_of(&on)?;
        let cyclic: Vec<c_int> = grid.periods.iter().map(|it| flag(*it)).collect();
        write_some(caller, dims, maxdims, &grid.dims)?;
        write_some(caller, periods, maxdims, &cyclic)?;
        write_some(caller, coords, maxdims, &grid.coords(on.comm.rank()))
    }
    fn MPI_Cart_rank(comm: MPI_Comm, coords: *const c_int, number: *mut c_int) on comm |rank, caller| {
        let grid = topology::grid_of(&*rank.comm(comm)?)?;
        let coords = caller.array(coords, grid.dims.len())?;
        let found = grid.rank(&coords);
        let found = found.ok_or_else(|| failure(MPI_ERR_ARG, format!("{coords:?} is beyond a grid of {:?}", grid.dims)))?;
        caller.write(number, found)
    }
    fn MPI_Cart_coords(comm: MPI_Comm, number: c_int, maxdims: c_int, coords: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let grid = topology::grid_of(&on)?;
        require(maxdims >= grid.dims.len() as c_int, MPI_ERR_DIMS, || {
            format!("there is room for {maxdims} coordinates, and the grid has {} dimensions", grid.dims.len())
        })?;
        write_some(caller, coords, maxdims, &grid.coords(on.peer(number, "the rank")?))
    }
    fn MPI_Cart_shift(comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let grid = topology::grid_of(&on)?;
        let dimension = usize::try_from(direction).ok().filter(|it| *it < grid.dims.len());
        let dimension = dimension.ok_or_else(|| failure(MPI_ERR_DIMS, format!("the grid has no dimension {direction}")))?;
        let (source, destination) = grid.shift(on.comm.rank(), dimension, disp);
        caller.write(rank_source, source)?;
        caller.write(rank_dest, destination)
    }
    fn MPI_Cart_sub(comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        let grid = topology::grid_of(&*rank.comm(comm)?)?;
        let kept: Vec<bool> = caller.array(remain_dims, grid.dims.len())?.iter().map(|it| *it != 0).collect();
        caller.write(newcomm, topology::subgrid(rank, comm, &kept)?)
    }
    fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) |_, caller| {
        let mut all = array(caller, dims.cast_const(), ndims)?;
        let nodes = usize::try_from(nnodes).map_err(|_| failure(MPI_ERR_ARG, format!("the number of ranks is {nnodes}")))?;
        topology::dims_create(nodes, &mut all)?;
        caller.write_all(dims, all)
    }
    fn MPI_Graph_create(comm: MPI_Comm, nnodes: c_int, index: *const c_int, edges: *const c_int, _reorder: c_int, newcomm: *mut MPI_Comm) on comm |rank, caller| {
        let index = array(caller, index, nnodes)?;
        let edges = array(caller, edges, index.last().copied().unwrap_or(0))?;
        caller.write(newcomm, make::create_graph(rank, comm, &index, &edges)?)
    }
    fn MPI_Graphdims_get(comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let all = graph(&on)?;
        caller.write(nnodes, all.len() as c_int)?;
        caller.write(nedges, all.iter().map(Vec::len).sum::<usize>() as c_int)
    }
    fn MPI_Graph_get(comm: MPI_Comm, maxindex: c_int, maxedges: c_int, index: *mut c_int, edges: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let all = graph(&on)?;
        let ends = all.iter().scan(0, |end, list| {
            *end += list.len() as c_int;
            Some(*end)
        });
        write_some(caller, index, maxindex, &ends.collect::<Vec<_>>())?;
        write_some(caller, edges, maxedges, &all.concat())
    }
    fn MPI_Graph_neighbors_count(comm: MPI_Comm, number: c_int, nneighbors: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let of = on.peer(number, "the rank")?;
        caller.write(nneighbors, graph(&on)?[of].len() as c_int)
    }
    fn MPI_Graph_neighbors(comm: MPI_Comm, number: c_int, maxneighbors: c_int, neighbors: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let of = on.peer(number, "the rank")?;
        write_some(caller, neighbors, maxneighbors, &graph(&on)?[of])
    }
    fn MPI_Graph_map(comm: MPI_Comm, nnodes: c_int, _index: *const c_int, _edges: *const c_int, newrank: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let me = on.comm.rank() as c_int;
        caller.write(newrank, if me < nnodes { me } else { MPI_UNDEFINED })
    }
    fn MPI_Dist_graph_create_adjacent(
        comm: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int, outdegree: c_int,
        destinations: *const c_int, destweights: *const c_int, info: MPI_Info, _reorder: c_int, newcomm: *mut MPI_Comm,
    ) on comm |rank, caller| {
        super::infos::check(rank, info)?;
        let weights = (weights(caller, sourceweights, indegree)?, weights(caller, destweights, outdegree)?);
        require(weights.0.is_some() == weights.1.is_some(), MPI_ERR_ARG, || "weights are given for all edges, or for none".into())?;
        let (sources, destinations) = (array(caller, sources, indegree)?, array(caller, destinations, outdegree)?);
        let edges = Edges { sources, destinations, weights: weights.0.zip(weights.1) };
        caller.write(newcomm, make::create_adjacent(rank, comm, edges)?)
    }
    fn MPI_Dist_graph_create(
        comm: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int,
        edgeweights: *const c_int, info: MPI_Info, _reorder: c_int, newcomm: *mut MPI_Comm,
    ) on comm |rank, caller| {
        super::infos::check(rank, info)?;
        let (sources, degrees) = (array(caller, sources, n)?, array(caller, degrees, n)?);
        degrees.iter().try_for_each(|it| count(*it, "a degree").map(drop))?;
        let all: c_int = degrees.iter().sum();
        let destinations = array(caller, destinations, all)?;
        let weights = weights(caller, edgeweights, all)?;
        let edges = make::list_edges(&sources, &degrees, &destinations, weights.as_deref())?;
        caller.write(newcomm, make::create_distributed(rank, caller, comm, &edges, weights.is_some())?)
    }
    fn MPI_Dist_graph_neighbors_count(comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let edges = edges(&on)?;
        caller.write(indegree, edges.sources.len() as c_int)?;
        caller.write(outdegree, edges.destinations.len() as c_int)?;
        caller.write(weighted, flag(edges.weights.is_some()))
    }
    fn MPI_Dist_graph_neighbors(
        comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int, maxoutdegree: c_int,
        destinations: *mut c_int, destweights: *mut c_int,
    ) on comm |rank, caller| {
        let on = rank.comm(comm)?;
        let edges = edges(&on)?;
        write_some(caller, sources, maxindegree, &edges.sources)?;
        write_some(caller, destinations, maxoutdegree, &edges.destinations)?;
        if let Some((of_sources, of_destinations)) = &edges.weights {
            let wanted = |at: *mut c_int| at != MPI_UNWEIGHTED && at != MPI_WEIGHTS_EMPTY;
            if wanted(sourceweights) {
                write_some(caller, sourceweights, maxindegree, of_sources)?;
            }
            if wanted(destweights) {
                write_some(caller, destweights, maxoutdegree, of_destinations)?;
            }
        }
        Ok(())
    }
}
