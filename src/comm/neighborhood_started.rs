//! Started and persistent collectives among neighbours.

use std::panic::Location;

use super::neighborhood::{Cuts, Neighborhood};
use super::persistent::{Kind, Persistent};
use super::request::Request;
use super::started::Vectors;
use crate::error::{Result, Site};
use crate::op::elements::Info;
use crate::op::owned::Owned;
use crate::op::{Element, First};
use crate::transport::communicator::call::Verb;

/// # Started collectives among neighbours
///
/// As the [started collectives](crate::Comm::ireduce) of a communicator: all ranks start them, and call the blocking
/// ones, in the same order; several may be open at a time, and end in any order. They own their buffers, and their
/// requests return the one that was received into.
impl Neighborhood {
    /// Starts a [`neighbor_all_gather`](Self::neighbor_all_gather) into `all`, which the request returns.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) for wrong arguments. All other errors of
    /// [`neighbor_all_gather`](Self::neighbor_all_gather) come from the request.
    ///
    /// # Examples
    ///
    /// Each rank of a ring of three gets the values of its left and right neighbours, and computes meanwhile:
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// let sides = World::new(3).run(|comm| {
    ///     let ring = Cartesian::new(comm, &[3], &[true])?;
    ///     let sides = ring.ineighbor_all_gather(vec![10 * ring.rank()], vec![0; 2])?;
    ///     // ... what needs no neighbour ...
    ///     sides.wait()
    /// })?;
    /// assert_eq!(sides, [[20, 10], [0, 20], [10, 0]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Ineighbor_allgather")]
    #[track_caller]
    pub fn ineighbor_all_gather<T: Element>(
        &self,
        block: Vec<T>,
        all: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let cuts = self.equal_to_all(block.len(), all.len());
        let called = (Verb::StartedNeighborAllGather, Location::caller());
        self.start(called, cuts, (block, all))
    }

    /// Starts a [`neighbor_all_gather_v`](Self::neighbor_all_gather_v) into `all`, which the request returns.
    ///
    /// # Errors
    ///
    /// As [`ineighbor_all_gather`](Self::ineighbor_all_gather).
    #[doc(alias = "MPI_Ineighbor_allgatherv")]
    #[track_caller]
    pub fn ineighbor_all_gather_v<T: Element>(
        &self,
        block: Vec<T>,
        counts: &[usize],
        all: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let cuts = self.counted_to_all(block.len(), counts, all.len());
        let called = (Verb::StartedNeighborAllGatherV, Location::caller());
        self.start(called, cuts, (block, all))
    }

    /// Starts a [`neighbor_all_to_all`](Self::neighbor_all_to_all) into `output`, which the request returns.
    ///
    /// # Errors
    ///
    /// As [`ineighbor_all_gather`](Self::ineighbor_all_gather).
    ///
    /// # Examples
    ///
    /// The halo of three cells arrives while the inner cell is computed, which needs none of it:
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// let next = World::new(2).run(|comm| {
    ///     let line = Cartesian::new(comm, &[2], &[false])?;
    ///     let cells = [1, 2, 3].map(|i| 10 * line.rank() + i);
    ///     let halo = line.ineighbor_all_to_all(vec![cells[0], cells[2]], vec![0; 2])?;
    ///     let inner = cells[0] + cells[2];
    ///     let halo = halo.wait()?;
    ///     Ok([halo[0] + cells[1], inner, cells[1] + halo[1]])
    /// })?;
    /// assert_eq!(next, [[2, 4, 13], [15, 24, 12]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Ineighbor_alltoall")]
    #[track_caller]
    pub fn ineighbor_all_to_all<T: Element>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let cuts = self.equal_pieces(input.len(), output.len());
        let called = (Verb::StartedNeighborAllToAll, Location::caller());
        self.start(called, cuts, (input, output))
    }

    /// Starts a [`neighbor_all_to_all_v`](Self::neighbor_all_to_all_v) into `output`, which the request returns.
    ///
    /// # Errors
    ///
    /// As [`ineighbor_all_gather`](Self::ineighbor_all_gather).
    #[doc(alias = "MPI_Ineighbor_alltoallv")]
    #[track_caller]
    pub fn ineighbor_all_to_all_v<T: Element>(
        &self,
        input: Vec<T>,
        to: &[usize],
        output: Vec<T>,
        from: &[usize],
    ) -> Result<Request<'static, Vec<T>>> {
        let cuts = self.counted_pieces((to, input.len()), (from, output.len()));
        let called = (Verb::StartedNeighborAllToAllV, Location::caller());
        self.start(called, cuts, (input, output))
    }

    fn start<T: Element>(
        &self,
        called: (Verb, Site),
        cuts: Result<Cuts>,
        vectors: Vectors<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let (call, schedule) = self.started(called, cuts, Info::of::<T>());
        let begun = self.start_scheduled(call, schedule, vectors)?;
        Ok(self.request_of::<T, _>(&begun, |(_, output)| output))
    }
}

