//! Proves that no rank leaves a barrier early; that what a rank did before a barrier is visible after it, and so is
//! what the last rank did for all; that the turning of the gate is not slept through; and that a rank with another
//! fingerprint never lets it open.
//!
//! Checked by hand: with a relaxed compare-and-swap in `arrive`, a relaxed store of the turn in `turn` or a relaxed
//! load of it in `turned_by`, the cells race. If the fingerprint is not compared, the gate opens. Without the fence in
//! `rouse_others`, a rank sleeps for ever. If a wait whose gate has turned counts as stuck, ranks that are not stuck
//! are named.

use loom::cell::Cell;
use loom::sync::Arc;
use loom::thread;

use super::{Mail, explore, sleep, sleep_in, world};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::communicator::gate::{Arrival, Gate};
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;

/// Every rank's program: write, barrier, read what all ranks wrote, barrier, repeat.
fn write_and_read(me: usize, cells: &[Cell<u32>], rounds: u32, barrier: impl Fn(u32)) {
    for round in 0..rounds {
        cells[me].set(round + 1);
        barrier(2 * round);
        for cell in cells {
            assert_eq!(cell.get(), round + 1, "somebody is not here yet");
        }
        barrier(2 * round + 1);
    }
}

fn cells(ranks: usize) -> Arc<Vec<Cell<u32>>> {
    Arc::new((0..ranks).map(|_| Cell::new(0)).collect())
}

/// A barrier that looks repeatedly.
fn spin_through(gate: &Gate, ranks: usize, print: u32) {
    match gate.arrive(ranks, print) {
        Arrival::Last(turn) => gate.turn(turn, 0),
        Arrival::Early(turn) => {
            while gate.turned_by(turn).is_none() {
                thread::yield_now();
            }
        }
        Arrival::Strange => panic!("all ranks are in the same call"),
    }
}

fn barriers_in_a_row(ranks: usize, rounds: u32) {
    let shared = (Arc::new(Gate::new()), cells(ranks));
    let life = |me: usize| {
        let (gate, cells) = shared.clone();
        move || {
            write_and_read(me, &cells, rounds, |print| {
                spin_through(&gate, ranks, print)
            })
        }
    };
    let others: Vec<_> = (1..ranks).map(|me| thread::spawn(life(me))).collect();
    life(0)();
    others.into_iter().for_each(|rank| rank.join().unwrap());
}

#[test]
fn two_leave_no_barrier_early() {
    explore(Some(4), || barriers_in_a_row(2, 2));
}

/// Three spinning ranks have too many orders, so a rank that finds the gate shut gives up. A rank that does get through
/// has seen what all did before.
#[test]
fn whoever_of_three_gets_through_sees_what_all_did() {
    explore(Some(4), || {
        let shared = (Arc::new(Gate::new()), cells(3));
        let life = |me: usize| {
            let (gate, cells) = shared.clone();
            move || {
                cells[me].set(1);
                let through = match gate.arrive(3, 0) {
                    Arrival::Early(turn) => gate.turned_by(turn).is_some(),
                    Arrival::Last(turn) => {
                        gate.turn(turn, me);
                        true
                    }
                    Arrival::Strange => false,
                };
                assert!(!through || cells.iter().all(|cell| cell.get() == 1));
            }
        };
        let others = [1, 2].map(|me| thread::spawn(life(me)));
        life(0)();
        others.into_iter().for_each(|rank| rank.join().unwrap());
    });
}

