//! Subcommands that are programs of their own, found as cargo finds its: `rankfold mpirun` is `rankfold-mpirun`, beside the
//! tool or in a folder of PATH.

use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::CommandFactory;

/// Runs the program of a subcommand that is not the tool's own; `None` if there is none.
pub fn run() -> Option<ExitCode> {
    let mut words = env::args_os().skip(1);
    let name = words.next()?.into_string().ok()?;
    let is_own = crate::Arguments::command().find_subcommand(&name).is_some() || name == "help";
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if is_own || name.starts_with('-') || !name.chars().all(is_name) {
        return None;
    }
    let program = found(&format!("rankfold-{name}{EXE_SUFFIX}"))?;
    Some(called(&program, words))
}

/// The commands that the crate `rankfold-mpi` brings.
const OF_MPI: [&str; 2] = ["mpirun", "mpicc"];

/// Returns whether the first word of the command line is this one.
pub fn is_asked(name: &str) -> bool {
    env::args_os().nth(1).is_some_and(|word| word == name)
}

/// Returns what to say of a command that is neither the tool's own nor a program, and perhaps similar to one.
pub fn missing(name: &str, similar: Option<&str>) -> String {
    let advice = match similar {
        _ if OF_MPI.contains(&name) => {
            "install it from the repository: cargo install --path crates/rankfold-mpi".into()
        }
        Some(similar) => format!("did you mean '{similar}'?"),
        None => "`rankfold --help` lists the commands".into(),
    };
    format!(
        "no command is called '{name}', and there is no rankfold-{name} beside rankfold or in PATH; {advice}"
    )
}

fn found(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok();
    let own = own.as_deref().and_then(|tool| tool.parent());
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = own
        .map(PathBuf::from)
        .into_iter()
        .chain(env::split_paths(&path));
    folders
        .map(|folder| folder.join(name))
        .find(|it| it.is_file())
}

fn called(program: &PathBuf, words: impl Iterator<Item = OsString>) -> ExitCode {
    match Command::new(program).args(words).status() {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) => {
            eprintln!("error: {}: {error}", program.display());
            // As for any other input that makes no sense.
            ExitCode::from(2)
        }
    }
}
