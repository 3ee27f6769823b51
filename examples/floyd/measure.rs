//! Measures the times of a message, an element and a relaxation, on the ranks that will use them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rankfold::cost::Model;
use rankfold::{Comm, EAGER_BYTES, Result};

use crate::paths::relax;

/// Number of round trips of a message.
const TRIPS: usize = 200;
/// Number of relaxations of the rows.
const PASSES: usize = 20;
const TAG: u32 = 1;

/// Measures all times with all ranks in place; the result is the same on every rank. A single rank sends no messages.
pub fn model(comm: &Comm, rows: &[f64], size: usize) -> Result<Model> {
    let gamma = relaxation(comm, rows, size)?;
    let (alpha, beta) = message(comm, size)?;
    let mut model = [alpha, beta, gamma];
    comm.broadcast(0, &mut model)?;
    let [alpha, beta, gamma] = model;
    Ok(Model { alpha, beta, gamma })
}

/// All ranks relax at the same time, so the times of ranks that share a CPU include waiting for it.
fn relaxation(comm: &Comm, rows: &[f64], size: usize) -> Result<f64> {
    let (mut rows, row) = (rows.to_vec(), rows[..size].to_vec());
    comm.barrier()?;
    let start = Instant::now();
    for via in 0..PASSES {
        relax(black_box(&mut rows), &row, via % size);
    }
    comm.barrier()?;
    let each = size * size.div_ceil(comm.size());
    Ok(start.elapsed().as_secs_f64() / (PASSES * each) as f64)
}

/// Returns the start-up time and the time per element: from the shortest message that uses the same protocol as a row,
/// and a row.
fn message(comm: &Comm, size: usize) -> Result<(f64, f64)> {
    let short = (EAGER_BYTES / size_of::<f64>() + 1).min(size - 1).max(1);
    let short_time = one_way(comm, short)?;
    let row_time = one_way(comm, size)?;
    let more = size.saturating_sub(short).max(1);
    let beta = ((row_time - short_time) / more as f64).max(0.0);
    Ok(((short_time - short as f64 * beta).max(0.0), beta))
}

/// Returns half the median round-trip time between the first rank and the last.
fn one_way(comm: &Comm, elements: usize) -> Result<f64> {
    let last = comm.size() - 1;
    let mut buffer = vec![0.0; elements];
    let mut trips = vec![Duration::ZERO; TRIPS];
    for trip in trips.iter_mut().filter(|_| last > 0) {
        let start = Instant::now();
        if comm.rank() == 0 {
            comm.send(last, TAG, &buffer)?;
            comm.recv_into(last, TAG, &mut buffer)?;
        } else if comm.rank() == last {
            comm.recv_into(0, TAG, &mut buffer)?;
            comm.send(0, TAG, &buffer)?;
        }
        *trip = start.elapsed();
    }
    comm.barrier()?;
    trips.sort_unstable();
    Ok(trips[TRIPS / 2].as_secs_f64() / 2.0)
}
