//! The words by which both ends of a long loan copy it: the borrower shows where it goes, and then one takes
//! parts from the front and the other, the lender, who waits anyway, from the back.
//!
//! ```text
//! borrower, loan claimed       to ← where it goes;  taken ← open;  copies part 0, 1, 2 ...
//! lender, waiting              sees it open;                       copies part n - 1, n - 2 ...
//! no part is left              helped ← how many the lender has copied
//! borrower                     sees them all;  taken ← closed;  settles the loan
//! ```
//!
//! One core's copy is bound by how many cache lines it can have on their way at once; two have twice as
//! many. The lower rank begins at the front, whoever sends: so each finds what the messages before left in its cache,
//! also where one buffer goes to and fro.
//!
//! A part is taken by one addition, which says how many were taken at either end before. It is *valid* if those
//! were fewer than there are; so every part is taken validly once, at one end. What is added to a word that is
//! closed is nobody's part.
//!
//! - Only who has claimed the one open loan of a lender opens these words, and closes them before it
//!   settles. The lender looks at them only during its loan. So what it finds open is its present loan, and no
//!   ticket is needed.
//! - The borrower waits for the lender only where that has taken parts, and a lender with a part waits for
//!   nobody: it copies.
//!
//! How the two go about it is here, in [`CopyClaims::borrow`] and [`CopyClaims::help`], so that the models run it; what copies a
//! part is in [`haul`](crate::transport::memory::cooperative_copy).

use std::ops::Range;
use std::ptr;

use crate::Rank;
use crate::sync::{AtomicPtr, AtomicU64, Ordering};

/// Shorter messages are copied by their receiver alone. What a lender writes the receiver has to take from it
/// afterwards; where both rewrite and read their buffers that costs more than it saves below this.
pub(crate) const JOINT: usize = 512 << 10;
/// Bytes of a part.
const PART: usize = 64 << 10;

const CLOSED: u64 = 0;
const OPEN: u64 = 1 << 63;
const FRONT: u64 = 1;
const BACK: u64 = 1 << 32;

/// Where somebody takes parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

impl End {
    /// That of a rank in a message from or to another.
    pub(crate) fn of(me: Rank, other: Rank) -> End {
        if me < other { End::Front } else { End::Back }
    }
}

/// A part that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taken {
    number: usize,
    /// Whether no other is left: to ask for one would fetch the words for nothing.
    last: bool,
}

/// The words of one lender.
pub(crate) struct CopyClaims {
    /// Whether it is open, and how many parts were taken at either end.
    taken: AtomicU64,
    /// How many parts the lender has copied.
    helped: AtomicU64,
    to: AtomicPtr<u8>,
}

/// How many parts so many bytes have.
pub(crate) fn parts(bytes: usize) -> usize {
    bytes.div_ceil(PART)
}

/// The bytes of a part.
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

    /// The borrower's side, from its claim of the loan to its settling: shows where a message of so many parts goes,
    /// lets `copy` take and copy parts until none is left, and then `stay` until the lender has copied those that it has
    /// taken. `copy` answers how many it took.
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

    /// The lender's side: lets `copy` take and copy parts of what goes where the borrower has shown, if it has; whether
    /// there was any.
    #[inline]
    pub(crate) fn help(&self, copy: impl FnOnce(*mut u8) -> usize) -> bool {
        let copied = self.goes_to().map_or(0, copy);
        if copied > 0 {
            self.report(copied);
        }
        copied > 0
    }

    /// Takes parts at one end, of so many, and copies each, until none is left; how many.
    pub(crate) fn take_all(&self, end: End, parts: usize, mut copy: impl FnMut(usize)) -> usize {
        let mut taken = 0;
        while let Some(it) = self.take(end, parts) {
            copy(it.number);
            taken += 1;
            if it.last {
                break;
            }
        }
        taken
    }

    /// The borrower shows where the message goes.
    pub(in crate::transport) fn open(&self, to: *mut u8) {
        // Relaxed, both: published by the store that follows.
        self.helped.store(0, Ordering::Relaxed);
        self.to.store(to, Ordering::Relaxed);
        // Release: pairs with the acquire in `goes_to`.
        self.taken.store(OPEN, Ordering::Release);
    }

    /// Where the message goes, if the borrower has said so.
    #[inline]
    fn goes_to(&self) -> Option<*mut u8> {
        // Acquire: the borrower has left the place alone since, but for parts that it takes.
        let open = self.taken.load(Ordering::Acquire) & OPEN != 0;
        open.then(|| self.to.load(Ordering::Relaxed))
    }

    /// Takes the next part at one end, of so many; `None`: none is left.
    fn take(&self, end: End, parts: usize) -> Option<Taken> {
        let one = if end == End::Front { FRONT } else { BACK };
        // Relaxed: it decides who copies a part; the rest is ordered by the words around it.
        let before = self.taken.fetch_add(one, Ordering::Relaxed);
        let (front, back) = ((before % BACK) as usize, (before % OPEN / BACK) as usize);
        let valid = before & OPEN != 0 && front + back < parts;
        valid.then(|| Taken {
            number: match end {
                End::Front => front,
                End::Back => parts - 1 - back,
            },
            last: front + back + 1 == parts,
        })
    }

    /// The lender has copied all the parts that it took: so many.
    pub(in crate::transport) fn report(&self, copied: usize) {
        // Release: pairs with the acquire in `has_helped`.
        self.helped.store(copied as u64, Ordering::Release);
    }

    /// Whether the lender has copied so many parts.
    #[inline]
    pub(in crate::transport) fn has_helped(&self, parts: usize) -> bool {
        // Acquire: what the lender wrote is seen.
        self.helped.load(Ordering::Acquire) == parts as u64
    }

    /// The borrower has all parts. Nobody touches the place any more.
    pub(in crate::transport) fn close(&self) {
        // Relaxed: the loan's settling publishes it.
        self.taken.store(CLOSED, Ordering::Relaxed);
    }
}
