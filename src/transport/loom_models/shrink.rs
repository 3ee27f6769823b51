//! Proves that the surviving ranks find each other: a rank that shrinks a communicator returns when every other member
//! has come or has ended, at whatever point it ended, with the same communicator as the others.
//!
//! The shrink, the registry and the last stage of the wait are the real ones.
//!
//! Checked by hand: if `record_return` did not wake the ranks that shrink, or if `rouse_shrinking` did nothing, a rank
//! sleeps for ever. If a rank that leaves did not mark the others, one that then waits for a member of the new
//! communicator is told of a deadlock.

use std::rc::Rc;
use std::sync::Arc;

use super::{Mail, explore, sleep_in, world};
use crate::Rank;
use crate::error::Result;
use crate::transport::CommShared;
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;
use crate::transport::trace::origin::Origin;

/// What `Comm::shrink` does.
fn shrink(port: &Port) -> Result<Arc<CommShared>> {
    let (fabric, comm) = (&port.fabric, &port.fabric.all);
    comm.shrinking.come(0, port.me);
    fabric.rouse_shrinking(comm.context);
    let found = std::cell::RefCell::new(None);
    let needs = Needs::Shrink((0, 0, 0), comm.members.clone());
    sleep_in(None, None, port, needs, || {
        let gone = |rank: Rank| !fabric.is_there(rank);
        let make = |come: Vec<Rank>| fabric.new_comm(Members::of(come), Origin::world());
        let result = comm.shrinking.result(0, comm.members.iter(), gone, make);
        *found.borrow_mut() = result;
        found.borrow().is_some()
    })?;
    fabric.rouse_shrinking(comm.context);
    Ok(found.into_inner().unwrap())
}

fn survivors(ranks: usize, dead: Rank, preemptions: Option<usize>) {
    explore(preemptions, move || {
        let (_, results) = world(ranks, move |port| {
            if port.me == dead {
                port.fabric.record_return(port.me);
                return None;
            }
            Some(shrink(port).unwrap())
        });
        let mut comms = results.into_iter().flatten();
        let first = comms.next().unwrap();
        let living: Vec<Rank> = (0..ranks).filter(|rank| *rank != dead).collect();
        assert!(first.members.iter().eq(living), "{:?}", first.members);
        assert!(comms.all(|comm| Arc::ptr_eq(&comm, &first)));
    });
}

#[test]
fn one_of_two_goes_on_alone() {
    survivors(2, 1, None);
}

#[test]
fn two_of_three_go_on_together() {
    survivors(3, 1, Some(2));
}

#[test]
fn two_that_are_both_there_meet() {
    survivors(2, 7, None);
}

/// One rank sleeps in the shrink, one looks, and the last one comes. The second may leave, and wait for the first,
/// before the last one has woken the first.
#[test]
fn who_leaves_and_waits_for_another_member_is_not_in_a_deadlock_with_it() {
    explore(Some(2), || {
        let mail = Rc::new(Mail::new(3));
        world(3, move |port| {
            shrink(port).unwrap();
            match port.me {
                0 => mail.send(port, 1),
                1 => mail.recv(port, 0, 1).unwrap(),
                _ => (),
            }
        });
    });
}
