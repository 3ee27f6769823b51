//! The flight recorder: the last operations of each rank, read while it runs and after it has ended.

mod again;
mod support;

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use rankfold::collective::Algorithm;
use rankfold::{
    Buffering, Comm, Operation, Outcome, Passed, Progress, Report, Result, Source, Tag, World, op,
};
use support::guarded;

/// Returns the calls of one rank, as printed.
fn calls<R>(report: &Report<R>, rank: usize) -> Vec<String> {
    let recent = report.recent();
    recent[rank].iter().map(|one| one.call.clone()).collect()
}

#[test]
fn a_report_has_what_each_rank_did_with_arguments_and_line() {
    let report = World::new(2).run_each(|comm| match comm.rank() {
        0 => {
            comm.send(1, 7, &[1.0, 2.0])?;
            comm.send_value(1, 8, String::new())?;
            comm.barrier()
        }
        _ => {
            comm.recv::<f64>(0, 7)?;
            comm.recv_value::<String>(Source::Any, Tag::Any)?;
            comm.barrier()
        }
    });
    let sender = [
        "send(to 1, tag 7, 2 x f64)",
        "send_value(to 1, tag 8, alloc::string::String)",
        "barrier",
    ];
    assert_eq!(calls(&report, 0), sender);
    let receiver = [
        "recv(from 0, tag 7)",
        "recv_value(from any, tag any)",
        "barrier",
    ];
    assert_eq!(calls(&report, 1), receiver);
    for operation in report.recent().concat() {
        assert!(operation.site.file().ends_with("recorder.rs"));
        assert_eq!(operation.progress, Progress::Done);
    }
}

#[test]
fn collectives_are_recorded_with_root_and_length_and_how_many_messages_they_passed() {
    let report = World::new(2).run_each(|comm| {
        comm.reduce(1, &mut [0u8; 5], op::Max)?;
        comm.all_reduce(&mut [comm.rank()], op::Sum)
    });
    for (rank, operations) in report.recent().iter().enumerate() {
        let [reduce, all_reduce] = &operations[..] else {
            panic!("{operations:?}")
        };
        assert_eq!(reduce.call, "reduce(root 1, 5 x u8)");
        let passed = if rank == 1 {
            Passed::From(0)
        } else {
            Passed::To(1)
        };
        assert_eq!(reduce.last, Some(passed));
        assert_eq!((all_reduce.sent, all_reduce.received), (1, 1));
    }
}

#[test]
fn the_last_64_are_kept_in_order_and_numbered() {
    for total in [1u64, 63, 64, 65, 200] {
        let report = World::new(1)
            .run_each(|comm| (0..total).try_for_each(|tag| comm.send(0, tag as u32, &[tag])));
        let recent = &report.recent()[0];
        let numbers: Vec<u64> = recent.iter().map(|one| one.number).collect();
        let expected: Vec<u64> = (total.saturating_sub(64) + 1..=total).collect();
        assert_eq!(numbers, expected);
        for one in recent {
            assert_eq!(
                one.call,
                format!("send(to 0, tag {}, 1 x u64)", one.number - 1)
            );
        }
    }
}

#[test]
fn who_fails_inside_a_call_is_shown_there() {
    let report = World::new(3).run_each(|comm| match comm.rank() {
        0 => comm.recv::<u8>(1, 0).map(|_| ()),
        1 => comm.recv::<u8>(0, 0).map(|_| ()),
        _ => comm.all_reduce(&mut [0], |_, _| panic!("an operator panics")),
    });
    let last = |rank: usize| report.recent()[rank].last().unwrap().clone();
    assert_eq!(last(0).progress, Progress::Failed);
    assert_eq!(last(2).progress, Progress::Failed); // no rank arrived, so the operator was never called
    let report = World::new(1).run_each(|_: &Comm| -> Result<()> { panic!("outside") });
    assert!(report.recent()[0].is_empty());
}

#[test]
fn a_rank_that_panics_in_an_operator_is_shown_inside_its_call_whether_it_waited_or_not() {
    // The later of two ranks finds the other's vector there: it posts, and panics without waiting.
    for _ in 0..200 {
        let report = World::new(2).run_each(|comm| {
            comm.all_reduce(&mut [0], |_, _| -> i32 { panic!("an operator panics") })
        });
        let panicked = |rank: &usize| matches!(report.outcomes[*rank], Outcome::Panicked { .. });
        let rank = (0..2).find(panicked).expect("one of them panics");
        let last = report.recent()[rank].last().cloned();
        assert_eq!(last.map(|one| one.progress), Some(Progress::Inside));
    }
}

