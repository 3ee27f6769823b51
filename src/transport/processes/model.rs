//! A world of two processes for loom's models: the ranks of this one, and one rank in another, whose messages are there when
//! the model begins.

use std::sync::Arc;

use super::far::Far;
use super::notes::Hello;
use super::session::Session;
use super::wire::{self, Kind};
use crate::Rank;
use crate::mpi::Processes;
use crate::op::elements::Elements;
use crate::transport::memory::head::{Head, OF_COLLECTIVES};
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;
use crate::transport::{Fabric, Settings};

/// The world.
pub(in crate::transport) struct World {
    pub fabric: Arc<Fabric>,
    far: Arc<Far>,
    near: usize,
}

impl World {
    /// With `near` ranks here, for each of which a message of the rank in the other process arrives.
    pub(in crate::transport) fn of(near: usize) -> World {
        let letters = (0..near).map(|to| (1, letter(near, to)));
        let processes = Processes::without_mpi((0, 2), letters);
        let session: &'static Session = Box::leak(Box::new(Session::new(processes)));
        let hello = |ranks| Hello {
            ranks,
            ..Hello::default()
        };
        let far = Arc::new(Far::new(session, 1, &[hello(near), hello(1)]));
        let fabric = Fabric::spread(far.clone(), Settings::default());
        World { fabric, far, near }
    }

    /// The message of the rank in the other process, if it has been taken in.
    pub(in crate::transport) fn take(&self, port: &Port) -> Option<Packet> {
        let key = (OF_COLLECTIVES, self.near);
        self.far.lanes[port.me].take(key)
    }

    /// The number of messages that were received, as this process counts them.
    pub(in crate::transport) fn received(&self) -> u64 {
        self.far.count().received
    }

    /// All ranks have ended.
    pub(in crate::transport) fn end(&self) {
        self.far.has_ended(self.near);
        self.far.session.membership.leave(1);
    }
}

fn letter(from: Rank, to: Rank) -> Vec<u8> {
    let elements = [to as u64];
    let elements = Elements::of(&elements);
    let head = Head::new(OF_COLLECTIVES, from, 0, 0);
    let envelope = wire::envelope(Kind::Lane, 1, to, head, elements);
    let mut letter = envelope.expect("numbers are plain").bytes().to_vec();
    letter.extend((to as u64).to_le_bytes());
    letter
}
