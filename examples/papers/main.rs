//! The listings of five texts, run on threads: each prints its messages by step, and what the ranks end with.
//!
//! ```text
//! cargo run --release --example papers -- reduce-2-tree --ranks 8
//! ```
//!
//! `docs/papers.md` has the texts. Start reading at `programs`, which has the programs; `options` is the command line,
//! `show` what is printed.
//!
//! Exit codes: 0 success, 1 a run failed, 2 wrong arguments.

mod options;
mod programs;
mod show;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let printed = match arguments.is_empty() {
        true => options::NAMES.iter().map(|name| perform(&[name])).collect(),
        false => perform(&arguments),
    };
    match printed {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

/// Runs the program that the arguments name, and returns what it prints.
fn perform(arguments: &[impl AsRef<str>]) -> Result<String, show::Failure> {
    let options = options::parse(arguments).map_err(show::Failure::Usage)?;
    show::printed(&options)
}
