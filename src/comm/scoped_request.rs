//! [`ScopedRequest`]: the request of a scope, which need not be waited for.
//!
//! Most of them are dropped at once, and left to their scope. So a [`Request`] is made only when it is used as one.

use std::fmt;
use std::mem;
use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::request::Request;
use crate::Rank;
use crate::engine::request_state::{Direction, RequestState, Waits};
use crate::error::{Result, Site};

/// A scope that knows receives whose results are of type `R`, by their index.
pub(super) trait Receives<'scope, R> {
    /// The request of a receive; only once for each.
    fn request(&'scope self, index: usize) -> Request<'scope, R>;

    /// [`wait`](ScopedRequest::wait) for a receive whose message is in its buffer; `None` for any other.
    fn wait_in_place(&'scope self, index: usize, site: Site) -> Option<Result<R>>;

    fn state(&self, index: usize) -> Rc<RequestState>;

    fn is_done(&self, index: usize) -> bool;
}

/// A [`Request`] of a [scope](Comm::scope). It need not be waited for: the scope does that at its end.
///
/// It converts [`Into`] a [`Request`], to be waited for together with others.
pub struct ScopedRequest<'scope, R>(Form<'scope, R>);

enum Form<'scope, R> {
    /// A send whose message is on its way, and its result.
    Sent {
        comm: &'scope Comm,
        to: Rank,
        tag: u32,
        site: Site,
        result: R,
    },
    /// A receive, which its scope knows.
    Receive {
        scope: &'scope (dyn Receives<'scope, R> + 'scope),
        index: usize,
    },
    Open(Request<'scope, R>),
    /// What is left while one form is replaced by another.
    Moved,
}

impl<R> fmt::Debug for ScopedRequest<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Sent { to, tag, site, .. } => {
                let direction = sent(*to, *tag);
                write!(f, "{direction} at {site}")
            }
            Form::Receive { scope, index } => {
                let state = scope.state(*index);
                write!(f, "{state} at {}", state.site)
            }
            Form::Open(request) => request.fmt(f),
            Form::Moved => Ok(()),
        }
    }
}

impl<'scope, R> ScopedRequest<'scope, R> {
    /// That of a send whose message is on its way.
    #[inline]
    pub(super) fn sent(comm: &'scope Comm, to: Rank, tag: u32, site: Site, result: R) -> Self {
        ScopedRequest(Form::Sent {
            comm,
            to,
            tag,
            site,
            result,
        })
    }

    /// That of a receive.
    #[inline]
    pub(super) fn receive(scope: &'scope (dyn Receives<'scope, R> + 'scope), index: usize) -> Self {
        ScopedRequest(Form::Receive { scope, index })
    }

    /// That of an operation that its scope knows.
    #[inline]
    pub(super) fn open(request: Request<'scope, R>) -> Self {
        ScopedRequest(Form::Open(request.scoped()))
    }
}

impl<'scope, R: 'scope> ScopedRequest<'scope, R> {
    /// As [`Request::wait`]; returns the borrow.
    #[track_caller]
    pub fn wait(self) -> Result<R> {
        let in_place = match &self.0 {
            Form::Receive { scope, index } => scope.wait_in_place(*index, Location::caller()),
            _ => None,
        };
        // No closure: the caller of what is called in one is the closure's own line.
        match in_place {
            Some(done) => done,
            None => Request::from(self).wait(),
        }
    }

    /// As [`Request::test`].
    #[track_caller]
    pub fn test(&mut self) -> Result<Option<R>> {
        let form = mem::replace(&mut self.0, Form::Moved);
        self.0 = Form::Open(form.into_request());
        match &mut self.0 {
            Form::Open(request) => request.test(),
            _ => Ok(None),
        }
    }

    /// As [`Request::is_done`].
    pub fn is_done(&self) -> bool {
        match &self.0 {
            Form::Receive { scope, index } => scope.is_done(*index),
            Form::Open(request) => request.is_done(),
            Form::Sent { .. } | Form::Moved => true,
        }
    }

    /// As [`Request::cancel`]; the scope then does not wait for it.
    #[track_caller]
    pub fn cancel(self) -> Result<bool> {
        Request::from(self).cancel()
    }
}

impl<'scope, R: 'scope> From<ScopedRequest<'scope, R>> for Request<'scope, R> {
    fn from(scoped: ScopedRequest<'scope, R>) -> Self {
        scoped.0.into_request()
    }
}

impl<'scope, R: 'scope> Form<'scope, R> {
    /// A request that nothing reports when it is dropped.
    fn into_request(self) -> Request<'scope, R> {
        match self {
            Form::Sent {
                comm,
                to,
                tag,
                site,
                result,
            } => {
                let state = RequestState::new(sent(to, tag), &comm.handle, site);
                Request::new(&comm.core, state, Box::new(|_, _| Ok(result))).scoped()
            }
            Form::Receive { scope, index } => scope.request(index),
            Form::Open(request) => request,
            Form::Moved => unreachable!("a form is back before its request is used"),
        }
    }
}

/// The request's side of a send whose message is on its way.
fn sent(to: Rank, tag: u32) -> Direction {
    Direction::Send {
        verb: "isend",
        to,
        tag,
        receipt: None,
        waits: Waits::ForRoom,
    }
}
