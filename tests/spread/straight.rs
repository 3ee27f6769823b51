//! Messages of another process for which their receiver waits, which go straight into its buffer, among others that may
//! not or cannot: matching, order and errors are those of any message.

use rankfold::{Comm, ErrorKind, Rank, Result, Source, Tag};

use super::programs::{numbers, world};

/// Says that the receiver is about to wait.
const READY: u32 = 100;
/// How often each case is tried: a message may also arrive before its receiver waits.
const TIMES: usize = 30;
/// Elements of a message that has a body.
const LONG: usize = 3000;
/// Elements of a message that may go from where it is.
const LONGER: usize = 1 << 14;

/// The two ranks of a case, in different processes, and a second communicator of all ranks.
struct Pair<'c> {
    comm: &'c Comm,
    other: &'c Comm,
    from: Rank,
    to: Rank,
}

/// What the sender does, and what the receiver does, the nth time.
type Case = (
    fn(&Pair, usize) -> Result<()>,
    fn(&Pair, usize) -> Result<()>,
);

const CASES: &[Case] = &[
    (send_plain, of_one_source),
    (send_another_type, is_of_another_type),
    (send_two, are_too_many),
    (send_plain, of_any_source),
    (send_tags, of_any_tag),
    (send_synchronously, of_one_source),
    (send_behind_a_body, behind_a_body),
    (send_on_both, on_both),
    (send_row, in_order),
    (send_longer, of_longer),
    (send_longer, of_longer_late),
    (send_longer_and_ask, ask_and_send_longer),
    (send_longer, are_longer_than_the_buffer),
    (send_longer_of_another_type, are_longer_of_another_type),
];

/// In turn the ranks of each process receive from those with their place in the next one.
pub fn straight(ranks: usize) {
    let run = world(ranks).run(|comm| {
        let (me, size) = (comm.rank(), comm.size());
        let other = comm.dup()?;
        for turn in 0..comm.processes() {
            let to = turn * ranks + me % ranks;
            let from = (to + ranks) % size;
            let pair = Pair {
                comm,
                other: &other,
                from,
                to,
            };
            for case in CASES {
                (0..TIMES).try_for_each(|time| pair.play(case, time))?;
            }
            comm.barrier()?;
        }
        Ok(())
    });
    run.unwrap();
}

impl Pair<'_> {
    fn play(&self, (send, receive): &Case, time: usize) -> Result<()> {
        match self.comm.rank() {
            me if me == self.to => {
                self.comm.send(self.from, READY, &[0u8])?;
                receive(self, time)
            }
            me if me == self.from => {
                self.comm.recv_into(self.to, READY, &mut [0u8])?;
                send(self, time)
            }
            _ => Ok(()),
        }
    }

    /// Receives a number with this tag from this source into a buffer that has more room.
    fn number(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<(u64, u32)> {
        let mut buffer = [0u64; 3];
        let status = self.comm.recv_into(from, tag, &mut buffer)?;
        assert_eq!((status.source, buffer[1..].iter().sum()), (self.from, 0));
        Ok((buffer[0], status.tag))
    }

    fn send(&self, tag: u32, number: usize) -> Result<()> {
        self.comm.send(self.to, tag, &[number as u64])
    }
}

fn send_plain(pair: &Pair, time: usize) -> Result<()> {
    pair.send(1, time)
}

fn of_one_source(pair: &Pair, time: usize) -> Result<()> {
    assert_eq!(pair.number(pair.from, 1)?, (time as u64, 1));
    Ok(())
}

fn of_any_source(pair: &Pair, time: usize) -> Result<()> {
    assert_eq!(pair.number(Source::Any, 1)?, (time as u64, 1));
    Ok(())
}

fn send_another_type(pair: &Pair, time: usize) -> Result<()> {
    pair.comm.send(pair.to, 1, &[time as i64])?;
    pair.send(1, time)
}

/// It stays first in its queue.
fn is_of_another_type(pair: &Pair, time: usize) -> Result<()> {
    let error = pair.number(pair.from, 1).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::WrongType { .. }),
        "{error}"
    );
    assert_eq!(pair.comm.recv::<i64>(pair.from, 1)?.0, [time as i64]);
    of_one_source(pair, time)
}

fn send_two(pair: &Pair, time: usize) -> Result<()> {
    pair.comm.send(pair.to, 1, &numbers(time, 4))?;
    pair.send(1, time)
}

/// They stay first in their queue.
fn are_too_many(pair: &Pair, time: usize) -> Result<()> {
    let error = pair.number(pair.from, 1).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TooShort { .. }),
        "{error}"
    );
    let mut all = [0; 4];
    pair.comm.recv_into(pair.from, 1, &mut all)?;
    assert_eq!(&all[..], numbers(time, 4));
    of_one_source(pair, time)
}

fn send_tags(pair: &Pair, time: usize) -> Result<()> {
    (0..4).try_for_each(|tag| pair.send(tag, time))
}

fn of_any_tag(pair: &Pair, time: usize) -> Result<()> {
    // The last one first: the others wait in the queue.
    assert_eq!(pair.number(pair.from, 3)?, (time as u64, 3));
    for tag in 0..3 {
        assert_eq!(pair.number(pair.from, Tag::Any)?, (time as u64, tag));
    }
    Ok(())
}

fn send_synchronously(pair: &Pair, time: usize) -> Result<()> {
    pair.comm.ssend(pair.to, 1, &[time as u64])
}

fn send_behind_a_body(pair: &Pair, time: usize) -> Result<()> {
    for tag in [1, 2] {
        pair.comm.send(pair.to, tag, &numbers(time, LONG))?;
        pair.send(1, time)?;
        pair.send(2, time)?;
    }
    Ok(())
}

