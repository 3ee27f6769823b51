//! The schedule of an algorithm for a call: the only place that maps names to types.

use std::num::NonZeroUsize;

use super::by_levels::{by_levels, flat};
use super::ports::{period, ports};
use super::visitor::{Behind, Boxed, Built, WithSchedule};
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

impl Algorithm {
    /// Passes the schedule for a call to a visitor. Nothing is allocated, except for the tables of [`TwoTrees`].
    ///
    /// # Errors
    ///
    /// As returned by [`refused`](Self::refused).
    pub fn visit<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        self.refused(call).map_or(Ok(()), Err)?;
        self.visit_accepted(call, visitor)
    }

    /// The same for a call that is not [refused](Self::refused).
    fn visit_accepted<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        if let Algorithm::Hierarchical { tree } = self {
            return match &call.levels {
                Some(levels) if levels.depth() > 1 => by_levels(tree, levels, call, visitor),
                _ => flat(tree, call).visit(call, visitor),
            };
        }
        match call.collective {
            Collective::Barrier => self.barrier(call, visitor),
            Collective::Broadcast => self.broadcast(call, visitor),
            Collective::Reduce => self.reduce(call, visitor),
            Collective::AllReduce if call.from_input => self.all_reduce_from_input(call, visitor),
            Collective::AllReduce => self.all_reduce(call, visitor),
            Collective::ReduceScatter => self.reduce_scatter(call, visitor),
            Collective::AllGather => self.all_gather(call, visitor),
            Collective::Gather => self.gather(call, visitor),
            Collective::Scatter => self.scatter(call, visitor),
            Collective::AllToAll => self.all_to_all(call, visitor),
            Collective::Scan => self.scan(call, visitor),
            Collective::ExclusiveScan => self.exclusive_scan(call, visitor),
        }
    }

    /// The schedule for a call, on the heap.
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
        self.visit(call, Boxed)
    }

    /// Passes the schedule for a call to `run`, without its type and without allocating more than
    /// [`visit`](Self::visit).
    ///
    /// What `run` does is compiled once, not for each type of schedule. All schedules are compiled in the library, and
    /// none of them again in a program that calls this.
    ///
    /// # Errors
    ///
    /// As returned by [`refused`](Self::refused).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Call, Collective};
    ///
    /// let call = Call::new(Collective::AllReduce, 8, 100);
    /// let mut steps = 0;
    /// Algorithm::Halving.with_schedule(&call, &mut |schedule| steps = schedule.steps())?;
    /// assert_eq!(steps, 6);
    /// # Ok::<(), rankfold::collective::Refusal>(())
    /// ```
    #[inline(never)]
    pub fn with_schedule(
        self,
        call: &Call,
        run: &mut dyn FnMut(&dyn Schedule),
    ) -> Result<(), Refusal> {
        self.visit(call, Behind(run))
    }

    /// The same for a call that is known not to be [refused](Self::refused): the question is not asked again.
    #[inline(never)]
    pub(crate) fn with_accepted(
        self,
        call: &Call,
        run: &mut dyn FnMut(&dyn Schedule),
    ) -> Result<(), Refusal> {
        self.visit_accepted(call, Behind(run))
    }

    fn no_such<V: WithSchedule>(self, call: &Call) -> Built<V> {
        Err(Refusal::NotFor {
            algorithm: self,
            collective: call.collective,
        })
    }

    fn barrier<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let ranks = call.ranks();
        Ok(match self {
            Algorithm::Dissemination => visitor.with(FoldAlong::new(Circle::new(ranks), 0)),
            Algorithm::Exchange => visitor.with(simple_exchange(ranks, 0)),
            Algorithm::Cells => cells::all_reduce(call, visitor),
            Algorithm::Gate => visitor.with(cells::all_reduce_at(call, 0)),
            Algorithm::Tree { tree, .. } => {
                let reduce = FoldAlong::new(tree.on(ranks).single_port(), 0);
                visitor.with(reduce.clone().then(reduce.reversed()))
            }
            _ => return self.no_such::<V>(call),
        })
    }

    fn broadcast<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, n, root) = (call.ranks(), call.length(), call.root);
        let scatter = || Gather::along(BinomialTo::new(ranks, root), even(call)).reversed();
        Ok(match self {
            Algorithm::Direct | Algorithm::Cells => return FLAT.broadcast(call, visitor),
            Algorithm::Hypercube => {
                visitor.with(FoldAlong::new(CubeTo::new(ranks, root), n).reversed())
            }
            Algorithm::ScatterDoubling => {
                visitor.with(scatter().then(far_halving_to_blocks(even(call)).reversed()))
            }
            Algorithm::ScatterRing => {
                let ring = RingReduceScatter::to_blocks(even(call));
                visitor.with(scatter().then(ring.reversed()))
            }
            Algorithm::TwoTree { segments } => {
                let reduce = PacketReduce::new(TwoTrees::new(ranks), n, segments.get());
                visitor.with(reduce.reversed().rooted(root))
            }
            Algorithm::Esbt { segments } => {
                let trees = self.esbt(call)?.rooted(root);
                visitor.with(PacketReduce::new(trees, n, segments.get()).reversed())
            }
            Algorithm::Circulant { segments } => {
                let reduce = PacketReduce::new(Circulant::new(ranks), n, segments.get());
                visitor.with(reduce.reversed().rooted(root))
            }
            Algorithm::Tree { tree, segments } => broadcast_along(tree, segments, call, visitor),
            _ => return self.no_such::<V>(call),
        })
    }

    fn reduce<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, n, root) = (call.ranks(), call.length(), call.root);
        let keep = Keep::AtRoot(root);
        Ok(match self {
            Algorithm::Hypercube => {
                visitor.with(FoldAlong::new(CubeTo::new(ranks, root), n).placed(keep))
            }
            Algorithm::Halving => visitor.with(halving_reduce(ranks, n, root)),
            Algorithm::Cells => cells::reduce(call, visitor),
            Algorithm::Direct => visitor.with(direct::reduce(call.blocks.clone(), root)),
            Algorithm::TwoTree { segments } if call.commutes => {
                let reduce = PacketReduce::new(TwoTrees::new(ranks), n, segments.get());
                visitor.with(reduce.placed(Keep::AtRoot(0)).rooted(root))
            }
            Algorithm::TwoTree { segments } => {
                let trees = TwoTrees::in_rank_order(ranks);
                let reduce = PacketReduce::new(trees, n, segments.get()).placed(keep);
                visitor.with(reduce.then(PassOn::new(ranks, 0, root, n)))
            }
            Algorithm::Esbt { segments } => {
                let trees = self.esbt(call)?.rooted(root);
                visitor.with(PacketReduce::new(trees, n, segments.get()).placed(keep))
            }
            Algorithm::Circulant { segments } => {
                let reduce = PacketReduce::new(Circulant::new(ranks), n, segments.get());
                visitor.with(reduce.placed(Keep::AtRoot(0)).rooted(root))
            }
            Algorithm::Tree {
                tree: TreeName::BINOMIAL,
                segments: None,
            } => visitor.with(FoldAlong::new(BinomialTo::new(ranks, root), n).placed(keep)),
            Algorithm::Tree { tree, segments } => reduce_along(tree, segments, call, visitor),
            _ => return self.no_such::<V>(call),
        })
    }

    fn all_reduce<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, n) = (call.ranks(), call.length());
        Ok(match self {
            Algorithm::Exchange => visitor.with(simple_exchange(ranks, n)),
            Algorithm::Halving => visitor.with(halving_all_reduce(ranks, n)),
            Algorithm::Hybrid { stages } => visitor.with(hybrid_all_reduce(ranks, n, stages)),
            Algorithm::Cells => cells::all_reduce(call, visitor),
            Algorithm::Direct => visitor.with(direct::all_reduce(call.blocks.clone(), None)),
            Algorithm::Ring => {
                let ring = RingReduceScatter::new(ranks, n);
                visitor.with(ring.clone().then(ring.reversed()))
            }
            Algorithm::Tree { tree, segments } => {
                let topology = tree.on(ranks);
                match segments {
                    None => {
                        let fold = FoldAlong::new(topology.single_port(), n);
                        visitor.with(fold.clone().then(fold.reversed()))
                    }
                    Some(segments) => {
                        let fold = FoldAlong::new(ports(tree, topology), n);
                        let (segments, period) = (segments.get(), period(tree, ranks));
                        let down = fold.clone().reversed().pipelined(segments, period);
                        visitor.with(fold.pipelined(segments, period).then(down))
                    }
                }
            }
            Algorithm::TwoTree { .. } | Algorithm::Esbt { .. } | Algorithm::Circulant { .. } => {
                return self.packets_there_and_back(call, visitor);
            }
            _ => return self.no_such::<V>(call),
        })
    }

    fn all_reduce_from_input<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, n) = (call.ranks(), call.length());
        let keep = Keep::Everywhere;
        Ok(match self {
            Algorithm::Exchange => visitor.with(simple_exchange(ranks, n).placed(keep)),
            Algorithm::Halving => visitor.with(halving_all_reduce(ranks, n).placed(keep)),
            Algorithm::Hybrid { stages } => {
                visitor.with(hybrid_all_reduce(ranks, n, stages).placed(keep))
            }
            Algorithm::Cells => cells::all_reduce(call, visitor),
            Algorithm::Direct => visitor.with(direct::all_reduce(call.blocks.clone(), Some(keep))),
            Algorithm::Ring => {
                let ring = RingReduceScatter::new(ranks, n);
                let both = ring.clone().then(ring.reversed());
                visitor.with(both.placed(keep).fresh(Fresh::Always))
            }
            Algorithm::Tree { tree, segments } => {
                let topology = tree.on(ranks);
                match segments {
                    None => {
                        let fold = FoldAlong::new(topology.single_port(), n);
                        visitor.with(fold.clone().placed(keep).then(fold.reversed()))
                    }
                    Some(segments) => {
                        let fold = FoldAlong::new(ports(tree, topology), n);
                        let (segments, period) = (segments.get(), period(tree, ranks));
                        let down = fold.clone().reversed().pipelined(segments, period);
                        let up = fold.placed(keep).pipelined(segments, period);
                        visitor.with(up.then(down))
                    }
                }
            }
            Algorithm::TwoTree { .. } | Algorithm::Esbt { .. } | Algorithm::Circulant { .. } => {
                return self.packets_there_and_back(call, visitor);
            }
            _ => return self.no_such::<V>(call),
        })
    }

    fn packets_there_and_back<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let ranks = call.ranks();
        Ok(match self {
            Algorithm::TwoTree { segments } if call.commutes => {
                there_and_back(call, TwoTrees::new(ranks), segments, visitor)
            }
            Algorithm::TwoTree { segments } => {
                there_and_back(call, TwoTrees::in_rank_order(ranks), segments, visitor)
            }
            Algorithm::Esbt { segments } => {
                there_and_back(call, self.esbt(call)?, segments, visitor)
            }
            Algorithm::Circulant { segments } => {
                there_and_back(call, Circulant::new(ranks), segments, visitor)
            }
            _ => return self.no_such::<V>(call),
        })
    }

    fn esbt(self, call: &Call) -> Result<Esbt, Refusal> {
        let (algorithm, ranks) = (self, call.ranks());
        Esbt::on(ranks).ok_or(Refusal::NoPowerOfTwo { algorithm, ranks })
    }

    fn reduce_scatter<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let blocks = || call.blocks.clone();
        let keep = Keep::OwnBlock(blocks());
        Ok(match self {
            Algorithm::Halving => visitor.with(halving_to_blocks(blocks()).placed(keep)),
            Algorithm::FarHalving => visitor.with(far_halving_to_blocks(blocks()).placed(keep)),
            Algorithm::Ring => {
                let ring = RingReduceScatter::to_blocks(blocks());
                visitor.with(ring.placed(keep).fresh(Fresh::Always))
            }
            Algorithm::Pairwise => visitor.with(Pairwise::reduce_scatter(blocks())),
            Algorithm::Direct | Algorithm::Cells => {
                visitor.with(DirectReduceScatter::to_blocks(blocks()).keep(keep))
            }
            _ => return self.no_such::<V>(call),
        })
    }

    fn all_gather<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let blocks = || call.blocks.clone();
        Ok(match self {
            Algorithm::Doubling => {
                let halving = far_halving_to_blocks(blocks());
                visitor.with(FromBlocks::new(halving.reversed(), blocks()))
            }
            Algorithm::Ring => {
                let ring = RingReduceScatter::to_blocks(blocks());
                visitor.with(FromBlocks::new(ring.reversed(), blocks()))
            }
            Algorithm::Bruck => visitor.with(BruckAllGather::of_blocks(blocks()).from_input()),
            Algorithm::Pairwise | Algorithm::Direct | Algorithm::Cells => {
                visitor.with(Pairwise::all_gather(blocks()))
            }
            _ => return self.no_such::<V>(call),
        })
    }

    fn gather<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, root) = (call.ranks(), call.root);
        Ok(match self {
            Algorithm::Direct | Algorithm::Cells => return FLAT.gather(call, visitor),
            Algorithm::Hypercube => visitor.with(gather(call, CubeTo::new(ranks, root))),
            Algorithm::Tree {
                tree: TreeName::BINOMIAL,
                ..
            } => visitor.with(gather(call, BinomialTo::new(ranks, root))),
            Algorithm::Tree {
                tree: TreeName::Flat,
                ..
            } => visitor.with(gather(call, StarTo::new(ranks, root))),
            _ => return self.no_such::<V>(call),
        })
    }

    fn scatter<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, root) = (call.ranks(), call.root);
        Ok(match self {
            Algorithm::Direct | Algorithm::Cells => return FLAT.scatter(call, visitor),
            Algorithm::Hypercube => {
                visitor.with(gather(call, CubeTo::new(ranks, root)).reversed().swapped())
            }
            Algorithm::Tree {
                tree: TreeName::BINOMIAL,
                ..
            } => {
                let gather = gather(call, BinomialTo::new(ranks, root));
                visitor.with(gather.reversed().swapped())
            }
            Algorithm::Tree {
                tree: TreeName::Flat,
                ..
            } => visitor.with(gather(call, StarTo::new(ranks, root)).reversed().swapped()),
            _ => return self.no_such::<V>(call),
        })
    }

    fn all_to_all<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        Ok(match self {
            Algorithm::Pairwise | Algorithm::Direct | Algorithm::Cells => {
                let alike = || Pieces::alike(call.blocks.clone());
                let pieces = call.pieces.clone().unwrap_or_else(alike);
                visitor.with(Pairwise::of_pieces(pieces))
            }
            Algorithm::Bruck => visitor.with(BruckAllToAll::new(call.ranks(), call.length())),
            _ => return self.no_such::<V>(call),
        })
    }

    fn scan<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, n) = (call.ranks(), call.length());
        Ok(match self {
            Algorithm::Doubling => visitor.with(FoldAlong::new(Shift::new(ranks), n)),
            Algorithm::Exchange => visitor.with(ExchangeScan::new(ranks.ilog2(), n)),
            Algorithm::Tree { segments, .. } => {
                let segments = segments.map_or(1, usize::from);
                visitor.with(FoldAlong::new(Line::new(ranks), n).pipelined(segments, 1))
            }
            _ => return self.no_such::<V>(call),
        })
    }

    fn exclusive_scan<V: WithSchedule>(self, call: &Call, visitor: V) -> Built<V> {
        let (ranks, n) = (call.ranks(), call.length());
        let above = (ranks - 1).max(1);
        Ok(match self {
            Algorithm::Doubling => visitor.with(ExclusiveScan::new(ranks, n)),
            Algorithm::Exchange => {
                let scan = ExchangeScan::new(ranks.ilog2(), n);
                visitor.with(scan.then(PassUp::new(ranks, n)))
            }
            Algorithm::Tree { segments, .. } => {
                let segments = segments.map_or(1, usize::from);
                let scan = FoldAlong::new(Line::new(above), n).pipelined(segments, 1);
                visitor.with(ExclusiveScan::above(ranks, scan))
            }
            _ => return self.no_such::<V>(call),
        })
    }
}

