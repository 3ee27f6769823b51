//! The failure of a run: what is told of it, and the exit code of a program that runs others.

use std::ffi::c_int;
use std::fmt;
use std::process::ExitCode;

/// The exit code of a run that fails, unless the program says another one.
pub(crate) const FAILED: u8 = 1;
/// The exit code of a program in Rust that panics.
pub(crate) const PANICKED: c_int = 101;

/// Why a run failed.
pub struct Failed {
    pub(crate) text: String,
    pub(crate) code: u8,
}

impl Failed {
    pub(crate) fn new(text: impl Into<String>) -> Failed {
        Failed {
            text: text.into(),
            code: FAILED,
        }
    }

    /// The exit code for a program that runs others, as `mpirun` returns it: what the first rank to fail passed to
    /// `MPI_Abort` or to `exit`, or returned from its `main`; 1 if it failed otherwise, or if that is 0.
    pub fn code(&self) -> u8 {
        self.code
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failed {}

/// The number of an exit code, which tells only whether it is equal to another one.
pub(crate) fn number_of(code: ExitCode) -> u8 {
    (1..=u8::MAX)
        .find(|number| ExitCode::from(*number) == code)
        .unwrap_or(FAILED)
}