/// Before it turns the gate, the last rank reads what all have written, and writes what all read after that. A rank
/// that finds the gate shut gives up.
#[test]
fn what_the_last_does_for_all_is_seen_by_all_who_are_told_who_it_was() {
    explore(Some(4), || {
        let shared = (Arc::new(Gate::new()), cells(4));
        let life = |me: usize| {
            let (gate, cells) = shared.clone();
            move || {
                cells[me].set(1);
                match gate.arrive(3, 0) {
                    Arrival::Last(turn) => {
                        let all: u32 = cells[..3].iter().map(Cell::get).sum();
                        cells[3].set(all + me as u32);
                        gate.turn(turn, me);
                    }
                    Arrival::Early(turn) => {
                        let last = gate.turned_by(turn);
                        assert!(last.is_none_or(|last| cells[3].get() == 3 + last as u32));
                    }
                    Arrival::Strange => panic!("all ranks are in the same call"),
                }
            }
        };
        let others = [1, 2].map(|me| thread::spawn(life(me)));
        life(0)();
        others.into_iter().for_each(|rank| rank.join().unwrap());
    });
}

/// A barrier that goes to sleep at once.
fn sleep_through(port: &Port, print: u32) {
    let gate = &port.fabric.all.gate;
    match gate.arrive(port.fabric.all.members.size(), print) {
        Arrival::Last(turn) => {
            gate.turn(turn, port.me);
            port.fabric.all.rouse_others(port.me);
        }
        Arrival::Early(turn) => {
            let (comm, needs) = (
                &port.fabric.all,
                Needs::Gate((0, print, print), port.fabric.all.members.clone()),
            );
            let turned = || gate.turned_by(turn).is_some();
            let passed = sleep_in(
                Some((comm, print)),
                Some(Turn::Gate(turn)),
                port,
                needs,
                turned,
            );
            passed.expect("all ranks come");
        }
        Arrival::Strange => panic!("all ranks are in the same call"),
    }
}

/// Two barriers in a row. The locks on the way order more than the gate does, but every turn must be noticed.
#[test]
fn two_sleep_through_no_turn() {
    explore(Some(5), || {
        let cells = cells(2);
        world(2, move |port| {
            write_and_read(port.me, &cells, 1, |print| sleep_through(port, print));
        });
    });
}

/// The gate has turned, rank 1 has seen it and waits for what rank 0 sends next, but rank 0 has not been told of the
/// turn yet.
#[test]
fn who_is_about_to_be_told_of_a_turn_is_not_stuck() {
    explore(Some(3), || {
        let mail = Arc::new(Mail::new(3));
        let (_, results) = world(3, move |port| {
            sleep_through(port, 0);
            match port.me {
                0 => mail.send(port, 1),
                1 => return mail.recv(port, 0, 1),
                _ => {}
            }
            Ok(())
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    });
}

/// Rank `n - 1` comes for another call than the others; no rank ever gets through.
fn a_stranger_keeps_it_shut(ranks: usize) {
    let (fabric, arrivals) = world(ranks, move |port| {
        let print = u32::from(port.me == ranks - 1);
        port.fabric.all.gate.arrive(ranks, print)
    });
    assert!(!arrivals.contains(&Arrival::Last(0)), "{arrivals:?}");
    assert_eq!(fabric.all.gate.turned_by(0), None);
}

#[test]
fn a_stranger_among_two_keeps_it_shut() {
    explore(None, || a_stranger_keeps_it_shut(2));
}

#[test]
fn a_stranger_among_three_keeps_it_shut() {
    explore(None, || a_stranger_keeps_it_shut(3));
}

#[test]
fn two_strangers_at_the_gate_are_a_knot() {
    explore(None, || {
        let (_, results) = world(2, |port| {
            let print = port.me as u32;
            let turn = match port.fabric.all.gate.arrive(2, print) {
                Arrival::Early(turn) => Some(turn),
                _ => None,
            };
            let gate = &port.fabric.all.gate;
            sleep(
                port,
                Needs::Gate((0, 0, print), port.fabric.all.members.clone()),
                || turn.is_some_and(|turn| gate.turned_by(turn).is_some()),
            )
        });
        for result in &results {
            let kind = result.as_ref().map_err(Error::kind);
            assert!(matches!(kind, Err(ErrorKind::Deadlock(_))), "{results:?}");
        }
    });
}
