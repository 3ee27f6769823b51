//! The trait behind all families, and what its answers consist of.

use crate::Rank;

/// Ranks that all send to one rank in one step, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(in crate::topology) struct SenderRun {
    pub(in crate::topology) step: usize,
    /// At least 1.
    pub(in crate::topology) count: usize,
    /// The first sender (in a table: its place in the list of senders).
    pub(in crate::topology) first: usize,
    /// The distance from one sender to the next.
    pub(in crate::topology) stride: usize,
}

impl SenderRun {
    pub(super) fn one(step: usize, from: Rank) -> SenderRun {
        SenderRun {
            step,
            count: 1,
            first: from,
            stride: 1,
        }
    }
}

/// The queries that a shape answers; the rest of [`Topology`](crate::topology::Topology) follows from them.
///
/// The trait stays small because the arrivals of a step form a [`SenderRun`]: predecessors, next step, counts and the
/// single-port form are all walks over runs, and a rank has few runs.
///
/// # Laws
///
/// - `successor(p) == (t, q)` iff some run of `arrivals(q, t)` at step `t` has `p` as a member;
/// - `arrivals(q, least)` is the run of the least step that is not below `least`;
/// - among the runs of one rank, in order of step and place, port steps rise.
pub(in crate::topology) trait Family {
    fn root(&self) -> Rank {
        0
    }

    /// The largest step plus one, or 0.
    fn steps(&self) -> usize;

    /// The step in which `p`, which is not the root, sends, and the rank it sends to.
    fn successor(&self, p: Rank) -> (usize, Rank);

    /// The triples that enter `q` in the first step, not before `least`, that has any.
    fn arrivals(&self, q: Rank, least: usize) -> Option<SenderRun>;

    /// The sender at index `i` of a run that this family returned.
    fn member(&self, run: SenderRun, i: usize) -> Rank {
        run.first + i * run.stride
    }

    fn predecessor_count(&self, q: Rank) -> usize {
        let next = |run: &SenderRun| self.arrivals(q, run.step + 1);
        std::iter::successors(self.arrivals(q, 0), next)
            .map(|run| run.count)
            .sum()
    }

    /// Whether every subtree is an interval when ranks are counted cyclically from `c`.
    ///
    /// Counting from `c` cuts a subtree without the root in two iff it contains both `c` and the rank before it; two
    /// ranks share such a subtree iff they lie under the same child of the root.
    fn in_order_from(&self, c: Rank) -> bool;

    /// The step in which `p`, which is not the root, sends in the single-port form.
    fn port_step(&self, p: Rank) -> usize;

    /// The number of steps of the single-port form.
    fn port_steps(&self) -> usize;

    /// The first step, not before `least`, in which `q` receives in the single-port form, and the sender.
    ///
    /// This default requires that the ranks of one run are taken back to back.
    fn port_arrival(&self, q: Rank, least: usize) -> Option<(usize, Rank)> {
        let mut run = self.arrivals(q, 0)?;
        loop {
            let first = self.port_step(self.member(run, 0));
            if least < first + run.count {
                let step = least.max(first);
                return Some((step, self.member(run, step - first)));
            }
            run = self.arrivals(q, run.step + 1)?;
        }
    }
}

/// The first of at most two arrivals, given in ascending order of steps, that is not before `least`.
pub(super) fn first_of_two(
    arrivals: [Option<(usize, Rank)>; 2],
    least: usize,
) -> Option<SenderRun> {
    let found = arrivals
        .into_iter()
        .flatten()
        .find(|&(step, _)| step >= least);
    found.map(|(step, from)| SenderRun::one(step, from))
}

/// The width `k` of a family on `n` ranks, capped at the largest useful value.
#[track_caller]
pub(super) fn width(n: usize, k: usize) -> usize {
    assert_some(n);
    assert!(k > 0, "a topology of width k = {k} on {n} ranks");
    k.min(n - 1).max(1)
}

#[track_caller]
pub(super) fn assert_some(n: usize) {
    assert!(n > 0, "a topology of {n} ranks");
}
