//! Waiting for several requests: all of them, one of them, or all that are complete.

use std::panic::Location;
use std::rc::Rc;

use super::Comm;
use super::request::Request;
use crate::engine::request_state::{RequestState, Until, show_all};
use crate::error::{Error, Result, Site};

/// # Wait for several requests
///
/// Completes all of some requests, or those that are ready first.
impl Comm {
    /// Waits for all requests and returns their results in the same order.
    ///
    /// # Errors
    ///
    /// As [`Request::wait`], for the first request that failed. All other requests are over too, and the messages that
    /// they would receive are left to later receives.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     let sends = (0..3).map(|to| comm.isend(to, 0, vec![comm.rank()]));
    ///     let sends = sends.collect::<Result<Vec<_>, _>>()?;
    ///     let receives = (0..3).map(|from| comm.irecv::<usize>(from, 0));
    ///     let receives = receives.collect::<Result<Vec<_>, _>>()?;
    ///     for (from, (got, _)) in comm.wait_all(receives)?.into_iter().enumerate() {
    ///         assert_eq!(got, [from]);
    ///     }
    ///     comm.wait_all(sends)?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Waitall")]
    #[track_caller]
    pub fn wait_all<'c, R>(
        &self,
        requests: impl IntoIterator<Item = Request<'c, R>>,
    ) -> Result<Vec<R>> {
        let mut requests: Vec<_> = requests.into_iter().collect();
        let states = all(&requests);
        let site = Location::caller();
        let result = self.several(&states, "wait_all", site, |show| {
            requests.iter().try_for_each(|one| one.check_rank(self))?;
            requests.iter().try_for_each(Request::check_open)?;
            self.core.await_ready(&states, Until::All, show, site)?;
            requests.iter_mut().map(Request::conclude).collect()
        });
        if result.is_err() {
            requests.iter_mut().for_each(|one| _ = one.give_up());
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
    /// [`shrink`](Self::shrink), that request is over; the others stay as they are.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(3).run(|comm| {
    ///     if comm.rank() > 0 {
    ///         return comm.send(0, 0, &[comm.rank()]);
    ///     }
    ///     let workers = (1..3).map(|from| comm.irecv::<usize>(from, 0));
    ///     let mut workers = workers.collect::<Result<Vec<_>, _>>()?;
    ///     while let Some((place, (got, _))) = comm.wait_any(&mut workers)? {
    ///         assert_eq!(got, [place + 1]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Waitany")]
    #[track_caller]
    pub fn wait_any<R>(&self, requests: &mut [Request<'_, R>]) -> Result<Option<(usize, R)>> {
        let states = open(requests);
        let site = Location::caller();
        self.several(&states, "wait_any", site, |show| {
            requests.iter().try_for_each(|one| one.check_rank(self))?;
            if states.is_empty() {
                return Ok(None);
            }
            let waited = self.core.await_one(&states, show, site);
            let place = waited.inspect_err(|_| give_up_revoked(requests))?;
            conclude_one(requests, place).map(Some)
        })
    }

    /// Waits until at least one of the requests is complete and returns the index and result of each complete one.
    /// Requests that are over are skipped; the result is empty if all of them are over.
    ///
    /// # Errors
    ///
    /// As [`wait_any`](Self::wait_any).
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(1).run(|comm| {
    ///     let mut requests = [comm.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 1)?];
    ///     comm.send(0, 1, &[1u8])?;
    ///     let done = comm.wait_some(&mut requests)?;
    ///     assert_eq!((done.len(), done[0].0), (1, 1));
    ///     let [never, _] = requests;
    ///     never.cancel()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Waitsome")]
    #[track_caller]
    pub fn wait_some<R>(&self, requests: &mut [Request<'_, R>]) -> Result<Vec<(usize, R)>> {
        let states = open(requests);
        let site = Location::caller();
        self.several(&states, "wait_some", site, |show| {
            requests.iter().try_for_each(|one| one.check_rank(self))?;
            if states.is_empty() {
                return Ok(Vec::new());
            }
            let waited = self.core.await_one(&states, show, site);
            let place = waited.inspect_err(|_| give_up_revoked(requests))?;
            if self.core.port.is_controlled() {
                // One of the complete requests, chosen as for `wait_any`.
                return Ok(vec![conclude_one(requests, place)?]);
            }
            let ready = requests.iter_mut().enumerate();
            let ready = ready.filter(|(_, one)| is_ready(one));
            ready
                .map(|(place, one)| Ok((place, one.conclude()?)))
                .collect()
        })
    }

    /// Runs one operation on several requests.
    pub(super) fn several<A>(
        &self,
        states: &[Rc<RequestState>],
        verb: &str,
        site: Site,
        body: impl FnOnce(&dyn Fn() -> String) -> Result<A>,
    ) -> Result<A> {
        let show = || format!("{verb} for {}", show_all(states));
        self.op(site, &show, || body(&show))
    }
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

fn all<R>(requests: &[Request<'_, R>]) -> Vec<Rc<RequestState>> {
    requests.iter().map(|one| one.state().clone()).collect()
}

fn open<R>(requests: &[Request<'_, R>]) -> Vec<Rc<RequestState>> {
    let open = requests.iter().filter(|one| one.is_open());
    open.map(|one| one.state().clone()).collect()
}

/// After a failure, ends all requests whose communicator has been revoked.
fn give_up_revoked<R>(requests: &mut [Request<'_, R>]) {
    let revoked = requests.iter_mut().filter(|one| one.state().is_revoked());
    revoked.for_each(|one| _ = one.give_up());
}

fn is_ready<R>(request: &Request<'_, R>) -> bool {
    request.is_open() && request.state().is_ready()
}
