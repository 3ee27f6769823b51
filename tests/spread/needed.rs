//! What is missing on this machine: a test that needs it says so, past the harness, which shows nothing of a test that
//! passes, or fails where `.ci/mpi-processes` has made sure that it is there.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The variable that asks for everything that these tests need.
const NEEDED: &str = "RANKFOLD_NEED_LAUNCHERS";

static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Says once that something is missing.
///
/// # Panics
///
/// If it is needed.
pub fn misses(what: &'static str) {
    assert!(
        env::var_os(NEEDED).is_none(),
        "{what} is missing, and {NEEDED} is set"
    );
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(what) {
        let _ = writeln!(
            io::stderr(),
            "skipped what needs {what}: it is not installed"
        );
    }
}
