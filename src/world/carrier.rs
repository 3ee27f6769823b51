//! The transport of a world: its own, or the one that the environment names.

use std::sync::OnceLock;

use super::World;
use crate::environment;
use crate::names::Transport;

/// The environment variable with the transport of worlds that do not choose one.
const VARIABLE: &str = "RANKFOLD_TRANSPORT";

/// The transport of a world.
pub(super) fn of(world: &World) -> Result<Transport, String> {
    match world.transport {
        Some(own) => Ok(own),
        None => from_environment(),
    }
}

/// The transport that the environment named when it was first read.
fn from_environment() -> Result<Transport, String> {
    static READ: OnceLock<Result<Transport, String>> = OnceLock::new();
    READ.get_or_init(read).clone()
}

fn read() -> Result<Transport, String> {
    let Some(name) = environment::value(VARIABLE) else {
        return Ok(Transport::default());
    };
    let named = name.to_string_lossy().parse::<Transport>();
    named.map_err(|unknown| format!("{VARIABLE}: {unknown}; or unset {VARIABLE}"))
}
