//! The end of a process whose ranks do not end: a rank that a signal ended may hold locks of the C library, and ranks that
//! compute without calls of MPI never learn that another one has failed.
//!
//! # Why this is sound
//!
//! What is called here are functions of C's library with the types that POSIX gives them, on strings and bytes of this
//! process. From the first failure on, the thread that watches neither allocates nor locks.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::process::name_of;

unsafe extern "C" {
    fn write(file: c_int, bytes: *const c_void, len: usize) -> isize;
    fn posix_spawn(
        child: *mut c_int,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int;
    fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    #[link_name = "_exit"]
    fn exit_now(code: c_int) -> !;
}

/// The rank and number of the first signal, and a bit that says that there is one.
static SIGNAL: AtomicUsize = AtomicUsize::new(0);
const IS_THERE: usize = 1 << 63;
/// How the first rank failed, in a line, and the exit code.
static FAILURE: OnceLock<(String, u8)> = OnceLock::new();

const TICK: Duration = Duration::from_millis(100);
/// How many ticks the handler of a signal, and the other ranks after a failure, have.
const FOR_HANDLER: u32 = 30;
const FOR_OTHERS: u32 = 100;

/// Notes that a signal ends a rank.
pub(crate) fn note_signal(rank: usize, number: c_int) {
    let signal = IS_THERE | rank << 8 | number as usize;
    // Relaxed: the number is all that the watching thread reads.
    _ = SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

/// Notes how a rank failed.
pub(crate) fn note_failure(rank: usize, why: &str, code: u8) {
    FAILURE.get_or_init(|| (format!("rank {rank}: {why}"), code));
}

/// Starts the thread that ends the process if, after a failure, its ranks do not end. `folder` is removed then.
///
/// # Errors
///
/// The thread cannot start.
pub fn start(folder: CString) -> std::io::Result<()> {
    let thread = thread::Builder::new().name("watch".into());
    thread
        .spawn(move || {
            watch();
            let code = report();
            remove(&folder);
            // SAFETY: it ends the process.
            unsafe { exit_now(code) }
        })
        .map(drop)
}

/// Removes a folder with all that is in it. Another process does so, since this one may hold the lock of its memory.
fn remove(folder: &CStr) {
    let mut child = 0;
    let arguments = [c"rm", c"-rf", folder].map(CStr::as_ptr);
    let arguments = [arguments[0], arguments[1], arguments[2], ptr::null()];
    let (none, nothing) = (ptr::null(), [ptr::null()]);
    // SAFETY: strings, and lists of strings that end with null. No memory of this process is needed for it.
    unsafe {
        let rm = c"/bin/rm".as_ptr();
        if posix_spawn(
            &mut child,
            rm,
            none,
            none,
            arguments.as_ptr(),
            nothing.as_ptr(),
        ) == 0
        {
            waitpid(child, ptr::null_mut(), 0);
        }
    }
}

/// Returns when the ranks have had their time.
fn watch() {
    let (mut in_handler, mut failed) = (0, 0);
    while in_handler < FOR_HANDLER && failed < FOR_OTHERS {
        thread::sleep(TICK);
        let has_failed = FAILURE.get().is_some();
        failed += u32::from(has_failed);
        // Relaxed: as in `note_signal`.
        let signalled = SIGNAL.load(Ordering::Relaxed) != 0;
        in_handler += u32::from(signalled && !has_failed);
    }
}

/// Ends the process after a signal to a thread that is no rank, one of the program's own.
pub(crate) fn end_without_rank(number: c_int) -> ! {
    say("a thread of the program that is no rank was ended by ");
    say(name_of(number));
    say("\n");
    // SAFETY: it ends the process.
    unsafe { exit_now(128 + number) }
}

fn say(text: &str) {
    // SAFETY: the bytes of a string.
    unsafe { write(2, text.as_ptr().cast(), text.len()) };
}

fn say_number(number: usize) {
    if number > 9 {
        say_number(number / 10);
    }
    let digits = "0123456789";
    say(&digits[number % 10..=number % 10]);
}

/// Prints what is known; returns the code of the process.
fn report() -> c_int {
    // Relaxed: as in `note_signal`.
    let signal = SIGNAL.load(Ordering::Relaxed);
    let (rank, number) = ((signal & !IS_THERE) >> 8, (signal & 0xff) as c_int);
    match FAILURE.get() {
        Some((line, _)) => say(line),
        None => {
            say("rank ");
            say_number(rank);
            say(": it was ended by ");
            say(name_of(number));
        }
    }
    say("\nthe other ranks did not end\n");
    match (signal, FAILURE.get()) {
        (0, Some((_, code))) => (*code).into(),
        _ => 128 + number,
    }
}
