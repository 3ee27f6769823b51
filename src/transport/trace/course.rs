//! The state that changes during an operation: counts of messages, and progress.

use crate::Rank;
use crate::transport::trace::event_ring::NOTES;
use crate::transport::trace::operation::{Passed, Progress};

/// The counts of a rank during the operation that it is inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::transport) struct Course {
    pub sent: u64,
    pub received: u64,
    pub last: Last,
}

impl Course {
    /// The progress of the operation, as the words that change.
    #[inline]
    pub(in crate::transport) fn notes(self, progress: Progress) -> [u64; NOTES] {
        [self.last.0 | progress as u64, self.sent, self.received]
    }

    /// Reads those words back.
    pub(super) fn read([last, sent, received]: [u64; NOTES]) -> (Course, Progress) {
        let progress = match last & 3 {
            1 => Progress::Done,
            2 => Progress::Failed,
            _ => Progress::Inside,
        };
        let last = Last(last & !3);
        (
            Course {
                sent,
                received,
                last,
            },
            progress,
        )
    }

    /// The last message, if there was one.
    pub(super) fn last(&self) -> Option<Passed> {
        (self.sent + self.received > 0).then(|| self.last.read())
    }
}

/// The last message of an operation, beside two bits for its progress: one bit for the direction, and the rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::transport) struct Last(u64);

impl Last {
    const FROM: u64 = 1 << 2;
    const RANK: u64 = 1 << 3;

    #[inline]
    pub(in crate::transport) fn to(rank: Rank) -> Last {
        Last(rank as u64 * Last::RANK)
    }

    #[inline]
    pub(in crate::transport) fn from(rank: Rank) -> Last {
        Last(Last::to(rank).0 | Last::FROM)
    }

    fn read(self) -> Passed {
        let rank = (self.0 / Last::RANK) as Rank;
        match self.0 & Last::FROM {
            0 => Passed::To(rank),
            _ => Passed::From(rank),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn notes_tell_both_counts_the_last_message_and_the_end() {
        for progress in [Progress::Inside, Progress::Done, Progress::Failed] {
            for (last, passed) in [
                (Last::to(0), Passed::To(0)),
                (Last::from(65_535), Passed::From(65_535)),
            ] {
                let course = Course {
                    sent: 5,
                    received: 1,
                    last,
                };
                let read = Course::read(course.notes(progress));
                assert_eq!(read, (course, progress));
                assert_eq!(read.0.last(), Some(passed));
            }
        }
        assert_eq!(Course::default().last(), None);
    }
}
