//! Started reductions: ireduce, iall_reduce, ireduce_scatter, iscan and iexclusive_scan.

use super::Comm;
use super::request::Request;
use super::run_call::blocks_of;
use super::started::Vectors;
use super::using::Using;
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::ask;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::op::element_vec::ElementVec;
use crate::op::elements::{Elements, Info};
use crate::op::{Element, Operator};

/// # Started reductions
///
/// A *started* collective (MPI: nonblocking) begins now and is completed later, by its [`Request`]. It owns its buffers
/// meanwhile; a [scope](crate::Scope) starts collectives with borrowed buffers.
///
/// All ranks start the collectives of a communicator, and call its blocking ones, in the same order. Several may be
/// open at a time, and they may be completed in any order. A started collective makes progress in every call of its
/// rank that waits or [tests](Request::test), and in [`progress`](Self::progress). It waits for no receiver: a long message
/// that is not read when its elements are needed is copied then. One that is being read just then is waited for, thus for
/// an operator of its receiver.
///
/// A request that is dropped leaves its collective running, for the sake of the other ranks; one that is cancelled does
/// too, and [`cancel`](Request::cancel) returns false. If the collective fails, its communicator is broken, as by a
/// blocking one.
impl Comm {
    /// Starts a [`reduce`](Self::reduce). The request returns the buffer, which holds the result at the root.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) for wrong arguments. All other errors of [`reduce`](Self::reduce) come from the
    /// request.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(4).run(|comm| {
    ///     let sum = comm.ireduce(2, vec![comm.rank()], op::Sum)?;
    ///     // ... what needs no sum ...
    ///     sum.wait()
    /// })?;
    /// assert_eq!(sums[2], [6]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Ireduce")]
    #[track_caller]
    pub fn ireduce<T: Element>(
        &self,
        root: Rank,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Request<'static, Vec<T>>> {
        self.automatic().ireduce(root, buf, op)
    }

    /// Starts an [`all_reduce`](Self::all_reduce). The request returns the buffer with the result.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// Two at a time, completed in the other order:
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// World::new(3).run(|comm| {
    ///     let sum = comm.iall_reduce(vec![comm.rank() as f64, 1.0], op::Sum)?;
    ///     let max = comm.iall_reduce(vec![comm.rank()], op::Max)?;
    ///     assert_eq!(max.wait()?, [2]);
    ///     assert_eq!(sum.wait()?, [3.0, 3.0]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Iallreduce")]
    #[inline]
    #[track_caller]
    pub fn iall_reduce<T: Element>(
        &self,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Request<'static, Vec<T>>> {
        self.automatic().iall_reduce(buf, op)
    }

    /// Starts a [`reduce_scatter`](Self::reduce_scatter) of a vector whose length is a multiple of the number of ranks.
    /// The request returns this rank's block of the result.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let blocks = World::new(3).run(|comm| {
    ///     comm.ireduce_scatter(vec![1, 10, 100], op::Sum)?.wait()
    /// })?;
    /// assert_eq!(blocks, [[3], [30], [300]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Ireduce_scatter_block")]
    #[track_caller]
    pub fn ireduce_scatter<T: Element>(
        &self,
        input: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Request<'static, Vec<T>>> {
        self.automatic().ireduce_scatter(input, op)
    }

    /// Starts a [`reduce_scatter_v`](Self::reduce_scatter_v): rank `r` gets `counts[r]` elements of the result.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    #[doc(alias = "MPI_Ireduce_scatter")]
    #[track_caller]
    pub fn ireduce_scatter_v<T: Element, O: Operator<T> + 'static>(
        &self,
        input: Vec<T>,
        counts: &[usize],
        op: O,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        let mine = counts.get(self.rank()).copied().unwrap_or(0);
        // Counts that are too large are refused below.
        let output = some_elements(&input, mine.min(input.len()));
        let begun = self.start_call_v(&ask, blocks_of(self, counts), (input, output), op)?;
        Ok(self.request_of::<T, _>(&begun, |(_, output)| output))
    }

    /// Starts a [`scan`](Self::scan). The request returns the buffer with the result.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let sums = World::new(4).run(|comm| comm.iscan(vec![1], op::Sum)?.wait())?;
    /// assert_eq!(sums, [[1], [2], [3], [4]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Iscan")]
    #[track_caller]
    pub fn iscan<T: Element>(
        &self,
        buf: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Result<Request<'static, Vec<T>>> {
        self.automatic().iscan(buf, op)
    }

    /// Starts an [`exclusive_scan`](Self::exclusive_scan). The request returns the buffer with the result.
    ///
    /// # Errors
    ///
    /// As [`ireduce`](Self::ireduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let firsts = World::new(3).run(|comm| comm.iexclusive_scan(vec![5], 0, op::Sum)?.wait())?;
    /// assert_eq!(firsts, [[0], [5], [10]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Iexscan")]
    #[track_caller]
    pub fn iexclusive_scan<T: Element>(
        &self,
        buf: Vec<T>,
        identity: T,
        op: impl Operator<T> + 'static,
    ) -> Result<Request<'static, Vec<T>>> {
        self.automatic().iexclusive_scan(buf, identity, op)
    }
}

