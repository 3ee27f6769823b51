//! Every mistake in a step, between two ranks or in a result, by name.

use rankfold::check::{CheckError, Goal, check};
use rankfold::collective::{Bisection, Halving, simple_exchange};
use rankfold::schedule::{Buffer, Clash, Combine, FoldAlong, LocalCopy, Region, Schedule, Step};
use rankfold::topology::Circle;

use super::{fault, one_message, transfer};
use crate::zoo::tree;

#[test]
fn every_kind_of_mistake_in_a_step_is_named() {
    let (rank, step) = (0, 0);
    let region = Region::output(1..5);
    let found = fault(|t| t.steps[0][0].send = transfer(1, region));
    assert_eq!(
        found,
        CheckError::OutOfBounds {
            rank,
            step,
            region,
            length: 4
        }
    );
    let found = fault(|t| t.steps[0][0].send = transfer(7, Region::output(0..4)));
    assert_eq!(
        found,
        CheckError::NoSuchPeer {
            rank,
            step,
            peer: 7,
            ranks: 2
        }
    );
    let found = fault(|t| t.steps[0][0].send = transfer(0, Region::output(0..4)));
    assert_eq!(found, CheckError::OwnPeer { rank, step });
    let region = Region {
        stride: 1,
        length: 2,
        count: 2,
        ..Region::output(0..2)
    };
    let found = fault(|t| t.steps[0][0].send = transfer(1, region));
    assert_eq!(found, CheckError::OverlapsItself { rank, step, region });
    let region = Region {
        count: usize::MAX,
        ..Region::output(0..2)
    };
    let found = fault(|t| t.steps[0][0].send = transfer(1, region));
    assert_eq!(
        found,
        CheckError::OutOfBounds {
            rank,
            step,
            region,
            length: 4
        }
    );
    let found = fault(|t| t.steps[0][0].clash = Some(Clash::Sends));
    assert_eq!(
        found,
        CheckError::Clash {
            rank,
            step,
            what: Clash::Sends
        }
    );
    let region = Region::input(0..4);
    let found = fault(|t| t.steps[0][1].recv = transfer(0, region));
    assert_eq!(
        found,
        CheckError::WritesInput {
            rank: 1,
            step,
            region
        }
    );
    let (from, to) = (Region::output(0..2), Region::output(1..3));
    let found = fault(|t| t.steps[0][0].local = Some(LocalCopy::new(from, to)));
    assert_eq!(
        found,
        CheckError::NoCopy {
            rank,
            step,
            from,
            to
        }
    );
}

#[test]
fn every_kind_of_mistake_between_two_ranks_is_named() {
    let step = 0;
    let found = fault(|t| t.steps[0][0].send = None);
    assert_eq!(
        found,
        CheckError::NoSend {
            rank: 1,
            step,
            peer: 0
        }
    );
    let found = fault(|t| t.steps[0][1].recv = None);
    assert_eq!(
        found,
        CheckError::NoReceive {
            rank: 0,
            step,
            peer: 1
        }
    );
    let found = fault(|t| t.steps[0][1].recv = transfer(0, Region::output(0..3)));
    assert_eq!(
        found,
        CheckError::UnequalExtents {
            rank: 0,
            step,
            peer: 1,
            sent: 4,
            expected: 3
        }
    );
    let found = fault(|t| t.steps[0][0].send = transfer(1, Region::scratch(0..4)));
    assert_eq!(
        found,
        CheckError::ReadsNothing {
            rank: 0,
            step,
            buffer: Buffer::Scratch,
            element: 0
        }
    );
    let found = fault(|t| t.steps[0][1].combine = Combine::FoldLeft);
    assert_eq!(
        found,
        CheckError::ReadsNothing {
            rank: 1,
            step,
            buffer: Buffer::Output,
            element: 0
        }
    );
    // The receive comes one step late, which would need a buffer between the two.
    let found = fault(|t| {
        let late = vec![Step::IDLE, std::mem::take(&mut t.steps[0][1])];
        t.steps.push(late);
    });
    assert_eq!(
        found,
        CheckError::NoReceive {
            rank: 0,
            step,
            peer: 1
        }
    );
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

#[test]
fn every_kind_of_wrong_result_is_named() {
    let found = |schedule: &dyn Schedule, goal| check(schedule, &goal).unwrap_err();
    let message = one_message();
    assert_eq!(
        found(&message, Goal::broadcast(5, 4)),
        CheckError::NoSuchRoot { root: 5, ranks: 2 }
    );
    assert_eq!(
        found(&message, Goal::barrier()),
        CheckError::ReadsNothing {
            rank: 0,
            step: 0,
            buffer: Buffer::Output,
            element: 0
        }
    );
    let short = CheckError::TooShort {
        rank: 0,
        buffer: Buffer::Output,
        length: 4,
        needed: 5,
    };
    assert_eq!(found(&message, Goal::broadcast(0, 5)), short);
    assert_eq!(
        found(&message, Goal::reduce(0, 4)),
        CheckError::Lacks {
            rank: 0,
            element: 0,
            contributor: 1
        }
    );
    assert_eq!(
        found(&message, Goal::reduce(1, 4)),
        CheckError::Lacks {
            rank: 1,
            element: 0,
            contributor: 1
        }
    );
    assert_eq!(
        found(&message, Goal::scan(4)),
        CheckError::Lacks {
            rank: 1,
            element: 0,
            contributor: 1
        }
    );
    let foreign = found(&simple_exchange(2, 4), Goal::scan(4));
    assert_eq!(
        foreign,
        CheckError::Foreign {
            rank: 0,
            element: 0,
            contributor: 1
        }
    );
    let halves = Halving::new(2, 8, Bisection::Near);
    let fault = found(&halves, Goal::reduce_scatter(8));
    assert!(
        matches!(
            fault,
            CheckError::Lacks {
                rank: 1,
                element: 2,
                ..
            }
        ),
        "{fault}"
    );
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
