//! Regions of several runs, exchanges in place, and schedules too large to try.

use rankfold::check::{CheckError, Goal, check};
use rankfold::collective::{BruckAllGather, RingReduceScatter, simple_exchange};
use rankfold::schedule::{Buffer, Combine, Lengths, LocalCopy, Region, Schedule, Step};

use super::{Table, fault, one_message, scan_steps, transfer};
use crate::zoo::zoo;

/// The halves of the message are swapped on the way.
fn crossed(combine: Combine) -> Table {
    let mut table = one_message();
    let mut again = table.steps[0].clone();
    let (low, high) = (Region::output(0..2), Region::output(2..4));
    table.steps.push(again.clone());
    for (step, from, to) in [(0, low, high), (1, high, low)] {
        again[0].send = transfer(1, from);
        again[1].recv = transfer(0, to);
        again[1].combine = combine;
        table.steps[step].clone_from(&again);
    }
    table
}

#[test]
fn elements_that_move_or_mix_are_named() {
    let moved = check(&crossed(Combine::Replace), &Goal::broadcast(0, 4)).unwrap_err();
    assert_eq!(
        moved,
        CheckError::Misplaced {
            rank: 1,
            element: 0,
            index: 2
        }
    );
    let mixed = check(&crossed(Combine::FoldLeft), &Goal::reduce(1, 4)).unwrap_err();
    assert_eq!(
        mixed,
        CheckError::Mixes {
            rank: 1,
            step: 1,
            peer: 0,
            held: 0,
            received: 2
        }
    );
    // Elements that are not needed may be anything.
    check(&crossed(Combine::FoldLeft), &Goal::exclusive_scan(4)).unwrap_err();
    let then_right = crossed(Combine::FoldLeft).then(one_message());
    check(&then_right, &Goal::exclusive_scan(4)).unwrap();
}

#[test]
fn regions_of_several_runs_are_read_and_written_in_order() {
    let every_other = Region {
        stride: 2,
        count: 2,
        ..Region::output(0..1)
    };
    let both = |t: &mut Table, region| {
        t.steps[0][0].send = transfer(1, region);
        t.steps[0][1].recv = transfer(0, region);
    };
    assert_eq!(
        fault(|t| both(t, every_other)),
        CheckError::Nothing {
            rank: 1,
            element: 1
        }
    );
    let mut table = one_message();
    both(&mut table, every_other);
    let mut rest = one_message();
    both(
        &mut rest,
        Region {
            start: 1,
            ..every_other
        },
    );
    check(&table.then(rest), &Goal::broadcast(0, 4)).unwrap();
}

#[test]
fn exchanges_in_place_are_told_from_swaps() {
    let in_place =
        |schedule: &dyn Schedule, goal: Goal| check(schedule, &goal).unwrap().exchanges_in_place;
    assert!(in_place(&simple_exchange(4, 9), Goal::all_reduce(9)));
    assert!(!in_place(&simple_exchange(4, 0), Goal::all_reduce(0)));
    assert!(!in_place(
        &RingReduceScatter::new(4, 9),
        Goal::reduce_scatter(9)
    ));
    assert!(!in_place(&BruckAllGather::new(5, 9), Goal::all_gather(9)));
}

#[test]
fn goals_that_start_from_the_input_leave_blocks_in_buffers_of_their_own() {
    // Two ranks gather from inputs of two elements each: a copy, and an exchange.
    let step = |rank: usize| Step {
        local: Some(LocalCopy::new(
            Region::input(0..2),
            Region::output(2 * rank..2 * rank + 2),
        )),
        send: transfer(1 - rank, Region::input(0..2)),
        recv: transfer(1 - rank, Region::output(2 - 2 * rank..4 - 2 * rank)),
        ..Step::IDLE
    };
    let lengths = Lengths {
        input: 2,
        output: 4,
        scratch: 0,
    };
    let table = Table {
        lengths,
        steps: vec![vec![step(0), step(1)]],
        next: scan_steps,
    };
    assert!(
        check(&table, &Goal::all_gather(4).from_input())
            .unwrap()
            .ordered
    );
    let short = check(&table, &Goal::all_reduce(4).from_input()).unwrap_err();
    assert_eq!(
        short,
        CheckError::TooShort {
            rank: 0,
            buffer: Buffer::Input,
            length: 2,
            needed: 4
        }
    );
}

#[test]
fn five_hundred_ranks_and_a_billion_elements_are_no_more_work() {
    let p = if cfg!(debug_assertions) { 100 } else { 512 };
    for exhibit in zoo(p, 1_000_000_007) {
        assert!(
            check(&exhibit.schedule, &exhibit.goal).is_ok(),
            "{}",
            exhibit.name
        );
    }
}
