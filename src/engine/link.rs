//! How the messages of a schedule travel inside a collective call: over the lanes, each with the call's number and
//! fingerprint. Each message is counted, and each wait can fail. In a world whose transport is channels a message is
//! always a copy, and one for which there is no room has a receipt, for which its sender waits as it would for a loan.

use std::sync::Arc;

use super::call::{From, InCall};
use crate::Rank;
use crate::error::Result;
use crate::moves;
use crate::op::elements::{Elements, Info};
use crate::transport::lanes::lane::Lanes;
use crate::transport::memory::packet::Packet;
use crate::transport::memory::receipt::Receipt;

impl InCall<'_> {
    /// Posts a copy of a short message, over channels of any message. `false` if it is not short, or if there is no
    /// room; the caller then lends it.
    #[inline]
    pub(crate) fn post(&self, to: Rank, data: Elements<'_>) -> Result<bool> {
        self.check_peer(to)?;
        let core = &self.comm.core;
        // Without buffering a short message is lent as well: its sender waits until it is read.
        if !Packet::fits(data) || core.synchronous || !self.comm.lanes.has_room(to) {
            return self.post_long(to, data);
        }
        core.tick()?;
        self.note_sending(to, data.size());
        self.put(to, || {
            self.comm.lanes.post(to, self.head(), data);
        })?;
        core.port.count(data.size());
        Ok(true)
    }

    /// Posts a copy of a message that is not short, over channels and if there is room.
    #[inline(never)]
    fn post_long(&self, to: Rank, data: Elements<'_>) -> Result<bool> {
        let core = &self.comm.core;
        let is_copied = self.comm.is_over_channels() && !core.synchronous;
        if !is_copied || !self.comm.lanes.has_room(to) {
            return Ok(false);
        }
        core.tick()?;
        self.note_sending(to, data.size());
        self.put(to, || {
            self.comm.lanes.post_long(to, self.head(), data);
        })?;
        core.port.count(data.size());
        Ok(true)
    }

    /// Lends elements to their receiver, and returns when the loan is settled. `meanwhile` runs after the post. Over
    /// channels the receiver gets a copy, and this returns when it is received.
    pub(crate) fn lend(
        &self,
        to: Rank,
        data: Elements<'_>,
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.comm.core.tick()?;
        self.note_sending(to, data.size());
        if self.comm.is_over_channels() {
            return self.send_with_receipt(to, data, meanwhile);
        }
        self.comm.core.port.lend(
            self.comm.to_world(to),
            self.head(),
            data,
            |packet| self.put(to, || self.comm.lanes.post_packet(to, packet)),
            meanwhile,
            |loan| {
                if !loan.is_settled() {
                    self.wait_until(to, &|| loan.is_settled())?;
                }
                self.comm.core.port.count(data.size());
                Ok(())
            },
        )
    }

    /// Posts a copy with a receipt, and returns when it is received. `meanwhile` runs after the post.
    #[cold]
    fn send_with_receipt(
        &self,
        to: Rank,
        data: Elements<'_>,
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let awaited = Awaited(Receipt::new(None));
        let packet = Packet::copy_of(self.head(), data).with_receipt(awaited.0.clone());
        self.put(to, || self.comm.lanes.post_packet(to, packet))?;
        meanwhile()?;
        self.wait_until(to, &|| awaited.0.is_accepted())?;
        self.comm.core.port.count(data.size());
        Ok(())
    }

    /// Shows the next message from a rank, which has `count` elements of the type `info`, to `arrived`.
    #[inline]
    pub(crate) fn receive(
        &self,
        from: Rank,
        count: usize,
        info: &'static Info,
        mut arrived: impl FnMut(Elements<'_>) -> Result<()>,
    ) -> Result<()> {
        self.check_peer(from)?;
        moves::note(from, self.rank(), 0..count);
        self.comm.core.tick()?;
        let mut packet = Packet::empty();
        loop {
            self.take(from, &mut packet)?;
            if !self.is_ours(&packet) || !packet.holds_elements(info) {
                return Err(self.strange(&packet));
            }
            if packet.count() != Some(count) {
                return Err(self.unequal(&packet, count));
            }
            // The operator's own calls would be recorded as this call.
            self.settle();
            // If the sender has revoked the loan it has failed, and the next look says why.
            if let Some(done) = packet.open_elements(info, &**self.comm.fabric(), &mut arrived) {
                self.comm.core.port.recorder.received(packet.head);
                return done;
            }
        }
    }
}

impl InCall<'_> {
    /// Traces that a message of this call is about to leave.
    #[inline]
    pub(crate) fn note_sending(&self, to: Rank, bytes: usize) {
        let (world, recorder) = (self.comm.to_world(to), &self.comm.core.port.recorder);
        recorder.sends(world, || self.head(), bytes);
    }

    /// Notes that it has left.
    #[inline]
    pub(crate) fn note_sent(&self, to: Rank) {
        let recorder = &self.comm.core.port.recorder;
        recorder.has_sent(self.comm.to_world(to));
    }

    /// Notes that a message of this call was received from a rank.
    #[inline]
    pub(crate) fn note_received(&self, from: Rank) {
        let from = self.comm.to_world(from);
        let recorder = &self.comm.core.port.recorder;
        recorder.received_from(from, || self.head_of(from));
    }

    /// Puts a message into the lane to `to`, which must not have ended.
    #[inline]
    fn put(&self, to: Rank, post: impl FnOnce()) -> Result<()> {
        // Checked before the post: after it the receiver may take the packet and return.
        let there = self.comm.shared.is_there(to, self.comm.core.port.run());
        post();
        self.comm.shared.rouse(to);
        self.note_sent(to);
        if there { Ok(()) } else { Err(self.gone(to)) }
    }

    #[inline]
    fn take(&self, from: Rank, place: &mut Packet) -> Result<()> {
        let lanes = &self.comm.lanes;
        if lanes.take(from, place) {
            return Ok(());
        }
        self.wait_for_message(from, place)
    }

    #[inline(never)]
    fn wait_for_message(&self, from: Rank, place: &mut Packet) -> Result<()> {
        let lanes = &self.comm.lanes;
        let needs = || self.needs(&From::Rank(from));
        if !self.comm.is_elsewhere(from) {
            return self.wait(&needs, None, || lanes.take(from, place).then_some(()));
        }
        let mut look = |takes_in| match takes_in {
            true => lanes.take_in(from, place),
            false => lanes.take(from, place),
        };
        match self.comm.core.port.spin_for_far(&mut || look(true)) {
            true => Ok(()),
            false => self.wait_taking_in(&needs, &mut look),
        }
    }

    #[inline(never)]
    fn wait_until(&self, to: Rank, received: &dyn Fn() -> bool) -> Result<()> {
        let needs = || self.needs(&From::Rank(to));
        self.wait(&needs, None, || received().then_some(()))
    }

    #[inline]
    fn check_peer(&self, peer: Rank) -> Result<()> {
        if peer != self.rank() {
            return self.comm.check_rank("the schedule's peer", peer);
        }
        Err(crate::Error::usage(format!(
            "in the schedule rank {peer} talks to itself"
        )))
    }
}

/// The receipt of a message for which its sender waits. A sender that leaves early revokes the message.
struct Awaited(Arc<Receipt>);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.revoke();
    }
}
