//! What a failed run reports where it has several findings.

use rankfold::{Result, World, WorldError};

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
