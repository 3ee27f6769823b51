//! Proves that a search for a call in another rank's log, while that rank makes more calls, finds that call or none:
//! never one of another number or communicator, nor what the same words meant for an earlier entry. That the number of
//! a rank's last call on a communicator is found at any time. And that what is told of all communicators of a rank is true:
//! one that is missing has had no call, or it is told that some are missing.
//!
//! The log and its ring are the real ones; the ring has three places here.
//!
//! Checked by hand: a model fails if calls of another communicator are not told apart, if the word of a place is not
//! taken away before its context changes, and if a number is noted after its call is overwritten. Those of `last_numbers`
//! fail if the numbers of past calls are read before the ring, or without the acquire after it; if it is noted that a
//! communicator was forgotten only after its place is another's, or without the release of that store, or if that note is
//! read before the places or without the acquire between the two.

use loom::sync::Arc;
use loom::thread;

use super::explore;
use crate::transport::communicator::call::Call;
use crate::transport::communicator::call_log::{CallLog, DEPTH};

/// Writes on the thread that runs the model, and reads on another one: see [`explore`].
fn beside(log: &Arc<CallLog>, read: impl FnOnce(&CallLog) + 'static, write: impl FnOnce(&CallLog)) {
    let reader = {
        let log = log.clone();
        thread::spawn(move || read(&log))
    };
    write(log);
    reader.join().unwrap();
}

/// The length of the call that is found.
fn find(log: &CallLog, context: u32, number: u32) -> Option<usize> {
    log.find(context, number).and_then(|call| call.length)
}

#[test]
fn a_call_that_is_made_again_is_found_under_its_own_number() {
    explore(Some(3), || {
        let log = Arc::new(CallLog::new());
        let first = log.enter(&Call::of_length(10));
        log.write(first, 2, 0);
        let read = move |log: &CallLog| {
            // Two communicators have a call of the same number.
            assert_eq!(find(log, 2, 0), Some(10));
            assert!([None, Some(20)].contains(&find(log, 4, 0)));
            assert!([None, Some(10)].contains(&find(log, 2, 1)));
        };
        beside(&log, read, |log| {
            let second = log.enter(&Call::of_length(20));
            log.write(second, 4, 0);
            log.write(first, 2, 1);
        });
        assert_eq!(find(&log, 4, 0), Some(20));
        assert_eq!(find(&log, 2, 1), Some(10));
    });
}

/// More calls than the log has space for, and more entries.
#[test]
fn what_is_overwritten_is_not_found() {
    explore(Some(2), || {
        let log = Arc::new(CallLog::new());
        let enter_and_write = |log: &CallLog, number: u32| {
            let entry = log.enter(&Call::of_length(number as usize));
            log.write(entry, 2, number);
        };
        // Entries that were never written, and as many calls as are remembered.
        for number in 0..CallLog::ENTRIES - DEPTH {
            log.enter(&Call::of_length(1000 + number));
        }
        let last = DEPTH as u32 - 1;
        (0..=last).for_each(|number| enter_and_write(&log, number));
        let read = move |log: &CallLog| {
            // The oldest call there, which is overwritten meanwhile, and the newest.
            for number in [0, last, last + 1] {
                let found = find(log, 2, number);
                assert!([None, Some(number as usize)].contains(&found), "{found:?}");
            }
        };
        beside(&log, read, |log| {
            (last + 1..last + 3).for_each(|number| enter_and_write(&log, number))
        });
        assert_eq!(find(&log, 2, 0), None);
        assert_eq!(find(&log, 2, last + 2), Some(last as usize + 2));
    });
}

/// An old entry is still written, as long as it [lasts](CallLog::LASTING).
#[test]
fn an_entry_that_lasts_is_found_after_as_many_others() {
    explore(Some(2), || {
        let log = Arc::new(CallLog::new());
        let kept = log.enter(&Call::of_length(10));
        for other in 1..CallLog::LASTING {
            log.enter(&Call::of_length(other as usize));
        }
        log.write(kept, 2, 5);
        let read = move |log: &CallLog| {
            assert_eq!(find(log, 2, 5), Some(10));
        };
        beside(&log, read, |log| {
            let entry = log.enter(&Call::of_length(90));
            log.write(entry, 4, 6);
        });
    });
}