/// Every rank communicates with the root.
const FLAT: Algorithm = Algorithm::tree(TreeName::Flat);

/// The broadcast along a family of trees.
fn broadcast_along<V: WithSchedule>(
    tree: TreeName,
    segments: Option<NonZeroUsize>,
    call: &Call,
    visitor: V,
) -> V::Out {
    let (ranks, n) = (call.ranks(), call.length());
    let topology = tree.on(ranks).rooted(call.root);
    match segments {
        None => visitor.with(FoldAlong::new(topology.single_port(), n).reversed()),
        Some(segments) => {
            let fold = FoldAlong::new(ports(tree, topology), n);
            let period = period(tree, ranks);
            visitor.with(fold.reversed().pipelined(segments.get(), period))
        }
    }
}

/// The reduce along a family of trees.
fn reduce_along<V: WithSchedule>(
    tree: TreeName,
    segments: Option<NonZeroUsize>,
    call: &Call,
    visitor: V,
) -> V::Out {
    let (ranks, n, root) = (call.ranks(), call.length(), call.root);
    let keep = Keep::AtRoot(root);
    // Without commutativity, the fold goes to rank 0, in rank order.
    let end = if call.commutes { root } else { 0 };
    let topology = tree.on(ranks).rooted(end);
    let pass_on = PassOn::new(ranks, end, root, n);
    match segments {
        None => {
            let fold = FoldAlong::new(topology.single_port(), n);
            visitor.with(fold.placed(keep).then(pass_on))
        }
        Some(segments) => {
            let fold = FoldAlong::new(ports(tree, topology), n).placed(keep);
            let period = period(tree, ranks);
            visitor.with(fold.pipelined(segments.get(), period).then(pass_on))
        }
    }
}

/// The all-reduce in packets: the reduction, followed by the broadcast, its reversal.
fn there_and_back<V: WithSchedule, P: Packets + Clone + 'static>(
    call: &Call,
    broadcast: P,
    segments: NonZeroUsize,
    visitor: V,
) -> V::Out {
    let reduce = PacketReduce::new(broadcast, call.length(), segments.get());
    let back = reduce.clone().reversed();
    if call.from_input {
        visitor.with(reduce.placed(Keep::Everywhere).then(back))
    } else {
        visitor.with(reduce.then(back))
    }
}

/// The even cut of a vector in which ranks do not own blocks.
fn even(call: &Call) -> Blocks {
    Blocks::even(call.length(), call.ranks())
}

fn gather<P: Subtrees>(call: &Call, tree: P) -> Gather<P> {
    Gather::along(tree, call.blocks.clone()).from_input()
}
