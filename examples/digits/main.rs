//! Trains a classifier of handwritten digits with 1, 2 and 4 ranks, the data divided over the ranks, and checks that
//! all runs learn the same:
//!
//! ```text
//! cargo run --release --example digits
//! ```
//!
//! Start reading at `train`, which has the code of the ranks.
//!
//! - `options` the command line
//! - `data` the digits, read and checked
//! - `softmax` the classifier: loss, gradient, prediction
//! - `train` the ranks: one `all_reduce` per step
//! - `agree` whether all runs learned the same
//! - `show`, `pictures`, `screen` the text on the terminal
//!
//! Exit codes: 0 success, 1 a run failed or the runs disagree, 2 wrong arguments or data.

mod agree;
mod data;
mod options;
mod pictures;
mod screen;
mod show;
mod softmax;
mod train;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use rankfold::WorldError;
use rankfold::machine::Cpus;

use data::{Digits, Malformed};
use options::{HELP, Options, Wish};
use screen::Screen;
use train::Run;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    match perform(args, &mut Screen::here()) {
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
fn perform(
    args: impl IntoIterator<Item = OsString>,
    screen: &mut Screen<impl Write>,
) -> Result<(), Failure> {
    match options::parse(args).map_err(Failure::Usage)? {
        Wish::Help => Ok(screen.line(HELP.trim_end())?),
        Wish::Train(options) => {
            let digits = data::read(&options.file).map_err(Failure::Data)?;
            enough_for_all(&options, &digits)?;
            train_with_all(&options, &digits, screen)
        }
    }
}

/// Checks that every rank has a digit: an idle rank would distort every figure.
fn enough_for_all(options: &Options, digits: &Digits) -> Result<(), Failure> {
    let there = digits.train.len();
    match options.ranks.iter().find(|&&ranks| ranks > there) {
        None => Ok(()),
        Some(ranks) => Err(Failure::Usage(format!(
            "--ranks {ranks} is too many: there are {there} digits to learn from, and each rank needs one"
        ))),
    }
}

fn train_with_all(
    options: &Options,
    digits: &Digits,
    screen: &mut Screen<impl Write>,
) -> Result<(), Failure> {
    introduce(options, digits, screen)?;
    let mut runs = Vec::new();
    for &ranks in &options.ranks {
        screen.line("")?;
        screen.heading(&counted(ranks, "rank"))?;
        let run = train_with(ranks, options, digits, screen)?;
        show::run(screen, &run, accuracy(&run, digits))?;
        runs.push(run);
    }
    conclude(&runs, digits, screen)
}

/// Trains once, with a progress bar meanwhile.
fn train_with(
    ranks: usize,
    options: &Options,
    digits: &Digits,
    screen: &Screen<impl Write>,
) -> Result<Run, Failure> {
    let bar = screen.bar(options.steps);
    // Called between two steps, and usually only counts. The bar is seldom redrawn, because the other ranks wait for
    // rank 0 meanwhile.
    let watch = |step: usize, loss: f64| {
        if step.is_multiple_of(50) {
            bar.set_message(format!("{loss:.4}"));
        }
        bar.set_position(step as u64);
    };
    let run = train::train(ranks, &digits.train, options.steps, &watch);
    bar.finish_and_clear();
    run.map_err(Failure::World)
}

fn introduce(
    options: &Options,
    digits: &Digits,
    screen: &mut Screen<impl Write>,
) -> io::Result<()> {
    let held_out = digits.held_out.len();
    let file = options.file.strip_prefix(env!("CARGO_MANIFEST_DIR"));
    screen.line(&format!(
        "{} handwritten digits from {}, {held_out} of them held out",
        digits.train.len() + held_out,
        file.unwrap_or(&options.file).display()
    ))?;
    screen.line(&format!(
        "softmax regression of {} weights, {} of gradient descent",
        softmax::SUMS - 1,
        counted(options.steps, "step")
    ))?;
    screen.line(&format!("on {}", Cpus::here()))
}

/// Writes the pictures, the table and the verdict.
fn conclude(runs: &[Run], digits: &Digits, screen: &mut Screen<impl Write>) -> Result<(), Failure> {
    let rows: Vec<_> = runs
        .iter()
        .map(|run| (run, accuracy(run, digits)))
        .collect();
    if let Some(last) = runs.last() {
        screen.line("")?;
        screen.heading("Some held-out digits, and what they are read as")?;
        pictures::show(screen, &last.weights, &digits.held_out)?;
    }
    screen.line("")?;
    show::table(screen, &rows)?;
    let Some(apart) = agree::furthest_apart(runs) else {
        return Ok(());
    };
    if !apart.is_rounding() {
        return Err(Failure::Apart(apart));
    }
    screen.line("")?;
    screen.good(&format!(
        "{} ranks learn the same: at every step their losses agree within {:.0e}.",
        show::list(runs.iter().map(|run| run.ranks)),
        agree::TOLERANCE,
    ))?;
    screen.aside(&format!("The greatest difference is {:.1e}.", apart.by))?;
    Ok(())
}

fn accuracy(run: &Run, digits: &Digits) -> f64 {
    softmax::accuracy(&run.weights, &digits.held_out)
}

fn counted(n: usize, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// Why there is no result.
#[derive(Debug)]
enum Failure {
    Usage(String),
    Data(Malformed),
    World(WorldError),
    Apart(agree::Apart),
    Output(io::Error),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Data(_) => 2,
            Failure::World(_) | Failure::Apart(_) | Failure::Output(_) => 1,
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
            Failure::Data(malformed) => malformed.fmt(f),
            Failure::World(error) => error.fmt(f),
            Failure::Apart(apart) => apart.fmt(f),
            Failure::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the output and the result.
    fn performed(args: &[&str]) -> (String, Result<(), Failure>) {
        let mut screen = Screen::kept(false);
        let end = perform(args.iter().map(OsString::from), &mut screen);
        (screen.text().to_owned(), end)
    }

    #[test]
    fn the_whole_program_runs_and_its_runs_agree() {
        let (text, end) = performed(&["--ranks", "1,3", "--steps", "4"]);
        end.unwrap();
        for part in [
            "\n1 rank\n",
            "\n3 ranks\n",
            "speed-up",
            "1 and 3 ranks learn the same",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn wrong_arguments_and_data_end_with_code_2_before_anything_is_written() {
        for args in [
            &["--ranks", "0"][..],
            &["--ranks", "5000"],
            &["--steps", "many"],
            &["--what"],
            &["no/such/file.csv"],
            &[env!("CARGO_MANIFEST_DIR")],
        ] {
            let (text, end) = performed(args);
            let failure = end.unwrap_err();
            assert_eq!(
                (text.as_str(), failure.code()),
                ("", 2),
                "{args:?}: {failure}"
            );
            assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
        }
    }

    #[test]
    fn help_is_the_text() {
        let (text, end) = performed(&["--help"]);
        end.unwrap();
        assert_eq!(text, HELP);
    }
}
