//! The same schedule on other ranks: more than a power of two, or another root.

use std::ops::Range;

use crate::Rank;
use crate::schedule::{
    Combine, Lengths, Region, Schedule, Step, Transfer, first_from, least_after,
};
use crate::span::{self, Blocks};

/// The elements that the ranks that stood aside receive at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandOut {
    /// Nothing: only one rank has the result.
    Nothing,
    /// Their block of the vector, which is cut into one block per rank.
    Block,
    /// The whole vector.
    Vector,
}

/// A reduction among `2^d` ranks, or any other number, extended to up to twice as many ranks less one.
///
/// Neighbours pair up, so rank order survives: with `e` surplus ranks, rank `2v + 1` folds into `2v` for `v < e`, then
/// stands aside and receives its result last.
///
/// ```text
/// six ranks, four of which take part        first   0◀1  2◀3  4  5
///                                           then    0    2    4  5    as virtual ranks 0 1 2 3
///                                           last    0▶1  2▶3  4  5
/// ```
///
/// It works in place on vectors of equal length on every rank.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::{FoldAlong, HandOut, Schedule};
/// use rankfold::topology::Hypercube;
///
/// let exchange = FoldAlong::new(Hypercube::new(2), 10).proxied(6, HandOut::Vector);
/// let proof = check(&exchange, &Goal::all_reduce(10).in_rank_order()).unwrap();
/// assert_eq!(proof.steps, 2 + 2);
/// ```
///
/// # Source
///
/// Thakur, Rabenseifner and Gropp, *Optimization of collective communication operations in MPICH*,
/// 2005, section 4.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxied<S> {
    inner: S,
    /// The number of ranks beyond those of the inner schedule.
    extra: usize,
    hand_out: HandOut,
    /// The blocks of the vector, unless it is cut evenly.
    blocks: Option<Blocks>,
}

impl<S: Schedule> Proxied<S> {
    #[track_caller]
    pub(in crate::schedule) fn new(inner: S, ranks: usize, hand_out: HandOut) -> Proxied<S> {
        let most = inner.ranks();
        let extra = ranks.checked_sub(most).filter(|&extra| extra <= most);
        let extra = extra.unwrap_or_else(|| panic!("{most} ranks cannot stand for {ranks}"));
        Proxied {
            inner,
            extra,
            hand_out,
            blocks: None,
        }
    }

