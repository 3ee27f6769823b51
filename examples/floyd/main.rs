//! All-pairs shortest paths between airports that legs of limited range connect: Floyd's algorithm with the rows of the
//! matrix in blocks over the ranks, with measured times beside the cost model's predictions.
//!
//! ```text
//! cargo run --release --example floyd -- --ranks 1,2,4 --range 800 --airports 400
//! ```
//!
//! Start reading at `paths`, which has the code of the ranks.
//!
//! - `options` the command line
//! - `airports` the airports, read and checked, and the legs between them
//! - `paths` Floyd's algorithm, serial and parallel
//! - `measure` the times of a message, an element and a relaxation on this machine
//! - `show` the tables
//!
//! Exit codes: 0 success, 1 a run failed or found other paths, 2 wrong arguments or data.

mod airports;
mod measure;
mod options;
mod paths;
mod show;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use rankfold::WorldError;

use airports::Airport;
use options::{HELP, Options, Wish};
use paths::Matrix;

fn main() -> ExitCode {
    match perform(std::env::args_os().skip(1), &mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe: it has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

/// Does what the arguments ask for.
fn perform(args: impl IntoIterator<Item = OsString>, out: &mut impl Write) -> Result<(), Failure> {
    match options::parse(args).map_err(Failure::Usage)? {
        Wish::Help => Ok(out.write_all(HELP.as_bytes())?),
        Wish::Run(options) => {
            let all = airports::read(&options.file).map_err(Failure::Usage)?;
            options.fit(all.len()).map_err(Failure::Usage)?;
            let chosen = airports::spread(&all, options.airports);
            find_paths(&options, &chosen, out)
        }
    }
}

fn find_paths(
    options: &Options,
    airports: &[Airport],
    out: &mut impl Write,
) -> Result<(), Failure> {
    let legs = airports::legs(airports, options.range);
    show::airports(out, options, &legs)?;
    let start = Instant::now();
    let serial = paths::serial(&legs);
    let alone = start.elapsed();
    show::longest(out, airports, &legs, &serial)?;
    show::head(out, alone)?;
    let mut runs = Vec::new();
    for &ranks in &options.ranks {
        let run = paths::among(ranks, &legs).map_err(Failure::World)?;
        is_the_same(ranks, &run.paths, &serial)?;
        show::run(out, &run, alone)?;
        runs.push(run);
    }
    show::conclusion(out, &runs)?;
    Ok(())
}

/// Checks the paths. The ranks do the same sums in the same order, so their paths must have the same bits.
fn is_the_same(ranks: usize, found: &Matrix, want: &Matrix) -> Result<(), Failure> {
    if found == want {
        Ok(())
    } else {
        Err(Failure::OtherPaths(ranks))
    }
}

/// Why there is no result.
#[derive(Debug)]
enum Failure {
    Usage(String),
    World(WorldError),
    OtherPaths(usize),
    Output(io::Error),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::World(_) | Failure::OtherPaths(_) | Failure::Output(_) => 1,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(what) => f.write_str(what),
            Failure::World(error) => error.fmt(f),
            Failure::OtherPaths(ranks) => {
                write!(f, "{ranks} ranks found other paths than the serial run")
            }
            Failure::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the output and the result.
    fn performed(args: &[&str]) -> (String, Result<(), Failure>) {
        let mut text = Vec::new();
        let end = perform(args.iter().map(OsString::from), &mut text);
        (String::from_utf8(text).unwrap(), end)
    }

    #[test]
    fn the_whole_program_runs_and_every_run_finds_the_serial_paths() {
        let (text, end) = performed(&["--ranks", "1,2,5", "--airports", "23", "--range=900"]);
        end.unwrap();
        for part in [
            "23 airports",
            "longest",
            "efficiency",
            "same paths",
            "MiB a rank",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
    }

    #[test]
    fn airports_out_of_reach_of_each_other_are_no_error() {
        let (text, end) = performed(&["--ranks", "2", "--airports", "2", "--range", "1"]);
        end.unwrap();
        assert!(
            text.contains("no airport is within reach of another"),
            "{text}"
        );
    }

    #[test]
    fn wrong_arguments_and_data_end_with_code_2_before_anything_is_written() {
        for args in [
            &["--ranks", "0"][..],
            &["--ranks", "8", "--airports", "7"],
            &["--airports", "1"],
            &["--airports", "3377"],
            &["--range", "far"],
            &["--what"],
            &["no/such/file.csv"],
            &[env!("CARGO_MANIFEST_DIR")],
        ] {
            let (text, end) = performed(args);
            let failure = end.unwrap_err();
            assert_eq!((text.as_str(), failure.code()), ("", 2), "{args:?}");
            assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
        }
    }

    #[test]
    fn other_paths_are_a_failure_that_names_the_ranks() {
        let (legs, other) = (Matrix::new(2, |_, _| 1.0), Matrix::new(2, |_, _| 2.0));
        assert!(is_the_same(3, &legs, &legs).is_ok());
        let failure = is_the_same(3, &legs, &other).unwrap_err();
        assert_eq!(failure.code(), 1);
        assert_eq!(
            failure.to_string(),
            "3 ranks found other paths than the serial run"
        );
    }

    #[test]
    fn help_is_the_text() {
        let (text, end) = performed(&["--help"]);
        end.unwrap();
        assert_eq!(text, HELP);
    }
}
