//! The arguments of a call packed into three words, which the flight recorder's ring holds.

use std::time::Duration;

use crate::Rank;
use crate::op::elements::Info;
use crate::transport::trace::call_event::{CallEvent, Known, Peer, Tagged};
use crate::transport::trace::event_ring::FIXED;

/// An operation as a recorder sees it.
pub(crate) trait DescribeCall {
    fn describe(&self) -> CallEvent;

    /// Its arguments in words. `known` returns the index of the call in the list.
    #[inline]
    fn words(&self, known: impl FnOnce(&CallEvent) -> u32) -> Words {
        let event = self.describe();
        Words::of(&event, known(&event))
    }

    /// Whether it may be recorded after its message is posted.
    #[inline]
    fn posts(&self) -> bool {
        self.describe().posts
    }
}

/// An operation on a communicator, which its own description need not name.
pub(crate) struct OnComm<'a, T> {
    pub call: &'a T,
    pub context: u32,
}

impl<T: DescribeCall> DescribeCall for OnComm<'_, T> {
    fn describe(&self) -> CallEvent {
        CallEvent {
            context: self.context,
            ..self.call.describe()
        }
    }

    #[inline]
    fn words(&self, known: impl FnOnce(&CallEvent) -> u32) -> Words {
        self.call.words(known).on(self.context)
    }

    #[inline]
    fn posts(&self) -> bool {
        self.call.posts()
    }
}

impl<F: Fn() -> CallEvent> DescribeCall for F {
    #[inline]
    fn describe(&self) -> CallEvent {
        self()
    }
}

/// The arguments of an operation, in words.
#[derive(Clone, Copy)]
pub(crate) struct Words([u64; 3]);

const HAS_COUNT: u64 = 1 << 8;
const PEER: u64 = 1 << 9;
/// The greatest peer that fits. A call that is refused may name a greater one, most often `Rank::MAX`, which this value
/// stands for.
const MOST: u64 = (CONTEXT - 1) / PEER;
/// The bits from here on hold the communicator's context.
const CONTEXT: u64 = 1 << 32;

impl Words {
    /// The arguments of `event`, whose call has index `known` in the list.
    #[inline]
    pub(crate) fn of(event: &CallEvent, known: u32) -> Words {
        let (role, peer) = match event.peer {
            Peer::None => (0, 0),
            Peer::To(rank) => (1, rank),
            Peer::From(rank) => (2, rank),
            Peer::FromAny => (3, 0),
            Peer::Root(rank) => (4, rank),
        };
        let (tagged, tag) = match event.tag {
            Tagged::None => (0, 0),
            Tagged::Any => (1, 0),
            Tagged::Is(tag) => (2, tag),
        };
        let counted = if event.count.is_some() { HAS_COUNT } else { 0 };
        Words([
            u64::from(known) << 32 | u64::from(tag),
            role | (tagged << 4) | counted | ((peer as u64).min(MOST) * PEER),
            event.count.unwrap_or(0) as u64,
        ])
        .on(event.context)
    }

    /// The same arguments on the communicator with this context.
    #[inline]
    fn on(self, context: u32) -> Words {
        let [call, what, count] = self.0;
        Words([call, what | (u64::from(context) * CONTEXT), count])
    }

    /// The communicator's context.
    pub(super) fn context(&self) -> u32 {
        (self.0[1] / CONTEXT) as u32
    }

    /// The fixed words of an operation that begins at `time`.
    #[inline]
    pub(in crate::transport) fn begun_at(self, time: u64) -> [u64; FIXED] {
        let [call, what, count] = self.0;
        [call, what, count, time]
    }

    /// Reads the fixed words back.
    pub(super) fn read([call, what, count, time]: [u64; FIXED]) -> (Words, Duration) {
        (Words([call, what, count]), Duration::from_nanos(time))
    }

    /// The index of the call in the list.
    pub(crate) fn known(&self) -> usize {
        (self.0[0] >> 32) as usize
    }

    fn peer(&self) -> Option<String> {
        let peer = match self.0[1] % CONTEXT / PEER {
            MOST => Rank::MAX,
            peer => peer as Rank,
        };
        match self.0[1] & 0xf {
            1 => Some(format!("to {peer}")),
            2 => Some(format!("from {peer}")),
            3 => Some("from any".into()),
            4 => Some(format!("root {peer}")),
            _ => None,
        }
    }

    fn tag(&self) -> Option<String> {
        match self.0[1] >> 4 & 0xf {
            1 => Some("tag any".into()),
            2 => Some(format!("tag {}", self.0[0] as u32)),
            _ => None,
        }
    }

    /// The call as it prints.
    pub(crate) fn show(&self, known: &Known) -> String {
        let count = (self.0[1] & HAS_COUNT != 0).then_some(self.0[2]);
        let name = known.info.map(Info::name);
        let data = match (count, name) {
            (Some(count), Some(name)) => Some(format!("{count} x {name}")),
            (None, name) => name.map(str::to_owned),
            (Some(count), None) => Some(format!("{count} elements")),
        };
        let parts: Vec<_> = [self.peer(), self.tag(), data]
            .into_iter()
            .flatten()
            .collect();
        match parts.is_empty() {
            true => known.verb.clone(),
            false => format!("{}({})", known.verb, parts.join(", ")),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_call_keep_what_it_says_also_of_ranks_that_are_not_there() {
        let known = Known {
            verb: "send".into(),
            site: std::panic::Location::caller(),
            info: None,
        };
        for rank in [0, 1, 65_535, Rank::MAX] {
            let event = CallEvent {
                peer: Peer::To(rank),
                tag: Tagged::Is(u32::MAX),
                count: Some(usize::MAX),
                context: u32::MAX - 1,
                ..CallEvent::at(known.site)
            };
            let words = Words::of(&event, 7);
            let (words, begun) = Words::read(words.begun_at(5));
            let shown = format!("send(to {rank}, tag {}, {} elements)", u32::MAX, usize::MAX);
            assert_eq!((words.show(&known), words.known()), (shown, 7));
            assert_eq!(begun, Duration::from_nanos(5));
            assert_eq!(words.context(), u32::MAX - 1);
        }
    }
}
