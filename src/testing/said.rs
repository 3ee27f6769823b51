//! What ranks say while they are tested: kept rank by rank, and shown when the test fails.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Rank;

/// Says a line in the name of this rank: like `println!`, but with the rank before it, and shown only if
/// the run under test fails.
///
/// What is kept are the lines said by this macro on the threads of ranks. `println!` in a rank goes
/// where Rust's test harness puts it, which also shows it on failure only, but with no rank before it and
/// in the order in which the threads came. What other threads, or code that is not Rust, print is not
/// kept. In a run that the kit does not make, a line goes to the standard output.
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

/// The most lines that are kept of one rank: the last ones.
const KEPT: usize = 200;

/// What each rank has said.
#[derive(Clone, Debug)]
pub(super) struct Said(Arc<Vec<Mutex<Vec<String>>>>);

thread_local! {
    /// Whom the kit runs on this thread.
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
    /// Rank by rank: within a rank the order is the same in every repetition, between them it is not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, lines) in self.0.iter().enumerate() {
            for line in lines.lock().iter() {
                writeln!(f, "  rank {rank} | {line}")?;
            }
        }
        Ok(())
    }
}

/// What [`say!`](crate::say) calls.
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
