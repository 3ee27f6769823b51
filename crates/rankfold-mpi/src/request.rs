//! Requests of the program: each has an operation, or starts one again and again.

use std::mem;
use std::ptr::without_provenance_mut as handle;
use std::rc::Rc;

use rankfold::Request;

use crate::abi::*;
use crate::detached::settle;
use crate::error::{Failure, Out, bad, failure, require};
use crate::memory::Caller;
pub(crate) use crate::pending::{Finish, Pending, RequestPart};
use crate::rank::Rank;
use crate::stat::Stat;

/// How a persistent operation is started.
pub(crate) type Start = Rc<dyn Fn(&Rank, &Caller) -> Out<Pending>>;

/// A request of the program.
pub(crate) enum Entry {
    Once(Option<Pending>),
    Persistent {
        start: Start,
        active: Option<Pending>,
        /// The handle of its communicator, whose error handler gets the errors of a start.
        on: usize,
    },
}

impl Entry {
    pub(crate) fn take(&mut self) -> Option<Pending> {
        match self {
            Entry::Once(pending)
            | Entry::Persistent {
                active: pending, ..
            } => pending.take(),
        }
    }

    pub(crate) fn put_back(&mut self, back: Pending) {
        match self {
            Entry::Once(pending)
            | Entry::Persistent {
                active: pending, ..
            } => *pending = Some(back),
        }
    }

    fn pending(&self) -> Option<&Pending> {
        match self {
            Entry::Once(pending)
            | Entry::Persistent {
                active: pending, ..
            } => pending.as_ref(),
        }
    }

    /// The handle of its communicator; 0 if it has none.
    pub(crate) fn on(&self) -> usize {
        match self {
            Entry::Once(pending) => pending.as_ref().map_or(0, |it| it.on),
            Entry::Persistent { on, .. } => *on,
        }
    }

    /// What starts it, if it is persistent and not active.
    fn start(&self) -> Out<Start> {
        let active = "the request is active: it was started, and not waited for";
        match self {
            Entry::Persistent {
                active: Some(_), ..
            } => Err(failure(MPI_ERR_REQUEST, active)),
            Entry::Persistent { start, .. } => Ok(start.clone()),
            Entry::Once(_) => Err(failure(MPI_ERR_REQUEST, "the request is not persistent")),
        }
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.pending().is_some()
    }

    /// Whether nothing of it is left to wait for.
    fn has_no_parts(&self) -> bool {
        self.pending().is_none_or(Pending::has_no_parts)
    }
}

pub(crate) fn keep(rank: &Rank, pending: Pending) -> MPI_Request {
    handle(rank.requests.borrow_mut().add(Entry::Once(Some(pending))))
}

pub(crate) fn keep_persistent(rank: &Rank, on: MPI_Comm, start: Start) -> MPI_Request {
    let (active, on) = (None, on.addr());
    handle(
        rank.requests
            .borrow_mut()
            .add(Entry::Persistent { start, active, on }),
    )
}

pub(crate) fn with<R>(rank: &Rank, at: MPI_Request, f: impl FnOnce(&mut Entry) -> R) -> Out<R> {
    let number = at.addr();
    let mut requests = rank.requests.borrow_mut();
    let entry = requests.get_mut(number);
    entry
        .map(f)
        .map_err(|why| bad(MPI_ERR_REQUEST, "request", number, why))
}

/// Starts a persistent operation.
pub(crate) fn start(rank: &Rank, caller: &Caller, request: MPI_Request) -> Out {
    require(request != MPI_REQUEST_NULL, MPI_ERR_REQUEST, || {
        "the request is MPI_REQUEST_NULL".into()
    })?;
    let (on, start) = with(rank, request, |entry| (entry.on(), entry.start()))?;
    let pending = rank.blame(on, start.and_then(|start| start(rank, caller)))?;
    with(rank, request, |entry| entry.put_back(pending))
}

/// A request that is over: frees it unless it is persistent, and returns the handle that the program has from now on.
fn over(rank: &Rank, request: MPI_Request) -> Out<MPI_Request> {
    let once = with(rank, request, |entry| matches!(entry, Entry::Once(_)))?;
    if !once {
        return Ok(request);
    }
    rank.requests.borrow_mut().remove(request.addr()).ok();
    Ok(MPI_REQUEST_NULL)
}

