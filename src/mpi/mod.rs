//! The other processes of a program that an MPI launcher has started, as far as bytes go between them.
//!
//! - `launcher`: which MPI has started this process, by its environment
//! - `abi`: the constants in which the binary interfaces of MPI libraries differ
//! - `library`: the functions of a library that is found when the program runs
//! - `message`: the memory of a message that arrives
//! - `traffic`: what is on its way: letters, and the bodies of those that are long
//!
//! MPI is initialized with `MPI_THREAD_SERIALIZED`: every call is made under one lock, and none of them waits for another
//! process, but for the first and the last. So a thread may hold the lock while others need it.

mod abi;
mod launcher;
mod library;
mod message;
mod traffic;

use std::mem::MaybeUninit;
use std::time::Duration;

use parking_lot::Mutex;

pub(crate) use launcher::{Launched, launched};
use library::Library;
pub(crate) use message::Message;
use traffic::Traffic;

/// The bytes of a message that is to be sent: some may be the padding of an element.
type Bytes = Vec<MaybeUninit<u8>>;

/// What becomes of a message that has arrived: its sender, its first bytes, and its body if it is long.
pub(crate) type Deliver<'d> = dyn FnMut(usize, &[u8], Option<Message>) + 'd;

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
    traffic: Traffic,
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
            traffic: Traffic::new(library, count)?,
            failed: None,
            is_reported: false,
        };
        Ok(Processes {
            me,
            count,
            state: Mutex::new(state),
        })
    }

    /// Sends a message to another process, and waits for nothing: `head`, and then `contents`. A receiver gets what is
    /// long as a body apart from the head.
    pub(crate) fn send(&self, to: usize, head: &[u8], contents: &[MaybeUninit<u8>]) {
        // What is long is copied while other threads may use MPI.
        let body = (!traffic::is_short(head, contents)).then(|| {
            let spare = self.state.lock().traffic.spare_body(contents.len());
            spare.filled(contents)
        });
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        let sent = match body {
            None => state.traffic.send(to, head, contents, None),
            Some(body) => state.traffic.send(to, head, &[], Some(body)),
        };
        // The next poll reports it.
        state.failed = sent.err();
    }

    /// Sends what `next` gives, short messages with their receivers, if no other thread is inside MPI: for callers that
    /// may not wait for one.
    pub(crate) fn try_send<const N: usize>(
        &self,
        next: &mut dyn FnMut() -> Option<(usize, [u8; N])>,
    ) {
        let Some(mut state) = self.state.try_lock() else {
            return;
        };
        while state.failed.is_none()
            && let Some((to, head)) = next()
        {
            // The next poll reports it.
            state.failed = state.traffic.send(to, &head, &[], None).err();
        }
    }

    /// Takes in what has arrived, `all` of it or one message and what was held up, and hands each message to `deliver`,
    /// which must not wait and must not call anything here. Returns at once if another thread does so. An error is
    /// reported once.
    pub(crate) fn poll(&self, all: bool, deliver: &mut Deliver<'_>) -> Result<(), String> {
        let Some(mut state) = self.state.try_lock() else {
            return Ok(());
        };
        if state.failed.is_none() {
            state.failed = state.traffic.poll(all, deliver).err();
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
        state.traffic.has_sent_all() || state.failed.is_some()
    }

    /// Whether a message that is long is on its way, here or there, as far as this process knows: it needs polls.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.failed.is_none() && state.traffic.is_busy()
    }

    /// Finalizes MPI. Nothing is sent or received after that.
    pub(crate) fn finish(&self) {
        let Some(mut state) = self.state.try_lock_for(PATIENCE) else {
            return;
        };
        state.is_reported = true;
        if state.failed.replace("MPI is finalized".into()).is_none() {
            state.traffic.finish();
        }
    }
}
