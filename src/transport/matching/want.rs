//! The messages that a receive accepts, and the queues that it takes them from.

use crate::Rank;
#[cfg(doc)]
use crate::transport::memory::head;
use crate::transport::memory::head::Head;

/// Which messages a receive accepts, by their heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Want {
    pub context: u32,
    /// `None`: any sender.
    pub source: Option<Rank>,
    /// `None`: any tag.
    pub tag: Option<u32>,
}

impl Want {
    /// No message has this context: a communicator uses the [first few](head::CONTEXTS) of its contexts only.
    pub(in crate::transport) const NOTHING: Want = Want {
        context: u32::MAX,
        source: None,
        tag: None,
    };

    #[inline]
    pub(in crate::transport) fn accepts(&self, head: Head) -> bool {
        head.context() == self.context
            && self.source.is_none_or(|source| source == head.source())
            && self.tag.is_none_or(|tag| tag == head.tag())
    }
}

/// The messages of one source in one context, in their order; or one of the requests that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueId {
    pub context: u32,
    pub source: Rank,
}

impl QueueId {
    /// No communicator has this context.
    const REQUESTS: u32 = u32::MAX;

    /// The request with index `place` among those waited for.
    pub(crate) fn request(place: usize) -> QueueId {
        QueueId {
            context: QueueId::REQUESTS,
            source: place,
        }
    }

    pub(crate) fn is_request(self) -> bool {
        self.context == QueueId::REQUESTS
    }
}
