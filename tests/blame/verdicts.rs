//! What a failed run reports where it has several findings.

use rankfold::{Comm, Error, Result, World, WorldError};

#[test]
fn the_lost_messages_to_the_rank_in_need_come_first() {
    let error = World::new(4).run(|comm| match comm.rank() {
        3 => (0..3).try_for_each(|to| comm.send(to, 1, &[1u8])),
        1 => comm.recv::<u8>(3, 2).map(drop),
        _ => Ok(()),
    });
    let Err(WorldError::ReturnedEarly { lost, .. }) = &error else {
        panic!("{error:?}");
    };
    let to: Vec<_> = lost.iter().map(|lost| lost.to).collect();
    assert_eq!(to, [1, 0, 2]);
}

/// Ranks 2 and 0 both fail because another rank has returned, rank 0 because of one that is not the first.
#[test]
fn the_rank_in_need_is_one_that_needed_the_culprit() {
    let error = World::new(4).run(|comm| match comm.rank() {
        3 => Ok(()),
        2 => comm.recv::<u8>(3, 0).map(drop),
        1 => {
            // When rank 2 has failed.
            comm.recv::<u8>(2, 0).unwrap_err();
            Ok(())
        }
        _ => comm.recv::<u8>(1, 0).map(drop),
    });
    let Err(WorldError::ReturnedEarly {
        rank: 3, needed_by, ..
    }) = &error
    else {
        panic!("{error:?}");
    };
    let needed_by = needed_by.as_ref().map(|(rank, _)| *rank);
    assert_eq!(needed_by, Some(2), "{error:?}");
}

/// Rank 2 makes another call than the others, on another communicator.
fn mismatched(comm: &Comm) -> Result<()> {
    let other = comm.dup()?;
    other.broadcast(usize::from(comm.rank() == 2), &mut [1u8])
}

/// An operation of this rank alone, which succeeds.
fn by_itself(comm: &Comm) -> Result<()> {
    comm.send(comm.rank(), 5, &[1u8])?;
    comm.recv::<u8>(comm.rank(), 5).map(drop)
}

#[test]
fn a_mismatch_that_all_ranks_have_handled_is_not_why_a_run_failed() {
    let report = World::new(3).check(true).run_each(|comm| {
        mismatched(comm).unwrap_err();
        comm.barrier()?;
        match comm.rank() {
            1 => Err(Error::user("the disk is full")),
            _ => Ok(()),
        }
    });
    assert!(report.mismatch.is_some(), "{report}");
    assert_eq!(report.culprit, Some(1), "{report}");
    let error = report.into_result().unwrap_err();
    assert_eq!(error.to_string(), "rank 1 failed: the disk is full");

    let report = World::new(3).check(true).run_each(|comm| {
        mismatched(comm).unwrap_err();
        match comm.rank() {
            0 => comm.recv::<u8>(1, 0).map(drop),
            _ => Ok(()),
        }
    });
    assert_eq!(report.culprit, Some(1), "{report}");
    let error = report.into_result().unwrap_err();
    assert!(
        matches!(error, WorldError::ReturnedEarly { rank: 1, .. }),
        "{error}"
    );
}

#[test]
fn a_mismatch_that_made_a_rank_fail_comes_before_an_error_of_another() {
    for panics in [false, true] {
        let report = World::new(3).check(true).run_each(|comm| {
            let found = mismatched(comm);
            assert!(found.is_err());
            if comm.rank() == 0 {
                return found;
            }
            by_itself(comm)?;
            match comm.rank() {
                1 if panics => panic!("no calls"),
                1 => Err(Error::user("no calls")),
                _ => Ok(()),
            }
        });
        let culprit = if panics { 1 } else { 2 };
        assert_eq!(report.culprit, Some(culprit), "{report}");
        let error = report.into_result().unwrap_err();
        assert_eq!(error.culprit(), Some(culprit), "{error}");
        let mismatch = matches!(error, WorldError::Mismatch(_));
        assert_eq!(mismatch, !panics, "{error}");
    }
}

#[test]
fn a_strict_world_reports_unfinished_requests_before_lost_messages() {
    let error = World::new(2).strict().run(|comm| -> Result<()> {
        match comm.rank() {
            0 => comm.send(1, 0, &[1u8]),
            _ => comm.irecv::<u8>(0, 1).map(drop),
        }
    });
    let Err(WorldError::Unfinished(requests)) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(requests[0].rank, 1);
}
