//! Operations in progress, each made of any number of rankfold's requests, and what is left to do when these are over.

use std::mem;

use rankfold::{ErrorKind, Request};

use crate::comm::Communicator;
use crate::error::{Collective, Failure, Out};
use crate::hidden;
use crate::memory::{Byte, Caller};
use crate::rank::Rank;
use crate::stat::Stat;

/// What one of rankfold's requests gives.
pub(crate) enum RequestPart {
    Sent,
    Received(Vec<Byte>, rankfold::Status),
    /// The output of a started collective.
    Moved(Vec<Byte>),
}

/// The rest of an operation, once its parts are over: it fills buffers.
pub(crate) type Finish = Box<dyn FnOnce(&Rank, &Caller, Vec<RequestPart>) -> Out<Stat>>;

/// An operation in progress.
pub(crate) struct Pending {
    pub open: Vec<Request<'static, RequestPart>>,
    /// The number in the operation of each open part, and the results of the others.
    pub places: Vec<usize>,
    pub over: Vec<Option<RequestPart>>,
    pub finish: Finish,
    pub is_send: bool,
    /// Whether it is a collective, which is neither cancelled nor freed before it is over.
    pub collective: Option<Collective>,
    /// The handle of its communicator, whose error handler gets its errors.
    pub on: usize,
    /// Why a part of it never can be over: its rank has ended as MPI lets it. A wait fails, and who asks is told that it
    /// is not over.
    pub lost: Option<Failure>,
    /// Why it failed when somebody asked who does not complete it.
    pub failed: Option<Failure>,
}

impl Pending {
    pub(crate) fn new(parts: Vec<Request<'static, RequestPart>>, finish: Finish) -> Pending {
        let number = parts.len();
        Pending {
            open: parts,
            places: (0..number).collect(),
            over: (0..number).map(|_| None).collect(),
            finish,
            is_send: false,
            collective: None,
            on: 0,
            lost: None,
            failed: None,
        }
    }

    /// The same, on a communicator.
    pub(crate) fn on(mut self, comm: &Communicator) -> Pending {
        self.on = comm.handle.get();
        self
    }

    /// An operation that is over.
    pub(crate) fn done(stat: Stat) -> Pending {
        Pending::ended(Ok(stat))
    }

    /// An operation that is over, or has failed.
    pub(crate) fn ended(result: Out<Stat>) -> Pending {
        Pending::new(Vec::new(), Box::new(move |_, _, _| result))
    }

    pub(crate) fn of_collective(mut self, call: Collective) -> Pending {
        self.collective = Some(call);
        self
    }

    pub(crate) fn sending(mut self) -> Pending {
        self.is_send = true;
        self
    }

    fn took(&mut self, at: usize, part: RequestPart) {
        self.over[self.places[at]] = Some(part);
    }

    /// Drops the open parts that are over.
    fn sweep(&mut self, over: &[usize]) {
        for at in over.iter().rev() {
            // The request is over: its destructor does nothing.
            drop(self.open.remove(*at));
            self.places.remove(*at);
        }
    }

    /// Looks whether all is over.
    pub(crate) fn test(&mut self, rank: &Rank) -> Out<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let (mut over, mut failed) = (Vec::new(), None);
        for at in 0..self.open.len() {
            match self.open[at].test() {
                Ok(None) => continue,
                Ok(Some(part)) => self.took(at, part),
                Err(error) if self.is_left_alone(rank, &error) => self.lost = Some(error.into()),
                Err(error) => failed = Some(error.into()),
            }
            over.push(at);
        }
        self.sweep(&over);
        let is_over = self.open.is_empty() && !self.is_lost();
        failed.map_or(Ok(is_over), Err)
    }

    /// Whether a part fails because its rank has ended as MPI lets it. One that left out a collective was wrong.
    fn is_left_alone(&self, rank: &Rank, error: &rankfold::Error) -> bool {
        self.collective.is_none() && rank.shared.doings.has_left(error)
    }

    /// Whether it never can be over, as far as somebody has asked.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Whether a wait for it does not wait, and is no error of a rank that has ended as MPI lets it.
    pub(crate) fn has_no_parts(&self) -> bool {
        self.failed.is_some() || (self.open.is_empty() && !self.is_lost())
    }

    /// Whether all is over, or has failed.
    pub(crate) fn is_done(&mut self, rank: &Rank) -> bool {
        let over = self.open.iter().all(Request::is_done);
        if !over || !rank.shared.doings.has_any_left() {
            return over && !self.is_lost();
        }
        // What fails since its rank has ended is done, too.
        self.test(rank).unwrap_or_else(|error| {
            self.failed = Some(error);
            true
        })
    }

    /// Ends it early, and returns what it gives from now on; `None` if it stays as it is.
    pub(crate) fn cancel(&mut self) -> Option<Out<Stat>> {
        if self.over.len() != 1 || self.failed.is_some() {
            return None;
        }
        if self.lost.take().is_some() {
            return Some(Ok(Stat::CANCELLED));
        }
        // A send without a part has been delivered.
        if self.open.first()?.is_done() {
            return self.cancel_done();
        }
        Some(match self.open.remove(0).cancel() {
            Ok(true) => Ok(Stat::CANCELLED),
            Ok(false) => Ok(Stat::EMPTY),
            Err(error) => Err(Failure::from(error)),
        })
    }

    /// What is over stays as it is: a synchronous send may have learned of it. What never can be over is cancelled.
    fn cancel_done(&mut self) -> Option<Out<Stat>> {
        match self.open[0].test() {
            Ok(None) => return None,
            Ok(Some(part)) => self.took(0, part),
            Err(error) if matches!(error.kind(), ErrorKind::RankGone { .. }) => {
                return Some(Ok(Stat::CANCELLED));
            }
            Err(error) => self.failed = Some(error.into()),
        }
        self.sweep(&[0]);
        None
    }

    /// Waits until all is over, and finishes.
    pub(crate) fn wait(mut self, rank: &Rank, caller: &Caller) -> Out<Stat> {
        if let Some(error) = self.failed.take().or_else(|| self.lost.take()) {
            return Err(error.waiting_for(self.collective));
        }
        let open = mem::take(&mut self.open);
        let places = mem::take(&mut self.places);
        let parts = match open.len() {
            0 => Ok(Vec::new()),
            _ if self.collective.is_some() => hidden::wait(open),
            1 => open.into_iter().map(Request::wait).collect(),
            _ => Request::wait_all(open),
        };
        let failed = |error| Failure::from(error).waiting_for(self.collective);
        let parts = parts.map_err(failed)?;
        for (place, part) in places.into_iter().zip(parts) {
            self.over[place] = Some(part);
        }
        self.end(rank, caller)
    }

    /// Waits for a receive and a send, and returns what the receive gives.
    pub(crate) fn wait_both(
        coming: Pending,
        sent: Pending,
        rank: &Rank,
        caller: &Caller,
    ) -> Out<Stat> {
        let stat = coming.wait(rank, caller);
        sent.wait(rank, caller)?;
        stat
    }

    pub(crate) fn end(self, rank: &Rank, caller: &Caller) -> Out<Stat> {
        (self.finish)(rank, caller, self.over.into_iter().flatten().collect())
    }
}
