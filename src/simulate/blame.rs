//! Finds the culprit for a step that cannot be run: a second, slower pass over all its ranks.

use std::collections::HashSet;

use super::SimulateError;
use crate::Rank;
use crate::schedule::{Schedule, Step};

/// The fault of a step at the lowest rank that has one. `up` lists the ranks that were due; `None` stands for all
/// ranks.
pub(super) fn find<S: Schedule + ?Sized>(
    schedule: &S,
    number: usize,
    up: Option<&[u32]>,
) -> SimulateError {
    let up: Option<HashSet<u32>> = up.map(|up| up.iter().copied().collect());
    let listed = |rank: Rank| up.as_ref().is_none_or(|up| up.contains(&(rank as u32)));
    let look =
        |rank| look(schedule, rank, number).and_then(|()| called(schedule, rank, number, &listed));
    let found = (0..schedule.ranks()).find_map(|rank| look(rank).err());
    found.unwrap_or(SimulateError::NotPure { step: number })
}

/// Checks that a rank that acts in the step was due.
fn called<S: Schedule + ?Sized>(
    schedule: &S,
    rank: Rank,
    step: usize,
    listed: &impl Fn(Rank) -> bool,
) -> Result<(), SimulateError> {
    if schedule.step(rank, step).is_idle() || listed(rank) {
        Ok(())
    } else {
        Err(SimulateError::Overlooked { rank, step })
    }
}

fn look<S: Schedule + ?Sized>(
    schedule: &S,
    rank: Rank,
    number: usize,
) -> Result<(), SimulateError> {
    let step = schedule.step(rank, number);
    if let Some(what) = step.clash {
        return Err(SimulateError::Clash {
            rank,
            step: number,
            what,
        });
    }
    for transfer in step.send.into_iter().chain(step.recv) {
        allows_peer(schedule.ranks(), rank, number, transfer.peer)?;
    }
    has_its_send(schedule, rank, number, &step)?;
    has_its_receive(schedule, rank, number, &step)
}

fn allows_peer(ranks: usize, rank: Rank, step: usize, peer: Rank) -> Result<(), SimulateError> {
    if peer >= ranks {
        return Err(SimulateError::NoSuchPeer {
            rank,
            step,
            peer,
            ranks,
        });
    }
    if peer == rank {
        return Err(SimulateError::OwnPeer { rank, step });
    }
    Ok(())
}

fn has_its_send<S: Schedule + ?Sized>(
    schedule: &S,
    rank: Rank,
    number: usize,
    step: &Step,
) -> Result<(), SimulateError> {
    let Some(recv) = step.recv else {
        return Ok(());
    };
    let send = schedule.step(recv.peer, number).send;
    match send.filter(|send| send.peer == rank) {
        Some(_) => Ok(()),
        None => Err(SimulateError::NoSend {
            rank,
            step: number,
            peer: recv.peer,
        }),
    }
}

fn has_its_receive<S: Schedule + ?Sized>(
    schedule: &S,
    rank: Rank,
    number: usize,
    step: &Step,
) -> Result<(), SimulateError> {
    let Some(send) = step.send else {
        return Ok(());
    };
    let recv = schedule.step(send.peer, number).recv;
    let recv = recv
        .filter(|recv| recv.peer == rank)
        .ok_or(SimulateError::NoReceive {
            rank,
            step: number,
            peer: send.peer,
        })?;
    let (sent, expected) = (send.region.elements(), recv.region.elements());
    if sent != expected {
        return Err(SimulateError::UnequalExtents {
            rank,
            step: number,
            peer: send.peer,
            sent,
            expected,
        });
    }
    Ok(())
}
