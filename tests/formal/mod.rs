//! Random formal definitions, single edits of triples, and whether an error names the right culprit.
#![allow(dead_code)] // each test takes what it needs

use proptest::{prelude::*, sample::Index};
use rankfold::Rank;
use rankfold::topology::{Formal, TopologyError, Triple};

/// Adds one edge with its process.
pub fn with_edge(formal: Formal, from: usize, into: usize, step: usize, process: Rank) -> Formal {
    formal.edge(from, into, step).associate(from, process)
}

/// A formal definition: blocks, and for each block but the first, the block and the process that it sends to, and the
/// step, which increases.
#[derive(Clone, Debug)]
pub struct Definition {
    pub blocks: Vec<Vec<Rank>>,
    pub edges: Vec<(usize, usize, Rank)>,
}

impl Definition {
    pub fn ranks(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    pub fn formal(&self) -> Formal {
        let nodes = self
            .blocks
            .iter()
            .fold(Formal::new(self.ranks()), |formal, block| {
                formal.node(block.clone())
            });
        let edges = self.edges.iter().zip(1..);
        edges.fold(nodes, |formal, (&(into, step, process), from)| {
            with_edge(formal, from, into, step, process)
        })
    }

    pub fn triples(&self) -> Vec<Triple> {
        let edges = self.edges.iter().zip(&self.blocks[1..]);
        edges
            .flat_map(|(&(_, step, to), block)| {
                block.iter().map(move |&from| Triple { from, step, to })
            })
            .collect()
    }
}

pub fn definitions(most: usize) -> impl Strategy<Value = Definition> {
    (1..=most)
        .prop_flat_map(|n| {
            let ranks = Just((0..n).collect::<Vec<Rank>>()).prop_shuffle();
            let choice = (any::<bool>(), any::<Index>(), any::<Index>(), 0..2usize);
            (ranks, proptest::collection::vec(choice, n))
        })
        .prop_map(|(ranks, choices)| {
            let mut blocks = vec![vec![ranks[0]]];
            for (i, &rank) in ranks.iter().enumerate().skip(1) {
                match blocks.last_mut() {
                    Some(last) if i > 1 && choices[i].0 => last.push(rank),
                    _ => blocks.push(vec![rank]),
                }
            }
            let (mut least, mut edges) = (vec![0; blocks.len()], Vec::new());
            for node in (1..blocks.len()).rev() {
                let (_, into, process, extra) = &choices[node];
                let into = into.index(node);
                let step = least[node] + if node + 1 == blocks.len() { 0 } else { *extra };
                least[into] = least[into].max(step + 1);
                edges.push((into, step, blocks[into][process.index(blocks[into].len())]));
            }
            edges.reverse();
            Definition { blocks, edges }
        })
}

/// One change to a list of triples.
#[derive(Clone, Debug)]
pub enum Edit {
    From(Index, usize),
    Step(Index, usize),
    To(Index, usize),
    Drop(Index),
    Double(Index),
    Insert(Triple),
}

pub fn edits() -> impl Strategy<Value = Edit> {
    let number = || 0..14usize;
    prop_oneof![
        (any::<Index>(), number()).prop_map(|(i, p)| Edit::From(i, p)),
        (any::<Index>(), number()).prop_map(|(i, t)| Edit::Step(i, t)),
        (any::<Index>(), number()).prop_map(|(i, q)| Edit::To(i, q)),
        any::<Index>().prop_map(Edit::Drop),
        any::<Index>().prop_map(Edit::Double),
        (number(), number(), number()).prop_map(|(from, step, to)| Edit::Insert(Triple {
            from,
            step,
            to
        })),
    ]
}

pub fn edited(mut triples: Vec<Triple>, edit: &Edit) -> Vec<Triple> {
    if let Edit::Insert(triple) = edit {
        triples.push(*triple);
        return triples;
    }
    if triples.is_empty() {
        return triples;
    }
    let n = triples.len();
    match edit {
        Edit::From(i, p) => triples[i.index(n)].from = *p,
        Edit::Step(i, t) => triples[i.index(n)].step = *t,
        Edit::To(i, q) => triples[i.index(n)].to = *q,
        Edit::Drop(i) => drop(triples.remove(i.index(n))),
        Edit::Double(i) => triples.push(triples[i.index(n)]),
        Edit::Insert(_) => {}
    }
    triples
}

pub fn walks_for_ever(start: Rank, triples: &[Triple]) -> bool {
    let next = |&at: &Rank| triples.iter().find(|t| t.from == at).map(|t| t.to);
    std::iter::successors(Some(start), next)
        .take(triples.len() + 2)
        .count()
        > triples.len() + 1
}

/// Returns whether the error is true of these triples: whether the named culprit caused it.
pub fn blames_justly(error: &TopologyError, ranks: usize, root: Rank, triples: &[Triple]) -> bool {
    use TopologyError::*;
    let has = |t: &Triple| triples.contains(t);
    let to = |p: Rank| triples.iter().find(|t| t.from == p).map(|t| t.to);
    match error {
        RankOutOfRange { rank, .. } => *rank >= ranks,
        RootHasSuccessor { triple } => has(triple) && triple.from == root,
        TwoSuccessors { first, second } => {
            first.from == second.from
                && triples
                    .iter()
                    .filter(|t| *t == first || *t == second)
                    .count()
                    >= 2
        }
        Orphan { rank, .. } => *rank != root && to(*rank).is_none(),
        Cycle { rank, cycle } => {
            let turn = cycle
                .iter()
                .zip(cycle.iter().cycle().skip(1))
                .all(|(&p, &q)| to(p) == Some(q));
            turn && !cycle.is_empty() && walks_for_ever(*rank, triples)
        }
        StepDoesNotRise { before, after } => {
            has(before) && has(after) && before.to == after.from && before.step >= after.step
        }
        NoStepZero { least } => {
            has(least) && triples.iter().all(|t| t.step >= least.step) && least.step > 0
        }
        _ => false,
    }
}
