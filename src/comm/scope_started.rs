//! Collectives started within a [`Scope`], with borrowed buffers.
//!
//! The collective works on copies, which its rank's other calls may touch at any time, and the result is copied into the
//! borrowed buffer when the request is concluded, as for a receive.

use std::cell::Cell;
use std::rc::Rc;

use super::request::{Here, Request};
use super::scope::{Scope, ScopedRequest, Shared};
use super::start::opened;
use super::started::{Begun, ended, started_of};
use crate::Rank;
use crate::collective::Collective;
use crate::engine::kept::{Ask, ask};
use crate::error::Result;
use crate::execute::Started;
use crate::op::{Element, First, Operator};
use crate::transport::memory::packet::Packet;

/// Copies a result into a borrowed buffer, and returns the buffer.
fn land<'env, T: Element>(shared: &Shared<'env, T>, started: &Started) -> Result<&'env mut [T]> {
    let (_, output) = ended::<T>(started)?;
    let buf = opened(shared.take())?;
    if output.len() == buf.len() {
        buf.copy_from_slice(&output);
    }
    Ok(buf)
}

/// # Started collectives
///
/// As those of [`Comm`](crate::Comm::ireduce) with their names, with borrowed buffers. Their requests return the buffer,
/// and need not be waited for. An operator is owned all the same.
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
                let begun = self.comm.start_call(&ask, (buf.to_vec(), Vec::new()), op)?;
                Ok(self.lend(&begun, buf))
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

    fn start<T: Element, O: Operator<T> + 'static>(
        &'scope self,
        ask: &Ask,
        input: &[T],
        output: &'env mut [T],
        op: O,
    ) -> Result<ScopedRequest<'scope, &'env mut [T]>> {
        let begun = self
            .comm
            .start_call(ask, (input.to_vec(), output.to_vec()), op)?;
        Ok(self.lend(&begun, output))
    }

    /// The request of a collective whose result goes to a borrowed buffer.
    fn lend<T: Element>(
        &'scope self,
        begun: &Begun,
        buf: &'env mut [T],
    ) -> ScopedRequest<'scope, &'env mut [T]> {
        let shared: Shared<'env, T> = Rc::new(Cell::new(Some(buf)));
        let theirs = shared.clone();
        let finish = move |_: &mut Packet, here: &Here<'_>| land(&theirs, started_of(here.state));
        let request = Request::new(&self.comm.core, begun.state.clone(), Box::new(finish));
        let state = begun.state.clone();
        let at_the_end = move |_: &mut Packet| land(&shared, started_of(&state)).map(drop);
        self.keep(request, Some(Box::new(at_the_end)))
    }
}
