//! Members that end, and communicators that are left.

use std::sync::Barrier;

use rankfold::{ErrorKind, Fault, Outcome, Rank, World};

use super::{each, run, works};
use crate::support::guarded;

#[test]
fn a_member_that_ends_is_named() {
    for how in 0..3 {
        each(
            4,
            |comm| match (comm.rank(), how) {
                (2, 0) => Ok(()),
                (2, 1) => Err(rankfold::Error::user("of its own")),
                (2, _) => panic!("of its own"),
                _ => comm.subset(&[0, 1, 2, 3]).map(drop),
            },
            |report| {
                for rank in [0, 1, 3] {
                    let error = report.outcomes[rank].error().expect("rank 2 is missed");
                    assert_eq!(error.culprit(), Some(2), "rank {rank}: {error}");
                }
            },
        );
    }
}

#[test]
fn a_fault_at_any_operation_ends_all_members() {
    for ranks in 2..=4 {
        for victim in 0..ranks {
            for operation in 1..=6 {
                for fault in [Fault::Panic, Fault::Error, Fault::Return] {
                    let case = || format!("{ranks} ranks, {victim} at {operation}: {fault:?}");
                    let world = World::new(ranks).inject(victim, operation, fault);
                    let report = guarded(&case, || {
                        world.run_each(|comm| {
                            let all: Vec<Rank> = (0..ranks).collect();
                            works(comm, &comm.subset(&all)?, &all)?;
                            let last = &all[ranks - 2..];
                            match last.contains(&comm.rank()) {
                                true => works(comm, &comm.subset(last)?, last),
                                false => Ok(()),
                            }
                        })
                    });
                    for (rank, outcome) in report.outcomes.iter().enumerate() {
                        let error = outcome.error().filter(|_| rank != victim);
                        let blames = error.is_none_or(|error| error.culprit() == Some(victim));
                        assert!(blames, "{}: rank {rank}: {outcome:?}", case());
                    }
                }
            }
        }
    }
}

#[test]
fn after_a_mismatch_the_ranks_agree_again() {
    let outside = Barrier::new(3);
    run(3, false, None, |comm| {
        let wrong: &[Rank] = if comm.rank() == 0 { &[0, 1] } else { &[1, 0] };
        if comm.rank() < 2 {
            let error = comm.subset(wrong).map(drop).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Mismatch(_)), "{error}");
        }
        outside.wait();
        works(comm, &comm.subset(&[2, 0, 1])?, &[2, 0, 1])
    });
}

#[test]
fn a_wait_in_it_ends_when_the_communicator_is_left() {
    let report = guarded(&|| "shrink".into(), || {
        World::new(3).run_each(|comm| {
            if comm.rank() == 2 {
                return Err(rankfold::Error::user("of its own"));
            }
            let twin = comm.subset(&[0, 1])?;
            if comm.rank() == 0 {
                let error = twin.subset(&[0, 1]).map(drop).unwrap_err();
                assert!(error.is_consequence(), "{error}");
            }
            let left = twin.shrink()?;
            works(comm, &left, &[0, 1])?;
            assert!(twin.subset(&[0, 1]).is_err());
            Ok(())
        })
    });
    for rank in 0..2 {
        assert!(
            matches!(report.outcomes[rank], Outcome::Returned(())),
            "{:?}",
            report.outcomes
        );
    }
}

#[test]
fn a_report_names_the_communicator_by_the_call_that_made_it() {
    let error = World::new(3)
        .run(|comm| {
            if comm.rank() == 1 {
                return Ok(());
            }
            comm.subset(&[2, 0])?.recv::<u8>(0, 0).map(drop)
        })
        .unwrap_err();
    assert!(error.to_string().contains("subset of world at"), "{error}");
}
