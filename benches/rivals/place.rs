//! Where the ranks of every subject run: each on a CPU of its own, or where the system puts them.

use rankfold::machine::{Cpus, pin};

/// How many ranks, and their CPUs; none: not pinned.
#[derive(Clone, Debug)]
pub struct Place {
    pub ranks: usize,
    pub cpus: Vec<usize>,
    all: Cpus,
}

impl Place {
    /// Rank `i` on the `i`-th of the CPUs, or all where the system puts them. To be asked for on a thread
    /// that is not pinned.
    pub fn new(ranks: usize, cpus: Vec<usize>) -> Place {
        let all = Cpus::here();
        Place { ranks, cpus, all }
    }

    /// Moves the calling thread to where `rank` runs.
    pub fn pin(&self, rank: usize) {
        if let Some(cpu) = self.cpus.get(rank) {
            pin(*cpu, &self.all).expect("a CPU of the mask");
        }
    }

    /// Whether ranks wait for each other's CPU.
    pub fn crowded(&self) -> bool {
        self.cpus.is_empty()
    }
}
