//! `rankfold draw`: schedules as space-time diagrams and topologies as trees, as text or SVG.

use std::ops::Range;

use clap::{Args, ValueEnum};
use rankfold::draw::{self, Drawing, TooLarge};
use rankfold::schedule::Schedule;

use super::choice::{Choice, Pair, call};
use super::numbers::Window;
use super::output::Results;
use super::stop::Stop;

/// Draw the schedule of an algorithm, or of two side by side.
///
/// `rankfold topology --format tree` draws topologies.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold draw halving --ranks 8
  rankfold draw exchange halving --ranks 8 --format svg -o both.svg
  rankfold draw halving --ranks 4 --elements 4 --origins")]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// How many ranks there are.
    #[arg(long, value_name = "N", default_value_t = 8)]
    ranks: usize,
    /// How many elements the vector has.
    #[arg(long, value_name = "N", default_value_t = 64)]
    elements: usize,
    /// The root, where there is one.
    #[arg(long, value_name = "R", default_value_t = 0)]
    root: usize,
    /// Keep operands in rank order, for operators that do not commute.
    #[arg(long)]
    ordered: bool,
    /// Draw only these steps: `0..9`, both ends counting.
    #[arg(long, value_name = "RANGE")]
    steps: Option<Window>,
    /// Draw whose contributions each value is folded from, before the first step and after each: `0.1`, `2.3`, `R`.
    #[arg(long, conflicts_with = "steps")]
    origins: bool,
    #[command(flatten)]
    results: Results<Format>,
}

/// The forms of a drawing.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Box characters, for a terminal.
    Text,
    /// A picture.
    Svg,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let pairs = arguments.choice.once()?;
    let output = arguments.results.to.open()?;
    let drawing = match pairs[..] {
        [one] if arguments.origins => origins(one, arguments)?,
        [one] => alone(one, arguments)?,
        _ if arguments.origins => return Err(Stop::input("--origins: only for one algorithm")),
        [left, right] => beside(left, right, arguments)?,
        _ => return Err(Stop::input("draw one algorithm, or two to be compared")),
    };
    output.write(&match arguments.results.format {
        Format::Text => drawing.text().to_owned(),
        Format::Svg => drawing
            .try_svg()
            .map_err(|error| too_wide(error, arguments))?,
    })
}

fn alone(pair: Pair, arguments: &Arguments) -> Result<Drawing, Stop> {
    let schedule = schedule(pair, arguments)?;
    let steps = window(arguments, &schedule);
    draw::window(&title(pair), &schedule, steps).map_err(too_large)
}

fn origins(pair: Pair, arguments: &Arguments) -> Result<Drawing, Stop> {
    draw::origins(&title(pair), &schedule(pair, arguments)?).map_err(too_large)
}

/// Returns the steps that are drawn.
fn window(arguments: &Arguments, schedule: &dyn Schedule) -> Range<usize> {
    let steps = schedule.steps();
    match arguments.steps {
        Some(Window { first, last }) => first.min(steps)..last.saturating_add(1).min(steps),
        None => 0..steps,
    }
}

fn beside(left: Pair, right: Pair, arguments: &Arguments) -> Result<Drawing, Stop> {
    if arguments.steps.is_some() {
        return Err(Stop::input("--steps: only for one algorithm"));
    }
    let both = [schedule(left, arguments)?, schedule(right, arguments)?];
    draw::beside((&title(left), &both[0]), (&title(right), &both[1])).map_err(too_large)
}

fn schedule(pair: Pair, arguments: &Arguments) -> Result<Box<dyn Schedule>, Stop> {
    let Arguments {
        ranks,
        elements,
        root,
        ordered,
        ..
    } = *arguments;
    let call = call(pair.collective, ranks, elements, root, ordered)?;
    let call = arguments.choice.placed(call)?;
    pair.algorithm.schedule(&call).map_err(Stop::input)
}

fn title(pair: Pair) -> String {
    format!("{} by {}", pair.collective, pair.algorithm)
}

/// Returns the error of a picture that is too wide; if a window can be requested, it names the steps that would fit.
fn too_wide(error: TooLarge, arguments: &Arguments) -> Stop {
    let pairs = arguments.choice.once();
    let alone = pairs.ok().filter(|pairs| pairs.len() == 1);
    let drawn =
        alone.and_then(|pairs| Some(window(arguments, &*schedule(pairs[0], arguments).ok()?)));
    match (error, drawn) {
        (TooLarge::Pixels { width, limit, .. }, Some(steps)) if width > limit => {
            // A tenth less, since names and titles take their share.
            let fit = steps.len() as u64 * limit / width * 9 / 10;
            let last = steps.start as u64 + fit.max(1) - 1;
            Stop::Input(format!("{error}; as with --steps {}..{last}", steps.start))
        }
        _ => Stop::input(error),
    }
}

fn too_large(error: TooLarge) -> Stop {
    match error {
        TooLarge::Steps { .. } => Stop::Input(format!("{error}, with --steps")),
        _ => Stop::input(error),
    }
}
