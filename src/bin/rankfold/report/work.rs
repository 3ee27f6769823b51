//! What is measured for a report: latencies, all_reduce over ranks and bytes, and three algorithms for the model.

use std::time::Duration;

use rankfold::World;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::machine::Machine;
use rankfold::measure::{Control, Effort, Latency, MessagePath, Point, Type};

use super::data::{Chosen, Data, REPORT_SCHEMA};
use crate::bench::{self, Plan, SIZES};
use crate::latency;
use crate::stop::Stop;

/// The shares of the time; the rest goes to starting ranks, comparing results and warming up.
const FOR_LATENCY: f64 = 0.1;
const FOR_POINTS: f64 = 0.7;
const PASSES: usize = 5;
/// More CPUs have too many pairs for a page.
const MOST_CPUS: usize = 32;
/// More curves cannot be distinguished.
const MOST_RANKS: usize = 7;
/// With less time than this, long vectors are left out.
const LITTLE: f64 = 10.0;
const SHORT: usize = 256 << 10;

/// The algorithms compared with the model.
const MODELLED: [Algorithm; 3] = [Algorithm::Exchange, Algorithm::Halving, Algorithm::Ring];

pub fn measured(seconds: f64) -> Result<Data, Stop> {
    let machine = Machine::here();
    let control = bench::control();
    let latency = latencies(&machine, FOR_LATENCY * seconds, &control)?;
    let choices = choices(&machine)?;
    let plan = plan(machine, seconds);
    if control.is_stopped() {
        return Err(Stop::Interrupted);
    }
    let run = bench::measured(&plan, &control)?;
    match run.interrupted {
        true => Err(Stop::Interrupted),
        false => Ok(Data {
            schema: REPORT_SCHEMA.into(),
            run,
            latency,
            choices,
        }),
    }
}

/// Measures between all CPUs or, of many, between some that are spread evenly; `None` if there are fewer than two.
fn latencies(machine: &Machine, seconds: f64, control: &Control) -> Result<Option<Latency>, Stop> {
    let mask = &machine.usable.mask;
    if mask.len() < 2 || machine.usable.usable() < 2 {
        return Ok(None);
    }
    let cpus: Vec<usize> = mask
        .iter()
        .copied()
        .step_by(mask.len().div_ceil(MOST_CPUS))
        .collect();
    let pairs = cpus.len() * (cpus.len() - 1) / 2;
    let ways: Vec<MessagePath> = MessagePath::all().collect();
    let passes = 3;
    let each = seconds / (pairs * ways.len() * passes) as f64;
    let plan = latency::Plan {
        machine: machine.clone(),
        cpus,
        ways,
        passes,
        time: Duration::from_secs_f64(each.clamp(0.0005, 0.1)),
    };
    latency::measured(&plan, control).map(Some)
}

fn plan(machine: Machine, seconds: f64) -> Plan {
    let points = points(machine.usable.usable(), seconds);
    let pass = FOR_POINTS * seconds / (points.len() * PASSES).max(1) as f64;
    Plan {
        points,
        passes: PASSES,
        effort: Effort::time(Duration::from_secs_f64(pass)),
        machine,
    }
}

/// Returns the points: all_reduce by the automatic choice over ranks and bytes, and by the algorithms of the model with
/// one rank per CPU.
fn points(cpus: usize, seconds: f64) -> Vec<Point> {
    let ranks = some(bench::default_ranks(cpus));
    let alone = modelled_ranks(cpus);
    let sizes = SIZES
        .into_iter()
        .filter(|bytes| seconds >= LITTLE || *bytes <= SHORT);
    let sizes: Vec<usize> = sizes.collect();
    let point = |ranks: usize, algorithm: Option<Algorithm>, bytes: usize| Point {
        algorithm,
        ..Point::new(
            Collective::AllReduce.into(),
            ranks,
            bytes / Type::F32.bytes(),
            Type::F32,
        )
    };
    let kinds = ranks.into_iter().map(|ranks| (ranks, None));
    let kinds = kinds.chain(MODELLED.map(|by| (alone, Some(by))));
    let all = kinds.flat_map(|(ranks, by)| sizes.iter().map(move |bytes| point(ranks, by, *bytes)));
    all.filter(|point| point.refused().is_none() && bench::fits(point))
        .collect()
}

fn modelled_ranks(cpus: usize) -> usize {
    cpus.clamp(2, 64)
}

/// Returns the last numbers of ranks if there are many.
fn some(ranks: Vec<usize>) -> Vec<usize> {
    let first = ranks.len().saturating_sub(MOST_RANKS);
    ranks[first..].to_vec()
}

/// The lengths for which choices are shown.
const CHOSEN: [usize; 5] = [8, 1 << 10, 16 << 10, 256 << 10, 4 << 20];

/// Returns the choices of a communicator here, of one rank per CPU and of four times as many.
fn choices(machine: &Machine) -> Result<Vec<Chosen>, Stop> {
    let alone = modelled_ranks(machine.usable.usable());
    let mut all = Vec::new();
    for ranks in [alone, 4 * alone] {
        let asked = World::new(ranks).run(|comm| match comm.rank() {
            0 => Collective::all()
                .flat_map(|collective| CHOSEN.map(|bytes| (collective, bytes)))
                .map(|(collective, bytes)| {
                    let length = bytes / size_of::<f32>();
                    let call = Call::new(collective, ranks, length).commuting();
                    let choice = comm.explain::<f32>(&call)?;
                    Ok(Chosen::new(collective.name(), ranks, bytes, &choice))
                })
                .collect(),
            _ => Ok(Vec::new()),
        });
        all.extend(asked.map_err(Stop::input)?.into_iter().flatten());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_points_for_every_machine() {
        for cpus in [1, 2, 3, 16, 256] {
            let points = points(cpus, 1.0);
            assert!(points.iter().any(|point| point.algorithm.is_none()));
            for by in MODELLED {
                assert!(
                    points.iter().any(|point| point.algorithm == Some(by)),
                    "{by} with {cpus}"
                );
            }
            assert!(points.iter().all(|point| point.bytes() <= SHORT));
        }
    }
}
