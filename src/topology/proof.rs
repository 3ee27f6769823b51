//! The custom form: triples, and the proof that they are a rooted in-tree.
//!
//! The proof goes from cheap to deep, and each part may rely on the ones before: numbers in range, one successor per
//! rank (on the sorted list, before anything of size `ranks` is allocated), no cycle, rising steps, a step 0.

use std::sync::Arc;

use super::families::Shape;
use super::table::TripleTable;
use super::{Topology, TopologyError, Triple};
use crate::Rank;
use crate::sort;

/// Sorts triples as their type orders them.
fn by_fields(triples: &mut [Triple]) {
    sort::by_numbers(triples, |t| [t.from, t.step, t.to]);
}

impl Topology {
    /// The topology with these triples, in any order, if they form a rooted in-tree.
    ///
    /// This is the general form of 2015: steps rise along every path, the smallest step is 0, and nothing else is
    /// required. For the strict form see [`check_strict`](Self::check_strict).
    ///
    /// # Cost
    ///
    /// O(n log n) time and six words per rank. No memory is allocated for ranks that the triples do not mention.
    ///
    /// # Errors
    ///
    /// The error names the culprit: no ranks at all, a rank out of range, a step that is too large, a root with a
    /// successor, a rank with two successors (or a triple given twice), a rank without one, a cycle, steps that do not
    /// rise, or no step 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::{Topology, TopologyError, Triple};
    ///
    /// let mut triples = vec![Triple { from: 2, step: 0, to: 1 }, Triple { from: 1, step: 1, to: 0 }];
    /// assert_eq!(Topology::from_triples(3, 0, triples.clone())?, Topology::chain(3));
    ///
    /// triples[1].to = 2;
    /// let refused = Topology::from_triples(3, 0, triples).unwrap_err();
    /// assert!(matches!(&refused, TopologyError::Cycle { cycle, .. } if *cycle == [1, 2]));
    /// assert_eq!(refused.to_string(), "rank 1 never reaches the root: its path ends in the cycle 1 → 2 → 1");
    /// # Ok::<(), TopologyError>(())
    /// ```
    pub fn from_triples(
        ranks: usize,
        root: Rank,
        triples: impl IntoIterator<Item = Triple>,
    ) -> Result<Topology, TopologyError> {
        let mut triples: Vec<Triple> = triples.into_iter().collect();
        in_range(ranks, Some(root), &triples)?;
        by_fields(&mut triples);
        one_successor(ranks, root, &triples)?;
        let successor = successors(root, &triples);
        no_cycle(Some(root), &successor)?;
        steps_rise(root, &triples, &successor)?;
        some_step_zero(&triples)?;
        Ok(Topology::new(
            ranks,
            Shape::Custom(Arc::new(TripleTable::new(root, triples, successor))),
        ))
    }
}

/// The only rank that sends nothing, where no root is given. Errors that do not depend on the choice of root are
/// reported first.
pub(super) fn only_root(ranks: usize, triples: &[Triple]) -> Result<Rank, TopologyError> {
    in_range(ranks, None, triples)?;
    let mut triples = triples.to_vec();
    by_fields(&mut triples);
    no_second(&triples)?;
    let candidates: Vec<Rank> = senderless(ranks, &triples).take(2).collect();
    if candidates.is_empty() {
        let successor: Vec<_> = triples.iter().map(|t| (t.step, t.to)).collect();
        no_cycle(None, &successor)?;
    }
    match candidates[..] {
        [root] => Ok(root),
        _ => Err(TopologyError::NoSingleRoot { candidates }),
    }
}

