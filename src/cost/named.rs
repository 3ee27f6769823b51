//! The closed form of a call by the name of its algorithm: the only place that maps algorithms to forms.

use super::{
    Form, Model, Pipeline, TreeUse, binomial_gather, bruck_all_gather, bruck_all_to_all,
    dissemination, esbt, exclusive_scan, far_halving_reduce_scatter, halving_all_reduce,
    halving_reduce_scatter, hybrid_all_reduce, hypercube_broadcast, in_segments, inclusive_scan,
    pairwise_all_to_all, ring_all_reduce, ring_reduce_scatter, simple_exchange, two_tree, whole,
};
use crate::collective::{Algorithm, Call, Collective};
use crate::span::Blocks;
use crate::topology::TreeName;

/// The closed form of an algorithm for a call, if there is one.
///
/// There is none for algorithms that read other ranks' memory or follow the machine, for a root other than rank 0, for
/// blocks that are not cut evenly, and for calls that the algorithm refuses.
///
/// # Laws
///
/// For the [schedule](Algorithm::schedule) of the call, [`check`](crate::check::check) counts the same number of steps
/// with messages and at every rank the same traffic. (Two trees at once may take one step less.)
///
/// # Examples
///
/// ```
/// use rankfold::collective::{Algorithm, Call, Collective};
/// use rankfold::cost;
///
/// let call = Call::new(Collective::AllReduce, 64, 1000).commuting();
/// let ring = cost::closed_form(Algorithm::Ring, &call).unwrap();
/// assert_eq!(ring.cost().messages, 2 * 63);
/// assert!(cost::closed_form(Algorithm::Cells, &call).is_none());
/// ```
pub fn closed_form(algorithm: Algorithm, call: &Call) -> Option<Form> {
    let (ranks, length) = (call.ranks(), call.length());
    let is_even = call.blocks == Blocks::even(length, ranks) && call.pieces.is_none();
    if !is_even || call.root != 0 || algorithm.refused(call).is_some() {
        return None;
    }
    match call.collective {
        Collective::Barrier => barrier(algorithm, ranks),
        Collective::Broadcast => broadcast(algorithm, ranks, length),
        Collective::Reduce | Collective::AllReduce => reduction(algorithm, call),
        Collective::ReduceScatter | Collective::AllGather => blocks(algorithm, call),
        Collective::Gather => gather(algorithm, ranks, length),
        Collective::Scatter => gather(algorithm, ranks, length).map(Form::reversed),
        Collective::AllToAll => all_to_all(algorithm, ranks, length),
        Collective::Scan => scan(algorithm).map(|()| inclusive_scan(ranks, length)),
        Collective::ExclusiveScan => scan(algorithm).map(|()| exclusive_scan(ranks, length)),
    }
}

/// The number of segments with which an algorithm is fastest for a call; `None` if it has no segments.
///
/// # Examples
///
/// ```
/// use rankfold::collective::{Call, Collective};
/// use rankfold::cost::{Model, best_segments};
///
/// let call = Call::new(Collective::Broadcast, 8, 100);
/// let model = Model { alpha: 6.0, beta: 1.0, gamma: 0.0 };
/// assert_eq!(best_segments("chain:segments=1".parse()?, &call, &model), Some(10)); // √(100 · 6 · 1/6)
/// assert_eq!(best_segments("chain".parse()?, &call, &model), None);
/// # Ok::<(), rankfold::collective::UnknownAlgorithm>(())
/// ```
pub fn best_segments(algorithm: Algorithm, call: &Call, model: &Model) -> Option<usize> {
    let ranks = call.ranks();
    let pipeline = match algorithm {
        Algorithm::Tree {
            tree,
            segments: Some(_),
        } => Pipeline::along(&tree.on(ranks), period(tree)?),
        Algorithm::TwoTree { .. } => Pipeline::two_tree(ranks),
        Algorithm::Esbt { .. } => Pipeline::esbt(ranks.ilog2()),
        _ => return None,
    };
    let tree_use = tree_use(call.collective)?;
    Some(pipeline.best_segments(call.length(), tree_use, model))
}

/// The use of a tree by a collective.
fn tree_use(collective: Collective) -> Option<TreeUse> {
    match collective {
        Collective::Broadcast => Some(TreeUse::Broadcast),
        Collective::Reduce => Some(TreeUse::Reduce),
        Collective::AllReduce => Some(TreeUse::AllReduce),
        _ => None,
    }
}

/// The steps between two segments along a tree in its own steps; `None` for rings, whose pipelines have one port.
fn period(tree: TreeName) -> Option<usize> {
    match tree {
        TreeName::Chain | TreeName::DecreasingRing => Some(1),
        TreeName::InOrder | TreeName::Fibonacci => Some(2),
        _ => None,
    }
}

