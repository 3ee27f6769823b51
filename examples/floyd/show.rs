//! The report of the airports and the runs: text and tables, every figure with its unit.

use std::io::{self, Write};
use std::time::Duration;

use rankfold::cost::{Floyd, constant_for};
use rankfold::machine::Cpus;

use crate::airports::Airport;
use crate::options::Options;
use crate::paths::{Matrix, Run};

/// The efficiency for which problem sizes are given.
const WANTED: f64 = 0.8;
/// The numbers of ranks for which they are given, at most.
const PROJECTED: [usize; 6] = [2, 4, 16, 64, 256, 1024];

/// Writes the problem.
pub fn airports(out: &mut impl Write, options: &Options, legs: &Matrix) -> io::Result<()> {
    let pairs = (0..legs.size).flat_map(|from| (0..from).map(move |to| (from, to)));
    let reached = pairs.filter(|&(from, to)| legs.at(from, to).is_finite());
    writeln!(
        out,
        "{} airports, {} legs of up to {} km between them",
        legs.size,
        reached.count(),
        options.range
    )?;
    writeln!(out, "on {}", Cpus::here())
}

/// Writes the longest of the shortest paths, stop by stop.
pub fn longest(
    out: &mut impl Write,
    airports: &[Airport],
    legs: &Matrix,
    paths: &Matrix,
) -> io::Result<()> {
    let pairs = (0..paths.size).flat_map(|from| (0..from).map(move |to| (from, to)));
    let length = |&(from, to): &(usize, usize)| paths.at(from, to);
    let reached: Vec<_> = pairs.filter(|pair| length(pair).is_finite()).collect();
    let longest = reached
        .iter()
        .max_by(|a, b| length(a).total_cmp(&length(b)));
    let Some(&(from, to)) = longest else {
        return writeln!(out, "no airport is within reach of another");
    };
    let stops = stops(legs, paths, from, to);
    let codes: Vec<_> = stops
        .iter()
        .map(|&stop| airports[stop].code.as_str())
        .collect();
    let share = 200.0 * reached.len() as f64 / (paths.size * (paths.size - 1)) as f64;
    writeln!(
        out,
        "{share:.1} % of all pairs are connected; the longest shortest path, {:.0} km:",
        length(&(from, to))
    )?;
    writeln!(out, "  {}", codes.join(" ▸ "))
}

/// Returns the stops from one airport to another along a shortest path.
fn stops(legs: &Matrix, paths: &Matrix, from: usize, to: usize) -> Vec<usize> {
    let next = |&at: &usize| {
        let nearer = (0..legs.size).filter(|&stop| paths.at(stop, to) < paths.at(at, to));
        let way = |stop: usize| legs.at(at, stop) + paths.at(stop, to);
        nearer.min_by(|&a, &b| way(a).total_cmp(&way(b)))
    };
    std::iter::successors(Some(from), next).collect()
}

/// Writes the head of the table of runs.
pub fn head(out: &mut impl Write, alone: Duration) -> io::Result<()> {
    writeln!(
        out,
        "\nserial: {:.2} ms\n",
        milliseconds(alone.as_secs_f64())
    )?;
    writeln!(
        out,
        "                             measured by the ranks           time, ms"
    )?;
    writeln!(
        out,
        "ranks   efficiency   α, µs   β, ns/element   γ, ns   measured  predicted"
    )
}

/// Writes one run.
pub fn run(out: &mut impl Write, run: &Run, alone: Duration) -> io::Result<()> {
    let (time, model) = (run.time.as_secs_f64(), run.model);
    let efficiency = alone.as_secs_f64() / (run.ranks as f64 * time);
    let message = |figure: f64| match run.ranks {
        1 => "-".to_owned(),
        _ => format!("{figure:.2}"),
    };
    writeln!(
        out,
        "{:>5}   {:>8.0} %   {:>5}   {:>13}   {:>5.2}   {:>8.2}  {:>9.2}",
        run.ranks,
        100.0 * efficiency,
        message(model.alpha * 1e6),
        message(model.beta * 1e9),
        model.gamma * 1e9,
        milliseconds(time),
        milliseconds(Floyd { model }.time(run.paths.size, run.ranks)),
    )
}

/// Explains the columns, confirms the paths, and tells how the problem must grow with the ranks.
pub fn conclusion(out: &mut impl Write, runs: &[Run]) -> io::Result<()> {
    writeln!(out)?;
    writeln!(
        out,
        "α: start-up of a message, β: each element more, γ: one relaxation with all ranks at it;"
    )?;
    writeln!(
        out,
        "predicted: γ n² ⌈n/p⌉ + n ⌈log₂ p⌉ (α + n β); efficiency: serial time / (ranks · time)."
    )?;
    let cpus = Cpus::here().usable();
    if runs.iter().any(|run| run.ranks > cpus) {
        writeln!(
            out,
            "More ranks than the {cpus} usable CPUs take turns; γ counts the waiting, α and β do not all of it."
        )?;
    }
    writeln!(
        out,
        "All runs found the same paths as the serial one, bit for bit."
    )?;
    // The run with most ranks that each had a CPU: only such runs tell the time of a message.
    let fitting = |run: &&Run| (2..=cpus.max(2)).contains(&run.ranks);
    match runs.iter().filter(fitting).max_by_key(|run| run.ranks) {
        Some(run) => growth(out, run),
        None => Ok(()),
    }
}

/// Writes isoefficiency and scalability, with the times that one run measured.
fn growth(out: &mut impl Write, run: &Run) -> io::Result<()> {
    let scaling = Floyd { model: run.model }.scaling();
    let constant = constant_for(WANTED);
    writeln!(
        out,
        "\nWith what {} ranks measured, and a CPU for every rank, an efficiency of {:.0} % takes",
        run.ranks,
        100.0 * WANTED
    )?;
    writeln!(out, "ranks p   airports f(p)   matrix f(p)²/p, MiB a rank")?;
    for ranks in PROJECTED {
        let found = scaling.isoefficiency(constant, ranks);
        let Some((n, share)) = found.zip(scaling.scalability(constant, ranks)) else {
            continue;
        };
        let bytes = share * size_of::<f64>() as f64;
        writeln!(
            out,
            "{ranks:>7}   {:>13.0}   {:>26.3}",
            n.ceil(),
            bytes / f64::from(1 << 20)
        )?;
    }
    writeln!(
        out,
        "Memory a rank grows as p log² p: rows in blocks scale poorly."
    )
}

fn milliseconds(seconds: f64) -> f64 {
    seconds * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stops_of_a_path_add_up_to_its_length() {
        // A ring of six places, one kilometre apart, and a chord that is no short cut.
        let leg = |from: usize, to: usize| match from.abs_diff(to) {
            0 => 0.0,
            1 | 5 => 1.0,
            3 => 9.0,
            _ => f64::INFINITY,
        };
        let legs = Matrix::new(6, leg);
        let paths = crate::paths::serial(&legs);
        assert_eq!(stops(&legs, &paths, 5, 1), [5, 0, 1]);
        for from in 0..6 {
            for to in 0..6 {
                let stops = stops(&legs, &paths, from, to);
                let length: f64 = stops.windows(2).map(|leg| legs.at(leg[0], leg[1])).sum();
                assert_eq!((length, stops[0]), (paths.at(from, to), from));
                assert_eq!(stops.last(), Some(&to));
            }
        }
    }
}
