//! The methods that describe persistent collectives.

use super::Comm;
use super::persistent::{Kind, Persistent};
use super::started::Vectors;
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::combine::kind_of;
use crate::engine::kept::{Ask, ask};
use crate::error::Result;
use crate::op::owned::Owned;
use crate::op::{Element, First, Operator};

/// # Persistent collectives
///
/// Collectives that are described once, with their buffers, and started any number of times; see [`Persistent`]. Their
/// buffers have the shapes of the blocking ones.
impl Comm {
    /// Describes a [`barrier`](Self::barrier).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Barrier_init")]
    #[track_caller]
    pub fn barrier_init(&self) -> Result<Persistent<'_, ()>> {
        self.automatic().barrier_init()
    }

    /// Describes a [`broadcast`](Self::broadcast) of a buffer.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Bcast_init")]
    #[track_caller]
    pub fn broadcast_init<T: Element>(&self, root: Rank, buf: Vec<T>) -> Result<Persistent<'_, T>> {
        self.automatic().broadcast_init(root, buf)
    }

    /// Describes a [`reduce`](Self::reduce) in place at the root.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Reduce_init")]
    #[track_caller]
    pub fn reduce_init<T: Element>(
        &self,
        root: Rank,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().reduce_init(root, buf, op)
    }

    /// Describes an [`all_reduce`](Self::all_reduce) in place.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) for wrong arguments. All other errors of the collective come from starting
    /// it, and from waiting for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// World::new(3).run(|comm| {
    ///     let mut max = comm.all_reduce_init(vec![0; 2], op::Max)?;
    ///     for turn in 0..3 {
    ///         max.input_mut()?.copy_from_slice(&[turn, comm.rank()]);
    ///         max.start()?;
    ///         max.wait()?;
    ///         assert_eq!(max.output()?, [turn, 2]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Allreduce_init")]
    #[track_caller]
    pub fn all_reduce_init<T: Element>(
        &self,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().all_reduce_init(buf, op)
    }

    /// Describes a [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Reduce_scatter_block_init")]
    #[track_caller]
    pub fn reduce_scatter_init<T: Element>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().reduce_scatter_init(input, output, op)
    }

    /// Describes a [`gather_into`](Self::gather_into); `all` is empty except at the root.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Gather_init")]
    #[track_caller]
    pub fn gather_init<T: Element>(
        &self,
        root: Rank,
        block: Vec<T>,
        all: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().gather_init(root, block, all)
    }

    /// Describes a [`scatter`](Self::scatter); `all` is empty except at the root.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Scatter_init")]
    #[track_caller]
    pub fn scatter_init<T: Element>(
        &self,
        root: Rank,
        all: Vec<T>,
        block: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().scatter_init(root, all, block)
    }

    /// Describes an [`all_gather`](Self::all_gather).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Allgather_init")]
    #[track_caller]
    pub fn all_gather_init<T: Element>(
        &self,
        block: Vec<T>,
        all: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().all_gather_init(block, all)
    }

    /// Describes an [`all_to_all`](Self::all_to_all).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Alltoall_init")]
    #[track_caller]
    pub fn all_to_all_init<T: Element>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().all_to_all_init(input, output)
    }

    /// Describes a [`scan`](Self::scan) in place.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Scan_init")]
    #[track_caller]
    pub fn scan_init<T: Element>(
        &self,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().scan_init(buf, op)
    }

    /// Describes an [`exclusive_scan`](Self::exclusive_scan) in place.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Exscan_init")]
    #[track_caller]
    pub fn exclusive_scan_init<T: Element>(
        &self,
        buf: Vec<T>,
        identity: T,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'_, T>> {
        self.automatic().exclusive_scan_init(buf, identity, op)
    }
}

