//! The reads of collectives over cells, as schedules: which rank reads which vector, and the order of the fold.

use super::boxed::Boxed;
use super::in_order::{FoldedFrom, StarFold};
use super::{Call, simple_exchange};
use crate::Rank;
use crate::schedule::{FoldAlong, Keep, Schedule};
use crate::topology::StarTo;

/// All ranks read the result of `root`.
fn all_read(ranks: usize, root: Rank, length: usize) -> impl Schedule + use<> {
    FoldAlong::new(StarTo::new(ranks, root), length).reversed()
}

/// The all-reduce, and the barrier: two ranks read each other's cells; of more, rank 0 folds for all.
pub(super) fn all_reduce(call: &Call) -> Box<dyn Schedule> {
    let (ranks, n) = (call.ranks(), call.length());
    if ranks == 2 {
        let exchange = simple_exchange(ranks, n);
        return match call.from_input {
            true => Box::new(exchange.boxed().placed(Keep::Everywhere)),
            false => Box::new(exchange),
        };
    }
    Box::new(all_reduce_at(call, 0))
}

/// The all-reduce in which one rank folds for all.
pub(crate) fn all_reduce_at(call: &Call, root: Rank) -> impl Schedule + use<> {
    let (ranks, length) = (call.ranks(), call.length());
    let vectors = match call.from_input {
        true => FoldedFrom::Inputs,
        false => FoldedFrom::Outputs,
    };
    let fold = StarFold {
        ranks,
        root,
        length,
        vectors,
    };
    fold.then(all_read(ranks, root, length))
}

/// The root reads all vectors.
pub(super) fn reduce(call: &Call) -> Box<dyn Schedule> {
    Box::new(StarFold {
        ranks: call.ranks(),
        root: call.root,
        length: call.length(),
        vectors: FoldedFrom::AtRoot,
    })
}
