//! `rankfold explain`: which algorithm a call would run on this machine, why, and which is next best.

use std::env;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use rankfold::collective::{Call, Choice, Collective, Fingerprint, TuningTable};
use rankfold::machine::Machine;
use rankfold::topology::Levels;
use rankfold::{Rank, Transport};
use serde_json::json;

use super::choice::call;
use super::input;
use super::numbers::{Sizes, elements};
use super::output::{Results, TextOrJson};
use super::place::{self, Place};
use super::stop::Stop;
use super::transport;

/// Say which algorithm a call would run here, and why.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold explain all_reduce --ranks 8 --bytes 8,1Ki..1Mi
  rankfold explain all_reduce --ranks 8 --bytes 8 --format json
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
    /// What carries the messages: `memory` or `channels`.
    #[arg(long, value_name = "TRANSPORT")]
    transport: Option<Transport>,
    #[command(flatten)]
    place: Place,
    /// The table of `rankfold tune` that the world follows; without it, the one that RANKFOLD_TUNING names, if it does and
    /// RANKFOLD_MACHINE names no other machine.
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
    #[command(flatten)]
    results: Results<TextOrJson>,
}

/// The variable that names a table, for any program.
const TUNING: &str = "RANKFOLD_TUNING";

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let output = arguments.results.to.open()?;
    let machine = place::planned()?;
    let table = table(arguments, &machine)?;
    let mut choices = Vec::new();
    for &bytes in &arguments.bytes.0 {
        let call = call_of(arguments, bytes, &machine)?;
        let choice = Choice::by(table.as_ref(), &call, arguments.element_bytes);
        if let Some(refusal) = choice.algorithm.refused(&call) {
            return Err(Stop::input(refusal));
        }
        choices.push((bytes, choice));
    }
    output.write(&match arguments.results.format {
        TextOrJson::Text => text(&choices) + &not_followed(arguments),
        TextOrJson::Json => choices
            .iter()
            .map(|(bytes, choice)| json(arguments, *bytes, choice))
            .collect(),
    })
}

/// Returns a line for each length, and for the last one the algorithms that cannot be used.
fn text(choices: &[(usize, Choice)]) -> String {
    let lines = choices
        .iter()
        .map(|(bytes, choice)| format!("{bytes} bytes: {choice}\n"));
    let refused = choices
        .last()
        .into_iter()
        .flat_map(|(_, choice)| &choice.refused);
    let refused = refused.map(|(_, refusal)| format!("not: {refusal}\n"));
    lines.chain(refused).collect()
}

/// Returns a line if a table is named that no world follows on the machine that stands in for this one.
fn not_followed(arguments: &Arguments) -> String {
    match arguments.tuning.is_none() && place::is_stand_in() && named().is_some() {
        true => format!(
            "not followed: {TUNING}, as {} names another machine; --tuning names a table of that one\n",
            place::MACHINE
        ),
        false => String::new(),
    }
}

/// Returns one object on one line.
fn json(arguments: &Arguments, bytes: usize, choice: &Choice) -> String {
    let refused = choice.refused.iter().map(|(algorithm, refusal)| {
        json!({"algorithm": algorithm.to_string(), "why": refusal.to_string()})
    });
    let value = json!({
        "schema": "rankfold.explain/1",
        "collective": arguments.collective.name(),
        "ranks": arguments.ranks,
        "bytes": bytes,
        "algorithm": choice.algorithm.to_string(),
        "reason": choice.reason,
        "runner_up": choice.runner_up.map(|next| next.to_string()),
        "transport": choice.transport.name(),
        "levels": choice.levels,
        "refused": refused.collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

/// Returns the call of `bytes` bytes, among ranks in the groups, and as crowded, as they would be on this machine.
fn call_of(arguments: &Arguments, bytes: usize, machine: &Machine) -> Result<Call, Stop> {
    let Arguments {
        collective,
        ranks,
        element_bytes,
        root,
        ordered,
        ..
    } = *arguments;
    let length = elements(bytes, element_bytes).map_err(Stop::Input)?;
    let call = call(collective, ranks, length, root, ordered)?;
    let over = arguments.transport.map_or_else(transport::default, Ok)?;
    let call = call.over(over);
    let crowded = ranks > Fingerprint::of(machine, &arguments.place.bind).room;
    let call = if crowded { call.crowded() } else { call };
    let placement = arguments.place.on(machine, ranks)?;
    Ok(match Levels::of(machine, &placement) {
        levels if levels.depth() > 1 => call.on(levels),
        _ => call,
    })
}

/// The table that the environment names.
fn named() -> Option<PathBuf> {
    let path = env::var_os(TUNING).filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// Returns the table that a world would follow, if it is of this machine. Worlds on a stand-in ignore the environment's.
fn table(arguments: &Arguments, machine: &Machine) -> Result<Option<TuningTable>, Stop> {
    match (&arguments.tuning, named()) {
        (Some(path), _) => read(path, arguments, machine).map(Some),
        (None, Some(path)) if !place::is_stand_in() => match read(&path, arguments, machine) {
            Err(Stop::Input(line)) => Err(Stop::Input(format!("{TUNING}: {line}"))),
            read => read.map(Some),
        },
        (None, _) => Ok(None),
    }
}

fn read(path: &Path, arguments: &Arguments, machine: &Machine) -> Result<TuningTable, Stop> {
    let foreign = |why: &dyn Display| Stop::Input(format!("{}: {why}", path.display()));
    let table = TuningTable::read(&input::read(path)?).map_err(|error| foreign(&error))?;
    if let Some(of) = table.fingerprint() {
        let here = Fingerprint::of(machine, &arguments.place.bind);
        of.check_against(&here).map_err(|error| foreign(&error))?;
    }
    Ok(table)
}