/// `length` elements with any values, as far as there are `some` to copy.
pub(super) fn some_elements<T: Element>(some: &[T], length: usize) -> Vec<T> {
    let mut all = ElementVec::new(Info::of::<T>());
    if !some.is_empty() {
        let grown = all.grow(length, Elements::of(some));
        grown.expect("memory for the elements");
    }
    all.take_vec()
}

/// The buffer of a call that works in place at the root and reads from the other ranks.
fn only_buffer<T>((input, output): Vectors<T>) -> Vec<T> {
    if output.is_empty() { input } else { output }
}

impl Using<'_> {
    /// [`Comm::ireduce`].
    #[track_caller]
    pub fn ireduce<T: Element, O: Operator<T> + 'static>(
        &self,
        root: Rank,
        buf: Vec<T>,
        op: O,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::Reduce, buf.len()).to_root(root);
        let ask = ask.folding(&op).by(self.algorithm);
        let vectors = match self.comm.rank() == root {
            true => (Vec::new(), buf),
            false => (buf, Vec::new()),
        };
        let begun = self.comm.start_call(&ask, vectors, op)?;
        Ok(self.comm.request_of::<T, _>(&begun, only_buffer))
    }

    /// [`Comm::iall_reduce`].
    #[inline]
    #[track_caller]
    pub fn iall_reduce<T: Element, O: Operator<T> + 'static>(
        &self,
        buf: Vec<T>,
        op: O,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::AllReduce, buf.len()).folding(&op);
        let ask = ask.by(self.algorithm);
        let begun = self.comm.start_call(&ask, (Vec::new(), buf), op)?;
        Ok(self.comm.request_of::<T, _>(&begun, |(_, output)| output))
    }

    /// [`Comm::ireduce_scatter`].
    #[track_caller]
    pub fn ireduce_scatter<T: Element, O: Operator<T> + 'static>(
        &self,
        input: Vec<T>,
        op: O,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        let ask = ask.by(self.algorithm);
        let output = some_elements(&input, input.len() / self.comm.size());
        let begun = self.comm.start_call(&ask, (input, output), op)?;
        Ok(self.comm.request_of::<T, _>(&begun, |(_, output)| output))
    }

    /// [`Comm::iscan`].
    #[track_caller]
    pub fn iscan<T: Element, O: Operator<T> + 'static>(
        &self,
        buf: Vec<T>,
        op: O,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::Scan, buf.len()).folding(&op);
        let ask = ask.by(self.algorithm);
        let begun = self.comm.start_call(&ask, (Vec::new(), buf), op)?;
        Ok(self.comm.request_of::<T, _>(&begun, |(_, output)| output))
    }

    /// [`Comm::iexclusive_scan`].
    #[track_caller]
    pub fn iexclusive_scan<T: Element, O: Operator<T> + 'static>(
        &self,
        buf: Vec<T>,
        identity: T,
        op: O,
    ) -> Result<Request<'static, Vec<T>>> {
        let ask = ask(Collective::ExclusiveScan, buf.len()).folding(&op);
        let ask = ask.by(self.algorithm);
        let begun = self.comm.start_call(&ask, (Vec::new(), buf), op)?;
        let is_first = self.comm.rank() == 0;
        Ok(self
            .comm
            .request_of::<T, _>(&begun, move |(_, mut output)| {
                if is_first {
                    // `fill` would call the `Clone` implementation of the elements.
                    output.iter_mut().for_each(|one| *one = identity);
                }
                output
            }))
    }
}
