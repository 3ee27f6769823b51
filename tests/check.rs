//! The checker is right to refuse, and right to accept: edited schedules against an executor on numbers, and one wrong
//! schedule for every fault.

#[path = "check/mistakes.rs"]
mod mistakes;
#[path = "check/regions.rs"]
mod regions;
mod zoo;

use rankfold::check::{CheckError, Goal, check};
use rankfold::collective::{Bisection, Halving};
use rankfold::schedule::{Buffer, Combine, FoldAlong, Lengths, Region, Schedule, Step, Transfer};
use rankfold::topology::Circle;
use zoo::{add, compose, noise, works, zoo};

/// A schedule with one step of one rank changed.
struct Edited<'a> {
    inner: &'a dyn Schedule,
    at: (usize, usize),
    step: Step,
}

impl Schedule for Edited<'_> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }
    fn steps(&self) -> usize {
        self.inner.steps()
    }
    fn step(&self, rank: usize, step: usize) -> Step {
        if (rank, step) == self.at {
            self.step
        } else {
            self.inner.step(rank, step)
        }
    }
    fn lengths(&self, rank: usize) -> Lengths {
        self.inner.lengths(rank)
    }
}

/// The same edit at both ends of a message, because single edits rarely pass the matching.
struct Shifted<'a> {
    inner: &'a dyn Schedule,
    step: usize,
    by: usize,
}

impl Schedule for Shifted<'_> {
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }
    fn steps(&self) -> usize {
        self.inner.steps()
    }
    fn step(&self, rank: usize, step: usize) -> Step {
        let mut now = self.inner.step(rank, step);
        if step == self.step {
            for transfer in now.send.iter_mut().chain(now.recv.iter_mut()) {
                let room = self.lengths(rank).of(transfer.region.buffer);
                transfer.region.start = (transfer.region.start + self.by) % (room + 1);
            }
        }
        now
    }
    fn lengths(&self, rank: usize) -> Lengths {
        self.inner.lengths(rank)
    }
}

/// A sequence of random numbers below a bound.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 += 1;
        (noise(self.0) % bound.max(1) as u64) as usize
    }
}

fn edit(dice: &mut Dice, mut step: Step, ranks: usize) -> Step {
    let other = dice.below(ranks);
    let buffer = [Buffer::Input, Buffer::Output, Buffer::Scratch][dice.below(3)];
    match dice.below(9) {
        0 => step.send = None,
        1 => step.recv = None,
        2 => step.local = None,
        3 => {
            step.combine = [Combine::Replace, Combine::FoldLeft, Combine::FoldRight][dice.below(3)]
        }
        4 => (step.send, step.recv) = (step.recv, step.send),
        kind => {
            let end = if kind.is_multiple_of(2) {
                &mut step.send
            } else {
                &mut step.recv
            };
            let Some(transfer) = end else {
                return step;
            };
            match dice.below(5) {
                0 => transfer.peer = other,
                1 => transfer.region.start += 1,
                2 => transfer.region.start = transfer.region.start.saturating_sub(1),
                3 => transfer.region.length = dice.below(transfer.region.length + 2),
                _ => transfer.region.buffer = buffer,
            }
        }
    }
    step
}

#[test]
fn what_passes_after_an_edit_is_still_right() {
    let edits = if cfg!(debug_assertions) { 12 } else { 400 };
    let (mut passed, mut refused) = (0, 0);
    for (p, n) in [(2, 3), (3, 7), (5, 5), (6, 13), (8, 8), (13, 4)] {
        for exhibit in zoo(p, n) {
            for seed in 0..edits {
                let dice = &mut Dice(noise((p * 1000 + n) as u64) ^ seed << 8);
                let steps = exhibit.schedule.steps();
                if steps == 0 {
                    continue;
                }
                let at = (dice.below(p), dice.below(steps));
                let step = edit(dice, exhibit.schedule.step(at.0, at.1), p);
                let edited = Edited {
                    inner: &exhibit.schedule,
                    at,
                    step,
                };
                let Ok(proof) = check(&edited, &exhibit.goal) else {
                    refused += 1;
                    continue;
                };
                passed += 1;
                let op = if proof.ordered { compose } else { add };
                let right = works(&edited, exhibit.meaning, n, op);
                assert!(
                    right,
                    "{} of {p} ranks, {n} elements, seed {seed}: {at:?} {step:?}",
                    exhibit.name
                );
            }
        }
    }
    assert!(
        passed > refused / 20 && refused > passed / 20,
        "{passed} passed, {refused} refused"
    );
}

