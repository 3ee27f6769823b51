//! The lanes of a communicator with far members: between near members channels, to and from far ones messages between
//! processes.

use std::sync::Arc;

use super::wire::Kind;
use crate::Rank;
use crate::names::Transport;
use crate::op::elements::Elements;
use crate::transport::lanes::Ends;
use crate::transport::lanes::lane::Lanes;
use crate::transport::memory::head::{Head, OF_COLLECTIVES};
use crate::transport::memory::packet::Packet;
use crate::transport::{CommShared, Fabric};

/// A near rank's ends of the lanes of a communicator.
pub(super) struct SpreadLanes {
    fabric: Arc<Fabric>,
    comm: Arc<CommShared>,
    /// This rank in the world.
    me: Rank,
    near: Ends,
}

impl SpreadLanes {
    /// Those of member `me`.
    pub(super) fn new(fabric: Arc<Fabric>, comm: Arc<CommShared>, me: Rank) -> SpreadLanes {
        SpreadLanes {
            me: comm.members.world(me),
            near: comm.lanes.ends(me, Transport::Channels),
            fabric,
            comm,
        }
    }

    /// The world rank of a member that is far.
    fn far(&self, member: Rank) -> Option<Rank> {
        Some(self.comm.members.world(member)).filter(|rank| self.fabric.is_far(*rank))
    }
}

impl Lanes for SpreadLanes {
    /// To a far member there always is: a message is a copy that waits there.
    fn has_room(&self, to: Rank) -> bool {
        self.far(to).is_some() || self.near.has_room(to)
    }

    fn post(&self, to: Rank, head: Head, data: Elements<'_>) {
        match (self.far(to), &self.fabric.far) {
            (Some(rank), Some(far)) => {
                far.send_elements(&self.fabric, rank, head, data, Kind::Lane);
            }
            _ => self.near.post(to, head, data),
        }
    }

    fn post_packet(&self, to: Rank, packet: Packet) {
        match (self.far(to), &self.fabric.far) {
            (Some(rank), Some(far)) => far.send(&self.fabric, rank, &packet, Kind::Lane),
            _ => self.near.post_packet(to, packet),
        }
    }

    /// To a far member without a packet.
    fn post_long(&self, to: Rank, head: Head, data: Elements<'_>) {
        match (self.far(to), &self.fabric.far) {
            (Some(rank), Some(far)) => far.send_elements_waiting(&self.fabric, rank, head, data),
            _ => self.near.post_packet(to, Packet::copy_of(head, data)),
        }
    }

    fn take(&self, from: Rank, place: &mut Packet) -> bool {
        let (Some(rank), Some(far)) = (self.far(from), &self.fabric.far) else {
            return self.near.take(from, place);
        };
        let key = (self.comm.context + OF_COLLECTIVES, rank);
        let taken = far.lanes[self.me - far.near.start].take(key);
        taken.map(|packet| *place = packet).is_some()
    }

    fn take_in(&self, from: Rank, place: &mut Packet) -> bool {
        match (self.far(from), &self.fabric.far) {
            (Some(rank), Some(far)) => {
                let key = (self.comm.context + OF_COLLECTIVES, rank);
                far.take_from_lane(&self.fabric, self.me, key, place)
            }
            _ => self.near.take(from, place),
        }
    }
}
