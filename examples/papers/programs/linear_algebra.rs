//! Two programs that the survey names as users of broadcasts: a matrix times a vector, and Gaussian elimination. Every
//! broadcast is by the algorithm that the caller names.

use rankfold::collective::Algorithm;
use rankfold::{Comm, Result, World, WorldError};

/// The product of the matrix and the vector of order n. The rows are in blocks over the ranks, and rank 0 has the vector.
pub fn matrix_vector(
    ranks: usize,
    n: usize,
    algorithm: Algorithm,
) -> std::result::Result<Vec<f64>, WorldError> {
    let parts = World::new(ranks).run(|comm| {
        let mut x = match comm.rank() {
            0 => vector(n),
            _ => vec![0.0; n],
        };
        comm.using(algorithm).broadcast(0, &mut x)?;
        let (rank, size) = (comm.rank(), comm.size());
        let mine = n * rank / size..n * (rank + 1) / size;
        Ok(mine.map(|i| product(i, &x)).collect::<Vec<_>>())
    })?;
    Ok(parts.concat())
}

fn product(i: usize, x: &[f64]) -> f64 {
    let terms = x.iter().enumerate().map(|(j, x)| entry(i, j) * x);
    terms.sum()
}

/// The solution of the system of order n, by Gaussian elimination with the rows dealt out to the ranks in turn: the owner
/// of row k broadcasts it before all ranks eliminate with it, and broadcasts x_k on the way back. No row is exchanged:
/// the matrix is diagonally dominant.
pub fn gauss(
    ranks: usize,
    n: usize,
    algorithm: Algorithm,
) -> std::result::Result<Vec<f64>, WorldError> {
    let solutions = World::new(ranks).run(|comm| {
        let mut rows: Vec<(usize, Vec<f64>)> = (comm.rank()..n)
            .step_by(comm.size())
            .map(|i| (i, equation(i, n)))
            .collect();
        for k in 0..n {
            eliminate(comm, algorithm, &mut rows, k, n)?;
        }
        let mut x = vec![0.0; n];
        for k in (0..n).rev() {
            x[k] = substitute(comm, algorithm, &mut rows, k, n)?;
        }
        Ok(x)
    })?;
    Ok(solutions.into_iter().next().unwrap_or_default())
}

fn eliminate(
    comm: &Comm,
    algorithm: Algorithm,
    rows: &mut [(usize, Vec<f64>)],
    k: usize,
    n: usize,
) -> Result<()> {
    let mut pivot = match rows.iter().find(|(i, _)| *i == k) {
        Some((_, row)) => row[k..].to_vec(),
        None => vec![0.0; n + 1 - k],
    };
    comm.using(algorithm)
        .broadcast(k % comm.size(), &mut pivot)?;
    for (_, row) in rows.iter_mut().filter(|(i, _)| *i > k) {
        let factor = row[k] / pivot[0];
        let rest = row[k..].iter_mut().zip(&pivot);
        rest.for_each(|(held, pivot)| *held -= factor * pivot);
    }
    Ok(())
}

/// Returns x_k, and takes its terms to the right-hand sides of the rows above.
fn substitute(
    comm: &Comm,
    algorithm: Algorithm,
    rows: &mut [(usize, Vec<f64>)],
    k: usize,
    n: usize,
) -> Result<f64> {
    let own = rows.iter().find(|(i, _)| *i == k);
    let mut x = [own.map_or(0.0, |(_, row)| row[n] / row[k])];
    comm.using(algorithm).broadcast(k % comm.size(), &mut x)?;
    for (_, row) in rows.iter_mut().filter(|(i, _)| *i < k) {
        row[n] -= row[k] * x[0];
    }
    Ok(x[0])
}

/// The largest difference between the two sides of the system of order n.
pub fn residual(x: &[f64]) -> f64 {
    let n = x.len();
    let differences = (0..n).map(|i| {
        let row = equation(i, n);
        let left: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
        (left - row[n]).abs()
    });
    differences.fold(0.0, f64::max)
}

/// Row i of the system of order n, with its right-hand side.
fn equation(i: usize, n: usize) -> Vec<f64> {
    let mut row: Vec<f64> = (0..n).map(|j| entry(i, j)).collect();
    row[i] += n as f64;
    row.push(1.0 + i as f64);
    row
}

/// The entry of the matrix: between -1/2 and 1/2.
fn entry(i: usize, j: usize) -> f64 {
    ((37 * i + 101 * j + i * j) % 97) as f64 / 96.0 - 0.5
}

fn vector(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect()
}
