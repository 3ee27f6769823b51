//! A rank that dies at any operation is named by all.

use rankfold::{Cartesian, Graph};

use super::{braid, in_a_braid};
use crate::support::sweep::{sweep, sweep_bufferings};

#[test]
fn a_death_at_any_operation_is_named_by_all_ranks() {
    sweep("neighbours", 2..=4, 0.4, in_a_braid);
}

#[test]
fn a_death_at_any_operation_is_named_whatever_the_buffers() {
    sweep_bufferings("neighbours", |comm| {
        let graph = braid(comm)?;
        let mut got = [0; 4];
        graph.neighbor_all_to_all(&[comm.rank() as u64; 4], &mut got)?;
        let mut long = [0; 80];
        graph.neighbor_all_gather(&[got[0]; 20], &mut long)?;
        Ok(long.iter().sum())
    });
}

#[test]
fn a_death_on_a_grid_is_named_by_all_ranks() {
    sweep("grid", 2..=5, 1.0, |comm| {
        let ring = Cartesian::new(comm, &[comm.size()], &[true])?;
        let mut halo = [0; 60];
        ring.neighbor_all_to_all(&[comm.rank() as u64; 60], &mut halo)?;
        ring.neighbor_all_to_all_v(&[1; 40], &[0, 40], &mut halo[..40], &[40, 0])?;
        Ok(halo.iter().sum())
    });
}

#[test]
fn a_rank_dies_while_a_graph_is_made_from_edges() {
    sweep("from_edges", 1..=5, 1.0, |comm| {
        let next = |rank| (rank, (rank + 1) % comm.size());
        let edges: Vec<_> = (0..comm.size()).map(next).collect();
        let graph = Graph::from_edges(comm, if comm.rank() == 0 { &edges } else { &[] })?;
        let mut left = [0];
        graph.neighbor_all_to_all(&[comm.rank() as u64], &mut left)?;
        Ok(left[0])
    });
}
