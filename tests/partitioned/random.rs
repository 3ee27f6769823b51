//! Random programs of partitioned messages: what a complete receive holds is one message of the sender, whatever was
//! dropped, given up or of another length before it, and however a rank ends. Nothing hangs.

use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::{Buffering, Comm, Outcome, Rank, Result, World};

use crate::support::{Random, guarded, scale};

/// Numbers of all elements: mostly the first, and wrong ones.
const LENGTHS: [usize; 6] = [12, 12, 12, 12, 6, 24];
const CUTS: [usize; 5] = [1, 2, 3, 6, 2];
const ON_PURPOSE: &str = "on purpose";

/// What one end does, by chance.
struct Chance {
    random: Random,
    /// Whether it makes mistakes: drops, wrong lengths, early ends.
    wrong: bool,
}

impl Chance {
    fn length(&mut self) -> usize {
        match self.wrong {
            true => self.random.of(&LENGTHS),
            false => LENGTHS[0],
        }
    }

    /// Ends the rank now and then, by a panic or by returning.
    fn may_end(&mut self) -> bool {
        let ends = self.wrong && self.random.one_in(60);
        assert!(!ends || self.random.one_in(2), "{ON_PURPOSE}");
        ends
    }
}

/// An element of the `start`-th message.
fn element(start: u64, at: usize) -> u64 {
    start << 32 | at as u64
}

/// Sends messages to rank `to`, whose parts become ready in any order.
fn sends(comm: &Comm, to: Rank, chance: &mut Chance, messages: u64) -> Result<()> {
    let mut start = 0;
    while start < messages {
        let (length, parts) = (chance.length(), chance.random.of(&CUTS));
        let mut sent = SendParts::new(comm, to, 0, parts, vec![0; length])?;
        for _ in 0..=chance.random.below(3) {
            if start == messages {
                break;
            }
            start += 1;
            sent.start()?;
            let mut open: Vec<usize> = (0..parts).collect();
            let kept = match chance.wrong && chance.random.one_in(4) {
                true => chance.random.below(parts),
                false => 0,
            };
            while open.len() > kept {
                if chance.may_end() {
                    return Ok(());
                }
                let part = open.swap_remove(chance.random.below(open.len()));
                let own = length / parts;
                for (i, place) in sent.part_mut(part)?.iter_mut().enumerate() {
                    *place = element(start, part * own + i);
                }
                sent.ready(part)?;
            }
            if kept > 0 || chance.wrong && chance.random.one_in(6) {
                // It is dropped with what is not ready, or has no room.
                break;
            }
            sent.wait()?;
        }
    }
    Ok(())
}

/// Receives until an error, and compares each message that is complete.
fn receives(comm: &Comm, from: Rank, chance: &mut Chance, messages: u64) -> Result<()> {
    let mut newest = 0;
    while newest < messages {
        let (length, parts) = (chance.length(), chance.random.of(&CUTS));
        let mut received = RecvParts::new(comm, from, 0, parts, vec![u64::MAX; length])?;
        for _ in 0..=chance.random.below(3) {
            if newest == messages {
                break;
            }
            received.start()?;
            match complete(&mut received, chance) {
                Ok(true) => newest = check(&received, newest)?,
                Ok(false) => break,
                // A part of a wrong length stays: it cannot be received by this one.
                Err(error) if chance.wrong && error.to_string().contains("start of the sender") => {
                    break;
                }
                Err(error) => return Err(error),
            }
            if chance.may_end() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Completes a receive by some calls; returns whether it is not given up.
fn complete(received: &mut RecvParts<'_, u64>, chance: &mut Chance) -> Result<bool> {
    loop {
        match chance.random.below(8) {
            0 => return received.wait().map(|()| true),
            1..4 => {
                let part = chance.random.below(received.parts());
                if received.arrived(part)? {
                    let (elements, own) = (received.part(part)?, received.part(part)?.len());
                    let start = elements[0] >> 32;
                    for (i, &got) in elements.iter().enumerate() {
                        assert_eq!(got, element(start, part * own + i), "a part is mixed");
                    }
                }
            }
            4 if chance.wrong && chance.random.one_in(5) => return Ok(false),
            _ if received.test()? => return Ok(true),
            _ => {}
        }
    }
}

/// Compares a message with what was sent, after the message `before`; returns which one it is.
fn check(received: &RecvParts<'_, u64>, before: u64) -> Result<u64> {
    let elements = received.elements()?;
    let start = elements[0] >> 32;
    assert!(start > before, "message {start} came after {before}");
    let wanted: Vec<u64> = (0..elements.len()).map(|at| element(start, at)).collect();
    assert_eq!(elements, wanted, "messages are mixed");
    Ok(start)
}

fn one_program(seed: u64, buffering: Buffering, wrong: bool) {
    let case = format!("seed {seed}, {buffering:?}, wrong {wrong}");
    let report = guarded(&|| case.clone(), || {
        World::new(2).buffering(buffering).run_each(|comm| {
            let random = Random::new(2 * seed + comm.rank() as u64);
            let mut chance = Chance { random, wrong };
            match comm.rank() {
                0 => sends(comm, 1, &mut chance, 12),
                _ => receives(comm, 0, &mut chance, 12),
            }
        })
    });
    for outcome in &report.outcomes {
        match outcome {
            Outcome::Panicked { message, .. } => {
                assert!(wrong && message.contains(ON_PURPOSE), "{case}: {message}");
            }
            outcome if !wrong => assert!(outcome.value().is_some(), "{case}: {outcome:?}"),
            _ => {}
        }
    }
}

#[test]
fn a_complete_message_is_one_that_was_sent() {
    for seed in 0..(400.0 * scale()) as u64 {
        for buffering in [
            Buffering::Unbounded,
            Buffering::Zero,
            Buffering::Bytes(48),
            Buffering::Bytes(100),
        ] {
            one_program(seed, buffering, false);
            one_program(seed, buffering, true);
        }
    }
}
