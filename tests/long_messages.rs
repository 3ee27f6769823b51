//! Long messages on every path: lent and read in place at once, copied because the receiver is late, copied at once
//! because there are more ranks than CPUs.
//!
//! Ranks lend only while all ranks of the process fit on its CPUs, so these tests run one at a time.

mod again;
mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{await_signal, scaled, signal, team};
use rankfold::{Comm, Rank, Result, Source, Tag, World};

fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn rings_of_long_messages_turn_both_ways() {
    let _alone = one_at_a_time();
    for ranks in [1, 2, 3, 4, 7, 16] {
        team(ranks)
            .run(|comm| {
                let (me, n) = (comm.rank(), comm.size());
                let (right, left) = ((me + 1) % n, (me + n - 1) % n);
                for round in 0..scaled(20) {
                    let mine = vec![(me, round); 6_000];
                    let (got, _) = comm.sendrecv(right, 1, &mine, left, 1)?;
                    assert_eq!(got, vec![(left, round); 6_000]);
                    let (got, _) = comm.sendrecv(left, 2, &mine, Source::Rank(right), Tag::Any)?;
                    assert_eq!(got, vec![(right, round); 6_000]);
                }
                Ok(())
            })
            .unwrap();
    }
}

/// Sends long messages to a rank that waits for each: they are read in place. The sender changes its buffer as soon as
/// the send has returned.
#[test]
fn a_sender_may_change_its_buffer_as_soon_as_a_send_is_back() {
    let _alone = one_at_a_time();
    let rounds = scaled(300);
    World::new(2)
        .strict()
        .run(|comm| {
            let mut buf = vec![0u32; 30_000];
            for round in 0..rounds as u32 {
                if comm.rank() == 0 {
                    await_signal(comm, 1)?;
                    buf.fill(round);
                    comm.send(1, 1, &buf)?;
                    buf.fill(u32::MAX);
                } else {
                    signal(comm, 0)?;
                    comm.recv_into(0, 1, &mut buf)?;
                    assert!(buf.iter().all(|&x| x == round));
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn long_messages_wait_as_copies_for_a_receiver_that_comes_late() {
    let _alone = one_at_a_time();
    let count = scaled(30);
    World::new(2)
        .strict()
        .run(|comm| {
            let content = |i: usize| vec![i as u16; 20_000 + i];
            if comm.rank() == 0 {
                for i in 0..count {
                    comm.send(1, i as u32 % 2, &content(i))?; // never waits for rank 1
                }
                return signal(comm, 1);
            }
            await_signal(comm, 0)?;
            let odd_first = (1..count).step_by(2).chain((0..count).step_by(2));
            for i in odd_first {
                assert_eq!(comm.recv::<u16>(0, i as u32 % 2)?.0, content(i));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_crowded_world_exchanges_long_messages_all_with_all() {
    let _alone = one_at_a_time();
    let ranks = 24; // more than there are CPUs on most machines
    let content = |from: Rank, to: Rank| vec![(from * 100 + to) as u64; 3_000];
    let report = World::new(ranks).strict().run(|comm| {
        let me = comm.rank();
        for to in 0..ranks {
            comm.send(to, 1, &content(me, to))?;
        }
        for from in (0..ranks).rev() {
            assert_eq!(comm.recv::<u64>(from, 1)?.0, content(from, me));
        }
        Ok(())
    });
    report.unwrap();
}

#[test]
fn many_senders_lend_to_one_receiver_at_once() {
    let _alone = one_at_a_time();
    let rounds = scaled(40);
    team(3)
        .run(|comm| {
            for round in 0..rounds {
                if comm.rank() > 0 {
                    comm.send(0, 3, &vec![comm.rank() * 1000 + round; 9_000])?;
                    continue;
                }
                for _ in 1..3 {
                    let status = comm.probe(Source::Any, 3)?;
                    let (v, _) = comm.recv::<usize>(status.source, 3)?;
                    assert!(v.iter().all(|&x| x / 1000 == status.source), "{status:?}");
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_refused_long_message_keeps_its_place_though_its_sender_takes_the_loan_back() {
    let _alone = one_at_a_time();
    let n = 50_000;
    for _ in 0..scaled(100) {
        World::new(2)
            .strict()
            .run(|comm| {
                if comm.rank() == 0 {
                    comm.send(1, 1, &vec![1u64; n])?;
                    return comm.send(1, 1, &[2u64]);
                }
                assert!(comm.recv::<u8>(0, 1).is_err());
                assert!(comm.recv_into(0, 1, &mut [0u64; 3]).is_err());
                assert_eq!(comm.probe(0, 1)?.count, n);
                assert_eq!(comm.recv::<u64>(0, 1)?.0, vec![1; n]);
                assert_eq!(comm.recv::<u64>(0, 1)?.0, [2]);
                Ok(())
            })
            .unwrap();
    }
}

/// An element whose size does not divide a part.
type Odd = (u8, u16, u8, [u8; 3]);

fn odd(round: usize, i: usize) -> Odd {
    let x = i * 31 + round;
    (x as u8, x as u16, (x >> 8) as u8, [(x >> 16) as u8; 3])
}

/// Lengths around those from which both ends copy, in parts, with element sizes that do not divide a part, into buffers
/// that begin anywhere: each message arrives whole, and nothing beside it is touched.
#[test]
fn messages_that_both_ends_copy_arrive_whole() {
    let _alone = one_at_a_time();
    let bytes = size_of::<Odd>();
    let lengths = [
        (512 << 10) / bytes,
        (512 << 10) / bytes + 1,
        40_000,
        200_001,
    ];
    World::new(2)
        .strict()
        .run(|comm| {
            for round in 0..scaled(24) {
                let n = lengths[round % lengths.len()];
                let mine: Vec<Odd> = (0..n).map(|i| odd(round, i)).collect();
                there_and_back(comm, round, &mine)?;
                let other = 1 - comm.rank();
                let (got, _) = comm.sendrecv(other, 2, &mine, other, 2)?;
                assert!(got == mine, "round {round}");
            }
            Ok(())
        })
        .unwrap();
}

/// Sends the same elements in both directions, so that either rank is lender and borrower in turn.
fn there_and_back(comm: &Comm, round: usize, mine: &[Odd]) -> Result<()> {
    const BESIDE: Odd = (255, 0, 0, [1; 3]);
    let (me, n, skip) = (comm.rank(), mine.len(), round % 7);
    let mut room = vec![BESIDE; n + 2 * skip];
    for sender in [0, 1] {
        if me == sender {
            await_signal(comm, 1 - me)?;
            comm.send(1 - me, 1, mine)?;
            continue;
        }
        signal(comm, sender)?;
        let place = &mut room[skip..skip + n];
        match round % 3 {
            0 => assert_eq!(comm.recv_into(sender, 1, place)?.count, n),
            1 => comm.probe_matched(sender, 1)?.recv_into(place)?,
            _ => comm.scope(|s| s.irecv_into(sender, 1, place)?.wait().map(drop))?,
        }
        assert!(room[skip..skip + n] == *mine, "round {round}");
        let beside = room[..skip].iter().chain(&room[skip + n..]);
        assert!(beside.into_iter().all(|x| *x == BESIDE));
    }
    Ok(())
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
