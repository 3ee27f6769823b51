//! Proves that memory lent by a standing loan is never read after its lender has left, and that the receiver of its
//! packet gets the message in any case: from the lender's buffer, or from the copy that the lender has left.
//!
//! The lent memory is a loom cell, as in `loan`. The packet is handed over by release and acquire, as every packet: its
//! word was made with it. The loans of a scope, the packet and the sleep of the lender are the real ones.
//!
//! Checked by hand: with a lender that does not wait for a claimed loan the accesses race. With a receiver that does not
//! claim before it reads, it reads outside of the loan. With a `replace` that leaves the copy after the word says so, a
//! receiver finds neither the buffer nor the copy.

use std::sync::Mutex;

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};

use super::{explore, world};
use crate::op::elements::Elements;
use crate::transport::Fabric;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;
use crate::transport::port::Port;

/// What two ranks share: the accesses to the lent buffers, and the packets on their way.
struct Between {
    buffers: [Cell<u32>; 2],
    /// The addresses of the lent buffers. Not loom's, as the packets: they order nothing.
    addresses: Mutex<Vec<usize>>,
    packets: Mutex<Vec<Packet>>,
    posted: AtomicU32,
}

impl Between {
    fn new() -> Arc<Self> {
        Arc::new(Between {
            buffers: [Cell::new(0), Cell::new(0)],
            addresses: Mutex::default(),
            packets: Mutex::default(),
            posted: AtomicU32::new(0),
        })
    }

    /// Lends the first `count` buffers for the time of a scope, and writes them again as soon as it may.
    fn lend(&self, port: &Port, count: usize) {
        let messages = [[0usize; 100], [1; 100]];
        self.buffers[..count]
            .iter()
            .for_each(|buffer| buffer.set(1));
        port.with_loans(|loans| {
            for message in &messages[..count] {
                let packet = loans.lend(1, Head::default(), Elements::of(message));
                self.addresses.lock().unwrap().push(message.as_ptr().addr());
                self.packets.lock().unwrap().push(packet);
                self.posted.fetch_add(1, Ordering::Release);
            }
        });
        self.buffers[..count]
            .iter()
            .for_each(|buffer| buffer.set(2));
    }

    fn take(&self) -> Option<Packet> {
        let posted = self.posted.load(Ordering::Acquire) > 0;
        let mut packets = self.packets.lock().unwrap();
        (posted && !packets.is_empty()).then(|| packets.remove(0))
    }

    /// Receives the next message, if its packet is there, and returns which it is.
    fn receive(&self, lenders: &Fabric) -> Option<usize> {
        let packet = self.take()?;
        let received = packet.open(lenders, |message: &[usize]| {
            let which = message[0];
            assert_eq!(message, [which; 100]);
            if self.addresses.lock().unwrap()[which] == message.as_ptr().addr() {
                assert_eq!(self.buffers[which].get(), 1, "read outside of the loan");
            }
            which
        });
        Some(received.expect("a message is in the buffer or in its copy"))
    }
}

#[test]
fn a_lender_that_leaves_is_not_read_later_and_its_message_is_there() {
    explore(None, || {
        let between = Between::new();
        let theirs = between.clone();
        let (fabric, _) = world(2, move |port| match port.me {
            0 => theirs.lend(port, 1),
            _ => _ = theirs.receive(&port.fabric),
        });
        // What was not received by then is received now.
        between.receive(&*fabric);
        assert!(between.take().is_none());
    });
}

#[test]
fn two_loans_are_received_in_their_order() {
    explore(Some(4), || {
        let between = Between::new();
        let (_, received) = world(2, move |port| {
            if port.me == 0 {
                between.lend(port, 2);
                return [None; 2];
            }
            [between.receive(&port.fabric), between.receive(&port.fabric)]
        });
        let received: Vec<_> = received[1].into_iter().flatten().collect();
        assert!(
            received.iter().copied().eq(0..received.len()),
            "{received:?}"
        );
    });
}

#[test]
fn a_receiver_that_drops_the_packet_lets_the_lender_go() {
    explore(None, || {
        let between = Between::new();
        world(2, move |port| match port.me {
            0 => between.lend(port, 1),
            _ => drop(between.take()),
        });
    });
}

#[test]
fn a_receiver_that_refuses_lets_the_lender_go() {
    explore(None, || {
        let between = Between::new();
        world(2, move |port| match port.me {
            0 => between.lend(port, 1),
            _ => {
                let refused = between.take().map(|mut one| one.refuse(&*port.fabric));
                assert!(refused.is_none_or(|refused| refused.is_some()));
            }
        });
    });
}
