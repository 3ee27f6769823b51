//! Which ranks are odd, by the records of calls and by who has returned without one.

use std::sync::Arc;

use super::*;
use crate::transport::Settings;

const NOBODY: [Rank; 0] = [];

/// A rank makes a call of this length on the world, at the caller's line.
#[track_caller]
fn makes(fabric: &Fabric, rank: Rank, number: u32, length: usize) {
    let log = &fabric.endpoints[rank].log;
    let entry = log.enter(&Call::of_length(length));
    log.write(entry, fabric.all.context, number);
}

fn returns(fabric: &Fabric, rank: Rank) {
    fabric.record_end(rank, Gone::Returned, None, None);
}

fn fabric(ranks: usize) -> Arc<Fabric> {
    Fabric::new(ranks, Settings::default())
}

#[test]
fn a_call_is_later_also_once_numbers_have_wrapped() {
    let (fabric, last) = (fabric(1), u32::MAX - 1);
    (0..4).for_each(|after: u32| makes(&fabric, 0, last.wrapping_add(after), 1));
    let passed = |number| fabric.has_passed(0, 0, number);
    let numbers = [last - 1, last, u32::MAX, 0, 1, 2, last / 2];
    assert_eq!(
        numbers.map(passed),
        [true, true, true, true, false, false, true]
    );
    assert_eq!(
        (earlier(u32::MAX, 0), earlier(1, u32::MAX)),
        (u32::MAX, u32::MAX)
    );
}

#[test]
fn the_first_call_that_differs_comes_before_the_one_after_the_wrap() {
    let fabric = fabric(2);
    let first_line = line!() + 1;
    (0..2).for_each(|rank| makes(&fabric, rank, u32::MAX, 10 + rank));
    (0..2).for_each(|rank| makes(&fabric, rank, 0, 20 + rank));
    let all = fabric.compare_all(&fabric.all).unwrap();
    let back = fabric.compare_back(&fabric.all, 0).unwrap().mismatch;
    for found in [all, back] {
        let lines = found.calls.iter().map(|call| call.site.unwrap().line());
        assert_eq!(lines.collect::<Vec<_>>(), [first_line; 2], "{found}");
    }
}

/// The odd ranks of a call that the first `made` ranks make, and without which the others return.
fn odd(ranks: usize, made: usize) -> Vec<Rank> {
    let fabric = fabric(ranks);
    (0..made).for_each(|rank| makes(&fabric, rank, 0, 1));
    (0..ranks).for_each(|rank| returns(&fabric, rank));
    fabric.stray_call(0, 0, 0).unwrap().odd
}

#[test]
fn who_makes_a_call_is_odd_if_more_than_half_return_without_it() {
    assert_eq!(odd(5, 2), [0, 1]);
    assert_eq!(odd(3, 1), [0]);
    assert_eq!(odd(4, 2), NOBODY, "half of them");
    assert_eq!(odd(2, 1), NOBODY);
}

#[test]
fn who_returns_without_a_call_is_odd_if_it_is_alone() {
    assert_eq!(odd(3, 2), [2]);
    assert_eq!(odd(5, 4), [4]);
    assert_eq!(
        odd(5, 3),
        NOBODY,
        "one may have returned because the other did"
    );
    assert_eq!(odd(6, 4), NOBODY);
}
