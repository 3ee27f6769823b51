//! SEND and RECV against an independent model of matching, and with every shape of element and value.

mod again;
mod common;
#[path = "point_to_point/mistakes.rs"]
mod mistakes;
#[path = "point_to_point/shapes.rs"]
mod shapes;
#[path = "point_to_point/values.rs"]
mod values;

use std::fmt::Debug;
use std::time::Duration;

use common::{Lines, Sent, cases, noise, scaled};
use proptest::prelude::*;
use rankfold::{Comm, EAGER_BYTES, Error, ErrorKind, Rank, Source, Status, Tag, World};

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

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