impl<'a> Using<'a> {
    /// [`Comm::barrier_init`].
    #[track_caller]
    pub fn barrier_init(&self) -> Result<Persistent<'a, ()>> {
        let ask = ask(Collective::Barrier, 0);
        self.persistent(ask, (Vec::new(), Vec::new()), First, Kind::InPlace)
    }

    /// [`Comm::broadcast_init`].
    #[track_caller]
    pub fn broadcast_init<T: Element>(&self, root: Rank, buf: Vec<T>) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        self.persistent(ask, (Vec::new(), buf), First, Kind::InPlace)
    }

    /// [`Comm::reduce_init`].
    #[track_caller]
    pub fn reduce_init<T: Element>(
        &self,
        root: Rank,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::Reduce, buf.len())
            .to_root(root)
            .folding(&op);
        let vectors = match self.comm.rank() == root {
            true => (Vec::new(), buf),
            false => (buf, Vec::new()),
        };
        self.persistent(ask, vectors, op, Kind::InPlace)
    }

    /// [`Comm::all_reduce_init`].
    #[track_caller]
    pub fn all_reduce_init<T: Element>(
        &self,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::AllReduce, buf.len()).folding(&op);
        self.persistent(ask, (Vec::new(), buf), op, Kind::InPlace)
    }

    /// [`Comm::reduce_scatter_init`].
    #[track_caller]
    pub fn reduce_scatter_init<T: Element>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        self.persistent(ask, (input, output), op, Kind::Apart)
    }

    /// [`Comm::gather_init`].
    #[track_caller]
    pub fn gather_init<T: Element>(
        &self,
        root: Rank,
        block: Vec<T>,
        all: Vec<T>,
    ) -> Result<Persistent<'a, T>> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Gather, length).to_root(root);
        self.persistent(ask, (block, all), First, Kind::Apart)
    }

    /// [`Comm::scatter_init`].
    #[track_caller]
    pub fn scatter_init<T: Element>(
        &self,
        root: Rank,
        all: Vec<T>,
        block: Vec<T>,
    ) -> Result<Persistent<'a, T>> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Scatter, length).to_root(root);
        self.persistent(ask, (all, block), First, Kind::Apart)
    }

    /// [`Comm::all_gather_init`].
    #[track_caller]
    pub fn all_gather_init<T: Element>(
        &self,
        block: Vec<T>,
        all: Vec<T>,
    ) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::AllGather, all.len());
        self.persistent(ask, (block, all), First, Kind::Apart)
    }

    /// [`Comm::all_to_all_init`].
    #[track_caller]
    pub fn all_to_all_init<T: Element>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
    ) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::AllToAll, input.len());
        self.persistent(ask, (input, output), First, Kind::Apart)
    }

    /// [`Comm::scan_init`].
    #[track_caller]
    pub fn scan_init<T: Element>(
        &self,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::Scan, buf.len()).folding(&op);
        self.persistent(ask, (Vec::new(), buf), op, Kind::InPlace)
    }

    /// [`Comm::exclusive_scan_init`].
    #[track_caller]
    pub fn exclusive_scan_init<T: Element>(
        &self,
        buf: Vec<T>,
        identity: T,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'a, T>> {
        let ask = ask(Collective::ExclusiveScan, buf.len()).folding(&op);
        let kind = match self.comm.rank() {
            0 => Kind::Exclusive(identity),
            _ => Kind::InPlace,
        };
        self.persistent(ask, (Vec::new(), buf), op, kind)
    }

    fn persistent<T: Element>(
        &self,
        ask: Ask,
        vectors: Vectors<T>,
        op: impl Operator<T> + 'static,
        kind: Kind<T>,
    ) -> Result<Persistent<'a, T>> {
        let (comm, ask) = (self.comm, ask.by(self.algorithm));
        comm.check_started(&ask, &op)?;
        let lengths = (vectors.0.len(), vectors.1.len());
        let prepared = comm.prepare::<T>(&ask, None, kind_of(&op), lengths)?;
        let owned = Owned::new(vectors.0, vectors.1, op);
        Ok(Persistent::collective(comm, prepared, owned, kind))
    }
}
