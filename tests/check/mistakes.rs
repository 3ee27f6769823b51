//! Every mistake in a step, between two ranks or in a result, by name.

use rankfold::check::{CheckError, Goal, check};
use rankfold::collective::{Bisection, Halving, simple_exchange};
use rankfold::schedule::{Buffer, Clash, Combine, FoldAlong, LocalCopy, Region, Schedule, Step};
use rankfold::topology::Circle;

use super::{Table, fault, one_message, transfer};
use crate::zoo::tree;

/// A change of the schedule of one message, and the fault that is found.
type Mistake = (fn(&mut Table), CheckError);

fn assert_named(mistakes: impl IntoIterator<Item = Mistake>) {
    for (change, named) in mistakes {
        assert_eq!(fault(change), named);
    }
}

/// Returns the fault of a region of rank 0 that ends beyond its buffer.
fn out_of_bounds(region: Region) -> CheckError {
    CheckError::OutOfBounds {
        rank: 0,
        step: 0,
        region,
        length: 4,
    }
}

const BEYOND: Region = Region::output(1..5);
const ENDLESS: Region = Region {
    count: usize::MAX,
    ..Region::output(0..2)
};
const OVERLAPPING: Region = Region {
    stride: 1,
    length: 2,
    count: 2,
    ..Region::output(0..2)
};

fn mistakes_in_regions() -> [Mistake; 5] {
    let (rank, step, region) = (0, 0, OVERLAPPING);
    let (from, to) = (Region::output(0..2), Region::output(1..3));
    let no_copy = CheckError::NoCopy {
        rank,
        step,
        from,
        to,
    };
    let writes_input = CheckError::WritesInput {
        rank: 1,
        step,
        region: Region::input(0..4),
    };
    [
        (
            |t| t.steps[0][0].send = transfer(1, BEYOND),
            out_of_bounds(BEYOND),
        ),
        (
            |t| t.steps[0][0].send = transfer(1, OVERLAPPING),
            CheckError::OverlapsItself { rank, step, region },
        ),
        (
            |t| t.steps[0][0].send = transfer(1, ENDLESS),
            out_of_bounds(ENDLESS),
        ),
        (
            |t| t.steps[0][1].recv = transfer(0, Region::input(0..4)),
            writes_input,
        ),
        (
            |t| {
                let (from, to) = (Region::output(0..2), Region::output(1..3));
                t.steps[0][0].local = Some(LocalCopy::new(from, to));
            },
            no_copy,
        ),
    ]
}

fn mistakes_in_partners() -> [Mistake; 3] {
    let (rank, step) = (0, 0);
    let no_such_peer = CheckError::NoSuchPeer {
        rank,
        step,
        peer: 7,
        ranks: 2,
    };
    let clash = CheckError::Clash {
        rank,
        step,
        what: Clash::Sends,
    };
    [
        (
            |t| t.steps[0][0].send = transfer(7, Region::output(0..4)),
            no_such_peer,
        ),
        (
            |t| t.steps[0][0].send = transfer(0, Region::output(0..4)),
            CheckError::OwnPeer { rank, step },
        ),
        (|t| t.steps[0][0].clash = Some(Clash::Sends), clash),
    ]
}

#[test]
fn every_kind_of_mistake_in_a_step_is_named() {
    assert_named(mistakes_in_regions());
    assert_named(mistakes_in_partners());
}

/// One of the two ranks has no part in the message, or one in another step.
fn mistakes_of_one_side() -> [Mistake; 3] {
    let step = 0;
    let no_send = CheckError::NoSend {
        rank: 1,
        step,
        peer: 0,
    };
    let no_receive = || CheckError::NoReceive {
        rank: 0,
        step,
        peer: 1,
    };
    [
        (|t| t.steps[0][0].send = None, no_send),
        (|t| t.steps[0][1].recv = None, no_receive()),
        (
            // The receive comes one step late, which would need a buffer between the two.
            |t| {
                let late = vec![Step::IDLE, std::mem::take(&mut t.steps[0][1])];
                t.steps.push(late);
            },
            no_receive(),
        ),
    ]
}

