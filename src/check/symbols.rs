//! Symbols: what an element is folded from.
//!
//! In a right schedule all contributions to an element are elements of one index, so a symbol is the
//! *order* of the ranks that contributed, and that index. Orders are numbered, equal ones alike, so
//! that symbols are small and compare at once. What mixes indices, or counts a rank twice, is
//! *spoiled* and remembers where that happened.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::Rank;
use crate::schedule::Combine;

/// The number of an order of ranks.
pub(super) type OrderId = usize;

/// The symbol of neighbouring elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    /// At position `x`, element `x + shift` of the ranks of an order.
    Fold { order: OrderId, shift: isize },
    /// Folded wrongly; the number says where.
    Spoiled(usize),
}

impl Symbol {
    /// The symbol at another place, when what was at `from` is now at `to`.
    pub(super) fn moved(self, from: usize, to: usize) -> Symbol {
        match self {
            Symbol::Fold { order, shift } => Symbol::Fold {
                order,
                shift: shift + (from as isize - to as isize),
            },
            spoiled => spoiled,
        }
    }
}

/// Why two symbols must not be folded.
pub(super) enum Spoil {
    /// They are of different elements, the held one so many positions away and the other so many.
    Mixed { held: isize, received: isize },
    /// A rank has contributed to both.
    Twice { contributor: Rank },
}

/// All orders of ranks that have come up, as runs of neighbouring ranks.
#[derive(Default)]
pub(super) struct Orders {
    all: Vec<Rc<[Range<Rank>]>>,
    numbers: HashMap<Rc<[Range<Rank>]>, OrderId>,
    /// What was folded before: its order, or a rank that is in both.
    folds: HashMap<(OrderId, OrderId), Result<OrderId, Rank>>,
}

impl Orders {
    /// The order of one rank.
    pub(super) fn single(&mut self, rank: Rank) -> OrderId {
        self.number(std::iter::once(rank..rank + 1).collect())
    }

    /// The runs of an order.
    pub(super) fn runs(&self, order: OrderId) -> &[Range<Rank>] {
        &self.all[order]
    }

    fn number(&mut self, runs: Vec<Range<Rank>>) -> OrderId {
        if let Some(&number) = self.numbers.get(runs.as_slice()) {
            return number;
        }
        let runs: Rc<[_]> = runs.into();
        self.all.push(Rc::clone(&runs));
        self.numbers.insert(runs, self.all.len() - 1);
        self.all.len() - 1
    }

    /// What becomes of a held symbol when another arrives at its place.
    pub(super) fn combine(
        &mut self,
        held: Symbol,
        received: Symbol,
        combine: Combine,
    ) -> Result<Symbol, Spoil> {
        let (
            Symbol::Fold { order, shift },
            Symbol::Fold {
                order: more,
                shift: other,
            },
        ) = (held, received)
        else {
            let spoiled = |symbol: &Symbol| matches!(symbol, Symbol::Spoiled(_));
            return Ok(Some(held).filter(spoiled).unwrap_or(received));
        };
        if shift != other {
            return Err(Spoil::Mixed {
                held: shift,
                received: other,
            });
        }
        let (left, right) = match combine {
            Combine::FoldLeft => (more, order),
            _ => (order, more),
        };
        let order = self.fold(left, right);
        let order = order.map_err(|contributor| Spoil::Twice { contributor })?;
        Ok(Symbol::Fold { order, shift })
    }

    fn fold(&mut self, left: OrderId, right: OrderId) -> Result<OrderId, Rank> {
        if let Some(&known) = self.folds.get(&(left, right)) {
            return known;
        }
        let runs = append(&self.all[left], &self.all[right]);
        let folded = match repeated(&runs) {
            Some(rank) => Err(rank),
            None => Ok(self.number(runs)),
        };
        self.folds.insert((left, right), folded);
        folded
    }
}

/// One order after another, runs that meet being one.
fn append(left: &[Range<Rank>], right: &[Range<Rank>]) -> Vec<Range<Rank>> {
    let mut runs = left.to_vec();
    let mut right = right.iter().cloned();
    if let (Some(last), Some(first)) = (runs.last_mut(), right.next()) {
        if last.end == first.start {
            last.end = first.end;
        } else {
            runs.push(first);
        }
    }
    runs.extend(right);
    runs
}

/// The lowest rank that stands in two runs.
fn repeated(runs: &[Range<Rank>]) -> Option<Rank> {
    let sorted = ascending(runs);
    let twice = sorted.windows(2).find(|pair| pair[1].start < pair[0].end);
    twice.map(|pair| pair[1].start)
}

/// The runs by rank.
pub(super) fn ascending(runs: &[Range<Rank>]) -> Vec<Range<Rank>> {
    let mut sorted = runs.to_vec();
    sorted.sort_unstable_by_key(|run| run.start);
    sorted
}
