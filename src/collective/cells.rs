//! The reads of collectives over cells, as schedules: which rank reads which vector, and the order of the fold.

use super::boxed::Boxed;
use super::direct;
use super::in_order::{Fold, FoldedFrom, StarFold};
use super::{Call, Collective, simple_exchange};
use crate::Rank;
use crate::schedule::{
    Combine, FoldAlong, Keep, Lengths, LocalCopy, Region, Schedule, Step, Transfer,
};
use crate::topology::StarTo;

/// All ranks read the result of `root`.
fn all_read(ranks: usize, root: Rank, length: usize) -> impl Schedule + use<> {
    FoldAlong::new(StarTo::new(ranks, root), length).reversed()
}

/// The all-reduce, and the barrier: every rank reads the cells of all others; where ranks take turns on the CPUs, or one is
/// to fold, rank 0 folds for all.
pub(super) fn all_reduce(call: &Call) -> Box<dyn Schedule> {
    let (ranks, n) = (call.ranks(), call.length());
    if ranks == 2 {
        let exchange = simple_exchange(ranks, n);
        return match call.from_input {
            true => Box::new(exchange.boxed().placed(Keep::Everywhere)),
            false => Box::new(exchange),
        };
    }
    if call.crowded || call.folds_at_one {
        return Box::new(all_reduce_at(call, 0));
    }
    Box::new(AllReduceByReads {
        ranks,
        length: n,
        from_input: call.from_input,
    })
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

/// A rank's vector, which it folds those of others into.
fn output(length: usize) -> Region {
    Region::output(0..length)
}

/// What a rank had in its vector before, which others read.
fn saved(length: usize) -> Region {
    Region::scratch(0..length)
}

fn save(length: usize) -> Step {
    Step {
        local: Some(LocalCopy::new(output(length), saved(length))),
        ..Step::IDLE
    }
}

/// The all-reduce in which every rank reads the vectors of all others, in rank order: in step `s`, ranks `p` and `s - p` read
/// each other's. In place, it saves its own first, which the others read.
#[derive(Clone, Copy, Debug)]
struct AllReduceByReads {
    ranks: usize,
    length: usize,
    from_input: bool,
}

impl AllReduceByReads {
    /// The number of steps before the messages.
    fn before(&self) -> usize {
        usize::from(!self.from_input && self.length > 0)
    }

    /// The elements of a rank that the others read.
    fn own(&self) -> Region {
        match self.from_input {
            true => Region::input(0..self.length),
            false => saved(self.length),
        }
    }

    /// The turn of `peer` in the fold of `rank`.
    fn read(&self, rank: Rank, peer: Rank) -> Step {
        let fold = Fold {
            rank,
            own: self.own(),
            result: output(self.length),
        };
        let transfer = |region| (peer != rank).then_some(Transfer { peer, region });
        Step {
            local: fold.local(peer),
            send: transfer(fold.own),
            recv: transfer(fold.result),
            combine: fold.combine(peer),
            ..Step::IDLE
        }
    }
}

impl Schedule for AllReduceByReads {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        self.before() + 2 * self.ranks - 1
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        match step.checked_sub(self.before()) {
            None => save(self.length),
            Some(turn) => {
                let peer = direct::partner(self.ranks, rank, turn);
                peer.map_or(Step::IDLE, |peer| self.read(rank, peer))
            }
        }
    }

    fn copies_first(&self) -> bool {
        true
    }

    fn lengths(&self, _: Rank) -> Lengths {
        let (input, scratch) = match self.from_input {
            true => (self.length, 0),
            false => (0, self.length),
        };
        Lengths {
            input,
            output: self.length,
            scratch,
        }
    }
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

/// The scans: every rank reads the vectors of all ranks below it, the nearest one first. A rank that is also read sends
/// what it had before: with more than two ranks it saves that.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanByReads {
    ranks: usize,
    length: usize,
    exclusive: bool,
}

impl ScanByReads {
    pub(super) fn new(call: &Call) -> ScanByReads {
        ScanByReads {
            ranks: call.ranks(),
            length: call.length(),
            exclusive: call.collective == Collective::ExclusiveScan,
        }
    }

    /// The number of steps before the messages.
    fn before(&self) -> usize {
        usize::from(self.ranks > 2)
    }

    /// Whether a rank reads and is read.
    fn saves(&self, rank: Rank) -> bool {
        rank > 0 && rank + 1 < self.ranks
    }

    /// Ranks at this distance read.
    fn read(&self, rank: Rank, distance: usize) -> Step {
        let above = Some(rank + distance).filter(|&above| above < self.ranks);
        let below = rank.checked_sub(distance);
        let had = match self.saves(rank) {
            true => saved(self.length),
            false => output(self.length),
        };
        let transfer = |peer, region| Transfer { peer, region };
        Step {
            send: above.map(|peer| transfer(peer, had)),
            recv: below.map(|peer| transfer(peer, output(self.length))),
            combine: match below {
                None => Combine::Replace,
                Some(_) if self.exclusive && distance == 1 => Combine::Replace,
                Some(_) => Combine::FoldLeft,
            },
            ..Step::IDLE
        }
    }
}

impl Schedule for ScanByReads {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        self.ranks - 1 + self.before()
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        match step.checked_sub(self.before()) {
            _ if step >= self.steps() => Step::IDLE,
            None if self.saves(rank) && self.length > 0 => save(self.length),
            None => Step::IDLE,
            Some(read) => self.read(rank, read + 1),
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        Lengths {
            input: 0,
            output: self.length,
            scratch: if self.saves(rank) { self.length } else { 0 },
        }
    }

    fn copies_first(&self) -> bool {
        self.ranks > 2
    }
}
