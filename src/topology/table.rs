//! The table of a custom topology: the data that queries need, computed once, visiting ranks by the step in which they
//! send: predecessors always come first.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};

use super::Triple;
use super::families::{Family, SenderRun};
use crate::Rank;
use crate::sort;

/// A validated topology, with precomputed answers to queries that involve more than one rank.
pub(super) struct TripleTable {
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

impl Hash for TripleTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.print);
    }
}

impl TripleTable {
    pub(super) fn new(
        root: Rank,
        mut triples: Vec<Triple>,
        successor: Vec<(usize, Rank)>,
    ) -> TripleTable {
        sort::by_numbers(&mut triples, |t| [t.step, t.from]);
        let (port, branch) = (ports(root, &triples), branches(root, &triples));
        let (nests, steps) = (
            nests(root, &triples),
            triples.last().map_or(0, |t| t.step + 1),
        );
        let starts = starts(successor.len(), &triples);
        sort::by_numbers(&mut triples, |t| [t.to]);
        let senders = triples.iter().map(|t| t.from).collect();
        let print = BuildHasherDefault::<DefaultHasher>::default().hash_one(&successor);
        TripleTable {
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

impl Family for TripleTable {
    fn root(&self) -> Rank {
        self.root
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn successor(&self, p: Rank) -> (usize, Rank) {
        self.successor[p]
    }

    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun> {
        let step_of = |rank: &Rank| self.successor[*rank].0;
        let all = self.senders_to(q);
        let from = all.partition_point(|rank| step_of(rank) < least);
        let step = all.get(from).map(step_of)?;
        let count = all[from..].partition_point(|rank| step_of(rank) == step);
        Some(SenderRun {
            step,
            count,
            first: self.starts[q] + from,
            stride: 1,
        })
    }

    fn member(&self, run: SenderRun, i: usize) -> Rank {
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
