//! Symbols: the contributions that an element is folded from.
//!
//! In a correct schedule all contributions to an element are elements of one index, so a symbol consists of the *order*
//! of the ranks that contributed, and of that index. Equal orders share one number, so symbols are small and compare at
//! once. An element that mixes indices, or counts a rank twice, is *spoiled*, and its symbol records where that
//! happened.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::Rank;
use crate::schedule::Combine;
use crate::sort;

/// The number of an order of ranks.
pub(super) type OrderId = usize;

/// The symbol of a run of neighbouring elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    /// At position `x`, element `x + shift` of the ranks of an order.
    Fold { order: OrderId, shift: isize },
    /// Folded wrongly; the number identifies the fault.
    Spoiled(usize),
}

impl Symbol {
    /// The symbol at another position, after a move from `from` to `to`.
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

/// The reason why two symbols must not be folded.
pub(super) enum Spoil {
    /// They stand for different elements; the fields are the shifts of the held and of the received symbol.
    Mixed { held: isize, received: isize },
    /// A rank has contributed to both.
    Twice { contributor: Rank },
}

/// All orders of ranks seen so far, as runs of neighbouring ranks.
#[derive(Default)]
pub(super) struct Orders {
    all: Vec<Rc<[Range<Rank>]>>,
    numbers: HashMap<Rc<[Range<Rank>]>, OrderId>,
    /// The results of earlier folds: the order, or a rank that occurs in both operands.
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

    /// The result of folding an arriving symbol into the held one at the same position.
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

/// The concatenation of two orders, with adjacent runs merged.
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

/// The lowest rank that occurs in two runs.
fn repeated(runs: &[Range<Rank>]) -> Option<Rank> {
    let sorted = ascending(runs);
    let twice = sorted.windows(2).find(|pair| pair[1].start < pair[0].end);
    twice.map(|pair| pair[1].start)
}

/// The runs sorted by rank.
pub(super) fn ascending(runs: &[Range<Rank>]) -> Vec<Range<Rank>> {
    let mut sorted = runs.to_vec();
    sort::by_numbers(&mut sorted, |run| [run.start]);
    sorted
}
