//! The sequential model of random programs: which ranks reach their end.

use rankfold::Rank;

use super::random::{Act, Message, Program};

/// Returns for each rank of a program without wildcards whether it reaches its end. Sequential, with unlimited room for
/// messages; the n-th collective of a rank meets the n-th of all others.
pub fn completes(program: &Program) -> Vec<bool> {
    let n = program.ranks.len();
    let mut at = vec![0; n];
    let mut met = vec![0; n];
    let mut sent: Vec<Message> = Vec::new();
    while let Some(rank) = (0..n).find(|&rank| moves(program, rank, &at, &met, &sent)) {
        match program.ranks[rank][at[rank]] {
            Act::Send(message) => sent.push(message),
            Act::Recv {
                message, any_tag, ..
            } => {
                let place = sent.iter().position(|m| matches(m, &message, any_tag));
                sent.remove(place.expect("it moves because of it"));
            }
            Act::Whole { .. } => met[rank] += 1,
            Act::Spin(_) => {}
            Act::Start { .. } | Act::Finish { .. } | Act::Epoch { .. } | Act::Touch(_) => {
                unreachable!("drawn for right programs only")
            }
        }
        at[rank] += 1;
    }
    (0..n)
        .map(|rank| at[rank] == program.ranks[rank].len())
        .collect()
}

fn matches(sent: &Message, wanted: &Message, any_tag: bool) -> bool {
    (sent.from, sent.to) == (wanted.from, wanted.to) && (any_tag || sent.tag == wanted.tag)
}

/// Returns whether `rank` can do its next act: all ranks have arrived at the same collective, or have passed it.
fn moves(program: &Program, rank: Rank, at: &[usize], met: &[usize], sent: &[Message]) -> bool {
    let here = |other: Rank| {
        met[other] > met[rank]
            || met[other] == met[rank]
                && matches!(program.ranks[other].get(at[other]), Some(Act::Whole { .. }))
    };
    match program.ranks[rank].get(at[rank]) {
        None => false,
        Some(Act::Recv {
            message, any_tag, ..
        }) => sent.iter().any(|m| matches(m, message, *any_tag)),
        Some(Act::Whole { .. }) => (0..at.len()).all(here),
        Some(_) => true,
    }
}
