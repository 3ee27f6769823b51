//! The other processes of a program that an MPI launcher has started, as far as bytes go between them.
//!
//! - `launcher`: which MPI has started this process, by its environment
//! - `abi`: the constants in which the binary interfaces of MPI libraries differ
//! - `library`: the functions of a library that is found when the program runs; `loaded`: how it is loaded
//! - `requests`: what it reads and writes meanwhile; `message`: the memory of a message that arrives
//! - `traffic`: what is on its way: letters, and the bodies of those that are long; `exit`: what is left of it at the end
//! - `node`: letters through memory that processes share
//! - `marked`: letters that are no messages, by their `marks`; `recall`: bodies that do not come
//! - `lending`: bodies that may go from where they are; `lent`: the ranks that wait for that
//!
//! MPI is initialized with `MPI_THREAD_SERIALIZED`: every call is made under one lock, and none of them waits for another
//! process, but for the first and the last. So a thread may hold the lock while others need it.

mod abi;
mod exit;
mod launcher;
mod lending;
mod lent;
mod library;
mod loaded;
mod marked;
mod marks;
mod message;
pub(crate) mod node;
mod recall;
mod requests;
mod traffic;

use std::mem::MaybeUninit;
use std::time::Duration;

pub(crate) use launcher::{Launched, lacks_pmi, launched};
pub(crate) use lent::{Received, StraightBody};
use library::Library;
pub(crate) use message::{Lent, Message};
use traffic::Traffic;

use crate::sync::Mutex;

/// The bytes of a message that is to be sent: some may be the padding of an element.
type Bytes = Vec<MaybeUninit<u8>>;

/// What becomes of what arrives. Not to wait, and not to call anything here.
pub(crate) trait Deliver {
    /// A message has arrived: its sender, its first bytes, and its body if it is long.
    fn deliver(&mut self, from: usize, letter: &[u8], body: Option<Message>);

    /// Where the announced body of a message goes that has not arrived: its sender, its first bytes, and the length of the
    /// body. `None`: into memory of its own.
    fn room(&mut self, _from: usize, _letter: &[u8], _length: usize) -> Option<Lent> {
        None
    }
}

impl<D: FnMut(usize, &[u8], Option<Message>)> Deliver for D {
    #[inline]
    fn deliver(&mut self, from: usize, letter: &[u8], body: Option<Message>) {
        self(from, letter, body);
    }
}

/// What a poll has left.
#[derive(Default)]
pub(crate) struct Left<'p> {
    /// A message that goes into memory of the rank that polls.
    pub straight: Option<StraightBody<'p>>,
    /// Whether messages are on their way for which their senders wait.
    pub wants_bodies: bool,
}

/// The bytes of the head of each message.
pub(crate) const HEAD: usize = 48;

/// How long the last call of the process waits for a thread that is inside MPI.
const PATIENCE: Duration = Duration::from_secs(1);

/// The processes that were started together.
pub(crate) struct Processes {
    /// This process among them.
    pub(crate) me: usize,
    pub(crate) count: usize,
    /// Why this process opens no world, which all others are to be told.
    pub(crate) refused: Option<String>,
    state: Mutex<State>,
}

struct State {
    /// What is on its way, or what has failed: nothing is sent or received after that.
    traffic: Result<Traffic, String>,
    /// Whether a failure has been reported.
    is_reported: bool,
    /// Whether MPI is finalized.
    is_finished: bool,
    /// What arrives in a test, each message with its sender.
    #[cfg(test)]
    arriving: std::collections::VecDeque<(usize, Vec<u8>)>,
}

impl State {
    /// Uses MPI; the next poll reports what fails. `None` if that or something before has failed.
    fn with<R>(&mut self, use_it: impl FnOnce(&mut Traffic) -> Result<R, String>) -> Option<R> {
        match use_it(self.traffic.as_mut().ok()?) {
            Ok(done) => Some(done),
            Err(failed) => {
                self.traffic = Err(failed);
                None
            }
        }
    }
}

impl State {
    /// Sends what `next` gives, short messages with their receivers. Returns whether MPI has not failed.
    fn send_each(&mut self, next: &mut dyn FnMut() -> Option<(usize, [u8; HEAD])>) -> bool {
        while self.traffic.is_ok()
            && let Some((to, head)) = next()
        {
            self.with(|traffic| traffic.send(to, &head, &[], None));
        }
        self.traffic.is_ok()
    }

