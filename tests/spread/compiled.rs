//! MPI libraries that are compiled from the C files of this folder and stand before the launcher's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Mutex, PoisonError};

use super::Launcher;

/// Those that are compiled, by their source and the launcher's library: a test may load one while another test looks
/// for it.
static COMPILED: Mutex<BTreeMap<(&str, &str), Option<PathBuf>>> = Mutex::new(BTreeMap::new());

/// The library of a source for a launcher; `None` where there is no C compiler.
pub fn library(source: &'static str, launcher: &Launcher) -> Option<PathBuf> {
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let library = compiled.entry((source, launcher.library));
    library.or_insert_with(|| compile(source, launcher)).clone()
}

fn compile(source: &str, launcher: &Launcher) -> Option<PathBuf> {
    let made = format!("{source}-{}-{}.so", launcher.library, process::id());
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(made);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spread");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-Wall", "-o"])
        .arg(&made)
        .arg(sources.join(source).with_extension("c"))
        .arg(format!("-l:{}", launcher.library));
    match compiler.status() {
        Ok(status) => {
            assert!(status.success(), "{source}.c is not compiled");
            Some(made)
        }
        Err(_) => {
            super::needed::misses("a C compiler");
            None
        }
    }
}
