//! The family of a tree in the form that pipelines need.

use super::needs::pipeline_period;
use crate::Rank;
use crate::topology::{OwnSteps, Pattern, SinglePort, Topology, TreeName};

/// The family in the form that pipelines need: the rows of a ring, whose root serves them one after another, in the
/// single-port form, and trees in their own steps.
#[derive(Clone, Debug)]
pub(super) enum Ports {
    Single(SinglePort),
    Own(OwnSteps),
}

pub(super) fn ports(tree: TreeName, topology: Topology) -> Ports {
    match tree {
        TreeName::SplitRing | TreeName::KRing(_) => Ports::Single(topology.single_port()),
        _ => Ports::Own(OwnSteps::new(topology)),
    }
}

pub(super) fn period(tree: TreeName, ranks: usize) -> usize {
    pipeline_period(tree, ranks).unwrap_or(1)
}

impl Pattern for Ports {
    fn ranks(&self) -> usize {
        match self {
            Ports::Single(ports) => ports.ranks(),
            Ports::Own(ports) => ports.ranks(),
        }
    }
    fn steps(&self) -> usize {
        match self {
            Ports::Single(ports) => ports.steps(),
            Ports::Own(ports) => ports.steps(),
        }
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        match self {
            Ports::Single(ports) => ports.to(p, s),
            Ports::Own(ports) => ports.to(p, s),
        }
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        match self {
            Ports::Single(ports) => ports.from(q, s),
            Ports::Own(ports) => ports.from(q, s),
        }
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        match self {
            Ports::Single(ports) => Pattern::next_active(ports, rank, after),
            Ports::Own(ports) => ports.next_active(rank, after),
        }
    }
}
