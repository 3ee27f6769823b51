//! The schedule of an algorithm for a call: the only place that maps names to types.

use std::num::NonZeroUsize;

use super::boxed::Boxed;
use super::by_levels::{by_levels, flat};
use super::cells::ScanByReads;
use super::direct_scan::DirectScan;
use super::ports::{period, ports};
use super::{
    Algorithm, BruckAllGather, BruckAllToAll, Call, Collective, DirectReduceScatter, ExchangeScan,
    ExclusiveScan, Gather, PacketReduce, Pairwise, PassOn, PassUp, Refusal, RingReduceScatter,
    far_halving_to_blocks, halving_all_reduce, halving_reduce, halving_to_blocks,
    hybrid_all_reduce, simple_exchange,
};
use super::{cells, direct};
use crate::schedule::{FoldAlong, Fresh, FromBlocks, Keep, Schedule};
use crate::span::{Blocks, Pieces};
use crate::topology::{
    BinomialTo, Circle, Circulant, CubeTo, Esbt, Line, Packets, Shift, StarTo, Subtrees, TreeName,
    TwoTrees,
};

/// A schedule, or the reason why there is none.
pub(super) type Built = Result<Box<dyn Schedule>, Refusal>;

impl Algorithm {
    /// The schedule for a call. All schedules are compiled in the library, and none again in a program that asks for one.
    ///
    /// # Errors
    ///
    /// As returned by [`refused`](Self::refused).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::{Goal, check};
    /// use rankfold::collective::{Algorithm, Call, Collective};
    ///
    /// let call = Call::new(Collective::Reduce, 13, 100).to_root(5);
    /// let goal = Goal::of(call.collective, call.root, 100).in_rank_order();
    /// for algorithm in Algorithm::all(call.collective) {
    ///     if let Ok(schedule) = algorithm.schedule(&call) {
    ///         check(&schedule, &goal).unwrap();
    ///     }
    /// }
    /// ```
    pub fn schedule(self, call: &Call) -> Result<Box<dyn Schedule>, Refusal> {
        self.refused(call).map_or(Ok(()), Err)?;
        self.accepted(call)
    }

    /// The same for a call that is not [refused](Self::refused).
    fn accepted(self, call: &Call) -> Built {
        if let Algorithm::Hierarchical { tree } = self {
            return match &call.levels {
                Some(levels) if levels.depth() > 1 => by_levels(tree, levels, call),
                _ => flat(tree, call).schedule(call),
            };
        }
        match call.collective {
            Collective::Barrier => self.barrier(call),
            Collective::Broadcast => self.broadcast(call),
            Collective::Reduce => self.reduce(call),
            Collective::AllReduce if call.from_input => self.all_reduce_from_input(call),
            Collective::AllReduce => self.all_reduce(call),
            Collective::ReduceScatter => self.reduce_scatter(call),
            Collective::AllGather => self.all_gather(call),
            Collective::Gather => self.gather(call),
            Collective::Scatter => self.scatter(call),
            Collective::AllToAll => self.all_to_all(call),
            Collective::Scan => self.scan(call),
            Collective::ExclusiveScan => self.exclusive_scan(call),
        }
    }

    fn no_such(self, call: &Call) -> Built {
        Err(Refusal::NotFor {
            algorithm: self,
            collective: call.collective,
        })
    }

    fn barrier(self, call: &Call) -> Built {
        let ranks = call.ranks();
        Ok(match self {
            Algorithm::Dissemination => Box::new(FoldAlong::new(Circle::new(ranks), 0)),
            Algorithm::Exchange => Box::new(simple_exchange(ranks, 0)),
            Algorithm::Cells => cells::all_reduce(call),
            Algorithm::Gate => Box::new(cells::all_reduce_at(call, 0)),
            Algorithm::Tree { tree, .. } => {
                let reduce = FoldAlong::new(tree.on(ranks).single_port(), 0);
                Box::new(reduce.clone().boxed().then(reduce.backwards()))
            }
            _ => return self.no_such(call),
        })
    }

