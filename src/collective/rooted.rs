//! Reductions to one rank: halving followed by a gather, and the transfer from rank 0 to another root.

use super::exchange::{Bisection, Halving};
use crate::Rank;
use crate::schedule::{
    HandOut, Keep, Lengths, Placed, Proxied, Region, Schedule, Step, Then, Transfer,
};

/// Rank `from` passes its result to rank `to`: one step, or none if they are equal.
///
/// A reduction that keeps rank order only on its way to rank 0, followed by this transfer, supports operators that do
/// not commute for every root.
///
/// ```text
/// scratch space of `from` ──▶ output of `to`
/// ```
///
/// # Cost
///
/// `α + N β`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassOn {
    ranks: usize,
    from: Rank,
    to: Rank,
    length: usize,
}

impl PassOn {
    /// The transfer among `ranks` ranks, of `length` elements.
    ///
    /// # Panics
    ///
    /// If `from` or `to` is not one of the ranks.
    #[track_caller]
    pub fn new(ranks: usize, from: Rank, to: Rank, length: usize) -> PassOn {
        assert!(from.max(to) < ranks, "{from} to {to} of {ranks} ranks");
        PassOn {
            ranks,
            from,
            to,
            length,
        }
    }
}

impl Schedule for PassOn {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn steps(&self) -> usize {
        usize::from(self.from != self.to)
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        if step >= self.steps() {
            return Step::IDLE;
        }
        let transfer = |peer, region| Some(Transfer { peer, region });
        Step {
            send: (rank == self.from)
                .then_some(Region::scratch(0..self.length))
                .and_then(|region| transfer(self.to, region)),
            recv: (rank == self.to)
                .then_some(Region::output(0..self.length))
                .and_then(|region| transfer(self.from, region)),
            ..Step::IDLE
        }
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        let at = |end: Rank| {
            if self.steps() > 0 && rank == end {
                self.length
            } else {
                0
            }
        };
        Lengths {
            input: 0,
            output: at(self.to),
            scratch: at(self.from),
        }
    }
}

/// Reduce to any root by recursive halving, followed by a gather of the parts to the root. It works for any number of
/// ranks, and operands stay in rank order.
///
/// # Cost
///
/// `2 d` steps in which the root moves `2 N (P-1)/P` elements and folds half of them, for a power of two. Otherwise one
/// more step of whole vectors, and a second one if the root is a rank that stands aside.
///
/// # Source
///
/// Rabenseifner, in Thakur, Rabenseifner and Gropp, *Optimization of collective communication
/// operations in MPICH*, 2005, section 4.4.
pub fn halving_reduce(
    ranks: usize,
    length: usize,
    root: Rank,
) -> Then<Placed<Proxied<Then<Halving, Collect>>>, PassOn> {
    let halving = Halving::new(ranks.ilog2(), length, Bisection::Near);
    let extra = ranks - halving.ranks();
    let paired = root < 2 * extra;
    let (v, ends) = if paired {
        (root / 2, root & !1)
    } else {
        (root - extra, root)
    };
    let collect = Collect {
        halving: halving.clone(),
        root: v,
    };
    let inside = halving.then(collect).proxied(ranks, HandOut::Nothing);
    inside
        .placed(Keep::AtRoot(root))
        .then(PassOn::new(ranks, ends, root, length))
}

/// The step after near halving: the reversed halving, towards one rank only.
///
/// ```text
/// to rank 5 of 8    step 0   0▶4   1▶5   2▶6   3▶7       a part each
///                   step 1   6────▶4     7────▶5         two
///                   step 2   4────▶5                     four
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collect {
    halving: Halving,
    root: Rank,
}

impl Schedule for Collect {
    fn ranks(&self) -> usize {
        self.halving.ranks()
    }

    fn steps(&self) -> usize {
        self.halving.steps()
    }

    fn step(&self, v: Rank, step: usize) -> Step {
        let Some(stage) = self.steps().checked_sub(step + 1) else {
            return Step::IDLE;
        };
        // Ranks that agree with the root in all higher bits still hold missing elements.
        if (v ^ self.root) >> stage > 1 {
            return Step::IDLE;
        }
        let halved = self.halving.step(v, stage);
        let receives = (v ^ self.root) >> stage == 0;
        let (send, recv) = if receives {
            (None, halved.send)
        } else {
            (halved.recv, None)
        };
        Step {
            send,
            recv,
            ..Step::IDLE
        }
    }

    fn lengths(&self, v: Rank) -> Lengths {
        self.halving.lengths(v)
    }
}
