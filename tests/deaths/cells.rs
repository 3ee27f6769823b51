//! A rank dies in collectives over cells of ranks with a CPU each, where the reads of all cells are counted at once: at the
//! very operation at which it is to die.

use rankfold::machine::Machine;
use rankfold::{Comm, Result, World, op};

use crate::support::sweep::{assert_from, assert_sum, buffer, sweep_exactly};

/// Short enough for a cell.
const LENGTH: usize = 5;

/// Twice, so that the second call begins after operations that were counted at once.
fn twice(comm: &Comm, call: impl Fn(&Comm) -> Result<()>) -> Result<u64> {
    call(comm)?;
    call(comm)?;
    Ok(comm.rank() as u64)
}

/// Fails every rank of 3 to 8 at each of its operations, as if this machine had a CPU for each.
fn every(name: &str, call: impl Fn(&Comm) -> Result<()> + Sync) {
    for ranks in 3..=8 {
        let cores = Machine::from_text("core:16").unwrap();
        let world = World::new(ranks).check(false).machine(cores);
        let shown = format!("{name}, {ranks} ranks with a CPU each");
        sweep_exactly((name, &shown), 0.4, |comm| twice(comm, &call), &world);
    }
}

#[test]
fn in_all_reduces() {
    every("all_reduce", |comm| {
        let mut data = buffer(comm.rank(), LENGTH);
        comm.all_reduce(&mut data, op::Sum)?;
        assert_sum(0..comm.size(), &data);
        Ok(())
    });
}

#[test]
fn in_reduces() {
    every("reduce", |comm| {
        let root = comm.size() / 2;
        let mut data = buffer(comm.rank(), LENGTH);
        comm.reduce(root, &mut data, op::Sum)?;
        if comm.rank() == root {
            assert_sum(0..comm.size(), &data);
        }
        Ok(())
    });
}

#[test]
fn in_reduce_scatters() {
    every("reduce_scatter", |comm| {
        let data = buffer(0, comm.size());
        let mut mine = [0];
        comm.reduce_scatter(&data, &mut mine, op::Sum)?;
        assert_eq!(mine, [comm.size() as u64 * data[comm.rank()]]);
        Ok(())
    });
}

#[test]
fn in_all_gathers() {
    every("all_gather", |comm| {
        let mut all = buffer(77, LENGTH * comm.size());
        comm.all_gather(&buffer(comm.rank(), LENGTH), &mut all)?;
        let blocks = all.chunks(LENGTH).enumerate();
        blocks.for_each(|(rank, block)| assert_from(rank, block, LENGTH));
        Ok(())
    });
}

#[test]
fn in_barriers_and_scans() {
    every("barrier and scan", |comm| {
        comm.barrier()?;
        let mut data = buffer(comm.rank(), LENGTH);
        comm.scan(&mut data, op::Sum)?;
        assert_sum(0..comm.rank() + 1, &data);
        Ok(())
    });
}
