//! `rankfold-mpirun -n 4 ./prog`: runs a program that `rankfold-mpicc` made on the threads of this process.

mod arguments;
mod object;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arguments::Arguments;
use object::Objects;

const USAGE: &str = "usage: rankfold-mpirun [-n RANKS] [--check] [--zero-buffering] [--seed N] [--timeout SECONDS] \
                     program [its arguments]";

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
    ));
    let objects = match Objects::load(&arguments.program, arguments.ranks, &arguments.rest) {
        Ok(objects) => Arc::new(objects),
        Err(why) => {
            eprintln!("rankfold-mpirun: {why}");
            return ExitCode::FAILURE;
        }
    };
    rankfold_mpi::process::handle_signals();
    let (files, folder) = objects.files();
    if let Err(why) = rankfold_mpi::watch::start(files, folder) {
        eprintln!("rankfold-mpirun: {why}");
    }
    let (next, copies) = (AtomicUsize::new(0), objects.clone());
    let result = arguments.settings().run(move || {
        rankfold_mpi::process::prepare_thread();
        // Relaxed: each rank takes another copy, whichever that is.
        let code = copies.call_main(next.fetch_add(1, Ordering::Relaxed));
        u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
    });
    objects.remove_files();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{failed}");
            ExitCode::FAILURE
        }
    }
}
