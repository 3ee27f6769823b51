//! The custom form: triples in a table, and the proof that they are a rooted in-tree.
//!
//! The proof goes from cheap to deep, and each part may rely on the ones before: numbers in range, one successor per
//! rank (on the sorted list, before anything of size `ranks` is allocated), no cycle, rising steps, a step 0. The data
//! that later queries need is then computed once, visiting ranks by the step in which they send: predecessors always
//! come first.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{
    Topology, TopologyError, Triple,
    families::{Family, Run, Shape},
};
use crate::Rank;

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
        triples.sort();
        one_successor(ranks, root, &triples)?;
        let successor = successors(root, &triples);
        no_cycle(Some(root), &successor)?;
        steps_rise(root, &triples, &successor)?;
        some_step_zero(&triples)?;
        Ok(Topology::new(
            ranks,
            Shape::Custom(Arc::new(Table::new(root, triples, successor))),
        ))
    }
}

/// The only rank that sends nothing, where no root is given. Errors that do not depend on the choice of root are
/// reported first.
pub(super) fn only_root(ranks: usize, triples: &[Triple]) -> Result<Rank, TopologyError> {
    in_range(ranks, None, triples)?;
    let mut triples = triples.to_vec();
    triples.sort();
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

/// A validated topology, with precomputed answers to queries that involve more than one rank.
pub(super) struct Table {
    root: Rank,
    /// Step and successor of each rank; for the root, 0 and itself.
    successor: Vec<(usize, Rank)>,
    /// All senders, ordered by receiver, then step, then rank.
    senders: Vec<Rank>,
    /// The senders to rank q are those from `starts[q]` up to `starts[q + 1]`.
    starts: Vec<usize>,
    /// The single-port step of each rank; for the root, the number of steps.
    port: Vec<usize>,
    /// The child of the root under which each rank lies; for the root, itself.
    branch: Vec<Rank>,
    /// Whether every subtree is an interval when ranks are counted cyclically from the root.
    nests: bool,
    /// The largest step plus one, or 0.
    steps: usize,
    /// A hash of the contents, for a quick comparison of tables.
    print: u64,
}

impl Hash for Table {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.print);
    }
}

impl Table {
    fn new(root: Rank, mut triples: Vec<Triple>, successor: Vec<(usize, Rank)>) -> Table {
        triples.sort_by_key(|t| (t.step, t.from));
        let (port, branch) = (ports(root, &triples), branches(root, &triples));
        let (nests, steps) = (
            nests(root, &triples),
            triples.last().map_or(0, |t| t.step + 1),
        );
        let starts = starts(successor.len(), &triples);
        triples.sort_by_key(|t| t.to);
        let senders = triples.iter().map(|t| t.from).collect();
        let print = BuildHasherDefault::<DefaultHasher>::default().hash_one(&successor);
        Table {
            root,
            successor,
            senders,
            starts,
            port,
            branch,
            nests,
            steps,
            print,
        }
    }

    /// The range in `senders` that holds the senders to `q`.
    fn places(&self, q: Rank) -> std::ops::Range<usize> {
        self.starts[q]..self.starts[q + 1]
    }

    fn senders_to(&self, q: Rank) -> &[Rank] {
        &self.senders[self.places(q)]
    }
}

fn starts(ranks: usize, triples: &[Triple]) -> Vec<usize> {
    let mut starts = vec![0; ranks + 1];
    triples.iter().for_each(|t| starts[t.to + 1] += 1);
    for q in 0..ranks {
        starts[q + 1] += starts[q];
    }
    starts
}

/// Requires `triples` sorted by step and sender: then all arrivals at a rank precede its send, in the order in which a
/// single port takes them.
fn ports(root: Rank, triples: &[Triple]) -> Vec<usize> {
    // Until a rank sends, its entry is the step after its last arrival; the root never sends.
    let mut port = vec![0; triples.len() + 1];
    for t in triples {
        port[t.from] = port[t.from].max(port[t.to]);
        port[t.to] = port[t.from] + 1;
    }
    debug_assert!(triples.iter().all(|t| port[t.from] < port[root]));
    port
}

/// Requires `triples` sorted by step: in reverse, successors come before their senders.
fn branches(root: Rank, triples: &[Triple]) -> Vec<Rank> {
    let mut branch = vec![root; triples.len() + 1];
    for t in triples.iter().rev() {
        branch[t.from] = if t.to == root { t.from } else { branch[t.to] };
    }
    branch
}

/// Whether each subtree has as many ranks as its span from lowest to highest, counted cyclically from the root.
/// Requires `triples` sorted by step.
fn nests(root: Rank, triples: &[Triple]) -> bool {
    let ranks = triples.len() + 1;
    let around = |rank: Rank| {
        if rank >= root {
            rank - root
        } else {
            rank + (ranks - root)
        }
    };
    // Size, lowest and highest rank of each rank's subtree, as far as known.
    let mut reach: Vec<_> = (0..ranks)
        .map(|rank| (1, around(rank), around(rank)))
        .collect();
    triples.iter().all(|t| {
        let ((size, low, high), into) = (reach[t.from], reach[t.to]);
        reach[t.to] = (into.0 + size, into.1.min(low), into.2.max(high));
        size == high - low + 1
    })
}

impl Family for Table {
    fn root(&self) -> Rank {
        self.root
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        self.successor[p]
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<Run> {
        let step_of = |rank: &Rank| self.successor[*rank].0;
        let all = self.senders_to(q);
        let from = all.partition_point(|rank| step_of(rank) < least);
        let step = all.get(from).map(step_of)?;
        let count = all[from..].partition_point(|rank| step_of(rank) == step);
        Some(Run {
            step,
            count,
            first: self.starts[q] + from,
            stride: 1,
        })
    }

    fn member(&self, run: Run, i: usize) -> Rank {
        self.senders[run.first + i]
    }

    fn predecessor_count(&self, q: Rank) -> usize {
        self.places(q).len()
    }

    fn in_order_from(&self, c: Rank) -> bool {
        let before = c.checked_sub(1).unwrap_or(self.successor.len() - 1);
        let under_root_itself = c == self.root || before == self.root;
        self.nests && (under_root_itself || self.branch[c] != self.branch[before])
    }

    fn port_step(&self, p: Rank) -> usize {
        self.port[p]
    }

    fn port_steps(&self) -> usize {
        self.port[self.root]
    }

    // In a table, a port may have to wait between two senders of one step.
    fn port_arrival(&self, q: Rank, least: usize) -> Option<(usize, Rank)> {
        let all = self.senders_to(q);
        let at = all.partition_point(|&rank| self.port[rank] < least);
        all.get(at).map(|&rank| (self.port[rank], rank))
    }
}
