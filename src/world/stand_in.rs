//! The machine that a world plans for instead of the real one: its own, or the one that the environment names.

use std::sync::{Arc, OnceLock};

use super::World;
use crate::environment;
use crate::machine::Machine;

/// The environment variable with the machine that stands in for the real one, as [text](Machine::from_text).
const VARIABLE: &str = "RANKFOLD_MACHINE";

type Read = Result<Option<Arc<Machine>>, String>;

/// That machine, if there is one and it can be read.
pub(super) fn of(world: &World) -> Option<&Arc<Machine>> {
    let own = world.machine.as_ref();
    own.or_else(|| read().as_ref().ok()?.as_ref())
}

/// Whether it can be read.
pub(super) fn check(world: &World) -> Result<(), String> {
    match (&world.machine, read()) {
        (None, Err(error)) => Err(error.clone()),
        _ => Ok(()),
    }
}

/// What the environment named when it was first read.
fn read() -> &'static Read {
    static READ: OnceLock<Read> = OnceLock::new();
    READ.get_or_init(|| {
        let Some(text) = environment::value(VARIABLE) else {
            return Ok(None);
        };
        let machine = Machine::from_text(&text.to_string_lossy());
        let machine = machine.map_err(|error| format!("{VARIABLE}: {error}; or unset {VARIABLE}"));
        machine.map(|machine| Some(Arc::new(machine)))
    })
}
