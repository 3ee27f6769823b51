//! One rank fails at each of its operations, in every world and by every fault; and the expected outcomes.

use std::ops::RangeInclusive;

use rankfold::{
    Buffering, Comm, ErrorKind, Fault, Outcome, Rank, Report, Result, World, WorldError,
};

use super::{Random, Spoiled, guarded, scale};

pub const FAULTS: [Fault; 3] = [Fault::Panic, Fault::Error, Fault::Return];

/// One injected failure: the rank, the operation, the fault.
pub struct Death<'a> {
    name: &'a str,
    /// The world without the fault, and how it prints.
    world: &'a World,
    shown: &'a str,
    victim: Rank,
    nth: u64,
    fault: Fault,
}

impl Death<'_> {
    fn show(&self) -> String {
        let Death {
            shown,
            victim,
            nth,
            fault,
            ..
        } = self;
        format!("{shown}, inject({victim}, {nth}, {fault:?})")
    }

    fn world(&self) -> World {
        self.world.clone().inject(self.victim, self.nth, self.fault)
    }
}

/// Fails every rank at each of its operations, or at a fixed selection of them (`part`, times the scale and the
/// [share](share_of) of its world; at least one of each rank), in worlds of `sizes` ranks. Every rank of the program returns a number that depends only on
/// its rank.
pub fn sweep(
    name: &str,
    sizes: RangeInclusive<usize>,
    part: f64,
    program: impl Fn(&Comm) -> Result<u64> + Sync,
) {
    for ranks in sizes {
        for check in [false, true] {
            let world = World::new(ranks).check(check);
            let shown = format!("{name}, {ranks} ranks, check({check})");
            sweep_world((name, &shown), part, &program, &world, &|_, _| ());
        }
    }
}

/// The same with less room for messages, down to none.
pub fn sweep_bufferings(name: &str, program: impl Fn(&Comm) -> Result<u64> + Sync) {
    for ranks in [2, 3, 5, 8] {
        for buffering in [Buffering::Zero, Buffering::Bytes(100), Buffering::Unbounded] {
            let world = World::new(ranks).check(false).buffering(buffering);
            let shown = format!("{name}, {ranks} ranks, {buffering:?}");
            sweep_world((name, &shown), 1.0, &program, &world, &|_, _| ());
        }
    }
}

/// The same in one world, where each fault must strike at its very operation: no rank begins any other after it.
pub fn sweep_exactly(
    (name, shown): (&str, &str),
    part: f64,
    program: impl Fn(&Comm) -> Result<u64> + Sync,
    world: &World,
) {
    let struck = |death: &Death<'_>, report: &Report<u64>| {
        let begun = report.counts[death.victim].operations;
        assert_eq!(begun, death.nth, "{}: where it struck", death.show());
    };
    sweep_world((name, shown), part, &program, world, &struck);
}

