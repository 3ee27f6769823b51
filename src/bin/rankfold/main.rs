//! The command-line tool: measures collectives on this machine, and examines topologies and schedules without running
//! them.
//!
//! - `stop`: errors as one line and an exit code; `input`: input files; `output`: where results go, `table`: their
//!   layout; `style`: colour; `progress`: a progress bar; `work`: long work that can be stopped;
//! - `numbers`: sizes and ranges as they are typed; `choice`: the chosen algorithms; `place`: the placement of ranks;
//! - the other files implement one command each.

use std::io::Write;
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

mod algorithms;
mod bench;
mod check;
mod choice;
mod compare;
mod cost;
mod curves;
mod draw;
mod explain;
mod input;
mod latency;
mod machine;
mod numbers;
mod other;
mod output;
mod place;
mod progress;
mod report;
mod shell;
mod simulate;
mod stop;
mod style;
mod table;
mod topology;
mod trace;
mod transport;
mod tune;
mod work;

use stop::Stop;

/// Message passing between threads: measured on this machine; its algorithms proved, drawn and simulated.
///
/// Exit codes: 0; 1 if a fault was found, or the machine was too busy to tune; 2 for input that makes no sense; 130 after
/// Ctrl-C, with what there is by then.
#[derive(Parser)]
#[command(name = "rankfold", version, max_term_width = 80)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(Box<bench::Arguments>),
    Compare(compare::Arguments),
    Latency(latency::Arguments),
    Report(report::Arguments),
    Tune(tune::Arguments),
    Explain(explain::Arguments),
    Topology(topology::Arguments),
    Algorithms(algorithms::Arguments),
    Check(check::Arguments),
    Draw(draw::Arguments),
    Simulate(simulate::Arguments),
    Cost(Box<cost::Arguments>),
    Machine(machine::Arguments),
    Trace(trace::Arguments),
    Completions(shell::Completions),
    #[command(name = "man")]
    Manual(shell::Manual),
}

fn main() -> ExitCode {
    #[cfg(rankfold_hwloc)]
    silence_libhwloc();
    if let Some(code) = other::run() {
        return code;
    }
    match parsed() {
        Ok(arguments) => ended(run(arguments.command)),
        Err(error) if error.use_stderr() => ended(Err(Stop::from_clap(&error))),
        // The user asked for help or the version.
        Err(help) => {
            // If the reader has closed the pipe, it wants no more output.
            let _ = std::io::stdout().write_all(help.render().to_string().as_bytes());
            ExitCode::SUCCESS
        }
    }
}

/// Restarts the tool with libhwloc told to suppress its messages about the machine. libhwloc reads that from the
/// environment, which other threads may read while a thread writes it; so it is set for a new program, not here.
#[cfg(rankfold_hwloc)]
fn silence_libhwloc() {
    use std::os::unix::process::CommandExt;

    const HIDE: &str = "HWLOC_HIDE_ERRORS";
    let (mut words, program) = (std::env::args_os(), std::env::current_exe());
    let (None, Ok(program), Some(name)) = (std::env::var_os(HIDE), program, words.next()) else {
        return;
    };
    // `exec` returns only if the system refuses. Then there may be one line too many on stderr.
    let _ = std::process::Command::new(program)
        .arg0(name)
        .args(words)
        .env(HIDE, "2")
        .exec();
}

/// Parses the arguments. A signed number is the value of the option before it, which judges it, not an option itself.
fn parsed() -> Result<Arguments, clap::Error> {
    let signs = |argument: Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    let tool = Arguments::command().mut_subcommands(|command| command.mut_args(signs));
    Arguments::from_arg_matches(&tool.try_get_matches()?)
}

fn run(command: Command) -> Result<(), Stop> {
    use Command::{Bench, Latency, Report, Tune};
    if let Bench(_) | Latency(_) | Report(_) | Tune(_) = command {
        place::measures_here()?;
    }
    match command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Latency(arguments) => latency::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Topology(arguments) => topology::run(&arguments),
        Command::Algorithms(arguments) => algorithms::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Draw(arguments) => draw::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Cost(arguments) => cost::run(&arguments),
        Command::Machine(arguments) => machine::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments),
        Command::Manual(arguments) => shell::manual(&arguments),
    }
}

fn ended(result: Result<(), Stop>) -> ExitCode {
    let Err(stop) = result else {
        return ExitCode::SUCCESS;
    };
    if let Some(line) = stop.line() {
        // If this fails, there is nowhere else to report it.
        let _ = writeln!(std::io::stderr(), "error: {line}");
    }
    stop.code()
}
