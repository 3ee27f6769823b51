//! [`ScopedRequest`]: the request of a scope, which need not be waited for.
//!
//! Most of them are dropped at once, and left to their scope. So a [`Request`] is made only when it is used as one.

use std::fmt;
use std::mem;
use std::rc::Rc;

use super::Comm;
use super::request::{Here, Request};
use crate::engine::request_state::{Direction, RequestState};
use crate::error::{Result, Site};
use crate::transport::memory::packet::Packet;

/// Makes the result of a receive from its message, once.
pub(super) trait Finishes<R> {
    fn finish(&self, packet: &Packet, here: &Here<'_>) -> Result<R>;
}

/// A [`Request`] of a [scope](Comm::scope). It need not be waited for: the scope does that at its end.
///
/// It converts [`Into`] a [`Request`], to be waited for together with others.
pub struct ScopedRequest<'scope, R>(Form<'scope, R>);

enum Form<'scope, R> {
    /// A send whose message is on its way, and its result.
    Sent {
        comm: &'scope Comm,
        direction: Direction,
        site: Site,
        result: R,
    },
    /// A receive, which its scope knows.
    Receive {
        comm: &'scope Comm,
        state: Rc<RequestState>,
        finish: Rc<dyn Finishes<R> + 'scope>,
    },
    Open(Request<'scope, R>),
    /// What is left while one form is replaced by another.
    Moved,
}

impl<R> fmt::Debug for ScopedRequest<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Sent {
                direction, site, ..
            } => write!(f, "{direction} at {site}"),
            Form::Receive { state, .. } => write!(f, "{state} at {}", state.site),
            Form::Open(request) => request.fmt(f),
            Form::Moved => Ok(()),
        }
    }
}

impl<'scope, R> ScopedRequest<'scope, R> {
    /// That of a send whose message is on its way.
    pub(super) fn sent(comm: &'scope Comm, direction: Direction, site: Site, result: R) -> Self {
        ScopedRequest(Form::Sent {
            comm,
            direction,
            site,
            result,
        })
    }

    /// That of a receive.
    pub(super) fn receive(
        comm: &'scope Comm,
        state: Rc<RequestState>,
        finish: Rc<dyn Finishes<R> + 'scope>,
    ) -> Self {
        ScopedRequest(Form::Receive {
            comm,
            state,
            finish,
        })
    }

    /// That of an operation that its scope knows.
    pub(super) fn open(request: Request<'scope, R>) -> Self {
        ScopedRequest(Form::Open(request.scoped()))
    }
}

impl<'scope, R: 'scope> ScopedRequest<'scope, R> {
    /// As [`Request::wait`]; returns the borrow.
    #[track_caller]
    pub fn wait(self) -> Result<R> {
        Request::from(self).wait()
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
            Form::Receive { comm, state, .. } => comm.core.is_done(state),
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
                direction,
                site,
                result,
            } => {
                let state = RequestState::new(direction, &comm.handle, site);
                Request::new(&comm.core, state, Box::new(|_, _| Ok(result))).scoped()
            }
            Form::Receive {
                comm,
                state,
                finish,
            } => {
                let finish =
                    move |packet: &mut Packet, here: &Here<'_>| finish.finish(packet, here);
                Request::new(&comm.core, state, Box::new(finish)).scoped()
            }
            Form::Open(request) => request,
            Form::Moved => unreachable!("a form is back before its request is used"),
        }
    }
}