/// Sweeps one world; `also` sees each report first.
fn sweep_world(
    (name, shown): (&str, &str),
    part: f64,
    program: &(impl Fn(&Comm) -> Result<u64> + Sync),
    world: &World,
    also: &dyn Fn(&Death<'_>, &Report<u64>),
) {
    let case = || format!("{shown}, nobody dies");
    let healthy = guarded(&case, || world.run_each(program));
    let whole = |outcome: &Outcome<u64>| outcome.value().is_some();
    assert!(healthy.outcomes.iter().all(whole), "{}", case());
    let mut random = Random::new(hash(&case()));
    let part = part * share_of(healthy.outcomes.len());
    for (victim, counts) in healthy.counts.iter().enumerate() {
        assert!(counts.operations > 0, "{}: rank {victim}", case());
        for (nth, fault) in chosen(counts.operations, part, &mut random) {
            let death = Death {
                name,
                world,
                shown,
                victim,
                nth,
                fault,
            };
            let report = guarded(&|| death.show(), || death.world().run_each(program));
            also(&death, &report);
            judge(&death, &healthy, report);
        }
    }
}

/// The share of the faults of each rank that is tried in worlds of this size: the number of ranks, of runs for each, and
/// the time of a run all grow with it.
fn share_of(ranks: usize) -> f64 {
    match ranks {
        0..=3 => 1.0,
        4 => 0.4,
        _ => 0.1,
    }
}

/// This part of one rank's faults at its operations, times the scale, but one at least: always the same.
fn chosen(operations: u64, part: f64, random: &mut Random) -> Vec<(u64, Fault)> {
    let mut cases: Vec<_> = (1..=operations)
        .flat_map(|nth| FAULTS.map(|fault| (nth, fault)))
        .collect();
    let count = (cases.len() as f64 * part * scale()).round() as usize;
    let count = count.clamp(1, cases.len());
    for taken in 0..count {
        let other = taken + random.below(cases.len() - taken);
        cases.swap(taken, other);
    }
    cases.truncate(count);
    cases.sort_by_key(|(nth, _)| *nth);
    cases
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn judge(death: &Death<'_>, healthy: &Report<u64>, report: Report<u64>) {
    for (rank, outcome) in report.outcomes.iter().enumerate() {
        let fine = if rank == death.victim {
            died(death.fault, outcome)
        } else {
            survived(death, healthy.outcomes[rank].value(), outcome)
        };
        assert!(fine, "{}: rank {rank}: {outcome:?}", death.show());
    }
    assert_eq!(report.culprit, Some(death.victim), "{}", death.show());
    assert!(report.mismatch.is_none(), "{}", death.show());
    let error = report.into_result().unwrap_err();
    assert!(names(death, &error), "{}: {error}", death.show());
}

fn died(fault: Fault, outcome: &Outcome<u64>) -> bool {
    match (fault, outcome) {
        (Fault::Error, Outcome::Failed(error)) => matches!(error.kind(), ErrorKind::Injected),
        (Fault::Panic, Outcome::Panicked { message, .. }) => message.starts_with("injected panic"),
        (Fault::Return, Outcome::Left) => true,
        _ => false,
    }
}

/// A rank that returned leaves the set of ranks that a wildcard may match; the rest is a knot, that is, a deadlock.
fn survived(death: &Death<'_>, right: Option<&u64>, outcome: &Outcome<u64>) -> bool {
    let wild = death.name.contains("any source") && death.fault == Fault::Return;
    match outcome {
        Outcome::Returned(value) => Some(value) == right,
        Outcome::Failed(error) => {
            error.culprit() == Some(death.victim)
                || wild && matches!(error.kind(), ErrorKind::Deadlock(_))
        }
        _ => false,
    }
}

fn names(death: &Death<'_>, error: &WorldError) -> bool {
    let right_kind = match death.fault {
        Fault::Panic => matches!(error, WorldError::Panicked { .. }),
        Fault::Error => matches!(error, WorldError::Failed { .. }),
        _ => matches!(error, WorldError::ReturnedEarly { .. }),
    };
    right_kind && error.culprit() == Some(death.victim)
}

/// Element `i` of rank `rank`'s buffer.
pub fn element(rank: Rank, i: usize) -> u64 {
    (rank as u64 + 1) * 1_000_003 + i as u64
}

pub fn buffer(rank: Rank, length: usize) -> Spoiled {
    Spoiled::new((0..length).map(|i| element(rank, i)).collect())
}

#[track_caller]
pub fn assert_from(rank: Rank, data: &[u64], length: usize) {
    assert_eq!(data.len(), length);
    let wrong = data
        .iter()
        .enumerate()
        .find(|(i, x)| **x != element(rank, *i));
    assert_eq!(wrong, None, "elements of rank {rank}");
}

/// The sum over `ranks`.
#[track_caller]
pub fn assert_sum(ranks: impl Iterator<Item = Rank> + Clone, data: &[u64]) {
    let want = |i: usize| ranks.clone().map(|rank| element(rank, i)).sum::<u64>();
    let wrong = data.iter().enumerate().find(|(i, x)| **x != want(*i));
    assert_eq!(wrong, None, "sums");
}