    fn broadcast(self, call: &Call) -> Built {
        let (ranks, n, root) = (call.ranks(), call.length(), call.root);
        let scatter = || Gather::along(BinomialTo::new(ranks, root), even(call)).backwards();
        Ok(match self {
            Algorithm::Direct | Algorithm::Cells => return FLAT.broadcast(call),
            Algorithm::Hypercube => Box::new(
                FoldAlong::new(CubeTo::new(ranks, root), n)
                    .boxed()
                    .reversed(),
            ),
            Algorithm::ScatterDoubling => {
                let gather = far_halving_to_blocks(even(call)).boxed().reversed();
                Box::new(scatter().then(gather.boxed()))
            }
            Algorithm::ScatterRing => {
                let ring = RingReduceScatter::to_blocks(even(call));
                Box::new(scatter().then(ring.backwards()))
            }
            Algorithm::TwoTree { segments } => {
                let reduce = PacketReduce::new(TwoTrees::new(ranks), n, segments.get());
                Box::new(reduce.boxed().reversed().rooted(root))
            }
            Algorithm::Esbt { segments } => {
                let trees = self.esbt(call)?.rooted(root);
                Box::new(
                    PacketReduce::new(trees, n, segments.get())
                        .boxed()
                        .reversed(),
                )
            }
            Algorithm::Circulant { segments } => {
                let reduce = PacketReduce::new(Circulant::new(ranks), n, segments.get());
                Box::new(reduce.boxed().reversed().rooted(root))
            }
            Algorithm::Tree { tree, segments } => broadcast_along(tree, segments, call),
            _ => return self.no_such(call),
        })
    }

    fn reduce(self, call: &Call) -> Built {
        let (ranks, n, root) = (call.ranks(), call.length(), call.root);
        let keep = Keep::AtRoot(root);
        Ok(match self {
            Algorithm::Hypercube => {
                let cube = FoldAlong::new(CubeTo::new(ranks, root), n);
                Box::new(cube.boxed().placed(keep))
            }
            Algorithm::Halving => Box::new(halving_reduce(ranks, n, root)),
            Algorithm::Cells => cells::reduce(call),
            Algorithm::Direct => Box::new(direct::reduce(call.blocks.clone(), root)),
            Algorithm::TwoTree { segments } if call.commutes => {
                let reduce = PacketReduce::new(TwoTrees::new(ranks), n, segments.get());
                Box::new(reduce.placed_boxed(Keep::AtRoot(0)).rooted(root))
            }
            Algorithm::TwoTree { segments } => {
                let trees = TwoTrees::in_rank_order(ranks);
                let reduce = PacketReduce::new(trees, n, segments.get()).placed_boxed(keep);
                Box::new(reduce.boxed().then(PassOn::new(ranks, 0, root, n)))
            }
            Algorithm::Esbt { segments } => {
                let trees = self.esbt(call)?.rooted(root);
                Box::new(PacketReduce::new(trees, n, segments.get()).placed_boxed(keep))
            }
            Algorithm::Circulant { segments } => {
                let reduce = PacketReduce::new(Circulant::new(ranks), n, segments.get());
                Box::new(reduce.placed_boxed(Keep::AtRoot(0)).rooted(root))
            }
            Algorithm::Tree {
                tree: TreeName::BINOMIAL,
                segments: None,
            } => {
                let tree = FoldAlong::new(BinomialTo::new(ranks, root), n);
                Box::new(tree.boxed().placed(keep))
            }
            Algorithm::Tree { tree, segments } => reduce_along(tree, segments, call),
            _ => return self.no_such(call),
        })
    }

