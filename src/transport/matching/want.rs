//! The messages that a receive accepts, and the queues that it takes them from.

use crate::Rank;
use crate::transport::memory::head::Head;

/// Which messages a receive accepts, by their heads.
///
/// Whole words, as of a [`Head`], so that one is copied and compared without a branch for what is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    /// What the head of a message is compared with, and the bits of it that count.
    head: Head,
    mask: Head,
}

impl Want {
    /// The messages in a context from a source, or from any, with a tag, or with any.
    #[inline]
    pub(crate) const fn new(context: u32, source: Option<Rank>, tag: Option<u32>) -> Want {
        let (source, of_source) = match source {
            Some(source) => (source, u32::MAX as Rank),
            None => (0, 0),
        };
        let (tag, of_tag) = match tag {
            Some(tag) => (tag, u32::MAX),
            None => (0, 0),
        };
        Want {
            head: Head::new(context, source, tag, 0),
            mask: Head::new(u32::MAX, of_source, of_tag, 0),
        }
    }

    /// Its words, which travel in registers.
    #[inline]
    pub(in crate::transport) fn words(&self) -> (Head, Head) {
        (self.head, self.mask)
    }

    /// What has these [words](Self::words).
    #[inline]
    pub(in crate::transport) fn of_words(head: Head, mask: Head) -> Want {
        Want { head, mask }
    }

    /// The same messages, but only those from `source`.
    pub(in crate::transport) fn only_from(&self, source: Rank) -> Want {
        let tag = (self.mask.tag() != 0).then(|| self.head.tag());
        Want::new(self.context(), Some(source), tag)
    }

    #[inline]
    pub(in crate::transport) fn context(&self) -> u32 {
        self.head.context()
    }

    /// `None`: any sender.
    #[inline]
    pub(in crate::transport) fn source(&self) -> Option<Rank> {
        (self.mask.source() != 0).then(|| self.head.source())
    }

    #[inline]
    pub(in crate::transport) fn accepts(&self, head: Head) -> bool {
        head.equals(self.head, self.mask)
    }
}

/// The messages of one source in one context, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueId {
    pub context: u32,
    pub source: Rank,
}
