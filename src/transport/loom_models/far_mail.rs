//! Proves that a rank which waits for a message from another process is woken for it, or finds it, whichever thread drives
//! MPI: the rank itself, or another one, inside whose poll it finds MPI taken and so takes in nothing before it sleeps.
//!
//! The lock of MPI, the arrival, the lanes of far ranks and the sleep of a wait are the real ones; the letters are there when
//! the model begins. Ranks do not nap here: a lost wake-up, which costs a millisecond at most in a program, is a deadlock.
//!
//! Checked by hand: where what arrives does not rouse its receiver, and where it does so before the message is in the lane,
//! the model fails. It does not see a poll before the sleep that takes in one message and leaves the other.

use std::rc::Rc;

use loom::thread;

use super::{explore, sleep};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::processes::model::World;

/// Each of `near` ranks waits for its message.
fn each_gets_its_message(near: usize) {
    let world = Rc::new(World::of(near));
    let mut ranks = (0..near).map(|me| {
        let (world, port) = (world.clone(), world.fabric.port(me));
        move || {
            let taken = || {
                world
                    .take(&port)
                    .is_some_and(|packet| packet.source() == near)
            };
            sleep(&port, Needs::One(near), taken).unwrap();
        }
    });
    let first = ranks.next();
    let others: Vec<_> = ranks.map(thread::spawn).collect();
    first.into_iter().for_each(|life| life());
    others.into_iter().for_each(|rank| rank.join().unwrap());
    assert_eq!(world.received(), near as u64);
    world.end();
}

/// Runs `life` in a modelled thread that has room for a world of two processes while it is made; the first thread's stack is
/// small, and does nothing but wait for it.
fn with_a_large_stack(life: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(1 << 18);
    thread.spawn(life).unwrap().join().unwrap();
}

#[test]
fn a_message_is_not_slept_through_while_another_rank_drives_mpi() {
    explore(Some(3), || with_a_large_stack(|| each_gets_its_message(2)));
}
