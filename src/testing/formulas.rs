//! Elements that are formulas over the ranks' contributions, and a schedule interpreted on them.

use std::collections::BTreeMap;

use crate::Rank;
use crate::collective::{Call, Collective};
use crate::op::{Operator, OperatorKind};
use crate::schedule::{Buffer, Combine, Region, Schedule};

/// An element: a hash of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term(u64);

#[derive(Clone, Copy, Debug)]
pub(super) enum Formula {
    /// No contribution.
    Nothing,
    /// Element `.1` of rank `.0`.
    Of(Rank, usize),
    Fold(Term, Term),
}

impl Formula {
    /// The term of this formula. Two different formulas have the same one with a probability of 2⁻⁶⁴. Nothing is looked up:
    /// all ranks fold elements at the same time.
    pub(super) fn term(self) -> Term {
        let words = match self {
            Formula::Nothing => [0; 3],
            Formula::Of(rank, element) => [1, rank as u64, element as u64],
            Formula::Fold(left, right) => [2, left.0, right.0],
        };
        Term(words.into_iter().fold(0, mixed))
    }
}

/// A hash of what was hashed and one word more, all bits of which depend on all of both (the finalizer of SplitMix64).
fn mixed(hash: u64, word: u64) -> u64 {
    let mut bits = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

pub(super) struct Folds {
    pub(super) commutes: bool,
}

impl Operator<Term> for Folds {
    fn combine(&self, left: Term, right: Term) -> Term {
        Formula::Fold(left, right).term()
    }

    fn commutes(&self) -> bool {
        self.commutes
    }

    /// One of those that may be called twice for an element.
    fn kind(&self) -> OperatorKind {
        OperatorKind::Sum
    }
}

/// The contents of a rank's input and output before a call.
pub(super) fn start(call: &Call, rank: Rank) -> (Vec<Term>, Vec<Term>) {
    let (input, output) = call.buffers(rank);
    let from = match call.collective {
        Collective::AllGather | Collective::Gather => call.blocks.cut(rank),
        _ => 0,
    };
    let of = |length| {
        (0..length)
            .map(|i| Formula::Of(rank, from + i).term())
            .collect()
    };
    let holds = match call.collective {
        Collective::Broadcast | Collective::Reduce => rank == call.root,
        Collective::AllReduce => !call.from_input,
        Collective::Scan | Collective::ExclusiveScan => true,
        _ => false,
    };
    match holds {
        true => (vec![Formula::Nothing.term(); input], of(output)),
        false => (of(input), vec![Formula::Nothing.term(); output]),
    }
}

/// The elements that move from one rank to another, for each pair of ranks between which any do.
pub(super) type Pairs = BTreeMap<(Rank, Rank), usize>;

pub(super) fn pairs(all: impl Iterator<Item = (Rank, Rank, usize)>) -> Pairs {
    let mut pairs = Pairs::new();
    for (from, to, elements) in all.filter(|(from, to, n)| from != to && *n > 0) {
        *pairs.entry((from, to)).or_default() += elements;
    }
    pairs
}

/// The buffers of all ranks in the interpreter.
type Memory = Vec<[Vec<Term>; 3]>;

/// Interprets a schedule: the outputs of all ranks, and the moves between them.
pub(super) fn interpret(schedule: &dyn Schedule, call: &Call) -> (Vec<Vec<Term>>, Pairs) {
    let scratch = |rank| vec![Formula::Nothing.term(); schedule.lengths(rank).scratch];
    let begin = |rank| {
        let (input, output) = start(call, rank);
        [input, output, scratch(rank)]
    };
    let mut memory: Memory = (0..call.ranks()).map(begin).collect();
    let mut all = Vec::new();
    for number in 0..schedule.steps() {
        let steps: Vec<_> = (0..call.ranks())
            .map(|rank| schedule.step(rank, number))
            .collect();
        for (rank, step) in steps.iter().enumerate() {
            if let Some(copy) = step.local {
                let data = read(&memory, rank, copy.from);
                write(&mut memory, rank, copy.to, copy.combine, &data);
            }
        }
        let sent = steps.iter().enumerate().map(|(rank, step)| {
            let send = step.send?;
            Some(read(&memory, rank, send.region))
        });
        let sent: Vec<_> = sent.collect();
        for (rank, step) in steps.iter().enumerate() {
            if let Some(recv) = step.recv {
                let data = sent[recv.peer].as_ref().expect("a message");
                all.push((recv.peer, rank, data.len()));
                write(&mut memory, rank, recv.region, step.combine, data);
            }
        }
    }
    let outputs = memory.into_iter().map(|[_, output, _]| output).collect();
    (outputs, pairs(all.into_iter()))
}

fn read(memory: &Memory, rank: Rank, region: Region) -> Vec<Term> {
    let held = &memory[rank][region.buffer as usize];
    region.runs().flatten().map(|i| held[i]).collect()
}

fn write(memory: &mut Memory, rank: Rank, region: Region, combine: Combine, data: &[Term]) {
    assert_ne!(region.buffer, Buffer::Input);
    let held = &mut memory[rank][region.buffer as usize];
    for (i, &one) in region.runs().flatten().zip(data) {
        held[i] = match combine {
            Combine::Replace => one,
            Combine::FoldRight => Formula::Fold(held[i], one).term(),
            Combine::FoldLeft => Formula::Fold(one, held[i]).term(),
        };
    }
}
