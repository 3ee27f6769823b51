//! Messages of far ranks that go straight to the rank that takes them in, because it waits for them: past its mailbox
//! or lane, which are empty, so that nothing is overtaken.

use super::far::Far;
use super::wire::{self, Envelope, Kind};
use crate::Rank;
use crate::transport::Fabric;
use crate::transport::matching::receive_buffer::ReceiveBuffer;
use crate::transport::matching::want::Want;
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;

/// Takes a message whose contents are in its letter, or leaves it.
type Take<'t> = dyn FnMut(&Envelope, &[u8]) -> bool + 't;

impl Far {
    /// Takes in one message. If it is of this kind and for this near rank, which calls this, `take` gets it, inside MPI.
    /// Returns whether it was taken.
    pub(super) fn poll_for(
        &self,
        fabric: &Fabric,
        whose: (Rank, Kind),
        take: &mut Take<'_>,
    ) -> bool {
        let mut taken = false;
        self.poll_by(Some(fabric), false, &mut |from, letter, body| {
            if !taken && body.is_none() && self.goes_straight(from, letter, whose, take) {
                taken = true;
            } else {
                self.arrived(Some(fabric), from, letter, body);
            }
        });
        taken
    }

    /// Whether a message was taken, which counts as received then.
    #[inline]
    fn goes_straight(
        &self,
        from: usize,
        letter: &[u8],
        (me, kind): (Rank, Kind),
        take: &mut Take<'_>,
    ) -> bool {
        let Some((envelope, contents)) = Envelope::open(letter) else {
            return false;
        };
        let is_for_me = (envelope.kind, envelope.to, envelope.world) == (kind, me, self.world);
        let is_taken = is_for_me
            && self.ranks_of(from).contains(&envelope.head.source())
            && !self.held.any()
            && !self.session.membership.is_dropped(from)
            && take(&envelope, contents);
        if is_taken {
            self.has_received(from);
        }
        is_taken
    }

    /// Takes the next packet of a lane into a near rank, which calls this; takes in one message meanwhile, if there is none.
    pub(super) fn take_from_lane(
        &self,
        fabric: &Fabric,
        me: Rank,
        key: (u32, Rank),
        place: &mut Packet,
    ) -> bool {
        let lanes = &self.lanes[me - self.near.start];
        let taken = self.poll_for(fabric, (me, Kind::Lane), &mut |envelope, contents| {
            let head = envelope.head;
            let is_next = (head.context(), head.source()) == key && lanes.are_empty();
            match is_next.then(|| wire::packet(envelope, contents, None)) {
                Some(Some(packet)) => {
                    *place = packet;
                    true
                }
                _ => false,
            }
        });
        taken || lanes.take(key).map(|packet| *place = packet).is_some()
    }
}

impl Port {
    /// Takes in one message from another process: straight into the buffer if it is wanted, fits there, and nothing is in the
    /// mailbox. Returns whether it is there. For a rank without posted receives that has nothing wanted set aside.
    #[inline]
    pub(in crate::transport) fn pump_into(
        &self,
        want: &Want,
        into: &mut ReceiveBuffer<'_>,
    ) -> bool {
        let Some(far) = &self.fabric.far else {
            return false;
        };
        far.poll_for(
            &self.fabric,
            (self.me, Kind::Mail),
            &mut |envelope, contents| {
                let is_next = want.accepts(envelope.head) && self.endpoint.mail.is_empty();
                is_next && fill(into, envelope, contents)
            },
        )
    }
}

/// Copies the elements of a message into a buffer of their type that has room for them.
fn fill(into: &mut ReceiveBuffer<'_>, envelope: &Envelope, contents: &[u8]) -> bool {
    let Some(elements) = wire::elements(envelope, contents) else {
        return false;
    };
    let room = into.elements.reborrow().get(0..elements.len());
    match room.filter(|room| room.info().is(elements.info())) {
        Some(mut room) => {
            room.copy_from(elements);
            (into.head, into.count) = (envelope.head, elements.len());
            true
        }
        None => false,
    }
}
