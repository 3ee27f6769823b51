//! The closed form of an algorithm, and combinators of forms that mirror those of schedules.

use std::fmt;
use std::sync::Arc;

use super::{Cost, Load, Model};
use crate::Rank;
use crate::schedule::HandOut;
use crate::span;

/// The use of a tree: as a broadcast, a reduce, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreeUse {
    /// From the root to all ranks.
    Broadcast,
    /// From all ranks to the root, folded on the way.
    Reduce,
    /// A reduce followed by a broadcast.
    AllReduce,
}

/// An algorithm on a number of ranks and elements, in closed form.
///
/// # Laws
///
/// For the schedule of the same algorithm on the same ranks and elements, [`check`](crate::check::check) counts the
/// same number of steps, the same number of steps with messages, and at every rank the same traffic as
/// [`load`](Self::load).
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::collective::RingReduceScatter;
/// use rankfold::cost;
///
/// let form = cost::ring_reduce_scatter(5, 12);
/// let proof = check(&RingReduceScatter::new(5, 12), &Goal::reduce_scatter(12)).unwrap();
/// assert_eq!(form.cost().steps, proof.steps);
/// assert_eq!(form.load(3).elements_out, proof.traffic[3].elements_out);
/// ```
#[derive(Clone)]
pub struct Form {
    ranks: usize,
    cost: Cost,
    load: Arc<dyn Fn(Rank) -> Load + Send + Sync>,
}

impl Form {
    pub(super) fn new(
        ranks: usize,
        cost: Cost,
        load: impl Fn(Rank) -> Load + Send + Sync + 'static,
    ) -> Form {
        Form {
            ranks,
            cost,
            load: Arc::new(load),
        }
    }

    /// A form that broadcasts, converted to the given use.
    pub(super) fn put_to(self, tree_use: TreeUse) -> Form {
        match tree_use {
            TreeUse::Broadcast => self,
            TreeUse::Reduce => self.into_reduction(),
            TreeUse::AllReduce => self.clone().into_reduction().then(self),
        }
    }

    /// The reversed form, with all received elements folded.
    fn into_reduction(self) -> Form {
        let Form { ranks, cost, load } = self;
        Form::new(ranks, cost.and_folding(), move |rank| {
            load(rank).reversed().and_folding()
        })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of steps, and the elements moved and folded along the critical path.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The time of the run, in seconds.
    pub fn time(&self, model: &Model) -> f64 {
        self.cost.time(model)
    }

    /// The elements and messages that a rank sends, receives and folds.
    ///
    /// # Panics
    ///
    /// If `rank` is out of range.
    #[track_caller]
    pub fn load(&self, rank: Rank) -> Load {
        let ranks = self.ranks;
        assert!(rank < ranks, "rank {rank} of a form with {ranks} ranks");
        (self.load)(rank)
    }

    /// The same form reversed; nothing is folded.
    pub fn reversed(self) -> Form {
        let Form { ranks, cost, load } = self;
        let cost = Cost {
            folded: 0.0,
            ..cost
        };
        Form::new(ranks, cost, move |rank| load(rank).reversed())
    }

    /// This form followed by `next`.
    ///
    /// # Panics
    ///
    /// If the numbers of ranks differ.
    #[track_caller]
    pub fn then(self, next: Form) -> Form {
        let (ranks, more) = (self.ranks, next.ranks);
        assert_eq!(ranks, more, "a form of {ranks} ranks and one of {more}");
        Form::new(ranks, self.cost + next.cost, move |rank| {
            (self.load)(rank) + (next.load)(rank)
        })
    }

    /// The same form with rotated ranks, so that `root` takes the part of rank 0.
    ///
    /// # Panics
    ///
    /// If `root` is not a rank.
    #[track_caller]
    pub fn rooted(self, root: Rank) -> Form {
        let ranks = self.ranks;
        assert!(root < ranks, "rank {root} of a form with {ranks} ranks");
        let before_wrap = ranks - root;
        Form::new(ranks, self.cost, move |rank| {
            (self.load)(rank.checked_sub(root).unwrap_or(rank + before_wrap))
        })
    }

    /// A reduction of vectors of `length` elements extended to `ranks` ranks: see
    /// [`Proxied`](crate::schedule::Proxied).
    ///
    /// # Panics
    ///
    /// If `ranks` is less than the form's number of ranks, or more than twice that.
    #[track_caller]
    pub fn proxied(self, ranks: usize, length: usize, hand_out: HandOut) -> Form {
        let most = self.ranks;
        let extra = ranks.checked_sub(most).filter(|&extra| extra <= most);
        let Some(extra) = extra else {
            panic!("{most} ranks cannot stand for {ranks}");
        };
        if extra == 0 {
            return self;
        }
        let cost = fold_in(length) + self.cost + served(ranks, length, hand_out);
        Form::new(ranks, cost, move |rank| {
            if rank >= 2 * extra {
                return (self.load)(rank - extra);
            }
            let aside = load_aside(rank | 1, ranks, length, hand_out);
            if rank.is_multiple_of(2) {
                // The neighbour's vector arrives here and is folded; the neighbour's result leaves from here.
                let with_neighbour = Load {
                    folded: length,
                    ..aside.reversed()
                };
                return (self.load)(rank / 2) + with_neighbour;
            }
            aside
        })
    }
}

fn fold_in(length: usize) -> Cost {
    Cost::moving(1, length as f64).and_folding()
}

fn served(ranks: usize, length: usize, hand_out: HandOut) -> Cost {
    match hand_out {
        HandOut::Nothing => Cost::default(),
        HandOut::Block => Cost::moving(1, length as f64 / ranks as f64),
        HandOut::Vector => Cost::moving(1, length as f64),
    }
}

/// The load of a rank that stands aside: it sends its vector and receives its share of the result.
fn load_aside(rank: Rank, ranks: usize, length: usize, hand_out: HandOut) -> Load {
    let received = match hand_out {
        HandOut::Nothing => (0, 0),
        HandOut::Block => (1, span::block(length, ranks, rank).len()),
        HandOut::Vector => (1, length),
    };
    Load::moving((1, length), received)
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Form")
            .field("ranks", &self.ranks)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}
