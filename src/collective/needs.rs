//! The collectives that each algorithm serves, and its requirements.

use super::{Algorithm, Collective};
use crate::topology::TreeName;

/// The requirements of an algorithm on a call of one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Needs {
    /// Whether the number of ranks must be a power of two.
    pub power_of_two: bool,
    /// Whether the operator must commute. If not, operands stay in rank order.
    pub commutative: bool,
    /// The way to a root other than 0.
    pub root: Root,
    /// Whether blocks must be cut evenly.
    pub even_blocks: bool,
}

/// The way in which an algorithm reaches a root other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// The collective has no root.
    None,
    /// It supports any root directly, and keeps rank order.
    Any,
    /// Ranks are counted from the root. With an operator that does not commute, rank 0 acts as the root and then passes
    /// the result on, in one more step.
    Turned,
}

const ANY: Needs = Needs {
    power_of_two: false,
    commutative: false,
    root: Root::None,
    even_blocks: false,
};
const ROOTED: Needs = Needs {
    root: Root::Any,
    ..ANY
};
const TURNED: Needs = Needs {
    root: Root::Turned,
    ..ANY
};

impl Needs {
    const fn commutative(self) -> Needs {
        Needs {
            commutative: true,
            ..self
        }
    }

    const fn power_of_two(self) -> Needs {
        Needs {
            power_of_two: true,
            ..self
        }
    }

    const fn even_blocks(self) -> Needs {
        Needs {
            even_blocks: true,
            ..self
        }
    }
}

impl Algorithm {
    /// The requirements for a collective; `None` if the algorithm does not serve it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Collective};
    ///
    /// assert!(Algorithm::Ring.needs(Collective::AllReduce).unwrap().commutative);
    /// assert_eq!(Algorithm::Ring.needs(Collective::Barrier), None);
    /// ```
    pub fn needs(self, collective: Collective) -> Option<Needs> {
        match self {
            Algorithm::Tree { tree, segments } => tree_needs(tree, segments.is_some(), collective),
            Algorithm::Hierarchical { tree } => hierarchical_needs(tree, collective),
            Algorithm::Direct => direct_needs(collective),
            Algorithm::Cells => cells_needs(collective),
            _ => self.needs_of_its_own(collective),
        }
    }

    /// The requirements of algorithms that are not trees and do not read other ranks' memory.
    fn needs_of_its_own(self, collective: Collective) -> Option<Needs> {
        use Algorithm::*;
        use Collective::*;
        let needs = match (collective, self) {
            (Barrier, Dissemination | Exchange | Gate) => ANY,
            (Broadcast, ScatterDoubling | ScatterRing) => ROOTED,
            (Broadcast, Hypercube | TwoTree { .. } | Circulant { .. }) => TURNED,
            (Broadcast, Esbt { .. }) => ROOTED.power_of_two(),
            (Reduce, Halving) => ROOTED,
            (Reduce, Hypercube) => ROOTED.power_of_two(),
            (Reduce, TwoTree { .. }) => TURNED,
            (Reduce, Circulant { .. }) => TURNED.commutative(),
            (Reduce, Esbt { .. }) => ROOTED.power_of_two().commutative(),
            (AllReduce, Exchange | Doubling | Halving | Hybrid { .. } | TwoTree { .. }) => ANY,
            (AllReduce, Ring | Circulant { .. }) => ANY.commutative(),
            (AllReduce, Esbt { .. }) => ANY.power_of_two().commutative(),
            (ReduceScatter, Halving) => ANY,
            (ReduceScatter, FarHalving | Ring | Pairwise) => ANY.commutative(),
            (AllGather, Doubling | Ring | Bruck | Pairwise) => ANY,
            (Gather | Scatter, Hypercube) => ROOTED.power_of_two(),
            (AllToAll, Pairwise) => ANY,
            (AllToAll, Bruck) => ANY.even_blocks(),
            (Scan | ExclusiveScan, Doubling) => ANY,
            (Scan | ExclusiveScan, Exchange) => ANY.power_of_two(),
            _ => return None,
        };
        Some(needs)
    }
}

/// The requirements for reading in place.
fn direct_needs(collective: Collective) -> Option<Needs> {
    use Collective::*;
    match collective {
        Broadcast => Some(TURNED),
        Reduce | Gather | Scatter => Some(ROOTED),
        AllReduce | ReduceScatter | AllGather | AllToAll | Scan | ExclusiveScan => Some(ANY),
        Barrier => None,
    }
}

/// The requirements for cells: collectives in which ranks read each other's data in one hop or two.
fn cells_needs(collective: Collective) -> Option<Needs> {
    use Collective::*;
    match collective {
        Barrier | AllReduce | ReduceScatter | AllGather => Some(ANY),
        Broadcast | Reduce | Gather | Scatter => Some(ROOTED),
        AllToAll => Some(ANY.even_blocks()),
        Scan | ExclusiveScan => Some(ANY),
    }
}

fn hierarchical_needs(tree: TreeName, collective: Collective) -> Option<Needs> {
    use Collective::*;
    match collective {
        ReduceScatter => Some(folding(tree)),
        AllGather => Some(ANY),
        Gather | Scatter | Scan | ExclusiveScan => None,
        Barrier | Broadcast | Reduce | AllReduce | AllToAll => tree_needs(tree, false, collective),
    }
}

pub(super) fn tree_needs(tree: TreeName, pipelined: bool, collective: Collective) -> Option<Needs> {
    use Collective::*;
    let of_trees = || !pipelined || pipeline_period(tree, 1).is_some();
    match collective {
        Barrier => (!pipelined).then_some(ANY),
        Broadcast => of_trees().then_some(TURNED),
        Reduce if tree == TreeName::BINOMIAL && !pipelined => Some(ROOTED),
        Reduce => of_trees().then_some(Needs {
            root: Root::Turned,
            ..folding(tree)
        }),
        AllReduce => of_trees().then_some(folding(tree)),
        Gather | Scatter => {
            let serves = matches!(tree, TreeName::BINOMIAL | TreeName::Flat) && !pipelined;
            serves.then_some(ROOTED)
        }
        Scan | ExclusiveScan => (tree == TreeName::Chain).then_some(ANY),
        ReduceScatter | AllGather | AllToAll => None,
    }
}

/// The requirements of a fold along the family.
fn folding(tree: TreeName) -> Needs {
    Needs {
        commutative: !keeps_order(tree),
        ..ANY
    }
}

/// Whether a single-port fold along the family keeps operands in rank order, on any number of ranks.
///
/// The rows of a ring reach the root in an order that differs from that of their ranks.
fn keeps_order(tree: TreeName) -> bool {
    match tree {
        TreeName::Chain | TreeName::DecreasingRing | TreeName::KTree(_) => true,
        TreeName::Flat | TreeName::FlatSerial | TreeName::InOrder | TreeName::Fibonacci => true,
        TreeName::KRing(k) | TreeName::KAry(k) => k == 1,
        TreeName::SplitRing => false,
    }
}

/// The number of steps between two segments of a pipeline along the family, if it can be pipelined.
pub(super) fn pipeline_period(tree: TreeName, ranks: usize) -> Option<usize> {
    match tree {
        TreeName::Chain | TreeName::DecreasingRing => Some(1),
        TreeName::InOrder | TreeName::Fibonacci | TreeName::SplitRing => Some(2),
        TreeName::KRing(k) => Some(k.min(ranks - 1).max(1)),
        _ => None,
    }
}
