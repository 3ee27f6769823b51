//! The unified reduce loop: one loop for all reduction algorithms, over any logical topology.
//!
//! ```text
//! reduce(msg, TOP), run by every process p:
//!   while some <q, i, p> ∈ TOP remains:  recv(m);  msg ← msg ⊕ m;  drop <q, i, p>
//!   if p ≠ root: send(msg, successor of p)
//! ```
//!
//! Source: Xiong, *Towards Unified Description for Reduction Algorithms*, Computer Science 42(11), 2015; Xiong 1999.
//! The steps order the receives of one rank; the order in which it actually takes the messages is the caller's choice,
//! see [`Order`].
//!
//! A receive may match any source within one call, because a rank has only one successor: every message that arrives
//! comes from a predecessor. A rank that is done may already send for its next call, so the receive matches the call
//! number too.

use super::order::{Order, Survivors};
use crate::Rank;
use crate::engine::call::{From, InCall};
use crate::error::Result;
use crate::op::{Element, Operator, copied, fold_left, fold_right};
use crate::sort;
use crate::topology::Topology;
use crate::unwind;

/// The predecessors of a rank in the order in which it receives from them. In rank order this goes outwards on both
/// sides, so that the ranks folded so far are always a run of neighbours.
fn hear(topology: &Topology, me: Rank, order: Order) -> Vec<Rank> {
    let mut from: Vec<Rank> = topology
        .predecessors(me)
        .map(|triple| triple.from)
        .collect();
    if order == Order::Rank {
        sort::by_numbers(&mut from, |&rank| [rank.abs_diff(me)]);
    }
    from
}

/// The loop over elements. Leaves send their own buffer; inner ranks fold into a copy of theirs.
pub(super) fn fold_elements<T: Element>(
    inside: &InCall<'_>,
    topology: &Topology,
    order: Order,
    buf: &mut [T],
    op: &impl Operator<T>,
) -> Result<()> {
    let me = inside.rank();
    let from = hear(topology, me, order);
    match topology.successor(me) {
        None => fold_in(inside, order, from, buf, op),
        Some((_, to)) if from.is_empty() => inside.send(to, buf),
        Some((_, to)) => {
            let mut folded = copied(buf);
            fold_in(inside, order, from, &mut folded, op)?;
            inside.send(to, &folded)
        }
    }
}

/// Folds the elements sent by the ranks `from` into `acc`.
fn fold_in<T: Element>(
    inside: &InCall<'_>,
    order: Order,
    mut from: Vec<Rank>,
    acc: &mut [T],
    op: &impl Operator<T>,
) -> Result<()> {
    while let Some(&next) = from.first() {
        let right = order != Order::Rank || next > inside.rank();
        let fold = |data: &[T]| {
            if right {
                fold_right(op, acc, data)
            } else {
                fold_left(op, acc, data)
            }
        };
        let (source, ()) = inside.expect(&whom(order, &from, next), fold)?;
        from.retain(|&rank| rank != source);
    }
    Ok(())
}

/// The sender of the next message: a given rank, or the first to arrive.
fn whom<'a>(order: Order, remaining: &'a [Rank], next: Rank) -> From<'a> {
    if order == Order::Arrival {
        From::Any(remaining)
    } else {
        From::Rank(next)
    }
}

/// The loop over values, by move. The value of each rank is taken out of `acc`; the root's then holds the result.
pub(super) fn fold_values<V: Send + 'static>(
    inside: &InCall<'_>,
    topology: &Topology,
    order: Order,
    acc: &mut Option<V>,
    fold: &mut impl FnMut(V, V) -> V,
) -> Result<()> {
    let mut from = hear(topology, inside.rank(), order);
    while let Some(&next) = from.first() {
        let (source, value) = inside.expect_value(&whom(order, &from, next))?;
        in_order(inside.rank(), source, acc, value, fold);
        from.retain(|&rank| rank != source);
    }
    match topology.successor(inside.rank()) {
        Some((_, to)) => inside.hand_on(to, taken(acc.take())),
        None => Ok(()),
    }
}

/// The value of this rank, where it must have one.
pub(super) fn taken<V>(held: Option<V>) -> V {
    held.expect("a rank to which a value is due has one")
}

/// Folds another rank's value into `mine`, with the lower rank's value on the left.
fn in_order<V>(
    me: Rank,
    source: Rank,
    mine: &mut Option<V>,
    theirs: V,
    fold: &mut impl FnMut(V, V) -> V,
) {
    let own = taken(mine.take());
    *mine = Some(unwind::operator(|| {
        if source > me {
            fold(own, theirs)
        } else {
            fold(theirs, own)
        }
    }));
}

/// The loop that tolerates ranks that have ended: each value travels with the list of ranks missing from it. Values are
/// as in [`fold_values`].
pub(super) fn fold_survivors<V: Send + 'static>(
    inside: &InCall<'_>,
    topology: &Topology,
    order: Order,
    acc: &mut Option<V>,
    fold: &mut impl FnMut(V, V) -> V,
) -> Result<Option<Survivors>> {
    let mut missing: Vec<Rank> = Vec::new();
    let mut from = hear(topology, inside.rank(), order);
    while let Some(&next) = from.first() {
        let heard = inside.expect_value::<(V, Vec<Rank>)>(&whom(order, &from, next));
        let source = match heard {
            Ok((source, (value, theirs))) => {
                in_order(inside.rank(), source, acc, value, fold);
                missing.extend(theirs);
                source
            }
            Err(error) => {
                let dead = inside.dead_among(&whom(order, &from, next), error.kind());
                let dead = dead.ok_or(error)?;
                missing.extend(subtree(topology, dead));
                dead
            }
        };
        from.retain(|&rank| rank != source);
    }
    let Some((_, to)) = topology.successor(inside.rank()) else {
        return Ok(Some(survivors(inside.size(), missing)));
    };
    // If the successor has ended, the rank that waits for it counts this subtree as missing.
    inside.send_value(to, (taken(acc.take()), missing))?;
    Ok(None)
}

/// A rank and all ranks whose contributions pass through it.
fn subtree(topology: &Topology, top: Rank) -> Vec<Rank> {
    let mut ranks = vec![top];
    let mut next = 0;
    while let Some(&rank) = ranks.get(next) {
        ranks.extend(topology.predecessors(rank).map(|triple| triple.from));
        next += 1;
    }
    ranks
}

fn survivors(size: usize, mut missing: Vec<Rank>) -> Survivors {
    missing.sort_unstable();
    let contributors = (0..size)
        .filter(|rank| missing.binary_search(rank).is_err())
        .collect();
    Survivors {
        contributors,
        missing,
    }
}