#[test]
fn times_of_a_rank_do_not_go_backwards_and_end_before_the_run() {
    let report = World::new(4).run_each(|comm| {
        for _ in 0..30 {
            comm.barrier()?;
            comm.sendrecv((comm.rank() + 1) % 4, 0, &[0u8], Source::Any, 0)?;
        }
        Ok(())
    });
    for operations in report.recent() {
        assert_eq!(operations.len(), 60);
        assert!(operations.is_sorted_by_key(|one: &Operation| one.begun));
        assert!(
            operations
                .iter()
                .all(|one| one.begun <= report.wall + Duration::from_secs(1))
        );
    }
}

#[test]
fn a_world_that_does_not_record_has_nothing_to_tell() {
    let report = World::new(2).record(false).run_each(|comm| comm.barrier());
    assert_eq!(report.recent().concat().len(), 0);
    let failed = World::new(1)
        .record(false)
        .run_each(|comm| comm.recv::<u8>(0, 0).map(|_| ()));
    assert!(!failed.to_string().contains("last operations"));
}

#[test]
fn a_failed_report_prints_what_every_rank_did_last() {
    let report = World::new(2).run_each(|comm| match comm.rank() {
        0 => comm.recv::<u8>(1, 7).map(|_| ()),
        _ => comm.send(0, 8, &[1u8]),
    });
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("rank 0 failed: recv(from 1, tag 7) at tests/recorder.rs:"),
        "{text}"
    );
    assert_eq!(lines[1], "rank 1 returned");
    assert!(
        lines[2].starts_with("1 message was never received"),
        "{text}"
    );
    assert!(
        text.contains("recv(from 1, tag 7) at tests/recorder.rs"),
        "{text}"
    );
    assert!(
        lines
            .last()
            .unwrap()
            .contains("ms  send(to 0, tag 8, 1 x u8) at tests/recorder.rs"),
        "{text}"
    );
    let well = World::new(2).run_each(|comm| comm.barrier());
    assert_eq!(well.to_string(), "rank 0 returned\nrank 1 returned");
}

#[test]
fn the_watchdog_shows_what_the_others_did_last() {
    let (sent, go) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = guarded(&|| "watchdog".into(), || {
        World::new(2)
            .timeout(Duration::from_millis(30))
            .run_each(|comm| {
                if comm.rank() == 0 {
                    // Its timeout starts when there is something to show.
                    while !sent.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    let late = comm.recv::<u8>(1, 0).map(|_| ());
                    go.store(true, Ordering::Release);
                    return late;
                }
                comm.send(0, 9, &[0u16; 3])?;
                sent.store(true, Ordering::Release);
                // Stuck outside the library, until rank 0 has timed out.
                while !go.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                Ok(())
            })
    });
    let error = report.outcomes[0].error().unwrap().to_string();
    assert!(
        error.contains("ms ago  send(to 0, tag 9, 3 x u16) at tests/recorder.rs:"),
        "{error}"
    );
    assert!(
        error.contains("ms ago  recv(from 1, tag 0) at tests/recorder.rs"),
        "{error}"
    );
}

#[test]
fn a_short_send_that_waits_for_room_is_shown_while_it_waits() {
    let sends: [fn(&Comm) -> Result<()>; 2] = [
        |comm| comm.send_value(1, 5, 1u64),
        |comm| comm.send(1, 5, &[1u64]),
    ];
    for send in sends {
        let go = AtomicBool::new(false);
        let report = guarded(&|| "a send that waits".into(), || {
            World::new(2)
                .buffering(Buffering::Zero)
                .timeout(Duration::from_millis(30))
                .run_each(|comm| {
                    if comm.rank() == 0 {
                        let late = send(comm);
                        go.store(true, Ordering::Release);
                        return late;
                    }
                    while !go.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    Ok(())
                })
        });
        let error = report.outcomes[0].error().unwrap().to_string();
        let line = |line: &str| line.contains("ms ago  send") && line.contains(", not over");
        assert!(error.lines().any(line), "{error}");
    }
}

