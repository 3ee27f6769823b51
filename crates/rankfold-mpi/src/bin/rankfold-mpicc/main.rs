//! `rankfold-mpicc prog.c -o prog`: compiles a program in C for `rankfold-mpirun`, with the C compiler of the machine and the
//! header `mpi.h` of rankfold.
//!
//! The result is a shared object, of which each rank has a copy of its own. What ends a process there ends a rank, what it
//! prints comes out in whole lines, and a global name of the program is its own, whatever the launcher has under it.

mod defined;
#[path = "../../sections.rs"]
mod sections;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// Names of the C library that mean something else in a rank: functions that end a process, its output, and functions with a
/// state of which a process has one.
const WRAPPED: [&str; 39] = [
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "abort",
    "stdout",
    "stderr",
    "printf",
    "vprintf",
    "__printf_chk",
    "__vprintf_chk",
    "puts",
    "putchar",
    "putchar_unlocked",
    "perror",
    "fileno",
    "getopt",
    "getopt_long",
    "getopt_long_only",
    "optarg",
    "optind",
    "opterr",
    "optopt",
    "strtok",
    "rand",
    "srand",
    "random",
    "srandom",
    "initstate",
    "setstate",
    "drand48",
    "lrand48",
    "mrand48",
    "srand48",
    "erand48",
    "nrand48",
    "jrand48",
    "seed48",
    "lcong48",
];

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
                command(
                    Path::new("<folder of mpi.h and what is linked>"),
                    &arguments[1..],
                    &WRAPPED
                )
                .join(" ")
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

/// What is linked to each program: the names of the sources and of what they are compiled to.
const LINKED: [(&str, &str, &str); 2] = [
    ("streams.c", rankfold_mpi::output::STREAMS_C, "streams.o"),
    ("states.c", rankfold_mpi::output::STATES_C, "states.o"),
];

/// Whether the compiler is not to link.
fn only_compiles(arguments: &[String]) -> bool {
    arguments
        .iter()
        .any(|it| ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"].contains(&it.as_str()))
}

/// The arguments of the compiler, with the names whose uses lead elsewhere.
fn command(folder: &Path, arguments: &[String], wrapped: &[&str]) -> Vec<String> {
    let mut all = vec![
        "-g".into(),
        "-fPIC".into(),
        format!("-I{}", folder.display()),
    ];
    all.extend(arguments.iter().cloned());
    if !only_compiles(arguments) {
        // After a `-x c` of the program.
        all.extend(["-x".into(), "none".into()]);
        all.extend(LINKED.map(|(.., made)| folder.join(made).display().to_string()));
        all.extend(["-shared".into(), "-Wl,-Bsymbolic".into()]);
        all.extend(wrapped.iter().map(|name| format!("-Wl,--wrap={name}")));
    }
    all
}

fn compile_in(folder: &Path, arguments: &[String]) -> std::io::Result<ExitStatus> {
    fs::write(folder.join("mpi.h"), rankfold_mpi::header())?;
    if !only_compiles(arguments) {
        for (name, text, object) in LINKED {
            let source = folder.join(name);
            fs::write(&source, text)?;
            let made = Command::new(compiler())
                .args(["-O2", "-fPIC", "-w", "-c", "-o"])
                .args([&folder.join(object), &source])
                .status()?;
            if !made.success() {
                return Ok(made);
            }
        }
    }
    let made = Command::new(compiler())
        .args(command(folder, arguments, &WRAPPED))
        .status()?;
    if !made.success() || only_compiles(arguments) {
        return Ok(made);
    }
    with_own_functions(folder, arguments).map(|again| again.unwrap_or(made))
}

/// Where the compiler puts the program.
fn output(arguments: &[String]) -> &str {
    let separate = arguments.iter().position(|it| it == "-o");
    let separate = separate.and_then(|at| arguments.get(at + 1));
    let joined = || arguments.iter().find_map(|it| it.strip_prefix("-o"));
    separate
        .map(String::as_str)
        .or_else(joined)
        .unwrap_or("a.out")
}

/// Links a program once more that defines functions of these names itself: they are its own in all its files.
fn with_own_functions(folder: &Path, arguments: &[String]) -> std::io::Result<Option<ExitStatus>> {
    let own = fs::read(output(arguments)).map(|program| defined::defined(&program, &WRAPPED));
    let mut own = own.unwrap_or_default();
    // What is linked calls the function of the C library by way of the linker.
    own.retain(|name| *name != "fileno");
    // Of the C library's function the results are where it writes them.
    if !own.iter().any(|name| name.starts_with("getopt")) {
        own.retain(|name| !name.starts_with("opt"));
    }
    // What comes from the standard input was read before.
    if own.is_empty() || arguments.iter().any(|it| it == "-") {
        return Ok(None);
    }
    let mut others = WRAPPED.to_vec();
    others.retain(|name| !own.contains(name));
    let made = Command::new(compiler())
        .args(command(folder, arguments, &others))
        .output()?;
    // Its warnings were printed before.
    if !made.status.success() {
        eprint!("{}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(Some(made.status))
}

fn compile(arguments: &[String]) -> std::io::Result<ExitCode> {
    let folder: PathBuf = env::temp_dir().join(format!("rankfold-mpicc-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let status = compile_in(&folder, arguments);
    fs::remove_dir_all(&folder)?;
    let code = status?.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
