//! `rankfold tune`: measures which algorithms are fastest on this machine, and writes the table that worlds follow.

use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use rankfold::WorldError;
use rankfold::collective::{Collective, TuningTable};
use rankfold::machine::Machine;
use rankfold::measure::{Failure, Noise, Watch};
use rankfold::tune::{Plan, TuneError, Tuned, TuningProgress, tune, words};

use super::bench::stopping;
use super::numbers::{Ranges, Time};
use super::output::{Results, TextOrJson, to_stdout};
use super::place::Place;
use super::progress;
use super::stop::Stop;

/// Measure which algorithms are quickest here, and write them down.
///
/// What is written is the table that tuned worlds follow: `World::tuned` takes the table, and RANKFOLD_TUNING=FILE gives it to a program that is not changed. Nothing else
/// should run meanwhile: where other processes used a quarter of a CPU or more, no table is written and the exit code is 1,
/// unless --anyway is given. The table says how noisy it was. Ctrl-C ends it, and leaves no file.
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
    /// Measure and write the table although the machine is busy.
    #[arg(long)]
    anyway: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    results: Results<TextOrJson>,
}

/// Maximum time of a tuning run, in seconds.
const MOST_SECONDS: f64 = 86_400.0;
/// Maximum number of ranks, beyond any useful oversubscription.
const MOST_RANKS: usize = 1024;

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let plan = plan(arguments)?;
    let output = arguments.results.to.open()?;
    let control = stopping::control();
    if !arguments.anyway {
        quiet(arguments, &beforehand())?;
    }
    let bar = progress::of_time(plan.time);
    let tuned = tune(&plan, &control, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let tuned = tuned.map_err(failed)?;
    if tuned.interrupted {
        return Err(Stop::Interrupted);
    }
    quiet(arguments, &tuned.noise)?;
    let remarks = remarks(&tuned);
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

/// Time for which the machine is observed before anything is measured.
const LOOK: Duration = Duration::from_millis(500);

/// Observes other load before the measurements, so that a busy machine is refused early and not after a minute.
fn beforehand() -> Noise {
    let watch = Watch::start(None);
    std::thread::sleep(LOOK);
    watch.finish()
}

/// Refuses a table that was measured while other processes were busy.
fn quiet(arguments: &Arguments, noise: &Noise) -> Result<(), Stop> {
    match noise.is_busy() && !arguments.anyway {
        true => Err(Stop::Fault(format!(
            "the machine is too busy to tune: {}; no table is written: tune while nothing else runs, or add --anyway",
            noise.summary()
        ))),
        false => Ok(()),
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
        time: arguments.time.at_most(MOST_SECONDS)?,
        ..usual
    })
}

fn show(bar: &ProgressBar, progress: &TuningProgress) {
    bar.set_position(progress.elapsed.min(progress.time).as_millis() as u64);
    bar.set_message(words(&progress.point));
}

/// Distinguishes bad input from a fault.
fn failed(error: TuneError) -> Stop {
    let line = error.to_string().replace('\n', "; ");
    match error {
        TuneError::Failed(_, Failure::World(WorldError::Usage(_) | WorldError::Spawn { .. })) => {
            Stop::Input(line)
        }
        _ => Stop::Fault(line),
    }
}

/// More violations than this are only counted.
const MOST_VIOLATIONS: usize = 8;

/// Returns caveats for the reader of the table.
fn remarks(tuned: &Tuned) -> Vec<String> {
    let (all, measured) = tuned.places;
    let mut remarks = vec![format!(
        "measured in {:.0} s, every place at least {} times",
        tuned.noise.wall_s, tuned.passes
    )];
    remarks.push(format!("meanwhile {}", tuned.noise.summary()));
    if tuned.noise.is_busy() {
        remarks.push(
            "written although the machine was busy: tune again while nothing else runs".into(),
        );
    }
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

/// Returns the text that is printed when the table goes to a file.
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
    use clap::Parser;

    #[derive(Parser)]
    struct Tool {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn arguments(words: &[&str]) -> Arguments {
        Tool::parse_from([&["tune"], words].concat()).arguments
    }

    #[test]
    fn a_table_of_a_busy_machine_is_refused_unless_it_is_wanted_anyway() {
        let busy = Noise {
            others_cpus: Some(0.97),
            line_ns: vec![81.0, 400.0],
            ..Noise::default()
        };
        let Err(Stop::Fault(line)) = quiet(&arguments(&[]), &busy) else {
            panic!("a busy machine was tuned");
        };
        assert_eq!(
            line,
            "the machine is too busy to tune: other processes used 0.97 CPUs, a cache line took 81 to 400 ns between two \
             cores; no table is written: tune while nothing else runs, or add --anyway"
        );
        assert!(quiet(&arguments(&["--anyway"]), &busy).is_ok());
        let calm = Noise {
            others_cpus: Some(0.2),
            ..Noise::default()
        };
        assert!(quiet(&arguments(&[]), &calm).is_ok());
    }
}