#[test]
fn what_is_shifted_at_both_ends_and_passes_is_still_right() {
    let mut refused = 0;
    for (p, n) in [(2, 3), (3, 7), (5, 5), (8, 8), (13, 4)] {
        for exhibit in zoo(p, n) {
            for step in 0..exhibit.schedule.steps() {
                let shifted = Shifted {
                    inner: &exhibit.schedule,
                    step,
                    by: 1,
                };
                match check(&shifted, &exhibit.goal) {
                    Ok(_) => assert!(
                        works(&shifted, exhibit.meaning, n, add),
                        "{} {p} {n} step {step}",
                        exhibit.name
                    ),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn what_is_right_on_numbers_after_dropping_or_turning_a_fold_is_not_refused() {
    let edits = if cfg!(debug_assertions) { 20 } else { 200 };
    for (p, n) in [(3, 7), (6, 13), (8, 8)] {
        for exhibit in zoo(p, n) {
            for seed in 0..edits {
                let dice = &mut Dice(noise(seed) ^ (p as u64) << 32);
                let at = (dice.below(p), dice.below(exhibit.schedule.steps()));
                let mut step = exhibit.schedule.step(at.0, at.1);
                step.combine =
                    [Combine::Replace, Combine::FoldLeft, Combine::FoldRight][dice.below(3)];
                let edited = Edited {
                    inner: &exhibit.schedule,
                    at,
                    step,
                };
                let goal = if exhibit.ordered {
                    exhibit.goal.in_rank_order()
                } else {
                    exhibit.goal
                };
                let op = if exhibit.ordered { compose } else { add };
                let works = works(&edited, exhibit.meaning, n, op);
                match check(&edited, &goal) {
                    Ok(_) => assert!(works, "{} {p} {n} seed {seed}", exhibit.name),
                    // Folding into memory that was never written is refused even if the result is not needed.
                    Err(CheckError::ReadsNothing { .. }) => {}
                    Err(fault) => assert!(!works, "{} {p} {n} seed {seed}: {fault}", exhibit.name),
                }
            }
        }
    }
}

#[test]
fn halving_with_far_partners_first_is_only_for_operators_that_commute() {
    let far = Halving::new(3, 64, Bisection::Far);
    let proof = check(&far, &Goal::reduce_scatter(64)).unwrap();
    assert!(!proof.ordered);
    let fault = check(&far, &Goal::reduce_scatter(64).in_rank_order()).unwrap_err();
    assert_eq!(
        fault,
        CheckError::OutOfOrder {
            rank: 0,
            element: 0
        }
    );
    for (d, ordered) in [(0, true), (1, true), (2, false), (5, false)] {
        let far = Halving::new(d, 64, Bisection::Far);
        assert_eq!(
            check(&far, &Goal::reduce_scatter(64)).unwrap().ordered,
            ordered
        );
        let there_and_back = Halving::new(d, 64, Bisection::Near);
        let near = there_and_back.clone().then(there_and_back.reversed());
        check(&near, &Goal::all_reduce(64).in_rank_order()).unwrap();
    }
}

#[test]
fn dissemination_is_no_all_reduce_unless_its_ranks_are_a_power_of_two() {
    for p in 1..=64usize {
        let outcome = check(&FoldAlong::new(Circle::new(p), 3), &Goal::all_reduce(3));
        match outcome {
            Ok(_) => assert!(p.is_power_of_two()),
            Err(fault) => {
                assert!(matches!(fault, CheckError::CountedTwice { .. }) && !p.is_power_of_two())
            }
        }
    }
}

/// A schedule as a table: what each rank does in each step.
struct Table {
    lengths: Lengths,
    /// By step, then by rank.
    steps: Vec<Vec<Step>>,
    next: fn(&Table, usize, Option<usize>) -> Option<usize>,
}

impl Schedule for Table {
    fn ranks(&self) -> usize {
        self.steps[0].len()
    }
    fn steps(&self) -> usize {
        self.steps.len()
    }
    fn step(&self, rank: usize, step: usize) -> Step {
        self.steps.get(step).map_or(Step::IDLE, |ranks| ranks[rank])
    }
    fn next_active(&self, rank: usize, after: Option<usize>) -> Option<usize> {
        (self.next)(self, rank, after)
    }
    fn lengths(&self, _: usize) -> Lengths {
        self.lengths
    }
}

fn scan_steps(table: &Table, rank: usize, after: Option<usize>) -> Option<usize> {
    (after.map_or(0, |s| s + 1)..table.steps()).find(|&s| !table.step(rank, s).is_idle())
}

fn transfer(peer: usize, region: Region) -> Option<Transfer> {
    Some(Transfer { peer, region })
}

/// Rank 0 sends its four elements to rank 1 in one step: correct as a broadcast.
fn one_message() -> Table {
    let region = Region::output(0..4);
    let send = Step {
        send: transfer(1, region),
        ..Step::IDLE
    };
    let recv = Step {
        recv: transfer(0, region),
        ..Step::IDLE
    };
    let lengths = Lengths {
        input: 4,
        output: 4,
        scratch: 4,
    };
    Table {
        lengths,
        steps: vec![vec![send, recv]],
        next: scan_steps,
    }
}

/// Returns the fault of that schedule after a change.
fn fault(change: impl FnOnce(&mut Table)) -> CheckError {
    let mut table = one_message();
    change(&mut table);
    check(&table, &Goal::broadcast(0, 4)).unwrap_err()
}
