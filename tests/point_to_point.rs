//! SEND and RECV against an independent model of matching, and with every shape of element and value.

mod channels;
mod common;

use std::fmt::Debug;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Lines, Sent, assert_usage, await_signal, cases, noise, scaled, signal};
use proptest::prelude::*;
use rankfold::op::Element;
use rankfold::{Comm, EAGER_BYTES, Error, ErrorKind, Rank, Source, Status, Tag, World, WorldError};

// ── matching, against the model ──

/// One line of a program. A single rank that executes all lines from top to bottom never waits, so no rank waits
/// forever when all execute their own lines at the same time.
#[derive(Clone, Debug)]
enum Line {
    Send {
        from: Rank,
        to: Rank,
        sent: Sent,
    },
    /// The choice selects the message, the pattern, and the kind of call.
    Receive {
        at: Rank,
        choice: u64,
    },
}

#[derive(Clone, Debug)]
struct Program {
    ranks: usize,
    lines: Vec<Line>,
}

/// Lengths around the eager limit, some longer, few very long.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0..EAGER_BYTES,
        4 => EAGER_BYTES - 1..=EAGER_BYTES + 2,
        3 => 60..2_000usize,
        1 => 50_000..100_000usize,
    ]
}

fn program() -> impl Strategy<Value = Program> {
    let line = |ranks| {
        (
            any::<bool>(),
            0..ranks,
            0..ranks,
            0..3u32,
            length(),
            any::<u64>(),
        )
    };
    (2usize..=5).prop_flat_map(move |ranks| {
        proptest::collection::vec(line(ranks), 1..60).prop_map(move |raw| Program {
            ranks,
            lines: lines(ranks, raw),
        })
    })
}

type Raw = (bool, Rank, Rank, u32, usize, u64);

/// Drops the receives for which nothing was sent before, and receives everything left at the end.
fn lines(ranks: usize, raw: Vec<Raw>) -> Vec<Line> {
    let mut waiting = vec![0; ranks];
    let mut lines = Vec::new();
    for (id, (send, from, to, tag, len, choice)) in raw.into_iter().enumerate() {
        if send {
            waiting[to] += 1;
            lines.push(Line::Send {
                from,
                to,
                sent: Sent { tag, len, id },
            });
        } else if waiting[to] > 0 {
            waiting[to] -= 1;
            lines.push(Line::Receive { at: to, choice });
        }
    }
    let rest = waiting
        .iter()
        .enumerate()
        .flat_map(|(at, &n)| (0..n).map(move |i| (at, i)));
    lines.extend(rest.map(|(at, i)| Line::Receive {
        at,
        choice: noise(at as u64, i),
    }));
    lines
}

impl Program {
    /// Returns everything that is ever sent to `to`.
    fn sent_to(&self, to: Rank) -> Lines {
        let mut all = Lines(vec![Default::default(); self.ranks]);
        for line in &self.lines {
            match line {
                Line::Send {
                    from,
                    to: receiver,
                    sent,
                } if *receiver == to => {
                    all.0[*from].push_back(sent.clone());
                }
                _ => {}
            }
        }
        all
    }

