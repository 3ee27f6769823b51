//! The collectives of random programs, in each of their forms: blocking, started, persistent, and started on borrowed
//! vectors in a scope. What each must return is known from its number.

use rankfold::{Comm, Persistent, Rank, Request, Result, Scope, ScopedRequest, op};

use super::random::{elements, sums};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Broadcast,
    Reduce,
    AllReduce,
    ReduceScatter,
    Gather,
    Scatter,
    AllGather,
    AllToAll,
    Scan,
    ExclusiveScan,
}

pub const KINDS: [Kind; 10] = [
    Kind::Broadcast,
    Kind::Reduce,
    Kind::AllReduce,
    Kind::ReduceScatter,
    Kind::Gather,
    Kind::Scatter,
    Kind::AllGather,
    Kind::AllToAll,
    Kind::Scan,
    Kind::ExclusiveScan,
];

/// A collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub kind: Kind,
    pub root: Rank,
    pub length: usize,
    /// With counts: the blocks of the ranks have different lengths.
    pub counted: bool,
}

/// A call as one rank makes it.
pub struct Mine<'c> {
    call: Call,
    comm: &'c Comm,
    id: u64,
}

impl Call {
    pub fn of(self, comm: &Comm, id: u64) -> Mine<'_> {
        Mine {
            call: self,
            comm,
            id,
        }
    }
}

impl<'c> Mine<'c> {
    /// The length of the block of a rank; in an all-to-all, of that from one rank to another.
    fn count(&self, from: Rank, to: Rank) -> usize {
        let more = match self.call.kind {
            _ if !self.call.counted => 0,
            Kind::AllToAll => (from + 2 * to) % 3,
            _ => to % 3,
        };
        self.call.length + more
    }

    /// The lengths of the blocks that a rank sends, or of those of all ranks.
    fn counts(&self, from: Rank) -> Vec<usize> {
        (0..self.comm.size())
            .map(|to| self.count(from, to))
            .collect()
    }

    fn is_root(&self) -> bool {
        self.comm.rank() == self.call.root
    }

    fn input_of(&self, rank: Rank) -> Vec<u64> {
        let all = self.counts(rank).iter().sum();
        let length = match self.call.kind {
            Kind::Gather | Kind::AllGather => self.count(rank, rank),
            Kind::ReduceScatter | Kind::AllToAll => all,
            Kind::Scatter if rank == self.call.root => all,
            Kind::Scatter => 0,
            _ => self.call.length,
        };
        elements(self.id, rank, length)
    }

    fn input(&self) -> Vec<u64> {
        self.input_of(self.comm.rank())
    }

    /// The block for this rank out of all that a rank has.
    fn block_of(&self, from: Rank, mut all: Vec<u64>) -> Vec<u64> {
        let (me, counts) = (self.comm.rank(), self.counts(from));
        let mut block = all.split_off(counts[..me].iter().sum());
        block.truncate(counts[me]);
        block
    }

    /// What this rank must get; `None` if that is nothing.
    pub fn right(&self) -> Option<Vec<u64>> {
        let (n, me, root) = (self.comm.size(), self.comm.rank(), self.call.root);
        let length = self.call.length;
        let all = |ranks: usize| sums(self.id, ranks, length);
        let inputs = || (0..n).flat_map(|rank| self.input_of(rank)).collect();
        match self.call.kind {
            Kind::Broadcast => Some(self.input_of(root)),
            Kind::AllReduce => Some(all(n)),
            Kind::Reduce => self.is_root().then(|| all(n)),
            Kind::Scan => Some(all(me + 1)),
            Kind::ExclusiveScan => Some(all(me)),
            Kind::ReduceScatter => {
                let whole = self.counts(0).iter().sum();
                Some(self.block_of(0, sums(self.id, n, whole)))
            }
            Kind::Gather => self.is_root().then(inputs),
            Kind::AllGather => Some(inputs()),
            Kind::Scatter => Some(self.block_of(root, self.input_of(root))),
            Kind::AllToAll => {
                let blocks = (0..n).map(|from| self.block_of(from, self.input_of(from)));
                Some(blocks.flatten().collect())
            }
        }
    }

    /// What a rank's result is put into: zeros.
    fn output(&self) -> Vec<u64> {
        let length = match self.call.kind {
            Kind::Gather if !self.is_root() => 0,
            _ => self.right().map_or(0, |right| right.len()),
        };
        vec![0; length]
    }

