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
