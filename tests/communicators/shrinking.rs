//! The surviving ranks shrink away the failed ones.

use std::sync::atomic::{AtomicBool, Ordering};

use rankfold::{Comm, ErrorKind, Fault, Outcome, Rank, Result, World, WorldError, op};

use super::all_goes_well_in;

/// All-reduces until a rank is missing, then goes on with the survivors; returns how many there were at last.
fn stubborn(comm: &Comm, calls: usize) -> Result<usize> {
    let mut small: Option<Comm> = None;
    let mut done = 0;
    while done < calls {
        let here = small.as_ref().unwrap_or(comm);
        let mut v = [1usize, here.world_rank(here.rank())];
        match here.all_reduce(&mut v, op::Sum) {
            Ok(()) => {
                assert_eq!(v[0], here.size());
                let world = (0..here.size()).map(|rank| here.world_rank(rank));
                assert_eq!(v[1], world.sum::<usize>());
                done += 1;
            }
            Err(error) if matches!(error.kind(), ErrorKind::Injected) => return Err(error),
            // Ranks that are done leave one by one; the others go on.
            Err(_) => small = Some(here.shrink()?),
        }
    }
    Ok(small.map_or(comm.size(), |small| small.size()))
}

#[test]
fn whoever_dies_at_any_operation_the_others_go_on() {
    for p in 2..=5 {
        for victim in 0..p {
            for nth in 1..=12 {
                for fault in [Fault::Panic, Fault::Error, Fault::Return] {
                    let place = format!("{fault:?} in rank {victim} of {p} at operation {nth}");
                    let world = World::new(p).inject(victim, nth, fault);
                    let report = world.run_each(|comm| stubborn(comm, 3));
                    for rank in (0..p).filter(|&rank| rank != victim) {
                        let outcome = &report.outcomes[rank];
                        assert!(
                            outcome.value().is_some(),
                            "{place}: rank {rank} {outcome:?}"
                        );
                    }
                }
            }
        }
    }
}

/// Sends when it is dropped, and says so.
struct SendsOnDrop<'a>(&'a Comm, &'a AtomicBool);

impl Drop for SendsOnDrop<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(1, 0, &[0u8]);
        self.1.store(true, Ordering::Release);
    }
}

/// Rank 0 counts as ended while it sleeps until the others no longer use its vector, and afterwards.
#[test]
fn a_rank_that_ended_before_it_slept_is_left_behind() {
    let (ended, first) = (AtomicBool::new(false), AtomicBool::new(true));
    let report = World::new(2).check(false).run_each(|comm| {
        let fold = |a: u64, b: u64| {
            if comm.rank() == 0 {
                let _sends = SendsOnDrop(comm, &ended);
                panic!("rank 0 fails in its operator");
            }
            if first.swap(false, Ordering::Relaxed) {
                while !ended.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                // Rank 0 gives up looking and sleeps meanwhile; however long this takes, the result is the same.
                (0..50_000).for_each(|_| std::thread::yield_now());
            }
            a + b
        };
        // Over channels rank 1 has the whole vector of rank 0 by then, needs nothing more of it, and succeeds.
        let _ = comm.all_reduce(&mut vec![1; 40_000], fold);
        assert!(comm.send(0, 0, &[1u8]).is_err(), "rank 0 has ended");
        comm.shrink().map(|small| small.size())
    });
    assert_eq!(report.outcomes[1].value(), Some(&1));
}

/// An attempt that fails is not taken for a member that waits, and is made again.
#[test]
fn a_shrink_that_failed_can_be_made_again() {
    let report = World::new(2).check(false).run_each(|comm| {
        let part = comm.dup()?;
        let failed = match comm.rank() {
            0 => part.shrink().map(drop),
            _ => comm.recv::<u8>(0, 1).map(drop),
        };
        let error = failed.expect_err("neither comes to what the other waits for");
        assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("shrink "), "{text}");
        assert!(!text.contains("on world\n  rank 1  recv"), "{text}");
        let small = part.shrink()?;
        small.barrier()?;
        Ok(small.size())
    });
    let sizes = report.into_result().unwrap();
    assert_eq!(sizes, [2, 2]);
}

#[test]
fn shrinking_keeps_the_order_and_leaves_all_dead_behind() {
    let dead = [1, 4, 5];
    let report = World::new(8).run_each(|comm| {
        assert!(!dead.contains(&comm.rank()), "it dies");
        let small = comm.shrink()?;
        let members: Vec<Rank> = (0..small.size())
            .map(|rank| small.world_rank(rank))
            .collect();
        all_goes_well_in(&small, &members)?;
        let again = small.split(small.rank() as u32 % 2, 0)?;
        Ok((members, again.size()))
    });
    for rank in [0, 2, 3, 6, 7] {
        let (members, _) = report.outcomes[rank].value().unwrap();
        // A rank that had not failed when all had arrived is still a member; no rank waits for it.
        let living: Vec<Rank> = members
            .iter()
            .copied()
            .filter(|r| !dead.contains(r))
            .collect();
        assert_eq!(living, [0, 2, 3, 6, 7]);
    }
}