/// Returns the fault of a rank that reads a buffer before anything was written to it.
fn reads_nothing(rank: usize, buffer: Buffer) -> CheckError {
    CheckError::ReadsNothing {
        rank,
        step: 0,
        buffer,
        element: 0,
    }
}

fn mistakes_in_what_is_sent() -> [Mistake; 3] {
    let unequal = CheckError::UnequalExtents {
        rank: 0,
        step: 0,
        peer: 1,
        sent: 4,
        expected: 3,
    };
    [
        (
            |t| t.steps[0][1].recv = transfer(0, Region::output(0..3)),
            unequal,
        ),
        (
            |t| t.steps[0][0].send = transfer(1, Region::scratch(0..4)),
            reads_nothing(0, Buffer::Scratch),
        ),
        (
            |t| t.steps[0][1].combine = Combine::FoldLeft,
            reads_nothing(1, Buffer::Output),
        ),
    ]
}

#[test]
fn every_kind_of_mistake_between_two_ranks_is_named() {
    assert_named(mistakes_of_one_side());
    assert_named(mistakes_in_what_is_sent());
}

#[test]
fn a_wrong_answer_about_the_next_active_step_is_found() {
    assert_eq!(
        fault(|t| t.next = |_, _, _| None),
        CheckError::Overlooked { rank: 0, step: 0 }
    );
    let again = fault(|t| t.next = |_, _, _| Some(0));
    assert_eq!(
        again,
        CheckError::WrongNext {
            rank: 0,
            after: Some(0),
            next: 0
        }
    );
    let beyond = fault(|t| t.next = |_, _, _| Some(9));
    assert_eq!(
        beyond,
        CheckError::WrongNext {
            rank: 0,
            after: None,
            next: 9
        }
    );
}

/// Returns the fault of a result that lacks what rank 1 contributes.
fn lacks(rank: usize) -> CheckError {
    CheckError::Lacks {
        rank,
        element: 0,
        contributor: 1,
    }
}

/// Goals that one message from rank 0 to rank 1 does not reach.
fn missed_goals() -> [(Goal, CheckError); 6] {
    let short = CheckError::TooShort {
        rank: 0,
        buffer: Buffer::Output,
        length: 4,
        needed: 5,
    };
    let no_such_root = CheckError::NoSuchRoot { root: 5, ranks: 2 };
    [
        (Goal::broadcast(5, 4), no_such_root),
        (Goal::barrier(), reads_nothing(0, Buffer::Output)),
        (Goal::broadcast(0, 5), short),
        (Goal::reduce(0, 4), lacks(0)),
        (Goal::reduce(1, 4), lacks(1)),
        (Goal::scan(4), lacks(1)),
    ]
}

#[test]
fn every_kind_of_wrong_result_is_named() {
    let found = |schedule: &dyn Schedule, goal| check(schedule, &goal).unwrap_err();
    for (goal, named) in missed_goals() {
        assert_eq!(found(&one_message(), goal), named);
    }
    let foreign = CheckError::Foreign {
        rank: 0,
        element: 0,
        contributor: 1,
    };
    assert_eq!(found(&simple_exchange(2, 4), Goal::scan(4)), foreign);
    let halves = Halving::new(2, 8, Bisection::Near);
    let fault = found(&halves, Goal::reduce_scatter(8));
    let third_of_rank_1 = matches!(
        fault,
        CheckError::Lacks {
            rank: 1,
            element: 2,
            ..
        }
    );
    assert!(third_of_rank_1, "{fault}");
    let twice = tree("chain", 2, 0).overlay(FoldAlong::new(Circle::new(2), 0));
    let clash = CheckError::Clash {
        rank: 0,
        step: 0,
        what: Clash::Receives,
    };
    assert_eq!(found(&twice, Goal::barrier()), clash);
    assert_eq!(
        found(&tree("chain", 3, 0), Goal::barrier()),
        CheckError::Unheard { rank: 1, of: 0 }
    );
}
