//! Schedules made step by step: the fault that each is refused with, and steps in which nobody acts.

use rankfold::Rank;
use rankfold::collective::simple_exchange;
use rankfold::schedule::{Lengths, Region, Schedule, Step, Transfer};
use rankfold::simulate::{Link, MOST_RANKS, MachineModel, SimulateError, critical_path, simulate};

use super::longer;

/// Two or more ranks, with their steps given by a function.
struct Made<F, N> {
    ranks: usize,
    steps: usize,
    step: F,
    next: N,
}

impl<F, N> Schedule for Made<F, N>
where
    F: Fn(Rank, usize) -> Step + Sync,
    N: Fn(Rank, Option<usize>) -> Option<usize> + Sync,
{
    fn ranks(&self) -> usize {
        self.ranks
    }
    fn steps(&self) -> usize {
        self.steps
    }
    fn step(&self, rank: Rank, step: usize) -> Step {
        (self.step)(rank, step)
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        (self.next)(rank, after)
    }
    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(8)
    }
}

fn to(peer: Rank) -> Option<Transfer> {
    let region = Region::output(0..8);
    Some(Transfer { peer, region })
}

fn send(peer: Rank) -> Step {
    Step {
        send: to(peer),
        ..Step::IDLE
    }
}

fn recv(peer: Rank) -> Step {
    Step {
        recv: to(peer),
        ..Step::IDLE
    }
}

/// Returns the fault of two ranks with these actions in step 0.
fn fault_of(zero: Step, one: Step) -> SimulateError {
    let made = Made {
        ranks: 2,
        steps: 1,
        step: move |rank, _| [zero, one][rank],
        next: |_, _| None,
    };
    simulate(&made, &MachineModel::default()).unwrap_err()
}

const NO_SEND: SimulateError = SimulateError::NoSend {
    rank: 0,
    step: 0,
    peer: 1,
};

const NO_RECEIVE: SimulateError = SimulateError::NoReceive {
    rank: 0,
    step: 0,
    peer: 1,
};

const NOBODY: SimulateError = SimulateError::NoSuchPeer {
    rank: 0,
    step: 0,
    peer: 2,
    ranks: 2,
};

const UNEQUAL: SimulateError = SimulateError::UnequalExtents {
    rank: 0,
    step: 0,
    peer: 1,
    sent: 9,
    expected: 8,
};

#[test]
fn each_fault_names_its_culprit() {
    let idle = Step::IDLE;
    assert_eq!(fault_of(recv(1), idle), NO_SEND);
    assert_eq!(fault_of(send(1), idle), NO_RECEIVE);
    let own = SimulateError::OwnPeer { rank: 0, step: 0 };
    assert_eq!(fault_of(send(0), idle), own);
    assert_eq!(fault_of(recv(2), idle), NOBODY);
    assert_eq!(fault_of(send(2), recv(0)), NOBODY);
    let long = Step {
        send: to(1).map(longer),
        ..idle
    };
    assert_eq!(fault_of(long, recv(0)), UNEQUAL);
    // Each waits for the other: a deadlock on threads, two messages without a sender here.
    assert_eq!(fault_of(recv(1), recv(0)), NO_SEND);
}

#[test]
fn parameters_that_are_times_alone_and_not_together_are_refused() {
    let link = *MachineModel::default().link(0, 1);
    let long = Link {
        per_byte: 1e300,
        ..link
    };
    let late = Link {
        latency: f64::MAX,
        overhead: f64::MAX,
        ..link
    };
    for (link, what) in [(long, "time per element"), (late, "transit time")] {
        let machine = MachineModel::flat(link).element_bytes(1 << 40);
        let fault = simulate(&simple_exchange(4, 0), &machine).unwrap_err();
        let says = format!("a {what} of inf: it must be finite and not negative");
        assert_eq!(fault.to_string(), says);
    }
}

#[test]
fn what_the_machine_or_the_size_makes_impossible_is_refused() {
    let exchange = simple_exchange(4, 8);
    let negative = MachineModel::alpha_beta_gamma(1.0, -1.0, 0.0);
    let fault = simulate(&exchange, &negative).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "a time per byte of -1: it must be finite and not negative"
    );
    for bad in [f64::NAN, f64::INFINITY] {
        let machine = MachineModel::default().fold_cost(bad);
        assert!(matches!(
            simulate(&exchange, &machine),
            Err(SimulateError::NoTime { .. })
        ));
    }
    let link = *MachineModel::default().link(0, 1);
    let machine = MachineModel::two_level(0, link, link);
    assert_eq!(
        critical_path(&exchange, &machine),
        Err(SimulateError::EmptyNodes)
    );
    for (ranks, fault) in [
        (0, SimulateError::NoRanks),
        (
            MOST_RANKS + 1,
            SimulateError::TooManyRanks {
                ranks: MOST_RANKS + 1,
            },
        ),
    ] {
        let made = Made {
            ranks,
            steps: 1,
            step: |_, _| Step::IDLE,
            next: |_, _| None,
        };
        assert_eq!(simulate(&made, &MachineModel::default()), Err(fault));
    }
}

/// Ranks 0 and 1 of four communicate in step 5, if the schedule announces it.
fn late(next: impl Fn(Rank, Option<usize>) -> Option<usize> + Sync) -> SimulateError {
    let step = |rank, s| match (rank, s) {
        (0, 5) => send(1),
        (1, 5) => recv(0),
        _ => Step::IDLE,
    };
    let made = Made {
        ranks: 4,
        steps: 9,
        step,
        next,
    };
    simulate(&made, &MachineModel::default()).unwrap_err()
}

#[test]
fn a_schedule_that_names_wrong_steps_is_refused() {
    let back = late(|rank, _| (rank < 2).then_some(0));
    assert_eq!(
        back,
        SimulateError::WrongNext {
            rank: 0,
            after: 0,
            next: 0
        }
    );
    let beyond = late(|rank, _| (rank == 3).then_some(9));
    assert_eq!(
        beyond,
        SimulateError::WrongNext {
            rank: 3,
            after: 0,
            next: 9
        }
    );
    let forgets_one = late(|rank, after| (rank == 1 && after < Some(5)).then_some(5));
    assert_eq!(forgets_one, SimulateError::Overlooked { rank: 0, step: 5 });
}

// ── size ──

#[test]
fn steps_in_which_nobody_does_anything_cost_nothing() {
    let (last, middle) = (usize::MAX - 1, usize::MAX / 2);
    let made = Made {
        ranks: 3,
        steps: usize::MAX,
        step: |rank, s| match (rank, s) {
            (0, s) if s == last || s == middle => send(1),
            (1, s) if s == last || s == middle => recv(0),
            _ => Step::IDLE,
        },
        next: |rank, after: Option<usize>| {
            let next = if after < Some(middle) { middle } else { last };
            (rank < 2 && after < Some(last)).then_some(next)
        },
    };
    let timing = simulate(&made, &MachineModel::alpha_beta_gamma(1.0, 0.0, 0.0)).unwrap();
    assert_eq!((timing.total, timing.active), (2.0, 4));
    let path = critical_path(&made, &MachineModel::default()).unwrap();
    assert_eq!(
        path.steps.iter().map(|hop| hop.step).collect::<Vec<_>>(),
        [middle, last]
    );
}