    /// The counts of an all-to-all: what this rank gets from each other one.
    fn from(&self) -> Vec<usize> {
        let me = self.comm.rank();
        (0..self.comm.size())
            .map(|from| self.count(from, me))
            .collect()
    }

    fn in_place(&self) -> bool {
        use Kind::{AllReduce, Broadcast, ExclusiveScan, Reduce, Scan};
        matches!(
            self.call.kind,
            Broadcast | Reduce | AllReduce | Scan | ExclusiveScan
        )
    }

    pub fn check(&self, got: &[u64]) {
        if let Some(right) = self.right() {
            assert_eq!(got, right, "{:?} {}", self.call, self.id);
        }
    }

    pub fn block(&self) -> Result<()> {
        let (comm, root, counts) = (
            self.comm,
            self.call.root,
            &self.counts(self.comm.rank())[..],
        );
        let input = self.input();
        let mut output = if self.in_place() {
            input.clone()
        } else {
            self.output()
        };
        let out = &mut output[..];
        let all = self.is_root().then_some(&input[..]);
        match (self.call.kind, self.call.counted) {
            (Kind::Broadcast, _) => comm.broadcast(root, out)?,
            (Kind::Reduce, _) => comm.reduce(root, out, op::Sum)?,
            (Kind::AllReduce, _) => comm.all_reduce(out, op::Sum)?,
            (Kind::Scan, _) => comm.scan(out, op::Sum)?,
            (Kind::ExclusiveScan, _) => comm.exclusive_scan(out, 0, op::Sum)?,
            (Kind::ReduceScatter, false) => comm.reduce_scatter(&input, out, op::Sum)?,
            (Kind::ReduceScatter, true) => comm.reduce_scatter_v(&input, counts, out, op::Sum)?,
            (Kind::Gather, false) => comm.gather_into(root, &input, out)?,
            (Kind::Gather, true) => comm.gather_v(root, &input, counts, out)?,
            (Kind::Scatter, false) => comm.scatter(root, all, out)?,
            (Kind::Scatter, true) => comm.scatter_v(root, all, counts, out)?,
            (Kind::AllGather, false) => comm.all_gather(&input, out)?,
            (Kind::AllGather, true) => comm.all_gather_v(&input, counts, out)?,
            (Kind::AllToAll, false) => comm.all_to_all(&input, out)?,
            (Kind::AllToAll, true) => comm.all_to_all_v(&input, counts, out, &self.from())?,
        }
        self.check(&output);
        Ok(())
    }

