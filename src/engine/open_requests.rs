//! A rank's open requests, and waits for them.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::rank_state::Core;
use super::request_state::{Direction, RequestState, Until};
use crate::error::{Error, ErrorKind, Result, Site};
use crate::transport::deadlock::choice::{Pick, Sought};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::progress::reason::Reason;
use crate::transport::trace::call_event::CallEvent;
use crate::transport::trace::words::OnComm;
use crate::transport::{CommHandle, CommShared, Unfinished};

impl Core {
    /// Records a request until it ends.
    pub(crate) fn ask(
        &self,
        direction: Direction,
        comm: &CommHandle,
        site: Site,
    ) -> Rc<RequestState> {
        let state = self.renewed(direction, comm, site);
        self.open(state.clone());
        state
    }

    /// A request for a caller that ends it in any case, so that it need not be recorded. Its memory is that of one that
    /// is over, if there is one.
    pub(crate) fn renewed(
        &self,
        direction: Direction,
        comm: &CommHandle,
        site: Site,
    ) -> Rc<RequestState> {
        match self.spares.take_message() {
            Some(spare) => self.renew(spare, direction, comm, site),
            None => RequestState::new(direction, comm, site),
        }
    }

    /// Makes a request out of one that is over and that nothing refers to; the slot of its receive is used again, too.
    fn renew(
        &self,
        mut spare: Rc<RequestState>,
        direction: Direction,
        comm: &CommHandle,
        site: Site,
    ) -> Rc<RequestState> {
        let Some(state) = Rc::get_mut(&mut spare) else {
            return RequestState::new(direction, comm, site);
        };
        (state.comm, state.site) = (comm.clone(), site);
        state.over.set(false);
        if let Direction::Receive { slot, .. } = mem::replace(&mut state.direction, direction) {
            self.port.inbox().recycle(slot);
        }
        spare
    }

    /// Records that a request is open.
    pub(crate) fn open(&self, state: Rc<RequestState>) {
        let mut all = self.requests.borrow_mut();
        state.over.set(false);
        state.place.set(all.len());
        all.push(state);
    }

    /// Marks a request as ended.
    pub(crate) fn close(&self, state: &Rc<RequestState>) {
        state.over.set(true);
        if matches!(state.direction, Direction::Receive { .. }) {
            self.port.has_received();
        }
        let (mut all, place) = (self.requests.borrow_mut(), state.place.get());
        if all.get(place).is_some_and(|it| Rc::ptr_eq(it, state)) {
            all.swap_remove(place);
            if let Some(moved) = all.get(place) {
                moved.place.set(place);
            }
        }
        drop(all);
        if state.collective().is_none() {
            self.spares.put_message(state);
        }
    }

    /// Ends a request without its result: cancels a receive, and retracts a send if that is still possible. Returns
    /// whether that succeeded.
    pub(crate) fn revoke(&self, state: &Rc<RequestState>) -> bool {
        self.close(state);
        match &state.direction {
            Direction::Send { receipt, .. } => {
                let revoked = receipt.as_ref().is_some_and(|receipt| receipt.revoke());
                if revoked {
                    self.port.fabric.tell_revoked();
                }
                revoked
            }
            Direction::Receive { slot, .. } => {
                self.port.inbox().unpost(slot, &*self.port.fabric);
                true
            }
            // It goes on: the other ranks need this one's messages.
            Direction::Collective(..) => false,
        }
    }

    /// Ends a request that will not be waited for: a sent message is still delivered, a receive is cancelled.
    pub(crate) fn abandon(&self, state: &Rc<RequestState>) {
        if !thread::panicking() {
            self.note_unfinished(state);
        }
        match &state.direction {
            Direction::Send { .. } | Direction::Collective(..) => self.close(state),
            Direction::Receive { .. } => _ = self.revoke(state),
        }
    }

    fn note_unfinished(&self, state: &RequestState) {
        self.port.fabric.unfinished.lock().push(Unfinished {
            rank: self.port.me,
            call: state.to_string(),
            site: state.site,
            comm: state.comm.name(),
        });
    }

    /// Counts requests that are still open when the rank ends: these were forgotten.
    pub(crate) fn count_forgotten(&self) {
        let forgotten = mem::take(&mut *self.requests.borrow_mut());
        if !thread::panicking() {
            forgotten
                .iter()
                .for_each(|state| self.note_unfinished(state));
        }
    }

