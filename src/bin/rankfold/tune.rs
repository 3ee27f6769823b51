//! `rankfold tune`: measures which algorithms are quickest on this machine, and writes the table that worlds follow.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use rankfold::WorldError;
use rankfold::collective::{Collective, TuningTable};
use rankfold::machine::Machine;
use rankfold::measure::Failure;
use rankfold::tune::{Plan, Progress, TuneError, Tuned, tune, words};

use super::bench::stopping;
use super::numbers::Ranges;
use super::output::{Results, TextOrJson, to_stdout};
use super::place::Place;
use super::progress;
use super::stop::Stop;

/// Measure which algorithms are quickest here, and write them down.
///
/// What is written is the table that tuned worlds follow: `World::tuned` takes the table, and RANKFOLD_TUNING=FILE gives it to a program that is not changed. Nothing else
/// should run meanwhile. Ctrl-C ends it, and leaves no file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold tune -o here.tuning
  rankfold tune --time 2m --ranks 2,4 --format json -o here.json")]
pub struct Arguments {
    /// What it may take altogether, in seconds or as `90s` or `2m`.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    time: Time,
    /// Numbers of ranks, with ranges whose both ends count; without it, powers of two and their neighbours as far as
    /// there are cores, and twice as many as there are.
    #[arg(long, value_name = "RANGES")]
    ranks: Option<Ranges>,
    /// Collectives, as `all_reduce`; without it, all of them.
    #[arg(long, value_name = "COLLECTIVE", value_delimiter = ',')]
    collective: Vec<Collective>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    results: Results<TextOrJson>,
}

/// A time as it is typed.
#[derive(Clone, Copy)]
struct Time(Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Time, String> {
        let (number, unit) = match (text.strip_suffix('m'), text.strip_suffix('s')) {
            (Some(minutes), _) => (minutes, 60.0),
            (_, Some(seconds)) => (seconds, 1.0),
            _ => (text, 1.0),
        };
        let seconds = number.parse::<f64>().ok().map(|number| number * unit);
        match seconds {
            Some(seconds) if seconds > 0.0 && seconds <= 86_400.0 => {
                Ok(Time(Duration::from_secs_f64(seconds)))
            }
            Some(_) => Err("it is above 0 and at most a day".into()),
            None => Err("times are written 60, 90s or 2m".into()),
        }
    }
}

/// The most ranks: more is a crowd that nobody would tune for.
const MOST_RANKS: usize = 1024;

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let plan = plan(arguments)?;
    let output = arguments.results.to.open()?;
    let control = stopping::control();
    let bar = progress::of_time(plan.time);
    let tuned = tune(&plan, &control, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let tuned = tuned.map_err(failed)?;
    if tuned.interrupted {
        return Err(Stop::Interrupted);
    }
    let remarks = remarks(&plan, &tuned);
    let table = tuned.table.with_remarks(remarks).map_err(Stop::input)?;
    output.write(&match arguments.results.format {
        TextOrJson::Text => table.to_string(),
        TextOrJson::Json => table.to_json(),
    })?;
    match &arguments.results.to.output {
        Some(path) => to_stdout(&said(&table, &path.display().to_string())),
        None => Ok(()),
    }
}

fn plan(arguments: &Arguments) -> Result<Plan, Stop> {
    let machine = Machine::here();
    let usual = Plan::of(&machine);
    let ranks = match &arguments.ranks {
        None => usual.ranks.clone(),
        Some(ranges) => ranges.iter().take(MOST_RANKS + 1).collect(),
    };
    if let Some(many) = ranks.iter().find(|&&ranks| ranks > MOST_RANKS) {
        let line =
            format!("--ranks: {many} ranks are more than anybody tunes for; at most {MOST_RANKS}");
        return Err(Stop::Input(line));
    }
    if ranks.iter().all(|&ranks| ranks < 2) {
        return Err(Stop::input("--ranks: a single rank has nothing to choose"));
    }
    arguments.place.on(&machine, 2)?;
    let collectives = match arguments.collective.is_empty() {
        true => usual.collectives.clone(),
        false => arguments.collective.clone(),
    };
    Ok(Plan {
        bind: arguments.place.bind.clone(),
        ranks,
        collectives,
        time: arguments.time.0,
        ..usual
    })
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_position(progress.elapsed.min(progress.time).as_millis() as u64);
    bar.set_message(words(&progress.point));
}

/// What made no sense is told from what is wrong.
fn failed(error: TuneError) -> Stop {
    let line = error.to_string().replace('\n', "; ");
    match error {
        TuneError::Failed(_, Failure::World(WorldError::Usage(_) | WorldError::Spawn { .. })) => {
            Stop::Input(line)
        }
        _ => Stop::Fault(line),
    }
}

/// More than these are counted only.
const MOST_VIOLATIONS: usize = 8;

/// What a reader of the table should know.
fn remarks(plan: &Plan, tuned: &Tuned) -> Vec<String> {
    let (all, measured) = tuned.places;
    let mut remarks = vec![format!(
        "measured in {:.0} s, every place at least {} times",
        plan.time.as_secs_f64(),
        tuned.passes
    )];
    if cfg!(debug_assertions) {
        remarks.push("this program was built without optimisations: use --release".into());
    }
    if measured < all {
        remarks.push(format!(
            "the time was over when {measured} of {all} places had been measured: more --time, or fewer --ranks"
        ));
    }
    let violations = tuned.violations.iter().take(MOST_VIOLATIONS);
    remarks.extend(violations.map(ToString::to_string));
    let more = tuned.violations.len().saturating_sub(MOST_VIOLATIONS);
    if more > 0 {
        remarks.push(format!("and {more} more times that others do not bear out"));
    }
    remarks
}

/// What is printed where the table goes to a file.
fn said(table: &TuningTable, path: &str) -> String {
    let rules: usize = table.entries().iter().map(|entry| entry.rules.len()).sum();
    let mut text = format!("{path}: {rules} rules\n");
    for remark in table.remarks() {
        text += &format!("{remark}\n");
    }
    text + &format!("RANKFOLD_TUNING={path} gives it to a program\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_seconds_or_minutes() {
        let time = |text: &str| text.parse::<Time>().map(|Time(time)| time.as_secs_f64());
        assert_eq!(time("60"), Ok(60.0));
        assert_eq!((time("0.5s"), time("2m")), (Ok(0.5), Ok(120.0)));
        for wrong in ["", "s", "-1", "0", "nan", "inf", "1e300m", "2h", "60ss"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
