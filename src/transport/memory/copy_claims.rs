//! The words by which both ends of a long loan share its copy. The borrower publishes the destination. Then the
//! borrower and the lender, which waits anyway, take parts: one from the front, the other from the back.
//!
//! ```text
//! borrower, loan claimed       to ← destination;  taken ← open;  copies part 0, 1, 2 ...
//! lender, waiting              sees it open;                     copies part n - 1, n - 2 ...
//! no part is left              helped ← number of parts the lender has copied
//! borrower                     sees them all;  taken ← closed;  settles the loan
//! ```
//!
//! One core's copy bandwidth is limited by how many cache lines it can have in flight; two cores have twice as many.
//! The lower rank begins at the front, whichever end sends. Each rank then finds what earlier messages left in its
//! cache, also where one buffer goes back and forth.
//!
//! A part is taken by one addition, whose result says how many parts were taken at either end before. It is *valid* if
//! those were fewer than there are parts, so every part is taken validly once, at one end. An addition to a closed word
//! takes no part.
//!
//! - The words belong to the loans that one word announces, one after the other: those of the blocking sends of a lender, or
//!   those of one [standing loan](super::standing_loan). Only the borrower that has claimed such a loan opens them, and
//!   it closes them before it settles. The lender looks at them only during that loan. So what it finds open is its
//!   current loan, and no ticket is needed.
//! - The borrower waits for the lender only if the lender has taken parts, and a lender with a part does not wait: it
//!   copies.
//!
//! The protocol is implemented here, in [`CopyClaims::borrow`] and [`CopyClaims::help`], so that the models run it. The
//! copying of a part is in [`cooperative_copy`](crate::transport::memory::cooperative_copy).

use std::ops::Range;
use std::ptr;

use crate::Rank;
use crate::sync::{AtomicPtr, AtomicU64, Ordering};

/// The shortest message, in bytes, that both ends copy; its receiver copies a shorter one alone. The receiver has to
/// fetch from the lender's cache what the lender writes. Below this length, where both ends rewrite and read their
/// buffers, that costs more than it saves.
pub(crate) const COOPERATIVE: usize = if cfg!(loom) { 2 << 10 } else { 512 << 10 };
/// Bytes of a part.
const PART: usize = if cfg!(loom) { 1 << 10 } else { 64 << 10 };

const CLOSED: u64 = 0;
const OPEN: u64 = 1 << 63;
const FRONT: u64 = 1;
const BACK: u64 = 1 << 32;

/// The side from which a rank takes parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Front,
    Back,
}

impl Side {
    /// The side of rank `me` in a message from or to `other`.
    pub(crate) fn of(me: Rank, other: Rank) -> Side {
        if me < other { Side::Front } else { Side::Back }
    }
}

/// A part that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    number: usize,
    /// Whether no other part is left: asking for one would fetch the words needlessly.
    last: bool,
}

/// The words of one lender, or of one standing loan.
pub(crate) struct CopyClaims {
    /// Whether it is open, and the number of parts taken at either end.
    taken: AtomicU64,
    /// Number of parts that the lender has copied.
    helped: AtomicU64,
    to: AtomicPtr<u8>,
}

/// Number of parts of a message of `bytes` bytes.
pub(crate) fn parts(bytes: usize) -> usize {
    bytes.div_ceil(PART)
}

/// The byte range of a part.
pub(crate) fn part(bytes: usize, number: usize) -> Range<usize> {
    let start = number * PART;
    start..bytes.min(start + PART)
}

impl CopyClaims {
    pub(crate) fn new() -> CopyClaims {
        CopyClaims {
            taken: AtomicU64::new(CLOSED),
            helped: AtomicU64::new(0),
            to: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The borrower's side, from its claim of the loan to its settling. Publishes the destination of a message of
    /// `parts` parts, lets `copy` take and copy parts until none is left, and then lets `stay` wait until the lender
    /// has copied the parts that it has taken. `copy` returns how many it took.
    ///
    /// # Panics
    ///
    /// If `stay` ends early.
    pub(crate) fn borrow(
        &self,
        to: *mut u8,
        parts: usize,
        copy: impl FnOnce() -> usize,
        stay: impl FnOnce(&dyn Fn() -> bool),
    ) {
        self.open(to);
        let helped = parts - copy();
        if helped > 0 {
            let done = || self.has_helped(helped);
            stay(&done);
            assert!(done(), "a wait that ends early");
        }
        self.close();
    }

    /// The lender's side: if the borrower has published a destination, lets `copy` take and copy parts to it. Returns
    /// whether it copied any.
    #[inline]
    pub(crate) fn help(&self, copy: impl FnOnce(*mut u8) -> usize) -> bool {
        let copied = self.goes_to().map_or(0, copy);
        if copied > 0 {
            self.report(copied);
        }
        copied > 0
    }

    /// Takes parts from the end of `side`, of `parts` in all, and copies each, until none is left. Returns how many it
    /// took.
    pub(crate) fn take_all(&self, side: Side, parts: usize, mut copy: impl FnMut(usize)) -> usize {
        let mut taken = 0;
        while let Some(it) = self.take(side, parts) {
            copy(it.number);
            taken += 1;
            if it.last {
                break;
            }
        }
        taken
    }

    /// The borrower publishes the destination.
    pub(in crate::transport) fn open(&self, to: *mut u8) {
        // Relaxed, both: published by the store that follows.
        self.helped.store(0, Ordering::Relaxed);
        self.to.store(to, Ordering::Relaxed);
        // Release: pairs with the acquire in `goes_to`.
        self.taken.store(OPEN, Ordering::Release);
    }

    /// The destination of the message, if the borrower has published it.
    #[inline]
    fn goes_to(&self) -> Option<*mut u8> {
        // Acquire: the borrower has not touched the destination since, except for parts that it takes.
        let open = self.taken.load(Ordering::Acquire) & OPEN != 0;
        open.then(|| self.to.load(Ordering::Relaxed))
    }

    /// Whether the borrower has published a destination.
    #[inline]
    pub(in crate::transport) fn is_open(&self) -> bool {
        self.goes_to().is_some()
    }

    /// Takes the next part from the end of `side`, of `parts` in all; `None`: none is left.
    fn take(&self, side: Side, parts: usize) -> Option<Taken> {
        let one = if side == Side::Front { FRONT } else { BACK };
        // Relaxed: it only decides which end copies a part; the words around it order the rest.
        let before = self.taken.fetch_add(one, Ordering::Relaxed);
        let (front, back) = ((before % BACK) as usize, (before % OPEN / BACK) as usize);
        let valid = before & OPEN != 0 && front + back < parts;
        valid.then(|| Taken {
            number: match side {
                Side::Front => front,
                Side::Back => parts - 1 - back,
            },
            last: front + back + 1 == parts,
        })
    }

    /// The lender reports the number of parts that it took, all of which it has copied.
    pub(in crate::transport) fn report(&self, copied: usize) {
        // Release: pairs with the acquire in `has_helped`.
        self.helped.store(copied as u64, Ordering::Release);
    }

    /// Whether the lender has copied `parts` parts.
    #[inline]
    pub(in crate::transport) fn has_helped(&self, parts: usize) -> bool {
        // Acquire: pairs with the release in `report`; what the lender wrote is visible.
        self.helped.load(Ordering::Acquire) == parts as u64
    }

    /// The borrower has all parts, and no other rank touches the destination any more.
    pub(in crate::transport) fn close(&self) {
        // Relaxed: the loan's settling publishes it.
        self.taken.store(CLOSED, Ordering::Relaxed);
    }
}
