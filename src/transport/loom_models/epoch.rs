//! Proves that in an epoch no rank accesses what another rank brought after that rank has left, that all ranks that
//! stayed decide alike, and that every sleeping rank is woken.
//!
//! Checked by hand that the models can fail. With a relaxed store or load of *here*, a rank does not see what another
//! brings. With a relaxed store or load of *out*, or if a rank leaves between *go* and *out*, the cells race. Without
//! the heavy half in `leave_early`, if it decides without a last look, or if `go` does not look at the word, a vector
//! is accessed whose rank has left. Without the light half in `go`, a rank waits for the end of a call that others have
//! left. If the decision is a store, ranks decide differently. Without the light half in `arrive` or in `report_out`,
//! without the heavy half of a rank that goes to sleep or its last look before it parks, and without the call of
//! `rouse` after all are here, or after all are out, a rank sleeps for ever. If a rank looks anew where rank 0 would report
//! out, instead of once after *go*, it waits in vain for a rank that is in the next call; and with relaxed stores in the
//! line where two report out that are near, the cells race.
//!
//! They do not show the need for two things: the orderings in `settle`, since a rank that accesses memory has seen all
//! others here itself; and `Turn::Epoch`, since a rank that has arrived cannot end before all are out.

use std::ptr;

use loom::cell::Cell;
use loom::sync::Arc;
use loom::thread;

use super::{explore, sleep_in, world};
use crate::Rank;
use crate::error::Result;
use crate::op::elements::Info;
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::epoch::{Brought, Decision, Epoch, Outs, Ticket};
use crate::transport::port::Port;

/// What a rank brings to a call: all of it differs from what other ranks bring, and from what it brought before.
fn brought(me: Rank, call: u32) -> Brought {
    let which = 4 * (10 * call as usize + me + 1);
    Brought {
        print: which as u32,
        job: which as u32 + 1,
        info: match call % 2 {
            0 => Info::of::<u32>(),
            _ => Info::of::<u64>(),
        },
        input: (ptr::without_provenance(which), which + 1),
        output: (ptr::without_provenance_mut(which + 2), which + 3),
        whole: (me as u32 + call).is_multiple_of(2),
        // Rank 0 says so, in another way than before.
        outs: match (me as u32 + call).is_multiple_of(2) {
            true => Outs::Apart,
            false => Outs::WithArrivals,
        },
    }
}

/// Whether every word that is read of a rank is what it brought to this call.
fn agrees(epoch: &Epoch, rank: Rank, call: u32) -> bool {
    let (found, wanted) = (epoch.brought(rank), brought(rank, call));
    let words = |it: &Brought| (it.print, it.job, it.info, it.input, it.output, it.whole);
    words(&found) == words(&wanted)
}

/// The ranks' vectors, which others write to between *go* and *out*.
fn cells(ranks: usize) -> Arc<Vec<Cell<u32>>> {
    Arc::new((0..ranks).map(|_| Cell::new(0)).collect())
}

fn arrive(epoch: &Epoch, me: Rank, call: u32) -> Ticket {
    let arrived = epoch.arrive(me, &brought(me, call));
    arrived.expect("no rank has aborted, and this one has taken back what it brought before")
}

/// Each rank writes to the vector of the next one, and looks at its own before and after.
fn touch(cells: &[Cell<u32>], me: Rank, call: u32) {
    let next = &cells[(me + 1) % cells.len()];
    assert_eq!(next.get(), 2 * call, "somebody was here before");
    next.set(2 * call + 1);
}

/// Where the ranks report out of a call that goes ahead.
fn goes(decision: Decision) -> Outs {
    match decision {
        Decision::Go(outs) => outs,
        Decision::Aborted => panic!("nobody leaves early"),
    }
}

