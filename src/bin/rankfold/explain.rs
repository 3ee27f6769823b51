//! `rankfold explain`: which algorithm a call would run on this machine, why, and what comes next.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use rankfold::Rank;
use rankfold::collective::{Call, Choice, Collective, Fingerprint, TuningTable};
use rankfold::machine::{Bind, Machine};
use rankfold::topology::Levels;

use super::choice::call;
use super::numbers::Sizes;
use super::output::Output;
use super::stop::Stop;

/// Say which algorithm a call would run on this machine, why, and what comes next.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold explain all_reduce --ranks 8 --bytes 8,1Ki..1Mi
  rankfold explain broadcast --ranks 2 --bytes 4Ki --tuning here.tuning")]
pub struct Arguments {
    /// The collective, as `all_reduce`.
    #[arg(value_name = "COLLECTIVE")]
    collective: Collective,
    /// How many ranks.
    #[arg(long, value_name = "P")]
    ranks: usize,
    /// Lengths of the whole vector in bytes; ranges double: `8,1Ki..64Mi`.
    #[arg(long, value_name = "SIZES", default_value = "0")]
    bytes: Sizes,
    /// The bytes of an element.
    #[arg(long, value_name = "N", default_value_t = 4)]
    element_bytes: usize,
    /// The root, where there is one.
    #[arg(long, value_name = "R", default_value_t = 0)]
    root: Rank,
    /// The operator does not commute.
    #[arg(long)]
    ordered: bool,
    /// Where ranks go, as in the world that is meant.
    #[arg(long, value_name = "BIND", default_value = "auto")]
    bind: Bind,
    /// The table of `rankfold tune` that the world follows; without it, the one that RANKFOLD_TUNING names, if it does.
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let machine = Machine::here();
    let table = table(arguments, &machine)?;
    let mut text = String::new();
    let mut refused = Vec::new();
    for &bytes in &arguments.bytes.0 {
        let call = call_of(arguments, bytes, &machine)?;
        let choice = Choice::by(table.as_ref(), &call, arguments.element_bytes);
        if let Some(refusal) = choice.algorithm.refused(&call) {
            return Err(Stop::input(refusal));
        }
        text += &format!("{bytes} bytes: {choice}\n");
        refused = choice.refused;
    }
    for (_, refusal) in &refused {
        text += &format!("not: {refusal}\n");
    }
    Output::open(None)?.write(&text)
}

/// The call of so many bytes, among ranks that are in groups, and crowded, as they would be on this machine.
fn call_of(arguments: &Arguments, bytes: usize, machine: &Machine) -> Result<Call, Stop> {
    let Arguments {
        collective,
        ranks,
        element_bytes,
        root,
        ordered,
        ..
    } = *arguments;
    let length = match bytes.checked_rem(element_bytes) {
        Some(0) => bytes / element_bytes,
        None => {
            return Err(Stop::input(
                "--element-bytes: an element has at least one byte",
            ));
        }
        Some(_) => {
            return Err(Stop::Input(format!(
                "--bytes: {bytes} is no whole number of elements of {element_bytes} bytes; see --element-bytes"
            )));
        }
    };
    let call = call(collective, ranks, length, root, ordered)?;
    let crowded = ranks > Fingerprint::of(machine, &arguments.bind).room;
    let call = if crowded { call.crowded() } else { call };
    let placement = machine.place(ranks.max(1), &arguments.bind, true);
    let placement = placement.map_err(|error| Stop::Input(format!("--bind: {error}")))?;
    Ok(match Levels::of(machine, &placement) {
        levels if ranks > 0 && levels.depth() > 1 => call.on(levels),
        _ => call,
    })
}

/// The table that is meant, if it is of this machine.
fn table(arguments: &Arguments, machine: &Machine) -> Result<Option<TuningTable>, Stop> {
    let named = || env::var_os("RANKFOLD_TUNING").map(PathBuf::from);
    let Some(path) = arguments.tuning.clone().or_else(named) else {
        return Ok(None);
    };
    let table = read(&path)?;
    if let Some(of) = table.fingerprint() {
        let here = Fingerprint::of(machine, &arguments.bind);
        let same = of.check_against(&here);
        same.map_err(|foreign| Stop::Input(format!("{}: {foreign}", path.display())))?;
    }
    Ok(Some(table))
}

fn read(path: &Path) -> Result<TuningTable, Stop> {
    let name = path.display();
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| Stop::Input(format!("cannot read {name}: {error}")))?;
    TuningTable::read(&text).map_err(|error| Stop::Input(format!("{name}: {error}")))
}