    /// The same schedule with other blocks.
    ///
    /// # Panics
    ///
    /// If there is not one block per rank.
    #[track_caller]
    pub fn cut(self, blocks: Blocks) -> Proxied<S> {
        let (parts, ranks) = (blocks.parts(), self.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        Proxied {
            blocks: Some(blocks),
            ..self
        }
    }

    /// The rank's number in the inner schedule; `None` if it stands aside.
    #[inline]
    fn inner_rank(&self, rank: Rank) -> Option<Rank> {
        let aside = rank < 2 * self.extra && !rank.is_multiple_of(2);
        (!aside).then_some(rank - self.extra.min(rank / 2))
    }

    #[inline]
    fn outer_rank(&self, v: Rank) -> Rank {
        v + self.extra.min(v)
    }

    /// The other rank of the pair, if the rank has one.
    fn neighbour(&self, rank: Rank) -> Option<Rank> {
        (rank < 2 * self.extra).then_some(rank ^ 1)
    }

    /// The number of steps before the inner schedule.
    fn before(&self) -> usize {
        usize::from(self.extra > 0)
    }

    fn after(&self) -> usize {
        usize::from(self.extra > 0 && self.hand_out != HandOut::Nothing)
    }

    #[cold] // at most two of all steps; must not take registers from the others
    fn vector(&self) -> Range<usize> {
        0..self.inner.lengths(0).output
    }

    /// The elements that a rank which stood aside receives.
    #[cold]
    fn handed_out(&self, aside: Rank) -> Range<usize> {
        let vector = self.vector();
        match &self.blocks {
            _ if self.hand_out != HandOut::Block => vector,
            Some(blocks) => blocks.block(aside),
            None => span::block(vector.len(), self.ranks(), aside),
        }
    }

    #[inline(always)] // as `step`
    fn fold_in(&self, rank: Rank) -> Step {
        let region = Region::output(self.vector());
        match self.neighbour(rank).map(|peer| Transfer { peer, region }) {
            Some(recv) if rank.is_multiple_of(2) => Step {
                recv: Some(recv),
                combine: Combine::FoldRight,
                ..Step::IDLE
            },
            send => Step { send, ..Step::IDLE },
        }
    }

    #[inline(always)] // as `step`
    fn serve(&self, rank: Rank) -> Step {
        let Some(peer) = self.neighbour(rank) else {
            return Step::IDLE;
        };
        let region = Region::output(self.handed_out(rank | 1));
        let transfer = Some(Transfer { peer, region });
        let (send, recv) = if rank.is_multiple_of(2) {
            (transfer, None)
        } else {
            (None, transfer)
        };
        Step {
            send,
            recv,
            ..Step::IDLE
        }
    }
}

impl<S: Schedule> Schedule for Proxied<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks() + self.extra
    }

    fn steps(&self) -> usize {
        self.before() + self.inner.steps() + self.after()
    }

    #[inline(always)] // a call would copy the step, which costs more than making it
    fn step(&self, rank: Rank, step: usize) -> Step {
        let Some(inside) = step.checked_sub(self.before()) else {
            return self.fold_in(rank);
        };
        if inside >= self.inner.steps() {
            let last = step + 1 == self.steps() && self.after() > 0;
            return if last { self.serve(rank) } else { Step::IDLE };
        }
        let Some(v) = self.inner_rank(rank) else {
            return Step::IDLE;
        };
        let inner = self.inner.step(v, inside);
        inner.map_peers(|peer| self.outer_rank(peer))
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let (least, paired) = (least_after(after)?, self.neighbour(rank).is_some());
        if least < self.before() && paired {
            return Some(0);
        }
        let inside = least.saturating_sub(self.before());
        let inner = (self.inner_rank(rank)).and_then(|v| first_from(&self.inner, v, inside));
        let served = || {
            let last = self.steps().checked_sub(1)?;
            (paired && self.after() > 0 && least <= last).then_some(last)
        };
        inner.map(|step| self.before() + step).or_else(served)
    }

    fn copies_first(&self) -> bool {
        self.before() == 0 && self.inner.copies_first()
    }

    fn may_copy(&self) -> bool {
        self.inner.may_copy()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.inner
            .lengths(self.inner_rank(rank).unwrap_or(rank / 2))
    }
}

/// A schedule with rotated ranks: rank `p` takes the part of rank `(p - root) mod ranks`.
///
/// The operands rotate with the ranks, so a reduction then requires an operator that commutes. Blocks that belong to
/// ranks do not rotate.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::{FoldAlong, Schedule};
/// use rankfold::topology::Topology;
///
/// let reduce = FoldAlong::new(Topology::binomial(6).single_port(), 9).rooted(4);
/// assert!(!check(&reduce, &Goal::reduce(4, 9)).unwrap().ordered);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rooted<S> {
    inner: S,
    root: Rank,
}

impl<S: Schedule> Rooted<S> {
    #[track_caller]
    pub(in crate::schedule) fn new(inner: S, root: Rank) -> Rooted<S> {
        let ranks = inner.ranks();
        assert!(root < ranks, "rank {root} of a schedule with {ranks} ranks");
        Rooted { inner, root }
    }

    #[inline]
    fn inner_rank(&self, rank: Rank) -> Rank {
        if rank >= self.root {
            rank - self.root
        } else {
            rank + (self.ranks() - self.root)
        }
    }

    #[inline]
    fn outer_rank(&self, v: Rank) -> Rank {
        let before_wrap = self.ranks() - self.root;
        if v < before_wrap {
            v + self.root
        } else {
            v - before_wrap
        }
    }
}

impl<S: Schedule> Schedule for Rooted<S> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn steps(&self) -> usize {
        self.inner.steps()
    }

    #[inline(always)] // a call would copy the step, which costs more than making it
    fn step(&self, rank: Rank, step: usize) -> Step {
        let inner = self.inner.step(self.inner_rank(rank), step);
        inner.map_peers(|peer| self.outer_rank(peer))
    }

    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        self.inner.next_active(self.inner_rank(rank), after)
    }

    fn copies_first(&self) -> bool {
        self.inner.copies_first()
    }

    fn may_copy(&self) -> bool {
        self.inner.may_copy()
    }

    fn lengths(&self, rank: Rank) -> Lengths {
        self.inner.lengths(self.inner_rank(rank))
    }
}
