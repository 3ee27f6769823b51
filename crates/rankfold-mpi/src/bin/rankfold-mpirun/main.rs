//! `rankfold-mpirun -n 4 ./prog`: runs a program that `rankfold-mpicc` made on the threads of this process.

mod arguments;
mod elf;
mod object;
#[path = "../../sections.rs"]
mod sections;

use std::process::ExitCode;

use arguments::Arguments;
use object::{Copies, Object};
use rankfold_mpi::{Failed, output};

const USAGE: &str = "usage: rankfold-mpirun [-n RANKS] [--check] [--zero-buffering] [--seed N | --seed order:LIST] [--explore] \
                     [--trace FILE] [--timeout SECONDS] [--label] program [its arguments]";

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => run(&arguments),
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> ExitCode {
    // Programs that are loaded call these.
    std::hint::black_box((
        rankfold_mpi::exports::addresses(),
        rankfold_mpi::process::addresses(),
        output::addresses(),
    ));
    let object = Object::new(&arguments.program, &arguments.rest);
    match object.and_then(|object| run_object(arguments, object)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failed)) => {
            eprintln!("{failed}");
            ExitCode::from(failed.code())
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the program; an error here is one of the launcher.
fn run_object(arguments: &Arguments, mut object: Object) -> Result<Result<(), Failed>, String> {
    if arguments.label {
        output::label();
    }
    output::share();
    // A program that cannot be loaded is told before anything else.
    let mut first = Some(object.load(arguments.ranks)?);
    rankfold_mpi::process::handle_signals();
    rankfold_mpi::watch::start(object.folder()).map_err(|error| error.to_string())?;
    let program = arguments.settings();
    let result = match arguments.explore {
        false => program.run(
            first
                .take()
                .map_or_else(|| unreachable!("it was loaded"), main_of),
        ),
        true => {
            output::hold();
            let explored = program.explore_by(|_| {
                output::forget();
                let copies = first
                    .take()
                    .map_or_else(|| object.load(arguments.ranks), Ok);
                copies.map(main_of)
            });
            explored.map(|explored| {
                output::forget();
                eprintln!("{explored}");
            })
        }
    };
    output::finish();
    match rankfold_mpi::process::has_strayed() && result.is_ok() {
        true => Err("a thread that is no rank called MPI".into()),
        false => Ok(result),
    }
}

/// The `main` of all ranks: each calls that of its copy.
fn main_of(copies: Copies) -> impl Fn() -> ExitCode + Send + Sync + 'static {
    move || {
        let _stack = rankfold_mpi::process::ForSignals::new();
        let code = copies.call_main(rankfold_mpi::process::rank());
        match code as u8 {
            0 if code != 0 => ExitCode::FAILURE,
            code => ExitCode::from(code),
        }
    }
}
