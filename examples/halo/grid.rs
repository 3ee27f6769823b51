//! The same by one call: the ranks are a line, and each exchanges an end of its piece with the neighbour there.

use rankfold::{Cartesian, Comm, Result};

/// Fills the first and last cell with the neighbours' values. Beyond the ends of the rod they stay as they are.
pub fn exchange(comm: &Comm, cells: &mut [f64]) -> Result<()> {
    let last = cells.len() - 1;
    // A program with many steps makes the line once.
    let line = Cartesian::new(comm, &[comm.size()], &[false])?;
    let mut halo = [cells[0], cells[last]];
    line.neighbor_all_to_all(&[cells[1], cells[last - 1]], &mut halo)?;
    [cells[0], cells[last]] = halo;
    Ok(())
}
