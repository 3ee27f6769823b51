//! Sends that wait until their message is received: because there is no room for it, or because the program says so.
//!
//! Such a message owns its contents, so that its sender can leave at any time. It carries a receipt, by which the
//! sender learns that it was received.

use std::sync::Arc;

use super::Comm;
use crate::Rank;
use crate::engine::request_state::Waits;
use crate::error::{Result, Site};
use crate::op::elements::Elements;
use crate::op::{self, Element};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::receipt::Receipt;
use crate::transport::port::CopyTo;
use crate::transport::progress::reason::Reason;

impl Comm {
    /// Whether no send has to wait for room. Then a send may be recorded after its message has left.
    #[inline]
    pub(super) fn posts(&self) -> bool {
        !self.core.bounded
    }

    /// [`send`](Self::send) in a world with limited buffering.
    #[cold]
    pub(super) fn send_bounded<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        data: &[T],
        show: &dyn Fn() -> String,
        site: Site,
    ) -> Result<()> {
        let receipt = self.post_elements(to, tag, data)?;
        self.await_receipt(receipt, to, Waits::ForRoom, show, site)
    }

    /// Posts a copy of elements, as [`post_owned`](Self::post_owned) does.
    pub(super) fn post_elements<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        data: &[T],
    ) -> Result<Option<Arc<Receipt>>> {
        self.post_copy(to, self.head(tag), data, CopyTo::Receiver)
    }

    /// The same under any head.
    pub(super) fn post_copy<T: Element>(
        &self,
        to: Rank,
        head: Head,
        data: &[T],
        copy: CopyTo,
    ) -> Result<Option<Arc<Receipt>>> {
        let port = &self.core.port;
        if self.posts() {
            let there = port.send_copy(self.to_world(to), head, Elements::of(data), copy);
            return self.posted(to, there).map(|()| None);
        }
        port.count(size_of_val(data));
        let packet = Packet::copied(head, op::copied(data));
        self.post_owned(to, packet, size_of_val(data))
    }

    /// Posts elements that are given away, as [`post_owned`](Self::post_owned) does.
    pub(super) fn post_vec<T: Element>(
        &self,
        to: Rank,
        head: Head,
        elements: Vec<T>,
    ) -> Result<Option<Arc<Receipt>>> {
        let bytes = size_of_val(&elements[..]);
        self.core.port.count(bytes);
        self.post_owned(to, Packet::copied(head, elements), bytes)
    }

    /// Posts a message of `bytes` bytes; returns its receipt if there was no room for it.
    pub(super) fn post_owned(
        &self,
        to: Rank,
        packet: Packet,
        bytes: usize,
    ) -> Result<Option<Arc<Receipt>>> {
        let fabric = self.fabric();
        let port = &self.core.port;
        let (world, head) = (self.to_world(to), packet.head);
        let Some(limit) = fabric.settings.buffering.limit() else {
            port.recorder.sent(world, head, bytes);
            let there = fabric.post(self.to_world(to), packet);
            return self.posted(to, there).map(|()| None);
        };
        let charge = fabric.charge(self.to_world(to), limit, bytes);
        let kept = charge.is_some();
        let receipt = Receipt::new(charge);
        match kept {
            true => port.recorder.sent(world, head, bytes),
            // Its sender, which waits, may revoke it.
            false => port.recorder.sent_with(world, head, bytes, &receipt),
        }
        let there = fabric.post(self.to_world(to), packet.with_receipt(receipt.clone()));
        match kept {
            true => self.posted(to, there).map(|()| None),
            // If the receiver has ended, the wait reports that.
            false => Ok(Some(receipt)),
        }
    }

    /// Posts a copy of elements for which this rank waits until they are received.
    pub(super) fn post_synchronous<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        data: &[T],
    ) -> Arc<Receipt> {
        let (port, bytes) = (&self.core.port, size_of_val(data));
        let packet = Packet::copied(self.head(tag), op::copied(data));
        port.count(bytes);
        let receipt = Receipt::new(None);
        let world = self.to_world(to);
        port.recorder.sent_with(world, packet.head, bytes, &receipt);
        let packet = packet.with_receipt(receipt.clone());
        // If the receiver has ended, the wait reports that.
        self.fabric().post(self.to_world(to), packet);
        receipt
    }

    /// Waits until a message is received, if it has a receipt; retracts it if that can never happen.
    pub(super) fn await_receipt(
        &self,
        receipt: Option<Arc<Receipt>>,
        to: Rank,
        waits: Waits,
        show: &dyn Fn() -> String,
        site: Site,
    ) -> Result<()> {
        let Some(receipt) = receipt else {
            return Ok(());
        };
        let reason = Reason {
            call: show,
            site,
            needs: &|| Needs::One(self.to_world(to)),
            comm: Some(&self.shared),
            also: &[],
            collective: None,
            turn: None,
            deadline: None,
            needs_buffer: waits == Waits::ForRoom,
            choice: None,
        };
        let port = &self.core.port;
        let received = || {
            port.progress();
            receipt.is_accepted().then_some(())
        };
        let waited = port.wait(&reason, received);
        // If it can no longer be retracted, it was received at the last moment.
        waited.or_else(|error| match receipt.revoke() {
            true => {
                self.fabric().tell_revoked();
                Err(error)
            }
            false => Ok(()),
        })
    }
}
