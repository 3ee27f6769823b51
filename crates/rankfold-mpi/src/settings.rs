//! The settings of a program in the environment, where the subcommand of cargo puts them.

use std::env;
use std::ffi::OsString;
use std::process::{ExitCode, Termination};
use std::time::Duration;

use crate::failed::Failed;
use crate::launch::Program;

/// A number of seconds above 0, as `RANKFOLD_TIMEOUT` and `--timeout` have it; longer times than a human life are that.
#[doc(hidden)]
pub fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    (seconds > 0.0).then(|| Duration::from_secs_f64(seconds.min(1e9)))
}

/// The value of a variable, if it is set; anything else than what is wanted is an error.
fn value<V>(
    (name, text): (&str, Option<OsString>),
    read: impl Fn(&str) -> Option<V>,
    (wanted, example): (&str, &str),
) -> Result<Option<V>, Failed> {
    let Some(text) = text else { return Ok(None) };
    let text = text.to_string_lossy();
    match read(&text) {
        Some(value) => Ok(Some(value)),
        None => Err(Failed::new(format!(
            "{name}={text} is not {wanted}; give one such as {example}, or unset {name}"
        ))),
    }
}

fn ranks(text: Option<OsString>) -> Result<Option<usize>, Failed> {
    let read = |text: &str| text.parse().ok().filter(|ranks| *ranks > 0);
    value(
        ("RANKFOLD_RANKS", text),
        read,
        ("a whole number of at least 1", "4"),
    )
}

fn timeout(text: Option<OsString>) -> Result<Option<Duration>, Failed> {
    value(
        ("RANKFOLD_TIMEOUT", text),
        seconds,
        ("a number of seconds above 0", "2.5"),
    )
}

fn is_set(name: &str) -> bool {
    env::var(name).is_ok_and(|text| text != "0" && !text.is_empty())
}

/// The program that the environment asks for.
fn program() -> Result<Program, Failed> {
    let mut program = Program::new(ranks(env::var_os("RANKFOLD_RANKS"))?.unwrap_or(1));
    if is_set("RANKFOLD_CHECK") {
        program = program.check();
    }
    if is_set("RANKFOLD_ZERO_BUFFERING") {
        program = program.zero_buffering();
    }
    if let Some(patience) = timeout(env::var_os("RANKFOLD_TIMEOUT"))? {
        program = program.timeout(patience);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Option<OsString> {
        Some(text.into())
    }

    #[test]
    fn ranks_and_seconds_are_read_and_nothing_else_is() {
        assert_eq!(ranks(None).unwrap(), None);
        assert_eq!(ranks(given("4")).unwrap(), Some(4));
        assert_eq!(timeout(None).unwrap(), None);
        for (text, ms) in [("2.5", 2500), ("10", 10_000), ("1e300", 1_000_000_000_000)] {
            let read = timeout(given(text)).unwrap();
            assert_eq!(read, Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["four", "", "0", "-1", "2.5"] {
            assert_eq!(
                ranks(given(text)).unwrap_err().to_string(),
                format!(
                    "RANKFOLD_RANKS={text} is not a whole number of at least 1; give one such as 4, or unset RANKFOLD_RANKS"
                )
            );
        }
        for text in ["soon", "", "0", "-1", "nan", "2s"] {
            assert_eq!(
                timeout(given(text)).unwrap_err().to_string(),
                format!(
                    "RANKFOLD_TIMEOUT={text} is not a number of seconds above 0; give one such as 2.5, or unset RANKFOLD_TIMEOUT"
                )
            );
        }
    }
}
