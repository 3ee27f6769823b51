//! The points to be measured. Those that cannot be measured are refused before any is.

use std::collections::HashSet;
use std::fs;

use rankfold::Transport;
use rankfold::collective::{Algorithm, Collective};
use rankfold::machine::Machine;
use rankfold::measure::{Effort, Op, Point, Subject, Type};

use super::{Arguments, By};
use crate::choice::Many;
use crate::numbers::passes;
use crate::stop::Stop;
use crate::transport::transports;

/// Everything that is measured, and how.
pub struct Plan {
    pub points: Vec<Point>,
    pub passes: usize,
    pub effort: Effort,
    pub machine: Machine,
}

/// Maximum seconds for a point.
const MOST_SECONDS: f64 = 3600.0;
/// Maximum number of threads that can be compared meaningfully.
const MOST_RANKS: usize = 1024;
/// Maximum length of a vector, beyond any machine's memory.
const MOST_BYTES: u64 = 1 << 40;
/// Maximum number of points, beyond what a reader can use.
const MOST_POINTS: usize = 10_000;
/// More curves cannot be distinguished.
const MOST_CURVES: usize = 12;

impl Plan {
    pub fn new(arguments: &Arguments) -> Result<Plan, Stop> {
        let machine = Machine::here();
        let passes = passes(arguments.passes)?;
        let effort = effort(arguments)?;
        let points = points(arguments, &machine)?;
        if arguments.out.plot.is_some() {
            curves(&points)?;
        }
        memory(&points)?;
        Ok(Plan {
            points,
            passes,
            effort,
            machine,
        })
    }

    /// Returns the lengths that are measured, once each.
    pub fn bytes(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.points.iter().map(Point::bytes).collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|bytes| *bytes > 0);
        all
    }
}

fn refuse(line: String) -> Stop {
    Stop::Input(line)
}

fn effort(arguments: &Arguments) -> Result<Effort, Stop> {
    let time = arguments.time.at_most(MOST_SECONDS)?;
    match arguments.iterations {
        Some(0) => Err(Stop::input("--iterations: at least 1")),
        Some(more) if more > 1_000_000 => Err(Stop::input("--iterations: at most 1000000")),
        Some(samples) => Ok(Effort::samples(samples)),
        None => Ok(Effort::time(time.div_f64(arguments.passes as f64))),
    }
}

fn points(arguments: &Arguments, machine: &Machine) -> Result<Vec<Point>, Stop> {
    let Arguments { kind, op, .. } = *arguments;
    check_operator(op, kind)?;
    let transports = transports(&arguments.transport)?;
    let mut points: Vec<Point> = Vec::new();
    for ranks in ranks(arguments, machine)? {
        arguments.place.on(machine, ranks)?;
        for subject in subjects(arguments) {
            for length in lengths(arguments, subject)? {
                let point = |algorithm| Point {
                    algorithm,
                    op,
                    root: arguments.root,
                    into: arguments.into && subject == Subject::from(Collective::AllReduce),
                    fresh: arguments.fresh,
                    bind: arguments.place.bind.clone(),
                    ..Point::new(subject, ranks, length, kind)
                };
                for new in over(&transports, |point| by(arguments, subject, point), point)? {
                    // Lengths that were rounded up for equal blocks may coincide.
                    if !points.contains(&new) {
                        points.push(new);
                    }
                }
                if points.len() > MOST_POINTS {
                    return Err(refuse(format!(
                        "more than {MOST_POINTS} points: ask for fewer"
                    )));
                }
            }
        }
    }
    match points.is_empty() {
        true => Err(Stop::input("no algorithm can do this with these ranks")),
        false => Ok(in_order(points)),
    }
}

fn check_operator(op: Op, kind: Type) -> Result<(), Stop> {
    match op.folds(kind) {
        true => Ok(()),
        false => Err(refuse(format!(
            "--op: {op} is for integers, not for {kind}"
        ))),
    }
}

/// Orders points curve by curve: the lengths of an algorithm are consecutive.
fn in_order(mut points: Vec<Point>) -> Vec<Point> {
    let mut seen = Vec::new();
    let key = |point: &Point| (point.subject, point.algorithm, point.transport, point.ranks);
    for point in &points {
        if !seen.contains(&key(point)) {
            seen.push(key(point));
        }
    }
    points.sort_by_key(|point| seen.iter().position(|known| *known == key(point)));
    points
}

