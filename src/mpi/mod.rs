//! The other processes of a program that an MPI launcher has started, as far as bytes go between them.
//!
//! - `launcher`: which MPI has started this process, by its environment
//! - `abi`: the constants in which the binary interfaces of MPI libraries differ
//! - `library`: the functions of a library that is found when the program runs
//! - `message`: the memory of a message that has arrived
//!
//! MPI is initialized with `MPI_THREAD_SERIALIZED`: every call is made under one lock, and none of them waits for another
//! process, but for the first and the last. So a thread may hold the lock while others need it.

mod abi;
mod launcher;
mod library;
mod message;

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::time::Duration;

use parking_lot::Mutex;

pub(crate) use launcher::{Launched, launched};
use library::{Library, Receiving, Sending};
pub(crate) use message::Message;

/// The bytes of a message that is to be sent: some may be the padding of an element.
pub(crate) type Bytes = Vec<MaybeUninit<u8>>;

/// The longest part in which a message is sent: MPI counts bytes by an `int`.
const PART: usize = 1 << 30;
/// The tags of a part that is the last one of its message, and of one that is not.
const LAST: i32 = 0;
const MORE: i32 = 1;
/// Number of messages that one poll takes in, and of sends that it tests.
const AT_ONCE: usize = 64;
/// How long the last call of the process waits for a thread that is inside MPI.
const PATIENCE: Duration = Duration::from_secs(1);

/// The processes that were started together.
pub(crate) struct Processes {
    /// This process among them.
    pub(crate) me: usize,
    pub(crate) count: usize,
    state: Mutex<State>,
}

struct State {
    library: Library,
    outgoing: VecDeque<Sending>,
    /// Messages on their way, for each process: they are delivered in the order in which they were sent.
    incoming: Vec<VecDeque<Receiving>>,
    /// The parts that have arrived of a message that is not complete.
    parts: Vec<Option<Message>>,
    /// What has failed: nothing is sent or received after that.
    failed: Option<String>,
    /// Whether that has been reported.
    is_reported: bool,
}

impl Processes {
    /// Initializes MPI, once in a process. Waits until all processes that were started together do so. `last` runs
    /// when the process exits.
    pub(crate) fn join(launched: &Launched, last: extern "C" fn()) -> Result<Processes, String> {
        let mut library = Library::find(launched)?;
        let (me, count) = library.start(last)?;
        if let Some(started) = launched.processes.filter(|started| *started != count) {
            let name = &library.name;
            return Err(format!(
                "the launcher has started {started} processes, and {name} knows of {count}: it belongs to another MPI; \
                 RANKFOLD_MPI names the library"
            ));
        }
        let state = State {
            library,
            outgoing: VecDeque::new(),
            incoming: (0..count).map(|_| VecDeque::new()).collect(),
            parts: (0..count).map(|_| None).collect(),
            failed: None,
            is_reported: false,
        };
        Ok(Processes {
            me,
            count,
            state: Mutex::new(state),
        })
    }

    /// Sends a message to another process, and waits for nothing.
    pub(crate) fn send(&self, to: usize, message: Bytes) {
        let mut state = self.state.lock();
        if message.len() <= PART {
            return state.send(to, message, LAST);
        }
        let parts = message.len().div_ceil(PART);
        for (place, part) in message.chunks(PART).enumerate() {
            let tag = if place + 1 < parts { MORE } else { LAST };
            state.send(to, part.to_vec(), tag);
        }
    }

    /// Takes in what has arrived, and hands each message with its sender to `deliver`, which must not wait and must not
    /// call anything here. Returns at once if another thread does so. An error is reported once.
    pub(crate) fn poll(&self, deliver: &mut dyn FnMut(usize, Message)) -> Result<(), String> {
        let Some(mut state) = self.state.try_lock() else {
            return Ok(());
        };
        if state.failed.is_none() {
            state.failed = state.poll(deliver).err();
        }
        match &state.failed {
            Some(error) if !state.is_reported => {
                let error = error.clone();
                state.is_reported = true;
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Whether all that was sent has left.
    pub(crate) fn has_sent_all(&self) -> bool {
        let state = self.state.lock();
        state.outgoing.is_empty() || state.failed.is_some()
    }

    /// Finalizes MPI. Nothing is sent or received after that.
    pub(crate) fn finish(&self) {
        let Some(mut state) = self.state.try_lock_for(PATIENCE) else {
            return;
        };
        state.is_reported = true;
        if state.failed.replace("MPI is finalized".into()).is_none() {
            state.library.finalize();
        }
    }
}

impl State {
    fn send(&mut self, to: usize, bytes: Bytes, tag: i32) {
        if self.failed.is_some() {
            return;
        }
        match self.library.send(bytes, to, tag) {
            Ok(sending) => self.outgoing.extend(sending),
            // The next poll reports it.
            Err(error) => self.failed = Some(error),
        }
    }

    fn poll(&mut self, deliver: &mut dyn FnMut(usize, Message)) -> Result<(), String> {
        self.test_outgoing()?;
        for _ in 0..AT_ONCE {
            let Some(receiving) = self.library.next()? else {
                break;
            };
            let from = receiving.source;
            self.incoming[from].push_back(receiving);
        }
        for from in 0..self.incoming.len() {
            while let Some((message, tag)) = self.first(from)? {
                let whole = match self.parts[from].take() {
                    Some(parts) => parts.with(&message),
                    None => message,
                };
                match tag {
                    MORE => self.parts[from] = Some(whole),
                    _ => deliver(from, whole),
                }
            }
        }
        Ok(())
    }

    /// The first message on its way from a process, if it has arrived.
    fn first(&mut self, from: usize) -> Result<Option<(Message, i32)>, String> {
        let queue = &mut self.incoming[from];
        let Some(first) = queue.front_mut() else {
            return Ok(None);
        };
        if !self.library.has_arrived(first)? {
            return Ok(None);
        }
        let arrived = queue.pop_front().map(|first| {
            let tag = first.tag;
            (first.message(), tag)
        });
        Ok(arrived)
    }

    fn test_outgoing(&mut self) -> Result<(), String> {
        for _ in 0..self.outgoing.len().min(AT_ONCE) {
            if let Some(mut sending) = self.outgoing.pop_front()
                && !self.library.has_left(&mut sending)?
            {
                self.outgoing.push_back(sending);
            }
        }
        Ok(())
    }
}
