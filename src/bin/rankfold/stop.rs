//! Why the tool ends before its end: one line, and an exit code.

use std::fmt::Display;
use std::process::ExitCode;

use clap::error::ErrorKind;

/// What stopped it.
#[derive(Debug)]
pub enum Stop {
    /// What was asked for makes no sense, or cannot be read or written.
    Input(String),
    /// A fault was found where there should be none.
    Fault(String),
    /// Ctrl-C ended it; what there was has been written.
    Interrupted,
    /// Whoever read the output has gone away, and wants no more of it.
    Gone,
}

impl Stop {
    pub fn input(what: impl Display) -> Stop {
        Stop::Input(what.to_string())
    }

    /// What clap says, on one line and without its advice on how to ask for help.
    pub fn from_clap(error: &clap::Error) -> Stop {
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Stop::input("say what to do; `rankfold --help` lists the commands");
        }
        let text = error.render().to_string();
        let lines = text.lines().map(str::trim);
        let own =
            lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let line = own.fold(String::new(), |all, line| match line {
            "" => all,
            _ if line.starts_with("tip:") => all + "; " + line,
            _ => all + " " + line,
        });
        Stop::input(line.trim_start().trim_start_matches("error: "))
    }

    /// What there is to be said.
    pub fn line(&self) -> Option<&str> {
        match self {
            Stop::Input(line) | Stop::Fault(line) => Some(line),
            Stop::Interrupted | Stop::Gone => None,
        }
    }

    pub fn code(&self) -> ExitCode {
        match self {
            Stop::Input(_) => ExitCode::from(2),
            Stop::Fault(_) => ExitCode::FAILURE,
            Stop::Interrupted => ExitCode::from(130),
            Stop::Gone => ExitCode::SUCCESS,
        }
    }
}
