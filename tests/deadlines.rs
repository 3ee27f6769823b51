//! A wait with its own deadline, in a world with a watchdog, ends at whichever comes first.
//!
//! The later of the two is an hour away: a wait that used it would hang.

mod support;

use std::sync::Barrier;
use std::time::Duration;

use rankfold::{Comm, Error, ErrorKind, Outcome, Source, World};
use support::guarded;

const SOON: Duration = Duration::from_millis(2);
const LATE: Duration = Duration::from_secs(3600);

/// Returns the error of a receive of rank 0 for which nothing is ever sent while rank 1 runs.
fn in_vain(world: World, receive: impl Fn(&Comm) -> Result<(), Error> + Sync) -> Error {
    let over = Barrier::new(2);
    let run = || {
        world.run_each(|comm| {
            let received = match comm.rank() {
                0 => receive(comm),
                _ => Ok(()),
            };
            over.wait();
            Ok(received.err())
        })
    };
    let report = guarded(&|| "a receive in vain".into(), run);
    match report.outcomes.into_iter().next() {
        Some(Outcome::Returned(Some(error))) => error,
        other => panic!("{other:?}"),
    }
}

fn assert_timed_out(error: &Error) {
    assert!(
        matches!(error.kind(), ErrorKind::TimedOut { .. }),
        "{error}"
    );
}

#[test]
fn the_watchdog_ends_a_receive_whose_own_deadline_is_later() {
    let error = in_vain(World::new(2).timeout(SOON), |comm| {
        comm.recv_timeout::<u8>(1, 0, LATE).map(|_| ())
    });
    assert_timed_out(&error);
}

#[test]
fn the_watchdog_ends_a_receive_from_anybody_whose_own_deadline_is_later() {
    let error = in_vain(World::new(2).timeout(SOON), |comm| {
        comm.recv_timeout::<u8>(Source::Any, 0, LATE).map(|_| ())
    });
    assert_timed_out(&error);
}

#[test]
fn a_receive_ends_at_its_own_deadline_where_the_watchdogs_is_later() {
    let error = in_vain(World::new(2).timeout(LATE), |comm| {
        comm.recv_timeout::<u8>(1, 0, SOON).map(|_| ())
    });
    assert_timed_out(&error);
}

/// Every rank runs into its deadline after the one before it has ended with such an error. If each report held the
/// whole errors of the ranks that had ended, its length would double from rank to rank.
#[test]
fn a_report_holds_only_the_beginning_of_the_errors_of_ranks_that_ended() {
    const RANKS: usize = 18;
    let run = || {
        World::new(RANKS).run_each(|comm| {
            let before = (comm.rank() + RANKS - 1) % RANKS;
            if comm.rank() != 1 {
                comm.recv::<u8>(before, 0).unwrap_err();
            }
            match comm.rank() {
                0 => Ok(()),
                _ => comm.recv_timeout::<u8>(0, 1, SOON).map(|_| ()),
            }
        })
    };
    let report = guarded(&|| "deadlines, one after another".into(), run);
    for outcome in &report.outcomes[1..] {
        let Outcome::Failed(error) = outcome else {
            panic!("{outcome:?}");
        };
        assert_timed_out(error);
        let text = error.to_string();
        assert!(
            text.len() < 300 * RANKS,
            "{} bytes: {text:.2000}",
            text.len()
        );
    }
}
