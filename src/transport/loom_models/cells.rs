//! Proves that what ranks write into cells for each other is read whole and in order, that no cell is overwritten while
//! a rank may read it, and that a rank that waits for others to leave a call is woken.
//!
//! The cells are the real ones, in loom's cells, which report every access that is not ordered with the ones before. A
//! rank has two of them here, so that they are soon overwritten.
//!
//! Checked by hand: the models fail with the release of a number or of the word that counts the calls left relaxed, or
//! the acquire of either; with room for one call more than there is; with a cell that claims that its writer knows all
//! of the calls before; with an epoch that is taken to mean that its own call was left too; with nothing learnt from a
//! cell; without a check for waiting ranks after leaving. Not noticed, within a minute each: a floor above the rank's
//! own call in `find_lagging`, and `after_leaving` without its fence.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loom::thread;

use super::{explore, prepared_world, sleep};
use crate::Rank;
use crate::error::Result;
use crate::transport::Fabric;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::cells::{CellPort, Cells};
use crate::transport::memory::stamp::Stamp;
use crate::transport::port::Port;

/// A message that is stored beside its number, and one that is not.
const SHORT: usize = 1;
const LONG: usize = 9;

/// Number of looks that each of three ranks takes.
const FEW: usize = 3;

fn stamp(call: u32) -> Stamp {
    Stamp {
        print: 7 * call,
        number: call,
    }
}

/// The message of a rank in a call: it differs from those of all other ranks and calls.
fn message(of: Rank, call: u32, length: usize) -> Vec<u32> {
    vec![100 * (of as u32 + 1) + call; length]
}

/// Looks until something is there. Three ranks that look repeatedly have too many orders, so each of those gives up
/// after a few unsuccessful looks.
fn until(ranks: usize, mut come: impl FnMut() -> bool) -> Option<()> {
    let looks = if ranks > 2 { FEW } else { usize::MAX };
    for _ in 0..looks {
        if come() {
            return Some(());
        }
        thread::yield_now();
    }
    None
}

fn post(cell_port: &mut CellPort, me: Rank, call: u32, length: usize) {
    cell_port.post(stamp(call), &message(me, call, length));
}

fn read(cell_port: &mut CellPort, from: Rank, call: u32, length: usize) {
    let mut whole = false;
    let found = cell_port.find(from, 0).expect("it was there");
    let opened = found.open(stamp(call), length, |data: &[u32]| {
        whole = data == message(from, call, length);
    });
    assert!(whole, "another message than was written");
    cell_port.learn(opened.ok().expect("a message of this call"));
}

/// Starts `ranks` ranks, each of which runs `life` at its port. In some order all of them finish.
fn at_ports(
    ranks: usize,
    preemptions: usize,
    life: impl Fn(Rank, &mut CellPort) -> Option<()> + Copy + Send + Sync + 'static,
) {
    let through = Arc::new(AtomicBool::new(false));
    let seen = through.clone();
    explore(Some(preemptions), move || {
        let cells = Arc::new(Cells::new(ranks));
        let start = |me| {
            let mut cell_port = CellPort::new(cells.clone(), me);
            move || life(me, &mut cell_port)
        };
        let mut first = start(0);
        let others: Vec<_> = (1..ranks).map(|me| thread::spawn(start(me))).collect();
        let mut ends = vec![first()];
        ends.extend(others.into_iter().map(|rank| rank.join().unwrap()));
        if ends.iter().all(Option::is_some) {
            seen.store(true, Ordering::Relaxed);
        }
    });
    assert!(through.load(Ordering::Relaxed), "all went home");
}

/// Two ranks that read each other's cells in every call never wait for room.
fn exchange(me: Rank, cell_port: &mut CellPort, length: usize) -> Option<()> {
    for call in 0..4 {
        assert!(
            cell_port.lagging().is_none(),
            "both have left the calls before"
        );
        post(cell_port, me, call, length);
        until(2, || cell_port.missing(0).is_none())?;
        read(cell_port, 1 - me, call, length);
        cell_port.leave(stamp(call));
    }
    Some(())
}

#[test]
fn short_exchanges_are_read_before_they_are_overwritten() {
    at_ports(2, 3, |me, cell_port| exchange(me, cell_port, SHORT));
}

#[test]
fn longer_exchanges_are_read_before_they_are_overwritten() {
    at_ports(2, 3, |me, cell_port| exchange(me, cell_port, LONG));
}

/// Each call has its own writer, and all other ranks read.
fn stream(
    ranks: usize,
    roots: &[Rank],
    me: Rank,
    cell_port: &mut CellPort,
    length: usize,
) -> Option<()> {
    for (call, &root) in (0..).zip(roots) {
        if me == root {
            until(ranks, || cell_port.lagging().is_none())?;
            post(cell_port, me, call, length);
        } else {
            until(ranks, || cell_port.is_here(root))?;
            read(cell_port, root, call, length);
        }
        cell_port.leave(stamp(call));
    }
    Some(())
}

#[test]
fn a_root_that_runs_ahead_overwrites_nothing_that_is_read() {
    at_ports(2, 3, |me, cell_port| {
        stream(2, &[0; 4], me, cell_port, LONG)
    });
}

#[test]
fn a_root_waits_for_the_slower_of_two_readers() {
    at_ports(3, 2, |me, cell_port| {
        stream(3, &[0; 3], me, cell_port, SHORT)
    });
}

/// Rank 1 receives from rank 0, which knows nothing of rank 2, before it writes its first cell again.
#[test]
fn a_cell_says_no_more_of_who_has_left_than_its_writer_knew() {
    at_ports(3, 2, |me, cell_port| {
        stream(3, &[1, 0, 1], me, cell_port, SHORT)
    });
}

