//! How graphs are made: by each rank from the whole graph, from its own edges, or from any edges.

use std::ffi::c_int;
use std::rc::Rc;

use crate::abi::*;
use crate::collective::Parts;
use crate::comm::{Communicator, keep};
use crate::datatype::{self, pack::Place};
use crate::error::{Out, count, failure, require};
use crate::memory::Caller;
use crate::plan::execute;
use crate::rank::Rank;
use crate::topology::{Edges, Topology};

fn check_ranks(comm: &Communicator, ranks: &[c_int]) -> Out {
    ranks
        .iter()
        .try_for_each(|rank| comm.peer(*rank, "the end of an edge").map(drop))
}

/// `MPI_Graph_create`: all ranks have the whole graph, as the ends of the lists of neighbours and the lists.
pub(crate) fn create_graph(
    rank: &Rank,
    comm: MPI_Comm,
    index: &[c_int],
    edges: &[c_int],
) -> Out<MPI_Comm> {
    let parent = rank.comm(comm)?;
    let (nodes, size) = (index.len(), parent.comm.size());
    require(nodes <= size, MPI_ERR_ARG, || {
        format!("the graph has {nodes} nodes, and {parent} has {size} ranks")
    })?;
    let inside = |rank: &&c_int| !(0..nodes as c_int).contains(*rank);
    if let Some(stranger) = edges.iter().find(inside) {
        return Err(failure(
            MPI_ERR_ARG,
            format!("an edge goes to {stranger}, and the graph has {nodes} nodes"),
        ));
    }
    let (mut all, mut start) = (Vec::new(), 0usize);
    for end in index {
        let end = count(*end, "an index of the graph")?;
        let list = edges.get(start..end);
        let list =
            list.ok_or_else(|| failure(MPI_ERR_ARG, "the index of the graph does not grow"))?;
        (all, start) = ([all, vec![list.to_vec()]].concat(), end);
    }
    let me = parent.comm.rank();
    match parent.comm.split_if((me < nodes).then_some(0), me as i64)? {
        Some(made) => keep(rank, made, &parent, Topology::Graph(Rc::new(all))),
        None => Ok(MPI_COMM_NULL),
    }
}

/// `MPI_Dist_graph_create_adjacent`: each rank has the edges that come to it and go from it.
pub(crate) fn create_adjacent(rank: &Rank, comm: MPI_Comm, edges: Edges) -> Out<MPI_Comm> {
    let parent = rank.comm(comm)?;
    check_ranks(&parent, &edges.sources)?;
    check_ranks(&parent, &edges.destinations)?;
    keep(
        rank,
        parent.comm.dup()?,
        &parent,
        Topology::Distributed(Rc::new(edges)),
    )
}

/// An edge: from, to, weight.
pub(crate) type Edge = [c_int; 3];

/// The edges of a call of `MPI_Dist_graph_create`.
pub(crate) fn list_edges(
    sources: &[c_int],
    degrees: &[c_int],
    destinations: &[c_int],
    weights: Option<&[c_int]>,
) -> Out<Vec<Edge>> {
    let mut edges = Vec::new();
    for (source, degree) in sources.iter().zip(degrees) {
        for _ in 0..count(*degree, "a degree")? {
            let at = edges.len();
            let weight = weights.map_or(1, |weights| weights[at]);
            edges.push([*source, destinations[at], weight]);
        }
    }
    Ok(edges)
}

/// `MPI_Dist_graph_create`: each rank has some edges, of any ranks. Each rank learns all of them.
pub(crate) fn create_distributed(
    rank: &Rank,
    caller: &Caller,
    comm: MPI_Comm,
    mine: &[Edge],
    weighted: bool,
) -> Out<MPI_Comm> {
    let parent = rank.comm(comm)?;
    mine.iter()
        .try_for_each(|edge| check_ranks(&parent, &edge[..2]))?;
    let me = parent.comm.rank() as c_int;
    let all = all_edges(rank, caller, &parent, mine)?;
    let ends = |own: usize, other: usize, of: usize| -> Vec<c_int> {
        let here = all.iter().filter(|edge| edge[own] == me);
        here.map(|edge| if of == 2 { edge[2] } else { edge[other] })
            .collect()
    };
    let weights = weighted.then(|| (ends(1, 0, 2), ends(0, 1, 2)));
    let edges = Edges {
        sources: ends(1, 0, 0),
        destinations: ends(0, 1, 1),
        weights,
    };
    keep(
        rank,
        parent.comm.dup()?,
        &parent,
        Topology::Distributed(Rc::new(edges)),
    )
}

/// The edges of all ranks, in rank order.
fn all_edges(rank: &Rank, caller: &Caller, comm: &Communicator, mine: &[Edge]) -> Out<Vec<Edge>> {
    let int = datatype::of(MPI_INT)?;
    let size = comm.comm.size();
    let place = |data: &mut Vec<c_int>| Place {
        at: data.as_mut_ptr().cast(),
        count: data.len(),
        of: int.clone(),
    };
    let (mut len, mut lens) = (vec![3 * mine.len() as c_int], vec![0; size]);
    let name = "MPI_Dist_graph_create";
    let plan = crate::collective::all_gather(
        caller,
        comm,
        name,
        Some(place(&mut len)),
        (place(&mut lens), Parts::equal(size, 1)),
    )?;
    execute(rank, caller, comm, plan)?;
    let starts: Vec<c_int> = lens
        .iter()
        .scan(0, |end, len| {
            *end += len;
            Some(*end - len)
        })
        .collect();
    let (mut edges, mut all) = (mine.concat(), vec![0; lens.iter().sum::<c_int>() as usize]);
    let parts = Parts::new(&lens, &starts)?;
    let plan = crate::collective::all_gather(
        caller,
        comm,
        name,
        Some(place(&mut edges)),
        (place(&mut all), parts),
    )?;
    execute(rank, caller, comm, plan)?;
    Ok(all.as_chunks::<3>().0.to_vec())
}