    fn all_reduce(self, call: &Call) -> Built {
        let (ranks, n) = (call.ranks(), call.length());
        Ok(match self {
            Algorithm::Exchange | Algorithm::Doubling => Box::new(simple_exchange(ranks, n)),
            Algorithm::Halving => Box::new(halving_all_reduce(ranks, n)),
            Algorithm::Hybrid { stages } => Box::new(hybrid_all_reduce(ranks, n, stages)),
            Algorithm::Cells => cells::all_reduce(call),
            Algorithm::Direct => Box::new(direct::all_reduce(call.blocks.clone(), None)),
            Algorithm::Ring => {
                let ring = RingReduceScatter::new(ranks, n);
                Box::new(ring.clone().boxed().then(ring.backwards()))
            }
            Algorithm::Tree { tree, segments } => all_reduce_along(tree, segments, call),
            Algorithm::TwoTree { .. } | Algorithm::Esbt { .. } | Algorithm::Circulant { .. } => {
                return self.packets_there_and_back(call);
            }
            _ => return self.no_such(call),
        })
    }

    fn all_reduce_from_input(self, call: &Call) -> Built {
        let (ranks, n) = (call.ranks(), call.length());
        let keep = Keep::Everywhere;
        Ok(match self {
            Algorithm::Exchange | Algorithm::Doubling => {
                Box::new(simple_exchange(ranks, n).boxed().placed(keep))
            }
            Algorithm::Halving => Box::new(halving_all_reduce(ranks, n).boxed().placed(keep)),
            Algorithm::Hybrid { stages } => {
                Box::new(hybrid_all_reduce(ranks, n, stages).boxed().placed(keep))
            }
            Algorithm::Cells => cells::all_reduce(call),
            Algorithm::Direct => Box::new(direct::all_reduce(call.blocks.clone(), Some(keep))),
            Algorithm::Ring => {
                let ring = RingReduceScatter::new(ranks, n);
                let both = ring.clone().boxed().then(ring.backwards());
                Box::new(both.boxed().placed(keep).fresh(Fresh::Always))
            }
            Algorithm::Tree { tree, segments } => all_reduce_along(tree, segments, call),
            Algorithm::TwoTree { .. } | Algorithm::Esbt { .. } | Algorithm::Circulant { .. } => {
                return self.packets_there_and_back(call);
            }
            _ => return self.no_such(call),
        })
    }

    fn packets_there_and_back(self, call: &Call) -> Built {
        let ranks = call.ranks();
        Ok(match self {
            Algorithm::TwoTree { segments } if call.commutes => {
                there_and_back(call, TwoTrees::new(ranks), segments)
            }
            Algorithm::TwoTree { segments } => {
                there_and_back(call, TwoTrees::in_rank_order(ranks), segments)
            }
            Algorithm::Esbt { segments } => there_and_back(call, self.esbt(call)?, segments),
            Algorithm::Circulant { segments } => {
                there_and_back(call, Circulant::new(ranks), segments)
            }
            _ => return self.no_such(call),
        })
    }

    fn esbt(self, call: &Call) -> Result<Esbt, Refusal> {
        let (algorithm, ranks) = (self, call.ranks());
        Esbt::on(ranks).ok_or(Refusal::NoPowerOfTwo { algorithm, ranks })
    }

    fn reduce_scatter(self, call: &Call) -> Built {
        let blocks = || call.blocks.clone();
        let keep = Keep::OwnBlock(blocks());
        Ok(match self {
            Algorithm::Halving => Box::new(halving_to_blocks(blocks()).boxed().placed(keep)),
            Algorithm::FarHalving => Box::new(far_halving_to_blocks(blocks()).boxed().placed(keep)),
            Algorithm::Ring => {
                let ring = RingReduceScatter::to_blocks(blocks());
                Box::new(ring.boxed().placed(keep).fresh(Fresh::Always))
            }
            Algorithm::Pairwise => Box::new(Pairwise::reduce_scatter(blocks())),
            Algorithm::Direct | Algorithm::Cells => {
                Box::new(DirectReduceScatter::to_blocks(blocks()).keep(keep))
            }
            _ => return self.no_such(call),
        })
    }

