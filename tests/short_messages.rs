//! Short messages between ranks that communicate often, which bypass the mailbox where possible: whatever path they
//! take, they are received as if there were only one.

mod again;
mod common;

use common::cases;
use proptest::prelude::*;
use rankfold::{Comm, ErrorKind, Rank, Result, Source, Tag, World, WorldError};

/// More messages than a rank sends by the mailbox before it looks for another path.
const MANY: u32 = 40;
/// Lengths in elements on both sides of every bound.
const LENGTHS: [usize; 16] = [
    0, 1, 4, 5, 16, 36, 37, 128, 129, 256, 257, 512, 513, 900, 1024, 1025,
];

/// Exchanges answers until rank `a` certainly sends to rank `b` by the fastest path, and the other way round.
fn warm_up(comm: &Comm, a: Rank, b: Rank) -> Result<()> {
    for number in 0..MANY {
        if comm.rank() == a {
            comm.send(b, 0, &[number])?;
            assert_eq!(comm.recv::<u32>(b, 0)?.0, [number]);
        } else if comm.rank() == b {
            assert_eq!(comm.recv::<u32>(a, 0)?.0, [number]);
            comm.send(a, 0, &[number])?;
        }
    }
    Ok(())
}

/// An action of one rank towards another.
#[derive(Clone, Copy, Debug)]
enum Line {
    Send {
        tag: u32,
        length: usize,
    },
    Value {
        tag: u32,
    },
    Start {
        tag: u32,
        length: usize,
    },
    /// Waits until everything is received.
    Settle,
}

const SETTLED: u32 = 9;

fn line() -> impl Strategy<Value = Line> {
    let length = || prop::sample::select(&LENGTHS[..]);
    prop_oneof![
        12 => (0..3u32, length()).prop_map(|(tag, length)| Line::Send { tag, length }),
        1 => (0..3u32).prop_map(|tag| Line::Value { tag }),
        4 => (0..3u32, length()).prop_map(|(tag, length)| Line::Start { tag, length }),
        4 => Just(Line::Settle),
    ]
}

/// The elements of message `number`.
fn contents(number: usize, length: usize) -> Vec<u64> {
    (0..length as u64)
        .map(|at| 1000 * number as u64 + at)
        .collect()
}

fn send_all(comm: &Comm, lines: &[Line]) -> Result<()> {
    for (number, line) in lines.iter().enumerate() {
        match *line {
            Line::Send { tag, length } => comm.send(1, tag, &contents(number, length))?,
            Line::Value { tag } => comm.send_value(1, tag, number)?,
            Line::Start { tag, length } => {
                comm.isend(1, tag, contents(number, length))?.wait()?;
            }
            Line::Settle => {
                comm.send(1, SETTLED, &[0u64])?;
                comm.recv::<u64>(1, SETTLED)?;
            }
        }
    }
    Ok(())
}

/// The first message of any tag is always the one that was sent next.
fn receive_all(comm: &Comm, lines: &[Line], picks: u64) -> Result<()> {
    for (number, line) in lines.iter().enumerate() {
        match *line {
            Line::Value { tag } => {
                let (value, status) = comm.recv_value::<usize>(0, Tag::Any)?;
                assert_eq!((value, status.tag), (number, tag));
            }
            Line::Send { tag, length } | Line::Start { tag, length } => {
                let wanted = contents(number, length);
                let source = if number % 2 == 0 {
                    Source::Any
                } else {
                    Source::Rank(0)
                };
                assert_eq!(
                    receive_one(comm, source, tag, length, picks >> (number % 60))?,
                    wanted
                );
            }
            Line::Settle => {
                comm.recv::<u64>(0, SETTLED)?;
                comm.send(0, SETTLED, &[0u64])?;
            }
        }
    }
    Ok(())
}

