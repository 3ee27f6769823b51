//! Orders that fail are found, and found again by their order or seed.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use rankfold::testing::{Explore, MessageOrder, explore, random};
use rankfold::{Comm, ErrorKind, Fault, Order as Fold, Rank, Source, World, WorldError, op};

use super::{factorial, fails_in_one_of_120, gather, hidden, outcomes};

#[test]
fn a_seed_repeats_a_failure_100_times_of_100() {
    let fails = |seed| {
        World::new(6)
            .seed(seed)
            .run_each(fails_in_one_of_120)
            .culprit
            .is_some()
    };
    let seed = (0..10_000)
        .find(|&seed| fails(seed))
        .expect("one order in 120");
    for _ in 0..100 {
        assert!(fails(seed), "seed {seed}");
    }
}

#[test]
fn seeds_reach_every_order() {
    let order = |seed| World::new(4).seed(seed).run(gather).unwrap().swap_remove(0);
    let seen: HashSet<Vec<Rank>> = (0..100).map(order).collect();
    assert_eq!(seen.len() as u64, factorial(3));
}

#[test]
fn a_seed_repeats_a_run_of_ranks_that_talk_to_whom_they_hear() {
    // Every message is answered, so one choice changes all that follows.
    let gossip = |comm: &Comm| {
        let mut random = random(comm);
        let n = comm.size();
        let mut heard = Vec::new();
        for _ in 0..3 {
            comm.send(random.below(n), 0, &[comm.rank()])?;
            comm.barrier()?;
            while comm
                .recv_timeout::<Rank>(Source::Any, 0, Duration::ZERO)
                .map(|(v, _)| heard.push(v[0]))
                .is_ok()
            {}
        }
        Ok(heard)
    };
    for seed in 0..10 {
        let first = World::new(5).seed(seed).run(gossip).unwrap();
        for _ in 0..5 {
            assert_eq!(
                World::new(5).seed(seed).run(gossip).unwrap(),
                first,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn an_order_in_which_ranks_wait_for_each_other_is_found() {
    // Right only if rank 1 is heard first: the second receive names rank 2.
    let found = Explore::new(3).find(|comm| match comm.rank() {
        0 => {
            comm.recv::<Rank>(Source::Any, 0)?;
            comm.recv::<Rank>(2, 0).map(drop)
        }
        me => comm.send(0, 0, &[me]),
    });
    let found = found.unwrap_err();
    let error = &found.error;
    assert!(
        matches!(
            error,
            WorldError::ReturnedEarly { rank: 2, .. } | WorldError::Deadlock(_)
        ),
        "{found}"
    );
    assert_eq!(found.choices[0].took, 2);
}

#[test]
fn reductions_in_arrival_order_are_explored_as_well() {
    let tree = rankfold::topology::Topology::flat(4);
    let (explored, seen) = outcomes(4, |comm| {
        let mut v = [comm.rank() as u32];
        // 10 a + b shows the order of the operands.
        let in_order = op::commutative(|a: u32, b: u32| 10 * a + b);
        comm.reduce_over(&tree, &mut v, in_order)
            .order(Fold::Arrival)
            .run()?;
        Ok(if comm.rank() == 0 { v[0] } else { 0 })
    });
    assert_eq!((explored.orders, explored.complete), (6, true));
    assert_eq!(seen.len(), 6);
}

#[test]
fn a_deadline_passes_only_when_nothing_else_can_move() {
    let explored = explore(2, |comm| match comm.rank() {
        0 => {
            let (v, _) = comm.recv_timeout::<u8>(Source::Any, 0, Duration::ZERO)?;
            assert_eq!(v, [1]);
            let late = comm
                .recv_timeout::<u8>(1, 1, Duration::from_secs(3600))
                .unwrap_err();
            assert!(matches!(late.kind(), ErrorKind::TimedOut { .. }), "{late}");
            comm.send(1, 0, &[0u8])
        }
        _ => {
            comm.send(0, 0, &[1u8])?;
            comm.recv::<u8>(Source::Any, 0).map(drop)
        }
    });
    assert_eq!(explored.orders, 1);
    assert!(!explored.complete, "time is not explored");
}

#[test]
fn deaths_are_explored_too() {
    for nth in 1..=2 {
        let mourning = Explore::new(4).world(|world| world.inject(2, nth, Fault::Panic));
        let found = mourning.find(|comm| {
            gather(comm)?;
            comm.barrier()
        });
        let found = found.unwrap_err();
        assert!(
            matches!(found.error, WorldError::Panicked { rank: 2, .. }),
            "{found}"
        );
    }
}

#[test]
fn what_is_too_much_to_try_is_drawn_at_random_and_not_called_complete() {
    let explored = Explore::new(5).runs(10).seeds(7).run(gather);
    assert_eq!(
        (explored.orders, explored.complete, explored.runs),
        (10, false, 17)
    );
}

#[test]
#[should_panic = "depends on more than its messages"]
fn a_program_that_is_not_a_function_of_its_messages_is_found_out() {
    let runs = Mutex::new(0);
    let _ = Explore::new(4).lenient().find(|comm| {
        let mut runs = runs.lock().unwrap();
        *runs += 1;
        let tag = u32::from(*runs > 4 && comm.rank() == 3);
        drop(runs);
        match comm.rank() {
            0 => {
                for _ in 0..2 {
                    comm.recv::<Rank>(Source::Any, 0)?;
                }
                Ok(())
            }
            me => comm.send(0, tag, &[me]),
        }
    });
}

#[test]
fn a_failure_says_who_took_what_and_how_to_repeat_it() {
    let text = hidden().to_string();
    assert!(text.contains("the one order"), "{text}");
    assert!(text.contains("rank 0  recv(from any, tag any)"), "{text}");
    assert!(
        text.contains("took the message of rank 4 (there were those of 1, 2, 3, 4, 5)"),
        "{text}"
    );
    assert!(
        text.ends_with("RANKFOLD_SEED=order:3.1.2 repeats it"),
        "{text}"
    );
}

/// Rank 1 receives one of two messages.
fn loses_one(world: &World) -> Result<(), WorldError> {
    let run = world.run(|comm| match comm.rank() {
        0 => (0..2).try_for_each(|tag| comm.send(1, tag, &[tag])),
        _ => comm.recv::<u32>(0, 0).map(drop),
    });
    run.map(drop)
}

#[test]
fn lost_messages_are_failures_of_programs_that_make_their_own_runs() {
    assert!(Explore::new(2).find_by(loses_one).is_err());
    assert!(
        Explore::new(2)
            .repeat_by(&MessageOrder::Choices(vec![]), loses_one)
            .is_err()
    );
    assert!(Explore::new(2).lenient().find_by(loses_one).is_ok());
}
