//! Inputs and expected results: the same numbers in the programs of all languages.
//!
//! Element `j` of rank `r` before call `i` is `r + 1 + i % 8 + j % 8`, so that a shifted block, a missing rank and a
//! vector of an earlier call are all detected. Sums of them are exact.

use super::op::{Kind, Op};

fn own(rank: usize, call: usize) -> f32 {
    (rank + 1 + call % 8) as f32
}

/// Writes the vector of a rank before a call.
pub fn fill(vector: &mut [f32], rank: usize, call: usize) {
    let base = own(rank, call);
    for (j, x) in vector.iter_mut().enumerate() {
        *x = base + (j % 8) as f32;
    }
}

/// Returns whether `vector[j]` is `base + each * ((shift + j) % 8)` everywhere. Always reads all of it.
fn is(vector: &[f32], base: f32, each: f32, shift: usize) -> bool {
    let wrong = vector
        .iter()
        .enumerate()
        .map(|(j, x)| usize::from(*x != base + each * ((shift + j) % 8) as f32));
    wrong.sum::<usize>() == 0
}

/// Returns whether `got` is what `rank` of `ranks` must have after a call.
pub fn right(op: Op, got: &[f32], rank: usize, ranks: usize, call: usize) -> bool {
    let sum: f32 = (0..ranks).map(|rank| own(rank, call)).sum();
    match op.kind {
        Kind::P2p => rank > 1 || is(got, own(1 - rank, call), 1.0, 0),
        Kind::P2pBounce => rank > 1 || is(got, own(0, call), 1.0, 0),
        Kind::AllReduce | Kind::AllReduceInplace | Kind::RunAllReduce => {
            is(got, sum, ranks as f32, 0)
        }
        Kind::Reduce | Kind::ReduceInplace => rank > 0 || is(got, sum, ranks as f32, 0),
        Kind::ReduceScatter => is(got, sum, ranks as f32, got.len() * rank),
        Kind::Broadcast => is(got, own(0, call), 1.0, 0),
        Kind::Stream | Kind::Window => rank != 1 || is(got, own(0, call), 1.0, 0),
        Kind::Scan => {
            let sum = (0..=rank).map(|rank| own(rank, call)).sum();
            is(got, sum, (rank + 1) as f32, 0)
        }
        Kind::AllToAll => blocks(got, ranks)
            .all(|(from, block)| is(block, own(from, call), 1.0, block.len() * rank)),
        Kind::Scatter => is(got, own(0, call), 1.0, got.len() * rank),
        Kind::AllGather => {
            blocks(got, ranks).all(|(from, block)| is(block, own(from, call), 1.0, 0))
        }
        _ => true,
    }
}

/// Returns the block of each rank.
fn blocks(got: &[f32], ranks: usize) -> impl Iterator<Item = (usize, &[f32])> {
    got.chunks((got.len() / ranks).max(1)).enumerate()
}

/// Returns whether `got` is the vector of a rank before a call.
pub fn is_vector_of(got: &[f32], rank: usize, call: usize) -> bool {
    is(got, own(rank, call), 1.0, 0)
}