/// Returns the points over each transport.
fn over(
    transports: &[Transport],
    by: impl Fn(&dyn Fn(Option<Algorithm>) -> Point) -> Result<Vec<Point>, Stop>,
    point: impl Fn(Option<Algorithm>) -> Point,
) -> Result<Vec<Point>, Stop> {
    let mut all = Vec::new();
    for &transport in transports {
        all.extend(by(&|algorithm| Point {
            transport,
            ..point(algorithm)
        })?);
    }
    Ok(all)
}

/// Returns the point by each requested algorithm.
fn by(
    arguments: &Arguments,
    subject: Subject,
    point: &dyn Fn(Option<Algorithm>) -> Point,
) -> Result<Vec<Point>, Stop> {
    let asked = match &arguments.algorithm[..] {
        [] => &[By::Auto],
        some => some,
    };
    let mut points = Vec::new();
    for by in asked {
        match by {
            By::Auto => points.push(willing(point(None))?),
            By::Named(Many::One(algorithm)) => points.push(willing(point(Some(*algorithm)))?),
            By::Named(Many::All) => {
                let Subject::Collective(collective) = subject else {
                    points.push(willing(point(None))?);
                    continue;
                };
                let all = Algorithm::all(collective).map(|algorithm| point(Some(algorithm)));
                points.extend(all.filter(|point| point.refused().is_none()));
            }
        }
    }
    Ok(points)
}

fn willing(point: Point) -> Result<Point, Stop> {
    if point.subject.has_root() && point.root >= point.ranks {
        let Point { root, ranks, .. } = point;
        return Err(refuse(format!(
            "--root: {root} is not one of the {ranks} ranks"
        )));
    }
    match point.refused() {
        Some(why) => Err(refuse(why)),
        None => Ok(point),
    }
}

fn subjects(arguments: &Arguments) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for wanted in &arguments.subjects {
        match wanted {
            Many::All => subjects.extend(Subject::all()),
            Many::One(subject) => subjects.push(*subject),
        }
    }
    match subjects.is_empty() {
        true => vec![Collective::AllReduce.into()],
        false => subjects,
    }
}

fn ranks(arguments: &Arguments, machine: &Machine) -> Result<Vec<usize>, Stop> {
    let Some(asked) = &arguments.ranks else {
        return Ok(default_ranks(machine.usable.usable()));
    };
    let mut ranks: Vec<usize> = asked.iter().take(MOST_RANKS + 1).collect();
    let too_many = asked
        .iter()
        .take(MOST_RANKS + 1)
        .find(|ranks| *ranks > MOST_RANKS);
    if let Some(many) = too_many.or((ranks.len() > MOST_RANKS).then_some(ranks.len())) {
        return Err(refuse(format!(
            "--ranks: {many} are too many; at most {MOST_RANKS}"
        )));
    }
    ranks.dedup();
    Ok(ranks)
}

/// Returns powers of two up to all CPUs, and twice and four times as many ranks, which have to share them.
pub fn default_ranks(cpus: usize) -> Vec<usize> {
    let cpus = cpus.clamp(1, MOST_RANKS / 4);
    let mut ranks: Vec<usize> = (1..10)
        .map(|power| 1 << power)
        .filter(|n| *n < cpus)
        .collect();
    ranks.extend([cpus, 2 * cpus, 4 * cpus].into_iter().filter(|n| *n > 1));
    ranks
}

/// From a single number to a long vector, each eight times as long as the one before.
pub const SIZES: [usize; 8] = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20];

fn lengths(arguments: &Arguments, subject: Subject) -> Result<Vec<usize>, Stop> {
    if subject == Subject::from(Collective::Barrier) {
        return Ok(vec![0]);
    }
    let kind = arguments.kind;
    let asked = arguments
        .sizes
        .as_ref()
        .map_or(&SIZES[..], |sizes| &sizes.0);
    let length = |&bytes: &usize| match bytes % kind.bytes() {
        _ if bytes as u64 > MOST_BYTES => Err(refuse(format!(
            "--sizes: {bytes} bytes are too many; at most 1Ti"
        ))),
        0 => Ok(bytes / kind.bytes()),
        _ => Err(refuse(format!(
            "--sizes: {bytes} bytes are no whole number of {kind}, which have {}",
            kind.bytes()
        ))),
    };
    asked.iter().map(length).collect()
}

