//! Messages of one rank take two paths: a fast box, as long as that has room and the mailbox is empty, and the mailbox.
//! They are received as if there were one path: in the order in which they were sent, and effects after their causes.
//!
//! Nothing here races: everything that matters has been sent when the receiver looks.

mod again;
mod common;

use std::sync::Barrier;

use common::{noise, scaled};
use rankfold::{Comm, Rank, Result, Source, Tag, World};

/// Number of short messages in a row to one rank, each received before the next, after which its fast box is taken.
const IN_A_ROW: u32 = 40;
/// Elements of a message that is copied to the fast box, of one that is copied to an annex there if its sender runs
/// ahead, and of one that is lent, or kept by its sender.
const SHORT: usize = 1;
const MIDDLE: usize = 700;
const LONG: usize = 3000;
/// More messages than the fast box has room for.
const FULL: usize = 100;
/// The tag of messages outside a test's order.
const ASIDE: u32 = 1000;

/// Rank 1 takes the fast box of rank 0, whose mailbox is then empty.
fn take_hatch(comm: &Comm) -> Result<()> {
    for number in 0..IN_A_ROW {
        match comm.rank() {
            0 => {
                comm.recv::<u32>(1, ASIDE)?;
                comm.send(1, ASIDE, &[number])?;
            }
            1 => {
                comm.send(0, ASIDE, &[number])?;
                comm.recv::<u32>(0, ASIDE)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sends a message with this number to rank 0; every third one is started.
fn send(comm: &Comm, number: u32, length: usize) -> Result<()> {
    let message = vec![number; length];
    match number % 3 {
        0 => comm.scope(|scope| scope.isend(0, number, &message).map(drop)),
        _ => comm.send(0, number, &message),
    }
}

/// Receives `count` messages from any source, and returns their numbers.
fn receive(comm: &Comm, count: usize) -> Result<Vec<u32>> {
    let next = |_| {
        let (data, status) = comm.recv::<u32>(Source::Any, Tag::Any)?;
        assert!(data.iter().all(|number| *number == status.tag));
        Ok(status.tag)
    };
    (0..count).map(next).collect()
}

/// Rank 1, which has the fast box, and rank 2, which does not, send these messages one after the other: (sender,
/// length). Rank 0 looks when all are sent.
fn come_in_order(sends: &[(Rank, usize)]) {
    let gate = Barrier::new(3);
    let all = World::new(3).run(|comm| {
        take_hatch(comm)?;
        for (number, &(who, length)) in sends.iter().enumerate() {
            // The next sender begins when the one before has sent.
            gate.wait();
            if comm.rank() == who {
                send(comm, number as u32, length)?;
            }
        }
        gate.wait();
        match comm.rank() {
            0 => receive(comm, sends.len()),
            _ => Ok(Vec::new()),
        }
    });
    let expected: Vec<u32> = (0..sends.len() as u32).collect();
    assert_eq!(all.unwrap()[0], expected, "{sends:?}");
}

#[test]
fn what_goes_by_the_hatch_comes_before_what_its_sender_mails_after_it() {
    come_in_order(&[(1, SHORT), (1, LONG)]);
}

#[test]
fn what_is_mailed_comes_before_what_would_fit_into_the_hatch_after_it() {
    come_in_order(&[(1, LONG), (1, SHORT)]);
}

#[test]
fn what_another_rank_mails_comes_after_what_went_by_the_hatch_before() {
    come_in_order(&[(1, SHORT), (2, SHORT), (2, LONG)]);
}

#[test]
fn what_another_rank_has_mailed_comes_before_what_would_fit_into_the_hatch() {
    come_in_order(&[(2, SHORT), (1, SHORT), (2, LONG), (1, SHORT)]);
}

#[test]
fn messages_of_two_ranks_by_both_ways_come_in_the_order_of_their_sending() {
    for seed in 0..scaled(40) as u64 {
        let sent = |i: u64| {
            let bits = noise(seed, i);
            let length = [SHORT, SHORT, MIDDLE, LONG][(bits / 2 % 4) as usize];
            (1 + (bits % 2) as Rank, length)
        };
        let count = 2 + noise(seed, 1000) % 9;
        come_in_order(&(0..count).map(sent).collect::<Vec<_>>());
    }
}

#[test]
fn more_messages_of_all_lengths_than_the_hatch_has_room_for_come_in_order() {
    for length in [SHORT, MIDDLE, LONG] {
        come_in_order(&[(1, length); FULL]);
    }
    let mixed = |i| (1, [SHORT, MIDDLE, LONG][i % 3]);
    come_in_order(&(0..FULL).map(mixed).collect::<Vec<_>>());
}

/// Unexpected messages are kept by sender; between senders the order of arrival decides.
#[test]
fn messages_that_waited_are_received_in_the_order_of_their_arrival_whoever_sent_them() {
    const SENDERS: usize = 8;
    for seed in 0..scaled(10) as u64 {
        let mut order: Vec<Rank> = (1..=SENDERS).collect();
        order.sort_by_key(|&rank| noise(seed, rank as u64));
        let gate = Barrier::new(SENDERS + 1);
        let all = World::new(SENDERS + 1).run(|comm| {
            for &who in &order {
                gate.wait();
                if comm.rank() == who {
                    comm.send(0, 1, &[who])?;
                }
            }
            gate.wait();
            if comm.rank() != 0 {
                return Ok(Vec::new());
            }
            // To find a message with this tag, a rank sets all others aside.
            comm.send(0, ASIDE, &[0u8])?;
            comm.recv::<u8>(0, ASIDE)?;
            let next = |_| Ok(comm.recv::<Rank>(Source::Any, 1)?.0[0]);
            (0..SENDERS).map(next).collect::<Result<Vec<_>>>()
        });
        assert_eq!(all.unwrap()[0], order, "seed {seed}");
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
