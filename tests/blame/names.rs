//! How reports name communicators.

use rankfold::{Cartesian, Comm, Report, Result, World, WorldError};

/// The place of a call in this file, as it prints.
macro_rules! at {
    ($line:expr) => {
        format!("{}:{}:", file!(), $line)
    };
}

#[test]
fn a_deadlock_over_two_communicators_names_both() {
    let line = line!() + 3;
    let error = World::new(2)
        .run(|comm| {
            let dup = comm.dup()?;
            let both = match comm.rank() {
                0 => [comm, &dup],
                _ => [&dup, comm],
            };
            both.into_iter().try_for_each(Comm::barrier)
        })
        .unwrap_err();
    let WorldError::Deadlock(knot) = &error else {
        panic!("{error}");
    };
    assert_eq!(knot.stuck[0].comm, None);
    let name = format!("dup of world at {}", at!(line));
    assert!(
        knot.stuck[1].comm.as_ref().unwrap().starts_with(&name),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains(" on world") && text.contains(&format!(" on {name}")),
        "{text}"
    );
    assert!(text.ends_with("cycle: 0 -> 1 -> 0"), "{text}");
}

#[test]
fn what_goes_on_in_the_world_alone_names_no_communicator() {
    let error = World::new(2).run(|comm| comm.recv::<u8>(1 - comm.rank(), 0).map(drop));
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("deadlock") && !text.contains(" on "),
        "{text}"
    );
}

/// Runs a broadcast on grids of the halves of a world of 4, in which rank 3 calls a barrier instead.
fn mismatch_on_a_grid() -> Report<()> {
    World::new(4).run_each(|comm| {
        let part = comm.split(comm.rank() as u32 % 2, 0)?;
        let grid = Cartesian::new(&part, &[2, 1], &[false, false])?;
        match comm.rank() {
            3 => grid.barrier(),
            _ => grid.broadcast(0, &mut [1]),
        }
    })
}

#[test]
fn a_mismatch_and_each_error_name_the_communicator_and_its_parents() {
    let report = mismatch_on_a_grid();
    let start = "cartesian 2x1 of (split colour 1 of world at ";
    let found = report.mismatch.as_ref().unwrap();
    assert!(found.comm.as_ref().unwrap().starts_with(start), "{found}");
    let calls = format!("collective calls on {start}");
    assert!(found.to_string().contains(&calls), "{found}");
    let error = report.outcomes[3].error().unwrap().to_string();
    assert!(
        error.starts_with("barrier at ") && error.contains(&format!(" on {start}")),
        "{error}"
    );
    let recent = report.recent();
    let last = |rank: usize| recent[rank].last().unwrap().comm.as_ref().unwrap();
    assert!(last(3).starts_with(start));
    assert_eq!(recent[3].first().unwrap().comm, None, "split, on the world");
    assert!(last(2).starts_with("cartesian 2x1 of (split colour 0"));
    let text = report.to_string();
    assert!(text.contains(&format!(" on {start}")), "{text}");
}

#[test]
fn messages_and_requests_that_are_left_name_their_communicator() {
    let report = World::new(2).run_each(|comm| {
        let dup = comm.dup()?;
        if comm.rank() == 0 {
            dup.send(1, 7, &[1u8])?;
            comm.send(1, 8, &[1u8])?;
            drop(dup.irecv::<u8>(1, 9)?);
        }
        Ok(())
    });
    let dup = "dup of world at tests/blame/names.rs:";
    let of = |tag| report.lost.iter().find(|lost| lost.tag == tag).unwrap();
    assert!(of(7).comm.as_ref().unwrap().starts_with(dup), "{report}");
    assert_eq!(of(8).comm, None);
    assert!(
        report.unfinished[0].comm.as_ref().unwrap().starts_with(dup),
        "{report}"
    );
    assert!(
        report.to_string().contains(&format!("with tag 7 on {dup}")),
        "{report}"
    );
}

#[test]
fn a_shrunken_communicator_is_named_as_that() {
    let report = World::new(3).run_each(|comm| {
        assert_ne!(comm.rank(), 2, "rank 2 fails");
        let living = comm.shrink()?;
        living.recv::<u8>(1 - comm.rank(), 0).map(drop)
    });
    let knot = &report.deadlocks[0];
    let name = knot.stuck[0].comm.as_ref().unwrap();
    assert!(
        name.starts_with("shrink of world at tests/blame/names.rs:"),
        "{knot}"
    );
}

// ── other causes ──

/// A rank that asks for another tag than is sent.
fn wrong_tag(comm: &Comm) -> Result<()> {
    match comm.rank() {
        0 => comm.recv::<u8>(1, 7).map(drop),
        _ => comm.send(0, 8, &[1u8]),
    }
}

#[test]
fn the_error_of_a_run_says_which_message_was_sent_and_never_received() {
    let clue = "1 message was never received: rank 1 sent 1 x u8 to rank 0 with tag 8";
    let error = World::new(2).run(wrong_tag).unwrap_err();
    let WorldError::ReturnedEarly { rank: 1, lost, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((lost.len(), lost[0].tag), (1, 8));
    let text = error.to_string();
    assert!(
        text.contains("recv(from 1, tag 7)") && text.ends_with(clue),
        "{text}"
    );
    // The same where all ranks finally wait for each other.
    let error = World::new(2).run(|comm| {
        wrong_tag(comm)?;
        comm.barrier()
    });
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("deadlock") && text.ends_with(clue),
        "{text}"
    );
}

#[test]
fn messages_to_the_rank_in_need_are_told_first() {
    let error = World::new(4).run(|comm| match comm.rank() {
        0 => comm.recv::<u8>(1, 7).map(drop),
        1 => comm.send(0, 8, &[1u8]),
        _ => (0..5).try_for_each(|tag| comm.send(1, tag, &[1u8])),
    });
    let text = error.unwrap_err().to_string();
    let first = "11 messages were never received: rank 1 sent 1 x u8 to rank 0 with tag 8; ";
    assert!(text.contains(first), "{text}");
}
