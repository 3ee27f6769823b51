//! What ends a process, and here ends a rank: `exit`, `abort` and signals of a program in C.
//!
//! `rankfold-mpicc` links a program such that its calls of these functions come here.
//!
//! # Why this is sound
//!
//! The functions are called by programs in C with the types that C's standard gives them. A signal that is handled was
//! raised by an instruction of the thread that runs the handler, so that it interrupts the program's own code, or a copy
//! from or to a buffer of the program.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use rankfold::Outcome;

use crate::launch::end;
use crate::rank::{Phase, Rank, current};

unsafe extern "C" {
    fn fflush(stream: *mut c_void) -> c_int;
    #[link_name = "signal"]
    fn set_signal(number: c_int, handler: usize) -> usize;
    #[link_name = "_exit"]
    fn exit_now(code: c_int) -> !;
}

/// Signals that an instruction of the program raises, and their names.
const SIGNALS: [(c_int, &str); 4] = [(4, "SIGILL"), (7, "SIGBUS"), (8, "SIGFPE"), (11, "SIGSEGV")];

fn flush() {
    // SAFETY: null flushes all streams.
    unsafe { fflush(std::ptr::null_mut()) };
}

/// How a rank ends that calls `exit`.
fn exited(rank: &Rank, code: c_int) -> Outcome<(), String> {
    match (code, rank.phase.get()) {
        (0, Phase::Running) => Outcome::Failed("it called exit(0) without MPI_Finalize".into()),
        (0, _) => Outcome::Returned(()),
        _ => Outcome::Failed(format!("it called exit({code})")),
    }
}

/// `exit` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_exit(code: c_int) -> ! {
    flush();
    match current() {
        Some(rank) => end(&rank, exited(&rank, code)),
        None => std::process::exit(code),
    }
}

/// `_exit` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap__exit(code: c_int) -> ! {
    __wrap_exit(code)
}

/// `abort` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_abort() -> ! {
    flush();
    match current() {
        Some(rank) => end(&rank, Outcome::Failed("it called abort".into())),
        None => std::process::abort(),
    }
}

extern "C" fn on_signal(number: c_int) {
    let name = SIGNALS
        .iter()
        .find(|(signal, _)| *signal == number)
        .map_or("a signal", |(_, name)| name);
    match current() {
        Some(rank) => {
            let place = crate::line::of_the_program()
                .map_or_else(String::new, |place| format!(" at {place}"));
            end(
                &rank,
                Outcome::Failed(format!("it was ended by {name}{place}")),
            )
        }
        // SAFETY: it ends the process.
        None => unsafe { exit_now(128 + number) },
    }
}

/// From now on a signal that an instruction raises ends its rank alone.
pub fn handle_signals() {
    for (number, _) in SIGNALS {
        // SAFETY: the handler is a function of one number, which C's `signal` asks for.
        unsafe { set_signal(number, (on_signal as *const ()).expose_provenance()) };
    }
}

/// The addresses of these functions, so that a program that loads others links to them.
pub fn addresses() -> [usize; 3] {
    let all: [*const (); 3] = [__wrap_exit as _, __wrap__exit as _, __wrap_abort as _];
    all.map(<*const ()>::addr)
}
