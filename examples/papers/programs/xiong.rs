//! The reductions of Xiong 1999 and 2015: the general loop over any topology, and the two that the text writes out.

use rankfold::topology::{Topology, Triple};
use rankfold::{Rank, Result, Source};

use super::talk::{Talk, fold};

/// The reduce loop of section 3 of 1999 and Fig. 3 of 2015, over a topology given as its triples `<q, i, p>`.
pub fn reduce(talk: &mut Talk<'_>, topology: &Topology, mut msg: Vec<u64>) -> Result<Vec<u64>> {
    let p = talk.rank();
    let mut top: Vec<Triple> = topology.triples().collect();
    let into = |top: &[Triple]| top.iter().filter(|t| t.to == p).map(|t| t.step).min();
    while let Some(i) = into(&top) {
        while let Some(one) = top.iter().position(|t| (t.step, t.to) == (i, p)) {
            // Each rank has one successor, so what arrives is from a predecessor, perhaps of a later step.
            let received = talk.recv(Source::Any)?;
            fold(&mut msg, &received);
            top.swap_remove(one);
        }
    }
    match top.iter().find(|t| t.from == p) {
        Some(&Triple { step, to, .. }) => to_successor(talk, to, step, &msg),
        None => Ok(msg),
    }
}

/// Section 4.1 of 1999: the reduction over the 1-ring, `<p_{n-1}, 0, p_{n-2}>, ..., <p_1, n-2, p_0>`.
pub fn reduce_1_ring(talk: &mut Talk<'_>, mut msg: Vec<u64>) -> Result<Vec<u64>> {
    let (h, n) = (talk.rank(), talk.size());
    if h != n - 1 {
        let received = talk.recv(Source::Any)?;
        fold(&mut msg, &received);
    }
    if h != 0 {
        return to_successor(talk, h - 1, n - 1 - h, &msg);
    }
    Ok(msg)
}

/// Section 4.2 of 1999: the reduction over the 2-tree. The number of a rank other than 0 is `3^u (3 v + s)`, with s 1 or
/// 2 in the first and the second case of the text; the third case is the root, which receives in all steps here.
pub fn reduce_2_tree(talk: &mut Talk<'_>, mut msg: Vec<u64>) -> Result<Vec<u64>> {
    let (h, n) = (talk.rank(), talk.size());
    let u = exponent(h, n);
    for step in 0..u {
        let power = 3usize.pow(step as u32);
        for predecessor in [h + power, h + 2 * power] {
            if predecessor < n {
                let received = talk.recv(predecessor)?;
                fold(&mut msg, &received);
            }
        }
    }
    if h != 0 {
        let above = 3usize.pow(u as u32 + 1);
        return to_successor(talk, h / above * above, u, &msg);
    }
    Ok(msg)
}

/// The largest u for which 3^u divides h; for the root, the least for which 3^u is at least n.
fn exponent(h: Rank, n: usize) -> usize {
    let mut powers = (0..).map(|u| 3usize.pow(u));
    match h {
        0 => powers.position(|power| power >= n),
        _ => powers.position(|power| !h.is_multiple_of(3 * power)),
    }
    .unwrap_or(0)
}

fn to_successor(talk: &mut Talk<'_>, to: Rank, step: usize, msg: &[u64]) -> Result<Vec<u64>> {
    talk.send(to, step, msg)?;
    Ok(Vec::new())
}