#[test]
fn an_operator_that_calls_its_communicator_hides_neither_its_own_call_nor_another() {
    let ways = [
        Algorithm::Exchange,
        Algorithm::Ring,
        Algorithm::Cells,
        Algorithm::Direct,
    ];
    for (algorithm, ranks) in ways.into_iter().flat_map(|way| [(way, 2), (way, 4)]) {
        // A rank that arrives late waits for nothing on its way to the operator.
        for _ in 0..20 {
            let report = World::new(ranks).run_each(|comm| {
                (0..16).try_for_each(|_| {
                    let refused = |a: u64, b| {
                        assert!(comm.barrier().is_err());
                        a + b
                    };
                    let op = op::commutative(refused);
                    comm.using(algorithm).all_reduce(&mut [1u64], op)
                })
            });
            for recent in report.recent() {
                let mut outer = recent.iter().filter(|one| one.call != "barrier");
                assert!(outer.clone().count() == 16, "{algorithm:?}: {recent:?}");
                assert!(outer.all(|one| one.progress == Progress::Done));
            }
        }
    }
}

#[test]
fn a_started_call_that_folds_while_it_starts_is_recorded_beside_what_its_operator_calls() {
    const TIMES: usize = 8;
    let report = World::new(2).run_each(|comm| {
        let inside = Rc::new(comm.dup()?);
        (0..TIMES).try_for_each(|_| {
            let inside = inside.clone();
            let refused = move |a: u64, b| {
                assert!(inside.barrier().is_err());
                a + b
            };
            if comm.rank() == 1 {
                comm.recv::<u8>(0, 0)?;
            }
            let started = comm.iall_reduce(vec![1u64], op::commutative(refused))?;
            if comm.rank() == 0 {
                comm.send(1, 0, &[0u8])?;
            }
            assert_eq!(started.wait()?, [2]);
            Ok(())
        })
    });
    for (recent, outcome) in report.recent().iter().zip(&report.outcomes) {
        assert!(matches!(outcome, Outcome::Returned(())), "{report}");
        let mut started = recent
            .iter()
            .filter(|one| one.call.contains("iall_reduce("));
        let begun = started.clone().filter(|one| !one.call.contains("wait"));
        assert_eq!(begun.count(), TIMES, "{recent:?}");
        assert!(started.all(|one| one.progress == Progress::Done));
    }
}

#[test]
fn two_verbs_at_one_line_are_told_apart() {
    #[track_caller]
    fn to_and_fro(comm: &Comm) -> Result<()> {
        comm.send(0, 1, &[1u8])?;
        comm.send(0, 1, &[1i64])?;
        comm.recv::<u8>(0, 1)?;
        comm.recv_into(0, 1, &mut [0i64])?;
        comm.barrier()
    }
    let report = World::new(1).run_each(|comm| to_and_fro(comm).and_then(|()| to_and_fro(comm)));
    let once = [
        "send(to 0, tag 1, 1 x u8)",
        "send(to 0, tag 1, 1 x i64)",
        "recv(from 0, tag 1)",
        "recv_into(from 0, tag 1)",
        "barrier",
    ];
    assert_eq!(calls(&report, 0), [once, once].concat());
}

#[test]
fn requests_of_one_line_keep_their_names() {
    #[track_caller]
    fn to_and_fro(comm: &Comm) -> Result<()> {
        let got = comm.irecv::<u8>(0, 1)?;
        let sent = comm.isend(0, 1, vec![1u8])?;
        got.wait()?;
        sent.wait()?;
        comm.ibarrier()?.wait()?;
        comm.iprobe(0, 1).map(drop)
    }
    let report = World::new(1).run_each(|comm| to_and_fro(comm).and_then(|()| to_and_fro(comm)));
    let names = |call: String| call.split('(').next().unwrap().to_owned();
    let names: Vec<_> = calls(&report, 0).into_iter().map(names).collect();
    let once = [
        "irecv",
        "isend",
        "wait for irecv",
        "wait for isend",
        "ibarrier",
        "wait for ibarrier",
        "iprobe",
    ];
    assert_eq!(names, [once, once].concat());
}

