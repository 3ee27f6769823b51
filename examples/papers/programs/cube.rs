//! The collectives on a hypercube of `2^d` ranks. Each listing starts with the highest dimension.

use rankfold::{Rank, Result};

use super::talk::{Talk, fold};

/// The dimensions from the highest to the lowest, with the step in which each has its turn.
fn dimensions(ranks: usize) -> impl Iterator<Item = (usize, usize)> {
    let d = ranks.ilog2() as usize;
    (0..d).rev().enumerate()
}

/// One-to-all broadcast. A rank takes part from the step on after which all bits of its virtual number that have had no
/// turn yet are 0; in the first such step it receives, unless it is the source, and then it sends.
pub fn one_to_all_broadcast(
    talk: &mut Talk<'_>,
    source: Rank,
    mut message: Vec<u64>,
) -> Result<Vec<u64>> {
    let virtual_id = talk.rank() ^ source;
    let mut mask = talk.size() - 1;
    for (step, i) in dimensions(talk.size()) {
        let bit = 1 << i;
        mask ^= bit;
        if virtual_id & mask != 0 {
            continue;
        }
        let peer = (virtual_id ^ bit) ^ source;
        match virtual_id & bit {
            0 => talk.send(peer, step, &message)?,
            _ => message = talk.recv(peer)?,
        }
    }
    Ok(message)
}

/// Scatter: the same, but a sender keeps its own half of the blocks that it holds, and passes on those of the receiver's
/// subcube. `all` has a block of `block` elements for each rank, and is read at the source only.
pub fn scatter(talk: &mut Talk<'_>, source: Rank, all: &[u64], block: usize) -> Result<Vec<u64>> {
    let virtual_id = talk.rank() ^ source;
    // The blocks of this rank's subcube, in the order of virtual numbers.
    let mut held: Vec<u64> = match virtual_id {
        0 => (0..talk.size())
            .flat_map(|v| all[(v ^ source) * block..][..block].to_vec())
            .collect(),
        _ => Vec::new(),
    };
    let mut mask = talk.size() - 1;
    for (step, i) in dimensions(talk.size()) {
        let bit = 1 << i;
        mask ^= bit;
        if virtual_id & mask != 0 {
            continue;
        }
        let peer = (virtual_id ^ bit) ^ source;
        match virtual_id & bit {
            0 => {
                let theirs = held.split_off(bit * block);
                talk.send(peer, step, &theirs)?;
            }
            _ => held = talk.recv(peer)?,
        }
    }
    Ok(held)
}

/// All-to-all reduction, which is an all-reduce: in each step a rank sends the running result.
pub fn all_to_all_reduction(talk: &mut Talk<'_>, my_message: Vec<u64>) -> Result<Vec<u64>> {
    let mut result = my_message;
    for (step, i) in dimensions(talk.size()) {
        let partner = talk.rank() ^ (1 << i);
        let received = talk.exchange(partner, step, &result)?;
        fold(&mut result, &received);
    }
    Ok(result)
}

/// The same as it is printed: each step sends the original message, so that the sums are wrong from 4 ranks on.
pub fn all_to_all_reduction_as_printed(
    talk: &mut Talk<'_>,
    my_message: Vec<u64>,
) -> Result<Vec<u64>> {
    let mut result = my_message.clone();
    for (step, i) in dimensions(talk.size()) {
        let partner = talk.rank() ^ (1 << i);
        let received = talk.exchange(partner, step, &my_message)?;
        fold(&mut result, &received);
    }
    Ok(result)
}