    fn all_gather(self, call: &Call) -> Built {
        let blocks = || call.blocks.clone();
        Ok(match self {
            Algorithm::Doubling => {
                let halving = far_halving_to_blocks(blocks());
                Box::new(FromBlocks::new(halving.backwards(), blocks()))
            }
            Algorithm::Ring => {
                let ring = RingReduceScatter::to_blocks(blocks());
                Box::new(FromBlocks::new(ring.backwards(), blocks()))
            }
            Algorithm::Bruck => Box::new(BruckAllGather::of_blocks(blocks()).from_input()),
            Algorithm::Pairwise | Algorithm::Direct | Algorithm::Cells => {
                Box::new(Pairwise::all_gather(blocks()))
            }
            _ => return self.no_such(call),
        })
    }

    fn gather(self, call: &Call) -> Built {
        let (ranks, root) = (call.ranks(), call.root);
        Ok(match self {
            Algorithm::Direct | Algorithm::Cells => return FLAT.gather(call),
            Algorithm::Hypercube => Box::new(gather(call, CubeTo::new(ranks, root))),
            Algorithm::Tree {
                tree: TreeName::BINOMIAL,
                ..
            } => Box::new(gather(call, BinomialTo::new(ranks, root))),
            Algorithm::Tree {
                tree: TreeName::Flat,
                ..
            } => Box::new(gather(call, StarTo::new(ranks, root))),
            _ => return self.no_such(call),
        })
    }

    fn scatter(self, call: &Call) -> Built {
        let (ranks, root) = (call.ranks(), call.root);
        Ok(match self {
            Algorithm::Direct | Algorithm::Cells => return FLAT.scatter(call),
            Algorithm::Hypercube => Box::new(gather(call, CubeTo::new(ranks, root)).into_scatter()),
            Algorithm::Tree {
                tree: TreeName::BINOMIAL,
                ..
            } => Box::new(gather(call, BinomialTo::new(ranks, root)).into_scatter()),
            Algorithm::Tree {
                tree: TreeName::Flat,
                ..
            } => Box::new(gather(call, StarTo::new(ranks, root)).into_scatter()),
            _ => return self.no_such(call),
        })
    }

    fn all_to_all(self, call: &Call) -> Built {
        Ok(match self {
            Algorithm::Pairwise | Algorithm::Direct | Algorithm::Cells => {
                let alike = || Pieces::alike(call.blocks.clone());
                let pieces = call.pieces.clone().unwrap_or_else(alike);
                Box::new(Pairwise::of_pieces(pieces))
            }
            Algorithm::Bruck => Box::new(BruckAllToAll::new(call.ranks(), call.length())),
            _ => return self.no_such(call),
        })
    }

    fn scan(self, call: &Call) -> Built {
        let (ranks, n) = (call.ranks(), call.length());
        Ok(match self {
            Algorithm::Doubling => Box::new(FoldAlong::new(Shift::new(ranks), n)),
            Algorithm::Direct => Box::new(DirectScan::new(call)),
            Algorithm::Cells => Box::new(ScanByReads::new(call)),
            Algorithm::Exchange => Box::new(ExchangeScan::new(ranks.ilog2(), n)),
            Algorithm::Tree { segments, .. } => {
                let segments = segments.map_or(1, usize::from);
                Box::new(
                    FoldAlong::new(Line::new(ranks), n)
                        .boxed()
                        .pipelined(segments, 1),
                )
            }
            _ => return self.no_such(call),
        })
    }

    fn exclusive_scan(self, call: &Call) -> Built {
        let (ranks, n) = (call.ranks(), call.length());
        let above = (ranks - 1).max(1);
        Ok(match self {
            Algorithm::Doubling => Box::new(ExclusiveScan::new(ranks, n)),
            Algorithm::Direct => Box::new(DirectScan::new(call)),
            Algorithm::Cells => Box::new(ScanByReads::new(call)),
            Algorithm::Exchange => {
                let scan = ExchangeScan::new(ranks.ilog2(), n);
                Box::new(scan.boxed().then(PassUp::new(ranks, n).boxed()))
            }
            Algorithm::Tree { segments, .. } => {
                let segments = segments.map_or(1, usize::from);
                let scan = FoldAlong::new(Line::new(above), n)
                    .boxed()
                    .pipelined(segments, 1);
                Box::new(ExclusiveScan::above(ranks, scan))
            }
            _ => return self.no_such(call),
        })
    }
}

