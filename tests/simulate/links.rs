//! Links that several ranks share.

use rankfold::Rank;
use rankfold::schedule::{Schedule, Step};
use rankfold::simulate::{Link, MachineModel, SimulateError, critical_path, simulate};

use crate::zoo::{tree, zoo};

/// Nodes of `node` ranks that share one link, by the definition: one event at a time, the earliest first.
fn naive_shared(schedule: &dyn Schedule, node: usize, [l, o, g]: [f64; 3], per_byte: f64) -> f64 {
    let p = schedule.ranks();
    let (mut clock, nodes) = (vec![0.0f64; p], p.div_ceil(node));
    let (mut out, mut into) = (vec![0.0f64; nodes], vec![0.0f64; nodes]);
    for s in 0..schedule.steps() {
        let steps: Vec<Step> = (0..p).map(|rank| schedule.step(rank, s)).collect();
        let mut leaving: Vec<Rank> = (0..p).filter(|&rank| steps[rank].send.is_some()).collect();
        leaving.sort_by(|&a, &b| clock[a].total_cmp(&clock[b]));
        let port = |bytes: usize| o.max(g) + bytes as f64 * per_byte;
        let mut arrives = vec![0.0; p];
        for from in leaving {
            let send = steps[from].send.unwrap();
            let (a, b) = (from / node, send.peer / node);
            let mut begin = clock[from];
            if a != b {
                begin = begin.max(out[a]).max(into[b]);
                (out[a], into[b]) = (
                    begin + port(send.region.elements()),
                    begin + port(send.region.elements()),
                );
            }
            arrives[send.peer] = begin + l + 2.0 * o + send.region.elements() as f64 * per_byte;
        }
        for (rank, step) in steps.iter().enumerate() {
            let start = clock[rank];
            if let Some(send) = step.send {
                clock[rank] = start + port(send.region.elements());
            }
            if let Some(recv) = step.recv {
                let in_port = start + port(recv.region.elements());
                clock[rank] = clock[rank].max(in_port.max(arrives[rank]));
            }
        }
    }
    clock.into_iter().fold(0.0, f64::max)
}

#[test]
fn shared_links_are_taken_in_turns_as_in_the_naive_simulation() {
    let numbers = [3.0, 1.0, 2.0];
    let link = Link {
        latency: 3.0,
        overhead: 1.0,
        gap: 2.0,
        per_byte: 0.5,
    };
    for (p, node) in [(8, 4), (13, 3), (16, 8), (6, 1), (5, 9)] {
        let machine = MachineModel::two_level(node, link, link).shared_links();
        for exhibit in zoo(p, 7) {
            let total = simulate(&exhibit.schedule, &machine).unwrap().total;
            let naive = naive_shared(&exhibit.schedule, node, numbers, 0.5);
            assert!(
                (total - naive).abs() < 1e-9 * naive.max(1.0),
                "{} of {p}: {total} {naive}",
                exhibit.name
            );
        }
    }
}

#[test]
fn the_critical_path_is_refused_where_links_are_shared() {
    let link = Link {
        latency: 3.0,
        overhead: 1.0,
        gap: 2.0,
        per_byte: 0.5,
    };
    let machine = MachineModel::two_level(2, link, link).shared_links();
    let fault = critical_path(&tree("binomial", 8, 1), &machine).unwrap_err();
    assert_eq!(fault, SimulateError::SharedLinks);
    assert_eq!(
        fault.to_string(),
        "the critical path is not known where the ranks of a node share its links"
    );
}