    /// The failure, the first time.
    #[cold]
    fn report(&mut self) -> Result<(), String> {
        match &self.traffic {
            Err(error) if !std::mem::replace(&mut self.is_reported, true) => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

impl Processes {
    /// Initializes MPI, once in a process. Waits until all processes that were started together do so. `last` runs
    /// when the process exits.
    pub(crate) fn join(launched: &Launched, last: extern "C" fn()) -> Result<Processes, String> {
        let mut library = Library::find(launched)?;
        let started = library.start(last);
        let started = started.and_then(|(me, count)| {
            launched.agrees(count, &library.name)?;
            Ok((me, count))
        });
        // The launcher would end the job of a process that does not finalize MPI.
        let (me, count) = started.inspect_err(|_| library.finalize(&mut []))?;
        let shares = node::is_wanted();
        let traffic = Traffic::new(library, (me, count), shares == Ok(true))?;
        let state = State {
            traffic: Ok(traffic),
            is_reported: false,
            is_finished: false,
            #[cfg(test)]
            arriving: Default::default(),
        };
        Ok(Processes {
            me,
            count,
            refused: shares.err(),
            state: Mutex::new(state),
        })
    }

    /// Processes without MPI, to which nothing is sent, and from which this arrives.
    #[cfg(test)]
    pub(crate) fn without_mpi(
        (me, count): (usize, usize),
        arriving: impl IntoIterator<Item = (usize, Vec<u8>)>,
    ) -> Processes {
        let state = State {
            traffic: Err("there is no MPI".into()),
            is_reported: true,
            is_finished: false,
            arriving: arriving.into_iter().collect(),
        };
        Processes {
            me,
            count,
            refused: None,
            state: Mutex::new(state),
        }
    }

    /// MPI fails, for this reason.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn fail(&self, why: &str) {
        let mut state = self.state.lock();
        state.traffic = Err(why.into());
        state.is_reported = false;
    }

    /// Sends a message to another process, and waits for nothing: `head`, and then `contents`. A receiver gets what is
    /// long as a body apart from the head.
    pub(crate) fn send(&self, to: usize, head: &[u8; HEAD], contents: &[MaybeUninit<u8>]) {
        let (mut state, mut spare) = (self.state.lock(), None);
        state.with(|traffic| match traffic.is_one_letter(to, contents.len()) {
            true => traffic.send(to, head, contents, None),
            false => {
                spare = Some(traffic.spare_body(contents.len()));
                Ok(())
            }
        });
        drop(state);
        // What is no letter is copied while other threads may use MPI.
        let body = spare.map(|spare| spare.filled(contents));
        if body.is_some() {
            let mut state = self.state.lock();
            state.with(|traffic| traffic.send(to, head, &[], body));
        }
    }

    /// Whether a message to a process with this number of bytes of contents is one letter.
    pub(crate) fn is_one_letter(&self, to: usize, contents: usize) -> bool {
        let state = self.state.lock();
        let traffic = state.traffic.as_ref();
        traffic.is_ok_and(|traffic| traffic.is_one_letter(to, contents))
    }

    /// Sends a short message that its receiver may need to come to its exit, also while this process waits there.
    pub(crate) fn send_at_exit(&self, to: usize, head: &[u8; HEAD], contents: &[MaybeUninit<u8>]) {
        let mut state = self.state.lock();
        state.with(|traffic| traffic.send_always(to, head, contents, None));
    }

    /// Says to all of `others`, by this head, that this process exits: nothing is sent after that but what they may need to
    /// come to their exit.
    pub(crate) fn say_exit(&self, others: impl Iterator<Item = usize>, head: &[u8; HEAD]) {
        let mut state = self.state.lock();
        state.with(|traffic| traffic.say_exit(others, head));
    }

    /// Sends what `next` gives, short messages with their receivers, if no other thread is inside MPI: for callers that
    /// may not wait for one. Returns whether it was inside MPI.
    pub(crate) fn try_send(&self, next: &mut dyn FnMut() -> Option<(usize, [u8; HEAD])>) -> bool {
        let state = self.state.try_lock();
        state.is_some_and(|mut state| state.send_each(next))
    }

    /// The same once no other thread is inside MPI.
    pub(crate) fn send_each(&self, next: &mut dyn FnMut() -> Option<(usize, [u8; HEAD])>) {
        self.state.lock().send_each(next);
    }

    /// Takes in what has arrived, `all` of it or one message and what was held up, and hands each message to `deliver`.
    /// Returns at once if another thread does so. An error is reported once. `left` is told what is left, if anything is.
    #[inline]
    pub(crate) fn poll<'p>(
        &'p self,
        all: bool,
        deliver: &mut dyn Deliver,
        left: &mut Left<'p>,
    ) -> Result<(), String> {
        let Some(mut state) = self.state.try_lock() else {
            return Ok(());
        };
        #[cfg(test)]
        while let Some((from, letter)) = state.arriving.pop_front() {
            deliver.deliver(from, &letter, None);
            if !all {
                break;
            }
        }
        let polled = match &mut state.traffic {
            Ok(traffic) => traffic.poll(all, deliver),
            Err(_) => return state.report(),
        };
        match polled {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.leave(&mut state, left);
                Ok(())
            }
            Err(failed) => {
                self.leave(&mut state, left);
                state.traffic = Err(failed);
                state.report()
            }
        }
    }

    /// Tells what a poll has left.
    #[inline(never)]
    fn leave<'p>(&'p self, state: &mut State, left: &mut Left<'p>) {
        if let Ok(traffic) = &mut state.traffic {
            let straight = traffic.take_straight();
            left.straight = straight.map(|straight| StraightBody::new(self, straight));
            left.wants_bodies = traffic.wants_bodies();
        }
    }

    /// Whether all that was sent has left, to the processes that are `waited` for.
    pub(crate) fn has_sent_all(&self, waited: &dyn Fn(usize) -> bool) -> bool {
        let state = self.state.lock();
        let traffic = state.traffic.as_ref();
        traffic.map_or(true, |traffic| traffic.has_sent_all(waited))
    }

    /// Whether all processes have called this, because they exit, and what was sent before has left, to those that are
    /// `waited` for. It is called until they have. If MPI has failed, no process is waited for.
    pub(crate) fn all_exit(&self, waited: &dyn Fn(usize) -> bool) -> bool {
        let mut state = self.state.lock();
        let all_exit = state.with(|traffic| traffic.all_exit(waited));
        all_exit.unwrap_or(true)
    }

    /// Whether something is on its way that needs polls, here or there, as far as this process knows: a message that is
    /// long, or a letter that waits for room.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.traffic.as_ref().is_ok_and(Traffic::is_busy)
    }

    /// Finalizes MPI. Nothing is sent or received after that.
    pub(crate) fn finish(&self) {
        let Some(mut state) = self.state.try_lock_for(PATIENCE) else {
            return;
        };
        (state.is_reported, state.is_finished) = (true, true);
        state.with(|traffic| {
            traffic.finish();
            Err::<(), _>("MPI is finalized".into())
        });
    }
}
