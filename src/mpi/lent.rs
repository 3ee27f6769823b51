//! Ranks that wait until MPI no longer uses their memory: to send a long message from where it is, or to receive one where
//! it is wanted. Neither returns before, however it ends. If MPI has failed it cannot be told any more: then the
//! [process ends](super::requests).

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use super::lending::Ticket;
use super::library::Arrival;
use super::marks::ANNOUNCED;
use super::message::{Lent, as_padded};
use super::requests::{Patience, Receiving, Sending};
use super::traffic::{Body, Straight, Traffic, tag_of};
use super::{HEAD, Processes};

/// For how long a sender waits until its message is wanted: the time of a copy at this number of bytes a nanosecond, and
/// longer.
const COPIED: usize = 8;
const PATIENCE: Duration = Duration::from_micros(10);

/// A message that is announced, and of which a copy is sent if nothing else is.
struct Announced<'p> {
    processes: &'p Processes,
    to: usize,
    ticket: Ticket,
    copied: Option<&'p [MaybeUninit<u8>]>,
}

/// A message that is sent from where it is.
struct LentBody<'p> {
    processes: &'p Processes,
    ticket: Ticket,
    body: Sending,
}

/// A message that is received where it is wanted.
pub(crate) struct StraightBody<'p> {
    processes: &'p Processes,
    straight: Box<Straight>,
    /// What has become of it, once nothing more arrives.
    over: Option<Received>,
}

/// What has become of a message that is received where it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    All,
    /// It was longer or shorter than it was announced, or was never sent.
    OtherLength,
    /// Nothing is known of it, and no process is to blame.
    MpiFailed,
}

impl Traffic {
    /// Announces a message with a body of this length, which its sender then [sends](Self::send_body) or [posts a
    /// copy](Self::post_copy) of. `None` if it cannot be announced: nothing has happened.
    fn announce(
        &mut self,
        (to, length): (usize, usize),
        head: &[u8; HEAD],
    ) -> Result<Option<Ticket>, String> {
        let ticket = (!self.exits).then(|| self.lending.announce(to)).flatten();
        if let Some(ticket) = ticket {
            let word = ticket.word().to_le_bytes();
            let contents = [as_padded(head), as_padded(&word)];
            self.send_letter(to, contents, ANNOUNCED | length as u64)?;
        }
        Ok(ticket)
    }

    /// Whether the receiver of an announced message waits for it.
    fn is_wanted(&self, ticket: Ticket) -> bool {
        self.lending.is_wanted(ticket)
    }

    /// Sends the body of an announced message. Returns whether it has left.
    fn send_body(&mut self, to: usize, ticket: Ticket, body: &mut Sending) -> Result<bool, String> {
        self.library.send(body, to, tag_of(ticket))
    }

    /// Whether the body of an announced message has left; it is announced no more then.
    fn body_has_left(&mut self, ticket: Ticket, body: &mut Sending) -> Result<bool, String> {
        let has_left = self.library.has_left(body)?;
        if has_left {
            self.lending.end(ticket);
        }
        Ok(has_left)
    }

    /// Posts a copy of the body of an announced message.
    fn post_copy(&mut self, to: usize, ticket: Ticket, body: Body) -> Result<(), String> {
        self.lending.end(ticket);
        self.post(body.0, to, tag_of(ticket))
    }

    /// Whether bodies are wanted that have not arrived.
    pub(super) fn wants_bodies(&self) -> bool {
        self.wanted > 0
    }

    /// Whether a body has arrived in memory of a rank.
    fn has_arrived(&mut self, body: &mut Receiving) -> Result<Arrival, String> {
        self.library.has_arrived(body)
    }

    /// Whether letters have arrived from the process of a message since its own.
    fn has_heard_since(&self, straight: &Straight) -> bool {
        self.heard[straight.from] != straight.heard
    }

    /// Recalls such a body, once, if it is found to be late.
    fn recall_straight(&mut self, straight: &mut Straight, is_late: bool) -> Result<(), String> {
        let (from, body) = (straight.from, &mut straight.body);
        match is_late && self.is_behind(from, body)? {
            true => self.recall(body),
            false => Ok(()),
        }
    }

    /// Recalls such a body, once.
    fn recall(&mut self, body: &mut Receiving) -> Result<(), String> {
        match body.is_recalled {
            true => Ok(()),
            false => self.library.recall(body),
        }
    }
}

impl Processes {
    /// Sends a long message to another process, from where it is if its receiver takes it in at once, as a copy otherwise.
    /// `meanwhile` takes in what arrives, and is called again and again.
    pub(crate) fn send_announced(
        &self,
        to: usize,
        head: &[u8; HEAD],
        (contents, lent): (&[MaybeUninit<u8>], Lent),
        meanwhile: &mut dyn FnMut(),
    ) {
        let announce = |traffic: &mut Traffic| traffic.announce((to, contents.len()), head);
        let announced = self.state.lock().with(announce);
        let Some(ticket) = announced.flatten() else {
            return self.send(to, head, contents);
        };
        let mut announced = Announced {
            processes: self,
            to,
            ticket,
            copied: Some(contents),
        };
        if self.is_wanted_soon(ticket, contents.len(), meanwhile) {
            announced.copied = None;
            self.send_lent(to, ticket, lent, meanwhile);
        }
    }

