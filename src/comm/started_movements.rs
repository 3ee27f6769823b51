//! Started movements and the started barrier: ibarrier, ibroadcast, igather, iscatter, iall_gather and iall_to_all.

use super::Comm;
use super::request::Request;
use super::run_call::blocks_of;
use super::started_reductions::some_elements;
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::ask;
use crate::error::Result;
use crate::op::{Element, First};

/// # Started movements and barrier
///
/// As [started reductions](Self::ireduce), without an operator.
impl Comm {
    /// Starts a [`barrier`](Self::barrier): the request is complete once all ranks have started it.
    ///
    /// # Errors
    ///
    /// As [`barrier`](Self::barrier), from the request.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(4).run(|comm| {
    ///     let mut all_here = comm.ibarrier()?;
    ///     while all_here.test()?.is_none() {
    ///         // ... some work that can be done until all ranks are here ...
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Ibarrier")]
    #[track_caller]
    pub fn ibarrier(&self) -> Result<Request<'static, ()>> {
        self.automatic().ibarrier()
    }

    /// Starts a [`broadcast`](Self::broadcast). The request returns the buffer, with the root's elements on all ranks.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(3).run(|comm| comm.ibroadcast(1, vec![comm.rank(); 2])?.wait())?;
    /// assert_eq!(got, [[1, 1]; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Ibcast")]
    #[track_caller]
    pub fn ibroadcast<T: Element>(
        &self,
        root: Rank,
        buf: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        self.automatic().ibroadcast(root, buf)
    }

    /// Starts a [`gather`](Self::gather). The request returns all blocks at the root, and `None` elsewhere.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(3).run(|comm| comm.igather(0, vec![comm.rank()])?.wait())?;
    /// assert_eq!(got, [Some(vec![0, 1, 2]), None, None]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Igather")]
    #[track_caller]
    pub fn igather<T: Element>(
        &self,
        root: Rank,
        block: Vec<T>,
    ) -> Result<Request<'static, Option<Vec<T>>>> {
        self.automatic().igather(root, block)
    }

    /// Starts a [`gather_v`](Self::gather_v). The request returns `all`, which holds the blocks at the root.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    #[doc(alias = "MPI_Igatherv")]
    #[track_caller]
    pub fn igather_v<T: Element>(
        &self,
        root: Rank,
        block: Vec<T>,
        counts: &[usize],
        all: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::Gather, 0).to_root(root);
        let begun = self.start_call_v(&ask, blocks_of(self, counts), (block, all), First)?;
        Ok(self.request_of::<T, _>(&begun, |(_, all)| all))
    }

    /// Starts a [`scatter`](Self::scatter) into `block`, which the request returns.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(3).run(|comm| {
    ///     let all = (comm.rank() == 0).then(|| vec!['a', 'b', 'c']);
    ///     comm.iscatter(0, all, vec![' '])?.wait()
    /// })?;
    /// assert_eq!(got, [['a'], ['b'], ['c']]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Iscatter")]
    #[track_caller]
    pub fn iscatter<T: Element>(
        &self,
        root: Rank,
        all: Option<Vec<T>>,
        block: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        self.automatic().iscatter(root, all, block)
    }

    /// Starts a [`scatter_v`](Self::scatter_v) into `block`, which the request returns.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    #[doc(alias = "MPI_Iscatterv")]
    #[track_caller]
    pub fn iscatter_v<T: Element>(
        &self,
        root: Rank,
        all: Option<Vec<T>>,
        counts: &[usize],
        block: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::Scatter, 0).to_root(root);
        let vectors = (all.unwrap_or_default(), block);
        let begun = self.start_call_v(&ask, blocks_of(self, counts), vectors, First)?;
        Ok(self.request_of::<T, _>(&begun, |(_, block)| block))
    }

    /// Starts an [`all_gather`](Self::all_gather) of equal blocks. The request returns all blocks.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(3).run(|comm| comm.iall_gather(vec![comm.rank()])?.wait())?;
    /// assert_eq!(got, [[0, 1, 2]; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Iallgather")]
    #[track_caller]
    pub fn iall_gather<T: Element>(&self, block: Vec<T>) -> Result<Request<'static, Vec<T>>> {
        self.automatic().iall_gather(block)
    }

    /// Starts an [`all_gather_v`](Self::all_gather_v) into `all`, which the request returns.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    #[doc(alias = "MPI_Iallgatherv")]
    #[track_caller]
    pub fn iall_gather_v<T: Element>(
        &self,
        block: Vec<T>,
        counts: &[usize],
        all: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::AllGather, 0);
        let begun = self.start_call_v(&ask, blocks_of(self, counts), (block, all), First)?;
        Ok(self.request_of::<T, _>(&begun, |(_, all)| all))
    }

    /// Starts an [`all_to_all`](Self::all_to_all) of equal blocks. The request returns one block from each rank.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(2).run(|comm| {
    ///     let me = comm.rank();
    ///     comm.iall_to_all(vec![(me, 0), (me, 1)])?.wait()
    /// })?;
    /// assert_eq!(got, [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Ialltoall")]
    #[track_caller]
    pub fn iall_to_all<T: Element>(&self, input: Vec<T>) -> Result<Request<'static, Vec<T>>> {
        self.automatic().iall_to_all(input)
    }
}

