//! A halo exchange with two mistakes: the reports of its tests, and the fix.
//!
//! ```sh
//! cargo run --example halo     # what a user sees
//! cargo test --example halo    # the tests of the fixed one
//! ```

mod buggy;
mod fixed;
mod grid;

use rankfold::testing::{Explore, Trial};
use rankfold::{Comm, Result};

type Exchange = fn(&Comm, &mut [f64]) -> Result<()>;

/// Takes one step of heat; returns the largest change.
fn step(cells: &mut [f64]) -> f64 {
    let old = cells.to_vec();
    let mut change = 0f64;
    for i in 1..cells.len() - 1 {
        cells[i] = (old[i - 1] + 2.0 * old[i] + old[i + 1]) / 4.0;
        change = change.max((cells[i] - old[i]).abs());
    }
    change
}

/// Returns three cells of a rod and a halo: cell i of the rod contains i.
fn piece(comm: &Comm) -> Vec<f64> {
    let first = 3.0 * comm.rank() as f64 - 1.0;
    (0..5).map(|i| first + f64::from(i)).collect()
}

/// The property: after an exchange, each rank sees the cells on either side of its own.
fn halo_is_right(comm: &Comm, exchange: Exchange) -> Result<()> {
    let whole = piece(comm);
    let mut cells = whole.clone();
    let (first, last) = (comm.rank() == 0, comm.rank() + 1 == comm.size());
    if !first {
        cells[0] = f64::NAN;
    }
    if !last {
        cells[4] = f64::NAN;
    }
    rankfold::testing::say!("before {cells:?}");
    exchange(comm, &mut cells)?;
    rankfold::testing::say!("after {cells:?}");
    assert_eq!(cells, whole, "the halo of rank {}", comm.rank());
    Ok(())
}

/// The property: all ranks stop after the same number of steps.
fn all_stop_together(
    comm: &Comm,
    until_at_rest: fn(&Comm, &mut [f64]) -> Result<usize>,
) -> Result<()> {
    let mut cells = piece(comm);
    if comm.rank() > 0 {
        cells.fill(0.0);
    }
    let steps = until_at_rest(comm, &mut cells)?;
    let all = comm.values().all_gather(steps)?;
    assert!(all.iter().all(|other| *other == steps), "{all:?}");
    Ok(())
}

fn main() {
    println!("Mistake 1: whoever comes first is taken for the left neighbour.\n");
    let found = Explore::new(3).find(|comm| halo_is_right(comm, buggy::exchange));
    println!("{}\n", found.expect_err("the order in which it is wrong"));

    println!("Mistake 2: each rank stops when its own cells are at rest.\n");
    let stops = |comm: &Comm| all_stop_together(comm, buggy::until_at_rest);
    let failure = Trial::new(3).seed(1).run(stops);
    println!(
        "{}\n",
        failure.expect_err("ranks that wait for one that has stopped")
    );

    println!("Fixed:");
    let explored = Explore::new(3).run(|comm| halo_is_right(comm, fixed::exchange));
    println!("  the halo is right: {explored}");
    let explored = Explore::new(3).run(|comm| halo_is_right(comm, grid::exchange));
    println!("  the halo on a grid is right: {explored}");
    let stops = |comm: &Comm| all_stop_together(comm, fixed::until_at_rest);
    println!("  all stop together: {:?}", Trial::new(3).run(stops));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankfold::testing::{explore, ranks};

    ranks! {
        /// One test for 1, 2, 3, 4, 7 and 8 ranks each.
        fn the_halo_is_right(comm) {
            halo_is_right(comm, fixed::exchange)?;
        }

        fn the_halo_on_a_grid_is_right(comm) {
            halo_is_right(comm, grid::exchange)?;
        }

        fn everybody_stops_at_the_same_step(comm) in [1, 2, 3, 5] {
            all_stop_together(comm, fixed::until_at_rest)?;
        }
    }

    #[test]
    fn no_order_of_messages_matters() {
        assert_eq!(
            explore(4, |comm| halo_is_right(comm, fixed::exchange)).orders,
            1
        );
    }
}