    pub fn start(&self) -> Result<Request<'static, Vec<u64>>> {
        let (comm, root, counts) = (
            self.comm,
            self.call.root,
            &self.counts(self.comm.rank())[..],
        );
        let (input, output) = (self.input(), self.output());
        match (self.call.kind, self.call.counted) {
            (Kind::Broadcast, _) => comm.ibroadcast(root, input),
            (Kind::Reduce, _) => comm.ireduce(root, input, op::Sum),
            (Kind::AllReduce, _) => comm.iall_reduce(input, op::Sum),
            (Kind::Scan, _) => comm.iscan(input, op::Sum),
            (Kind::ExclusiveScan, _) => comm.iexclusive_scan(input, 0, op::Sum),
            (Kind::ReduceScatter, false) => comm.ireduce_scatter(input, op::Sum),
            (Kind::ReduceScatter, true) => comm.ireduce_scatter_v(input, counts, op::Sum),
            (Kind::Gather, false) => Ok(comm.igather(root, input)?.map(Option::unwrap_or_default)),
            (Kind::Gather, true) => comm.igather_v(root, input, counts, output),
            (Kind::Scatter, false) => comm.iscatter(root, self.is_root().then_some(input), output),
            (Kind::Scatter, true) => {
                comm.iscatter_v(root, self.is_root().then_some(input), counts, output)
            }
            (Kind::AllGather, false) => comm.iall_gather(input),
            (Kind::AllGather, true) => comm.iall_gather_v(input, counts, output),
            (Kind::AllToAll, false) => comm.iall_to_all(input),
            (Kind::AllToAll, true) => comm.iall_to_all_v(input, counts, output, &self.from()),
        }
    }

    pub fn persistent(&self) -> Result<Persistent<'c, u64>> {
        let (comm, root, counts) = (
            self.comm,
            self.call.root,
            &self.counts(self.comm.rank())[..],
        );
        let (input, output) = (self.input(), self.output());
        match (self.call.kind, self.call.counted) {
            (Kind::Broadcast, _) => comm.broadcast_init(root, input),
            (Kind::Reduce, _) => comm.reduce_init(root, input, op::Sum),
            (Kind::AllReduce, _) => comm.all_reduce_init(input, op::Sum),
            (Kind::Scan, _) => comm.scan_init(input, op::Sum),
            (Kind::ExclusiveScan, _) => comm.exclusive_scan_init(input, 0, op::Sum),
            (Kind::ReduceScatter, false) => comm.reduce_scatter_init(input, output, op::Sum),
            (Kind::ReduceScatter, true) => {
                comm.reduce_scatter_v_init(input, counts, output, op::Sum)
            }
            (Kind::Gather, false) => comm.gather_init(root, input, output),
            (Kind::Gather, true) => comm.gather_v_init(root, input, counts, output),
            (Kind::Scatter, false) => comm.scatter_init(root, input, output),
            (Kind::Scatter, true) => comm.scatter_v_init(root, input, counts, output),
            (Kind::AllGather, false) => comm.all_gather_init(input, output),
            (Kind::AllGather, true) => comm.all_gather_v_init(input, counts, output),
            (Kind::AllToAll, false) => comm.all_to_all_init(input, output),
            (Kind::AllToAll, true) => comm.all_to_all_v_init(input, counts, output, &self.from()),
        }
    }

    /// Runs a persistent call several times.
    pub fn repeat(&self) -> Result<()> {
        let mut call = self.persistent()?;
        for _ in 0..1 + self.id % 3 {
            call.input_mut()?.copy_from_slice(&self.input());
            call.start()?;
            while self.id.is_multiple_of(5) && !call.test()? {}
            call.wait()?;
            self.check(call.output()?);
        }
        Ok(())
    }

    /// Starts it on borrowed vectors, beside a sum.
    pub fn in_scope(&self) -> Result<()> {
        let counts = self.counts(self.comm.rank());
        let (input, from) = (self.input(), self.from());
        let mut output = if self.in_place() {
            input.clone()
        } else {
            self.output()
        };
        let mut ranks = [1_u64];
        self.comm.scope(|scope| {
            let other = scope.iall_reduce(&mut ranks, op::Sum)?;
            let one = self.start_in(scope, &input, [&counts, &from], &mut output)?;
            // The other one is waited for by the end of the scope.
            match self.id.is_multiple_of(2) {
                true => one.wait().map(drop),
                false => other.wait().map(drop),
            }
        })?;
        assert_eq!(ranks[0], self.comm.size() as u64, "in a scope {}", self.id);
        self.check(&output);
        Ok(())
    }

    /// `counts` are those of what is sent and, in an all-to-all, of what is received.
    fn start_in<'scope, 'env>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        input: &[u64],
        [counts, from]: [&[usize]; 2],
        out: &'env mut [u64],
    ) -> Result<ScopedRequest<'scope, &'env mut [u64]>> {
        let root = self.call.root;
        let all = self.is_root().then_some(input);
        match (self.call.kind, self.call.counted) {
            (Kind::Broadcast, _) => scope.ibroadcast(root, out),
            (Kind::Reduce, _) => scope.ireduce(root, out, op::Sum),
            (Kind::AllReduce, _) => scope.iall_reduce(out, op::Sum),
            (Kind::Scan, _) => scope.iscan(out, op::Sum),
            (Kind::ExclusiveScan, _) => scope.iexclusive_scan(out, 0, op::Sum),
            (Kind::ReduceScatter, false) => scope.ireduce_scatter(input, out, op::Sum),
            (Kind::ReduceScatter, true) => scope.ireduce_scatter_v(input, counts, out, op::Sum),
            (Kind::Gather, false) => scope.igather(root, input, out),
            (Kind::Gather, true) => scope.igather_v(root, input, counts, out),
            (Kind::Scatter, false) => scope.iscatter(root, all, out),
            (Kind::Scatter, true) => scope.iscatter_v(root, all, counts, out),
            (Kind::AllGather, false) => scope.iall_gather(input, out),
            (Kind::AllGather, true) => scope.iall_gather_v(input, counts, out),
            (Kind::AllToAll, false) => scope.iall_to_all(input, out),
            (Kind::AllToAll, true) => scope.iall_to_all_v(input, counts, out, from),
        }
    }
}
