//! The test kit tested with itself: what it runs, what it reports, and that it misses nothing.

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rankfold::testing::{MessageOrder, Random, Trial, TrialFailure, random, ranks, say};
use rankfold::{Buffering, Comm, Fault, Result, Source, World, WorldError, op};
use support::guarded;

ranks! {
    /// Without a list: 1, 2, 3, 4, 7 and 8 ranks.
    fn a_body_needs_no_ok_at_its_end(comm) {
        comm.barrier()?;
    }

    fn a_body_may_return_early(comm) in [2, 5] {
        if comm.rank() == 0 {
            return comm.send(1, 0, &[1u8]);
        }
        if comm.rank() == 1 {
            comm.recv::<u8>(0, 0)?;
        }
    }

    fn random_numbers_differ_from_rank_to_rank(comm) in [8] {
        let mine = random(comm).next_u64();
        let mut all = comm.values().all_gather(mine)?;
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), comm.size());
    }

    #[should_panic = "cargo test a_failure_fails_the_test_and_says_what_repeats_it::ranks_3"]
    fn a_failure_fails_the_test_and_says_what_repeats_it(comm) in [3] {
        assert_ne!(comm.rank(), 1, "on purpose");
        comm.barrier()?;
    }

    #[should_panic = "1 message was never received"]
    fn a_lost_message_fails_the_test(comm) in [1] {
        comm.send(0, 0, &[1u8])?;
    }
}

fn failure(
    trial: &Trial,
    body: impl Fn(&Comm) -> Result<()> + Send + Sync + 'static,
) -> Box<TrialFailure> {
    guarded(&|| "a trial".into(), || trial.run(body)).unwrap_err()
}

#[test]
fn the_macro_makes_a_test_for_each_number_of_ranks() {
    // This compiles only if they exist.
    let all: [fn(); 6] = [
        a_body_needs_no_ok_at_its_end::ranks_1,
        a_body_needs_no_ok_at_its_end::ranks_2,
        a_body_needs_no_ok_at_its_end::ranks_3,
        a_body_needs_no_ok_at_its_end::ranks_4,
        a_body_needs_no_ok_at_its_end::ranks_7,
        a_body_needs_no_ok_at_its_end::ranks_8,
    ];
    all.iter().for_each(|test| test());
    a_body_may_return_early::ranks_5();
}

#[test]
fn a_failure_tells_what_each_rank_said_in_its_order_and_nothing_of_other_runs() {
    let failure = failure(&Trial::new(2).seed(3), |comm| {
        say!("first of {}", comm.rank());
        say!("second\nthird");
        assert_ne!(comm.rank(), 1);
        comm.barrier()
    });
    let text = failure.to_string();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("  rank 1 |"))
        .collect();
    assert_eq!(
        lines,
        [
            "  rank 1 | first of 1",
            "  rank 1 | second",
            "  rank 1 | third"
        ],
        "{text}"
    );
    assert_eq!(text.matches("first of 0").count(), 1, "{text}");
    assert!(
        text.starts_with(
            "2 ranks, messages as they came:\nrank 1 panicked at tests/testing_kit.rs"
        ),
        "{text}"
    );
    assert!(
        text.ends_with("RANKFOLD_SEED=3 repeats its random numbers"),
        "{text}"
    );
}

#[test]
fn a_rank_that_talks_without_end_is_cut_short() {
    let failure = failure(&Trial::new(1), |_| {
        (0..1_000_000 / 100).for_each(|i| say!("line {i}"));
        panic!("full")
    });
    let text = failure.to_string();
    assert!(
        text.lines().count() < 250 && text.contains("line 9999"),
        "{}",
        text.len()
    );
}

