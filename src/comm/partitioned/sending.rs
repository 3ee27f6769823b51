//! The state of a partitioned message that is sent, without its buffer.

use std::fmt;
use std::mem;
use std::panic::Location;
use std::sync::Arc;

use super::{Cut, PartLabel};
use crate::Rank;
use crate::comm::{Comm, Request};
use crate::engine::request_state::{Direction, Waits};
use crate::error::{Error, Result, Site};
use crate::transport::memory::head::{Head, OF_PARTS};
use crate::transport::memory::receipt::Receipt;
use crate::transport::trace::call_event::CallEvent;

/// A message that is sent, without its buffer.
pub(super) struct Sending<'c> {
    pub(super) comm: &'c Comm,
    pub(super) to: Rank,
    pub(super) tag: u32,
    pub(super) cut: Cut,
    pub(super) active: bool,
    /// Which parts are ready. None is while it is not active.
    pub(super) ready: Vec<bool>,
    /// How many of them are.
    pub(super) left: usize,
    /// Sends of parts for which there was no room.
    pub(super) open: Vec<Request<'static, ()>>,
}

/// The message, as errors print it.
pub(super) struct Name {
    pub(super) to: Rank,
    pub(super) tag: u32,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name { to, tag } = self;
        write!(f, "send_parts(to {to}, tag {tag})")
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if (1..self.cut.parts).contains(&self.left) {
            let mine = (self.to, self.tag);
            self.comm
                .half_sent
                .borrow_mut()
                .retain(|other| *other != mine);
        }
    }
}

#[cold]
fn mixed() -> Error {
    Error::usage(
        "parts of another message to this rank with this tag have left, and not all of them: declare all of those ready \
         first",
    )
}

impl Sending<'_> {
    /// Runs one operation on it.
    pub(super) fn op<R>(
        &mut self,
        site: Site,
        verb: &'static str,
        body: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let Sending { comm, to, tag, .. } = *self;
        let show = || format!("{verb} of {}", Name { to, tag });
        comm.recorded(&|| CallEvent::apart(verb, site), &show, || body(self))
    }

    pub(super) fn start(&mut self) -> Result<()> {
        if self.active {
            return Err(Error::usage("it is active: wait for it first"));
        }
        self.comm.check_peer("the receiver", self.to)?;
        self.active = true;
        Ok(())
    }

    pub(super) fn check_active(&self) -> Result<()> {
        match self.active {
            true => Ok(()),
            false => Err(Error::usage("it is not active: start it first")),
        }
    }

    /// Checks that there is such a part, and that it is not ready.
    pub(super) fn check_open(&self, part: usize) -> Result<()> {
        self.cut.check(part)?;
        match self.is_ready(part) {
            false => Ok(()),
            true => Err(Error::usage(format!("part {part} is ready already"))),
        }
    }

    pub(super) fn is_ready(&self, part: usize) -> bool {
        self.ready[part]
    }

    /// Sends the elements of a part that was not ready.
    pub(super) fn post(
        &mut self,
        part: usize,
        site: Site,
        send: impl FnOnce(&Comm, Head) -> Result<Option<Arc<Receipt>>>,
    ) -> Result<()> {
        let Sending { comm, to, tag, .. } = *self;
        comm.check_peer("the receiver", to)?;
        // Of no elements, the receiver expects no message.
        if self.cut.length == 0 {
            self.ready[part] = true;
            return Ok(());
        }
        let first = self.leave(part)?;
        let (context, source) = (comm.shared.context + OF_PARTS, comm.core.port.me);
        let PartLabel(label) = PartLabel::new(first, part);
        let receipt = send(comm, Head::new(context, source, tag, label))?;
        if receipt.is_some() {
            let waits = Waits::ForRoom;
            let verb = "ready";
            let direction = Direction::Send {
                verb,
                to,
                tag,
                receipt,
                waits,
            };
            self.open
                .push(comm.request(direction, site, Box::new(|_, _| Ok(()))));
        }
        Ok(())
    }

    /// Declares a part ready that is about to leave; returns whether it is the first one since the start.
    fn leave(&mut self, part: usize) -> Result<bool> {
        let mut half_sent = self.comm.half_sent.borrow_mut();
        let (mine, first) = ((self.to, self.tag), self.left == 0);
        if first && half_sent.contains(&mine) {
            return Err(mixed());
        }
        if first {
            half_sent.push(mine);
        }
        self.ready[part] = true;
        self.left += 1;
        if self.left == self.cut.parts {
            half_sent.retain(|other| *other != mine);
        }
        Ok(first)
    }

    /// The parts that are not ready.
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        let parts = self.ready.iter().enumerate();
        parts
            .filter(|(_, ready)| self.active && !**ready)
            .map(|(part, _)| part)
    }

    pub(super) fn check_all_ready(&self) -> Result<()> {
        let Some(first) = self.missing().next() else {
            return Ok(());
        };
        Err(Error::usage(match self.missing().count() {
            1 => format!("part {first} is not ready"),
            many => format!("part {first} and {} more are not ready", many - 1),
        }))
    }

    #[track_caller]
    pub(super) fn wait(&mut self) -> Result<()> {
        self.op(Location::caller(), "wait", |this| this.check_all_ready())?;
        self.active = false;
        self.ready.fill(false);
        self.left = 0;
        match mem::take(&mut self.open) {
            open if open.is_empty() => Ok(()),
            open => Request::wait_all(open).map(drop),
        }
    }

    #[track_caller]
    pub(super) fn test(&mut self) -> Result<bool> {
        if self.missing().next().is_some() {
            return self.comm.progress().map(|()| false);
        }
        match Request::test_all(&mut self.open)? {
            None => Ok(false),
            Some(_) => {
                self.open.clear();
                self.wait().map(|()| true)
            }
        }
    }
}