/// Receives the next message in one of several ways.
fn receive_one(
    comm: &Comm,
    source: Source,
    tag: u32,
    length: usize,
    pick: u64,
) -> Result<Vec<u64>> {
    let mut buf = vec![0; length];
    let status = match pick % 5 {
        0 => {
            return comm
                .irecv::<u64>(source, Tag::Any)?
                .wait()
                .map(|(got, _)| got);
        }
        1 => {
            let status = comm.probe(source, Tag::Any)?;
            comm.recv_into(status.source, status.tag, &mut buf)?
        }
        2 => {
            let message = comm.probe_matched(source, Tag::Any)?;
            let status = message.status();
            message.recv_into(&mut buf)?;
            status
        }
        3 => return comm.recv::<u64>(source, Tag::Any).map(|(got, _)| got),
        _ => comm.recv_into(source, Tag::Any, &mut buf)?,
    };
    assert_eq!((status.source, status.tag, status.count), (0, tag, length));
    Ok(buf)
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn messages_come_in_the_order_in_which_they_were_sent_whatever_way_they_take(
        lines in prop::collection::vec(line(), 1..150),
        picks in any::<u64>(),
    ) {
        let result = World::new(2).strict().run(|comm| {
            warm_up(comm, 0, 1)?;
            match comm.rank() {
                0 => send_all(comm, &lines),
                _ => receive_all(comm, &lines, picks),
            }
        });
        prop_assert!(result.is_ok(), "{result:?}");
    }

    #[test]
    fn each_tag_has_its_own_order(lengths in prop::collection::vec(prop::sample::select(&LENGTHS[..]), 1..60)) {
        let result = World::new(2).strict().run(|comm| {
            warm_up(comm, 0, 1)?;
            let all = || lengths.iter().enumerate();
            if comm.rank() == 0 {
                return all().try_for_each(|(n, &length)| comm.send(1, n as u32 % 2, &contents(n, length)));
            }
            for tag in [1, 0] {
                for (n, &length) in all().filter(|(n, _)| *n as u32 % 2 == tag) {
                    assert_eq!(comm.recv::<u64>(0, tag)?.0, contents(n, length));
                }
            }
            Ok(())
        });
        prop_assert!(result.is_ok(), "{result:?}");
    }
}