#[test]
fn an_order_that_the_threads_do_not_take_by_themselves_is_tried() {
    // Rank 1 has always sent before rank 2 begins, so in thread order rank 1 is first.
    let failed = (0..50).filter(|&seed| {
        let body = |comm: &Comm| {
            match comm.rank() {
                0 => {
                    let (_, first) = comm.recv::<u8>(Source::Any, 0)?;
                    let (_, _) = comm.recv::<u8>(Source::Any, 0)?;
                    assert_eq!(first.source, 1);
                }
                1 => {
                    comm.send(0, 0, &[1u8])?;
                    comm.send(2, 1, &[1u8])?;
                }
                _ => {
                    comm.recv::<u8>(1, 1)?;
                    comm.send(0, 0, &[2u8])?;
                }
            }
            Ok(())
        };
        Trial::new(3).seed(seed).run(body).is_err()
    });
    let failed = failed.count();
    assert!((10..=40).contains(&failed), "{failed} of 50");
}

/// The variable that makes a test of this file fail, in a separate process.
const FAIL: &str = "RANKFOLD_TEST_FAILS";

ranks! {
    fn passes_in_front(comm) in [1] {
        comm.barrier()?;
    }

    fn fails_if_told_to(comm) in [2] {
        if std::env::var_os(FAIL).is_some() {
            comm.recv::<u8>(9, 0)?;
        }
    }
}

#[test]
fn a_failure_points_at_the_line_of_its_test_and_not_at_the_kit() {
    let source = include_str!("testing_kit.rs").lines();
    let line = 1 + source
        .take_while(|line| !line.contains("fn fails_if_told_to(comm)"))
        .count();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "fails_if_told_to::ranks_2"])
        .env(FAIL, "1");
    let output = child.output().unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("the sender 9 is not one of the 2 ranks"),
        "{text}"
    );
    let place = format!(" panicked at tests/testing_kit.rs:{line}:");
    assert!(text.contains(&place), "{text}");
    assert!(!text.contains("panicked at src/"), "{text}");
}

#[test]
fn a_wait_without_end_times_out_with_a_picture() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let trial = Trial::new(2).timeout(Duration::from_millis(50));
    // A rank that is busy elsewhere, so that it is no deadlock, until the test has seen enough.
    let failure = failure(&trial, |comm| match comm.rank() {
        0 => comm.recv::<u8>(1, 0).map(drop),
        _ => {
            while !STOP.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            Ok(())
        }
    });
    STOP.store(true, Ordering::Relaxed);
    assert!(failure.error.is_none());
    let text = failure.to_string();
    assert!(
        text.contains("rank 0 | failed: recv(from 1, tag 0)"),
        "{text}"
    );
    assert!(
        text.contains("rank 1  outside rankfold for at least"),
        "{text}"
    );
    assert!(text.contains("not all ranks come to an end"), "{text}");
}

#[test]
fn every_manner_is_run_once_if_all_goes_well() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    Trial::new(3)
        .run(|comm| {
            RUNS.fetch_add(1, Ordering::Relaxed);
            comm.barrier()
        })
        .unwrap();
    let runs = RUNS.load(Ordering::Relaxed);
    assert!(runs.is_multiple_of(3) && runs >= 6, "{runs}");
}

#[test]
fn a_send_that_needs_a_buffer_is_found() {
    let exchange = |comm: &Comm| {
        let other = 1 - comm.rank();
        comm.send(other, 0, &[1u8])?;
        comm.recv::<u8>(other, 0).map(drop)
    };
    let found = failure(&Trial::new(2), exchange).to_string();
    assert!(
        found.starts_with("2 ranks, no buffers, messages as they came:"),
        "{found}"
    );
    let line = found
        .lines()
        .find(|line| line.contains("this send needs a buffer"));
    assert!(
        line.is_some_and(|line| line.contains("tests/testing_kit.rs")),
        "{found}"
    );
    Trial::new(2)
        .buffering(Buffering::Bytes(1))
        .run(exchange)
        .unwrap();
}

#[test]
fn a_trial_may_lose_messages_if_it_is_told_so() {
    let lose = |comm: &Comm| comm.send(0, 0, &[1u8]);
    assert!(matches!(
        failure(&Trial::new(1), lose).error,
        Some(WorldError::Lost(_))
    ));
    let buffered = Trial::new(1).buffering(Buffering::Unbounded);
    buffered.lenient().run(lose).unwrap();
}

