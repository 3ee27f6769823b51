//! `rankfold bench`: measures collectives on this machine, and compares every result.
//!
//! - `plan`: which points, and whether they can be measured at all; `dispatch`: from names to types;
//! - `session`: the passes, their progress and their end; `stopping`: Ctrl-C;
//! - `print`, `osu`: the output formats; `commit`: the commit that the program was built from.

mod commit;
mod dispatch;
mod osu;
mod plan;
mod print;
mod session;
pub mod stopping;

use clap::{Args, ValueEnum};
use rankfold::collective::Algorithm;
use rankfold::measure::{self, Op, Run, Subject, Type};
use rankfold::{Rank, Transport};

use super::choice::Many;
use super::numbers::{Ranges, Sizes, Time};
use super::output::{Pictured, Results, interrupted};
use super::place::Place;
use super::stop::Stop;
use super::style::Style;
use super::table::pretty;
pub use commit::build;
pub use plan::{Plan, SIZES, default_ranks, fits};
pub use print::{figure, width};
pub use session::run as measured;
pub use stopping::control;

/// Measure collectives on this machine, and compare every result.
///
/// Times, bandwidths and messages are given. Without arguments it shows how all_reduce scales with the cores. Of bytes, a block for each rank or a whole
/// vector, the whole vector is given; algbw and busbw are those of the nccl-tests. Ctrl-C ends it with what has
/// been measured so far.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold bench
  rankfold bench broadcast send --ranks 2..4 --sizes 8..1Mi --plot times.svg
  rankfold bench --transport channels,memory --ranks 2 --plot transports.svg
  rankfold bench --algorithm auto,ring,halving --format json -o before.json")]
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
    /// What carries the messages: `memory`, `channels`, or both.
    #[arg(long, value_name = "TRANSPORT", value_delimiter = ',')]
    transport: Vec<Transport>,
    /// The root, where there is one.
    #[arg(long, value_name = "R", default_value_t = 0)]
    root: Rank,
    #[command(flatten)]
    place: Place,
    /// An all_reduce from one vector into another, not in place.
    #[arg(long)]
    into: bool,
    /// Each rank writes its vector anew before each call, untimed, and compares each result.
    #[arg(long)]
    fresh: bool,
    /// How often all points are gone through, in turn.
    #[arg(long, value_name = "N", default_value_t = 6)]
    passes: usize,
    /// How long each point is measured in all passes together, in seconds or as `250ms` or `2m`.
    #[arg(long, value_name = "TIME", default_value = "0.25")]
    time: Time,
    /// Samples of each point and pass, instead of a time.
    #[arg(long, value_name = "N", conflicts_with = "time")]
    iterations: Option<usize>,
    #[command(flatten)]
    out: Pictured<Format>,
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

/// The requested algorithm of a collective.
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
    let Results { format, to } = &arguments.out.results;
    let both = arguments.out.open()?;
    let run = session::run(&plan, &control())?;
    let text = written(&run, *format, to.style());
    if run.interrupted {
        return interrupted(&text);
    }
    both.write(&text, || {
        let chart = measure::chart(&run).ok_or_else(|| Stop::input("--plot: nothing to draw"))?;
        Ok(chart.svg())
    })
}

fn written(run: &Run, format: Format, style: Style) -> String {
    match format {
        Format::Text => print::text(run, style),
        Format::Csv => print::csv(run),
        Format::Osu => osu::text(run),
        Format::Json => pretty(run),
    }
}