/// # Persistent collectives among neighbours
///
/// Described once, with their buffers, and started any number of times; see [`Persistent`].
impl Neighborhood {
    /// Describes a [`neighbor_all_gather`](Self::neighbor_all_gather) of `block` into `all`.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) for wrong arguments. All other errors of
    /// [`neighbor_all_gather`](Self::neighbor_all_gather) come from starting it, and from waiting for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Cartesian, World};
    ///
    /// World::new(3).run(|comm| {
    ///     let ring = Cartesian::new(comm, &[3], &[true])?;
    ///     let mut sides = ring.neighbor_all_gather_init(vec![0], vec![0; 2])?;
    ///     for turn in 0..5 {
    ///         sides.input_mut()?[0] = turn + ring.rank();
    ///         sides.start()?;
    ///         sides.wait()?;
    ///         assert_eq!(sides.output()?, [2, 1].map(|by| turn + (ring.rank() + by) % 3));
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Neighbor_allgather_init")]
    #[track_caller]
    pub fn neighbor_all_gather_init<T: Element>(
        &self,
        block: Vec<T>,
        all: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        let cuts = self.equal_to_all(block.len(), all.len());
        let called = (Verb::StartedNeighborAllGather, Location::caller());
        self.persistent(called, cuts, (block, all))
    }

    /// Describes a [`neighbor_all_gather_v`](Self::neighbor_all_gather_v) of `block` into `all`.
    ///
    /// # Errors
    ///
    /// As [`neighbor_all_gather_init`](Self::neighbor_all_gather_init).
    #[doc(alias = "MPI_Neighbor_allgatherv_init")]
    #[track_caller]
    pub fn neighbor_all_gather_v_init<T: Element>(
        &self,
        block: Vec<T>,
        counts: &[usize],
        all: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        let cuts = self.counted_to_all(block.len(), counts, all.len());
        let called = (Verb::StartedNeighborAllGatherV, Location::caller());
        self.persistent(called, cuts, (block, all))
    }

    /// Describes a [`neighbor_all_to_all`](Self::neighbor_all_to_all) of `input` into `output`.
    ///
    /// # Errors
    ///
    /// As [`neighbor_all_gather_init`](Self::neighbor_all_gather_init).
    #[doc(alias = "MPI_Neighbor_alltoall_init")]
    #[track_caller]
    pub fn neighbor_all_to_all_init<T: Element>(
        &self,
        input: Vec<T>,
        output: Vec<T>,
    ) -> Result<Persistent<'_, T>> {
        let cuts = self.equal_pieces(input.len(), output.len());
        let called = (Verb::StartedNeighborAllToAll, Location::caller());
        self.persistent(called, cuts, (input, output))
    }

    /// Describes a [`neighbor_all_to_all_v`](Self::neighbor_all_to_all_v) of `input` into `output`.
    ///
    /// # Errors
    ///
    /// As [`neighbor_all_gather_init`](Self::neighbor_all_gather_init).
    #[doc(alias = "MPI_Neighbor_alltoallv_init")]
    #[track_caller]
    pub fn neighbor_all_to_all_v_init<T: Element>(
        &self,
        input: Vec<T>,
        to: &[usize],
        output: Vec<T>,
        from: &[usize],
    ) -> Result<Persistent<'_, T>> {
        let cuts = self.counted_pieces((to, input.len()), (from, output.len()));
        let called = (Verb::StartedNeighborAllToAllV, Location::caller());
        self.persistent(called, cuts, (input, output))
    }

    fn persistent<T: Element>(
        &self,
        called: (Verb, Site),
        cuts: Result<Cuts>,
        vectors: Vectors<T>,
    ) -> Result<Persistent<'_, T>> {
        let (call, schedule) = self.started(called, cuts, Info::of::<T>());
        let prepared = self.prepare_scheduled::<T>(call, schedule)?;
        let owned = Owned::new(vectors.0, vectors.1, First);
        Ok(Persistent::collective(self, prepared, owned, Kind::Apart))
    }
}
