//! The wrapper of the compiler: for a program that may use `mpi`, the compiler reads a rewritten copy of the root file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::rewrite::{End, rewritten};
use crate::{code, failed};

/// Set in the environment of the wrapper.
pub const IS_WRAPPER: &str = "RANKFOLD_MPI_WRAPPER";

/// Calls the compiler: its path is the first argument.
pub fn compile(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let Some(compiler) = arguments.next() else {
        eprintln!("the wrapper of the compiler is called without a compiler");
        return ExitCode::FAILURE;
    };
    let mut arguments: Vec<String> = arguments.collect();
    if let Err(error) = replace_root(&mut arguments) {
        return failed("the copy of a program cannot be written", &error);
    }
    match Command::new(compiler).args(arguments).status() {
        Ok(status) => code(status.code()),
        Err(error) => failed("the compiler does not start", &error),
    }
}

/// The value of an option, which is the next argument or follows an equals sign.
fn value<'a>(arguments: &'a [String], option: &str) -> Option<&'a str> {
    let next = arguments
        .iter()
        .position(|it| it == option)
        .and_then(|at| arguments.get(at + 1));
    let joined = || {
        arguments
            .iter()
            .find_map(|it| it.strip_prefix(option)?.strip_prefix('='))
    };
    next.map(String::as_str).or_else(joined)
}

/// Whether the compiler makes a program, or the tests of one, that links to `mpi`. Of tests only the `main` tells whether
/// they are those of a program.
fn is_program(arguments: &[String]) -> bool {
    let links = arguments.iter().any(|it| it.starts_with("mpi="));
    links && (value(arguments, "--crate-type") == Some("bin") || is_test(arguments))
}

fn is_test(arguments: &[String]) -> bool {
    arguments.iter().any(|it| it == "--test")
}

/// Replaces the root file of a program by a rewritten copy.
fn replace_root(arguments: &mut Vec<String>) -> std::io::Result<()> {
    let root = arguments
        .iter()
        .position(|it| it.ends_with(".rs") && Path::new(it).is_file());
    let (Some(at), true) = (root, is_program(arguments)) else {
        return Ok(());
    };
    let original = fs::canonicalize(&arguments[at])?;
    let end = if is_test(arguments) {
        End::Test
    } else {
        End::Main
    };
    let Some(text) = rewritten(&fs::read_to_string(&original)?, &original, end) else {
        return Ok(());
    };
    let name = value(arguments, "--crate-name").unwrap_or("program");
    let folder = value(arguments, "--out-dir").map_or_else(std::env::temp_dir, PathBuf::from);
    let copy = folder.join(format!("rankfold-mpi-{name}.rs"));
    fs::write(&copy, text)?;
    let remap = format!("--remap-path-prefix={}={}", copy.display(), arguments[at]);
    arguments[at] = copy.display().to_string();
    arguments.push(remap);
    Ok(())
}
