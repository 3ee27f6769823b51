//! One rank's part in a call: its elements, the call, and the right result.

use std::fmt::Debug;

use rankfold::op::Element;
use rankfold::topology::Topology;
use rankfold::{Comm, Rank, Result};

use super::{Step, Verb};

pub struct Part<'a, M> {
    pub step: &'a Step,
    /// The number of the call's elements.
    pub mark: u64,
    pub comm: &'a Comm,
    /// Makes an element of a number.
    pub make: M,
}

impl<T: Element + PartialEq + Debug, M: Fn(u64) -> T> Part<'_, M> {
    fn element(&self, rank: Rank, i: usize) -> T {
        (self.make)(self.mark * 1000 + (rank * 7 + i % 5) as u64)
    }

    fn vector(&self, rank: Rank, n: usize) -> Vec<T> {
        (0..n).map(|i| self.element(rank, i)).collect()
    }

    fn block(&self, rank: Rank) -> Vec<T> {
        self.vector(rank, self.step.n)
    }

    /// Returns a rank's blocks for all ranks.
    fn whole(&self, rank: Rank) -> Vec<T> {
        self.vector(rank, self.step.n * self.comm.size())
    }

    /// Returns a rank's block for this rank.
    fn block_for_me(&self, rank: Rank) -> Vec<T> {
        let n = self.step.n;
        self.whole(rank)[self.comm.rank() * n..][..n].to_vec()
    }

    /// Makes a call that reduces, with an operator that neither sums nor rounds: the fold of all is the first rank's
    /// vector.
    pub fn reduce(&self) -> Result<()> {
        let (step, comm, me) = (self.step, self.comm, self.comm.rank());
        let first = |left: T, _: T| left;
        let mut v = self.block(me);
        match step.verb {
            Verb::Reduce => {
                comm.reduce(step.root, &mut v, first)?;
                let rank = if me == step.root { 0 } else { me };
                assert_eq!(v, self.block(rank), "{step:?}");
            }
            Verb::AllReduce => {
                comm.all_reduce(&mut v, first)?;
                assert_eq!(v, self.block(0), "{step:?}");
            }
            Verb::ReduceScatter => {
                comm.reduce_scatter(&self.whole(me), &mut v, first)?;
                assert_eq!(v, self.block_for_me(0), "{step:?}");
            }
            Verb::Scan => {
                comm.scan(&mut v, first)?;
                assert_eq!(v, self.block(0), "{step:?}");
            }
            Verb::ReduceOver => {
                let chain = Topology::chain(comm.size());
                comm.reduce_over(&chain, &mut v, first).run()?;
            }
            verb => unreachable!("{verb:?} does not reduce"),
        }
        Ok(())
    }

    /// Makes a call in which every rank receives what the root has for it.
    pub fn receive(&self) -> Result<()> {
        let (step, comm, root) = (self.step, self.comm, self.step.root);
        let (me, mut v) = (comm.rank(), self.block(comm.rank()));
        match step.verb {
            Verb::Broadcast => {
                comm.broadcast(root, &mut v)?;
                assert_eq!(v, self.block(root), "{step:?}");
            }
            Verb::Scatter => {
                let from = self.whole(me);
                comm.scatter(root, (me == root).then_some(&from[..]), &mut v)?;
                assert_eq!(v, self.block_for_me(root), "{step:?}");
            }
            Verb::Value => {
                // The length of a value is not part of the call.
                let mine = (me == root).then(|| self.element(root, 0));
                let got = comm.values().broadcast(root, mine)?;
                assert_eq!(got, self.element(root, 0), "{step:?}");
            }
            verb => unreachable!("{verb:?} has no root that sends"),
        }
        Ok(())
    }

    /// Makes a call that collects a block of each rank.
    pub fn collect(&self) -> Result<()> {
        let (step, comm, me) = (self.step, self.comm, self.comm.rank());
        let ranks = || 0..comm.size();
        let all = || {
            ranks()
                .flat_map(|rank| self.block(rank))
                .collect::<Vec<T>>()
        };
        let v = self.block(me);
        match step.verb {
            Verb::AllGather => {
                let mut to = self.whole(me);
                comm.all_gather(&v, &mut to)?;
                assert_eq!(to, all(), "{step:?}");
            }
            Verb::Gather => {
                let to = comm.gather(step.root, &v)?;
                assert_eq!(to, (me == step.root).then(all), "{step:?}");
            }
            Verb::AllToAll => {
                let mut to = self.whole(me);
                comm.all_to_all(&self.whole(me), &mut to)?;
                let blocks = ranks().flat_map(|rank| self.block_for_me(rank));
                assert_eq!(to, blocks.collect::<Vec<T>>(), "{step:?}");
            }
            verb => unreachable!("{verb:?} does not collect"),
        }
        Ok(())
    }
}
