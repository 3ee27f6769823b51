//! Programs that could, by mistake or by design, harm other ranks or hide what happened.

mod again;
mod support;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::thread;

use rankfold::collective::Algorithm;
use rankfold::topology::Topology;
use rankfold::{Buffering, Comm, ErrorKind, Outcome, Result, Seat, World, WorldError, op};
use support::guarded;

/// A value whose destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb went off");
    }
}

#[test]
fn destructors_of_messages_that_nobody_received_hurt_nobody() {
    let report = World::new(2).run_each(|comm| match comm.rank() {
        0 => (0..3).try_for_each(|tag| comm.send_value(1, tag, Bomb)),
        _ => Ok(()),
    });
    assert_eq!(report.lost.len(), 3);
    assert!(report.into_result().is_ok());
}

/// Sends a value and cancels the send, after it has arrived at the other rank.
fn take_back(comm: &Comm) -> Result<()> {
    let sent = comm.isend_value(1 - comm.rank(), 0, Bomb)?;
    assert!(sent.cancel()?);
    Ok(())
}

#[test]
fn destructors_of_messages_that_were_taken_back_hurt_nobody() {
    let world = World::new(2).buffering(Buffering::Zero);
    // Whether the other rank still runs, has ended or panics: only that rank itself is harmed.
    for late in [false, true] {
        let met = Barrier::new(2);
        let report = world.run_each(|comm| {
            if comm.rank() == 0 && !late {
                take_back(comm)?;
            }
            met.wait();
            if comm.rank() == 0 && late {
                take_back(comm)?;
            }
            Ok(())
        });
        let returned = |outcome: &Outcome<()>| outcome.value().is_some();
        assert!(report.outcomes.iter().all(returned), "{report:?}");
    }
    let (met, seats) = (Barrier::new(2), world.seats().unwrap());
    let live = |seat: Seat| {
        let comm = seat.enter();
        if comm.rank() == 0 {
            take_back(&comm).unwrap();
        }
        met.wait();
        assert_eq!(comm.rank(), 0, "the other one panics");
    };
    let live = &live;
    thread::scope(|scope| {
        let seats = seats.into_iter();
        let ended: Vec<_> = seats.map(|seat| scope.spawn(move || live(seat))).collect();
        let well = ended.into_iter().map(|thread| thread.join().is_ok());
        assert_eq!(well.collect::<Vec<_>>(), [true, false]);
    });
}

thread_local! {
    /// Where destructors of values receive.
    static BESIDE: RefCell<Option<Comm>> = const { RefCell::new(None) };
}

/// Waits for the other values when it is destroyed.
#[derive(Clone)]
struct Waits<'a> {
    at: Option<&'a Barrier>,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if let Some(at) = self.at {
            at.wait();
        }
        BESIDE.with_borrow(|comm| {
            if let Some(comm) = comm {
                let _ = comm.recv::<u8>((comm.rank() + 1) % comm.size(), 7);
            }
        });
    }
}

/// The function of a call owns something whose destructor waits; rank 3 panics before the call, or rank 2 in it.
fn ends_though_functions_wait(
    in_the_call: bool,
    call: impl Fn(&Comm, &mut dyn FnMut()) -> Result<()> + Sync,
) {
    let at = Barrier::new(3);
    let report = guarded(&|| format!("in the call: {in_the_call}"), || {
        World::new(4).run_each(|comm| {
            let me = comm.rank();
            let waits = Waits {
                at: (me < 3).then_some(&at),
            };
            if !in_the_call && me == 3 {
                panic!("the first culprit");
            }
            call(comm, &mut move || {
                let _ = &waits;
                if in_the_call && me == 2 {
                    panic!("the first culprit");
                }
            })
        })
    });
    assert_eq!(
        report.culprit,
        Some(if in_the_call { 2 } else { 3 }),
        "{report}"
    );
}

