//! The output of programs in C: whole lines, which can be labelled with their rank.
//!
//! `rankfold-mpicc` links `streams.c` to each program, so that each copy has streams of its own. What is written to them comes
//! here, is kept until its line is whole, and goes on to the process's output. So does what libraries write to the C
//! library's own `stdout` and `stderr`, as `std::cout` of C++ does: the thread tells the rank.
//!
//! # Why this is sound
//!
//! The two functions are called by `streams.c` with the types that it declares, and with a place and length of bytes that
//! it has. [`share`] makes streams by glibc's `fopencookie` with a function of the type that it declares, and puts them in
//! the place of two variables of the C library before any program is loaded that could read them.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::io::{self, Write};
use std::ptr::{self, without_provenance_mut};
use std::slice;
use std::sync::{Mutex, MutexGuard};

/// The streams of a rank, after their numbers in C.
const STREAMS: usize = 3;

struct Output {
    /// The rank whose copy is being loaded.
    loading: usize,
    is_labelled: bool,
    /// The beginnings of lines that are not whole, by rank and stream.
    begun: Vec<Vec<u8>>,
    /// Lines that are held back, each with its stream.
    held: Option<Vec<(usize, Vec<u8>)>>,
}

static OUTPUT: Mutex<Output> = Mutex::new(Output {
    loading: 0,
    is_labelled: false,
    begun: Vec::new(),
    held: None,
});

fn output() -> MutexGuard<'static, Output> {
    OUTPUT.lock().expect("no thread panics with it")
}

impl Output {
    fn write(&mut self, stream: usize, bytes: &[u8]) {
        if self.begun.len() <= stream {
            self.begun.resize(stream + 1, Vec::new());
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun[stream].extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.put(stream);
            }
        }
    }

    /// Writes what there is of a line.
    fn put(&mut self, stream: usize) {
        let line = std::mem::take(&mut self.begun[stream]);
        let label = match self.is_labelled {
            true => format!("[{}] ", stream / STREAMS).into_bytes(),
            false => Vec::new(),
        };
        let line = [label, line].concat();
        match &mut self.held {
            Some(held) => held.push((stream % STREAMS, line)),
            None => print(stream % STREAMS, &line),
        }
    }
}

/// Writes a line. That the reader of the output has gone is no error of the rank.
fn print(stream: usize, line: &[u8]) {
    if stream == 2 {
        io::stderr().lock().write_all(line).ok();
    } else {
        let mut out = io::stdout().lock();
        out.write_all(line).and_then(|()| out.flush()).ok();
    }
}

/// Tells that the copy of a rank is loaded now.
pub fn loads(rank: usize) {
    output().loading = rank;
}

/// Labels lines with their rank from now on.
pub fn label() {
    output().is_labelled = true;
}

/// Holds lines back from now on.
pub fn hold() {
    output().held = Some(Vec::new());
}

/// Forgets lines that were held back.
pub fn forget() {
    let mut output = output();
    output.begun.clear();
    output.held = output.held.take().map(|_| Vec::new());
}

/// Writes everything: lines that were held back, and lines without an end, which get one unless there is a single one on
/// the output alone.
pub fn finish() {
    crate::process::flush();
    let mut output = output();
    let open: Vec<usize> = (0..output.begun.len())
        .filter(|stream| !output.begun[*stream].is_empty())
        .collect();
    for stream in &open {
        if open.len() > 1 || output.is_labelled || stream % STREAMS == 2 {
            output.begun[*stream].push(b'\n');
        }
        output.put(*stream);
    }
    for (stream, line) in output.held.take().unwrap_or_default() {
        print(stream, &line);
    }
}

/// Gives a number to a stream of the copy that is being loaded.
#[unsafe(no_mangle)]
pub extern "C" fn rankfold_opens(stream: c_int) -> usize {
    output().loading * STREAMS + stream as usize
}

/// Writes to a stream of a rank.
///
/// # Safety
///
/// `bytes` points to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankfold_writes(stream: usize, bytes: *const c_char, len: usize) {
    // SAFETY: the caller's promise; and it writes none of them meanwhile.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len) };
    output().write(stream, bytes);
}

/// Functions of a stream of one's own, as glibc declares them.
#[repr(C)]
struct Functions {
    read: *const c_void,
    write: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    seek: *const c_void,
    close: *const c_void,
}

unsafe extern "C" {
    static mut stdout: *mut c_void;
    static mut stderr: *mut c_void;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut c_void;
    fn setvbuf(stream: *mut c_void, buffer: *mut c_char, mode: c_int, len: usize) -> c_int;
}

/// Nothing is kept in the stream, which all ranks share.
const UNBUFFERED: c_int = 2;

/// Output of this thread to a stream of the process.
///
/// # Safety
///
/// `bytes` points to `len` bytes.
unsafe extern "C" fn writes_shared(number: *mut c_void, bytes: *const c_char, len: usize) -> isize {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len) };
    match crate::process::rank_of_thread() {
        Some(rank) => output().write(rank * STREAMS + number.addr(), bytes),
        None => print(number.addr(), bytes),
    }
    len.cast_signed()
}

/// A stream for output of all ranks; null if there is no memory for one.
fn shared(number: usize) -> *mut c_void {
    let functions = Functions {
        read: ptr::null(),
        write: Some(writes_shared),
        seek: ptr::null(),
        close: ptr::null(),
    };
    // SAFETY: a string, and functions that may be missing but for the one that writes.
    let stream = unsafe { fopencookie(without_provenance_mut(number), c"w".as_ptr(), functions) };
    if !stream.is_null() {
        // SAFETY: a stream to which nothing was written.
        unsafe { setvbuf(stream, ptr::null_mut(), UNBUFFERED, 0) };
    }
    stream
}

/// From now on what libraries write to the streams of the process is output of the rank whose thread writes it.
pub fn share() {
    let (out, error) = (shared(1), shared(2));
    if out.is_null() || error.is_null() {
        return;
    }
    // SAFETY: variables that hold streams; no other thread is there yet that could read them.
    unsafe {
        stdout = out;
        stderr = error;
    }
}

/// The number of a file for a stream of [`share`], for `fileno`; `None` for other streams.
pub fn number_of(stream: *const c_void) -> Option<c_int> {
    // SAFETY: variables that are not written after the start.
    let (out, error) = unsafe { (stdout, stderr) };
    [(out, 1), (error, 2)]
        .into_iter()
        .find_map(|(own, number)| ptr::eq(own, stream).then_some(number))
}

/// The addresses of these functions, so that a program that loads others links to them.
pub fn addresses() -> [usize; 2] {
    let all: [*const (); 2] = [rankfold_opens as _, rankfold_writes as _];
    all.map(<*const ()>::addr)
}

/// What is linked to each program.
pub const STREAMS_C: &str = include_str!("streams.c");

/// What `rankfold-mpicc` links to each program besides: states of a rank's own of functions of the C library.
pub const STATES_C: &str = include_str!("states.c");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_when_they_are_whole_and_never_mixed() {
        let mut output = Output {
            loading: 0,
            is_labelled: true,
            begun: Vec::new(),
            held: Some(Vec::new()),
        };
        output.write(1, b"one ");
        output.write(4, b"other\nnext");
        output.write(1, b"line\nand\n");
        let held = output.held.unwrap();
        let lines: Vec<&str> = held
            .iter()
            .map(|(_, line)| std::str::from_utf8(line).unwrap())
            .collect();
        assert_eq!(lines, ["[1] other\n", "[0] one line\n", "[0] and\n"]);
        assert_eq!(output.begun[4], b"next");
    }
}
