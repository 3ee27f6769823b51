//! Proves that the lock of a window's part lets in one writer or any readers, who see what was written before; that no
//! grant, post or completion is slept through; that ranks which wait for each other's locks are told, and no others;
//! and that all ranks of a fence know alike whether anything was put.
//!
//! The part, its lock, the exposure, the gate, the registry and the last stage of the wait are the real ones.
//!
//! Checked by hand. A lock that is granted to a writer beside readers, or to a reader beside a writer: the elements
//! race. Without the rouse in `PartLock::remove`, or before the removal instead of after it, or if `turn` does not
//! count: a rank sleeps for ever. If `remove` rouses only those whose turn it is, or if `blockers` names requests that
//! do not exclude this one: ranks that are not stuck are named. Without `Waiter`'s destructor the locks are still taken
//! after the deadlock. Without the rouse after `post` or after `complete`: a rank sleeps for ever. If `PutsIn` is noted
//! after the ranks have met, one of them meets the others once more and the other does not.

use std::panic::Location;

use loom::sync::Arc;

use super::{Mail, explore, world};
use crate::Rank;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::communicator::exposure::Exposure;
use crate::transport::communicator::gate::{Arrival, Gate};
use crate::transport::communicator::puts_in::PutsIn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::part_lock::{Held, LockRequest, Mode};
use crate::transport::memory::window::WindowPart;
use crate::transport::port::Port;
use crate::transport::progress::reason::Reason;

/// What `comm/window/waiting.rs` does.
fn wait_for(port: &Port, needs: &dyn Fn() -> Vec<Rank>, look: impl Fn() -> bool) -> Result<()> {
    let reason = Reason {
        call: &|| "modelled".into(),
        site: Location::caller(),
        needs: &|| Needs::All(needs()),
        comm: None,
        also: &[],
        collective: None,
        turn: None,
        deadline: None,
        choice: None,
        needs_buffer: false,
    };
    port.sleep(&reason, || look().then_some(()))
}

fn take<'a>(port: &'a Port, part: &'a WindowPart<u32>, mode: Mode) -> Result<Held<'a>> {
    let request = LockRequest {
        rank: port.me,
        part: 0,
        mode,
        site: Location::caller(),
    };
    part.lock.take(request, &*port.fabric.all, |waiter| {
        wait_for(port, &|| waiter.blockers(), || waiter.is_granted())
    })
}

fn read<R>(port: &Port, part: &WindowPart<u32>, f: impl FnOnce(&[u32]) -> R) -> R {
    let held = take(port, part, Mode::Shared).unwrap();
    f(part.shared(held).elements())
}

fn write<R>(port: &Port, part: &WindowPart<u32>, f: impl FnOnce(&mut [u32]) -> R) -> R {
    let held = take(port, part, Mode::Exclusive).unwrap();
    f(part.exclusive(held).elements_mut())
}

fn part() -> Arc<WindowPart<u32>> {
    Arc::new(WindowPart::new(vec![0]))
}

#[test]
fn two_writers_write_one_after_the_other() {
    explore(None, || {
        let part = part();
        let (_, found) = world(2, move |port| {
            write(port, &part, |part| {
                part[0] += 1;
                part[0]
            })
        });
        assert_eq!(found.iter().sum::<u32>(), 3, "{found:?}");
    });
}

#[test]
fn a_writer_and_two_readers_are_never_inside_at_once() {
    explore(Some(3), || {
        let part = part();
        world(3, move |port| match port.me {
            0 => write(port, &part, |part| part[0] = 7),
            _ => read(port, &part, |part| assert!([0, 7].contains(&part[0]))),
        });
    });
}