/// Rank 0 sends to rank 2, then to rank 1, which sends to rank 2.
#[test]
fn a_cause_is_received_before_its_effect() {
    let result = World::new(3).strict().run(|comm| {
        warm_up(comm, 0, 2)?;
        for number in 0..3000u32 {
            // Alternately the cause goes by the fast path and the effect does not, and the other way round.
            let first = if number % 2 == 0 { 0 } else { 1 };
            match comm.rank() {
                2 => {
                    let told = [(); 2].map(|()| comm.recv::<u32>(Source::Any, 1));
                    for (source, told) in [first, 1 - first].into_iter().zip(told) {
                        let (got, status) = told?;
                        assert_eq!((got, status.source), (vec![number], source));
                    }
                    comm.send(first, 2, &[number])?;
                }
                rank if rank == first => {
                    comm.send(2, 1, &[number])?;
                    comm.send(1 - first, 1, &[number])?;
                    comm.recv::<u32>(2, 2)?;
                }
                _ => {
                    comm.recv::<u32>(first, 1)?;
                    comm.send(2, 1, &[number])?;
                }
            }
        }
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn a_rank_that_turns_to_another_one_and_back_loses_nothing() {
    let result = World::new(4).strict().run(|comm| {
        for (a, b) in [(0, 1), (0, 2), (3, 1), (0, 1), (1, 2), (2, 0), (3, 2)] {
            warm_up(comm, a, b)?;
        }
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn what_does_not_fit_a_receive_stays_first_in_line() {
    let result = World::new(2).strict().run(|comm| {
        warm_up(comm, 0, 1)?;
        if comm.rank() == 0 {
            comm.send(1, 1, &[7u64; 3])?;
            comm.send(1, 1, &[8u64; 100])?;
            return comm.send(1, 1, &[9u64; 3]);
        }
        for (value, length) in [(7, 3), (8, 100)] {
            let wrong = comm.recv::<f32>(0, 1).unwrap_err();
            assert!(
                matches!(wrong.kind(), ErrorKind::WrongType { .. }),
                "{wrong}"
            );
            let short = comm.recv_into(0, 1, &mut [0u64; 2]).unwrap_err();
            assert!(
                matches!(short.kind(), ErrorKind::TooShort { .. }),
                "{short}"
            );
            assert_eq!(comm.probe(0, 1)?.count, length);
            assert_eq!(comm.recv::<u64>(0, 1)?.0, vec![value; length]);
        }
        comm.discard(0, 1).map(|_| ())
    });
    assert!(result.is_ok(), "{result:?}");
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Wide(u8);

#[test]
fn elements_lie_where_they_may_and_keep_what_they_point_to() {
    let words = ["one", "two", "three", "four", "five"];
    let result = World::new(2).strict().run(|comm| {
        warm_up(comm, 0, 1)?;
        if comm.rank() == 0 {
            comm.send(1, 1, &words)?;
            comm.send(1, 1, &[Wide(3); 4])?;
            comm.send(1, 1, &[(1u8, 2u128); 20])?;
            return comm.send(1, 1, &[(); 1000]);
        }
        assert_eq!(comm.recv::<&str>(0, 1)?.0, words);
        assert_eq!(comm.recv::<Wide>(0, 1)?.0, [Wide(3); 4]);
        assert_eq!(comm.recv::<(u8, u128)>(0, 1)?.0, [(1, 2); 20]);
        assert_eq!(comm.recv::<()>(0, 1)?.0.len(), 1000);
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn what_nobody_receives_is_counted_in_order() {
    let report = World::new(2).run_each(|comm| {
        warm_up(comm, 0, 1)?;
        if comm.rank() == 0 {
            for (tag, length) in (1..).zip(LENGTHS) {
                comm.send(1, tag, &contents(0, length))?;
            }
        }
        comm.barrier()
    });
    let lost: Vec<_> = report.lost.iter().map(|lost| lost.tag).collect();
    assert_eq!(lost, (1..=LENGTHS.len() as u32).collect::<Vec<_>>());
}

#[test]
fn what_nobody_receives_is_counted_though_a_communicator_was_forgotten() {
    let program = |comm: &Comm| {
        warm_up(comm, 0, 1)?;
        let other = comm.dup()?;
        if comm.rank() == 0 {
            (0..5u32).try_for_each(|number| comm.send(1, 2, &[number; 20]))?;
        }
        comm.barrier()?;
        if comm.rank() == 1 {
            std::mem::forget(other);
        }
        Ok(())
    };
    let team = World::new(2).start().unwrap();
    for report in [
        World::new(2).run_each(program),
        team.try_run_each(program).unwrap(),
    ] {
        assert_eq!(report.lost.len(), 5, "{report}");
    }
}

#[test]
fn whoever_waits_for_what_never_comes_is_told_so() {
    let result = World::new(2).run(|comm| {
        warm_up(comm, 0, 1)?;
        comm.recv::<u8>(1 - comm.rank(), 5).map(|_| ())
    });
    assert!(matches!(result, Err(WorldError::Deadlock(_))), "{result:?}");
}

#[test]
fn what_a_rank_sent_before_its_end_is_received() {
    let result = World::new(2).run(|comm| {
        warm_up(comm, 0, 1)?;
        if comm.rank() == 0 {
            return (1..=3u8).try_for_each(|number| comm.send(1, 1, &[number; 50]));
        }
        for number in 1..=3u8 {
            assert_eq!(comm.recv::<u8>(0, 1)?.0, [number; 50]);
        }
        let none = comm.recv::<u8>(0, 1).unwrap_err();
        assert!(matches!(none.kind(), ErrorKind::RankGone { .. }), "{none}");
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn the_next_run_of_a_team_goes_on_where_the_last_one_was() {
    let team = World::new(2).start().unwrap();
    for _ in 0..5 {
        team.run(|comm| warm_up(comm, 0, 1)).unwrap();
    }
    // Leftover messages of one run are not messages of the next.
    for _ in 0..2 {
        let left = |comm: &Comm| match comm.rank() {
            0 => (0..3).try_for_each(|_| comm.send(1, 0, &[MANY; 9])),
            _ => Ok(()),
        };
        team.run(|comm| warm_up(comm, 0, 1).and_then(|()| left(comm)))
            .unwrap();
    }
    team.run(|comm| warm_up(comm, 0, 1)).unwrap();
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
