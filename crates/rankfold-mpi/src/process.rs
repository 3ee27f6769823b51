//! What ends a process, and here ends a rank: `exit` and its kin, `abort`, and signals of a program in C.
//!
//! `rankfold-mpicc` links a program such that its calls of these functions come here.
//!
//! # Why this is sound
//!
//! The functions are called by programs in C with the types that C's standard gives them. A signal that is handled was
//! raised by an instruction of the thread that runs the handler, so that it interrupts the program's own code, or a copy
//! from or to a buffer of the program.
#![allow(unsafe_code, non_snake_case)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use rankfold::Outcome;

use crate::launch::{STACK, end};
use crate::rank::{Phase, Rank, current};
use crate::watch;

/// `struct sigaction` of Linux.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

/// The beginning of `siginfo_t` of Linux.
#[repr(C)]
struct Info {
    numbers: [c_int; 4],
    address: usize,
}

/// `stack_t` of Linux.
#[repr(C)]
struct SignalStack {
    at: *mut c_void,
    flags: c_int,
    len: usize,
}

const SS_DISABLE: c_int = 2;
const SA_SIGINFO: c_int = 4;
const SA_ONSTACK: c_int = 0x0800_0000;

unsafe extern "C" {
    fn fflush(stream: *mut c_void) -> c_int;
    fn sigaction(number: c_int, new: *const Action, old: *mut Action) -> c_int;
    fn sigaltstack(new: *const SignalStack, old: *mut SignalStack) -> c_int;
}

const SIGABRT: c_int = 6;

/// Signals that the program raises itself, and their names.
const SIGNALS: [(c_int, &str); 7] = [
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (SIGABRT, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (11, "SIGSEGV"),
    (31, "SIGSYS"),
];

thread_local! {
    /// An address near the beginning of the rank's stack.
    static TOP: Cell<usize> = const { Cell::new(0) };
}

/// The exit code of a process that a signal ends, as shells have it.
fn signalled(number: c_int) -> c_int {
    128 + number
}

/// The name of a signal.
pub(crate) fn name_of(number: c_int) -> &'static str {
    let found = SIGNALS.iter().find(|(signal, _)| *signal == number);
    found.map_or("a signal", |(_, name)| name)
}

/// Writes what the C library has buffered.
pub(crate) fn flush() {
    // SAFETY: null flushes all streams.
    unsafe { fflush(std::ptr::null_mut()) };
}

/// How a rank ends that calls one of these functions.
fn exited(rank: &Rank, call: &str, code: c_int) -> Outcome<(), String> {
    let what = match (code, rank.phase.get()) {
        // As what returns from `main` then.
        (0, Phase::BeforeInit | Phase::Finalized) => return Outcome::Returned(()),
        (0, Phase::Running) => "(0) without MPI_Finalize".into(),
        _ => format!("({code})"),
    };
    rank.shared.note_code(code);
    Outcome::Failed(format!("it called {call}{what}{}", place()))
}

/// The line of the program, if it is known.
fn place() -> String {
    crate::line::of_the_program().map_or_else(String::new, |place| format!(" at {place}"))
}

fn exit_as(call: &str, code: c_int) -> ! {
    flush();
    match current() {
        Some(rank) => end(&rank, exited(&rank, call, code)),
        None => std::process::exit(code),
    }
}

/// `exit` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_exit(code: c_int) -> ! {
    exit_as("exit", code)
}

/// `_exit` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap__exit(code: c_int) -> ! {
    exit_as("_exit", code)
}

/// `_Exit` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap__Exit(code: c_int) -> ! {
    exit_as("_Exit", code)
}

/// `quick_exit` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_quick_exit(code: c_int) -> ! {
    exit_as("quick_exit", code)
}

/// `abort` of a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn __wrap_abort() -> ! {
    flush();
    match current() {
        Some(rank) => {
            rank.shared.note_code(signalled(SIGABRT));
            let text = format!("it called abort{}", place());
            end(&rank, Outcome::Failed(text))
        }
        None => watch::end_without_rank(SIGABRT),
    }
}