/// One call is made on many communicators, and its place is used again: the communicator that is read with it is one on
/// which it was made.
#[test]
fn a_call_is_found_only_on_communicators_on_which_it_was_made() {
    explore(Some(3), || {
        let log = Arc::new(CallLog::new());
        let (one, other) = (
            log.enter(&Call::of_length(10)),
            log.enter(&Call::of_length(20)),
        );
        log.write(one, 2, 0);
        let read = move |log: &CallLog| {
            assert!([None, Some(20)].contains(&find(log, 4, 0)));
            assert!([None, Some(10)].contains(&find(log, 2, 0)));
        };
        beside(&log, read, |log| {
            // The places in between, and the first one again.
            (0..2).for_each(|number| log.write(one, 8, number));
            log.write(other, 4, 0);
        });
        assert_eq!(find(&log, 2, 0), None);
        assert_eq!(find(&log, 4, 0), Some(20));
    });
}

/// The last call on communicator 2 is overwritten by one on another communicator, and then made again, while another
/// thread reads.
fn overwrite_beside(read: impl FnOnce(&CallLog) + 'static) -> Arc<CallLog> {
    let log = Arc::new(CallLog::new());
    let entry = log.enter(&Call::of_length(10));
    log.write(entry, 2, 7);
    (1..DEPTH as u32).for_each(|number| log.write(entry, 4, number));
    beside(&log, read, |log| {
        log.write(entry, 4, 9);
        log.write(entry, 2, 8);
    });
    log
}

fn are_last(mut numbers: Vec<u32>) {
    numbers.sort_unstable();
    let may_be = [vec![7], vec![8], vec![7, 8]];
    assert!(may_be.contains(&numbers), "{numbers:?}");
}

#[test]
fn the_number_of_the_last_call_on_a_communicator_is_found_wherever_it_is() {
    explore(Some(3), || {
        let log = overwrite_beside(|log| are_last(log.numbers_of(2)));
        assert_eq!(log.numbers_of(2), [8]);
        assert!(log.numbers_of(6).is_empty() && log.knows_all_of(6));
    });
}

/// As above, for all communicators at once.
#[cfg(feature = "mpi")]
#[test]
fn all_last_numbers_have_that_of_a_call_that_is_overwritten_meanwhile() {
    explore(Some(3), || {
        let log = overwrite_beside(|log| {
            let told = log.last_numbers();
            are_last(told.of(2));
            assert!(told.of(4).iter().all(|number| [1, 2, 9].contains(number)));
        });
        assert_eq!(log.last_numbers().of(2), [8]);
    });
}

/// More communicators than there are places for their last numbers: the oldest goes, which is told.
#[cfg(feature = "mpi")]
#[test]
fn a_communicator_of_which_nothing_is_told_was_not_used_or_some_are_missing() {
    explore(Some(3), || {
        let log = Arc::new(CallLog::new());
        let entry = log.enter(&Call::of_length(10));
        // The last numbers of 2 and 4 take the two places, and the calls on the others are in the ring.
        for context in [2, 4, 6, 8, 10] {
            log.write(entry, context, context + 100);
        }
        let read = move |log: &CallLog| {
            let told = log.last_numbers();
            for context in [2, 4, 6, 8, 10, 12] {
                let numbers = told.of(context);
                let is_true = numbers.iter().all(|number| *number == context + 100);
                assert!(is_true && numbers.len() < 2, "{context}: {numbers:?}");
                let is_told = numbers.len() == 1 || !told.knows_all_of(context);
                // The last one may not have been used.
                assert!(is_told || context == 12, "{context}: {told:?}");
            }
            // Only the oldest can be missing.
            assert!(
                [4, 6, 8, 10]
                    .iter()
                    .all(|context| told.of(*context).len() == 1)
            );
            assert!(told.knows_all_of(14));
        };
        beside(&log, read, |log| {
            log.write(entry, 12, 112);
        });
        assert!(!log.last_numbers().knows_all_of(2));
        assert_eq!(log.last_numbers().of(6), [106]);
    });
}
