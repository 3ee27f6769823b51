//! The checker is right to refuse, and right to accept: edited schedules against an executor on numbers, and one wrong
//! schedule for every fault.

mod zoo;

use rankfold::check::{CheckError, Goal, check};
use rankfold::collective::{
    Bisection, BruckAllGather, Halving, RingReduceScatter, simple_exchange,
};
use rankfold::schedule::{
    Buffer, Clash, Combine, FoldAlong, Lengths, LocalCopy, Region, Schedule, Step, Transfer,
};
use rankfold::topology::Circle;
use zoo::{add, compose, noise, tree, works, zoo};

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
