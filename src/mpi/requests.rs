//! What MPI reads or writes until its requests are complete, with its memory, which is neither freed nor shown before. Memory
//! that is lent to it cannot be kept: the process ends if MPI fails meanwhile, as it would by default.

use std::mem;
use std::process;
use std::time::{Duration, Instant};

use super::{Bytes, Lent, Message};

/// A message on its way to another process.
#[derive(Default)]
pub(super) struct Sending {
    pub bytes: Bytes,
    /// What is sent instead, from where it is.
    pub lent: Option<Lent>,
    /// The requests of its parts that are not complete.
    pub open: Vec<usize>,
}

/// A message on its way from another process.
pub(super) struct Receiving {
    pub memory: Message,
    /// Where it is received instead.
    pub lent: Option<Lent>,
    pub written: usize,
    /// When it was posted, and whether it was recalled since.
    pub since: Instant,
    /// The number of the question to its sender whether it was sent, once that was asked.
    pub asked: Option<u32>,
    pub is_recalled: bool,
    /// The requests of its parts that are not complete, and the bytes of each.
    pub open: Vec<(usize, usize)>,
}

/// A receive of messages from any process, which is posted again and again.
pub(super) struct Standing {
    /// The sender of the message that has arrived.
    pub source: usize,
    pub memory: Message,
    pub request: usize,
    /// Whether MPI may still write into the memory.
    pub is_posted: bool,
}

impl Sending {
    pub(super) fn lent(lent: Lent) -> Sending {
        Sending {
            bytes: Bytes::new(),
            lent: Some(lent),
            open: Vec::new(),
        }
    }

    /// What is sent: where it begins, and its length.
    pub(super) fn contents(&self) -> (*const u8, usize) {
        match self.lent {
            None => (self.bytes.as_ptr().cast(), self.bytes.len()),
            Some(lent) => (lent.first().cast_const(), lent.length()),
        }
    }
}

/// For how long a message on its way is not recalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Its sender has sent it, or has ended.
    Sent,
    /// It was announced: other ranks of its process may send before it leaves, and its sender may have to copy it first.
    Announced,
}

impl Patience {
    /// Copies of very long messages take 4 ns for each byte at most.
    fn time(self, length: usize) -> Duration {
        match self {
            Patience::Sent => Duration::from_secs(1),
            Patience::Announced => {
                Duration::from_secs(10) + Duration::from_nanos(4 * length as u64)
            }
        }
    }
}

impl Receiving {
    /// Room for a message whose length another process has named; `None` if there is no memory for it.
    pub(super) fn room_for(length: usize) -> Option<Receiving> {
        Some(Receiving {
            memory: Message::room_for(length)?,
            lent: None,
            written: 0,
            since: Instant::now(),
            asked: None,
            is_recalled: false,
            open: Vec::new(),
        })
    }

    /// The same into memory of the rank that waits for it.
    pub(super) fn into_lent(lent: Lent) -> Receiving {
        Receiving {
            memory: Message::room(0),
            lent: Some(lent),
            written: 0,
            since: Instant::now(),
            asked: None,
            is_recalled: false,
            open: Vec::new(),
        }
    }

    /// Where the room begins, and for how many bytes there is room.
    pub(super) fn room(&mut self) -> (*mut u8, usize) {
        match self.lent {
            None => (self.memory.first(), self.memory.capacity()),
            Some(lent) => (lent.first(), lent.length()),
        }
    }

    /// Whether it has not been recalled, and was posted longer ago than it is waited for.
    pub(super) fn is_late(&self, patience: Patience) -> bool {
        let length = self
            .lent
            .map_or(self.memory.capacity(), |lent| lent.length());
        !self.is_recalled && self.since.elapsed() > patience.time(length)
    }

    /// The message, which has arrived.
    pub(super) fn message(mut self) -> Message {
        assert!(
            self.open.is_empty(),
            "a message is read once it has arrived"
        );
        mem::replace(&mut self.memory, Message::room(0))
    }
}

impl Standing {
    /// The bytes that have arrived.
    pub(super) fn bytes(&self) -> &[u8] {
        assert!(!self.is_posted, "a message is read once it has arrived");
        self.memory.bytes()
    }
}

/// MPI may go on using memory of a rank, though it has failed: by a thread of its own, another process or a network card.
#[cold]
fn never_given_back() -> ! {
    eprintln!("rankfold: MPI has failed while it used memory of a rank, so this process ends");
    process::abort()
}

impl Drop for Sending {
    fn drop(&mut self) {
        if !self.open.is_empty() {
            if self.lent.is_some() {
                never_given_back();
            }
            mem::forget(mem::take(&mut self.bytes));
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if !self.open.is_empty() {
            if self.lent.is_some() {
                never_given_back();
            }
            mem::forget(mem::replace(&mut self.memory, Message::room(0)));
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if self.is_posted {
            mem::forget(mem::replace(&mut self.memory, Message::room(0)));
        }
    }
}