/// Three ranks meet at the first: a rank that reads its cell learns that all have left the calls before.
#[test]
fn what_the_first_of_three_knows_is_passed_on_with_its_cell() {
    at_ports(3, 2, |me, cell_port| {
        for call in 0..3 {
            assert!(!cell_port.must_ask(), "it has been told");
            if me > 0 {
                post(cell_port, me, call, SHORT);
                until(3, || cell_port.is_here(0))?;
                read(cell_port, 0, call, SHORT);
            } else {
                until(3, || cell_port.missing(0).is_none())?;
                (1..3).for_each(|from| read(cell_port, from, call, SHORT));
                post(cell_port, me, call, SHORT);
            }
            cell_port.leave(stamp(call));
        }
        Some(())
    });
}

/// A rank that has seen the cells of all ranks knows that they are in that call, and not that they have left it.
#[test]
fn after_a_epoch_a_root_that_runs_ahead_waits_for_who_still_reads() {
    at_ports(2, 3, |me, cell_port| {
        post(cell_port, me, 0, LONG);
        until(2, || cell_port.missing(0).is_none())?;
        read(cell_port, 1 - me, 0, LONG);
        cell_port.leave(stamp(0));
        for call in 1..3 {
            if me == 0 {
                until(2, || cell_port.lagging().is_none())?;
                post(cell_port, me, call, SHORT);
            } else {
                until(2, || cell_port.is_here(0))?;
                read(cell_port, 0, call, SHORT);
            }
            cell_port.leave(stamp(call));
        }
        Some(())
    });
}

/// Rank 1 writes a message that is never read, as the root of a reduction does, and may be overtaken in its own call.
#[test]
fn a_rank_that_is_overtaken_has_not_left_its_own_call() {
    at_ports(2, 3, |me, cell_port| {
        for call in 0..4 {
            until(2, || cell_port.lagging().is_none())?;
            post(cell_port, me, call, SHORT);
            if me == 1 {
                until(2, || cell_port.is_here(0))?;
                read(cell_port, 0, call, SHORT);
            }
            cell_port.leave(stamp(call));
        }
        Some(())
    });
}

#[test]
fn two_communicators_are_not_in_each_other_s_way() {
    explore(Some(2), || {
        let both = [0, 1].map(|_| Arc::new(Cells::new(2)));
        let life = |me: Rank| {
            let mut cell_ports = both
                .each_ref()
                .map(|cells| CellPort::new(cells.clone(), me));
            move || {
                for call in 0..3 {
                    // The message that one rank writes first, the other reads last.
                    for cell_port in &mut cell_ports {
                        post(cell_port, me, call, SHORT);
                    }
                    for cell_port in cell_ports.iter_mut().rev() {
                        until(2, || cell_port.missing(0).is_none());
                        read(cell_port, 1 - me, call, SHORT);
                        cell_port.leave(stamp(call));
                    }
                }
            }
        };
        let second = thread::spawn(life(1));
        life(0)();
        second.join().unwrap();
    });
}

/// Two ranks and their cells. The cells are created before the threads, since loom does not see what decides which rank
/// creates them first.
fn world_of_cells(life: impl Fn(&Port) -> Result<()> + 'static) {
    let cells = Arc::new(Cells::new(2));
    let prepare = |fabric: &Fabric| assert!(fabric.all.cells.set(cells).is_ok());
    let (_, results) = prepared_world(2, prepare, life);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// The last stage of the waits in `engine::at_cells`.
struct Sleepy<'a> {
    port: &'a Port,
    cell_port: CellPort,
}

impl Sleepy<'_> {
    fn new(port: &Port) -> Sleepy<'_> {
        let cell_port = port.fabric.all.cell_port(port.me);
        Sleepy { port, cell_port }
    }

    fn post(&mut self, call: u32) -> Result<()> {
        if self.cell_port.lagging().is_some() {
            let cells = self.cell_port.cells();
            let _waiting = cells.wait_for_room();
            let cell_port = RefCell::new(&mut self.cell_port);
            sleep(self.port, Needs::One(1 - self.port.me), || {
                cell_port.borrow_mut().lagging().is_none()
            })?;
        }
        let me = self.port.me;
        self.cell_port.post(stamp(call), &message(me, call, SHORT));
        self.port.fabric.all.rouse_others(me);
        Ok(())
    }

    fn read(&mut self, call: u32) -> Result<()> {
        let from = 1 - self.port.me;
        let here = || self.cell_port.is_here(from);
        sleep(self.port, Needs::One(from), here)?;
        read(&mut self.cell_port, from, call, SHORT);
        Ok(())
    }

    fn leave(&mut self, call: u32) {
        self.cell_port.leave(stamp(call));
        self.port.fabric.all.after_leaving(&self.cell_port);
    }
}

#[test]
fn a_root_that_sleeps_until_its_reader_has_left_is_woken() {
    explore(Some(3), || {
        world_of_cells(|port| {
            let mut rank = Sleepy::new(port);
            for call in 0..3 {
                match port.me {
                    0 => rank.post(call)?,
                    _ => rank.read(call)?,
                }
                rank.leave(call);
            }
            Ok(())
        });
    });
}

#[test]
fn ranks_that_sleep_for_each_other_s_cells_are_woken() {
    explore(Some(3), || {
        world_of_cells(|port| {
            let mut rank = Sleepy::new(port);
            for call in 0..2 {
                rank.post(call)?;
                rank.read(call)?;
                rank.leave(call);
            }
            Ok(())
        });
    });
}
