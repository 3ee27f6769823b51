//! Foster's template, Algorithm 11.1, and the vector reductions of section 11.2: simple exchange, and recursive halving.

use std::ops::Range;

use rankfold::Result;

use super::talk::{Talk, fold};

/// Algorithm 11.1: in step i a task exchanges its state with the one whose number differs in bit i, and computes its
/// next state from both.
pub fn template(
    talk: &mut Talk<'_>,
    mut state: Vec<u64>,
    mut op: impl FnMut(Vec<u64>, Vec<u64>) -> Vec<u64>,
) -> Result<Vec<u64>> {
    for i in 0..talk.size().ilog2() as usize {
        let message = talk.exchange(talk.rank() ^ (1 << i), i, &state)?;
        state = op(state, message);
    }
    Ok(state)
}

/// Simple exchange: the template whose OP applies the operator N times.
pub fn simple_exchange(talk: &mut Talk<'_>, vector: Vec<u64>) -> Result<Vec<u64>> {
    template(talk, vector, |mut held, received| {
        fold(&mut held, &received);
        held
    })
}

/// Recursive halving: the vector is halved in each of the first stages, and each task keeps and reduces one half; then the
/// stages are reversed, without reductions.
pub fn recursive_halving(talk: &mut Talk<'_>, mut vector: Vec<u64>) -> Result<Vec<u64>> {
    let d = talk.size().ilog2() as usize;
    let n = vector.len();
    for i in 0..d {
        let peer = talk.rank() ^ (1 << i);
        let kept = part(talk.rank(), i + 1, d, n);
        let theirs = talk.exchange(peer, i, &vector[part(peer, i + 1, d, n)])?;
        fold(&mut vector[kept], &theirs);
    }
    for i in (0..d).rev() {
        let peer = talk.rank() ^ (1 << i);
        let mine = part(talk.rank(), i + 1, d, n);
        let theirs = talk.exchange(peer, 2 * d - 1 - i, &vector[mine])?;
        vector[part(peer, i + 1, d, n)].copy_from_slice(&theirs);
    }
    Ok(vector)
}

/// The elements that a task still reduces after so many stages: the lower half of what it had in the stage of a bit that
/// is 0, and the upper half if the bit is 1. Halves are runs of the `2^d` parts of the vector.
fn part(rank: usize, stages: usize, d: usize, n: usize) -> Range<usize> {
    let mut parts = 0..1 << d;
    for stage in 0..stages {
        let middle = (parts.start + parts.end) / 2;
        match rank >> stage & 1 {
            0 => parts.end = middle,
            _ => parts.start = middle,
        }
    }
    let cut = |part: usize| (n * part) >> d;
    cut(parts.start)..cut(parts.end)
}
