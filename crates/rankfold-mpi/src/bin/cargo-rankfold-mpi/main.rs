//! `cargo rankfold-mpi run --ranks 4 --example x`: runs a program that uses the crate `mpi`, unchanged, on the threads of
//! one process.
//!
//! It calls cargo with itself as the wrapper of the compiler for the packages of the workspace. For each program it has
//! the compiler read a copy of the root file in which `main` has another name, and a new `main` calls it on each rank; as
//! `cargo rankfold-mpi test` does, a test calls it.

mod arguments;
mod rewrite;
mod wrapper;

use std::env;
use std::process::{Command, ExitCode};

use arguments::Arguments;

const USAGE: &str = "usage: cargo rankfold-mpi build|run|test [--ranks N] [--check] [--zero-buffering] \
                     [--seed N | --seed order:LIST] [--explore] [--trace FILE] [--timeout SECONDS] \
                     [arguments of cargo build, run or test]";

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    if env::var_os(wrapper::IS_WRAPPER).is_some() {
        return wrapper::compile(arguments);
    }
    // Cargo passes the name of the subcommand.
    let mut rest: Vec<String> = arguments.by_ref().collect();
    if rest.first().is_some_and(|first| first == "rankfold-mpi") {
        rest.remove(0);
    }
    match Arguments::parse(rest) {
        Ok(arguments) => run(&arguments),
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> ExitCode {
    let this = match env::current_exe() {
        Ok(this) => this,
        Err(error) => return failed("the path of this program is not known", &error),
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .arg(&arguments.command)
        .args(&arguments.rest)
        .envs(arguments.settings.iter().cloned());
    command
        .env("RUSTC_WORKSPACE_WRAPPER", this)
        .env(wrapper::IS_WRAPPER, "1");
    match command.status() {
        Ok(status) => code(status.code()),
        Err(error) => failed("cargo does not start", &error),
    }
}

/// The exit code of a program that was called, passed on.
fn code(code: Option<i32>) -> ExitCode {
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

fn failed(what: &str, error: &std::io::Error) -> ExitCode {
    eprintln!("{what}: {error}");
    ExitCode::FAILURE
}
