//! The state of a partitioned message that is sent, without its buffer.

use std::fmt;
use std::mem;
use std::panic::Location;

use super::{Cut, Label};
use crate::Rank;
use crate::comm::{Comm, Request};
use crate::engine::request_state::{Direction, Waits};
use crate::error::{Error, Result, Site};
use crate::op::Element;
use crate::transport::memory::head::{Head, OF_PARTS};

/// A message that is sent, without its buffer.
pub(super) struct Sending<'c> {
    pub(super) comm: &'c Comm,
    pub(super) to: Rank,
    pub(super) tag: u32,
    pub(super) cut: Cut,
    /// Which parts are ready, while it is active.
    pub(super) ready: Option<Vec<bool>>,
    /// The number of the last start.
    pub(super) number: u32,
    /// Sends of parts for which there was no room.
    pub(super) open: Vec<Request<'static, ()>>,
}

impl fmt::Display for Sending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sending { to, tag, .. } = self;
        write!(f, "send_parts(to {to}, tag {tag})")
    }
}

impl Sending<'_> {
    /// Runs one operation on it.
    pub(super) fn op<R>(
        &mut self,
        site: Site,
        verb: &dyn fmt::Display,
        body: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let (comm, this) = (self.comm, self.to_string());
        comm.op(site, &|| format!("{verb} of {this}"), || body(self))
    }

    pub(super) fn start(&mut self) -> Result<()> {
        if self.ready.is_some() {
            return Err(Error::usage("it is active: wait for it first"));
        }
        self.comm.check_peer("the receiver", self.to)?;
        let starts = &self.comm.part_starts;
        self.number = starts.replace(starts.get().wrapping_add(1));
        self.ready = Some(vec![false; self.cut.parts]);
        Ok(())
    }

    pub(super) fn check_active(&self) -> Result<()> {
        match self.ready {
            Some(_) => Ok(()),
            None => Err(Error::usage("it is not active: start it first")),
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
        self.ready.as_ref().is_some_and(|ready| ready[part])
    }

    /// Sends the elements of a part that was not ready.
    pub(super) fn post<T: Element>(
        &mut self,
        part: usize,
        elements: Vec<T>,
        site: Site,
    ) -> Result<()> {
        let Sending { comm, to, tag, .. } = *self;
        comm.check_peer("the receiver", to)?;
        if let Some(ready) = &mut self.ready {
            ready[part] = true;
        }
        // Of no elements, the receiver expects no message.
        if elements.is_empty() {
            return Ok(());
        }
        let (context, source) = (comm.shared.context + OF_PARTS, comm.core.port.me);
        let Label(label) = Label::new(self.number, part);
        let receipt = comm.post_vec(to, Head::new(context, source, tag, label), elements)?;
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

    /// The parts that are not ready.
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        let parts = self.ready.iter().flatten().enumerate();
        parts.filter(|(_, ready)| !**ready).map(|(part, _)| part)
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
        self.op(Location::caller(), &"wait", |this| this.check_all_ready())?;
        self.ready = None;
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
