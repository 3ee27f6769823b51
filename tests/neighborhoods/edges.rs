//! Edges that not both ends name, and graphs made from edges.

use rankfold::{ErrorKind, Graph, Rank, World, WorldError};

use super::{error, run_each, text};
use crate::support::{Random, guarded};

#[test]
fn edges_that_only_one_end_names_are_refused_on_every_rank() {
    let first = line!() + 4;
    for check in [false, true] {
        let report = run_each(4, check, |comm| {
            let refused = match comm.rank() {
                1 => comm.graph(&[], &[3, 0]),
                0 => comm.graph(&[1], &[]),
                _ => comm.graph(&[], &[]),
            };
            comm.barrier()?; // usable still
            refused.map(drop)
        });
        for rank in 0..4 {
            let line = first + [1, 0, 2, 2][rank];
            let degrees = ["1, out-degree 0", "0, out-degree 2", "0, out-degree 0"][rank.min(2)];
            let told = format!(
                "graph(in-degree {degrees}) at line {line}: mismatch: the ranks are in different collective calls\n  \
                 rank 1  graph with 1 edge to rank 3     line {first}\n  \
                 rank 3  graph with no edge from rank 1  line {}",
                first + 2
            );
            assert_eq!(text(error(&report, rank)), told);
        }
        let whole = report.into_result().unwrap_err();
        assert!(matches!(whole, WorldError::Mismatch(_)), "{whole}");
    }
}

#[test]
fn edges_that_both_ends_name_but_not_equally_often_are_refused() {
    let report = run_each(3, false, |comm| {
        let part = comm.split(0, -(comm.rank() as i64))?; // in the opposite order
        let graph = match part.rank() {
            0 => part.graph(&[0, 2, 2], &[0]),
            2 => part.graph(&[], &[0, 0, 0]),
            _ => part.graph(&[], &[]),
        };
        graph.map(drop)
    });
    for rank in 0..3 {
        let ErrorKind::Mismatch(found) = error(&report, rank).kind() else {
            panic!("{}", error(&report, rank));
        };
        let calls: Vec<_> = found
            .calls
            .iter()
            .map(|it| (it.rank, &it.call[..]))
            .collect();
        let told = [
            (0, "graph with 3 edges to rank 2"),
            (2, "graph with 2 edges from rank 0"),
        ];
        assert_eq!(calls, told, "world ranks");
        assert!(found.comm.as_deref().unwrap().starts_with("split colour 0"));
    }
}

#[test]
fn a_graph_has_the_edges_that_all_ranks_name_in_the_order_of_these_ranks() {
    for ranks in (1..=17).chain([33, 64]) {
        let mut random = Random::new(ranks as u64);
        let mut edge = || (random.below(ranks), random.below(ranks));
        let count = |rank: Rank| (rank * 7 + ranks) % 4;
        let named: Vec<Vec<(Rank, Rank)>> = (0..ranks)
            .map(|rank| (0..count(rank)).map(|_| edge()).collect())
            .collect();
        let all = named.concat();
        let case = || format!("{ranks} ranks, {named:?}");
        let got = guarded(&case, || {
            World::new(ranks).run(|comm| {
                let graph = Graph::from_edges(comm, &named[comm.rank()])?;
                let mut sources = vec![Rank::MAX; graph.in_degree()];
                graph.neighbor_all_gather(&[comm.rank()], &mut sources)?;
                assert_eq!(sources, graph.sources());
                Ok((sources, graph.destinations().to_vec()))
            })
        });
        for (rank, (sources, destinations)) in got.unwrap().into_iter().enumerate() {
            let into = all.iter().filter(|edge| edge.1 == rank).map(|edge| edge.0);
            let out = all.iter().filter(|edge| edge.0 == rank).map(|edge| edge.1);
            assert_eq!(sources, into.collect::<Vec<_>>(), "{}", case());
            assert_eq!(destinations, out.collect::<Vec<_>>(), "{}", case());
        }
    }
}

#[test]
fn an_edge_to_no_rank_is_refused_and_graphs_of_either_kind_do_not_mix() {
    guarded(&|| "wrong edges".into(), || {
        World::new(1)
            .run(|comm| {
                for edge in [(0, 1), (1, 0)] {
                    let error = Graph::from_edges(comm, &[edge]).err().unwrap();
                    assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
                    assert!(
                        error.to_string().contains("1 is not one of the 1 ranks"),
                        "{error}"
                    );
                }
                assert_eq!(Graph::from_edges(comm, &[(0, 0)])?.sources(), [0]);
                Ok(())
            })
            .unwrap();
    });
    let report = guarded(&|| "graph and from_edges".into(), || {
        World::new(3).run_each(|comm| match comm.rank() {
            1 => comm.graph(&[], &[]).map(drop),
            _ => Graph::from_edges(comm, &[]).map(drop),
        })
    });
    let found = report.mismatch.expect("the calls differ");
    assert_eq!(found.odd, [1], "{found}");
    assert!(found.to_string().contains("graph_from_edges"), "{found}");
}
