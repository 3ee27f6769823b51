//! Waiting for several requests, or looking at them: all of them, one of them, or all that are complete.

use std::panic::Location;
use std::rc::Rc;

#[cfg(doc)]
use super::Comm;
use super::request::Request;
use crate::engine::rank_state::Core;
use crate::engine::request_state::{RequestState, Until, show_all};
use crate::error::{Error, Result, Site};
use crate::sort;
use crate::transport::CommShared;
use crate::transport::trace::call_event::CallEvent;

/// # Several requests
///
/// Completes all of some requests, or those that are ready first. [`map`](Self::map) gives requests of different kinds
/// one type.
impl<R> Request<'_, R> {
    /// Waits for all requests and returns their results in the same order.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), as soon as one request has failed, whatever the others wait for; for the first of those
    /// that have. All other requests are over too, and the messages that they would receive are left to later receives.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Request, World};
    ///
    /// World::new(3).run(|comm| {
    ///     let sends = (0..3).map(|to| comm.isend(to, 0, vec![comm.rank()]));
    ///     let sends = sends.collect::<Result<Vec<_>, _>>()?;
    ///     let receives = (0..3).map(|from| comm.irecv::<usize>(from, 0));
    ///     let receives = receives.collect::<Result<Vec<_>, _>>()?;
    ///     for (from, (got, _)) in Request::wait_all(receives)?.into_iter().enumerate() {
    ///         assert_eq!(got, [from]);
    ///     }
    ///     Request::wait_all(sends)?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Waitall")]
    #[track_caller]
    pub fn wait_all(requests: impl IntoIterator<Item = Self>) -> Result<Vec<R>> {
        let mut requests: Vec<_> = requests.into_iter().collect();
        let all = states(requests.iter());
        let result = together(
            &mut requests,
            all,
            ("wait_all", Location::caller()),
            |requests, several| {
                requests.iter().try_for_each(Request::check_open)?;
                several.wait_for_all(requests)?;
                conclude_all(requests)
            },
        );
        if result.is_err() {
            give_up(requests.iter_mut().collect());
        }
        result
    }

    /// Waits until one of the requests is complete and returns its index and its result. Requests that are over are
    /// skipped; returns `None` if all of them are over.
    ///
    /// If several are complete, the first in the slice is taken.
    ///
    /// # Errors
    ///
    /// [`RankGone`](crate::ErrorKind::RankGone) and [`Deadlock`](crate::ErrorKind::Deadlock) if *none* can complete any
    /// more. If the message of one request does not fit, or the communicator of one has been revoked by a
    /// [`shrink`](Comm::shrink), that request is over; the others stay as they are.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Request, World};
    ///
    /// World::new(3).run(|comm| {
    ///     if comm.rank() > 0 {
    ///         return comm.send(0, 0, &[comm.rank()]);
    ///     }
    ///     let workers = (1..3).map(|from| comm.irecv::<usize>(from, 0));
    ///     let mut workers = workers.collect::<Result<Vec<_>, _>>()?;
    ///     while let Some((place, (got, _))) = Request::wait_any(&mut workers)? {
    ///         assert_eq!(got, [place + 1]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Waitany")]
    #[track_caller]
    pub fn wait_any(requests: &mut [Self]) -> Result<Option<(usize, R)>> {
        let call = ("wait_any", Location::caller());
        of_open(requests, call, |requests, several| {
            let place = several.wait_for_one(requests)?;
            conclude_one(requests, place).map(Some)
        })
    }

    /// Waits until at least one of the requests is complete and returns the index and result of each complete one.
    /// Requests that are over are skipped; the result is empty if all of them are over.
    ///
    /// # Errors
    ///
    /// As [`wait_any`](Self::wait_any). After an error the results of the other requests are still to come.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Request, World};
    ///
    /// World::new(1).run(|comm| {
    ///     let mut requests = [comm.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 1)?];
    ///     comm.send(0, 1, &[1u8])?;
    ///     let done = Request::wait_some(&mut requests)?;
    ///     assert_eq!((done.len(), done[0].0), (1, 1));
    ///     let [never, _] = requests;
    ///     never.cancel()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Waitsome")]
    #[track_caller]
    pub fn wait_some(requests: &mut [Self]) -> Result<Vec<(usize, R)>> {
        let call = ("wait_some", Location::caller());
        of_open(requests, call, |requests, several| {
            let place = several.wait_for_one(requests)?;
            several.conclude_ready(requests, place)
        })
    }

    /// Returns the results of all requests, in order, if all are complete by now, and `None` if one is not; then none
    /// is over. Requests that are over already are skipped.
    ///
    /// # Errors
    ///
    /// As [`wait_all`](Self::wait_all), except for deadlocks: a rank that polls is running.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Request, World};
    ///
    /// World::new(2).run(|comm| {
    ///     if comm.rank() == 1 {
    ///         comm.send(0, 0, &[5])?;
    ///         return comm.send(0, 1, &[6]);
    ///     }
    ///     let mut both = [comm.irecv::<i32>(1, 0)?, comm.irecv::<i32>(1, 1)?];
    ///     let results = loop {
    ///         // ... some of a long computation ...
    ///         if let Some(results) = Request::test_all(&mut both)? {
    ///             break results;
    ///         }
    ///     };
    ///     assert_eq!((&results[0].0, &results[1].0), (&vec![5], &vec![6]));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Testall")]
    #[track_caller]
    pub fn test_all(requests: &mut [Self]) -> Result<Option<Vec<R>>> {
        let open = states(requests.iter().filter(|one| one.is_open()));
        if open.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let call = ("test_all", Location::caller());
        // They are over after its failure only, not if the call was refused.
        together(requests, open, call, |requests, several| {
            let result = several.are_ready().and_then(|ready| match ready {
                true => {
                    let conclude = || conclude_all(requests).map(Some);
                    several.core.port.without_moments(conclude)
                }
                false => Ok(None),
            });
            if result.is_err() {
                give_up(requests.iter_mut().collect());
            }
            result
        })
    }

    /// Returns the index and the result of one request that is complete by now, the first in the slice; `None` if none
    /// is, or if all of them are over.
    ///
    /// # Errors
    ///
    /// As [`wait_any`](Self::wait_any), except for deadlocks: a rank that polls is running.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Request, World};
    ///
    /// World::new(1).run(|comm| {
    ///     let mut both = [comm.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 1)?];
    ///     assert!(Request::test_any(&mut both)?.is_none());
    ///     comm.send(0, 1, &[9u8])?;
    ///     let (place, (got, _)) = Request::test_any(&mut both)?.unwrap();
    ///     assert_eq!((place, got), (1, vec![9]));
    ///     let [never, _] = both;
    ///     never.cancel()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Testany")]
    #[track_caller]
    pub fn test_any(requests: &mut [Self]) -> Result<Option<(usize, R)>> {
        let call = ("test_any", Location::caller());
        of_open(requests, call, |requests, several| {
            let place = several.look_for_one(requests)?;
            let conclude = || place.map(|place| conclude_one(requests, place)).transpose();
            several.core.port.without_moments(conclude)
        })
    }

    /// Returns the index and the result of each request that is complete by now. Requests that are over are skipped.
    ///
    /// # Errors
    ///
    /// As [`test_any`](Self::test_any). After an error the results of the other requests are still to come.
    #[doc(alias = "MPI_Testsome")]
    #[track_caller]
    pub fn test_some(requests: &mut [Self]) -> Result<Vec<(usize, R)>> {
        let call = ("test_some", Location::caller());
        of_open(requests, call, |requests, several| {
            match several.look_for_one(requests)? {
                Some(place) => {
                    let conclude = || several.conclude_ready(requests, place);
                    several.core.port.without_moments(conclude)
                }
                None => Ok(Vec::new()),
            }
        })
    }
}