/// Room for a block from each of `ranks` ranks. If the product overflows it is empty, and the call is refused because
/// of its length.
pub(super) fn blocks_like<T: Element>(block: &[T], ranks: usize) -> Vec<T> {
    some_elements(block, block.len().checked_mul(ranks).unwrap_or(0))
}

impl Using<'_> {
    /// [`Comm::ibarrier`].
    #[track_caller]
    pub fn ibarrier(&self) -> Result<Request<'static, ()>> {
        let ask = ask(Collective::Barrier, 0).by(self.algorithm);
        let nothing = (Vec::<()>::new(), Vec::new());
        let begun = self.comm.start_call(&ask, nothing, First)?;
        Ok(self.comm.request_of::<(), _>(&begun, |_| ()))
    }

    /// [`Comm::ibroadcast`].
    #[track_caller]
    pub fn ibroadcast<T: Element>(
        &self,
        root: Rank,
        buf: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        let ask = ask.by(self.algorithm);
        let begun = self.comm.start_call(&ask, (Vec::new(), buf), First)?;
        Ok(self.comm.request_of::<T, _>(&begun, |(_, buf)| buf))
    }

    /// [`Comm::igather`].
    #[track_caller]
    pub fn igather<T: Element>(
        &self,
        root: Rank,
        block: Vec<T>,
    ) -> Result<Request<'static, Option<Vec<T>>>> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Gather, length).to_root(root);
        let ask = ask.by(self.algorithm);
        let at_root = self.comm.rank() == root;
        let ranks = if at_root { self.comm.size() } else { 0 };
        let all = blocks_like(&block, ranks);
        let begun = self.comm.start_call(&ask, (block, all), First)?;
        let result = move |(_, all)| at_root.then_some(all);
        Ok(self.comm.request_of::<T, _>(&begun, result))
    }

    /// [`Comm::iscatter`].
    #[track_caller]
    pub fn iscatter<T: Element>(
        &self,
        root: Rank,
        all: Option<Vec<T>>,
        block: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Scatter, length).to_root(root);
        let ask = ask.by(self.algorithm);
        let vectors = (all.unwrap_or_default(), block);
        let begun = self.comm.start_call(&ask, vectors, First)?;
        Ok(self.comm.request_of::<T, _>(&begun, |(_, block)| block))
    }

    /// [`Comm::iall_gather`].
    #[track_caller]
    pub fn iall_gather<T: Element>(&self, block: Vec<T>) -> Result<Request<'static, Vec<T>>> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::AllGather, length).by(self.algorithm);
        let all = blocks_like(&block, self.comm.size());
        let begun = self.comm.start_call(&ask, (block, all), First)?;
        Ok(self.comm.request_of::<T, _>(&begun, |(_, all)| all))
    }

    /// [`Comm::iall_to_all`].
    #[track_caller]
    pub fn iall_to_all<T: Element>(&self, input: Vec<T>) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::AllToAll, input.len()).by(self.algorithm);
        let output = some_elements(&input, input.len());
        let begun = self.comm.start_call(&ask, (input, output), First)?;
        Ok(self.comm.request_of::<T, _>(&begun, |(_, output)| output))
    }
}
