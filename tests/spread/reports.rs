//! What is reported of ranks in several processes: the same in each of them.

use std::time::Duration;

use rankfold::error::{Deadlock, Mismatch};
use rankfold::{Comm, Error, ErrorKind, Outcome, Plain, Rank, Report, Result, WorldError, op};

use super::programs::world;

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

/// The deadlock that is reported in every process.
fn deadlock(report: &Report<(), Error>) -> &Deadlock {
    assert_eq!(report.deadlocks.len(), 1, "{report}");
    assert!(
        report.mismatch.is_none() && report.culprit.is_none(),
        "{report}"
    );
    &report.deadlocks[0]
}

/// All ranks of all processes are in the report, with their calls, lines and the cycle.
pub fn deadlocks(ranks: usize) {
    let line = line!() + 1;
    let report = world(ranks).run_each(|comm| comm.recv::<u8>(right(comm), 7).map(drop));
    let size = world(ranks).run(|comm| Ok(comm.size())).unwrap()[0];
    let found = deadlock(&report);
    let all: Vec<Rank> = (0..size).collect();
    let stuck: Vec<Rank> = found.stuck.iter().map(|stuck| stuck.rank).collect();
    assert_eq!((&stuck, &found.cycle, found.others), (&all, &all, 0));
    for stuck in &found.stuck {
        let next = (stuck.rank + 1) % size;
        assert_eq!(stuck.call, format!("recv(from {next}, tag 7)"));
        assert!(stuck.site.file().ends_with("tests/spread/reports.rs"));
        assert_eq!(stuck.site.line(), line);
    }
    let error = report.into_result().unwrap_err();
    assert!(matches!(error, WorldError::Deadlock(_)), "{error}");
    several_deadlocks(ranks);
    among_sleepers(ranks);
}

/// Ranks that handle their deadlock go on, also into the next one, and no message is taken for part of either.
fn several_deadlocks(ranks: usize) {
    let times = 50;
    let report = world(ranks).run_each(|comm| {
        for time in 0..times {
            let error = comm.recv::<u8>(right(comm), 0).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
            let left = (comm.rank() + comm.size() - 1) % comm.size();
            let (got, _) = comm.sendrecv(right(comm), 1, &[time], left, 1)?;
            assert_eq!(got, [time]);
            comm.barrier()?;
        }
        Ok(())
    });
    assert_eq!(report.deadlocks.len(), times, "{report}");
    report.into_result().unwrap();
}

/// The first and the last rank wait for each other, and all others for a time.
fn among_sleepers(ranks: usize) {
    let report = world(ranks).run_each(|comm| {
        let last = comm.size() - 1;
        match comm.rank() {
            0 => comm.recv::<u8>(last, 0).map(drop),
            me if me == last => {
                let error = comm.recv::<u8>(0, 0).unwrap_err();
                (1..last).try_for_each(|to| comm.send(to, 5, &[1u8]))?;
                Err(error)
            }
            _ => comm
                .recv_timeout::<u8>(last, 5, Duration::from_secs(3600))
                .map(drop),
        }
    });
    let found = deadlock(&report);
    let size = found.stuck.len() + found.others;
    assert_eq!(found.cycle, [0, size - 1], "{report}");
    assert_eq!(found.stuck.len(), 2, "{report}");
}

