//! A rank that only returned is not blamed, and one that left out or added a call is.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rankfold::error::Called;
use rankfold::op::Sum;
use rankfold::{Comm, Rank, Result, World, WorldError};

use super::times;
use crate::support::guarded;

/// One rank leaves out the last call; what the others do in it does not need that rank.
fn leaves_out(ranks: usize, leaver: Rank, call: impl Fn(&Comm) -> Result<()> + Sync) {
    for time in 0..times() {
        let case = || format!("{leaver} of {ranks} leaves out a call, time {time}");
        let ended = guarded(&case, || {
            World::new(ranks).check(false).run(|comm| {
                comm.barrier()?;
                if comm.rank() == leaver {
                    return Ok(());
                }
                call(comm)
            })
        });
        let error = ended
            .map(drop)
            .expect_err("a rank was missed, or its message was");
        assert_eq!(error.culprit(), Some(leaver), "{error}");
        if let WorldError::Mismatch(found) = &error {
            assert_eq!(found.odd, [leaver], "{error}");
            assert!(
                error.to_string().contains("no such call: it has returned"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_rank_that_returned_without_a_call_is_named_though_the_others_records_agree() {
    for ranks in 3..=5 {
        for leaver in 1..ranks {
            leaves_out(ranks, leaver, |comm| comm.broadcast(0, &mut [1u64]));
            leaves_out(ranks, leaver, |comm| {
                let all = (comm.rank() == 0).then(|| vec![7u8; comm.size()]);
                comm.values().scatter(0, all).map(drop)
            });
        }
    }
}

/// All but one return without the call that the odd rank makes at the end.
fn makes_one_more(call: impl Fn(&Comm) -> Result<()> + Sync) {
    for (ranks, check) in [(3, false), (4, false), (5, false), (3, true), (5, true)] {
        for odd in 0..ranks {
            let case = || format!("{odd} of {ranks} makes a call more, check {check}");
            let error = guarded(&case, || {
                World::new(ranks).check(check).run(|comm| {
                    comm.barrier()?;
                    if comm.rank() == odd {
                        call(comm)
                    } else {
                        Ok(())
                    }
                })
            });
            let error = error.expect_err("the others make no such call");
            let WorldError::Mismatch(found) = &error else {
                panic!("{}: {error}", case());
            };
            assert_eq!(found.odd, [odd], "{}: {error}", case());
            let without = |called: &&Called| called.call.contains("it has returned");
            let others = found.calls.iter().filter(without).count();
            assert!(others * 2 > ranks, "{}: {error}", case());
        }
    }
}

#[test]
fn a_rank_that_makes_a_call_more_than_all_others_is_named_and_none_of_those_that_returned() {
    makes_one_more(|comm| comm.barrier());
    makes_one_more(|comm| comm.all_reduce(&mut [1u8], Sum));
    makes_one_more(|comm| comm.values().all_reduce(1, |a, b| a + b).map(drop));
    makes_one_more(|comm| comm.dup().map(drop));
    // Its messages leave, and are never received.
    makes_one_more(|comm| comm.broadcast(comm.rank(), &mut [1u8]));
}

/// The others wait for the rank that is missed, not for its call. Without that rank they are in a deadlock, which they may
/// find before it returns: as often as it takes to see the rank named once.
#[test]
fn who_waits_for_a_rank_that_returned_does_not_wait_for_those_that_wait_for_it() {
    let (mut named, mut time) = (0, 0);
    while time < times() || named == 0 {
        time += 1;
        assert!(time < 10_000, "the rank that returned is never named");
        let case = || format!("a chain behind a missing rank, time {time}");
        let returns = AtomicBool::new(false);
        let error = guarded(&case, || {
            World::new(4).check(false).run(|comm| {
                while comm.rank() != 1 && !returns.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                match comm.rank() {
                    0 => comm.barrier(),
                    1 => {
                        returns.store(true, Ordering::Relaxed);
                        Ok(())
                    }
                    me => comm.recv::<u8>((me + 1) % 4, 0).map(drop),
                }
            })
        });
        let error = error.expect_err("a rank was missed");
        assert!(matches!(error.culprit(), Some(1) | None), "{error}");
        named += usize::from(error.culprit() == Some(1));
    }
}

/// A rank that returns the error that another rank caused is not to blame, whatever it does in between.
#[test]
fn who_cleans_up_before_it_returns_an_error_of_others_is_not_to_blame() {
    let error = World::new(2).run(|comm| {
        if comm.rank() == 1 {
            return Ok(());
        }
        let received = comm.recv::<u8>(1, 0);
        comm.send(0, 0, &[1u8])?;
        comm.recv::<u8>(0, 0)?;
        received.map(|_| ())
    });
    assert!(
        matches!(error, Err(WorldError::ReturnedEarly { rank: 1, .. })),
        "{error:?}"
    );
}

/// What a rank was told in an earlier run, on the same thread, does not excuse it.
#[test]
fn an_error_of_an_earlier_run_is_an_error_of_its_own() {
    let team = World::new(2).start().unwrap();
    let kept = Mutex::new(None);
    let first = team.run(|comm| {
        if comm.rank() == 1 {
            return Ok(());
        }
        let error = comm.recv::<u8>(1, 0).unwrap_err();
        *kept.lock().unwrap() = Some(error.to_string());
        Ok(())
    });
    drop(first);
    let text = kept.lock().unwrap().clone().unwrap();
    let second = team.try_run_each(|comm| match comm.rank() {
        0 => Err(text.clone()),
        _ => Ok(()),
    });
    assert_eq!(second.unwrap().culprit, Some(0));
}

/// Only rank 1 leaves out the call. The others made it, and then so many on another communicator that it is no longer
/// among their last ones.
#[test]
fn ranks_whose_call_is_long_ago_have_not_left_it_out() {
    for calls in [3, 10, 100] {
        for time in 0..times() {
            let case = || format!("{calls} calls on another communicator, time {time}");
            let error = guarded(&case, || {
                World::new(5).check(false).run(|comm| {
                    let sub = comm.split((comm.rank() > 1) as _, 0)?;
                    if comm.rank() == 1 {
                        return Ok(());
                    }
                    comm.gather(0, &[comm.rank()])?;
                    match comm.rank() {
                        0 => Ok(()),
                        _ => (0..calls).try_for_each(|_| sub.barrier()),
                    }
                })
            });
            let error = error.expect_err("rank 0 misses rank 1");
            assert_eq!(error.culprit(), Some(1), "{}: {error}", case());
        }
    }
}

/// All made many calls on another communicator, and one of them then makes a call that no other makes.
#[test]
fn a_rank_that_makes_a_call_more_is_named_after_many_calls_on_another_communicator() {
    for time in 0..times() {
        let case = || format!("time {time}");
        let error = guarded(&case, || {
            World::new(5).check(false).run(|comm| {
                let other = comm.dup()?;
                (0..20).try_for_each(|_| other.barrier())?;
                if comm.rank() == 2 {
                    comm.barrier()?;
                }
                Ok(())
            })
        });
        let error = error.expect_err("the others make no such call");
        assert_eq!(error.culprit(), Some(2), "{}: {error}", case());
    }
}

/// The same after calls on more communicators than a rank keeps numbers of.
#[test]
fn a_rank_that_makes_a_call_more_is_named_after_calls_on_many_communicators() {
    for time in 0..times() {
        let case = || format!("time {time}");
        let error = guarded(&case, || {
            World::new(5).check(false).run(|comm| {
                (0..200).try_for_each(|_| comm.dup()?.barrier())?;
                let last = comm.dup()?;
                match comm.rank() {
                    2 => last.barrier(),
                    _ => Ok(()),
                }
            })
        });
        let error = error.expect_err("no other rank comes");
        assert_eq!(error.culprit(), Some(2), "{}: {error}", case());
    }
}
