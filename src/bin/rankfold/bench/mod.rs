//! `rankfold bench`: how long collectives take on this machine, with every result compared.
//!
//! - `plan`: which points, and whether they can be measured at all; `dispatch`: from names to types;
//! - `session`: the passes, their progress and their end; `stopping`: Ctrl-C;
//! - `print`, `osu`: how results are written; `commit`: what the program was built from.

mod commit;
mod dispatch;
mod osu;
mod plan;
mod print;
mod session;
pub mod stopping;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rankfold::Rank;
use rankfold::collective::Algorithm;
use rankfold::machine::Bind;
use rankfold::measure::{self, Op, Run, Subject, Type};

use super::numbers::{Ranges, Sizes};
use super::output::Output;
use super::stop::Stop;
use super::style::Style;
pub use commit::build;
pub use plan::{Plan, SIZES, default_ranks, fits};
pub use print::figure;
pub use session::run as measured;
pub use stopping::control;

/// Measure collectives on this machine: times, bandwidths, messages; every result is compared.
///
/// Without arguments it shows how all_reduce scales with the cores. Of bytes, a block for each rank or a whole
/// vector, the whole vector is given; algbw and busbw are those of the nccl-tests. Ctrl-C ends it with what has
/// been measured so far.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold bench
  rankfold bench broadcast send --ranks 2..4 --sizes 8,1Ki..16Mi --plot times.svg
  rankfold bench all_reduce --algorithm auto,ring,halving --format json -o before.json")]
pub struct Arguments {
    /// Collectives, as `all_reduce`, `send` for a ping-pong between neighbours, or `all`.
    #[arg(value_name = "COLLECTIVE")]
    subjects: Vec<Many<Subject>>,
    /// Numbers of ranks, with ranges whose both ends count: `8`, `1..8,16`.
    #[arg(long, value_name = "RANGES")]
    ranks: Option<Ranges>,
    /// Lengths of the vector in bytes; ranges double: `8,1Ki..64Mi`.
    #[arg(long, value_name = "SIZES")]
    sizes: Option<Sizes>,
    /// The type of the elements: `f32`, `f64`, `i32`, `i64`, `u8`, `u32` or `u64`.
    #[arg(long = "type", value_name = "TYPE", default_value_t = Type::F32)]
    kind: Type,
    /// The operator: `sum`, `product`, `min`, `max`, and of integers `and`, `or`, `xor`.
    #[arg(long, value_name = "OP", default_value_t = Op::Sum)]
    op: Op,
    /// Algorithms, as `halving,k-tree:2`; `auto` for the automatic choice, `all` for all that can be used.
    #[arg(long, value_name = "ALGORITHM", value_delimiter = ',')]
    algorithm: Vec<By>,
    /// The root, where there is one.
    #[arg(long, value_name = "R", default_value_t = 0)]
    root: Rank,
    /// Where ranks go: `auto`, `none`, `compact`, `scatter`, `numa`, `l3`, `core`, or CPUs as `0-3,8`.
    #[arg(long, value_name = "BIND", default_value = "auto")]
    bind: Bind,
    /// An all_reduce from one vector into another, not in place.
    #[arg(long)]
    into: bool,
    /// Each rank writes its vector anew before each call, untimed, and compares each result.
    #[arg(long)]
    fresh: bool,
    /// How often all points are gone through, in turn.
    #[arg(long, value_name = "N", default_value_t = 6)]
    passes: usize,
    /// Seconds for each point, shared by its passes.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.25)]
    time: f64,
    /// Samples of each point and pass, instead of a time.
    #[arg(long, value_name = "N", conflicts_with = "time")]
    iterations: Option<usize>,
    /// How results are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write them to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw them into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table, and a chart where there is something to see.
    Text,
    /// A line of values for each point.
    Csv,
    /// The whole run as one object; see docs/bench.schema.json.
    Json,
    /// Tables in the layout of the OSU micro-benchmarks.
    Osu,
}

/// One, or all there are.
#[derive(Clone, Copy)]
enum Many<T> {
    All,
    One(T),
}

impl<T: std::str::FromStr> std::str::FromStr for Many<T> {
    type Err = T::Err;

    fn from_str(name: &str) -> Result<Many<T>, T::Err> {
        match name {
            "all" => Ok(Many::All),
            _ => name.parse().map(Many::One),
        }
    }
}

/// By what a collective is run.
#[derive(Clone, Copy)]
enum By {
    Auto,
    Named(Many<Algorithm>),
}

impl std::str::FromStr for By {
    type Err = rankfold::collective::UnknownAlgorithm;

    fn from_str(name: &str) -> Result<By, Self::Err> {
        match name {
            "auto" => Ok(By::Auto),
            _ => name.parse().map(By::Named),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let plan = Plan::new(arguments)?;
    let style = Style::of_stdout(arguments.output.is_none());
    let output = Output::open(arguments.output.clone())?;
    let plot = arguments.plot.clone().map(|path| Output::open(Some(path)));
    let plot = plot.transpose()?;
    let run = session::run(&plan, &control())?;
    let text = written(&run, arguments.format, style);
    if run.interrupted {
        // A file is written whole or not at all.
        Output::open(None)?.write(&text)?;
        return Err(Stop::Interrupted);
    }
    if let Some(plot) = plot {
        let chart = measure::chart(&run).ok_or_else(|| Stop::input("--plot: nothing to draw"))?;
        plot.write(&chart.svg())?;
    }
    output.write(&text)
}

fn written(run: &Run, format: Format, style: Style) -> String {
    match format {
        Format::Text => print::text(run, style),
        Format::Csv => print::csv(run),
        Format::Osu => osu::text(run),
        Format::Json => {
            // A run has no map whose keys are no texts.
            let json = serde_json::to_string_pretty(run);
            json.unwrap_or_default() + "\n"
        }
    }
}
