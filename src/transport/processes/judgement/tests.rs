//! A mismatch is named by the last calls of all ranks.

use std::panic::Location;

use super::*;
use crate::error::Called;
use crate::transport::communicator::members::Members;

const RANKS: usize = 4;

/// A rank's call of this number, in one of two ways.
#[track_caller]
fn record(number: u32, rank: Rank, print: u32) -> (u32, Rank, CallRecord) {
    let call = CallRecord {
        print,
        call: "a call".into(),
        unlike: " in another way".into(),
        tolerant: false,
        site: Location::caller().into(),
    };
    (number, rank, call)
}

fn local_state(records: Vec<(u32, Rank, CallRecord)>) -> LocalState {
    LocalState {
        calls: vec![Calls {
            group: CommRecord {
                context: 6,
                members: Members::All(RANKS),
                name: None,
            },
            broken: true,
            records,
        }],
        ..LocalState::default()
    }
}

fn found(records: &[(u32, Rank, CallRecord)]) -> Mismatch {
    let called = |(_, rank, record): &(u32, Rank, CallRecord)| Called {
        rank: *rank,
        call: record.call.to_string(),
        site: Some(record.site),
    };
    Mismatch {
        calls: records.iter().map(called).collect(),
        odd: Vec::new(),
        comm: None,
    }
}

#[test]
fn who_is_odd_is_known_by_the_calls_of_all_processes() {
    let here = vec![record(3, 0, 1), record(3, 1, 2)];
    let there = vec![record(3, 2, 1), record(3, 3, 1)];
    let seen = found(&here);
    let all = [local_state(here), local_state(there)];
    assert!(Case::new(RANKS, &all[..1]).naming_the_odd(&seen).is_none());
    let named = Case::new(RANKS, &all).naming_the_odd(&seen).unwrap();
    assert_eq!((named.odd, named.calls.len()), (vec![1], RANKS));
    // Another one, of calls on other lines.
    let other = found(&[record(9, 0, 1), record(9, 1, 2)]);
    assert!(Case::new(RANKS, &all).naming_the_odd(&other).is_none());
}
