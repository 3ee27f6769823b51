//! Proves that the detector is exact: a correct exchange is never taken for a deadlock; a real deadlock is found by
//! exactly one of its ranks and every rank in it gets out; and a rank that a post wakes at that moment is never named
//! as stuck.
//!
//! The registry, `wait_for_graph::stuck`, the sleepers and the last stage of the wait are the real ones.
//!
//! Checked by hand: if `states` does not ask whether a rank is `asleep`, or if `wake` only unparks and does not mark,
//! the token is taken for a deadlock. Without the look after lying down, so is an exchange. If a broken communicator
//! does not count in `is_over`, a rank that is about to be told of it is named. Without the entry of a rank in a bound
//! wait, no rank that waits for it is ever told; if that rank counts as waiting though it is not `asleep`, a correct
//! exchange with it is a deadlock. If who takes in the end of a rank that has returned does not wake the ranks that
//! need it, these and all behind them are taken for a deadlock.

use std::sync::Arc;

use loom::sync::Arc as LoomArc;
use loom::sync::atomic::Ordering;

use super::{Mail, explore, sleep_in, world};
use crate::Rank;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::Fabric;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::port::Port;

/// Runs `life` on `ranks` ranks, with mail between them.
fn with_mail<R: 'static>(
    ranks: usize,
    life: impl Fn(&Port, &Mail) -> R + 'static,
) -> (Arc<Fabric>, Vec<R>) {
    let mail = LoomArc::new(Mail::new(ranks));
    world(ranks, move |port| life(port, &mail))
}

fn deadlocks(fabric: &Fabric) -> Vec<Vec<Rank>> {
    let registry = fabric.open_registry();
    let ranks = |stuck: &[crate::error::Stuck]| stuck.iter().map(|stuck| stuck.rank).collect();
    registry
        .deadlocks
        .iter()
        .map(|deadlock| ranks(&deadlock.stuck))
        .collect()
}

fn is_deadlock(result: &Result<()>) -> bool {
    matches!(
        result.as_ref().map_err(Error::kind),
        Err(ErrorKind::Deadlock(_))
    )
}

/// Rank 0 sends a token that each rank waits for and passes on.
fn pass_the_token(port: &Port, mail: &Mail, ranks: usize) -> Result<()> {
    let (left, right) = ((port.me + ranks - 1) % ranks, (port.me + 1) % ranks);
    if port.me == 0 {
        mail.send(port, right);
    }
    mail.recv(port, left, 1)?;
    if port.me > 0 {
        mail.send(port, right);
    }
    Ok(())
}

fn a_token_is_no_deadlock(ranks: usize) {
    let (fabric, results) = with_mail(ranks, move |port, mail| pass_the_token(port, mail, ranks));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!(deadlocks(&fabric).is_empty());
}

#[test]
fn a_token_between_two_is_no_deadlock() {
    explore(None, || a_token_is_no_deadlock(2));
}

#[test]
fn a_token_between_three_is_no_deadlock() {
    explore(Some(4), || a_token_is_no_deadlock(3));
}