/// Short messages with the tag of the long one, and with another one, which is waited for first.
fn behind_a_body(pair: &Pair, time: usize) -> Result<()> {
    let mut long = vec![0; LONG];
    pair.comm.recv_into(pair.from, 1, &mut long)?;
    assert!(long == numbers(time, LONG));
    of_one_source(pair, time)?;
    assert_eq!(pair.number(pair.from, 2)?, (time as u64, 2));
    // Behind the second long message, which is of the other tag.
    of_one_source(pair, time)?;
    pair.comm.recv_into(pair.from, 2, &mut long[..])?;
    assert!(long == numbers(time, LONG));
    assert_eq!(pair.number(pair.from, 2)?, (time as u64, 2));
    Ok(())
}

fn send_on_both(pair: &Pair, time: usize) -> Result<()> {
    for (comm, number) in [
        (pair.other, 1),
        (pair.comm, 2),
        (pair.other, 3),
        (pair.comm, 4),
    ] {
        comm.send(pair.to, 1, &[time as u64 + number])?;
    }
    Ok(())
}

/// The second message is waited for first, in its own communicator.
fn on_both(pair: &Pair, time: usize) -> Result<()> {
    for (comm, number) in [
        (pair.comm, 2),
        (pair.other, 1),
        (pair.comm, 4),
        (pair.other, 3),
    ] {
        let mut buffer = [0];
        comm.recv_into(pair.from, 1, &mut buffer)?;
        assert_eq!(buffer, [time as u64 + number]);
    }
    Ok(())
}

/// Messages of two tags, short, of several lines, and with a body.
const ROW: usize = 40;

fn row(number: usize) -> Vec<u64> {
    numbers(number, [1, 1, 60, 1, LONG, 1][number % 6])
}

fn send_row(pair: &Pair, _: usize) -> Result<()> {
    (0..ROW).try_for_each(|number| {
        let tag = (number / 2 % 2) as u32;
        pair.comm.send(pair.to, tag, &row(number))
    })
}

/// First those of one tag, then those of the other, by calls that take packets and calls that take what goes straight.
fn in_order(pair: &Pair, time: usize) -> Result<()> {
    for tag in [time % 2, 1 - time % 2] {
        let of_tag = (0..ROW).filter(|number| number / 2 % 2 == tag);
        for (place, number) in of_tag.enumerate() {
            let wanted = row(number);
            let mut got = vec![0; wanted.len()];
            match (place + time) % 3 {
                0 => got = pair.comm.recv(pair.from, tag as u32)?.0,
                _ => _ = pair.comm.recv_into(pair.from, tag as u32, &mut got)?,
            }
            assert!(got == wanted, "message {number}");
        }
    }
    Ok(())
}

/// The elements of longer messages: not always as many.
fn longer(time: usize) -> Vec<u64> {
    numbers(time, LONGER + time % 3)
}

fn send_longer(pair: &Pair, time: usize) -> Result<()> {
    let sent = longer(time);
    pair.comm.send(pair.to, 1, &sent)?;
    drop(sent);
    pair.comm.send(pair.to, 2, &longer(time + 1))?;
    pair.send(1, time)
}

/// Receives a longer message into a buffer that has more room.
fn one_longer(pair: &Pair, tag: u32, time: usize) -> Result<()> {
    let (mut got, sent) = (vec![7; LONGER + 5], longer(time));
    let status = pair.comm.recv_into(pair.from, tag, &mut got)?;
    assert_eq!((status.source, status.tag), (pair.from, tag));
    assert!(got[..sent.len()] == sent && got[sent.len()..].iter().all(|one| *one == 7));
    Ok(())
}

fn of_longer(pair: &Pair, time: usize) -> Result<()> {
    one_longer(pair, 1, time)?;
    one_longer(pair, 2, time + 1)?;
    of_one_source(pair, time)
}

/// The second message and the last are waited for while the first is to be kept.
fn of_longer_late(pair: &Pair, time: usize) -> Result<()> {
    one_longer(pair, 2, time + 1)?;
    one_longer(pair, 1, time)?;
    of_one_source(pair, time)
}

/// Both send before they receive.
fn send_longer_and_ask(pair: &Pair, time: usize) -> Result<()> {
    pair.comm.send(pair.to, 1, &longer(time))?;
    assert!(pair.comm.recv::<u64>(pair.to, 3)?.0 == longer(time + 2));
    Ok(())
}

fn ask_and_send_longer(pair: &Pair, time: usize) -> Result<()> {
    pair.comm.send(pair.from, 3, &longer(time + 2))?;
    one_longer(pair, 1, time)
}

/// They stay first in their queue.
fn are_longer_than_the_buffer(pair: &Pair, time: usize) -> Result<()> {
    let mut short = vec![7u64; LONGER - 1];
    let error = pair.comm.recv_into(pair.from, 1, &mut short).unwrap_err();
    let is_too_short = matches!(error.kind(), ErrorKind::TooShort { .. });
    assert!(is_too_short && short.iter().all(|one| *one == 7), "{error}");
    of_longer(pair, time)
}

fn send_longer_of_another_type(pair: &Pair, time: usize) -> Result<()> {
    pair.comm.send(pair.to, 1, &vec![time as i64; LONGER])
}

fn are_longer_of_another_type(pair: &Pair, time: usize) -> Result<()> {
    let error = pair.number(pair.from, 1).unwrap_err();
    let is_wrong_type = matches!(error.kind(), ErrorKind::WrongType { .. });
    assert!(is_wrong_type, "{error}");
    let got = pair.comm.recv::<i64>(pair.from, 1)?.0;
    assert!(got == vec![time as i64; LONGER]);
    Ok(())
}