#[test]
fn whoever_waits_in_a_communicator_that_is_left_hears_of_it() {
    let report = World::new(3).run_each(|comm| match comm.rank() {
        0 => {
            // Rank 1 goes on, so this could wait forever.
            let error = comm.recv::<u8>(1, 0).unwrap_err();
            let text = error.to_string();
            comm.shrink()?.barrier()?;
            Ok(text)
        }
        1 => {
            comm.recv::<u8>(2, 0).unwrap_err();
            comm.shrink()?.barrier()?;
            Ok(String::new())
        }
        _ => panic!("rank 2 fails"),
    });
    let text = report.outcomes[0].value().unwrap();
    assert!(
        text.contains("rank 1") && text.contains("has left it"),
        "{text}"
    );
}

#[test]
fn a_communicator_that_was_left_is_of_no_more_use() {
    World::new(2)
        .run(|comm| {
            let small = comm.shrink()?;
            for refused in [
                comm.barrier(),
                comm.send(0, 0, &[1]),
                comm.probe(0, 0).map(|_| ()),
            ] {
                let error = refused.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Revoked { .. }), "{error}");
            }
            small.barrier()
        })
        .unwrap();
}

#[test]
fn who_waits_where_the_others_shrink_is_named_and_none_of_them() {
    for (ranks, bad) in [(2, 0), (2, 1), (5, 2), (7, 6)] {
        let report = World::new(ranks).run_each(|comm| {
            if comm.rank() == bad {
                return comm.recv::<u8>((bad + 1) % ranks, 0).map(|_| ());
            }
            comm.shrink()?.barrier()
        });
        let case = format!("{ranks} ranks, {bad}");
        match report.into_result() {
            Err(WorldError::Failed { rank, error, .. }) => {
                assert_eq!(rank, bad, "{case}: {error}");
                assert!(
                    matches!(error.kind(), ErrorKind::Revoked { .. }),
                    "{case}: {error}"
                );
            }
            other => panic!("{case}: {other:?}"),
        }
    }
}

/// Ranks that wait for that rank elsewhere only follow it.
#[test]
fn who_uses_a_communicator_that_is_left_is_named_and_none_that_needs_it() {
    for (ranks, bad, shrinks) in [(2, 1, true), (3, 2, false), (3, 0, true), (5, 3, false)] {
        // A rank that is still in its dup when another one leaves fails there.
        let all_have_it = std::sync::Barrier::new(ranks);
        let report = World::new(ranks).run_each(|comm| {
            let other = comm.dup()?;
            all_have_it.wait();
            if comm.rank() != bad || shrinks {
                comm.shrink()?;
            }
            match comm.rank() == bad {
                true => comm.recv::<u8>((bad + 1) % ranks, 0).map(|_| ()),
                false => other.barrier(),
            }
        });
        let case = format!("{ranks} ranks, {bad}, {shrinks}");
        for (rank, outcome) in report.outcomes.iter().enumerate() {
            let error = outcome.error().unwrap_or_else(|| panic!("{case}: {rank}"));
            let is_revoked = matches!(error.kind(), ErrorKind::Revoked { .. });
            assert_eq!(is_revoked, rank == bad, "{case}: rank {rank}: {error}");
        }
        match report.into_result() {
            Err(WorldError::Failed { rank, .. }) => assert_eq!(rank, bad, "{case}"),
            other => panic!("{case}: {other:?}"),
        }
    }
}

#[test]
fn who_never_comes_to_the_shrinking_is_a_deadlock() {
    let report = World::new(2).run_each(|comm| match comm.rank() {
        0 => comm.shrink().map(|_| ()),
        _ => {
            let other = comm.dup();
            other.map(|_| ())
        }
    });
    // Rank 1's dup fails as soon as rank 0 has left; then it ends, and rank 0 goes on alone.
    assert!(
        matches!(report.outcomes[0], Outcome::Returned(())),
        "{report:?}"
    );
    let report = World::new(2).run_each(|comm| {
        let twin = comm.dup()?;
        match comm.rank() {
            0 => comm.shrink().map(|_| ()),
            _ => twin.recv::<u8>(0, 0).map(|_| ()),
        }
    });
    assert!(matches!(report.into_result(), Err(WorldError::Deadlock(_))));
}
