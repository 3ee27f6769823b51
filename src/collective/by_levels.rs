//! The schedules of the hierarchical algorithm, for each collective.

use std::sync::Arc;

use super::boxed::Boxed;
use super::{Algorithm, Call, Collective, HierarchicalReduceScatter, PassOn, Refusal};
use crate::schedule::{Copied, FoldAlong, FromBlocks, Keep, Schedule};
use crate::topology::{Hierarchy, Levels, TreeName};

/// The algorithm that replaces the hierarchical one where there are no groups.
pub(super) fn flat(tree: TreeName, call: &Call) -> Algorithm {
    match call.collective {
        Collective::ReduceScatter if !call.commutes => Algorithm::Halving,
        Collective::ReduceScatter | Collective::AllGather => Algorithm::Ring,
        _ => Algorithm::tree(tree),
    }
}

/// The schedules that follow the levels of the machine.
pub(super) fn by_levels(
    tree: TreeName,
    levels: &Arc<Levels>,
    call: &Call,
) -> Result<Box<dyn Schedule>, Refusal> {
    let (n, root) = (call.length(), call.root);
    let fold = |root| FoldAlong::new(Hierarchy::new(levels.clone(), tree, root), n);
    let blocks = || call.blocks.clone();
    let scatter = || HierarchicalReduceScatter::to_blocks(levels.clone(), blocks(), tree);
    Ok(match call.collective {
        Collective::Broadcast => Box::new(fold(root).boxed().reversed()),
        Collective::Reduce => reduce(tree, levels, call),
        Collective::Barrier | Collective::AllReduce => {
            let (up, down) = Hierarchy::new(levels.clone(), tree, 0).there_and_back();
            let (up, down) = (
                FoldAlong::new(up, n).boxed(),
                FoldAlong::new(down, n).backwards(),
            );
            if call.from_input {
                Box::new(up.placed(Keep::Everywhere).boxed().then(down))
            } else {
                Box::new(up.then(down))
            }
        }
        Collective::ReduceScatter if call.commutes => Box::new(Copied::new(scatter(), blocks())),
        Collective::ReduceScatter => Box::new(Copied::new(scatter().in_rank_order(), blocks())),
        Collective::AllGather => Box::new(FromBlocks::new(scatter().backwards(), blocks())),
        collective => {
            let algorithm = Algorithm::Hierarchical { tree };
            return Err(Refusal::NotFor {
                algorithm,
                collective,
            });
        }
    })
}

/// The reduce: to the root at once, or to rank 0 and from there to the root.
fn reduce(tree: TreeName, levels: &Arc<Levels>, call: &Call) -> Box<dyn Schedule> {
    let (ranks, n, root) = (call.ranks(), call.length(), call.root);
    // As for a family by itself: all other families lose rank order when rotated.
    let any = matches!(
        tree,
        TreeName::BINOMIAL | TreeName::Flat | TreeName::FlatSerial
    );
    let end = if call.commutes || any { root } else { 0 };
    let fold = FoldAlong::new(Hierarchy::new(levels.clone(), tree, end), n);
    let fold = fold.boxed().placed(Keep::AtRoot(root));
    Box::new(fold.boxed().then(PassOn::new(ranks, end, root, n)))
}
