//! The closed form of an algorithm, and how forms make forms, as schedules make schedules.

use std::fmt;
use std::sync::Arc;

use super::{Cost, Load, Model};
use crate::Rank;
use crate::schedule::HandOut;
use crate::span::{self, Blocks};

/// What becomes of a tree: it is run backwards, forwards, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the root to all.
    Broadcast,
    /// From all to the root, folded on the way.
    Reduce,
    /// A reduce, then a broadcast.
    AllReduce,
}

/// An algorithm on so many ranks and elements, in closed form.
///
/// # Laws
///
/// For the schedule of the same algorithm on the same ranks and elements, [`check`](crate::check::check)
/// counts as many steps, as many of them with messages, and the same at every rank as
/// [`load`](Self::load) says.
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

    /// One that broadcasts, put to use.
    pub(super) fn put_to(self, way: Way) -> Form {
        match way {
            Way::Broadcast => self,
            Way::Reduce => self.into_reduction(),
            Way::AllReduce => self.clone().into_reduction().then(self),
        }
    }

    /// Backwards, and all that comes in is folded.
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

    /// Steps, and what is moved and folded along the longest way.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The time that it takes, in seconds.
    pub fn time(&self, model: &Model) -> f64 {
        self.cost.time(model)
    }

    /// What a rank sends, receives and folds.
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn load(&self, rank: Rank) -> Load {
        let ranks = self.ranks;
        assert!(rank < ranks, "rank {rank} of a form with {ranks} ranks");
        (self.load)(rank)
    }

    /// The same run backwards; nothing is folded.
    pub fn reversed(self) -> Form {
        let Form { ranks, cost, load } = self;
        let cost = Cost {
            folded: 0.0,
            ..cost
        };
        Form::new(ranks, cost, move |rank| load(rank).reversed())
    }

    /// First this, then that.
    ///
    /// # Panics
    ///
    /// If the numbers of ranks differ.
    pub fn then(self, next: Form) -> Form {
        let (ranks, more) = (self.ranks, next.ranks);
        assert_eq!(ranks, more, "a form of {ranks} ranks and one of {more}");
        Form::new(ranks, self.cost + next.cost, move |rank| {
            (self.load)(rank) + (next.load)(rank)
        })
    }

    /// The same with the ranks turned until `root` does what rank 0 did.
    ///
    /// # Panics
    ///
    /// If `root` is not a rank.
    pub fn rooted(self, root: Rank) -> Form {
        let ranks = self.ranks;
        assert!(root < ranks, "rank {root} of a form with {ranks} ranks");
        let before_wrap = ranks - root;
        Form::new(ranks, self.cost, move |rank| {
            (self.load)(rank.checked_sub(root).unwrap_or(rank + before_wrap))
        })
    }

    /// A reduction of vectors of so many elements for more ranks than it has: see
    /// [`Proxied`](crate::schedule::Proxied).
    ///
    /// # Panics
    ///
    /// If there are fewer ranks than it has, or more than twice as many.
    pub fn proxied(self, ranks: usize, length: usize, hand_out: HandOut) -> Form {
        let most = self.ranks;
        let extra = ranks.checked_sub(most).filter(|&extra| extra <= most);
        let extra = extra.unwrap_or_else(|| panic!("{most} ranks cannot stand for {ranks}"));
        if extra == 0 {
            return self;
        }
        let cost = fold_in(length) + self.cost + served(ranks, length, &hand_out);
        Form::new(ranks, cost, move |rank| {
            if rank >= 2 * extra {
                return (self.load)(rank - extra);
            }
            let aside = load_aside(rank | 1, ranks, length, &hand_out);
            if rank.is_multiple_of(2) {
                // What its neighbour sends comes in here, and is folded; what it gets leaves here.
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

fn served(ranks: usize, length: usize, hand_out: &HandOut) -> Cost {
    match hand_out {
        HandOut::Nothing => Cost::default(),
        HandOut::Block => Cost::moving(1, length as f64 / ranks as f64),
        HandOut::BlockOf(blocks) => Cost::moving(1, longest_odd(blocks) as f64),
        HandOut::Vector => Cost::moving(1, length as f64),
    }
}

/// The longest block of a rank that may stand aside.
fn longest_odd(blocks: &Blocks) -> usize {
    let odd = (1..blocks.parts()).step_by(2);
    odd.map(|rank| blocks.count(rank)).max().unwrap_or(0)
}

/// The load of a rank that stands aside: its vector leaves, its share of the result comes.
fn load_aside(rank: Rank, ranks: usize, length: usize, hand_out: &HandOut) -> Load {
    let received = match hand_out {
        HandOut::Nothing => (0, 0),
        HandOut::Block => (1, span::block(length, ranks, rank).len()),
        HandOut::BlockOf(blocks) => (1, blocks.count(rank)),
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
