//! A rank in a started call, as its messages show it: what they are addressed to and labelled with, and what one that
//! arrives is checked against.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use crate::Rank;
use crate::engine::combine::wrong;
use crate::engine::failure::Received;
use crate::error::{Error, ErrorKind, Gone, Result};
use crate::op::elements::Info;
use crate::transport::CommHandle;
use crate::transport::communicator::call::Call;
use crate::transport::matching::posted_receives::Slot;
use crate::transport::matching::want::Want;
use crate::transport::memory::head::{Head, OF_STARTED};
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;

/// One rank's place in a started call.
pub(super) struct Member {
    pub(super) call: Call,
    pub(super) info: &'static Info,
    pub(super) comm: CommHandle,
    /// This rank's number in the communicator.
    pub(super) me: Rank,
    pub(super) number: Cell<u32>,
    pub(super) print: Cell<u32>,
}

impl Member {
    /// The world rank of a member.
    #[inline]
    pub(super) fn world(&self, member: Rank) -> Rank {
        self.comm.members.world(member)
    }

    /// The head of its messages; its world rank is `source`.
    #[inline]
    pub(super) fn head(&self, source: Rank) -> Head {
        let context = self.comm.context + OF_STARTED;
        Head::new(context, source, self.number.get(), self.print.get())
    }

    /// Posts the receive of a message.
    #[inline]
    pub(super) fn post(&self, port: &Port, from: Rank) -> Rc<Slot> {
        let context = self.comm.context + OF_STARTED;
        let want = Want::new(context, Some(self.world(from)), Some(self.number.get()));
        port.inbox().post(want, &*port.fabric)
    }

    #[inline]
    pub(super) fn check_peer(&self, peer: Rank) -> Result<()> {
        match peer < self.comm.members.size() && peer != self.me {
            true => Ok(()),
            false => Err(wrong(format!("has rank {} talk to {peer}", self.me))),
        }
    }

    /// Checks that a packet is of this call, and has `count` elements of its type.
    #[inline]
    pub(super) fn check_packet(&self, port: &Port, packet: &Packet, count: usize) -> Result<()> {
        if packet.head.print() != self.print.get() || !packet.holds_elements(self.info) {
            return Err(self.strange(port, packet));
        }
        match packet.count() == Some(count) {
            true => Ok(()),
            false => Err(self.unequal(port, packet, count)),
        }
    }

    #[cold]
    fn unequal(&self, port: &Port, packet: &Packet, count: usize) -> Error {
        self.ask_far(port);
        self.received(port).unequal(packet, count)
    }

    /// Asks other processes for the records of their ranks, if members are there.
    fn ask_far(&self, port: &Port) {
        if self.comm.spans() {
            port.ask_far();
        }
    }

    fn received<'a>(&'a self, port: &'a Port) -> Received<'a> {
        Received {
            port,
            comm: &self.comm,
            call: &self.call,
            number: self.number.get(),
        }
    }

    /// The mismatch proved by a packet of another call.
    #[cold]
    fn strange(&self, port: &Port, packet: &Packet) -> Error {
        self.ask_far(port);
        let theirs = || format!("another call that sends {}", packet.contents());
        let against = || self.received(port).against(packet.source(), "", theirs());
        let compared = self.received(port).differing(false);
        let found = compared.map_or_else(against, |found| found.mismatch);
        Error::new(ErrorKind::Mismatch(Arc::new(found)))
    }

    /// The error for a rank that has ended. One that returned is missed if its calls differ from this rank's; then
    /// these are the error.
    #[cold]
    pub(super) fn without(&self, port: &Port, error: Error) -> Error {
        let returned =
            matches!(error.kind(), ErrorKind::RankGone { why, .. } if *why == Gone::Returned);
        if returned {
            self.ask_far(port);
        }
        let compared = returned.then(|| self.received(port).differing(true));
        match compared.flatten().filter(|found| !found.is_open) {
            Some(found) => Error::new(ErrorKind::Mismatch(Arc::new(found.mismatch))),
            None => error,
        }
    }

    /// Why the communicator was broken before this call failed, if it was: then that is why.
    #[cold]
    pub(super) fn first_cause(&self, error: Error) -> Error {
        let cause = self.comm.cause.get();
        cause.map_or(error, |cause| cause.clone().into())
    }
}
