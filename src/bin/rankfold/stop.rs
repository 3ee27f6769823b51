//! Why the tool ends early: one line, and an exit code.

use std::error::Error;
use std::fmt::Display;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::other;

/// Why it ends.
#[derive(Debug)]
pub enum Stop {
    /// The input makes no sense, or cannot be read or written.
    Input(String),
    /// A fault was found where there should be none.
    Fault(String),
    /// Ctrl-C ended it; the results so far have been written.
    Interrupted,
    /// The reader of the output has closed the pipe, and wants no more of it.
    Gone,
}

impl Stop {
    pub fn input(what: impl Display) -> Stop {
        Stop::Input(what.to_string())
    }

    /// Converts clap's error to one line, without its advice on how to ask for help.
    pub fn from_clap(error: &clap::Error) -> Stop {
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Stop::input("say what to do; `rankfold --help` lists the commands");
        }
        if let Some(line) = unknown_command(error) {
            return Stop::Input(line);
        }
        let text = in_our_words(error);
        let lines = text.lines().map(str::trim);
        let own =
            lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        // The tip to pass an unknown option as a value is never what the user wants.
        let own = own.filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"));
        let mut line = own.fold(String::new(), |all, line| match line {
            _ if line.starts_with("tip:") => all + "; " + line,
            _ => all + " " + line,
        });
        if error.kind() == ErrorKind::UnknownArgument && !line.contains("; tip:") {
            line += "; `--help` lists what there is";
        }
        Stop::input(line.trim_start().trim_start_matches("error: "))
    }

    /// Returns the error line, if there is one.
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

/// Returns what to say of a command that there is not; `None` if something else is wrong.
fn unknown_command(error: &clap::Error) -> Option<String> {
    let name = match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(name) if other::is_asked(name) => name,
        _ => return None,
    };
    let similar = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names.first(),
        _ => None,
    };
    Some(other::missing(name, similar.map(String::as_str)))
}

/// Returns clap's error, with our words where the standard library's are about digits and types.
fn in_our_words(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let known = error
        .source()
        .and_then(|source| Some((source.to_string(), wanted(source)?)));
    match known {
        Some((theirs, ours)) => text.replacen(&theirs, ours, 1),
        None => text,
    }
}

/// Returns what was expected instead of the given value.
fn wanted(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if error.is::<ParseFloatError>() {
        return Some("it is no number");
    }
    Some(match error.downcast_ref::<ParseIntError>()?.kind() {
        IntErrorKind::PosOverflow => "it is too large a number",
        IntErrorKind::Zero => "it must be at least 1",
        _ => "it is no whole number",
    })
}
