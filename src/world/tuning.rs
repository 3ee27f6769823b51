//! The tuning table of a world: its own, or the one that the environment names. A table of another machine is refused.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::World;
use crate::collective::{Fingerprint, TuningTable};
use crate::environment;
use crate::machine::{Cpus, Machine};
use crate::unwind;

/// The environment variable with the path of a table for worlds that have none of their own.
const VARIABLE: &str = "RANKFOLD_TUNING";

/// The table that a world follows.
pub(super) fn of(world: &World) -> Result<Option<Arc<TuningTable>>, String> {
    if let Some(own) = &world.tuning {
        return checked(own, world).map(Some);
    }
    let elsewhere = unwind::is_rank() || world.on_seats || world.machine.is_some();
    match from_environment() {
        _ if elsewhere => Ok(None),
        None => Ok(None),
        Some(Ok(table)) => checked(table, world).map(Some).map_err(by_variable),
        Some(Err(error)) => Err(by_variable(error.clone())),
    }
}

fn by_variable(error: String) -> String {
    format!("{VARIABLE}: {error}; or unset {VARIABLE}")
}

/// Checks that a table is of the machine on which the world runs, or of no particular machine.
fn checked(table: &Arc<TuningTable>, world: &World) -> Result<Arc<TuningTable>, String> {
    let Some(of) = table.fingerprint() else {
        return Ok(table.clone());
    };
    let here = match &world.machine {
        Some(machine) => Fingerprint::of(machine, &world.bind),
        None => Fingerprint::of(&Machine::remembered(Cpus::here()), &world.bind),
    };
    match of.check_against(&here) {
        Ok(()) => Ok(table.clone()),
        Err(foreign) => Err(foreign.to_string()),
    }
}

/// The table that the environment named when it was first read.
fn from_environment() -> Option<&'static Result<Arc<TuningTable>, String>> {
    static READ: OnceLock<Option<Result<Arc<TuningTable>, String>>> = OnceLock::new();
    let read = || environment::value(VARIABLE).map(|path| read(Path::new(&path)).map(Arc::new));
    READ.get_or_init(read).as_ref()
}

fn read(path: &Path) -> Result<TuningTable, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {name}: {error}"))?;
    TuningTable::read(&text).map_err(|error| format!("{name}: {error}"))
}