fn barrier(algorithm: Algorithm, ranks: usize) -> Option<Form> {
    match algorithm {
        Algorithm::Dissemination => Some(dissemination(ranks)),
        Algorithm::Exchange => Some(simple_exchange(ranks, 0)),
        Algorithm::Tree { .. } => along_trees(algorithm, ranks, 0, TreeUse::AllReduce),
        _ => None,
    }
}

fn broadcast(algorithm: Algorithm, ranks: usize, length: usize) -> Option<Form> {
    let scatter = || binomial_gather(ranks, length).reversed();
    Some(match algorithm {
        Algorithm::ScatterDoubling => {
            scatter().then(far_halving_reduce_scatter(ranks, length).reversed())
        }
        Algorithm::ScatterRing => scatter().then(ring_reduce_scatter(ranks, length).reversed()),
        _ => return along_trees(algorithm, ranks, length, TreeUse::Broadcast),
    })
}

/// A reduce or an all-reduce.
fn reduction(algorithm: Algorithm, call: &Call) -> Option<Form> {
    let (ranks, length) = (call.ranks(), call.length());
    let is_in_order = matches!(algorithm, Algorithm::TwoTree { .. }) && !call.commutes;
    if is_in_order && ranks.is_multiple_of(2) {
        return None;
    }
    if call.collective == Collective::AllReduce {
        match algorithm {
            Algorithm::Exchange | Algorithm::Doubling => {
                return Some(simple_exchange(ranks, length));
            }
            Algorithm::Halving => return Some(halving_all_reduce(ranks, length)),
            Algorithm::Hybrid { stages } => return Some(hybrid_all_reduce(ranks, length, stages)),
            Algorithm::Ring => return Some(ring_all_reduce(ranks, length)),
            _ => {}
        }
    }
    along_trees(algorithm, ranks, length, tree_use(call.collective)?)
}

/// One tree, or several at once.
fn along_trees(algorithm: Algorithm, ranks: usize, length: usize, way: TreeUse) -> Option<Form> {
    Some(match algorithm {
        Algorithm::Hypercube => hypercube_broadcast(ranks, length, 0).put_to(way),
        Algorithm::Tree {
            tree,
            segments: None,
        } => whole(&tree.on(ranks), length, way),
        Algorithm::Tree {
            tree,
            segments: Some(segments),
        } => in_segments(&tree.on(ranks), period(tree)?, length, segments.get(), way),
        Algorithm::TwoTree { segments } => two_tree(ranks, length, segments.get(), way),
        Algorithm::Esbt { segments } => esbt(ranks, length, segments.get(), way).ok()?,
        _ => return None,
    })
}

/// A reduce-scatter, or an all-gather, its reversal.
fn blocks(algorithm: Algorithm, call: &Call) -> Option<Form> {
    let (ranks, length) = (call.ranks(), call.length());
    let scatters = call.collective == Collective::ReduceScatter;
    Some(match algorithm {
        Algorithm::Bruck => bruck_all_gather(ranks, length),
        Algorithm::Halving => halving_reduce_scatter(ranks, length),
        Algorithm::FarHalving => far_halving_reduce_scatter(ranks, length),
        Algorithm::Doubling => far_halving_reduce_scatter(ranks, length).reversed(),
        Algorithm::Ring if scatters => ring_reduce_scatter(ranks, length),
        Algorithm::Ring => ring_reduce_scatter(ranks, length).reversed(),
        Algorithm::Pairwise if scatters => {
            // What is reversed by the reduction, it sends as an all-to-all does.
            pairwise_all_to_all(ranks, length)
                .reversed()
                .put_to(TreeUse::Reduce)
        }
        Algorithm::Pairwise => pairwise_all_to_all(ranks, length).reversed(),
        _ => return None,
    })
}

fn gather(algorithm: Algorithm, ranks: usize, length: usize) -> Option<Form> {
    match algorithm {
        Algorithm::Hypercube => Some(binomial_gather(ranks, length)),
        Algorithm::Tree {
            tree: TreeName::BINOMIAL,
            ..
        } => Some(binomial_gather(ranks, length)),
        _ => None,
    }
}

fn all_to_all(algorithm: Algorithm, ranks: usize, length: usize) -> Option<Form> {
    match algorithm {
        Algorithm::Pairwise => Some(pairwise_all_to_all(ranks, length)),
        Algorithm::Bruck => Some(bruck_all_to_all(ranks, length)),
        _ => None,
    }
}

fn scan(algorithm: Algorithm) -> Option<()> {
    (algorithm == Algorithm::Doubling).then_some(())
}
