//! Completing requests: wait, test, cancel, free, and the start of persistent ones.

use std::ffi::c_int;

use super::arguments::{array, flag, received};
use crate::abi::*;
use crate::error::{Failure, Out, count, failure};
use crate::memory::Caller;
use crate::rank::Rank;
use crate::request;
use crate::stat::Stat;

/// What requests gave, with their places.
pub(super) type Results = Vec<(usize, Out<Stat>)>;

/// Completes one request, and writes what its handle is from now on.
fn one(
    caller: &Caller,
    at: *mut MPI_Request,
    complete: impl FnOnce(&mut MPI_Request) -> Out<Option<Stat>>,
) -> Out<Option<Stat>> {
    let mut handle = caller.read(at)?;
    let result = complete(&mut handle);
    caller.write(at, handle)?;
    result
}

/// Completes several requests, and writes what their handles are from now on.
fn several<R>(
    caller: &Caller,
    at: *mut MPI_Request,
    number: c_int,
    complete: impl FnOnce(&mut [MPI_Request]) -> Out<R>,
) -> Out<R> {
    let mut handles = array(caller, at, number)?;
    let result = complete(&mut handles);
    caller.write_all(at, handles)?;
    result
}

/// The statuses of several requests, and the failure of the call if one of them failed: only then errors are written.
pub(super) fn settle(caller: &Caller, to: *mut MPI_Status, results: Results) -> Out {
    let fails = results.iter().any(|(_, result)| result.is_err());
    let mut failed: Option<(usize, Failure)> = None;
    for (nth, (at, result)) in results.into_iter().enumerate() {
        let (stat, class) = match &result {
            Ok(stat) => (*stat, MPI_SUCCESS),
            Err(error) => (error.stat.unwrap_or(Stat::EMPTY), error.class),
        };
        match (to.is_null(), fails) {
            (true, _) => {}
            (_, true) => caller.write_at(to, nth, stat.status(class))?,
            (_, false) => caller.write_status(to.wrapping_add(nth), stat.status(class)),
        }
        if let Err(error) = result {
            failed.get_or_insert((at, error));
        }
    }
    match failed {
        None => Ok(()),
        Some((at, error)) => Err(failure(MPI_ERR_IN_STATUS, format!("request {at}: {error}"))),
    }
}

/// Completes those of some requests that are over.
fn sweep(rank: &Rank, caller: &Caller, handles: &mut [MPI_Request]) -> Out<Option<Results>> {
    let active = request::active(rank, handles)?;
    if active.is_empty() {
        return Ok(None);
    }
    let mut done = Vec::new();
    for at in active {
        match request::test(rank, caller, &mut handles[at]) {
            Ok(None) => {}
            Ok(Some(stat)) => done.push((at, Ok(stat))),
            Err(error) => done.push((at, Err(error))),
        }
    }
    Ok(Some(done))
}

/// Writes which requests are over, and their statuses.
pub(super) fn some(
    caller: &Caller,
    done: Option<Results>,
    (number, indices, statuses): (*mut c_int, *mut c_int, *mut MPI_Status),
) -> Out {
    let Some(done) = done else {
        return caller.write(number, MPI_UNDEFINED);
    };
    caller.write(number, done.len() as c_int)?;
    caller.write_all(indices, done.iter().map(|(at, _)| *at as c_int))?;
    settle(caller, statuses, done)
}

