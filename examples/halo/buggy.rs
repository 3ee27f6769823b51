//! Heat in a rod, divided into pieces, one per rank. Before each step a rank receives the cells next to its own, the
//! halo. This version has two mistakes.

use rankfold::{Comm, Rank, Result, Source};

/// Returns the left and the right neighbour of a rank.
fn neighbours(comm: &Comm) -> [Option<Rank>; 2] {
    let (me, n) = (comm.rank(), comm.size());
    [me.checked_sub(1), (me + 1 < n).then_some(me + 1)]
}

/// Fills the first and last cell with the neighbours' values.
pub fn exchange(comm: &Comm, cells: &mut [f64]) -> Result<()> {
    let [left, right] = neighbours(comm);
    let last = cells.len() - 1;
    if let Some(left) = left {
        comm.send(left, 0, &cells[1..=1])?;
    }
    if let Some(right) = right {
        comm.send(right, 0, &cells[last - 1..last])?;
    }
    // Mistake 1: the first message to arrive is taken for the left neighbour's.
    if left.is_some() {
        cells[0] = comm.recv::<f64>(Source::Any, 0)?.0[0];
    }
    if right.is_some() {
        cells[last] = comm.recv::<f64>(Source::Any, 0)?.0[0];
    }
    Ok(())
}

/// Steps the whole rod. Mistake 2 is here: it goes on until this rank's own cells are at rest.
pub fn until_at_rest(comm: &Comm, cells: &mut [f64]) -> Result<usize> {
    for step in 0.. {
        super::fixed::exchange(comm, cells)?;
        if super::step(cells) < 1e-3 {
            return Ok(step);
        }
    }
    unreachable!("steps never end")
}
