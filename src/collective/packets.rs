//! The reduction in packets: any broadcast of packets, reversed, with a fold at every receive.

use super::boxed::Boxed;
use crate::Rank;
use crate::schedule::{Combine, Fresh, Keep, Lengths, Placed, Region, Schedule, Step, Transfer};
use crate::span;
use crate::topology::{Hop, Packets};

/// A reduction to the broadcast's root in packets, the last packet first: where a [`Packets`] broadcast sends, this
/// receives and folds. Reversed, it is that broadcast.
///
/// ```text
/// two ranks, three packets     broadcast    0 ─A▶ 1    0 ─B▶ 1    0 ─C▶ 1
///                              reduction    0 ◀C─ 1    0 ◀B─ 1    0 ◀A─ 1
/// ```
///
/// A packet from a higher rank is folded on the right, else on the left. That keeps rank order if the trees do, as
/// those of [`TwoTrees::in_rank_order`](crate::topology::TwoTrees::in_rank_order) do.
///
/// # Cost
///
/// The steps of the broadcast, each at a cost of `α + (N/k) (β + γ)`.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::collective::PacketReduce;
/// use rankfold::schedule::Schedule;
/// use rankfold::topology::{Circulant, TwoTrees};
///
/// let reduce = PacketReduce::new(TwoTrees::in_rank_order(13), 100, 4);
/// let proof = check(&reduce, &Goal::reduce(0, 100).in_rank_order()).unwrap();
/// assert_eq!(proof.steps, 9);
/// let broadcast = PacketReduce::new(Circulant::new(13), 100, 4).reversed();
/// assert_eq!(check(&broadcast, &Goal::broadcast(0, 100)).unwrap().steps, 7);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketReduce<P> {
    broadcast: P,
    length: usize,
    packets: usize,
    steps: usize,
}

impl<P: Packets> PacketReduce<P> {
    /// A reduction of `length` elements in `packets` packets, but at least one, and at most one per element.
    pub fn new(broadcast: P, length: usize, packets: usize) -> PacketReduce<P> {
        let packets = packets.clamp(1, length.max(1));
        PacketReduce {
            steps: broadcast.steps(packets),
            broadcast,
            length,
            packets,
        }
    }

    /// The number of packets.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// The same reduction for a call with its vectors elsewhere: each packet is copied from the input right before the
    /// first fold into it.
    pub fn placed(self, keep: Keep) -> Placed<PacketReduce<P>> {
        let within = self.broadcast.linger();
        Schedule::placed(self, keep).fresh(Fresh::Regions { within })
    }

    /// The same over the boxed schedule, as the registry has it.
    pub(super) fn placed_boxed(self, keep: Keep) -> Placed<Box<dyn Schedule>>
    where
        P: 'static,
    {
        let within = self.broadcast.linger();
        self.boxed().placed(keep).fresh(Fresh::Regions { within })
    }

    fn transfer(&self, hop: Hop) -> Transfer {
        Transfer {
            peer: hop.peer,
            region: Region::output(span::block(self.length, self.packets, hop.packet)),
        }
    }
}

impl<P: Packets> Schedule for PacketReduce<P> {
    fn ranks(&self) -> usize {
        self.broadcast.ranks()
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let last = self.steps.checked_sub(1);
        let Some(forward) = last.and_then(|last| last.checked_sub(step)) else {
            return Step::IDLE;
        };
        let sends = self.broadcast.arrival(self.packets, rank, forward);
        let receives = self.broadcast.departure(self.packets, rank, forward);
        let combine = |hop: Hop| Combine::by_rank(rank, hop.peer);
        Step {
            send: sends.map(|hop| self.transfer(hop)),
            recv: receives.map(|hop| self.transfer(hop)),
            combine: receives.map_or(Combine::Replace, combine),
            ..Step::IDLE
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.length)
    }

    fn may_copy(&self) -> bool {
        false
    }
}
