//! The transports that a command is about.

use std::env;

use rankfold::Transport;

use super::stop::Stop;

/// The variable that names the transport of any program.
const VARIABLE: &str = "RANKFOLD_TRANSPORT";

/// Returns the given transports, each once; without any the one that the environment names, or else the default.
pub fn transports(given: &[Transport]) -> Result<Vec<Transport>, Stop> {
    if given.is_empty() {
        return default().map(|one| vec![one]);
    }
    let mut each: Vec<Transport> = Vec::new();
    for transport in given {
        if !each.contains(transport) {
            each.push(*transport);
        }
    }
    Ok(each)
}

/// Returns the transport of a world that does not choose one.
pub fn default() -> Result<Transport, Stop> {
    let set = env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let Some(name) = set else {
        return Ok(Transport::default());
    };
    let named = name.to_string_lossy().parse::<Transport>();
    named.map_err(|unknown| Stop::Input(format!("{VARIABLE}: {unknown}; or unset {VARIABLE}")))
}
