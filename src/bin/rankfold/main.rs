//! The command-line tool: measures collectives on this machine, and looks at topologies and schedules without
//! running anything.
//!
//! - `stop`: why it ends, in one line and an exit code; `input`: files that are read; `output`: where results go,
//!   `table`: how they are laid out; `style`: colour; `progress`: a bar; `work`: what may take long, and can be stopped;
//! - `numbers`: sizes and ranges as they are typed; `choice`: which algorithms are meant; `place`: where ranks go;
//! - the other files are a command each.

use std::io::Write;
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

mod algorithms;
mod bench;
mod check;
mod choice;
mod compare;
mod draw;
mod explain;
mod input;
mod latency;
mod machine;
mod numbers;
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
    Machine(machine::Arguments),
    Completions(shell::Completions),
    #[command(name = "man")]
    Manual(shell::Manual),
}

fn main() -> ExitCode {
    #[cfg(rankfold_hwloc)]
    silence_libhwloc();
    match parsed() {
        Ok(arguments) => ended(run(arguments.command)),
        Err(error) if error.use_stderr() => ended(Err(Stop::from_clap(&error))),
        // Help or the version was asked for.
        Err(help) => {
            // A reader that has gone away wants no more of it.
            let _ = std::io::stdout().write_all(help.render().to_string().as_bytes());
            ExitCode::SUCCESS
        }
    }
}

/// Starts the tool again with libhwloc told to keep what it thinks of the machine to itself. It reads that from the
/// environment, and other threads may read there while a thread writes; so it is set for a new program, not here.
#[cfg(rankfold_hwloc)]
fn silence_libhwloc() {
    use std::os::unix::process::CommandExt;

    const HIDE: &str = "HWLOC_HIDE_ERRORS";
    let (mut words, program) = (std::env::args_os(), std::env::current_exe());
    let (None, Ok(program), Some(name)) = (std::env::var_os(HIDE), program, words.next()) else {
        return;
    };
    // It returns only where the system refuses; then there may be a line too many on stderr.
    let _ = std::process::Command::new(program)
        .arg0(name)
        .args(words)
        .env(HIDE, "2")
        .exec();
}

/// A number with a sign is the value of the option before it, which says what it thinks of it, and no option itself.
fn parsed() -> Result<Arguments, clap::Error> {
    let signs = |argument: Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    let tool = Arguments::command().mut_subcommands(|command| command.mut_args(signs));
    Arguments::from_arg_matches(&tool.try_get_matches()?)
}

fn run(command: Command) -> Result<(), Stop> {
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
        Command::Machine(arguments) => machine::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments),
        Command::Manual(arguments) => shell::manual(&arguments),
    }
}

fn ended(result: Result<(), Stop>) -> ExitCode {
    let Err(stop) = result else {
        return ExitCode::SUCCESS;
    };
    if let Some(line) = stop.line() {
        // There is nobody else to tell.
        let _ = writeln!(std::io::stderr(), "error: {line}");
    }
    stop.code()
}
