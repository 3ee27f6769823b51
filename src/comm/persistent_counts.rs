//! The methods that describe persistent collectives with a count for each rank.

use super::Comm;
use super::persistent::{Kind, Persistent};
use super::run_call::blocks_of;
use super::started::Vectors;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::combine::kind_of;
use crate::engine::kept::{Ask, ask};
use crate::error::Result;
use crate::op::owned::Owned;
use crate::op::{Element, First, Operator};

/// # Persistent collectives with counts
///
/// As those [without](Self::all_reduce_init).
impl Comm {
    /// Describes a [`reduce_scatter_v`](Self::reduce_scatter_v).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Reduce_scatter_init")]
    #[track_caller]
    pub fn reduce_scatter_v_init<T: Element>(
        &self,
        input: Vec<T>,
        counts: &[usize],
        output: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'_, T>> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        self.persistent_v(&ask, counts, (input, output), op)
    }

    /// Describes a [`gather_v`](Self::gather_v); `all` is empty except at the root.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Gatherv_init")]
    #[track_caller]
    pub fn gather_v_init<T: Element>(
        &self,
        root: Rank,
        block: Vec<T>,
        counts: &[usize],
        all: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        let ask = ask(Collective::Gather, 0).to_root(root);
        self.persistent_v(&ask, counts, (block, all), First)
    }

    /// Describes a [`scatter_v`](Self::scatter_v); `all` is empty except at the root.
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Scatterv_init")]
    #[track_caller]
    pub fn scatter_v_init<T: Element>(
        &self,
        root: Rank,
        all: Vec<T>,
        counts: &[usize],
        block: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        let ask = ask(Collective::Scatter, 0).to_root(root);
        self.persistent_v(&ask, counts, (all, block), First)
    }

    /// Describes an [`all_gather_v`](Self::all_gather_v).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let me = comm.rank();
    ///     let mut all = comm.all_gather_v_init(vec![0; me], &[0, 1, 2], vec![0; 3])?;
    ///     for turn in 0..3 {
    ///         all.input_mut()?.fill(10 * turn + me);
    ///         all.start()?;
    ///         all.wait()?;
    ///         assert_eq!(all.output()?, [1, 2, 2].map(|rank| 10 * turn + rank));
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Allgatherv_init")]
    #[track_caller]
    pub fn all_gather_v_init<T: Element>(
        &self,
        block: Vec<T>,
        counts: &[usize],
        all: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        let ask = ask(Collective::AllGather, 0);
        self.persistent_v(&ask, counts, (block, all), First)
    }

    /// Describes an [`all_to_all_v`](Self::all_to_all_v).
    ///
    /// # Errors
    ///
    /// As [`all_reduce_init`](Self::all_reduce_init).
    #[doc(alias = "MPI_Alltoallv_init")]
    #[track_caller]
    pub fn all_to_all_v_init<T: Element>(
        &self,
        input: Vec<T>,
        to: &[usize],
        output: Vec<T>,
        from: &[usize],
    ) -> Result<Persistent<'_, T>> {
        let (call, pieces) = self.started_pieces::<T>((input.len(), output.len()), to, from);
        let prepared = self.prepare_scheduled::<T>(call, pieces)?;
        let owned = Owned::new(input, output, First);
        Ok(Persistent::collective(self, prepared, owned, Kind::Apart))
    }

    fn persistent_v<T: Element>(
        &self,
        ask: &Ask,
        counts: &[usize],
        vectors: Vectors<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Persistent<'_, T>> {
        self.check_started(ask, &op)?;
        let (blocks, lengths) = (blocks_of(self, counts), (vectors.0.len(), vectors.1.len()));
        let prepared = self.prepare::<T>(ask, Some(blocks), kind_of(&op), lengths)?;
        let owned = Owned::new(vectors.0, vectors.1, op);
        Ok(Persistent::collective(self, prepared, owned, Kind::Apart))
    }
}
