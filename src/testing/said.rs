//! The output of ranks under test: kept rank by rank, and shown when the test fails.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Rank;

/// Prints a line for this rank: like `println!`, but prefixed with the rank, and shown only if the run under test
/// fails.
///
/// Only lines printed by this macro on the threads of ranks are kept. The output of `println!` in a rank goes where
/// Rust's test harness puts it; the harness also shows it on failure only, but without the rank and in the order in
/// which the threads printed. The output of other threads, or of code that is not Rust, is not kept. In a run that the
/// kit does not make, a line goes to standard output.
///
/// # Examples
///
/// ```
/// use rankfold::testing::{Trial, say};
///
/// let failure = Trial::new(2).run(|comm| {
///     say!("my half is {}", comm.rank() + 1);
///     assert_eq!(comm.rank(), 0);
///     comm.barrier()
/// });
/// assert!(failure.unwrap_err().to_string().contains("rank 1 | my half is 2"));
/// ```
#[macro_export]
macro_rules! say {
    ($($line:tt)*) => {
        $crate::testing::note(::core::format_args!($($line)*))
    };
}

/// The maximum number of lines kept for one rank: the last ones.
const KEPT: usize = 200;

/// The lines of each rank.
#[derive(Clone, Debug)]
pub(super) struct Said(Arc<Vec<Mutex<Vec<String>>>>);

thread_local! {
    /// The rank that the kit runs on this thread.
    static HERE: RefCell<Option<(Rank, Said)>> = const { RefCell::new(None) };
}

impl Said {
    pub(super) fn new(ranks: usize) -> Said {
        Said(Arc::new((0..ranks).map(|_| Mutex::default()).collect()))
    }

    /// Runs `f` as this rank.
    pub(super) fn by<R>(&self, rank: Rank, f: impl FnOnce() -> R) -> R {
        struct Restore(Option<(Rank, Said)>);
        impl Drop for Restore {
            fn drop(&mut self) {
                HERE.set(self.0.take());
            }
        }
        let _restore = Restore(HERE.replace(Some((rank, self.clone()))));
        f()
    }

    pub(super) fn forget(&self) {
        self.0.iter().for_each(|lines| lines.lock().clear());
    }

    pub(super) fn note(&self, rank: Rank, text: &str) {
        let mut lines = self.0[rank].lock();
        lines.extend(text.lines().map(str::to_owned));
        let excess = lines.len().saturating_sub(KEPT);
        lines.drain(..excess);
    }
}

impl fmt::Display for Said {
    /// Writes rank by rank: the order within a rank is the same in every repetition, the order between ranks is not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, lines) in self.0.iter().enumerate() {
            for line in lines.lock().iter() {
                writeln!(f, "  rank {rank} | {line}")?;
            }
        }
        Ok(())
    }
}

/// Called by [`say!`](crate::say).
#[doc(hidden)]
pub fn note(line: fmt::Arguments<'_>) {
    let mut text = String::new();
    let _ = text.write_fmt(line);
    let here = HERE.with_borrow(Clone::clone);
    match here {
        Some((rank, said)) => said.note(rank, &text),
        None => println!("{text}"),
    }
}
