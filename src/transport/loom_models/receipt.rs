//! Proves that a rank whose message finds no buffer space sleeps until it is received and is always woken: by a
//! receiver that takes it while it waits for something else, or for its own message to be received, or that dies
//! without looking; and that a message is received or revoked, never both.
//!
//! `Receipt`, the registry and the last stage of the wait are the real ones.
//!
//! Checked by hand: if a rank that receives a message for later does not rouse its sender, or does not look for it
//! while it waits for something else, a deadlock is reported where there is none. With an `accept` that does not claim,
//! a revoked message is received.

use std::sync::Arc as StdArc;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};

use super::{Mail, explore, sleep, world};
use crate::Rank;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::Fabric;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::receipt::Receipt;
use crate::transport::port::Port;

/// One message without buffer space from each rank to each other, and plain mail beside them.
struct Post {
    mail: Mail,
    receipts: Vec<StdArc<Receipt>>,
    /// Number of them that were received.
    received: AtomicU32,
}

impl Post {
    fn new(ranks: usize) -> Self {
        Post {
            mail: Mail::new(ranks),
            receipts: (0..ranks).map(|_| Receipt::new(None)).collect(),
            received: AtomicU32::new(0),
        }
    }

    /// Posts the one message of this rank.
    fn send(&self, port: &Port, to: Rank) {
        self.mail.send(port, to);
    }

    /// Sleeps until it is received; meanwhile receives what `from` sent, if given.
    fn await_receipt(&self, port: &Port, to: Rank, from: Option<Rank>) -> Result<()> {
        sleep(port, Needs::One(to), || {
            if let Some(from) = from {
                self.progress(port, from);
            }
            self.receipts[port.me].is_accepted()
        })
    }

    /// Receives the message of `from`, if it has arrived, for a posted receive.
    fn progress(&self, port: &Port, from: Rank) {
        let come = self.mail.line(from, port.me).load(Ordering::Relaxed) > 0;
        if come && self.receipts[from].accept() {
            self.received.fetch_add(1, Ordering::Relaxed);
            port.fabric.all.rouse(from);
        }
    }
}

fn with_post<R: 'static>(
    ranks: usize,
    life: impl Fn(&Port, &Post) -> R + 'static,
) -> (StdArc<Fabric>, Vec<R>) {
    let post = Arc::new(Post::new(ranks));
    world(ranks, move |port| life(port, &post))
}

fn all_is_well((fabric, results): (StdArc<Fabric>, Vec<Result<()>>)) {
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!(fabric.open_registry().deadlocks.is_empty());
}

#[test]
fn a_message_is_received_by_a_rank_that_waits_for_another() {
    explore(None, || {
        all_is_well(with_post(2, |port, post| {
            if port.me == 0 {
                post.send(port, 1);
                post.await_receipt(port, 1, None)?;
                post.mail.send(port, 1);
                return Ok(());
            }
            // It has posted a receive for the first message, and waits for the second.
            sleep(port, Needs::One(0), || {
                post.progress(port, 0);
                post.mail.line(0, 1).load(Ordering::Relaxed) == 2
            })
        }));
    });
}

#[test]
fn two_that_wait_for_each_others_receipts_both_come_back() {
    explore(Some(4), || {
        all_is_well(with_post(2, |port, post| {
            let other = 1 - port.me;
            post.send(port, other);
            post.await_receipt(port, other, Some(other))
        }));
    });
}

#[test]
fn two_that_send_first_without_a_buffer_are_a_knot() {
    explore(None, || {
        let (fabric, results) = with_post(2, |port, post| {
            post.send(port, 1 - port.me);
            post.await_receipt(port, 1 - port.me, None)
        });
        let knotted = |result: &Result<()>| {
            let kind = result.as_ref().map_err(Error::kind);
            matches!(kind, Err(ErrorKind::Deadlock(_)))
        };
        assert!(results.iter().all(knotted), "{results:?}");
        assert_eq!(fabric.open_registry().deadlocks.len(), 1);
    });
}

#[test]
fn a_sender_learns_that_its_receiver_ended_and_a_message_is_received_or_taken_back() {
    explore(Some(4), || {
        let post = Arc::new(Post::new(2));
        let theirs = post.clone();
        let (_, results) = world(2, move |port| {
            if port.me == 1 {
                theirs.progress(port, 0);
                port.fabric.record_return(1);
                return Ok(true);
            }
            theirs.send(port, 1);
            let waited = theirs.await_receipt(port, 1, None);
            let kind = waited.as_ref().map_err(Error::kind);
            assert!(!matches!(kind, Err(ErrorKind::Deadlock(_))), "{waited:?}");
            let taken_back = waited.is_err() && theirs.receipts[0].revoke();
            Ok::<_, Error>(taken_back)
        });
        let received = post.received.load(Ordering::Relaxed) == 1;
        assert_eq!(results[0].as_ref().ok(), Some(&!received));
    });
}

#[test]
fn a_message_is_received_or_taken_back_whoever_is_first() {
    explore(None, || {
        let post = Arc::new(Post::new(2));
        let theirs = post.clone();
        let (_, results) = world(2, move |port| match port.me {
            0 => {
                theirs.send(port, 1);
                theirs.receipts[0].revoke()
            }
            _ => {
                theirs.progress(port, 0);
                false
            }
        });
        let received = post.received.load(Ordering::Relaxed) == 1;
        assert_eq!(results[0], !received);
    });
}
