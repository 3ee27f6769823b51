//! `rankfold trace`: traces of worlds, as `Trace::to_perfetto` writes them.
//!
//! - `file`: the trace of one process, as it is read; `clocks`: how the clocks of processes are aligned; `merge`: the
//!   traces of all processes as one

mod clocks;
mod file;
mod merge;

use clap::{Args, Subcommand};

use super::stop::Stop;

/// Merge the traces of the processes of one world.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold trace merge trace-0.json trace-1.json -o trace.json")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Merge(merge::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    match &arguments.command {
        Command::Merge(arguments) => merge::run(arguments),
    }
}