/// The writer needs both readers. One of them gives the lock up and then waits for the writer, which is free as soon as
/// the other one does.
#[test]
fn a_reader_that_has_left_may_wait_for_the_writer() {
    explore(Some(3), || {
        let (part, mail) = (part(), Arc::new(Mail::new(3)));
        let (fabric, _) = world(3, move |port| match port.me {
            0 => {
                write(port, &part, |part| part[0] = 7);
                mail.send(port, 1);
            }
            1 => {
                read(port, &part, |_| ());
                mail.recv(port, 0, 1).unwrap();
            }
            _ => read(port, &part, |_| ()),
        });
        assert!(fabric.open_registry().deadlocks.is_empty());
    });
}

/// Both readers get the lock at once, and one of them may wait for the other before that one was told.
#[test]
fn a_reader_that_was_let_in_may_wait_for_one_that_is_told_next() {
    explore(Some(3), || {
        let (part, mail) = (part(), Arc::new(Mail::new(3)));
        let (fabric, _) = world(3, move |port| match port.me {
            0 => write(port, &part, |part| {
                part[0] = 7;
                mail.send(port, 1);
                mail.send(port, 2);
            }),
            me => {
                mail.recv(port, 0, 1).unwrap();
                read(port, &part, |_| match me {
                    1 => mail.recv(port, 2, 1).unwrap(),
                    _ => mail.send(port, 1),
                });
            }
        });
        assert!(fabric.open_registry().deadlocks.is_empty());
    });
}

#[test]
fn two_that_lock_in_opposite_orders_are_both_told_and_give_up_what_they_have() {
    explore(Some(4), || {
        let parts = [part(), part()];
        let kept = parts.clone();
        let (_, results) = world(2, move |port| {
            let _mine = take(port, &kept[port.me], Mode::Exclusive)?;
            take(port, &kept[1 - port.me], Mode::Exclusive).map(drop)
        });
        let told = |result: &Result<()>| {
            let kind = result.as_ref().map_err(Error::kind);
            matches!(kind, Err(ErrorKind::Deadlock(_)))
        };
        // If one gets both locks before the other begins, neither waits for long.
        assert!(results.iter().all(told) || results.iter().all(Result::is_ok));
        let (_, free) = world(1, move |port| {
            parts
                .iter()
                .all(|part| take(port, part, Mode::Exclusive).is_ok())
        });
        assert_eq!(free, [true]);
    });
}

#[test]
fn what_an_origin_puts_is_written_when_the_target_waits() {
    explore(Some(4), || {
        let (part, exposure) = (part(), Arc::new(Exposure::new()));
        world(2, move |port| {
            let comm = &port.fabric.all;
            if port.me == 0 {
                write(port, &part, |part| part[0] = 5);
                exposure.post(&[1], Location::caller()).unwrap();
                comm.rouse(1);
                let through = || exposure.incomplete().is_empty();
                wait_for(port, &|| exposure.incomplete(), through).unwrap();
                exposure.end();
                write(port, &part, |part| part[0] += 2);
            } else {
                wait_for(port, &|| vec![0], || exposure.start(1).is_some()).unwrap();
                read(port, &part, |part| assert_eq!(part[0], 5));
                exposure.complete(1, 1);
                comm.rouse(0);
            }
        });
    });
}

/// Two fences in a row; something is put before the second.
#[test]
fn both_ranks_of_a_fence_know_whether_anything_was_put() {
    explore(Some(4), || {
        let shared = Arc::new((Gate::new(), PutsIn::new()));
        world(2, move |port| {
            let (gate, puts_in) = &*shared;
            for fence in 0..2 {
                if fence == 1 && port.me == 0 {
                    puts_in.note(fence);
                }
                meet(gate, fence, port.me);
                assert_eq!(puts_in.is(fence), fence == 1);
                if fence == 1 {
                    meet(gate, fence, port.me);
                }
            }
        });
    });
}

fn meet(gate: &Gate, print: u32, me: Rank) {
    match gate.arrive(2, print) {
        Arrival::Last(turn) => gate.turn(turn, me),
        Arrival::Early(turn) => {
            while gate.turned_by(turn).is_none() {
                loom::thread::yield_now();
            }
        }
        Arrival::Strange => panic!("both ranks are in the same fence"),
    }
}