    /// Waits until one or all of some requests are ready.
    pub(crate) fn await_ready(
        &self,
        states: &[Rc<RequestState>],
        until: Until,
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<()> {
        self.await_until(states, until, &|| is_met(states, until), call, site)
    }

    /// Waits until all of some requests are ready, or until `has_failed`. Each of them is needed: the wait fails once one
    /// can never be ready.
    pub(crate) fn await_all(
        &self,
        states: &[Rc<RequestState>],
        has_failed: &dyn Fn() -> bool,
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<()> {
        let is_over = || is_met(states, Until::All) || has_failed();
        self.await_until(states, Until::All, &is_over, call, site)
    }

    /// Waits until `is_over`, which needs one or all of some requests.
    fn await_until(
        &self,
        states: &[Rc<RequestState>],
        until: Until,
        is_over: &dyn Fn() -> bool,
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<()> {
        let look = || {
            self.port.take_in();
            is_over().then_some(())
        };
        if self.port.spin_advancing(is_over) || look().is_some() {
            return Ok(());
        }
        let waited = self.wait_for(states, until, call, site, None, look);
        waited.inspect_err(|error| self.fail_started(states, error))
    }

    /// Waits until one of some requests is ready, and returns its index.
    pub(crate) fn await_one(
        &self,
        states: &[Rc<RequestState>],
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<usize> {
        if self.port.is_controlled() {
            return self.await_chosen(states, call, site, None);
        }
        self.await_ready(states, Until::One, call, site)?;
        Ok(first_ready(states))
    }

    /// Returns the index of one of some requests that is ready now; an error if none ever can be.
    pub(crate) fn try_one(
        &self,
        states: &[Rc<RequestState>],
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<Option<usize>> {
        if self.port.is_controlled() {
            self.port.depends_on_time();
            return in_time(self.await_chosen(states, call, site, Some(Instant::now())));
        }
        let ready = self.try_ready(states, Until::One, call, site)?;
        Ok(ready.then(|| first_ready(states)))
    }

    /// Waits in a controlled world until one of some requests is chosen among those that are ready.
    fn await_chosen(
        &self,
        states: &[Rc<RequestState>],
        call: &dyn Fn() -> String,
        site: Site,
        deadline: Option<Instant>,
    ) -> Result<usize> {
        self.wait_for(states, Until::One, call, site, deadline, || {
            let chosen = self.port.chosen(None);
            self.port.take_in();
            match chosen {
                Some(Pick::Request(place)) => Some(place),
                _ => None,
            }
        })
    }

    /// Waits for requests until `look` finds what it looks for.
    fn wait_for<A>(
        &self,
        states: &[Rc<RequestState>],
        until: Until,
        call: &dyn Fn() -> String,
        site: Site,
        deadline: Option<Instant>,
        look: impl FnMut() -> Option<A>,
    ) -> Result<A> {
        let open = || states.iter().filter(|one| !one.is_ready());
        let first = open().next().map(|one| one.comm.clone());
        let others = others(first.as_deref(), open());
        let reason = Reason {
            call,
            site,
            needs: &|| wanted(open().map(|one| one.needs()).collect(), until),
            comm: first.as_deref(),
            also: &others,
            collective: None,
            turn: None,
            deadline,
            needs_buffer: open().any(|one| one.needs_buffer()),
            choice: Some(&|| sought(states, until)),
        };
        self.port.wait(&reason, look)
    }

    /// Ends the started collectives among some requests after a wait for them has failed for a reason that is not one
    /// request's alone.
    fn fail_started(&self, states: &[Rc<RequestState>], error: &Error) {
        use ErrorKind::{Deadlock, Mismatch, TimedOut};
        if !matches!(error.kind(), Deadlock(_) | Mismatch(_) | TimedOut { .. }) {
            return;
        }
        for state in states {
            if let Some(started) = state.collective() {
                started.fail(&self.port, error);
            }
        }
        self.port.remove_over();
    }

    fn are_ready(&self, states: &[Rc<RequestState>], until: Until) -> bool {
        self.port.take_in();
        is_met(states, until)
    }

    /// Whether a wait for an open request would return at once, even if with an error. Inside an operator it does not
    /// look for messages.
    pub(crate) fn is_done(&self, state: &Rc<RequestState>) -> bool {
        match self.in_operator() {
            true => state.is_ready(),
            false if self.port.recorder.traces() => self.is_done_in_a_trace(state),
            false => !matches!(self.looked_at(state), Ok(false)),
        }
    }

    /// Whether it is ready, looked at outside of all operations.
    fn looked_at(&self, state: &Rc<RequestState>) -> Result<bool> {
        self.ending_if_it_unwinds(|| self.is_ready(state))
    }

    /// The same as a call of its own: what it receives is received in a call.
    fn is_done_in_a_trace(&self, state: &Rc<RequestState>) -> bool {
        let event = || CallEvent {
            verb: "is_done",
            ..CallEvent::at(state.site)
        };
        let call = &OnComm {
            call: &event,
            context: state.comm.context,
        };
        let show = || format!("is_done of {state}");
        let recorder = &self.port.recorder;
        let token = recorder.begin(call, &show);
        let ready = self.looked_at(state);
        recorder.end(token, call, &show, ready.is_ok());
        !matches!(ready, Ok(false))
    }

    /// Whether a request is ready now; an error if it never can be.
    pub(crate) fn is_ready(&self, state: &Rc<RequestState>) -> Result<bool> {
        let show = || format!("test of {state}");
        self.try_ready(std::slice::from_ref(state), Until::All, &show, state.site)
    }

    /// Whether one or all of some requests are ready now (in a controlled world: once no other rank can proceed); an
    /// error if they never can be.
    pub(crate) fn try_ready(
        &self,
        states: &[Rc<RequestState>],
        until: Until,
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<bool> {
        if self.port.is_controlled() {
            let ready = || self.are_ready(states, until).then_some(());
            self.port.depends_on_time();
            self.port.advance_started();
            let waited = self.wait_for(states, until, call, site, Some(Instant::now()), ready);
            return in_time(waited).map(|ready| ready.is_some());
        }
        let open = || states.iter().filter(|one| !one.is_ready());
        self.port.advance_started();
        loop {
            if self.are_ready(states, until) {
                return Ok(true);
            }
            if let Some(cause) = open().find_map(|one| one.comm.revoked.get()) {
                return Err(cause.clone().into());
            }
            let (count, needs) = (open().count(), open().map(|one| one.needs()).collect());
            let Some(error) = self.port.lost(&wanted(needs, until)) else {
                self.port.give_turn();
                return Ok(false);
            };
            // A rank that has ended did everything before that: what it sent is taken in now, and may have completed
            // the request that seemed lost, while others are still open.
            if !self.are_ready(states, until) && open().count() == count {
                return Err(error);
            }
        }
    }
}

/// `None` for a wait that gave up at its deadline.
fn in_time<A>(waited: Result<A>) -> Result<Option<A>> {
    match waited {
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => Ok(None),
        waited => waited.map(Some),
    }
}

/// Whether one or all of some requests are ready, as far as messages have been taken in.
#[inline]
fn is_met(states: &[Rc<RequestState>], until: Until) -> bool {
    match until {
        Until::All => states.iter().all(|one| one.is_ready()),
        Until::One => states.iter().any(|one| one.is_ready()),
    }
}

fn first_ready(states: &[Rc<RequestState>]) -> usize {
    states.iter().position(|one| one.is_ready()).unwrap_or(0)
}

/// The communicators of some requests besides the `first`, without duplicates.
fn others<'a>(
    first: Option<&Arc<CommShared>>,
    states: impl Iterator<Item = &'a Rc<RequestState>>,
) -> Vec<Arc<CommShared>> {
    let mut others: Vec<Arc<CommShared>> = Vec::new();
    for one in states {
        let mut known = first.into_iter().chain(&others);
        if !known.any(|comm| Arc::ptr_eq(comm, &one.comm)) {
            others.push(Arc::clone(&one.comm));
        }
    }
    others
}

/// The messages that a wait for requests looks for, if a scheduler chooses which message arrives first.
fn sought(states: &[Rc<RequestState>], until: Until) -> Sought {
    let slots = states.iter().filter_map(|one| match &one.direction {
        Direction::Receive { slot, .. } if !slot.is_filled() => Some(slot.want()),
        _ => None,
    });
    let one_of = until == Until::One;
    let is_other = |one: &Rc<RequestState>| !matches!(one.direction, Direction::Receive { .. });
    let mut others = states.iter().filter(|one| is_other(one));
    let also_others = one_of && others.any(|one| !one.is_ready());
    let ready = (0..states.len()).filter(|&place| one_of && states[place].is_ready());
    Sought {
        wants: slots.collect(),
        ready: ready.collect(),
        one_of,
        also_others,
        lock: None,
    }
}

/// What a wait for requests needs, if these are the needs of those that are open.
fn wanted(mut arms: Vec<Needs>, until: Until) -> Needs {
    match (arms.len(), until) {
        (1, _) => arms.remove(0),
        (_, Until::All) => Needs::Every(arms),
        (_, Until::One) => Needs::Either(arms),
    }
}
