//! The lines of cells that a reader requests before it reads them. Nothing is accessed here.

use std::ptr;

use super::{CellPort, NEAR, place_of};
use crate::Rank;
use crate::transport::memory::bytes::{CACHE_LINE, prefetch};

/// Maximum number of lines prefetched at a time: a CPU drops more than it can track.
const FETCHED: usize = 16;

/// The longest message, in bytes, whose lines are prefetched a call before. Its writer may be writing them, and would
/// have to fetch more of them back.
const NEXT: usize = 128;

impl CellPort {
    /// Prefetches the lines of a rank's message of this many bytes that are not beside its number.
    #[inline]
    pub(crate) fn fetch(&self, from: Rank, bytes: usize) {
        self.fetch_of(from, self.call, bytes);
    }

    #[inline(always)]
    fn fetch_of(&self, from: Rank, call: u64, bytes: usize) {
        let far = || self.cells.columns[from].far.get();
        if let Some(far) = (bytes > NEAR).then(far).flatten() {
            let far = ptr::from_ref(&far[place_of(call)]);
            let lines = bytes.div_ceil(CACHE_LINE).min(FETCHED);
            (0..lines).for_each(|line| prefetch(far.cast(), line));
        }
    }

    /// Prefetches a rank's message of the next call, if this rank is behind: the message is then probably there, and as
    /// long as the one of this call.
    #[inline]
    pub(crate) fn fetch_next(&self, from: Rank, bytes: usize) {
        if self.behind && !self.posted && bytes <= NEXT {
            let next = self.call + 1;
            let cell = ptr::from_ref(&self.cells.columns[from].cells[place_of(next)]);
            prefetch(cell.cast(), 0);
            self.fetch_of(from, next, bytes);
        }
    }

    /// Takes note that a message of this call was not there when this rank came.
    #[inline]
    pub(crate) fn has_waited(&mut self) {
        self.waited = true;
    }
}