/// Every rank communicates with the root.
const FLAT: Algorithm = Algorithm::tree(TreeName::Flat);

/// The broadcast along a family of trees.
fn broadcast_along(
    tree: TreeName,
    segments: Option<NonZeroUsize>,
    call: &Call,
) -> Box<dyn Schedule> {
    let (ranks, n) = (call.ranks(), call.length());
    let topology = tree.on(ranks).rooted(call.root);
    match segments {
        None => Box::new(FoldAlong::new(topology.single_port(), n).boxed().reversed()),
        Some(segments) => {
            let fold = FoldAlong::new(ports(tree, topology), n);
            let period = period(tree, ranks);
            Box::new(fold.backwards().pipelined(segments.get(), period))
        }
    }
}

/// The reduce along a family of trees.
fn reduce_along(tree: TreeName, segments: Option<NonZeroUsize>, call: &Call) -> Box<dyn Schedule> {
    let (ranks, n, root) = (call.ranks(), call.length(), call.root);
    let keep = Keep::AtRoot(root);
    // Without commutativity, the fold goes to rank 0, in rank order.
    let end = if call.commutes { root } else { 0 };
    let topology = tree.on(ranks).rooted(end);
    let pass_on = PassOn::new(ranks, end, root, n);
    match segments {
        None => {
            let fold = FoldAlong::new(topology.single_port(), n);
            Box::new(fold.boxed().placed(keep).boxed().then(pass_on))
        }
        Some(segments) => {
            let fold = FoldAlong::new(ports(tree, topology), n)
                .boxed()
                .placed(keep);
            let period = period(tree, ranks);
            let fold = fold.boxed().pipelined(segments.get(), period);
            Box::new(fold.boxed().then(pass_on))
        }
    }
}

/// The all-reduce along a family of trees.
fn all_reduce_along(
    tree: TreeName,
    segments: Option<NonZeroUsize>,
    call: &Call,
) -> Box<dyn Schedule> {
    let (ranks, n) = (call.ranks(), call.length());
    let topology = tree.on(ranks);
    let placed = |fold: Box<dyn Schedule>| match call.from_input {
        true => fold.placed(Keep::Everywhere).boxed(),
        false => fold,
    };
    let Some(segments) = segments else {
        let fold = FoldAlong::new(topology.single_port(), n);
        return placed(fold.clone().boxed()).then(fold.backwards()).boxed();
    };
    let fold = FoldAlong::new(ports(tree, topology), n);
    let piped = |fold: Box<dyn Schedule>| fold.pipelined(segments.get(), period(tree, ranks));
    let up = piped(placed(fold.clone().boxed()));
    up.boxed().then(piped(fold.backwards()).boxed()).boxed()
}

/// The all-reduce in packets: the reduction, followed by the broadcast, its reversal.
fn there_and_back<P: Packets + Clone + 'static>(
    call: &Call,
    broadcast: P,
    segments: NonZeroUsize,
) -> Box<dyn Schedule> {
    let reduce = PacketReduce::new(broadcast, call.length(), segments.get());
    let back = reduce.clone().backwards();
    if call.from_input {
        Box::new(reduce.placed_boxed(Keep::Everywhere).boxed().then(back))
    } else {
        Box::new(reduce.boxed().then(back))
    }
}

/// The even cut of a vector in which ranks do not own blocks.
fn even(call: &Call) -> Blocks {
    Blocks::even(call.length(), call.ranks())
}

fn gather<P: Subtrees>(call: &Call, tree: P) -> Gather<P> {
    Gather::along(tree, call.blocks.clone()).from_input()
}
