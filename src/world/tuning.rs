//! The tuning table of a world: its own, or the one that the environment names. A table of another machine is refused.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::{World, stand_in};
use crate::collective::{Fingerprint, TuningTable};
use crate::environment;
use crate::machine::{Bind, Cpus, Machine};
use crate::unwind;

/// The environment variable with the path of a table for worlds that have none of their own.
const VARIABLE: &str = "RANKFOLD_TUNING";

/// The table that a world follows.
pub(super) fn of(world: &World) -> Result<Option<Arc<TuningTable>>, String> {
    if let Some(own) = &world.tuning {
        return checked(own, world).map(Some);
    }
    let elsewhere = unwind::is_rank() || world.on_seats || stand_in::of(world).is_some();
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
    match stand_in::of(world) {
        Some(machine) => check(of, machine, &world.bind),
        None => check_here(of, Cpus::here_recently(), &world.bind),
    }?;
    Ok(table.clone())
}

fn check(of: &Fingerprint, machine: &Machine, bind: &Bind) -> Result<(), String> {
    let here = Fingerprint::of(machine, bind);
    of.check_against(&here)
        .map_err(|foreign| foreign.to_string())
}

/// The same for these CPUs of this machine. What was found to fit last is remembered, for short-lived worlds.
fn check_here(of: &Fingerprint, cpus: Cpus, bind: &Bind) -> Result<(), String> {
    static FITS: Mutex<Option<(Fingerprint, Cpus, Bind)>> = Mutex::new(None);
    let asked = (of.clone(), cpus, bind.clone());
    // Without a mask the system is asked each time how many CPUs there are.
    let is_known = !asked.1.mask.is_empty() && FITS.lock().as_ref() == Some(&asked);
    if !is_known {
        check(of, &Machine::remembered(asked.1.clone()), bind)?;
        *FITS.lock() = Some(asked);
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_fits_is_refused_as_soon_as_anything_differs() {
        let cpus = || Cpus {
            mask: vec![0, 1],
            quota: None,
        };
        let of = Fingerprint::of(&Machine::remembered(cpus()), &Bind::Auto);
        let other = Fingerprint {
            model: "another one".into(),
            ..of.clone()
        };
        let narrow = Cpus {
            mask: vec![0],
            ..cpus()
        };
        for _ in 0..2 {
            assert_eq!(check_here(&of, cpus(), &Bind::Auto), Ok(()));
            assert_eq!(check_here(&of, cpus(), &Bind::Auto), Ok(()));
            assert!(check_here(&other, cpus(), &Bind::Auto).is_err());
            assert!(check_here(&of, narrow.clone(), &Bind::Auto).is_err());
            assert!(check_here(&of, cpus(), &Bind::Scatter).is_err());
        }
    }
}
