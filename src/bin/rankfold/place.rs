//! The placement option of every command that places ranks, and whether the ranks fit.

use clap::Args;
use rankfold::machine::{Bind, Machine, Placement};

use super::stop::Stop;

#[derive(Args)]
pub struct Place {
    /// Where ranks go: `auto`, `none`, `compact`, `scatter`, `numa`, `l3`, `core`, or CPUs as `0-3,8`.
    #[arg(long, value_name = "BIND", default_value = "auto")]
    pub bind: Bind,
}

impl Place {
    /// Places ranks on a machine, in a world that is alone in its process.
    pub fn on(&self, machine: &Machine, ranks: usize) -> Result<Placement, Stop> {
        let placed = machine.place(ranks, &self.bind, true);
        placed.map_err(|error| Stop::Input(format!("--bind: {error}")))
    }
}