fn in_range(ranks: usize, root: Option<Rank>, triples: &[Triple]) -> Result<(), TopologyError> {
    if ranks == 0 {
        return Err(TopologyError::NoRanks);
    }
    let mut mentioned = root
        .into_iter()
        .chain(triples.iter().flat_map(|t| [t.from, t.to]));
    if let Some(rank) = mentioned.find(|&rank| rank >= ranks) {
        return Err(TopologyError::RankOutOfRange { rank, ranks });
    }
    // The number of steps is one more, and must not overflow.
    match triples.iter().find(|t| t.step == usize::MAX) {
        Some(&triple) => Err(TopologyError::StepTooLarge { triple }),
        None => Ok(()),
    }
}

/// Requires `triples` sorted by sender.
fn one_successor(ranks: usize, root: Rank, triples: &[Triple]) -> Result<(), TopologyError> {
    if let Ok(at) = triples.binary_search_by_key(&root, |t| t.from) {
        return Err(TopologyError::RootHasSuccessor {
            triple: triples[at],
        });
    }
    no_second(triples)?;
    match senderless(ranks, triples).find(|&rank| rank != root) {
        Some(rank) => Err(TopologyError::Orphan { rank, root }),
        None => Ok(()),
    }
}

/// Requires `triples` sorted by sender.
fn no_second(triples: &[Triple]) -> Result<(), TopologyError> {
    match triples.windows(2).find(|two| two[0].from == two[1].from) {
        Some(two) => Err(TopologyError::TwoSuccessors {
            first: two[0],
            second: two[1],
        }),
        None => Ok(()),
    }
}

/// The ranks that send nothing, ascending; requires `triples` sorted by sender.
fn senderless(ranks: usize, triples: &[Triple]) -> impl Iterator<Item = Rank> + '_ {
    let mut senders = triples.iter().map(|t| t.from).peekable();
    (0..ranks).filter(move |&rank| {
        let mut sends = false;
        while senders.next_if_eq(&rank).is_some() {
            sends = true;
        }
        !sends
    })
}

/// Step and successor of every rank; for the root, 0 and itself.
fn successors(root: Rank, triples: &[Triple]) -> Vec<(usize, Rank)> {
    let mut all: Vec<_> = triples.iter().map(|t| (t.step, t.to)).collect();
    all.insert(root, (0, root));
    all
}

/// Follows every path until it meets the root, an earlier path (which ended at the root), or itself.
fn no_cycle(root: Option<Rank>, successor: &[(usize, Rank)]) -> Result<(), TopologyError> {
    const UNSEEN: usize = usize::MAX;
    let mut walk_of = vec![UNSEEN; successor.len()];
    root.into_iter().for_each(|root| walk_of[root] = root);
    for start in 0..successor.len() {
        let mut at = start;
        while walk_of[at] == UNSEEN {
            walk_of[at] = start;
            at = successor[at].1;
        }
        if walk_of[at] == start && Some(at) != root {
            return Err(TopologyError::Cycle {
                rank: start,
                cycle: cycle_from(at, successor),
            });
        }
    }
    Ok(())
}

fn cycle_from(start: Rank, successor: &[(usize, Rank)]) -> Vec<Rank> {
    let next = |&rank: &Rank| Some(successor[rank].1).filter(|&next| next != start);
    std::iter::successors(Some(start), next).collect()
}

/// Requires `triples` sorted by sender.
fn steps_rise(
    root: Rank,
    triples: &[Triple],
    successor: &[(usize, Rank)],
) -> Result<(), TopologyError> {
    let after = |t: &Triple| Triple {
        from: t.to,
        step: successor[t.to].0,
        to: successor[t.to].1,
    };
    match triples
        .iter()
        .find(|t| t.to != root && t.step >= successor[t.to].0)
    {
        Some(before) => Err(TopologyError::StepDoesNotRise {
            before: *before,
            after: after(before),
        }),
        None => Ok(()),
    }
}

fn some_step_zero(triples: &[Triple]) -> Result<(), TopologyError> {
    match triples.iter().min_by_key(|t| t.step) {
        Some(&least) if least.step > 0 => Err(TopologyError::NoStepZero { least }),
        _ => Ok(()),
    }
}
