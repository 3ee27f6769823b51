//! Proves that a rank that lends to another and sleeps until that rank has read is always woken: when the loan is
//! settled, when the other dies without looking, or because both do nothing but wait. In every case it may write its
//! buffer again when [`Port::lend`] returns.
//!
//! `Port::lend`, [`Packet::open`](crate::transport::memory::packet::Packet::open), the registry and the last stage of
//! the wait are the real ones, as in a step of a schedule whose message is long.
//!
//! Checked by hand: with a `settle` that does not rouse the lender, all models in which a rank reads fail.

use loom::sync::Arc;

use super::loan::Between;
use super::{explore, sleep, world};
use crate::Rank;
use crate::error::{Error, ErrorKind, Result};
use crate::op::elements::Elements;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::head::Head;
use crate::transport::port::Port;

/// What is on its way to each of two ranks.
struct Ways([Arc<Between>; 2]);

impl Ways {
    fn new() -> Ways {
        Ways([Between::new(), Between::new()])
    }

    /// Lends to the other rank, runs `meanwhile`, and sleeps until the loan is settled.
    fn lend(&self, port: &Port, meanwhile: impl FnOnce() -> Result<()>) -> Result<()> {
        let to = 1 - port.me;
        let way = &self.0[to];
        way.buffers[0].set(1);
        let head = Head::new(0, port.me, 0, 0);
        let lent = port.lend(
            to,
            head,
            Elements::of(&[0_usize; 100]),
            |packet| {
                way.post(packet);
                port.fabric.all.rouse(to);
                Ok(())
            },
            meanwhile,
            |loan| sleep(port, Needs::One(to), || loan.is_settled()),
        );
        way.buffers[0].set(2);
        lent
    }

    /// Sleeps until the other's packet has arrived, and reads what it lends.
    fn read(&self, port: &Port) -> Result<()> {
        let way = &self.0[port.me];
        sleep(port, Needs::One(1 - port.me), || {
            way.read(port).is_some_and(|read| read)
        })
    }
}

fn between_two(life: impl Fn(&Port, &Ways) -> Result<()> + 'static) -> Vec<Result<()>> {
    let ways = Ways::new();
    world(2, move |port| life(port, &ways)).1
}

/// Records the end of a rank, and returns its result.
fn and_end(port: &Port, lived: Result<()>) -> Result<()> {
    port.fabric.record_return(port.me);
    lived
}

#[test]
fn a_lender_sleeps_until_it_is_read() {
    explore(None, || {
        let results = between_two(|port, ways| match port.me {
            0 => ways.lend(port, || Ok(())),
            _ => ways.read(port),
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    });
}

#[test]
fn two_that_lend_to_each_other_and_read_meanwhile_both_come_back() {
    explore(Some(3), || {
        let results = between_two(|port, ways| ways.lend(port, || ways.read(port)));
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    });
}

#[test]
fn a_lender_learns_that_its_reader_ended_without_a_look() {
    explore(None, || {
        let results = between_two(|port, ways| match port.me {
            0 => ways.lend(port, || Ok(())),
            _ => and_end(port, Ok(())),
        });
        assert!(is_gone(&results[0], 1), "{results:?}");
    });
}

#[test]
fn a_reader_learns_that_its_lender_ended_meanwhile() {
    explore(Some(4), || {
        let results = between_two(|port, ways| match port.me {
            0 => and_end(
                port,
                ways.lend(port, || Err(Error::new(ErrorKind::Injected))),
            ),
            _ => ways.read(port),
        });
        assert!(results[1].is_ok() || is_gone(&results[1], 0), "{results:?}");
    });
}

#[test]
fn two_that_only_lend_are_a_knot() {
    explore(Some(3), || {
        let results = between_two(|port, ways| ways.lend(port, || Ok(())));
        let knotted = |result: &Result<()>| {
            let kind = result.as_ref().map_err(Error::kind);
            matches!(kind, Err(ErrorKind::Deadlock(_)))
        };
        assert!(results.iter().all(knotted), "{results:?}");
    });
}

fn is_gone(result: &Result<()>, who: Rank) -> bool {
    let kind = result.as_ref().map_err(Error::kind);
    matches!(kind, Err(ErrorKind::RankGone { rank, .. }) if *rank == who)
}
