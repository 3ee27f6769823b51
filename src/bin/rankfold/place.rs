//! The placement option of every command that places ranks, whether the ranks fit, and the machine they are placed on.

use std::env;
use std::ffi::OsString;

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

/// The variable that names a machine for any program to plan for.
pub const MACHINE: &str = "RANKFOLD_MACHINE";

fn named() -> Option<OsString> {
    env::var_os(MACHINE).filter(|text| !text.is_empty())
}

/// Whether worlds plan for a machine that stands in for this one.
pub fn is_stand_in() -> bool {
    named().is_some()
}

/// Refuses to measure where worlds would plan for another machine.
pub fn measures_here() -> Result<(), Stop> {
    match is_stand_in() {
        true => Err(Stop::input(format!(
            "{MACHINE} has worlds plan for another machine, and what is measured is of this one; unset {MACHINE}"
        ))),
        false => Ok(()),
    }
}

/// Returns the machine that worlds plan for: the one that the environment names, or else this one.
pub fn planned() -> Result<Machine, Stop> {
    let Some(text) = named() else {
        return Ok(Machine::here());
    };
    let named = Machine::from_text(&text.to_string_lossy());
    named.map_err(|error| Stop::Input(format!("{MACHINE}: {error}; or unset {MACHINE}")))
}