super::calls! {
    fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) |rank, caller| {
        let stat = one(caller, request, |it| request::wait(rank, caller, it).map(Some));
        received(caller, status, stat.map(|stat| stat.unwrap_or(Stat::EMPTY)))
    }
    fn MPI_Test(request: *mut MPI_Request, there: *mut c_int, status: *mut MPI_Status) |rank, caller| {
        let tested = one(caller, request, |it| request::test(rank, caller, it));
        // A request that failed is over.
        caller.write(there, flag(!matches!(tested, Ok(None))))?;
        tested.transpose().map_or_else(|| rank.asked_in_vain(), |stat| received(caller, status, stat))
    }
    fn MPI_Waitall(count: c_int, requests: *mut MPI_Request, statuses: *mut MPI_Status) |rank, caller| {
        let results = several(caller, requests, count, |all| {
            // Unknown handles are found before anything is waited for.
            request::active(rank, all)?;
            Ok(all.iter_mut().map(|it| request::wait(rank, caller, it)).enumerate().collect())
        })?;
        settle(caller, statuses, results)
    }
    fn MPI_Testall(count: c_int, requests: *mut MPI_Request, there: *mut c_int, statuses: *mut MPI_Status) |rank, caller| {
        let results = several(caller, requests, count, |all| {
            for at in request::active(rank, all)? {
                if !request::is_done(rank, all[at])? {
                    return Ok(None);
                }
            }
            Ok(Some(all.iter_mut().map(|it| request::wait(rank, caller, it)).enumerate().collect()))
        })?;
        caller.write(there, flag(results.is_some()))?;
        results.map_or_else(|| rank.asked_in_vain(), |results| settle(caller, statuses, results))
    }
    fn MPI_Waitany(count: c_int, requests: *mut MPI_Request, index: *mut c_int, status: *mut MPI_Status) |rank, caller| {
        let found = several(caller, requests, count, |all| request::wait_any(rank, caller, all))?;
        let (at, stat) = found.map_or((MPI_UNDEFINED, Ok(Stat::EMPTY)), |(at, stat)| (at as c_int, stat));
        caller.write(index, at)?;
        received(caller, status, stat)
    }
    fn MPI_Testany(count: c_int, requests: *mut MPI_Request, index: *mut c_int, there: *mut c_int, status: *mut MPI_Status) |rank, caller| {
        let found = several(caller, requests, count, |all| {
            let active = request::active(rank, all)?;
            for at in &active {
                if let Some(result) = request::test(rank, caller, &mut all[*at]).transpose() {
                    return Ok(Some((*at as c_int, result)));
                }
            }
            Ok(active.is_empty().then_some((MPI_UNDEFINED, Ok(Stat::EMPTY))))
        })?;
        caller.write(there, flag(found.is_some()))?;
        if found.is_none() {
            rank.asked_in_vain()?;
        }
        let (at, stat) = found.unwrap_or((MPI_UNDEFINED, Ok(Stat::EMPTY)));
        caller.write(index, at)?;
        received(caller, status, stat)
    }
    fn MPI_Waitsome(incount: c_int, requests: *mut MPI_Request, outcount: *mut c_int, indices: *mut c_int, statuses: *mut MPI_Status) |rank, caller| {
        let done = several(caller, requests, incount, |all| {
            let Some((first, stat)) = request::wait_any(rank, caller, all)? else {
                return Ok(None);
            };
            let mut done = sweep(rank, caller, all)?.unwrap_or_default();
            done.push((first, stat));
            done.sort_by_key(|(at, _)| *at);
            Ok(Some(done))
        })?;
        some(caller, done, (outcount, indices, statuses))
    }
    fn MPI_Testsome(incount: c_int, requests: *mut MPI_Request, outcount: *mut c_int, indices: *mut c_int, statuses: *mut MPI_Status) |rank, caller| {
        let done = several(caller, requests, incount, |all| sweep(rank, caller, all))?;
        let vain = done.as_ref().is_some_and(Vec::is_empty);
        some(caller, done, (outcount, indices, statuses))?;
        if vain { rank.asked_in_vain() } else { Ok(()) }
    }
    fn MPI_Request_get_status(request: MPI_Request, there: *mut c_int, status: *mut MPI_Status) |rank, caller| {
        let looked = request::look(rank, caller, request);
        // A request that failed is over.
        caller.write(there, flag(!matches!(looked, Ok(None))))?;
        looked.transpose().map_or_else(|| rank.asked_in_vain(), |stat| received(caller, status, stat))
    }
    fn MPI_Cancel(request: *mut MPI_Request) |rank, caller| {
        request::cancel(rank, caller.read(request)?)
    }
    fn MPI_Request_free(request: *mut MPI_Request) |rank, caller| {
        request::free(rank, caller.read(request)?)?;
        caller.write(request, MPI_REQUEST_NULL)
    }
    fn MPI_Start(request: *mut MPI_Request) |rank, caller| {
        request::start(rank, caller, caller.read(request)?)
    }
    fn MPI_Startall(number: c_int, requests: *mut MPI_Request) |rank, caller| {
        let all = caller.array(requests, count(number, "the count")?)?;
        all.into_iter().try_for_each(|it| request::start(rank, caller, it))
    }
}