/// Runs one operation on several requests.
pub(super) fn several<A>(
    core: &Core,
    comm: &CommShared,
    states: &[Rc<RequestState>],
    (verb, site): (&'static str, Site),
    body: impl FnOnce(&dyn Fn() -> String) -> Result<A>,
) -> Result<A> {
    let show = || format!("{verb} for {}", show_all(states));
    let event = || match states.first() {
        Some(first) => first.event(verb, site),
        None => CallEvent::at(site),
    };
    core.recorded(comm, &event, &show, || body(&show))
}

/// An operation on several requests.
struct Several<'a> {
    core: &'a Core,
    states: &'a [Rc<RequestState>],
    show: &'a dyn Fn() -> String,
    site: Site,
}

impl Several<'_> {
    /// Waits for all of them, or until one has failed.
    fn wait_for_all<R>(&self, requests: &[Request<'_, R>]) -> Result<()> {
        let has_failed = || requests.iter().any(has_failed);
        let Several { core, states, .. } = self;
        core.await_all(states, &has_failed, self.show, self.site)
    }

    /// Waits for one of them, and returns its index among the open ones.
    fn wait_for_one<R>(&self, requests: &mut [Request<'_, R>]) -> Result<usize> {
        let waited = self.core.await_one(self.states, self.show, self.site);
        waited.inspect_err(|_| give_up_revoked(requests))
    }

    /// The index among the open ones of one that is ready now.
    fn look_for_one<R>(&self, requests: &mut [Request<'_, R>]) -> Result<Option<usize>> {
        let found = self.core.try_one(self.states, self.show, self.site);
        found.inspect_err(|_| give_up_revoked(requests))
    }

    /// Whether all of them are ready now.
    fn are_ready(&self) -> Result<bool> {
        let Several { core, states, .. } = self;
        core.try_ready(states, Until::All, self.show, self.site)
    }

    /// Concludes all that are ready, of which one is at index `place` among the open ones.
    fn conclude_ready<R>(
        &self,
        requests: &mut [Request<'_, R>],
        place: usize,
    ) -> Result<Vec<(usize, R)>> {
        if self.core.port.is_controlled() {
            // One of the complete requests, chosen as for `wait_any`.
            return Ok(vec![conclude_one(requests, place)?]);
        }
        let mut all = requests.iter();
        if let Some(place) = all.position(has_failed) {
            // Only this one is over: the results of the others are still to come.
            return Ok(vec![(place, requests[place].conclude()?)]);
        }
        let ready = requests.iter_mut().enumerate();
        let ready = ready.filter(|(_, one)| is_ready(one));
        ready
            .map(|(place, one)| Ok((place, one.conclude()?)))
            .collect()
    }
}

/// Runs `body` on requests of one rank, as one operation; the result is empty if there are none.
fn together<'c, R, A: Default>(
    requests: &mut [Request<'c, R>],
    states: Vec<Rc<RequestState>>,
    (verb, site): (&'static str, Site),
    body: impl FnOnce(&mut [Request<'c, R>], &Several<'_>) -> Result<A>,
) -> Result<A> {
    let Some(first) = requests.first() else {
        return Ok(A::default());
    };
    let (core, first) = (first.core()?, first.state().clone());
    several(&core, &first.comm, &states, (verb, site), |show| {
        requests.iter().try_for_each(|one| one.check_rank(&core))?;
        let several = Several {
            core: &core,
            states: &states,
            show,
            site,
        };
        body(requests, &several)
    })
}

/// Runs `body` on those of some requests that are open; the result is empty if none is.
fn of_open<'c, R, A: Default>(
    requests: &mut [Request<'c, R>],
    call: (&'static str, Site),
    body: impl FnOnce(&mut [Request<'c, R>], &Several<'_>) -> Result<A>,
) -> Result<A> {
    let open = states(requests.iter().filter(|one| one.is_open()));
    match open.is_empty() {
        true => Ok(A::default()),
        false => together(requests, open, call, body),
    }
}

/// Concludes the open ones among requests: all of them, or none. They are ready, or one that is has failed.
fn conclude_all<R>(requests: &mut [Request<'_, R>]) -> Result<Vec<R>> {
    let mut ready = requests.iter().filter(|one| is_ready(one));
    ready.try_for_each(Request::check_result)?;
    let open = requests.iter_mut().filter(|one| one.is_open());
    open.map(Request::conclude).collect()
}

/// Concludes the request at index `place` among the open ones, and returns its index among all.
fn conclude_one<R>(requests: &mut [Request<'_, R>], place: usize) -> Result<(usize, R)> {
    let mut open = requests
        .iter_mut()
        .enumerate()
        .filter(|(_, one)| one.is_open());
    let (place, one) = open
        .nth(place)
        .ok_or_else(|| Error::usage("the request is over"))?;
    Ok((place, one.conclude()?))
}

fn states<'a, 'c: 'a, R: 'a>(
    requests: impl Iterator<Item = &'a Request<'c, R>>,
) -> Vec<Rc<RequestState>> {
    requests.map(|one| one.state().clone()).collect()
}

/// After a failure, ends all requests whose communicator has been revoked.
fn give_up_revoked<R>(requests: &mut [Request<'_, R>]) {
    let revoked = requests.iter_mut().filter(|one| one.state().is_revoked());
    give_up(revoked.collect());
}

/// Ends requests after a failure. Receives that are open are closed before the messages of the others go back, in the
/// order in which they came: a receive that outlives these must not get one before an earlier one.
fn give_up<R>(mut requests: Vec<&mut Request<'_, R>>) {
    sort::by_numbers(&mut requests, |one| match one.arrival() {
        None => [0, 0],
        Some(arrival) => [1, arrival as usize],
    });
    requests.into_iter().for_each(|one| _ = one.give_up());
}

fn is_ready<R>(request: &Request<'_, R>) -> bool {
    request.is_open() && request.state().is_ready()
}

/// Whether it is ready, and no result can be made of what has come.
fn has_failed<R>(request: &Request<'_, R>) -> bool {
    is_ready(request) && request.check_result().is_err()
}
