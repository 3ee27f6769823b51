//! The settings of a program in the environment, where the subcommand of cargo puts them.

use std::env;
use std::process::{ExitCode, Termination};
use std::time::Duration;

use crate::failed::Failed;
use crate::launch::Program;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

fn is_set(name: &str) -> bool {
    env::var(name).is_ok_and(|text| text != "0" && !text.is_empty())
}

/// The program that the environment asks for.
fn program() -> Result<Program, Failed> {
    let mut program = Program::new(number("RANKFOLD_RANKS").unwrap_or(1) as usize);
    if is_set("RANKFOLD_CHECK") {
        program = program.check();
    }
    if is_set("RANKFOLD_ZERO_BUFFERING") {
        program = program.zero_buffering();
    }
    if let Some(seconds) = number("RANKFOLD_TIMEOUT") {
        program = program.timeout(Duration::from_secs(seconds));
    }
    if let Ok(file) = env::var("RANKFOLD_TRACE") {
        program = program.trace(file);
    }
    match env::var("RANKFOLD_SEED") {
        Ok(order) => order
            .parse()
            .map(|order| program.order(order))
            .map_err(Failed::new),
        Err(_) => Ok(program),
    }
}

fn run<T: Termination + 'static>(main: fn() -> T) -> Result<(), Failed> {
    let program = program()?;
    match is_set("RANKFOLD_EXPLORE") && env::var("RANKFOLD_SEED").is_err() {
        true => program
            .explore(main)
            .map(|explored| eprintln!("{explored}")),
        false => program.run(main),
    }
}

/// Calls `main` on as many ranks as the environment variable `RANKFOLD_RANKS` says, or on one; prints what went wrong, and returns
/// [its code](Failed::code).
pub fn launch<T: Termination + 'static>(main: fn() -> T) -> ExitCode {
    match run(main) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{failed}");
            ExitCode::from(failed.code())
        }
    }
}

/// [`launch`] for a test.
///
/// # Panics
///
/// Panics if the run fails.
pub fn test<T: Termination + 'static>(main: fn() -> T) {
    if let Err(failed) = run(main) {
        panic!("{failed}");
    }
}
