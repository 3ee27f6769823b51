//! Proves that a search for a call in another rank's log, while that rank makes more calls, finds that call or none:
//! never one of another number or communicator, nor what the same words meant for an earlier entry. And that the number of
//! a rank's last call on a communicator is found at any time.
//!
//! The log and its ring are the real ones; the ring has three places here.
//!
//! Checked by hand: a model fails if calls of another communicator are not told apart, if the word of a place is not
//! taken away before its context changes, and if a number is noted after its call is overwritten.

use loom::sync::Arc;
use loom::thread;

use super::explore;
use crate::transport::communicator::call::Call;
use crate::transport::communicator::call_log::{CallLog, DEPTH};

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
        let writer = {
            let log = log.clone();
            thread::spawn(move || {
                let second = log.enter(&Call::of_length(20));
                log.write(second, 4, 0);
                log.write(first, 2, 1);
            })
        };
        // Two communicators have a call of the same number.
        assert_eq!(find(&log, 2, 0), Some(10));
        assert!([None, Some(20)].contains(&find(&log, 4, 0)));
        assert!([None, Some(10)].contains(&find(&log, 2, 1)));
        writer.join().unwrap();
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
        let writer = {
            let log = log.clone();
            thread::spawn(move || {
                (last + 1..last + 3).for_each(|number| enter_and_write(&log, number))
            })
        };
        // The oldest call there, which is overwritten meanwhile, and the newest.
        for number in [0, last, last + 1] {
            let found = find(&log, 2, number);
            assert!([None, Some(number as usize)].contains(&found), "{found:?}");
        }
        writer.join().unwrap();
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
        let writer = {
            let log = log.clone();
            thread::spawn(move || {
                let entry = log.enter(&Call::of_length(90));
                log.write(entry, 4, 6);
            })
        };
        assert_eq!(find(&log, 2, 5), Some(10));
        writer.join().unwrap();
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
        let writer = {
            let log = log.clone();
            thread::spawn(move || {
                // The places in between, and the first one again.
                (0..2).for_each(|number| log.write(one, 8, number));
                log.write(other, 4, 0);
            })
        };
        assert!([None, Some(20)].contains(&find(&log, 4, 0)));
        assert!([None, Some(10)].contains(&find(&log, 2, 0)));
        writer.join().unwrap();
        assert_eq!(find(&log, 2, 0), None);
        assert_eq!(find(&log, 4, 0), Some(20));
    });
}

/// It is overwritten by calls on another communicator meanwhile.
#[test]
fn the_number_of_the_last_call_on_a_communicator_is_found_wherever_it_is() {
    explore(Some(3), || {
        let log = Arc::new(CallLog::new());
        let entry = log.enter(&Call::of_length(10));
        log.write(entry, 2, 7);
        (1..DEPTH as u32).for_each(|number| log.write(entry, 4, number));
        let writer = {
            let log = log.clone();
            thread::spawn(move || {
                log.write(entry, 4, 9);
                log.write(entry, 2, 8);
            })
        };
        let numbers = log.numbers_of(2);
        assert!(
            [vec![7], vec![8], vec![7, 8]].contains(&numbers),
            "{numbers:?}"
        );
        writer.join().unwrap();
        assert_eq!(log.numbers_of(2), [8]);
        assert!(log.numbers_of(6).is_empty() && log.knows_all_of(6));
    });
}