fn spin_until(mut done: impl FnMut() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

fn spin_through(epoch: &Epoch, cells: &[Cell<u32>], me: Rank, call: u32) {
    assert_eq!(cells[me].get(), 2 * call);
    let ticket = arrive(epoch, me, call);
    let (mut here, mut out) = (0, 0);
    spin_until(|| epoch.all_here_from(&mut here, ticket));
    // Not after `go`: its fence would hide what the words themselves do not promise.
    (0..cells.len()).for_each(|rank| assert!(agrees(epoch, rank, call)));
    let outs = goes(epoch.go(ticket));
    touch(cells, me, call);
    (0..cells.len()).for_each(|rank| assert!(agrees(epoch, rank, call)));
    epoch.report_out(me, ticket, outs, true);
    spin_until(|| epoch.all_out_from(&mut out, ticket, outs));
    assert!(epoch.take_back(me, ticket, outs, out));
    assert_eq!(epoch.failed(outs), None);
    assert_eq!(
        cells[me].get(),
        2 * call + 1,
        "the previous one has been here"
    );
    cells[me].set(2 * call + 2);
}

fn calls_in_a_row(ranks: usize, calls: u32) {
    let shared = (Arc::new(Epoch::new(ranks)), cells(ranks));
    let life = |me: Rank| {
        let (epoch, cells) = shared.clone();
        move || (0..calls).for_each(|call| spin_through(&epoch, &cells, me, call))
    };
    let others: Vec<_> = (1..ranks).map(|me| thread::spawn(life(me))).collect();
    life(0)();
    others.into_iter().for_each(|rank| rank.join().unwrap());
}

#[test]
fn two_have_their_vectors_to_themselves_between_calls() {
    explore(Some(3), || calls_in_a_row(2, 2));
}

/// Returns whether the decision was to go. A rank that leaves early looks at its own vector as soon as it may.
fn leave_or_stay(epoch: &Epoch, cells: &[Cell<u32>], me: Rank, leaves: bool) -> bool {
    let Ok(ticket) = epoch.arrive(me, &brought(me, 0)) else {
        return false;
    };
    let decision = if leaves {
        epoch.leave_early(ticket)
    } else {
        // A rank that stays learns of an abort by other means; here it looks once.
        if epoch.all_here(ticket) {
            epoch.go(ticket)
        } else {
            epoch.leave_early(ticket)
        }
    };
    let mut out = 0;
    if let Decision::Go(outs) = decision {
        if !leaves {
            touch(cells, me, 0);
        }
        epoch.report_out(me, ticket, outs, !leaves);
        spin_until(|| epoch.all_out_from(&mut out, ticket, outs));
        assert!(
            !leaves || epoch.failed(outs).is_some(),
            "it has not done its part"
        );
    }
    let outs = match decision {
        Decision::Go(outs) => outs,
        Decision::Aborted => Outs::WithArrivals,
    };
    assert!(epoch.take_back(me, ticket, outs, out));
    // Its vector is its own again.
    cells[me].set(9);
    decision != Decision::Aborted
}

fn some_leave(ranks: usize, leaving: &'static [Rank]) {
    let shared = (Arc::new(Epoch::new(ranks)), cells(ranks));
    let life = |me: Rank| {
        let (epoch, cells) = shared.clone();
        move || leave_or_stay(&epoch, &cells, me, leaving.contains(&me))
    };
    let others: Vec<_> = (1..ranks).map(|me| thread::spawn(life(me))).collect();
    let mut went = vec![life(0)()];
    went.extend(others.into_iter().map(|rank| rank.join().unwrap()));
    assert!(went.iter().all(|&other| other == went[0]), "{went:?}");
}

#[test]
fn one_of_two_leaves_early_or_both_go() {
    explore(None, || some_leave(2, &[1]));
}

#[test]
fn two_leave_early_or_both_go() {
    explore(None, || some_leave(2, &[0, 1]));
}

#[test]
fn one_of_three_leaves_early_or_all_go() {
    explore(Some(2), || some_leave(3, &[1]));
}

/// A call in which every wait goes to sleep at once.
fn sleep_through(port: &Port, cells: &[Cell<u32>]) -> Result<()> {
    let all = &port.fabric.all;
    let epoch = all.epoch();
    let ticket = arrive(epoch, port.me, 0);
    if !epoch.all_here(ticket) {
        let needs = Needs::Gate((0, 0, 7), all.members.clone());
        let turn = Some(Turn::Epoch(ticket));
        sleep_in(Some((all, 0)), turn, port, needs, || epoch.all_here(ticket))?;
    }
    all.rouse_others_fenced(port.me);
    let outs = goes(epoch.go(ticket));
    touch(cells, port.me, 0);
    epoch.report_out(port.me, ticket, outs, true);
    let not_out = || Needs::All(epoch.not_out(ticket, outs).collect());
    port.sleep_bound(&not_out, || epoch.all_out(ticket, outs));
    assert!(epoch.take_back(port.me, ticket, outs, 0));
    all.rouse_others_fenced(port.me);
    cells[port.me].set(9);
    Ok(())
}

#[test]
fn two_sleep_through_no_arrival_and_no_end() {
    explore(Some(3), || {
        let cells = cells(2);
        let (_, results) = world(2, move |port| sleep_through(port, &cells));
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    });
}

#[test]
fn three_sleep_through_no_arrival_and_no_end() {
    explore(Some(1), || {
        let cells = cells(3);
        let (_, results) = world(3, move |port| sleep_through(port, &cells));
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    });
}