/// What a request that is null or inactive gives; `None` if it is active.
fn empty(rank: &Rank, request: MPI_Request) -> Out<Option<Stat>> {
    if request == MPI_REQUEST_NULL {
        return Ok(Some(Stat::EMPTY));
    }
    let active = with(rank, request, |entry| entry.is_pending())?;
    Ok((!active).then_some(Stat::EMPTY))
}

fn take(rank: &Rank, request: MPI_Request) -> Out<Pending> {
    let taken = with(rank, request, Entry::take)?;
    taken.ok_or_else(|| failure(MPI_ERR_REQUEST, "the request is not active"))
}

/// Waits for a request.
pub(crate) fn wait(rank: &Rank, caller: &Caller, request: &mut MPI_Request) -> Out<Stat> {
    if let Some(stat) = empty(rank, *request)? {
        return Ok(stat);
    }
    let pending = take(rank, *request)?;
    let on = pending.on;
    let result = pending.wait(rank, caller);
    *request = over(rank, *request)?;
    rank.blame(on, result)
}

/// Looks whether a request is over.
pub(crate) fn test(rank: &Rank, caller: &Caller, request: &mut MPI_Request) -> Out<Option<Stat>> {
    if let Some(stat) = empty(rank, *request)? {
        return Ok(Some(stat));
    }
    let mut pending = take(rank, *request)?;
    let on = pending.on;
    match pending.test(rank) {
        Ok(false) => {
            with(rank, *request, |entry| entry.put_back(pending))?;
            Ok(None)
        }
        Ok(true) => {
            let result = pending.end(rank, caller);
            *request = over(rank, *request)?;
            rank.blame(on, result.map(Some))
        }
        Err(error) => {
            *request = over(rank, *request)?;
            rank.blame(on, Err(error))
        }
    }
}

/// Whether a request is over, which it then still is.
pub(crate) fn is_done(rank: &Rank, request: MPI_Request) -> Out<bool> {
    if empty(rank, request)?.is_some() {
        return Ok(true);
    }
    let mut pending = take(rank, request)?;
    let done = pending.is_done(rank);
    with(rank, request, |entry| entry.put_back(pending))?;
    Ok(done)
}

/// What a request gives that is over, which it then still is.
pub(crate) fn look(rank: &Rank, caller: &Caller, request: MPI_Request) -> Out<Option<Stat>> {
    if let Some(stat) = empty(rank, request)? {
        return Ok(Some(stat));
    }
    if !is_done(rank, request)? {
        return Ok(None);
    }
    let pending = take(rank, request)?;
    let on = pending.on;
    let result = pending.wait(rank, caller);
    // Whoever completes it learns the same, an error too.
    let mut kept = Pending::ended(result.clone());
    kept.on = on;
    with(rank, request, |entry| entry.put_back(kept))?;
    rank.blame(on, result.map(Some))
}

/// Waits until all operations on a communicator are over, whose requests tell of them later.
pub(crate) fn wait_on(rank: &Rank, caller: &Caller, on: usize) -> Out {
    let handles: Vec<_> = rank.requests.borrow().handles().map(handle).collect();
    for request in handles {
        let is_on = |entry: &mut Entry| entry.pending().is_some_and(|it| it.on == on);
        if with(rank, request, is_on)? {
            let (kept, waited) = settle(rank, caller, take(rank, request)?);
            with(rank, request, |entry| entry.put_back(kept))?;
            waited?;
        }
    }
    Ok(())
}

/// Those of some requests that are active, with their places.
pub(crate) fn active(rank: &Rank, requests: &[MPI_Request]) -> Out<Vec<usize>> {
    let mut active = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        if empty(rank, *request)?.is_none() {
            active.push(at);
        }
    }
    Ok(active)
}

/// Waits until one of some requests is over; `None` if none is active.
pub(crate) fn wait_any(
    rank: &Rank,
    caller: &Caller,
    requests: &mut [MPI_Request],
) -> Out<Option<(usize, Out<Stat>)>> {
    let active = active(rank, requests)?;
    if active.is_empty() {
        return Ok(None);
    }
    // Those without parts are over; of those with parts the engine chooses one.
    for at in &active {
        if with(rank, requests[*at], |entry| entry.has_no_parts())? {
            let result = wait(rank, caller, &mut requests[*at]);
            return Ok(Some((*at, result)));
        }
    }
    let at = wait_for_one(rank, requests, &active)?;
    Ok(Some((at, wait(rank, caller, &mut requests[at]))))
}

/// Of a part of a request: whose it is, its place there, and whether it is open.
type Whose = (usize, usize, bool);

