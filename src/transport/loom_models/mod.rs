//! Models of what threads do to each other. Loom runs them through every order of events, and every stale value, that
//! the memory model allows. Run with `.ci/loom`.
//!
//! - `sleeper`: no post is slept through
//! - `job_slot`: a worker thread gets its jobs, and gives them back
//! - `detector`: a deadlock is found once, and nothing else is taken for one
//! - `loan`: lent memory is never read after its lender has left
//! - `standing_loan`: the same where a lender leaves a copy, and the message is received in any case
//! - `own_loan`: the same where no frame stays: the lender ends the loan, or leaves the memory to it
//! - `copy_claims`: what both ends of a loan copy together is copied once, and is the borrower's again
//! - `rendezvous`: a rank that lends to a rank that is bound to come sleeps until that one is done, or learns why it is
//!   not
//! - `far_mail`: no message from another process is slept through, whichever thread drives MPI (feature `mpi`)
//! - `node_ring`: letters between processes of one node are read whole, once and in order (feature `mpi`)
//! - `receipt`: a rank that waits until its message is received is woken, and a revoked message is not received
//! - `fabric_reuse`: what a run leaves at the endpoints has no meaning in the next
//! - `shrink`: the surviving ranks find each other
//! - `subsets`: ranks that make a communicator of their own find each other
//! - `ring`: what one rank hands another is read whole, once and in order
//! - `fast_box`: messages past the mailbox are read whole, once and in order with the mail
//! - `gate`: no rank leaves a barrier early
//! - `epoch`: no rank accesses the memory of a rank that has left
//! - `event_ring`: no operation is read half overwritten
//! - `call_log`: no call is taken for another one while its rank writes
//! - `cells`: what ranks write for each other is read whole, and not overwritten while it is read
//! - `window`: one writer or any readers are in a part of a window
//!
//! The code under test is the real one: only the atomics, the mutex and the parker below it are loom's (`crate::sync`).
//! Loom does not model the channel between ranks, so here a post is a relaxed store to a counter: weaker than what any
//! channel does.
//!
//! Where a model needs a bound on preemptions, it says so: orders with more forced switches are not visited. Loom
//! models sequential consistency faithfully only in fences, which is where ours is.

mod call_log;
mod cells;
mod copy_claims;
mod detector;
mod epoch;
mod event_ring;
mod fabric_reuse;
#[cfg(feature = "mpi")]
mod far_mail;
mod fast_box;
mod gate;
mod job_slot;
mod loan;
#[cfg(feature = "mpi")]
mod node_ring;
mod own_loan;
mod receipt;
mod rendezvous;
mod ring;
mod shrink;
mod sleeper;
mod standing_loan;
mod subsets;
mod window;

use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::{CommShared, Fabric, Settings};
use crate::Rank;
use crate::error::Result;
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;
use crate::transport::progress::reason::Reason;

/// Runs `model` in every order, with at most `preemptions` preemptions if given. A model in which no thread does anything
/// that another one could notice has one order, and proves nothing.
///
/// Loom finds the orders by the last access to each place. So a thread that reads a place before it writes there hides from
/// it that another thread has read the place before, unless it runs first: it belongs to the thread that runs the model,
/// which goes on until it waits.
#[track_caller]
fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    // Not loom's: it counts over all orders.
    let orders = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    let counted = orders.clone();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let orders = orders.load(Ordering::Relaxed);
    eprintln!("{}: {orders} orders", std::panic::Location::caller());
    assert!(orders > 1, "the model has one order");
}

/// A world of modelled threads, each of which runs `life` at its own port. Returns their results.
fn world<R: 'static>(ranks: usize, life: impl Fn(&Port) -> R + 'static) -> (Arc<Fabric>, Vec<R>) {
    prepared_world(ranks, |_| {}, life)
}

/// The same, with `prepare` run before there are threads.
fn prepared_world<R: 'static>(
    ranks: usize,
    prepare: impl FnOnce(&Fabric),
    life: impl Fn(&Port) -> R + 'static,
) -> (Arc<Fabric>, Vec<R>) {
    let fabric = Fabric::new(ranks, Settings::default());
    prepare(&fabric);
    // Loom does not see what creates it at its first use.
    fabric.all.epoch();
    let life = Rc::new(life);
    let mut lives = (0..ranks).map(|me| {
        let (life, port) = (life.clone(), fabric.port(me));
        move || life(&port)
    });
    // Rank 0 runs on the thread that every model has already.
    let first = lives.next();
    let others: Vec<_> = lives.map(thread::spawn).collect();
    let mut results: Vec<R> = first.map(|life| life()).into_iter().collect();
    results.extend(others.into_iter().map(|rank| rank.join().unwrap()));
    (fabric, results)
}

/// Number of messages that each rank has sent to each other: the model of a post.
struct Mail {
    ranks: usize,
    sent: Vec<AtomicU32>,
}

impl Mail {
    fn new(ranks: usize) -> Self {
        let sent = (0..ranks * ranks).map(|_| AtomicU32::new(0)).collect();
        Mail { ranks, sent }
    }

    fn line(&self, from: Rank, to: Rank) -> &AtomicU32 {
        &self.sent[from * self.ranks + to]
    }

    /// Posts one message and rouses its receiver, as [`Fabric::post`] does.
    fn send(&self, port: &Port, to: Rank) {
        self.line(port.me, to).fetch_add(1, Ordering::Relaxed);
        port.fabric.endpoints[to].sleeper.rouse();
    }

    /// Sleeps until `from` has sent `count` messages. Never spins: that would hide a lost post.
    fn recv(&self, port: &Port, from: Rank, count: u32) -> Result<()> {
        let line = self.line(from, port.me);
        sleep(port, Needs::One(from), || {
            line.load(Ordering::Relaxed) >= count
        })
    }
}

/// The last stage of the real wait.
fn sleep(port: &Port, needs: Needs, come: impl Fn() -> bool) -> Result<()> {
    sleep_in(None, None, port, needs, come)
}

/// The same inside a collective, possibly until the gate turns.
fn sleep_in(
    collective: Option<(&Arc<CommShared>, u32)>,
    turn: Option<Turn>,
    port: &Port,
    needs: Needs,
    come: impl Fn() -> bool,
) -> Result<()> {
    let reason = Reason {
        call: &|| "modelled".into(),
        site: Location::caller(),
        needs: &|| needs.clone(),
        comm: collective.map(|(comm, _)| comm),
        also: &[],
        collective: collective.map(|(_, number)| number),
        turn,
        deadline: None,
        choice: None,
        needs_buffer: false,
    };
    port.sleep(&reason, || come().then_some(()))
}
