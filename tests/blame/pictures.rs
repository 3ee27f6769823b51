//! Ranks inside an operator or elsewhere, in the picture of a report.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rankfold::{ErrorKind, Rank, Report, World};

use crate::support::guarded;

/// Returns the wait-for picture in the error of a rank that has timed out.
fn picture(report: &Report<()>, rank: Rank) -> &str {
    match report.outcomes[rank].error().map(|error| error.kind()) {
        Some(ErrorKind::TimedOut { picture, .. }) => picture,
        other => panic!("{other:?}"),
    }
}

/// Returns once another rank has set the flag.
fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn a_rank_inside_an_operator_is_not_called_outside() {
    let (inside, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = guarded(&|| "an operator that waits".into(), || {
        let world = World::new(2)
            .timeout(Duration::from_millis(40))
            .check(false);
        world.run_each(|comm| {
            let wait = |a: u64, b: u64| {
                inside.store(true, Ordering::Release);
                until(&over);
                a + b
            };
            comm.reduce(1, &mut [1], wait)?;
            until(&inside);
            let late = comm.barrier();
            over.store(true, Ordering::Release);
            late
        })
    });
    let picture = picture(&report, 0);
    let line = picture
        .lines()
        .find(|line| line.starts_with("  rank 1"))
        .unwrap();
    assert!(line.contains("rank 1  inside reduce(root 1, "), "{picture}");
    assert!(
        line.contains(", awake: it has begun nothing else for "),
        "{picture}"
    );
    assert!(!picture.contains("outside"), "{picture}");
    assert!(picture.contains(" ms ago  barrier at "), "{picture}");
}

#[test]
fn a_rank_that_is_elsewhere_is_outside_and_its_calls_are_over() {
    let (elsewhere, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = guarded(&|| "a rank elsewhere".into(), || {
        let world = World::new(2).timeout(Duration::from_millis(40));
        world.run_each(|comm| {
            comm.barrier()?;
            if comm.rank() == 1 {
                elsewhere.store(true, Ordering::Release);
                until(&over);
                return Ok(());
            }
            until(&elsewhere);
            let dup = comm.recv::<u8>(1, 0).map(drop);
            over.store(true, Ordering::Release);
            dup
        })
    });
    let picture = picture(&report, 0);
    assert!(
        picture.contains("rank 1  outside rankfold for at least "),
        "{picture}"
    );
    let after = picture.split("rank 1").nth(1).unwrap();
    assert!(!after.contains("not over"), "{picture}");
}