#[test]
fn an_exchange_is_no_deadlock() {
    explore(None, || {
        let (fabric, results) = with_mail(2, |port, mail| {
            mail.send(port, 1 - port.me);
            mail.recv(port, 1 - port.me, 1)
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert!(deadlocks(&fabric).is_empty());
    });
}

fn a_cycle_is_found_once(ranks: usize) {
    let (fabric, results) = with_mail(ranks, move |port, mail| {
        mail.recv(port, (port.me + 1) % ranks, 1)
    });
    assert!(results.iter().all(is_deadlock), "{results:?}");
    assert_eq!(deadlocks(&fabric), [(0..ranks).collect::<Vec<_>>()]);
}

#[test]
fn a_cycle_of_two_is_found_once() {
    explore(None, || a_cycle_is_found_once(2));
}

#[test]
fn a_cycle_of_three_is_found_once() {
    explore(Some(3), || a_cycle_is_found_once(3));
}

/// Sleeps in a bound wait until the other rank has sent a message.
fn stay_bound(port: &Port, mail: &Mail) {
    let other = 1 - port.me;
    let line = mail.line(other, port.me);
    port.sleep_bound(&|| Needs::One(other), || line.load(Ordering::Relaxed) > 0);
}

#[test]
fn who_waits_for_a_rank_that_is_bound_to_wait_for_it_is_told() {
    explore(None, || {
        let (fabric, results) = with_mail(2, |port, mail| match port.me {
            0 => {
                stay_bound(port, mail);
                Ok(())
            }
            _ => {
                let told = mail.recv(port, 0, 1);
                mail.send(port, 0);
                told
            }
        });
        assert!(
            results[0].is_ok() && is_deadlock(&results[1]),
            "{results:?}"
        );
        assert_eq!(deadlocks(&fabric), [[1]]);
    });
}

#[test]
fn an_exchange_with_a_rank_that_is_bound_to_wait_is_no_deadlock() {
    explore(None, || {
        let (fabric, results) = with_mail(2, |port, mail| match port.me {
            0 => {
                stay_bound(port, mail);
                mail.send(port, 1);
                Ok(())
            }
            _ => {
                mail.send(port, 0);
                mail.recv(port, 0, 1)
            }
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert!(deadlocks(&fabric).is_empty());
    });
}

#[test]
fn who_is_woken_by_a_post_just_then_is_not_named() {
    explore(Some(5), || {
        // Ranks 0 and 1 wait for each other; rank 2 waits for rank 0 too, which has sent what it needs.
        let (fabric, results) = with_mail(3, |port, mail| match port.me {
            0 => {
                mail.send(port, 2);
                mail.recv(port, 1, 1)
            }
            1 => mail.recv(port, 0, 1),
            _ => mail.recv(port, 0, 1),
        });
        assert!(
            is_deadlock(&results[0]) && is_deadlock(&results[1]),
            "{results:?}"
        );
        assert!(results[2].is_ok(), "{results:?}");
        assert_eq!(deadlocks(&fabric), [[0, 1]]);
    });
}

/// Rank 2 breaks the communicator. Rank 0 is in a collective and is told; rank 1 has seen it already and waits for what
/// rank 0 does next.
#[test]
fn who_is_about_to_be_told_of_a_failure_is_not_stuck() {
    explore(Some(4), || {
        let (fabric, results) = with_mail(3, |port, mail| {
            let comm = &port.fabric.all;
            match port.me {
                0 => {
                    let told = sleep_in(Some((comm, 0)), None, port, Needs::One(1), || false);
                    mail.send(port, 1);
                    told
                }
                1 if comm.cause.get().is_some() => mail.recv(port, 0, 1),
                1 => Ok(()),
                _ => {
                    port.fabric.break_comm(comm, &Error::usage("modelled"), 2);
                    Ok(())
                }
            }
        });
        let told = results[0].as_ref().map_err(Error::kind);
        assert!(
            matches!(told, Err(ErrorKind::Broken { rank: 2, .. })),
            "{results:?}"
        );
        assert!(results[1].is_ok(), "{results:?}");
        assert!(deadlocks(&fabric).is_empty());
    });
}

#[test]
fn the_end_of_a_rank_comes_after_all_that_it_sent() {
    explore(Some(4), || {
        let (fabric, results) = with_mail(2, |port, mail| {
            if port.me == 0 {
                mail.send(port, 1);
                port.fabric.record_return(0);
                return Ok(());
            }
            mail.recv(port, 0, 1).expect("it was sent before the end");
            mail.recv(port, 0, 2)
        });
        let gone = results[1].as_ref().map_err(Error::kind);
        assert!(
            matches!(gone, Err(ErrorKind::RankGone { rank: 0, .. })),
            "{results:?}"
        );
        assert!(deadlocks(&fabric).is_empty());
    });
}

#[test]
fn who_waits_for_a_rank_that_returns_is_not_stuck_nor_who_waits_for_that_one() {
    explore(Some(3), || {
        let (fabric, results) = with_mail(3, |port, mail| {
            let received = match port.me {
                2 => Ok(()),
                me => mail.recv(port, me + 1, 1),
            };
            port.fabric.record_return(port.me);
            received
        });
        for (rank, result) in results.iter().enumerate().take(2) {
            let gone = result.as_ref().map_err(Error::kind);
            assert!(
                matches!(gone, Err(ErrorKind::RankGone { rank: other, .. }) if *other == rank + 1),
                "{results:?}"
            );
        }
        assert!(deadlocks(&fabric).is_empty());
    });
}
