//! Random wrong programs against the model of stuck ranks.

use rankfold::{Outcome, World};

use crate::support::random::{Act, Calls, Kinds, Program};
use crate::support::random_draft::draw;
use crate::support::random_model::completes;
use crate::support::{Random, guarded, setting};

/// Removes one event of one rank, or gives one message another tag; collectives only if `any`.
fn spoil(program: &mut Program, random: &mut Random, any: bool) {
    let rank = random.below(program.ranks.len());
    let acts = &mut program.ranks[rank];
    if acts.is_empty() {
        return;
    }
    let place = random.below(acts.len());
    match &mut acts[place] {
        Act::Whole { .. } if !any => {}
        Act::Send(message) if random.one_in(2) => message.tag += 7,
        _ => {
            acts.remove(place);
        }
    }
}

/// Compares the model's prediction for each rank with the result.
fn compare(seed: u64, program: &Program, exact: bool) {
    let right = completes(program);
    let world = World::new(program.ranks.len()).check(false);
    let case = || format!("seed {seed}");
    let report = guarded(&case, || world.run_each(|comm| program.play(comm)));
    for (rank, outcome) in report.outcomes.iter().enumerate() {
        let told = match outcome {
            Outcome::Returned(()) => true,
            Outcome::Failed(error) if error.is_consequence() => false,
            _ => panic!("seed {seed}: rank {rank}: {outcome:?}\n{program:?}"),
        };
        // A broken communicator also ends collectives that would have succeeded.
        let fine = told == right[rank] || !exact && right[rank];
        assert!(
            fine,
            "seed {seed}: rank {rank}, model {right:?}: {outcome:?}\n{program:?}"
        );
    }
    for knot in &report.deadlocks {
        assert!(
            knot.stuck.iter().all(|stuck| !right[stuck.rank]) || !exact,
            "seed {seed}: {knot}"
        );
    }
    let failed = right.contains(&false);
    assert_eq!(report.into_result().is_err(), failed, "seed {seed}");
}

fn compare_many(calls: Calls) {
    let mut stuck = 0;
    let seeds = setting("RANKFOLD_CASES").unwrap_or(200);
    let first: u64 = setting("RANKFOLD_SEED").unwrap_or(1);
    for seed in first..first + seeds {
        let kinds = Kinds {
            rich: false,
            calls,
            spins: seed % 2 == 0,
        };
        let mut program = draw(seed, kinds);
        assert!(completes(&program).iter().all(|&ends| ends), "seed {seed}");
        let exact = calls == Calls::Barriers;
        spoil(&mut program, &mut Random::new(seed), exact);
        compare(seed, &program, exact);
        stuck += usize::from(completes(&program).contains(&false));
    }
    assert!(
        stuck as u64 > seeds / 8,
        "the spoilt programs are hardly wrong: {stuck}"
    );
}

#[test]
fn of_random_wrong_programs_exactly_those_ranks_fail_that_are_stuck() {
    compare_many(Calls::Barriers);
}

#[test]
fn of_random_wrong_programs_with_reductions_all_ranks_fail_that_are_stuck() {
    compare_many(Calls::Meetings);
}
