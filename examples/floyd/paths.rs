//! Floyd's algorithm: is the path from i to j shorter via airport 0, via airport 1, ...?
//!
//! To relax via `k`, a rank needs row `k` in addition to its own rows: the owner of the row broadcasts it.

use std::ops::Range;
use std::time::{Duration, Instant};

use rankfold::cost::Model;
use rankfold::{Comm, Rank, Result, World, WorldError, span};

use crate::measure;

/// Kilometres from every airport (row) to every other (column).
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub size: usize,
    elements: Vec<f64>,
}

impl Matrix {
    pub fn new(size: usize, element: impl Fn(usize, usize) -> f64) -> Matrix {
        let place = |i| element(i / size, i % size);
        Matrix {
            size,
            elements: (0..size * size).map(place).collect(),
        }
    }

    pub fn at(&self, from: usize, to: usize) -> f64 {
        self.elements[from * self.size + to]
    }

    fn rows(&self, rows: Range<usize>) -> &[f64] {
        &self.elements[rows.start * self.size..rows.end * self.size]
    }
}

/// The paths that some number of ranks found, and the time it took them.
pub struct Run {
    pub ranks: usize,
    pub paths: Matrix,
    pub time: Duration,
    /// Their times of a message, an element and a relaxation.
    pub model: Model,
}

/// Returns the shortest paths, computed by one thread.
pub fn serial(legs: &Matrix) -> Matrix {
    let mut paths = legs.clone();
    for via in 0..legs.size {
        let row = paths.rows(via..via + 1).to_vec();
        relax(&mut paths.elements, &row, via);
    }
    paths
}

/// Shortens paths by going via `via`, whose own paths are in `row`, for some rows of the matrix.
pub fn relax(rows: &mut [f64], row: &[f64], via: usize) {
    for ways in rows.chunks_exact_mut(row.len()) {
        let to_via = ways[via];
        for (way, from_via) in ways.iter_mut().zip(row) {
            *way = way.min(to_via + from_via);
        }
    }
}

/// Returns the shortest paths, the rows in blocks over the ranks.
pub fn among(ranks: usize, legs: &Matrix) -> std::result::Result<Run, WorldError> {
    // Without the agreement before each collective that debug builds have, which would be timed too.
    let world = World::new(ranks).check(false);
    let shares = world.run(|comm| {
        let own = span::block(legs.size, comm.size(), comm.rank());
        let mut rows = legs.rows(own.clone()).to_vec();
        let model = measure::model(comm, &rows, legs.size)?;
        let time = share(comm, &mut rows, own, legs.size)?;
        Ok((rows, time, model))
    })?;
    let (_, time, model) = shares[0];
    let elements = shares.into_iter().flat_map(|(rows, ..)| rows).collect();
    let paths = Matrix {
        size: legs.size,
        elements,
    };
    Ok(Run {
        ranks,
        paths,
        time,
        model,
    })
}

/// One rank's part: its rows, relaxed via every airport. The time is that of the slowest rank.
fn share(comm: &Comm, rows: &mut [f64], own: Range<usize>, size: usize) -> Result<Duration> {
    comm.barrier()?;
    let start = Instant::now();
    let mut row = vec![0.0; size];
    for via in 0..size {
        if own.contains(&via) {
            row.copy_from_slice(&rows[(via - own.start) * size..][..size]);
        }
        comm.broadcast(owner(via, size, comm.size()), &mut row)?;
        relax(rows, &row, via);
    }
    comm.barrier()?;
    Ok(start.elapsed())
}

/// Returns the owner of a row.
fn owner(row: usize, size: usize, ranks: usize) -> Rank {
    ((row + 1) * ranks - 1) / size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plainest search: repeats while one more leg shortens any path.
    fn by_legs(legs: &Matrix) -> Matrix {
        let mut paths = legs.clone();
        loop {
            let best = |from, to| {
                let ways = (0..legs.size).map(|via| paths.at(from, via) + legs.at(via, to));
                ways.fold(paths.at(from, to), f64::min)
            };
            let next = Matrix::new(legs.size, best);
            if next == paths {
                return paths;
            }
            paths = next;
        }
    }

    /// Whole numbers, so that sums are exact; about half of the legs are missing.
    fn network(size: usize) -> Matrix {
        let noise = |from: usize, to: usize| (from * 7919 + to * 104_729 + size) % 97;
        Matrix::new(size, |from, to| match noise(from, to) {
            _ if from == to => 0.0,
            leg if leg < 50 => f64::INFINITY,
            leg => leg as f64,
        })
    }

    #[test]
    fn the_serial_run_finds_what_a_search_leg_by_leg_finds() {
        for size in 1..=12 {
            let legs = network(size);
            assert_eq!(serial(&legs), by_legs(&legs), "{size} airports");
        }
    }

    #[test]
    fn any_number_of_ranks_finds_the_serial_paths() {
        for (size, ranks) in [(1, 1), (5, 1), (5, 2), (5, 5), (12, 5), (13, 4)] {
            let legs = network(size);
            let run = among(ranks, &legs).unwrap();
            assert_eq!(run.paths, serial(&legs), "{size} airports, {ranks} ranks");
        }
    }

    #[test]
    fn the_owner_of_a_row_has_it_in_its_block() {
        for size in 1..=40 {
            for ranks in 1..=size {
                for row in 0..size {
                    let owner = owner(row, size, ranks);
                    assert!(span::block(size, ranks, owner).contains(&row));
                }
            }
        }
    }
}
