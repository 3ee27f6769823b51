//! `rankfold-mpicc prog.c -o prog`: compiles a program in C for `rankfold-mpirun`, with the C compiler of the machine and the
//! header `mpi.h` of rankfold.
//!
//! The result is a shared object, of which each rank has a copy of its own. What ends a process there ends a rank, and a
//! global name of the program is its own, whatever the launcher has under it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Functions that end a process.
const ENDS: [&str; 5] = ["exit", "_exit", "_Exit", "quick_exit", "abort"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        None => {
            eprintln!("usage: rankfold-mpicc [--header | --show] arguments of the C compiler");
            ExitCode::FAILURE
        }
        Some("--header") => {
            print!("{}", rankfold_mpi::header());
            ExitCode::SUCCESS
        }
        Some("--show" | "-show") => {
            println!(
                "{} {}",
                compiler(),
                command(Path::new("<folder of mpi.h>"), &arguments[1..]).join(" ")
            );
            ExitCode::SUCCESS
        }
        Some(_) => compile(&arguments).unwrap_or_else(|error| {
            eprintln!("rankfold-mpicc: {error}");
            ExitCode::FAILURE
        }),
    }
}

fn compiler() -> String {
    env::var("RANKFOLD_CC").unwrap_or_else(|_| "cc".into())
}

/// The arguments of the compiler.
fn command(headers: &Path, arguments: &[String]) -> Vec<String> {
    let only_compiles = arguments
        .iter()
        .any(|it| ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"].contains(&it.as_str()));
    let mut all = vec![
        "-g".into(),
        "-fPIC".into(),
        format!("-I{}", headers.display()),
    ];
    all.extend(arguments.iter().cloned());
    if !only_compiles {
        all.extend(["-shared".into(), "-Wl,-Bsymbolic".into()]);
        all.extend(ENDS.map(|name| format!("-Wl,--wrap={name}")));
    }
    all
}

fn compile(arguments: &[String]) -> std::io::Result<ExitCode> {
    let headers: PathBuf = env::temp_dir().join(format!("rankfold-mpicc-{}", std::process::id()));
    fs::create_dir_all(&headers)?;
    fs::write(headers.join("mpi.h"), rankfold_mpi::header())?;
    let status = Command::new(compiler())
        .args(command(&headers, arguments))
        .status();
    fs::remove_dir_all(&headers)?;
    let code = status?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
