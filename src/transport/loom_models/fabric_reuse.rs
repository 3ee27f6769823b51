//! Proves that what one run leaves at the endpoints has no meaning in the next: a rank that has returned is there
//! again, what it sends before it returns once more is found, and the run after it finds its end.
//!
//! The registry, the flags and the last stage of the wait are the real ones. That the thread which starts the ranks of
//! a run has seen the end of those before is a join here; `job_slot` proves it for the mechanism of a team.
//!
//! Checked by hand: the models fail if the flag of a rank that has ended has the same value in every run, if the
//! registry keeps its record of ends, and if a rank takes itself to be in the run before. Not noticed: a relaxed store
//! in `depart` or load in `has_left`. Not decided within a minute: without the look at which ranks have left by a rank
//! that goes to sleep, and without the fence of one that leaves (`shrink` notices that).

use loom::sync::Arc as LoomArc;
use loom::thread;

use super::{Mail, explore, sleep};
use crate::error::{Error, ErrorKind};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;
use crate::transport::{Fabric, Settings};

/// What the ranks of a run do.
#[derive(Clone, Copy)]
enum Action {
    /// They only return.
    Nothing,
    /// Rank 1 sends a message, and rank 0 waits until it has sent this many.
    Send(u32),
    /// Rank 0 waits for a message that rank 1 does not send.
    Miss,
}

impl Action {
    fn is_quiet(self) -> bool {
        matches!(self, Action::Nothing)
    }

    /// Rank 0's part.
    fn of_first(self, port: &Port, mail: &Mail) {
        match self {
            Action::Nothing => {}
            Action::Send(count) => mail.recv(port, 1, count).expect("it was sent"),
            Action::Miss => {
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

    /// Rank 1's part.
    fn of_second(self, port: &Port, mail: &Mail) {
        if let Action::Send(_) = self {
            mail.send(port, 0);
        }
        port.record_return();
    }
}

/// Two ranks run these runs, one after the other.
fn runs(actions: &[Action]) {
    let fabric = Fabric::new(2, Settings::default());
    // Loom does not see what creates it at its first use.
    fabric.all.epoch();
    let mail = LoomArc::new(Mail::new(2));
    // Not on the stack of a modelled thread, which is small.
    let (first, mut second) = (Box::new(fabric.port(0)), Box::new(fabric.port(1)));
    let mut before: Option<Action> = None;
    for &action in actions {
        if let Some(before) = before {
            let again = fabric.begin_again(before.is_quiet());
            first.begin_again(again);
            second.begin_again(again);
        }
        let theirs = mail.clone();
        let rank = thread::spawn(move || {
            action.of_second(&second, &theirs);
            second
        });
        action.of_first(&first, &mail);
        second = rank.join().unwrap();
        before = Some(action);
    }
}

#[test]
fn who_has_returned_is_there_in_the_next_run() {
    explore(Some(3), || runs(&[Action::Send(1), Action::Send(2)]));
}

#[test]
fn who_was_missed_is_there_in_the_next_run() {
    explore(Some(3), || runs(&[Action::Miss, Action::Send(1)]));
}

#[test]
fn who_did_nothing_in_one_run_is_there_in_the_next_and_gone_after_that() {
    explore(Some(3), || {
        runs(&[Action::Nothing, Action::Send(1), Action::Miss])
    });
}

#[test]
fn who_was_gone_two_runs_ago_is_there() {
    explore(Some(2), || {
        runs(&[Action::Nothing, Action::Send(1), Action::Send(2)])
    });
}