    fn is_wanted_soon(&self, ticket: Ticket, length: usize, meanwhile: &mut dyn FnMut()) -> bool {
        let patience = PATIENCE + Duration::from_nanos((length / COPIED) as u64);
        let begin = Instant::now();
        loop {
            meanwhile();
            let wanted = self
                .state
                .lock()
                .with(|traffic| Ok(traffic.is_wanted(ticket)));
            match wanted {
                Some(true) => return true,
                Some(false) if begin.elapsed() <= patience => {}
                _ => return false,
            }
        }
    }

    fn send_lent(&self, to: usize, ticket: Ticket, lent: Lent, meanwhile: &mut dyn FnMut()) {
        let mut lent = LentBody {
            processes: self,
            ticket,
            body: Sending::lent(lent),
        };
        let mut state = self.state.lock();
        state.with(|traffic| traffic.send_body(to, ticket, &mut lent.body));
        drop(state);
        while !lent.is_over() {
            meanwhile();
        }
    }

    /// Whether messages are on their way for which their senders wait.
    pub(crate) fn wants_bodies(&self) -> bool {
        let state = self.state.lock();
        state
            .traffic
            .as_ref()
            .is_ok_and(|traffic| traffic.wants_bodies())
    }
}

/// Never returns if MPI is finalized, as the process exits: memory that MPI has used stays as it is. Otherwise MPI has
/// failed, and nothing more happens to it that is known.
#[cold]
fn stay_if(is_finished: bool) -> bool {
    if is_finished {
        loop {
            std::thread::park();
        }
    }
    true
}

impl Drop for Announced<'_> {
    /// What is called meanwhile may panic.
    fn drop(&mut self) {
        let Some(contents) = self.copied else {
            return;
        };
        let spare = |traffic: &mut Traffic| Ok(traffic.spare_body(contents.len()));
        let state = &self.processes.state;
        let Some(spare) = state.lock().with(spare) else {
            return;
        };
        let body = spare.filled(contents);
        let post = |traffic: &mut Traffic| traffic.post_copy(self.to, self.ticket, body);
        state.lock().with(post);
    }
}

impl LentBody<'_> {
    fn is_over(&mut self) -> bool {
        let mut state = self.processes.state.lock();
        let has_left = state.with(|traffic| traffic.body_has_left(self.ticket, &mut self.body));
        let is_finished = state.is_finished;
        drop(state);
        has_left.unwrap_or_else(|| stay_if(is_finished))
    }
}

impl Drop for LentBody<'_> {
    /// What is called meanwhile may panic.
    fn drop(&mut self) {
        while !self.body.open.is_empty() && !self.is_over() {
            std::thread::yield_now();
        }
    }
}

impl<'p> StraightBody<'p> {
    pub(super) fn new(processes: &'p Processes, straight: Box<Straight>) -> StraightBody<'p> {
        StraightBody {
            processes,
            straight,
            over: None,
        }
    }

    /// One that MPI will not receive, as it has failed.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn of_failed(processes: &'p Processes, from: usize) -> StraightBody<'p> {
        let straight = Straight {
            from,
            body: Receiving::room_for(0).expect("no memory is needed"),
            heard: 0,
        };
        StraightBody::new(processes, Box::new(straight))
    }

    /// The sender.
    pub(crate) fn from(&self) -> usize {
        self.straight.from
    }

    /// What has become of it, once nothing more arrives.
    pub(crate) fn is_over(&mut self) -> Option<Received> {
        if self.over.is_none() {
            let mut state = self.processes.state.lock();
            let body = &mut self.straight.body;
            let arrival = state.with(|traffic| traffic.has_arrived(body));
            let is_finished = state.is_finished;
            drop(state);
            self.over = match arrival {
                Some(Arrival::No) => None,
                Some(Arrival::Yes) => Some(Received::All),
                Some(Arrival::OtherLength) => Some(Received::OtherLength),
                None => {
                    stay_if(is_finished);
                    Some(Received::MpiFailed)
                }
            };
        }
        self.over
    }

    /// Recalls it, once, if it seems to be sent never: its sender has ended, or other letters of its process have arrived
    /// since, and it has waited for long.
    pub(crate) fn recall_late(&mut self, has_ended: bool) {
        let body = &self.straight.body;
        let patience = match has_ended {
            true => Patience::Sent,
            false => Patience::Announced,
        };
        if body.is_late(patience) {
            let straight = &mut *self.straight;
            let mut state = self.processes.state.lock();
            state.with(|traffic| {
                let is_late = has_ended || traffic.has_heard_since(straight);
                traffic.recall_straight(straight, is_late)
            });
        }
    }

    fn recall(&mut self) {
        let body = &mut self.straight.body;
        let mut state = self.processes.state.lock();
        state.with(|traffic| traffic.recall(body));
    }
}

impl Drop for StraightBody<'_> {
    /// What is called meanwhile may panic.
    fn drop(&mut self) {
        if self.is_over().is_none() {
            self.recall();
        }
        while self.is_over().is_none() {
            std::thread::yield_now();
        }
    }
}
