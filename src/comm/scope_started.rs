//! Collectives started within a [`Scope`], with borrowed buffers.
//!
//! The collective works on copies, which its rank's other calls may touch at any time, and the result is copied into
//! the borrowed buffer when the request is concluded, as for a receive.

use std::cell::Cell;
use std::rc::Rc;

use super::request::{Here, Request};
use super::run_call::blocks_of;
use super::scope::Scope;
use super::scope_begun::{Land, Lands};
use super::scoped_request::ScopedRequest;
use super::start::opened;
use super::started::{Begun, ended, started_of};
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::{Ask, ask};
use crate::engine::rank_state::Core;
use crate::engine::request_state::RequestState;
use crate::error::Result;
use crate::op::{Element, First, Operator, copied};
use crate::transport::memory::packet::Packet;
use crate::transport::progress::started::StartedCall;

/// Where the result of a collective goes.
struct Landing<'env, T> {
    /// `None` once the buffer is given back.
    buf: Cell<Option<&'env mut [T]>>,
    /// What an exclusive scan leaves on the first rank.
    identity: Option<T>,
}

impl<'env, T: Element> Landing<'env, T> {
    /// Copies the result into the borrowed buffer, and returns the buffer.
    fn store(&self, core: &Core, started: &dyn StartedCall) -> Result<&'env mut [T]> {
        let output = ended::<T, _>(&core.port, started, |(_, output)| output)?;
        let buf = opened(self.buf.take())?;
        match self.identity {
            // `fill` would call the `Clone` implementation of the elements.
            Some(identity) => buf.iter_mut().for_each(|one| *one = identity),
            None if output.len() == buf.len() => buf.copy_from_slice(&output),
            None => {}
        }
        Ok(buf)
    }
}

impl<T: Element> Lands for Landing<'_, T> {
    fn land(&self, core: &Core, state: &RequestState) -> Result<()> {
        self.store(core, &**started_of(state)).map(drop)
    }
}

