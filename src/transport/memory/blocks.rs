//! The memory that a short message is copied to from a cell: blocks that their thread uses again.
//!
//! A window of messages needs as many blocks at once. Taken from the allocator and given back, they make the heap grow
//! and shrink with each window, page by page.

use std::cell::RefCell;
use std::mem::{self, MaybeUninit};

/// A 16-byte piece of the memory for a message, which consists of several.
#[repr(C, align(16))]
pub(super) struct Piece([MaybeUninit<u8>; PIECE]);

/// The strictest alignment that the elements of such a message may have.
pub(in crate::transport) const PIECE: usize = 16;

/// The longest message whose block is used again, in bytes.
pub(in crate::transport) const LONGEST: usize = 8192;

/// The sizes of blocks, in bytes. A longer message has a block of its own.
const SIZES: [usize; 4] = [1024, 2048, 4096, LONGEST];
/// Number of blocks of a size that a thread keeps: a window of messages.
const KEPT: usize = 64;

thread_local! {
    static SPARE: RefCell<[Vec<Box<[Piece]>>; SIZES.len()]> =
        const { RefCell::new([const { Vec::new() }; SIZES.len()]) };
}

/// Memory for a message.
pub(super) struct Block(Box<[Piece]>);

impl Block {
    /// A block of at least `length` bytes.
    #[inline]
    pub(super) fn of(length: usize) -> Block {
        let Some(size) = SIZES.iter().position(|&size| length <= size) else {
            return Block::new(length);
        };
        // A thread that is ending has none.
        let spare = SPARE.try_with(|spare| spare.borrow_mut()[size].pop());
        spare
            .ok()
            .flatten()
            .map_or_else(|| Block::new(SIZES[size]), Block)
    }

    #[cold]
    fn new(length: usize) -> Block {
        let pieces = (0..length.div_ceil(PIECE)).map(|_| Piece([MaybeUninit::uninit(); PIECE]));
        Block(pieces.collect())
    }

    /// Its memory.
    #[inline]
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// The same, to be written.
    #[inline]
    pub(super) fn pieces_mut(&mut self) -> &mut [Piece] {
        &mut self.0
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        let pieces = mem::take(&mut self.0);
        let Some(size) = SIZES.iter().position(|&size| size_of_val(&*pieces) == size) else {
            return;
        };
        // Where it is not kept, it is freed.
        let _ = SPARE.try_with(|spare| {
            let kept = &mut spare.borrow_mut()[size];
            if kept.len() < KEPT {
                kept.push(pieces);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_again_up_to_a_bound() {
        let held: Vec<_> = (0..2 * KEPT).map(|i| Block::of(1 + i)).collect();
        let first = held[0].pieces().as_ptr();
        drop(held);
        let spare = |size: usize| SPARE.with(|spare| spare.borrow()[size].len());
        assert_eq!([spare(0), spare(1)], [KEPT, 0]);
        let again: Vec<_> = (0..KEPT).map(|_| Block::of(1024)).collect();
        assert!(again.iter().any(|block| block.pieces().as_ptr() == first));
        assert_eq!(spare(0), 0);
    }

    #[test]
    fn a_block_has_room_for_its_message() {
        for length in [0, 1, 33, 1024, 1025, 2048, 4096, 4097, 8192, 8193, 100_000] {
            assert!(size_of_val(Block::of(length).pieces()) >= length);
        }
    }
}