#[derive(Clone, Copy)]
struct KnownElsewhere(#[allow(dead_code)] u8);

// SAFETY: one byte.
unsafe impl Plain for KnownElsewhere {}

/// All processes but the first know a type, and each of their ranks in turn sends it to a rank that does not.
pub fn unknown_types(ranks: usize) {
    let counts = world(ranks).run(|comm| Ok((comm.size(), comm.process())));
    let (size, process) = counts.unwrap()[0];
    for sender in ranks..size {
        let world = match process {
            0 => world(ranks),
            _ => world(ranks).plain::<KnownElsewhere>(),
        };
        let report = world.run_each(|comm| match comm.rank() {
            0 => comm.recv::<u8>(sender, 0).map(drop),
            me if me == sender => comm.send(0, 0, &[KnownElsewhere(1)]),
            _ => Ok(()),
        });
        assert_eq!(report.culprit, Some(sender), "{report}");
    }
}

fn mismatch(report: &Report<(), Error>) -> &Mismatch {
    let found = report.mismatch.as_deref();
    found.unwrap_or_else(|| panic!("no mismatch: {report}"))
}

/// The odd rank is named, where there are three at least, and the line of each rank.
pub fn mismatches(ranks: usize) {
    let size = world(ranks).run(|comm| Ok(comm.size())).unwrap()[0];
    for odd in 0..size {
        let report = world(ranks).run_each(|comm| match comm.rank() == odd {
            true => comm.barrier(),
            false => comm.all_reduce(&mut [1u32; 5], op::Sum),
        });
        let found = mismatch(&report);
        assert!(found.odd.iter().all(|rank| *rank == odd), "{found}");
        assert!(
            found.calls.iter().all(|call| call.site.is_some()),
            "{found}"
        );
        assert!(found.calls.iter().any(|call| call.rank == odd), "{found}");
        let error = report.into_result().unwrap_err();
        assert!(matches!(error, WorldError::Mismatch(_)), "{error}");
        unnoticed(ranks, odd, size);
    }
}

/// Ranks that only send, to roots that differ, all return: what they called is compared at the end.
fn unnoticed(ranks: usize, odd: Rank, size: usize) {
    let other = (odd + 1) % size;
    let report = world(ranks).run_each(|comm| {
        let root = if comm.rank() == odd { odd } else { other };
        comm.broadcast(root, &mut [1u8])
    });
    let found = mismatch(&report);
    assert!(found.odd.iter().all(|rank| *rank == odd), "{found}");
    let error = report.into_result().unwrap_err();
    assert!(matches!(error, WorldError::Mismatch(_)), "{error}");
}

/// A collective that one rank makes, and another one that all others make.
type Pair = (fn(&Comm) -> Result<()>, fn(&Comm) -> Result<()>);

const PAIRS: &[Pair] = &[
    (
        |comm| comm.barrier(),
        |comm| comm.all_reduce(&mut [1u32; 5], op::Sum),
    ),
    (|comm| comm.broadcast(0, &mut [1u8]), |comm| comm.barrier()),
    (
        |comm| comm.reduce(0, &mut [1u8], op::Max),
        |comm| comm.broadcast(1, &mut [1u8; 9000]),
    ),
    (
        |comm| comm.all_reduce(&mut [1u8; 4], op::Max),
        |comm| comm.all_reduce(&mut [1u8; 3], op::Max),
    ),
    (
        |comm| comm.scan(&mut [1u8; 2], op::Max),
        |comm| comm.barrier().and_then(|()| comm.barrier()),
    ),
];

/// Of three ranks and more, every process names the same of those that made another call, if most did not, and no error
/// names others.
pub fn odd_ranks(ranks: usize) {
    let size = world(ranks).run(|comm| Ok(comm.size())).unwrap()[0];
    for pair in 0..PAIRS.len() {
        for first in 0..size {
            names_the_odd(ranks, pair, &[first]);
            // Two neighbours, which may be most ranks of a process.
            if size > 4 && first + 1 < size {
                names_the_odd(ranks, pair, &[first, first + 1]);
            }
        }
    }
}

fn names_the_odd(ranks: usize, pair: usize, odd: &[Rank]) {
    let (other, most) = PAIRS[pair];
    let report = world(ranks).run_each(|comm| {
        comm.barrier()?;
        match odd.contains(&comm.rank()) {
            true => other(comm),
            false => most(comm),
        }
    });
    let case = format!("pair {pair}, odd {odd:?}, from {}", report.first_rank);
    for outcome in &report.outcomes {
        if let Outcome::Failed(error) = outcome
            && let ErrorKind::Mismatch(found) = error.kind()
        {
            let are_odd = found.odd.iter().all(|rank| odd.contains(rank));
            assert!(are_odd, "{case}: {report}");
        }
    }
    let named = &mismatch(&report).odd;
    let are_odd = named.iter().all(|rank| odd.contains(rank));
    assert!(are_odd && !named.is_empty(), "{case}: {report}");
    assert_eq!(report.culprit, Some(named[0]), "{case}: {report}");
    // The second may not have made its call, as the communicator was broken already.
    let named = named.iter().fold(0, |all, rank| all | 1u64 << rank);
    let everywhere = world(ranks).run(|comm| {
        let mut bounds = [named; 2];
        comm.all_reduce(&mut bounds[..1], op::Min)?;
        comm.all_reduce(&mut bounds[1..], op::Max)?;
        Ok(bounds)
    });
    assert_eq!(everywhere.unwrap()[0], [named; 2], "{case}: {report}");
}