fn curves(points: &[Point]) -> Result<(), Stop> {
    let drawn: Vec<_> = points.iter().filter(|point| point.bytes() > 0).collect();
    if drawn.is_empty() {
        return Err(Stop::input(
            "--plot: without bytes there is nothing to draw",
        ));
    }
    let over_bytes = drawn.iter().any(|one| one.bytes() != drawn[0].bytes());
    let key = |point: &Point| {
        let ranks = over_bytes.then_some(point.ranks);
        (point.subject, point.algorithm, point.transport, ranks)
    };
    let curves: HashSet<_> = drawn.into_iter().map(key).collect();
    match curves.len() {
        many if many > MOST_CURVES => Err(refuse(format!(
            "--plot: {many} curves cannot be told apart; ask for at most {MOST_CURVES}, fewer ranks or algorithms"
        ))),
        _ => Ok(()),
    }
}

/// Checks that the longest vectors fit into the memory available now.
fn memory(points: &[Point]) -> Result<(), Stop> {
    let Some(there) = available() else {
        return Ok(());
    };
    match points.iter().find(|point| need(point) > there) {
        Some(point) => Err(refuse(format!(
            "{} of {} bytes among {} ranks needs some {} MiB of memory, and there are {} MiB",
            point.subject,
            point.bytes(),
            point.ranks,
            need(point) >> 20,
            there >> 20
        ))),
        None => Ok(()),
    }
}

/// Returns the memory available now, where the system reports it.
fn available() -> Option<usize> {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let mut lines = info.lines();
    let rest = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = rest.trim().trim_end_matches(" kB").parse().ok()?;
    kib.checked_mul(1 << 10)
}

/// Returns the memory of a point. Scratch memory is at most as long as the vectors.
fn need(point: &Point) -> usize {
    point.memory().saturating_mul(2)
}

/// Returns whether a point's vectors fit into the memory available now.
pub fn fits(point: &Point) -> bool {
    available().is_none_or(|there| need(point) <= there)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the points of this many collectives, ranks and lengths.
    fn some(subjects: usize, ranks: usize, lengths: usize) -> Vec<Point> {
        let mut points = Vec::new();
        for subject in Collective::all().skip(1).take(subjects) {
            for ranks in 1..=ranks {
                // Lengths that all numbers of ranks divide.
                points.extend(
                    (1..=lengths).map(|length| {
                        Point::new(subject.into(), ranks, 27_720 * length, Type::F32)
                    }),
                );
            }
        }
        points
    }

    #[test]
    fn as_many_curves_are_drawn_as_can_be_told_apart_over_bytes_or_ranks() {
        for algorithms in 1..=4u32 {
            for ranks in 1..=12 {
                let named = |stages: u32| {
                    some(1, ranks, 2).into_iter().map(move |point| Point {
                        algorithm: Some(Algorithm::Hybrid { stages }),
                        ..point
                    })
                };
                let points: Vec<Point> = (0..algorithms).flat_map(named).collect();
                let is_drawn = algorithms as usize * ranks <= MOST_CURVES;
                assert_eq!(curves(&points).is_ok(), is_drawn, "{algorithms} {ranks}");
            }
        }
        for many in 1..=20u32 {
            let by = |stages: u32| Point {
                algorithm: Some(Algorithm::Hybrid { stages }),
                ..Point::new(Collective::AllReduce.into(), 4, 8, Type::F32)
            };
            let of = |ranks: usize| (0..many).map(move |one| Point { ranks, ..by(one) });
            let points: Vec<Point> = (2..=9).flat_map(of).collect();
            assert_eq!(
                curves(&points).is_ok(),
                many as usize <= MOST_CURVES,
                "{many}"
            );
        }
        // Barriers are not drawn, and do not make a second length.
        let mut points = some(1, 12, 1);
        points.push(Point::new(Collective::Barrier.into(), 2, 0, Type::F32));
        assert!(curves(&points).is_ok());
    }

    #[test]
    fn without_ranks_there_are_some_for_every_machine() {
        assert_eq!(default_ranks(1), [2, 4]);
        assert_eq!(default_ranks(2), [2, 4, 8]);
        assert_eq!(default_ranks(6), [2, 4, 6, 12, 24]);
        assert_eq!(default_ranks(16), [2, 4, 8, 16, 32, 64]);
    }
}
