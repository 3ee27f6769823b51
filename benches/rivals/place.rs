//! Where the ranks of every subject run: each on its own CPU, or where the system puts them.

use rankfold::machine::{Cpus, pin};

/// The number of ranks, and their CPUs; not pinned if there are none.
#[derive(Clone, Debug)]
pub struct Place {
    pub ranks: usize,
    pub cpus: Vec<usize>,
    all: Cpus,
}

impl Place {
    /// Rank `i` on the `i`-th of the CPUs, or all ranks where the system puts them. Must be called on a thread that is
    /// not pinned.
    pub fn new(ranks: usize, cpus: Vec<usize>) -> Place {
        let all = Cpus::here();
        Place { ranks, cpus, all }
    }

    /// Moves the calling thread to the CPU of `rank`.
    pub fn pin(&self, rank: usize) {
        if let Some(cpu) = self.cpus.get(rank) {
            pin(*cpu, &self.all).expect("a CPU of the mask");
        }
    }

    /// Returns whether ranks wait for each other's CPU.
    pub fn crowded(&self) -> bool {
        self.cpus.is_empty()
    }
}
