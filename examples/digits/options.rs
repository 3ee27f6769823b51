//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

/// The text of `--help`.
pub const HELP: &str = "\
Trains a classifier of handwritten digits, the rows of the data dealt out over ranks.

Usage: cargo run --release --example digits -- [OPTIONS] [FILE]

  FILE           digits as comma-separated lines: 64 grey values from 0 to 16, then the
                 label from 0 to 9 [default: examples/data/digits.csv]
  --ranks LIST   numbers of ranks to train with, one after another [default: 1,2,4]
  --steps N      steps of gradient descent [default: 500]
  -h, --help     this text

Colours and a progress bar appear on a terminal only; NO_COLOR=1 turns the colours off.
";

/// Upper limit of the steps, beyond any useful number.
const MOST_STEPS: usize = 1_000_000;

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Wish {
    Help,
    Train(Options),
}

/// How to train.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// Not empty; each at least 1.
    pub ranks: Vec<usize>,
    /// At least 1.
    pub steps: usize,
    pub file: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ranks: vec![1, 2, 4],
            steps: 500,
            file: [env!("CARGO_MANIFEST_DIR"), "examples/data/digits.csv"]
                .iter()
                .collect(),
        }
    }
}

/// Parses the arguments after the program's name. The error is a sentence.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Wish, String> {
    let mut args = args.into_iter();
    let mut options = Options::default();
    let mut file = None;
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy().into_owned();
        let (name, glued) = match text.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value.to_owned())),
            _ => (text.as_str(), None),
        };
        let mut value = || value_of(name, glued.clone(), &mut args);
        match name {
            "-h" | "--help" => return Ok(Wish::Help),
            "--ranks" => options.ranks = ranks(&value()?)?,
            "--steps" => options.steps = steps(&value()?)?,
            _ if name.starts_with('-') => {
                return Err(format!("there is no option {name}; see --help"));
            }
            _ if file.is_some() => return Err(format!("one file at a time, not also {text:?}")),
            _ => file = Some(PathBuf::from(arg)),
        }
    }
    options.file = file.unwrap_or(options.file);
    Ok(Wish::Train(options))
}

/// Returns the value of an option: after its equals sign, or the next argument.
fn value_of(
    name: &str,
    glued: Option<String>,
    args: &mut impl Iterator<Item = OsString>,
) -> Result<String, String> {
    glued
        .or_else(|| Some(args.next()?.to_string_lossy().into_owned()))
        .ok_or_else(|| format!("{name} needs a value; see --help"))
}

fn ranks(list: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("--ranks takes numbers from 1 on, as 1,2,4, not {list:?}");
    let one = |part: &str| part.trim().parse().ok().filter(|&p| p >= 1);
    list.split(',')
        .map(|part| one(part).ok_or_else(wrong))
        .collect()
}

fn steps(text: &str) -> Result<usize, String> {
    let steps = text.parse().ok();
    steps
        .filter(|steps| (1..=MOST_STEPS).contains(steps))
        .ok_or_else(|| format!("--steps takes a number from 1 to {MOST_STEPS}, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Wish, String> {
        parse(args.iter().map(OsString::from))
    }

    #[track_caller]
    fn trains(args: &[&str]) -> Options {
        match parsed(args) {
            Ok(Wish::Train(options)) => options,
            other => panic!("{args:?} gave {other:?}"),
        }
    }

    #[test]
    fn without_arguments_the_defaults_hold_and_the_file_is_there() {
        let options = trains(&[]);
        assert_eq!((options.ranks, options.steps), (vec![1, 2, 4], 500));
        assert!(options.file.is_file(), "{:?}", options.file);
    }

    #[test]
    fn values_come_glued_or_apart_and_a_path_replaces_the_file() {
        let want = Options {
            ranks: vec![3, 1],
            steps: 7,
            file: "a=b.csv".into(),
        };
        assert_eq!(
            trains(&["--ranks", "3, 1", "--steps=7", "a=b.csv"]),
            want,
            "a path may hold an equals sign"
        );
    }

    #[test]
    fn help_wins() {
        assert_eq!(parsed(&["--steps", "3", "-h"]), Ok(Wish::Help));
        assert_eq!(parsed(&["--help"]), Ok(Wish::Help));
    }

    #[test]
    fn each_bad_argument_is_one_sentence() {
        let bad = [
            (
                &["--ranks", "1,0"][..],
                r#"--ranks takes numbers from 1 on, as 1,2,4, not "1,0""#,
            ),
            (
                &["--ranks="],
                r#"--ranks takes numbers from 1 on, as 1,2,4, not """#,
            ),
            (
                &["--ranks", "two"],
                r#"--ranks takes numbers from 1 on, as 1,2,4, not "two""#,
            ),
            (&["--ranks"], "--ranks needs a value; see --help"),
            (
                &["--steps", "0"],
                r#"--steps takes a number from 1 to 1000000, not "0""#,
            ),
            (
                &["--steps", "-5"],
                r#"--steps takes a number from 1 to 1000000, not "-5""#,
            ),
            (
                &["--steps=99999999999999999999"],
                r#"--steps takes a number from 1 to 1000000, not "99999999999999999999""#,
            ),
            (&["--fast"], "there is no option --fast; see --help"),
            (
                &["a.csv", "b.csv"],
                r#"one file at a time, not also "b.csv""#,
            ),
        ];
        for (args, message) in bad {
            assert_eq!(parsed(args).unwrap_err(), message, "{args:?}");
        }
    }
}