#[test]
fn waiting_is_counted_for_the_rank_that_waits() {
    let report = World::new(2).run_each(|comm| match comm.rank() {
        0 => comm.send(0, 0, &[0u8]),
        _ => {
            // It sends itself nothing, so the relative speed of the ranks does not matter.
            let long = Duration::from_millis(5);
            comm.recv_timeout::<u8>(1, 0, long).unwrap_err();
            Ok(())
        }
    });
    assert_eq!(report.counts[0].waiting, Duration::ZERO);
    assert!(report.counts[1].waiting > Duration::ZERO);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((64.0 * support::scale()).ceil() as u32))]

    #[test]
    fn whatever_a_rank_does_is_written_down_in_its_order(deeds in prop::collection::vec(0u32..6, 0..100)) {
        let report = World::new(2).run_each(|comm| {
            deeds.iter().enumerate().try_for_each(|(nth, deed)| perform(comm, *deed, nth as u32))
        });
        for rank in 0..2 {
            let named = deeds.iter().enumerate().map(|(nth, deed)| named(*deed, nth, 1 - rank));
            let expected: Vec<String> = named.collect();
            prop_assert_eq!(&calls(&report, rank), &expected[expected.len().saturating_sub(64)..]);
        }
    }
}

fn perform(comm: &Comm, deed: u32, nth: u32) -> Result<()> {
    let peer = 1 - comm.rank();
    match deed {
        0 => comm.barrier(),
        1 => comm.broadcast(0, &mut [nth; 20]),
        2 => comm
            .sendrecv(peer, nth, &[nth], Source::Any, nth)
            .map(|_| ()),
        3 => comm
            .sendrecv(peer, nth, &[0u64; 100], peer, nth)
            .map(|_| ()),
        4 => comm.scan(&mut [1u16], op::Sum),
        _ => comm.all_reduce(&mut [1.0f32; 50], op::Max),
    }
}

fn named(deed: u32, nth: usize, peer: usize) -> String {
    match deed {
        0 => "barrier".into(),
        1 => "broadcast(root 0, 20 x u32)".into(),
        2 => format!("sendrecv(to {peer}, tag {nth}, 1 x u32)"),
        3 => format!("sendrecv(to {peer}, tag {nth}, 100 x u64)"),
        4 => "scan(1 x u16)".into(),
        _ => "all_reduce(50 x f32)".into(),
    }
}

#[cfg(all(unix, feature = "signal"))]
mod on_signal {
    //! The world runs in a separate process: this same program, controlled by an environment variable.

    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, Command, Stdio};

    use super::*;

    const CHILD: &str = "RANKFOLD_TEST_SIGNAL";

    #[test]
    fn a_running_world_is_printed_when_the_signal_comes() {
        if std::env::var_os(CHILD).is_some() {
            return run_until_the_end_of_the_input();
        }
        let mut child = start_again("on_signal::a_running_world_is_printed_when_the_signal_comes");
        let mut ask = child.stdin.take().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let mut lines = errors.lines().map(std::result::Result::unwrap);
        // Again until rank 1 sleeps: then the dump says what it waits for.
        let picture = guarded(&|| "signal".into(), || {
            loop {
                ask.write_all(b"\n").unwrap();
                let lines = lines.by_ref();
                let one: Vec<_> = lines
                    .take_while(|line| line != "rankfold: worlds that run: 1")
                    .collect();
                let text = one.join("\n");
                if text.contains("  rank 1  recv(from 0, tag 5) at tests/recorder.rs") {
                    return text;
                }
            }
        });
        drop(ask);
        assert!(child.wait().unwrap().success());
        assert!(
            picture.contains("rankfold: a world of 2 ranks"),
            "{picture}"
        );
        assert!(picture.contains("  rank 0  running"), "{picture}");
        assert!(
            picture.contains("ms ago  send(to 1, tag 4, 1 x u8) at tests/recorder.rs"),
            "{picture}"
        );
    }

    /// Starts this program again, for one test alone.
    fn start_again(test: &str) -> Child {
        let this = std::env::current_exe().unwrap();
        Command::new(this)
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Raises the signal once per input line.
    fn run_until_the_end_of_the_input() {
        let world = World::new(2).dump_on_signal().unwrap();
        let outcome = world.run(|comm| {
            if comm.rank() == 1 {
                return comm.recv::<u8>(0, 5).map(|_| ());
            }
            comm.send(1, 4, &[1u8])?;
            for _ in std::io::stdin().lines() {
                signal_hook::low_level::raise(signal_hook::consts::SIGUSR1).unwrap();
            }
            comm.send(1, 5, &[1u8])
        });
        outcome.unwrap();
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
