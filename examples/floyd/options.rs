//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

/// The text of `--help`.
pub const HELP: &str = "\
Finds the shortest paths between all pairs of airports, over legs of limited range.

Usage: cargo run --release --example floyd -- [OPTIONS] [FILE]

  FILE           airports as comma-separated lines below a head: the code first, latitude
                 and longitude in degrees last [default: examples/data/airports.csv]
  --ranks LIST   numbers of ranks to run with, one after another [default: 1,2,4]
  --range KM     the longest leg, in kilometres [default: 800]
  --airports N   how many airports, taken evenly from the file [default: 400]
  -h, --help     this text
";

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Wish {
    Help,
    Run(Options),
}

/// What to run.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// Not empty; each at least 1.
    pub ranks: Vec<usize>,
    /// In kilometres, more than 0.
    pub range: f64,
    /// At least 2.
    pub airports: usize,
    pub file: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ranks: vec![1, 2, 4],
            range: 800.0,
            airports: 400,
            file: [env!("CARGO_MANIFEST_DIR"), "examples/data/airports.csv"]
                .iter()
                .collect(),
        }
    }
}

impl Options {
    /// Checks that there are as many airports, and a row of the matrix for each rank.
    pub fn fit(&self, there: usize) -> Result<(), String> {
        let airports = self.airports;
        if airports > there {
            return Err(format!(
                "--airports {airports} is too many: the file has {there}"
            ));
        }
        match self.ranks.iter().find(|&&ranks| ranks > airports) {
            None => Ok(()),
            Some(ranks) => Err(format!(
                "--ranks {ranks} is too many: there are {airports} airports, and each rank needs one"
            )),
        }
    }
}

/// Parses the arguments after the program's name. The error is a sentence.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Wish, String> {
    let mut args = args.into_iter();
    let mut options = Options::default();
    let mut files = 0;
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy().into_owned();
        if !text.starts_with('-') {
            (options.file, files) = (PathBuf::from(arg), files + 1);
            if files > 1 {
                return Err(format!("one file at a time, not also {text:?}"));
            }
            continue;
        }
        let (name, value) = text.split_once('=').unzip();
        let name = name.unwrap_or(&text);
        if ["-h", "--help"].contains(&name) {
            return Ok(Wish::Help);
        }
        if !["--ranks", "--range", "--airports"].contains(&name) {
            return Err(format!("there is no option {name}; see --help"));
        }
        let next = || args.next().map(|next| next.to_string_lossy().into_owned());
        let value = value.map(str::to_owned).or_else(next);
        let value = value.ok_or_else(|| format!("{name} needs a value; see --help"))?;
        set(&mut options, name, &value)?;
    }
    Ok(Wish::Run(options))
}

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--ranks" => options.ranks = ranks(value)?,
        "--range" => options.range = range(value)?,
        _ => options.airports = airports(value)?,
    }
    Ok(())
}

fn ranks(list: &str) -> Result<Vec<usize>, String> {
    let one = |part: &str| part.trim().parse().ok().filter(|&ranks| ranks >= 1);
    let all: Option<Vec<usize>> = list.split(',').map(one).collect();
    all.ok_or_else(|| format!("--ranks takes numbers from 1 on, as 1,2,4, not {list:?}"))
}

fn range(text: &str) -> Result<f64, String> {
    let range = text.parse().ok();
    range
        .filter(|range: &f64| range.is_finite() && *range > 0.0)
        .ok_or_else(|| format!("--range takes kilometres, more than 0, not {text:?}"))
}

fn airports(text: &str) -> Result<usize, String> {
    let airports = text.parse().ok();
    airports
        .filter(|&airports| airports >= 2)
        .ok_or_else(|| format!("--airports takes a number from 2 on, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Wish, String> {
        parse(args.iter().map(OsString::from))
    }

    #[test]
    fn without_arguments_the_defaults_hold_and_the_file_is_there() {
        assert_eq!(parsed(&[]), Ok(Wish::Run(Options::default())));
        assert!(Options::default().file.is_file());
    }

    #[test]
    fn values_come_glued_or_apart_and_a_path_replaces_the_file() {
        let want = Options {
            ranks: vec![3, 1],
            range: 1e3,
            airports: 9,
            file: "a=b.csv".into(),
        };
        let args = [
            "--ranks",
            "3, 1",
            "--range=1e3",
            "a=b.csv",
            "--airports",
            "9",
        ];
        assert_eq!(parsed(&args), Ok(Wish::Run(want)));
        assert_eq!(parsed(&["--range", "5", "-h"]), Ok(Wish::Help));
    }

    #[test]
    fn each_bad_argument_is_one_sentence() {
        let ranks = |given| format!("--ranks takes numbers from 1 on, as 1,2,4, not {given:?}");
        let range = |given| format!("--range takes kilometres, more than 0, not {given:?}");
        let airports = |given| format!("--airports takes a number from 2 on, not {given:?}");
        let bad = [
            (&["--ranks", "1,0"][..], ranks("1,0")),
            (&["--ranks="], ranks("")),
            (&["--ranks"], "--ranks needs a value; see --help".into()),
            (&["--range", "0"], range("0")),
            (&["--range", "-5"], range("-5")),
            (&["--range", "inf"], range("inf")),
            (&["--range=NaN"], range("NaN")),
            (&["--airports", "1"], airports("1")),
            (&["--airports=1e3"], airports("1e3")),
            (&["--fast"], "there is no option --fast; see --help".into()),
            (
                &["a.csv", "b.csv"],
                r#"one file at a time, not also "b.csv""#.into(),
            ),
        ];
        for (args, message) in bad {
            assert_eq!(parsed(args), Err(message), "{args:?}");
        }
    }

    #[test]
    fn more_airports_than_there_are_and_more_ranks_than_airports_are_refused() {
        let options = Options::default();
        assert_eq!(options.fit(400), Ok(()));
        let few = "--airports 400 is too many: the file has 399";
        assert_eq!(options.fit(399), Err(few.into()));
        let options = Options {
            ranks: vec![400, 401],
            ..options
        };
        let idle = "--ranks 401 is too many: there are 400 airports, and each rank needs one";
        assert_eq!(options.fit(3376), Err(idle.into()));
    }
}