/// # Started collectives
///
/// As those of [`Comm`](crate::Comm::ireduce) with their names, with borrowed buffers. Their requests return the
/// buffer, and need not be waited for. An operator is owned all the same.
impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts an [`all_reduce`](crate::Comm::all_reduce).
    ///
    /// # Errors
    ///
    /// As [`Comm::iall_reduce`](crate::Comm::iall_reduce).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// World::new(3).run(|comm| {
    ///     let (mut sum, mut least) = ([comm.rank()], [comm.rank() + 7]);
    ///     comm.scope(|s| {
    ///         s.iall_reduce(&mut sum, op::Sum)?;
    ///         s.iall_reduce(&mut least, op::Min)?;
    ///         // ... what needs neither ...
    ///         Ok(())
    ///     })?;
    ///     assert_eq!((sum, least), ([3], [7]));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn iall_reduce<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        buf: &'env mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::AllReduce, buf.len()).folding(&op);
        self.start(&ask, &[], buf, op)
    }

    /// Starts a [`reduce`](crate::Comm::reduce) in place at the root; the other ranks' buffers stay as they are.
    ///
    /// # Errors
    ///
    /// As [`Comm::ireduce`](crate::Comm::ireduce).
    #[track_caller]
    pub fn ireduce<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        root: Rank,
        buf: &'env mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::Reduce, buf.len())
            .to_root(root)
            .folding(&op);
        match self.comm.rank() == root {
            true => self.start(&ask, &[], buf, op),
            false => {
                let begun = self.comm.start_call(&ask, (copied(buf), Vec::new()), op)?;
                Ok(self.lend(&begun, buf, None))
            }
        }
    }

    /// Starts a [`reduce_scatter`](crate::Comm::reduce_scatter).
    ///
    /// # Errors
    ///
    /// As [`Comm::ireduce_scatter`](crate::Comm::ireduce_scatter).
    #[track_caller]
    pub fn ireduce_scatter<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        input: &[T],
        output: &'env mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        self.start(&ask, input, output, op)
    }

    /// Starts a [`reduce_scatter_v`](crate::Comm::reduce_scatter_v).
    ///
    /// # Errors
    ///
    /// As [`Comm::ireduce_scatter_v`](crate::Comm::ireduce_scatter_v).
    #[track_caller]
    pub fn ireduce_scatter_v<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        input: &[T],
        counts: &[usize],
        output: &'env mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::ReduceScatter, input.len()).folding(&op);
        self.start_v(&ask, counts, (input, output), op)
    }

    /// Starts a [`scan`](crate::Comm::scan).
    ///
    /// # Errors
    ///
    /// As [`Comm::iscan`](crate::Comm::iscan).
    #[track_caller]
    pub fn iscan<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        buf: &'env mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::Scan, buf.len()).folding(&op);
        self.start(&ask, &[], buf, op)
    }

    /// Starts an [`exclusive_scan`](crate::Comm::exclusive_scan).
    ///
    /// # Errors
    ///
    /// As [`Comm::iexclusive_scan`](crate::Comm::iexclusive_scan).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let firsts = World::new(3).run(|comm| {
    ///     let mut first = [5];
    ///     comm.scope(|s| s.iexclusive_scan(&mut first, 0, op::Sum).map(drop))?;
    ///     Ok(first)
    /// })?;
    /// assert_eq!(firsts, [[0], [5], [10]]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn iexclusive_scan<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        buf: &'env mut [T],
        identity: T,
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::ExclusiveScan, buf.len()).folding(&op);
        let vectors = (Vec::new(), copied(buf));
        let begun = self.comm.start_call(&ask, vectors, op)?;
        let identity = (self.comm.rank() == 0).then_some(identity);
        Ok(self.lend(&begun, buf, identity))
    }

    /// Starts a [`broadcast`](crate::Comm::broadcast).
    ///
    /// # Errors
    ///
    /// As [`Comm::ibroadcast`](crate::Comm::ibroadcast).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let mut buf = [comm.rank()];
    ///     comm.scope(|s| s.ibroadcast(2, &mut buf).map(drop))?;
    ///     assert_eq!(buf, [2]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn ibroadcast<T: Element>(
        &'scope self,
        root: Rank,
        buf: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::Broadcast, buf.len()).to_root(root);
        self.start(&ask, &[], buf, First)
    }

    /// Starts a [`gather_into`](crate::Comm::gather_into); `all` is empty except at the root.
    ///
    /// # Errors
    ///
    /// As [`Comm::igather`](crate::Comm::igather).
    #[track_caller]
    pub fn igather<T: Element>(
        &'scope self,
        root: Rank,
        block: &[T],
        all: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Gather, length).to_root(root);
        self.start(&ask, block, all, First)
    }

    /// Starts a [`gather_v`](crate::Comm::gather_v).
    ///
    /// # Errors
    ///
    /// As [`Comm::igather_v`](crate::Comm::igather_v).
    #[track_caller]
    pub fn igather_v<T: Element>(
        &'scope self,
        root: Rank,
        block: &[T],
        counts: &[usize],
        all: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::Gather, 0).to_root(root);
        self.start_v(&ask, counts, (block, all), First)
    }

    /// Starts a [`scatter`](crate::Comm::scatter).
    ///
    /// # Errors
    ///
    /// As [`Comm::iscatter`](crate::Comm::iscatter).
    #[track_caller]
    pub fn iscatter<T: Element>(
        &'scope self,
        root: Rank,
        all: Option<&[T]>,
        block: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let length = block.len().saturating_mul(self.comm.size());
        let ask = ask(Collective::Scatter, length).to_root(root);
        self.start(&ask, all.unwrap_or(&[]), block, First)
    }

    /// Starts a [`scatter_v`](crate::Comm::scatter_v).
    ///
    /// # Errors
    ///
    /// As [`Comm::iscatter_v`](crate::Comm::iscatter_v).
    #[track_caller]
    pub fn iscatter_v<T: Element>(
        &'scope self,
        root: Rank,
        all: Option<&[T]>,
        counts: &[usize],
        block: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::Scatter, 0).to_root(root);
        self.start_v(&ask, counts, (all.unwrap_or(&[]), block), First)
    }

    /// Starts an [`all_gather`](crate::Comm::all_gather).
    ///
    /// # Errors
    ///
    /// As [`Comm::iall_gather`](crate::Comm::iall_gather).
    #[track_caller]
    pub fn iall_gather<T: Element>(
        &'scope self,
        block: &[T],
        all: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::AllGather, all.len());
        self.start(&ask, block, all, First)
    }

    /// Starts an [`all_gather_v`](crate::Comm::all_gather_v).
    ///
    /// # Errors
    ///
    /// As [`Comm::iall_gather_v`](crate::Comm::iall_gather_v).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let got = World::new(3).run(|comm| {
    ///     let (me, mut all) = (comm.rank(), [9; 3]);
    ///     comm.scope(|s| s.iall_gather_v(&vec![me; me], &[0, 1, 2], &mut all).map(drop))?;
    ///     Ok(all)
    /// })?;
    /// assert_eq!(got, [[1, 2, 2]; 3]);
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn iall_gather_v<T: Element>(
        &'scope self,
        block: &[T],
        counts: &[usize],
        all: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::AllGather, 0);
        self.start_v(&ask, counts, (block, all), First)
    }

    /// Starts an [`all_to_all`](crate::Comm::all_to_all).
    ///
    /// # Errors
    ///
    /// As [`Comm::iall_to_all`](crate::Comm::iall_to_all).
    #[track_caller]
    pub fn iall_to_all<T: Element>(
        &'scope self,
        input: &[T],
        output: &'env mut [T],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let ask = ask(Collective::AllToAll, input.len());
        self.start(&ask, input, output, First)
    }

    /// Starts an [`all_to_all_v`](crate::Comm::all_to_all_v).
    ///
    /// # Errors
    ///
    /// As [`Comm::iall_to_all_v`](crate::Comm::iall_to_all_v).
    #[track_caller]
    pub fn iall_to_all_v<T: Element>(
        &'scope self,
        input: &[T],
        to: &[usize],
        output: &'env mut [T],
        from: &[usize],
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let vectors = (copied(input), copied(output));
        let begun = self.comm.start_pieces(vectors, to, from)?;
        Ok(self.lend(&begun, output, None))
    }

    fn start<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        ask: &Ask,
        input: &[T],
        output: &'env mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let begun = self
            .comm
            .start_call(ask, (copied(input), copied(output)), op)?;
        Ok(self.lend(&begun, output, None))
    }

    fn start_v<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        ask: &Ask,
        counts: &[usize],
        (input, output): (&[T], &'env mut [T]),
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let blocks = blocks_of(self.comm, counts);
        let vectors = (copied(input), copied(output));
        let begun = self.comm.start_call_v(ask, blocks, vectors, op)?;
        Ok(self.lend(&begun, output, None))
    }

    /// The request of a collective whose result goes to a borrowed buffer.
    fn lend<T: Element>(
        &'scope self,
        begun: &Begun,
        buf: &'env mut [T],
        identity: Option<T>,
    ) -> ScopedRequest<'scope, &'env mut [T]> {
        let landing = Rc::new(Landing {
            buf: Cell::new(Some(buf)),
            identity,
        });
        let theirs = landing.clone();
        let finish = move |_: &mut Packet, here: &Here<'_>| {
            theirs.store(here.core, &**started_of(here.state))
        };
        let request = Request::new(&self.comm.core, begun.state.clone(), Box::new(finish));
        self.keep(request, Some(Land::Collective(landing)))
    }
}
