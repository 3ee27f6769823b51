//! The elements that ranks take from each other, noted in unit tests: what a call executed can so be compared with the
//! schedule that was proved (`testing/executed.rs`). Elsewhere nothing is noted, and nothing compiled.

use std::ops::Range;

use crate::Rank;

/// Notes a move by the current thread.
#[inline(always)]
pub(crate) fn note(from: Rank, to: Rank, run: Range<usize>) {
    #[cfg(all(test, not(loom)))]
    noted::push(noted::Move { from, to, run });
    #[cfg(any(not(test), loom))]
    let _ = (from, to, run);
}

#[cfg(all(test, not(loom)))]
pub(crate) use noted::{Move, take};

#[cfg(all(test, not(loom)))]
mod noted {
    use std::cell::RefCell;
    use std::ops::Range;

    use crate::Rank;

    /// Elements of one rank that another rank takes, or is given.
    #[derive(Clone, Debug)]
    pub(crate) struct Move {
        pub from: Rank,
        pub to: Rank,
        /// The positions in the vector where elements are accessed in place; elsewhere they begin at 0.
        pub run: Range<usize>,
    }

    thread_local! {
        static NOTED: RefCell<Vec<Move>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn push(one: Move) {
        NOTED.with_borrow_mut(|noted| noted.push(one));
    }

    /// The moves that the current thread has made since the last call.
    pub(crate) fn take() -> Vec<Move> {
        NOTED.take()
    }
}