#[test]
fn what_a_function_owns_is_destroyed_after_the_others_know_that_its_call_has_failed() {
    let add = |visit: &mut dyn FnMut(), a: u64, b: u64| {
        visit();
        a + b
    };
    for in_the_call in [false, true] {
        ends_though_functions_wait(in_the_call, |comm, visit| {
            comm.values()
                .all_reduce(1, |a, b| add(visit, a, b))
                .map(drop)
        });
    }
}

/// Values whose destructors receive on another communicator, from a rank that does not send there.
#[test]
fn destructors_of_values_that_communicate_do_not_hide_the_culprit() {
    let calls: [fn(&Comm, Waits<'static>) -> Result<()>; 4] = [
        |comm, value| comm.values().all_reduce(value, |a, _| a).map(drop),
        |comm, value| comm.values().gather(0, value).map(drop),
        |comm, value| comm.values().all_gather(value).map(drop),
        |comm, value| {
            let chain = Topology::chain(comm.size());
            let sum = comm.values().reduce_over(&chain, value, |a, _| a);
            sum.run().map(drop)
        },
    ];
    for (call, number) in calls.into_iter().zip(0..) {
        let report = guarded(&|| format!("call {number}"), || {
            World::new(3).check(false).run_each(|comm| {
                BESIDE.set(Some(comm.dup()?));
                if comm.rank() == 2 {
                    panic!("the first culprit");
                }
                let result = call(comm, Waits { at: None });
                BESIDE.take();
                result
            })
        });
        for error in report.outcomes.iter().filter_map(Outcome::error) {
            assert_eq!(error.culprit(), Some(2), "call {number}: {error}\n{report}");
        }
        assert_eq!(report.culprit, Some(2), "call {number}: {report}");
    }
}

#[test]
fn a_bomb_left_behind_does_not_hide_the_culprit() {
    let error = World::new(2).run(|comm| {
        if comm.rank() == 0 {
            comm.send_value(1, 0, Bomb)?;
            return comm.barrier();
        }
        panic!("the real one")
    });
    let error = error.unwrap_err();
    assert!(
        matches!(&error, WorldError::Panicked { rank: 1, message, .. } if &**message == "the real one"),
        "{error}"
    );
}

#[test]
fn a_panic_resumed_from_another_thread_keeps_its_message() {
    let error = World::new(2).run(|comm| {
        if comm.rank() == 1 {
            let inner = std::thread::spawn(|| panic!("in a thread of the rank's own"));
            resume_unwind(inner.join().unwrap_err());
        }
        comm.barrier()
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("in a thread of the rank's own"), "{text}");
}

#[test]
fn an_old_panic_that_was_handled_is_not_taken_for_a_new_one() {
    let error = World::new(1).run(|_| {
        let old = catch_unwind(AssertUnwindSafe(|| panic!("old and handled")));
        assert!(old.is_err());
        let inner = std::thread::spawn(|| panic!("new"));
        resume_unwind(inner.join().unwrap_err());
        #[allow(unreachable_code)]
        Ok(())
    });
    assert!(error.unwrap_err().to_string().ends_with("new"));
}

#[test]
fn a_panic_of_its_own_after_the_end_of_another_is_not_hidden() {
    let error = World::new(2).run(|comm| {
        if comm.rank() == 1 {
            return comm.send(0, 1, &[1]);
        }
        while comm.recv::<i32>(1, 1).is_ok() {}
        let empty: Vec<i32> = Vec::new();
        assert_eq!(empty[comm.size()], 0);
        Ok(())
    });
    let error = error.unwrap_err();
    assert!(
        matches!(error, WorldError::Panicked { rank: 0, .. }),
        "{error}"
    );
}

#[test]
fn a_mismatch_that_no_rank_notices_is_named_at_the_end() {
    let error = World::new(2).check(false).run(|comm| {
        let mut v = [comm.rank()];
        comm.broadcast(comm.rank(), &mut v)?; // each is the root of its own broadcast
        comm.barrier()
    });
    assert!(matches!(error, Err(WorldError::Mismatch(_))), "{error:?}");
}

#[test]
fn survivors_do_not_take_a_mismatch_for_a_death() {
    for _ in 0..50 {
        let report = World::new(2).run_each(|comm| {
            if comm.rank() == 1 {
                let mut v = [1u8; 3];
                comm.reduce_over(&Topology::flat(2), &mut v, op::Sum)
                    .survivors()?;
                return Ok(());
            }
            // By now rank 1 has sent, and perhaps ended.
            let _ = comm.recv_timeout::<u8>(1, 9, std::time::Duration::from_millis(1));
            let mut v = [1u64];
            let who = comm
                .reduce_over(&Topology::flat(2), &mut v, op::Sum)
                .survivors();
            assert!(
                matches!(
                    who.as_ref().map_err(|error| error.kind()),
                    Err(ErrorKind::Mismatch(_))
                ),
                "{who:?}"
            );
            Ok(())
        });
        assert!(report.mismatch.is_some());
    }
}

#[test]
fn more_ranks_than_threads_can_be_are_refused() {
    let error = World::new(usize::MAX).run(|_| Ok(())).unwrap_err();
    assert!(matches!(error, WorldError::Usage(_)), "{error}");
}

#[test]
fn an_operator_cannot_get_round_the_guard_by_entering_another_world() {
    let refused = World::new(2).run(|comm| {
        let mut v = [1u32];
        comm.all_reduce(
            &mut v,
            op::commutative(|a: u32, b| {
                drop(World::connect(1).take(0).unwrap().enter());
                assert!(matches!(
                    comm.barrier().unwrap_err().kind(),
                    ErrorKind::Usage(_)
                ));
                a + b
            }),
        )?;
        Ok(v[0])
    });
    assert_eq!(refused.unwrap(), [2, 2]);
}

type Call = fn(&Comm) -> Result<()>;

/// Calls a communicator when its thread has ended except for its destructors.
struct Late(Option<(Comm, Call)>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some((comm, call)) = self.0.take() {
            // Any result will do: the others may have ended or not.
            let _ = call(&comm);
            let _ = call(&comm);
        }
    }
}

thread_local! {
    static LATE: RefCell<Late> = const { RefCell::new(Late(None)) };
}

#[test]
fn a_thread_may_call_while_its_last_destructors_run() {
    let calls: [Call; 6] = [
        |comm| comm.all_reduce(&mut [1], op::Sum),
        |comm| {
            comm.using(Algorithm::Direct)
                .all_reduce(&mut [1; 1000], op::Sum)
        },
        |comm| comm.recv::<u8>(1 - comm.rank(), 1).map(drop),
        |comm| comm.send(1 - comm.rank(), 1, &[1u8; 100]),
        |comm| comm.shrink().map(drop),
        |comm| comm.dup().map(drop),
    ];
    let live = |call: usize, late: bool, seat: Seat| {
        // The thread-local that is used first is dropped last.
        LATE.with_borrow(|_| ());
        let comm = seat.enter();
        if late {
            LATE.with_borrow_mut(|late| late.0 = Some((comm, calls[call])));
        } else {
            let _ = calls[call](&comm);
        }
    };
    for call in 0..calls.len() {
        for late in [[true, false], [true, true]] {
            guarded(&|| format!("call {call}, {late:?}"), || {
                thread::scope(|scope| {
                    for (seat, late) in World::connect(2).into_iter().zip(late) {
                        scope.spawn(move || live(call, late, seat));
                    }
                });
            });
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}

#[test]
fn destructors_of_values_of_another_call_do_not_hide_the_mismatch() {
    let report = World::new(3)
        .check(false)
        .run_each(|comm| match comm.rank() {
            0 => {
                let sum = comm.values().reduce(0, 1u64, |a, b| a + b);
                sum.map(drop)
            }
            _ => comm.values().gather(0, Bomb).map(drop),
        });
    match report.into_result().unwrap_err() {
        WorldError::Mismatch(mismatch) => assert_eq!(mismatch.odd, [0]),
        other => panic!("{other}"),
    }
}
