//! Proves that what one run leaves at the endpoints says nothing in the next: a rank that has returned is there again, what
//! it sends before it returns once more is found, and the run after it finds its end.
//!
//! The registry, the flags and the last stage of the wait are the real ones. That whoever starts the ranks of a run has
//! seen the end of those before is a join here; `job_slot` proves it of what a team has for it.
//!
//! Checked by hand that the models can fail: if the flag of a rank that has ended said the same in every run, if what
//! the registry knows of ends is kept, and if a rank took itself to be in the run before. Not noticed: a relaxed store in
//! `depart` or load in `has_left`. Not decided within a minute: without the look at who has left of a rank that lies
//! down, and without the fence of one that leaves (`shrink` notices that).

use loom::sync::Arc as LoomArc;
use loom::thread;

use super::{Mail, explore, sleep};
use crate::error::{Error, ErrorKind};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;
use crate::transport::{Fabric, Settings};

/// What the ranks of a run do.
#[derive(Clone, Copy)]
enum Deed {
    /// Nothing but return.
    Nothing,
    /// Rank 1 sends a message, and rank 0 waits until it has sent so many.
    Send(u32),
    /// Rank 0 waits for what rank 1 does not send.
    Miss,
}

impl Deed {
    fn is_quiet(self) -> bool {
        matches!(self, Deed::Nothing)
    }

    /// Rank 0's part.
    fn of_first(self, port: &Port, mail: &Mail) {
        match self {
            Deed::Nothing => {}
            Deed::Send(count) => mail.recv(port, 1, count).expect("it was sent"),
            Deed::Miss => {
                let missed = sleep(port, Needs::One(1), || false);
                let kind = missed.as_ref().map_err(Error::kind);
                assert!(
                    matches!(kind, Err(ErrorKind::RankGone { .. })),
                    "{missed:?}"
                );
            }
        }
        port.record_return();
    }

    /// Rank 1's.
    fn of_second(self, port: &Port, mail: &Mail) {
        if let Deed::Send(_) = self {
            mail.send(port, 0);
        }
        port.record_return();
    }
}

/// Two ranks live through these runs, one after the other.
fn runs(deeds: &[Deed]) {
    let fabric = Fabric::new(2, Settings::default());
    // What makes it at its first use knows nothing of loom.
    fabric.all.epoch();
    let mail = LoomArc::new(Mail::new(2));
    // Not on the stack of a modelled thread, which is small.
    let (first, mut second) = (Box::new(fabric.port(0)), Box::new(fabric.port(1)));
    let mut before: Option<Deed> = None;
    for &deed in deeds {
        if let Some(before) = before {
            let again = fabric.begin_again(before.is_quiet());
            first.begin_again(again);
            second.begin_again(again);
        }
        let theirs = mail.clone();
        let rank = thread::spawn(move || {
            deed.of_second(&second, &theirs);
            second
        });
        deed.of_first(&first, &mail);
        second = rank.join().unwrap();
        before = Some(deed);
    }
}

#[test]
fn who_has_returned_is_there_in_the_next_run() {
    explore(Some(3), || runs(&[Deed::Send(1), Deed::Send(2)]));
}

#[test]
fn who_was_missed_is_there_in_the_next_run() {
    explore(Some(3), || runs(&[Deed::Miss, Deed::Send(1)]));
}

#[test]
fn who_did_nothing_in_one_run_is_there_in_the_next_and_gone_after_that() {
    explore(Some(3), || {
        runs(&[Deed::Nothing, Deed::Send(1), Deed::Miss])
    });
}

#[test]
fn who_was_gone_two_runs_ago_is_there() {
    explore(Some(2), || {
        runs(&[Deed::Nothing, Deed::Send(1), Deed::Send(2)])
    });
}