    /// Executes the lines of one rank and compares whatever it receives with the model.
    fn run(&self, comm: &Comm) -> Result<(), Error> {
        let me = comm.rank();
        let mut model = self.sent_to(me);
        for (now, line) in self.lines.iter().enumerate() {
            match line {
                Line::Send { from, to, sent } if *from == me => {
                    comm.send(*to, sent.tag, &sent.bytes())?;
                }
                Line::Receive { at, choice } if *at == me => {
                    receive(comm, &mut model, &self.sent_before(now), *choice)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns whether a message is sent by a line above `now`.
    fn sent_before(&self, now: usize) -> impl Fn(&Sent) -> bool {
        let last = self.lines[..now].iter().rev().find_map(|line| match line {
            Line::Send { sent, .. } => Some(sent.id),
            Line::Receive { .. } => None,
        });
        move |sent| last.is_some_and(|last| sent.id <= last)
    }
}

/// Receives some message that the lines above have sent, by its own name or by wildcards. It must be the first matching
/// message in its sender's queue.
fn receive(
    comm: &Comm,
    model: &mut Lines,
    is_sent: &impl Fn(&Sent) -> bool,
    choice: u64,
) -> Result<(), Error> {
    let lines = model.0.iter().enumerate();
    let there: Vec<_> = lines
        .flat_map(|(from, line)| {
            line.iter()
                .filter(|sent| is_sent(sent))
                .map(move |sent| (from, sent))
        })
        .collect();
    let (from, sent) = there[noise(choice, 0) as usize % there.len()];
    let source = if noise(choice, 1).is_multiple_of(3) {
        Source::Any
    } else {
        Source::Rank(from)
    };
    let tag = if noise(choice, 2).is_multiple_of(3) {
        Tag::Any
    } else {
        Tag::Is(sent.tag)
    };
    match noise(choice, 3) % 8 {
        0 => spoil_type(comm, source, tag),
        1 => spoil_length(comm, model, source, tag),
        _ => Ok(()),
    }?;
    let (status, bytes) = take(comm, source, tag, noise(choice, 4))?;
    check(model, source, tag, status);
    let want = model.take(status.source, status.tag);
    assert_eq!(status.count, want.len);
    assert!(
        bytes.is_none_or(|bytes| bytes == want.bytes()),
        "not the contents of {want:?}"
    );
    Ok(())
}

/// Receives by one of the many calls; returns the bytes, if the call shows them.
fn take(
    comm: &Comm,
    source: Source,
    tag: Tag,
    way: u64,
) -> Result<(Status, Option<Vec<u8>>), Error> {
    let whole = |(bytes, status): (Vec<u8>, Status)| (status, Some(bytes));
    match way % 5 {
        0 => comm.recv(source, tag).map(whole),
        1 => comm
            .recv_timeout(source, tag, Duration::from_secs(3600))
            .map(whole),
        2 => {
            let found = comm.probe(source, tag)?;
            let (bytes, status) = comm.recv(found.source, found.tag)?;
            assert_eq!(
                (status.source, status.tag, status.count),
                (found.source, found.tag, found.count)
            );
            Ok((status, Some(bytes)))
        }
        3 => comm.discard(source, tag).map(|status| (status, None)),
        _ => {
            let mut room = vec![0xee; 100_000 + way as usize % 9];
            let status = comm.recv_into(source, tag, &mut room)?;
            assert!(room[status.count..].iter().all(|&byte| byte == 0xee));
            room.truncate(status.count);
            Ok((status, Some(room)))
        }
    }
}

/// The MPI rule: the message matches the pattern, and no earlier message in that queue does.
fn check(model: &Lines, source: Source, tag: Tag, status: Status) {
    assert!(
        source == Source::Any || source == Source::Rank(status.source),
        "{source:?}: {status:?}"
    );
    let asked = match tag {
        Tag::Is(tag) => Some(tag),
        Tag::Any => None,
    };
    let first = model.first(status.source, asked);
    let first = first.unwrap_or_else(|| panic!("{status:?} was never sent or came twice"));
    assert_eq!((first.tag, first.len), (status.tag, status.count));
}

/// A receive of the wrong type is refused and changes nothing, so the model stays the same.
fn spoil_type(comm: &Comm, source: Source, tag: Tag) -> Result<(), Error> {
    let error = comm.recv::<i16>(source, tag).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::WrongType {
                sent: "u8",
                wanted: "i16",
                ..
            }
        ),
        "{error}"
    );
    Ok(())
}

/// The same for a receive into a buffer that is too short, unless the message is empty.
fn spoil_length(comm: &Comm, model: &Lines, source: Source, tag: Tag) -> Result<(), Error> {
    let found = comm.probe(source, tag)?;
    check(model, source, tag, found);
    if found.count > 0 {
        let mut short = vec![0u8; found.count - 1];
        let error = comm
            .recv_into(found.source, found.tag, &mut short)
            .unwrap_err();
        let room = found.count - 1;
        assert!(
            matches!(error.kind(), ErrorKind::TooShort { sent, room: r, .. } if (*sent, *r) == (found.count, room)),
            "{error}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn every_receive_takes_the_first_message_of_a_line_that_matches(program in program()) {
        World::new(program.ranks).strict().run(|comm| program.run(comm)).unwrap();
    }
}

#[test]
fn two_lines_are_received_in_any_interleaving_but_each_in_order() {
    let rounds = scaled(200);
    World::new(3)
        .strict()
        .run(|comm| {
            if comm.rank() > 0 {
                return (0..rounds).try_for_each(|i| comm.send(0, i as u32 % 3, &vec![i; i % 50]));
            }
            let mut next = [0; 3];
            for _ in 0..2 * rounds {
                let (v, status) = comm.recv::<usize>(Source::Any, Tag::Any)?;
                let i = next[status.source];
                assert_eq!((v, status.tag), (vec![i; i % 50], i as u32 % 3));
                next[status.source] += 1;
            }
            Ok(())
        })
        .unwrap();
}

// ── every shape of element ──

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct Wide(u8);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
struct WideNothing;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
struct JustFits([u64; 4]);

/// Sends each length to both ranks, once when the receiver waits and once when it is late.
fn round_trips<T: Element + PartialEq + Debug>(make: impl Fn(usize) -> T + Sync) {
    let fits = EAGER_BYTES / size_of::<T>().max(1);
    let mut lengths = vec![
        0,
        1,
        2,
        3,
        5,
        33,
        1000,
        fits.saturating_sub(1),
        fits,
        fits + 1,
    ];
    lengths.dedup();
    let message = |n: usize| (0..n).map(&make).collect::<Vec<T>>();
    World::new(2)
        .strict()
        .run(|comm| {
            for &n in &lengths {
                let want = message(n);
                exchange(comm, 1 - comm.rank(), &want)?;
                exchange(comm, comm.rank(), &want)?;
                late(comm, &want)?;
            }
            Ok(())
        })
        .unwrap();
}

/// Three messages to `peer`, received in all three ways. A rank that is its own peer sends first.
fn exchange<T: Element + PartialEq + Debug>(
    comm: &Comm,
    peer: Rank,
    want: &[T],
) -> Result<(), Error> {
    let (back, status) = comm.sendrecv(peer, 1, want, peer, 1)?;
    assert_eq!((&back[..], status.count), (want, want.len()));
    comm.send(peer, 2, want)?;
    comm.send(peer, 3, want)?;
    let mut exact = back.clone();
    let status = comm.recv_into(peer, 3, &mut exact)?;
    assert_eq!(
        (&exact[..], status.type_name()),
        (want, std::any::type_name::<T>())
    );
    let found = comm.probe(peer, Tag::Any)?;
    assert_eq!((found.tag, found.count), (2, want.len()));
    assert_eq!(comm.recv::<T>(peer, 2)?.0, want);
    Ok(())
}

/// From rank 0 to rank 1, which asks for the message long after it was sent.
fn late<T: Element + PartialEq + Debug>(comm: &Comm, want: &[T]) -> Result<(), Error> {
    if comm.rank() == 0 {
        comm.send(1, 4, want)?;
        return signal(comm, 1);
    }
    await_signal(comm, 0)?;
    assert_eq!(comm.recv::<T>(0, 4)?.0, want);
    Ok(())
}

#[test]
fn elements_of_every_shape_arrive_as_they_were() {
    const WORDS: [&str; 4] = ["", "one", "message", "passing"];
    round_trips(|_| ());
    round_trips(|i| i as u8);
    round_trips(|i| (i as u8, i as u64 * 3));
    round_trips(|i| WORDS[i % 4]);
    round_trips(|i| NonZero::<u32>::new(i as u32 % 3));
    round_trips(|i| Wide(i as u8));
    round_trips(|_| WideNothing);
    round_trips(|i| JustFits([i as u64; 4]));
    round_trips(|i| [i as f64; 1024]);
    round_trips(|i| u128::MAX - i as u128);
    round_trips(|i| (i % 2 == 0, 'x', i as i8));
    round_trips(|i| f32::from_bits(i as u32));
}

/// The buffer of a short message is aligned for what fits into it, and an empty message may be of a type that does not
/// fit.
#[test]
fn an_empty_message_of_a_wide_type_is_aligned_wherever_it_lands() {
    fn deep(comm: &Comm, depth: usize) -> Result<(), Error> {
        let padding = std::hint::black_box([depth as u8; 40]);
        comm.send::<Wide>(0, 1, &[])?;
        assert_eq!(comm.recv::<Wide>(0, 1)?.0, []);
        comm.send::<Wide>(0, 1, &[])?;
        assert_eq!(comm.recv_into::<Wide>(0, 1, &mut [])?.count, 0);
        std::hint::black_box(padding);
        if depth > 0 {
            deep(comm, depth - 1)
        } else {
            Ok(())
        }
    }
    World::new(1).run(|comm| deep(comm, 20)).unwrap();
}

#[test]
fn a_rank_may_send_itself_messages_of_every_length() {
    World::new(1)
        .strict()
        .run(|comm| {
            let lengths: Vec<usize> = (0..100).chain([1_000, 65_536, 1_000_000]).collect();
            for &n in &lengths {
                comm.send(0, n as u32, &vec![n as u8; n])?;
            }
            for &n in lengths.iter().rev() {
                assert_eq!(comm.recv::<u8>(0, n as u32)?.0, vec![n as u8; n]);
            }
            Ok(())
        })
        .unwrap();
}

// ── values, by move ──

/// A value that counts how often it was dropped.
struct Counted(Arc<AtomicUsize>, usize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn values_arrive_without_a_copy() {
    World::new(2)
        .strict()
        .run(|comm| {
            if comm.rank() == 0 {
                let (boxed, many) = (
                    Box::new([7u8; 100]),
                    vec![String::from("a"), String::from("b")],
                );
                let places = (boxed.as_ptr().addr(), many.as_ptr().addr());
                comm.send_value(1, 1, places)?;
                comm.send_value(1, 2, boxed)?;
                comm.send_value(1, 3, many)?;
                return comm.send_value(
                    1,
                    4,
                    Box::new(|x: u8| x + 1) as Box<dyn Fn(u8) -> u8 + Send>,
                );
            }
            let (places, status) = comm.recv_value::<(usize, usize)>(0, 1)?;
            assert_eq!(status.count, 1);
            let (boxed, _) = comm.recv_value::<Box<[u8; 100]>>(0, Tag::Any)?;
            let (many, _) = comm.recv_value::<Vec<String>>(Source::Any, 3)?;
            assert_eq!(places, (boxed.as_ptr().addr(), many.as_ptr().addr()));
            let (add, _) = comm.recv_value::<Box<dyn Fn(u8) -> u8 + Send>>(0, 4)?;
            assert_eq!((many.join(""), add(1)), ("ab".into(), 2));
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_value_is_dropped_once_whatever_becomes_of_it() {
    let drops: Vec<_> = (0..6).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let value = |i: usize| Counted(drops[i].clone(), i);
    let report = World::new(2).run_each(|comm| {
        if comm.rank() == 0 {
            (0..5).try_for_each(|i| comm.send_value(1, i as u32, value(i)))?;
            signal(comm, 1)?;
            let error = comm.recv::<u8>(1, 0).unwrap_err(); // rank 1 has ended
            assert!(matches!(error.kind(), ErrorKind::RankGone { rank: 1, .. }));
            comm.send_value(1, 5, value(5))?; // no rank will ever receive it
            return Ok(0);
        }
        let (received, _) = comm.recv_value::<Counted>(0, 0)?;
        comm.discard(0, 1)?;
        assert!(comm.recv_value::<String>(0, 2).is_err());
        assert!(comm.recv::<u8>(0, 2).is_err());
        assert_eq!(drops[2].load(Ordering::Relaxed), 0); // refused, and still queued
        comm.recv_value::<Counted>(0, 2)?;
        await_signal(comm, 0)?; // 3 and 4 have arrived before it
        Ok(received.1)
    });
    assert_eq!(common::values(&report), [&0, &0]);
    let counts: Vec<_> = drops
        .iter()
        .map(|drops| drops.load(Ordering::Relaxed))
        .collect();
    assert_eq!(counts, [1; 6]);
    // The last one may be counted before those that its receiver leaves behind as it ends.
    let mut lost: Vec<_> = report.lost.iter().map(|lost| lost.tag).collect();
    lost.sort_unstable();
    assert_eq!(lost, [3, 4, 5], "{:?}", report.lost);
}

#[test]
fn values_left_over_are_dropped_with_their_world_also_on_seats() {
    let drops = Arc::new(AtomicUsize::new(0));
    let seats = World::connect(2);
    std::thread::scope(|scope| {
        for seat in seats {
            let drops = drops.clone();
            scope.spawn(move || {
                let comm = seat.enter();
                let peer = 1 - comm.rank();
                for tag in 0..3 {
                    comm.send_value(peer, tag, Counted(drops.clone(), 0))
                        .unwrap();
                }
                comm.recv_value::<Counted>(peer, 1).unwrap(); // 0 is set aside, 2 may not have arrived
                comm.barrier().unwrap();
            });
        }
    });
    assert_eq!(drops.load(Ordering::Relaxed), 6);
}

// ── refusals leave the queue unchanged ──

#[test]
fn a_receive_of_the_wrong_type_shows_both_views_and_leaves_the_line_as_it_was() {
    World::new(2)
        .strict()
        .run(|comm| {
            if comm.rank() == 0 {
                comm.send(1, 1, &[1u8])?;
                comm.send(1, 7, &vec![2.5f64; 1000])?;
                comm.send(1, 7, &[3u8])?;
                return signal(comm, 1);
            }
            await_signal(comm, 0)?;
            let error = comm.recv::<u32>(0, 7).unwrap_err();
            assert!(matches!(
                error.kind(),
                ErrorKind::WrongType {
                    sent: "f64",
                    wanted: "u32",
                    ..
                }
            ));
            for part in [
                "recv(from 0, tag 7)",
                "rank 0",
                "tag 7",
                "1000 x f64",
                "u32",
                file!(),
            ] {
                assert!(
                    error.to_string().contains(part),
                    "{part} is not in: {error}"
                );
            }
            assert!(comm.recv_value::<f64>(0, 7).is_err()); // elements are not a moved value
            let mut short = [0.0f64; 999];
            let error = comm.recv_into(0, 7, &mut short).unwrap_err();
            assert!(matches!(
                error.kind(),
                ErrorKind::TooShort {
                    sent: 1000,
                    room: 999,
                    ..
                }
            ));
            assert!(
                error.to_string().contains("1000") && error.to_string().contains("999"),
                "{error}"
            );
            assert_eq!(short, [0.0; 999]);
            // The order by tag and over all tags is unchanged.
            assert_eq!(comm.probe(0, Tag::Any)?.tag, 1);
            assert_eq!(comm.probe(0, 7)?.count, 1000);
            comm.discard(0, 1)?;
            assert_eq!(comm.recv::<f64>(Source::Any, Tag::Any)?.0, vec![2.5; 1000]);
            assert_eq!(comm.recv::<u8>(Source::Any, Tag::Any)?.0, [3]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_moved_value_is_not_taken_for_elements_nor_for_another_type() {
    World::new(1)
        .strict()
        .run(|comm| {
            comm.send_value(0, 1, 5u32)?;
            let error = comm.recv::<u32>(0, 1).unwrap_err();
            assert!(error.to_string().contains("one moved value"), "{error}");
            assert!(comm.recv_value::<i32>(0, 1).is_err());
            assert!(comm.recv_into(0, 1, &mut [0u32]).is_err());
            assert_eq!(comm.probe(0, 1)?.type_name(), "u32");
            assert_eq!(comm.recv_value::<u32>(0, 1)?.0, 5);
            Ok(())
        })
        .unwrap();
}

#[test]
fn arguments_that_are_wrong_are_refused_and_nothing_is_sent() {
    World::new(2)
        .strict()
        .run(|comm| {
            assert_usage(
                comm.send(2, 0, &[1u8]),
                "receiver 2 is not one of the 2 ranks",
            );
            assert_usage(comm.send_value(9, 0, 1u8), "receiver 9");
            assert_usage(comm.recv::<u8>(2, 0), "sender 2");
            assert_usage(comm.recv::<u8>(-1, 0), "sender");
            assert_usage(comm.probe(7, Tag::Any), "sender 7");
            assert_usage(comm.discard(7, Tag::Any), "sender 7");
            assert_usage(comm.sendrecv(2, 0, &[0u8], 0, 0), "receiver 2");
            assert_usage(comm.sendrecv(1, 0, &[0u8; 100], 2, 0), "sender 2");
            comm.barrier()
        })
        .unwrap();
}

#[test]
fn a_receive_with_a_deadline_gives_up_and_the_message_may_come_later() {
    let short = Duration::from_millis(1);
    World::new(2)
        .strict()
        .run(|comm| {
            if comm.rank() == 0 {
                await_signal(comm, 1)?;
                return comm.send(1, 5, &[9u8; 100]);
            }
            let error = comm.recv_timeout::<u8>(0, 5, short).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::TimedOut { waited, .. } if *waited > Duration::ZERO));
            assert!(error.to_string().contains("rank 0"), "{error}"); // the picture
            let never = comm.recv_timeout::<u8>(Source::Any, Tag::Any, Duration::ZERO);
            assert!(matches!(never.unwrap_err().kind(), ErrorKind::TimedOut { .. }));
            signal(comm, 0)?;
            assert_eq!(comm.recv_timeout::<u8>(0, 5, Duration::MAX)?.0, [9; 100]);
            // A message that has arrived is found without any patience.
            comm.send(1, 6, &[1u8])?;
            assert_eq!(comm.recv_timeout::<u8>(1, 6, Duration::ZERO)?.0, [1]);
            Ok(())
        })
        .unwrap();
}

// ── what was never received ──

#[test]
fn messages_never_received_are_all_reported_also_those_the_receiver_had_set_aside() {
    let report = World::new(2).run_each(|comm| {
        if comm.rank() == 0 {
            comm.send(1, 1, &[1.0f64; 3])?;
            comm.send(1, 2, &vec![2u8; 500])?;
            comm.send_value(1, 3, String::from("three"))?;
            comm.send(1, 4, &[4u8])?;
            return signal(comm, 1);
        }
        await_signal(comm, 0)?; // sets aside the four before it
        comm.recv::<u8>(0, 4).map(|_| ())
    });
    let lost: Vec<_> = report
        .lost
        .iter()
        .map(|lost| (lost.from, lost.to, lost.tag, &*lost.contents))
        .collect();
    let text = "a value of alloc::string::String";
    assert_eq!(
        lost,
        [(0, 1, 1, "3 x f64"), (0, 1, 2, "500 x u8"), (0, 1, 3, text)]
    );
}

#[test]
fn a_strict_world_fails_for_a_message_that_was_set_aside() {
    let result = World::new(1).strict().run(|comm| {
        comm.send(0, 1, &[1u8])?;
        comm.send(0, 2, &[2u8])?;
        comm.recv::<u8>(0, 2).map(|_| ())
    });
    assert!(matches!(result, Err(WorldError::Lost(lost)) if lost.len() == 1 && lost[0].tag == 1));
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