/// Takes the open parts out of some requests.
fn open_parts(taken: &mut [Pending]) -> (Vec<Request<'static, RequestPart>>, Vec<Whose>) {
    let (mut parts, mut whose) = (Vec::new(), Vec::new());
    for (nth, pending) in taken.iter_mut().enumerate() {
        let places = mem::take(&mut pending.places);
        whose.extend(places.into_iter().map(|place| (nth, place, true)));
        parts.append(&mut pending.open);
    }
    (parts, whose)
}

/// The failure of a wait for some requests none of which ever can be over.
fn none_left(taken: &[Pending]) -> Failure {
    let lost = taken.iter().find_map(|it| it.lost.clone());
    lost.unwrap_or_else(|| failure(MPI_ERR_INTERN, "no request was open"))
}

/// Waits until all parts of one of some requests are over.
fn wait_for_one(rank: &Rank, requests: &[MPI_Request], active: &[usize]) -> Out<usize> {
    let taken: Out<Vec<Pending>> = active.iter().map(|at| take(rank, requests[*at])).collect();
    let mut taken = taken?;
    let (mut parts, mut whose) = open_parts(&mut taken);
    // One that never can be over is not chosen.
    let mut left: Vec<usize> = (0..taken.len())
        .map(|nth| {
            whose.iter().filter(|it| it.0 == nth).count() + usize::from(taken[nth].is_lost())
        })
        .collect();
    let found = loop {
        match Request::wait_any(&mut parts) {
            Ok(Some((at, part))) => {
                let (nth, place, open) = &mut whose[at];
                *open = false;
                taken[*nth].over[*place] = Some(part);
                left[*nth] -= 1;
                if left[*nth] == 0 {
                    break Ok(active[*nth]);
                }
            }
            Ok(None) => break Err(none_left(&taken)),
            Err(error) => {
                let one = taken.iter().find_map(|it| it.collective);
                break Err(Failure::from(error).waiting_for(one));
            }
        }
    };
    for (part, (nth, place, open)) in parts.into_iter().zip(whose) {
        if open {
            taken[nth].open.push(part);
            taken[nth].places.push(place);
        }
    }
    for (at, pending) in active.iter().zip(taken) {
        with(rank, requests[*at], |entry| entry.put_back(pending))?;
    }
    found
}

/// Refuses what is not allowed of a collective that was started.
fn refuse_collective(rank: &Rank, request: MPI_Request, what: &str) -> Out {
    let (on, is_one) = with(rank, request, |entry| {
        let is_one = entry.pending().is_some_and(|it| it.collective.is_some());
        (entry.on(), is_one)
    })?;
    let allowed = require(!is_one, MPI_ERR_REQUEST, || {
        format!("the request is that of a collective, which cannot be {what}: wait for it")
    });
    rank.blame(on, allowed)
}

/// Ends an operation early; the request is still to be waited for.
pub(crate) fn cancel(rank: &Rank, request: MPI_Request) -> Out {
    if request == MPI_REQUEST_NULL {
        return Err(failure(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL"));
    }
    let on = with(rank, request, |entry| entry.on())?;
    rank.blame(on, cancel_on(rank, request, on))
}

fn cancel_on(rank: &Rank, request: MPI_Request, on: usize) -> Out {
    refuse_collective(rank, request, "cancelled")?;
    let mut pending = take(rank, request)?;
    let mut failed = Ok(());
    if let Some(stat) = pending.cancel() {
        failed = stat.clone().map(drop);
        pending = Pending::ended(stat);
        pending.on = on;
    }
    with(rank, request, |entry| entry.put_back(pending))?;
    failed
}

/// Frees a request; an operation in progress goes on.
pub(crate) fn free(rank: &Rank, request: MPI_Request) -> Out {
    require(request != MPI_REQUEST_NULL, MPI_ERR_REQUEST, || {
        "the request is MPI_REQUEST_NULL".into()
    })?;
    refuse_collective(rank, request, "freed before it is over")?;
    let mut entry = rank.requests.borrow_mut().remove(request.addr());
    let entry = entry
        .as_mut()
        .map_err(|why| bad(MPI_ERR_REQUEST, "request", request.addr(), *why))?;
    if let Some(pending) = entry.take() {
        match pending.is_send {
            true => crate::detached::detach_parts(rank, pending),
            false => rank.freed.borrow_mut().push(pending),
        }
    }
    Ok(())
}
