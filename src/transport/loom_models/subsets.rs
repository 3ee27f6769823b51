//! Proves that ranks which make a communicator of their own find each other, or each other's different lists, in
//! whatever order they come, sleep and leave; and that none of them is told of a deadlock that is none.
//!
//! The meeting, the registry and the last stage of the wait are the real ones.
//!
//! Checked by hand: if a rank that comes does not rouse the others, one sleeps for ever.

use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use super::{Mail, explore, world};
use crate::Rank;
use crate::error::Mismatch;
use crate::transport::CommShared;
use crate::transport::communicator::members::Members;
use crate::transport::communicator::subsets::{Caller, LedTo};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;
use crate::transport::progress::reason::Reason;
use crate::transport::trace::origin::Origin;

/// What `Comm::subset` does.
fn subset(port: &Port, list: &[Rank]) -> Option<Arc<CommShared>> {
    let (fabric, comm) = (&port.fabric, &port.fabric.all);
    let caller = Caller {
        rank: port.me,
        site: Location::caller(),
        list: list.into(),
    };
    let make = || fabric.new_comm(Members::of(list.to_vec()), Origin::world());
    let differ = |_| Mismatch {
        calls: Vec::new(),
        odd: Vec::new(),
        comm: None,
    };
    let number = comm.subsets.come(caller, make, differ);
    comm.rouse_others(port.me);
    let reason = Reason {
        call: &|| "modelled".into(),
        site: Location::caller(),
        needs: &|| Needs::All(comm.subsets.missing(number)),
        comm: None,
        also: &[],
        collective: None,
        turn: None,
        deadline: None,
        choice: None,
        needs_buffer: false,
    };
    let waited = port.sleep(&reason, || comm.subsets.led_to(number).map(drop));
    waited.unwrap();
    match comm.subsets.leave(number, port.me) {
        Some(LedTo::Made(made)) => Some(made),
        _ => None,
    }
}

#[test]
fn two_that_come_find_the_same_communicator() {
    explore(None, || {
        let (_, made) = world(2, |port| subset(port, &[1, 0]).unwrap());
        assert!(Arc::ptr_eq(&made[0], &made[1]));
        assert_eq!(made[0].members, Members::of(vec![1, 0]));
    });
}

#[test]
fn two_whose_lists_differ_are_both_told() {
    explore(None, || {
        let lists: [&[Rank]; 2] = [&[0, 1], &[1, 0]];
        let (_, made) = world(2, move |port| subset(port, lists[port.me]).is_none());
        assert_eq!(made, [true, true]);
    });
}

/// One rank sleeps in the meeting, one looks, and the last one comes. The second may leave, and wait for the first,
/// before the last one has woken the first.
#[test]
fn who_leaves_and_waits_for_another_member_is_not_in_a_deadlock_with_it() {
    explore(Some(2), || {
        let mail = Rc::new(Mail::new(3));
        world(3, move |port| {
            subset(port, &[0, 1, 2]).unwrap();
            match port.me {
                0 => mail.send(port, 1),
                1 => mail.recv(port, 0, 1).unwrap(),
                _ => (),
            }
        });
    });
}