#[test]
fn a_world_that_cannot_start_is_a_failure() {
    let failure = failure(&Trial::new(0), |_| Ok(()));
    assert!(
        matches!(failure.error, Some(WorldError::Usage(_))),
        "{failure}"
    );
}

#[test]
fn a_seeded_trial_repeats_its_random_numbers() {
    let draw = |seed| {
        let failure = failure(&Trial::new(2).seed(seed), |comm| {
            say!("drew {}", random(comm).next_u64());
            comm.barrier()?;
            panic!("to be seen")
        });
        let text = failure.to_string();
        text.lines()
            .filter(|line| line.contains("drew"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(draw(5), draw(5));
    assert_ne!(draw(5), draw(6));
}

#[test]
fn random_numbers_are_in_range_and_shuffles_keep_what_they_shuffle() {
    let mut random = Random::new(1);
    for n in 1..50 {
        assert!(random.below(n) < n);
        assert!((0.0..1.0).contains(&random.unit()));
        let mut items: Vec<usize> = (0..n).collect();
        random.shuffle(&mut items);
        items.sort_unstable();
        assert!(items.into_iter().eq(0..n));
    }
}

#[test]
fn orders_print_as_they_are_read() {
    for text in ["0", "17", "order:0", "order:2.0.11"] {
        assert_eq!(text.parse::<MessageOrder>().unwrap().to_string(), text);
    }
    for text in ["", "-1", "order", "order:x", "order:1.", "1.2"] {
        let refused = text.parse::<MessageOrder>().unwrap_err();
        assert!(refused.contains("is no order of messages"), "{refused}");
    }
    // An order without a choice can be parsed, and prints so that it does not look cut off.
    let first = "order:".parse::<MessageOrder>().unwrap();
    assert_eq!(first, MessageOrder::Choices(Vec::new()));
    assert_eq!(first.to_string(), "order:0");
}

#[test]
fn a_delay_changes_nothing_but_time() {
    for nth in 1..=6 {
        let sums = World::new(3)
            .inject(1, nth, Fault::Delay)
            .inject(1, nth + 1, Fault::Delay)
            .inject(2, nth, Fault::Delay)
            .run(|comm| {
                let mut sum = [comm.rank() as u64];
                comm.all_reduce(&mut sum, op::Sum)?;
                comm.barrier()?;
                Ok(sum[0])
            });
        assert_eq!(sums.unwrap(), [3; 3]);
    }
}

#[test]
fn a_failure_after_a_delay_still_strikes() {
    let world = World::new(2)
        .inject(1, 1, Fault::Delay)
        .inject(1, 2, Fault::Panic);
    let error = world.run(|comm| comm.barrier().and_then(|()| comm.barrier()));
    assert!(matches!(error, Err(WorldError::Panicked { rank: 1, .. })));
}

#[test]
fn a_fault_that_cannot_happen_is_refused() {
    let refused = |world: World, says: &str| {
        let error = world.run(|comm| comm.barrier()).unwrap_err();
        assert!(
            matches!(&error, WorldError::Usage(why) if why.contains(says)),
            "{error}"
        );
    };
    let world = || World::new(4);
    let there_is_no_rank_4 = "a fault at operation 1 of rank 4: there are 4 ranks";
    refused(world().inject(4, 1, Fault::Panic), there_is_no_rank_4);
    let from_1 = "a fault at operation 0 of rank 1: operations are counted from 1";
    refused(world().inject(1, 0, Fault::Delay), from_1);
    let twice = world().inject(2, 3, Fault::Delay);
    let twice = twice.inject(0, 3, Fault::Delay).inject(2, 3, Fault::Error);
    refused(
        twice,
        "a fault at operation 3 of rank 2: there is another one",
    );
    // A rank that ends before the operation is not hit.
    world()
        .inject(3, 1000, Fault::Panic)
        .run(|comm| comm.barrier())
        .unwrap();
}