/// Where the program counter is in the `ucontext_t` of Linux.
#[cfg(target_arch = "x86_64")]
const COUNTER: usize = 168;
#[cfg(target_arch = "aarch64")]
const COUNTER: usize = 440;

/// Backtraces look for lines one byte before the address in a frame, since that of a call is the one after it. That of a
/// signal is the instruction itself.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn step_over_instruction(context: *mut c_void) {
    let counter = context.wrapping_byte_add(COUNTER).cast::<usize>();
    // SAFETY: the context that the kernel passed to the handler, which never returns to it.
    unsafe { *counter = (*counter).wrapping_add(1) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn step_over_instruction(_context: *mut c_void) {}

extern "C" fn on_signal(number: c_int, info: *const Info, context: *mut c_void) {
    let Some(rank) = current() else {
        watch::end_without_rank(number);
    };
    rank.shared.note_code(signalled(number));
    // What follows may wait for a lock that this thread holds.
    watch::note_signal(rank.me(), number);
    step_over_instruction(context);
    // SAFETY: the kernel passes what it knows of the signal.
    let address = unsafe { (*info).address };
    let name = name_of(number);
    let what = match is_beyond_stack(number, address) {
        true => format!("{name}: its stack of {} MiB is full", STACK >> 20),
        false => format!("{name}{}", place()),
    };
    end(&rank, Outcome::Failed(format!("it was ended by {what}")))
}

/// Whether a fault was at the end of the stack of this rank.
fn is_beyond_stack(number: c_int, address: usize) -> bool {
    const NEAR: usize = 1 << 20;
    let end = TOP.get().saturating_sub(STACK);
    name_of(number) == "SIGSEGV" && end > 0 && address.abs_diff(end) < NEAR
}

/// From now on a signal that the program raises ends its rank alone.
pub fn handle_signals() {
    let action = Action {
        handler: (on_signal as *const ()).expose_provenance(),
        mask: [0; 16],
        flags: SA_SIGINFO | SA_ONSTACK,
        restorer: 0,
    };
    for (number, _) in SIGNALS {
        // SAFETY: the handler takes the three arguments that the flag asks for.
        unsafe { sigaction(number, &action, std::ptr::null_mut()) };
    }
}

/// The rank of this thread, if it is one.
pub(crate) fn rank_of_thread() -> Option<usize> {
    current().map(|rank| rank.me())
}

/// Whether a thread that is no rank has made a call of MPI, which failed.
pub fn has_strayed() -> bool {
    crate::call::has_strayed()
}

/// The rank of this thread; 0 on a thread that is none.
pub fn rank() -> usize {
    current().map_or(0, |rank| rank.me())
}

/// The stack of a thread for signals, which tells a full stack too. A rank that never returns keeps it.
pub struct ForSignals {
    room: Vec<u128>,
}

impl ForSignals {
    /// Gives the thread of a rank such a stack.
    pub fn new() -> ForSignals {
        let here = 0u8;
        TOP.set((&raw const here).addr());
        let mut room = vec![0u128; 1 << 15];
        let stack = SignalStack {
            at: room.as_mut_ptr().cast(),
            flags: 0,
            len: size_of_val(&room[..]),
        };
        // SAFETY: the memory is this thread's alone until the stack is taken away.
        unsafe { sigaltstack(&stack, std::ptr::null_mut()) };
        ForSignals { room }
    }
}

impl Default for ForSignals {
    fn default() -> Self {
        ForSignals::new()
    }
}

impl Drop for ForSignals {
    fn drop(&mut self) {
        TOP.set(0);
        let none = SignalStack {
            at: std::ptr::null_mut(),
            flags: SS_DISABLE,
            len: self.room.len(),
        };
        // SAFETY: the thread has none from here on, and is not on it: no handler of a signal returns here.
        unsafe { sigaltstack(&none, std::ptr::null_mut()) };
    }
}

/// The addresses of these functions, so that a program that loads others links to them.
pub fn addresses() -> [usize; 5] {
    let all: [*const (); 5] = [
        __wrap_exit as _,
        __wrap__exit as _,
        __wrap__Exit as _,
        __wrap_quick_exit as _,
        __wrap_abort as _,
    ];
    all.map(<*const ()>::addr)
}
