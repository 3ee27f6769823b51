//! What a rank knows of the calls that all ranks have left, and therefore of the cells that it may write.

use std::ptr;

use super::{CellPort, Column, DEPTH, Floor};
use crate::Rank;
use crate::sync::Ordering;

impl CellPort {
    /// `None` if all ranks have left the call whose message is in the cell for this rank's next message. Otherwise a
    /// rank that, as far as this one knows, has not left it.
    #[inline]
    pub(crate) fn lagging(&mut self) -> Option<Rank> {
        match self.is_free() {
            true => None,
            false => self.find_lagging(),
        }
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.is_free_for(self.call)
    }

    #[inline]
    pub(super) fn is_free_for(&self, call: u64) -> bool {
        call < self.floor + DEPTH as u64
    }

    /// Whether it does not know by itself that the cell for the next message is free.
    #[cfg(all(test, loom))]
    pub(in crate::transport) fn must_ask(&self) -> bool {
        !self.is_free()
    }

    /// Whether a rank waits for others to leave a call. To be called after leaving, and after a fence.
    #[inline]
    pub(in crate::transport) fn is_awaited(&self) -> bool {
        self.cells.waiting.any()
    }

    /// Takes note of the floor that a message carried.
    ///
    /// # Panics
    ///
    /// If the message was one of other cells.
    #[inline]
    pub(crate) fn learn(&mut self, floor: Floor) {
        assert!(ptr::eq(floor.of, &*self.cells), "a floor of other cells");
        self.floor = self.floor.max(floor.floor);
    }

    /// Whether a rank has left all calls that this one has left.
    pub(crate) fn has_left(&self, rank: Rank) -> bool {
        // Acquire: as in `find_lagging`.
        self.cells.columns[rank].left.load(Ordering::Acquire) >= self.call
    }

    #[cold]
    fn find_lagging(&mut self) -> Option<Rank> {
        // Acquire: pairs with the release in `leave`, so that the ranks' reads came before.
        let left = |column: &Column| column.left.load(Ordering::Acquire);
        let mine = self.me;
        let others = self
            .cells
            .columns
            .iter()
            .enumerate()
            .filter(|(rank, _)| *rank != mine);
        let slowest = others.map(|(rank, column)| (left(column), rank)).min();
        // Others may be ahead, but this rank has not left its own call.
        let all = slowest.map_or(self.call, |(floor, _)| floor.min(self.call));
        self.floor = self.floor.max(all);
        slowest.filter(|_| !self.is_free()).map(|(_, rank)| rank)
    }

    /// Whether a rank's message of the current call is there.
    #[inline]
    pub(crate) fn is_here(&self, from: Rank) -> bool {
        self.find(from, 0).is_some()
    }

    /// The first rank other than this one whose message of the current call is not there. Of those that are there, the lines
    /// of messages of `ahead` bytes are prefetched.
    #[inline]
    pub(crate) fn missing(&mut self, ahead: usize) -> Option<Rank> {
        while self.seen < self.cells.columns.len() {
            if self.seen != self.me {
                if !self.is_here(self.seen) {
                    return Some(self.seen);
                }
                self.fetch(self.seen, ahead);
            }
            self.seen += 1;
        }
        // All ranks are in this call.
        self.floor = self.call;
        None
    }
}
