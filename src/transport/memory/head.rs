//! The envelope of a packet: where it comes from, and what it belongs to.

use crate::Rank;

/// Contexts that belong to one communicator, which begin at a multiple of this number: its own, for point-to-point
/// messages, and one for each of the following.
pub(crate) const CONTEXTS: u32 = 4;
/// The context of the messages of blocking collectives, counted from the communicator's own.
pub(crate) const OF_COLLECTIVES: u32 = 1;
/// The context of the messages of started collectives, counted in the same way.
pub(crate) const OF_STARTED: u32 = 2;
/// The context of the parts of partitioned messages, which are point-to-point messages too.
pub(crate) const OF_PARTS: u32 = 3;

/// The context of the communicator that one of its contexts belongs to.
#[inline]
pub(crate) fn communicator(context: u32) -> u32 {
    context / CONTEXTS * CONTEXTS
}

/// Where a packet comes from and what it belongs to.
///
/// Two words, which travel in registers, and not the four halves that they consist of: written as four and moved as
/// two, they would stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Head {
    line: u64,
    call: u64,
}

impl Head {
    #[inline]
    pub(crate) const fn new(context: u32, source: Rank, tag: u32, print: u32) -> Self {
        Head {
            line: (context as u64) << 32 | (source as u32) as u64,
            call: (tag as u64) << 32 | print as u64,
        }
    }

    /// Whether it is equal to another one in those bits that are set in `mask`.
    #[inline]
    pub(in crate::transport) fn equals(self, other: Head, mask: Head) -> bool {
        (self.line ^ other.line) & mask.line | (self.call ^ other.call) & mask.call == 0
    }

    /// Whether the message belongs to a collective.
    #[inline]
    pub(crate) fn is_collective(self) -> bool {
        let own = self.context() - communicator(self.context());
        matches!(own, OF_COLLECTIVES | OF_STARTED)
    }

    /// Whether the message belongs to a started collective.
    #[inline]
    pub(crate) fn is_started(self) -> bool {
        self.context() == communicator(self.context()) + OF_STARTED
    }

    /// The communicator, and whether point-to-point or collective.
    #[inline]
    pub(crate) fn context(self) -> u32 {
        (self.line >> 32) as u32
    }

    #[inline]
    pub(crate) fn source(self) -> Rank {
        self.line as u32 as Rank
    }

    /// The user's tag; in collectives, the number of the call.
    #[inline]
    pub(crate) fn tag(self) -> u32 {
        (self.call >> 32) as u32
    }

    /// The fingerprint of the call, in collectives; in partitioned messages, which part it is, and whether the first; in other
    /// messages between two ranks, their mark.
    #[inline]
    pub(crate) fn print(self) -> u32 {
        self.call as u32
    }
}
