//! How a rank keeps its open requests, and how it waits for them.

use std::cell::Cell;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::asked::{Asked, Until, Way};
use super::rank_state::Core;
use crate::error::{ErrorKind, Result, Site};
use crate::transport::deadlock::choice::Sought;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::progress::wait::Reason;
use crate::transport::{CommShared, Unfinished};

impl Core {
    /// Records a request until it ends.
    pub(super) fn ask(&self, way: Way, comm: &Arc<CommShared>, site: Site) -> Rc<Asked> {
        let asked = Rc::new(Asked {
            way,
            comm: comm.clone(),
            site,
            over: Cell::new(false),
        });
        self.asked.borrow_mut().push(asked.clone());
        asked
    }

    /// Marks a request as ended.
    pub(super) fn close(&self, asked: &Rc<Asked>) {
        asked.over.set(true);
        let mut all = self.asked.borrow_mut();
        if let Some(place) = all.iter().rposition(|other| Rc::ptr_eq(other, asked)) {
            all.swap_remove(place);
        }
    }

    /// Ends a request without its result: cancels a receive, and retracts a send if that is still possible. Returns
    /// whether that succeeded.
    pub(super) fn revoke(&self, asked: &Rc<Asked>) -> bool {
        self.close(asked);
        match &asked.way {
            Way::Send { receipt, .. } => receipt.as_ref().is_some_and(|receipt| receipt.revoke()),
            Way::Receive { slot, .. } => {
                self.port.inbox().unpost(slot, &*self.port.fabric);
                true
            }
        }
    }

    /// Ends a request that will not be waited for: a sent message is still delivered, a receive is cancelled.
    pub(super) fn abandon(&self, asked: &Rc<Asked>) {
        if !thread::panicking() {
            self.note_unfinished(asked);
        }
        match &asked.way {
            Way::Send { .. } => self.close(asked),
            Way::Receive { .. } => _ = self.revoke(asked),
        }
    }

    fn note_unfinished(&self, asked: &Asked) {
        self.port.fabric.unfinished.lock().push(Unfinished {
            rank: self.port.me,
            call: asked.to_string(),
            site: asked.site,
            comm: asked.comm.name(),
        });
    }

    /// Counts requests that are still open when the rank ends: these were forgotten.
    pub(super) fn count_forgotten(&self) {
        let forgotten = mem::take(&mut *self.asked.borrow_mut());
        if !thread::panicking() {
            forgotten
                .iter()
                .for_each(|asked| self.note_unfinished(asked));
        }
    }

    /// Waits until one or all of some requests are ready.
    pub(super) fn await_ready(
        &self,
        asked: &[Rc<Asked>],
        until: Until,
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<()> {
        let ready = || self.are_ready(asked, until).then_some(());
        if ready().is_some() {
            return Ok(());
        }
        self.wait_for(asked, until, call, site, None, ready)
    }

    /// Waits until one of some requests is ready, and returns its index.
    pub(super) fn await_one(
        &self,
        asked: &[Rc<Asked>],
        call: &dyn Fn() -> String,
        site: Site,
    ) -> Result<usize> {
        if !self.port.is_controlled() {
            self.await_ready(asked, Until::One, call, site)?;
            return Ok(asked.iter().position(|one| one.is_ready()).unwrap_or(0));
        }
        self.wait_for(asked, Until::One, call, site, None, || {
            let place = self.port.chosen(None).map(|queue| queue.source);
            self.port.take_in();
            place
        })
    }

    /// Waits for requests until `look` finds what it looks for.
    fn wait_for<A>(
        &self,
        asked: &[Rc<Asked>],
        until: Until,
        call: &dyn Fn() -> String,
        site: Site,
        deadline: Option<Instant>,
        look: impl FnMut() -> Option<A>,
    ) -> Result<A> {
        let open = || asked.iter().filter(|one| !one.is_ready());
        let comms = comms(open());
        let reason = Reason {
            call,
            site,
            needs: &|| needs(open().map(|one| one.needs()).collect(), until),
            comm: comms.first(),
            also: comms.get(1..).unwrap_or_default(),
            collective: None,
            turn: None,
            deadline,
            needs_buffer: open().any(|one| one.is_send()),
            choice: Some(&|| sought(asked, until)),
        };
        self.port.wait(&reason, look)
    }

    /// Whether a request is ready once no other rank can proceed.
    fn is_ready_at_last(&self, asked: &Rc<Asked>) -> Result<bool> {
        let one = std::slice::from_ref(asked);
        let ready = || self.are_ready(one, Until::All).then_some(());
        let show = || format!("test of {asked}");
        let now = Some(Instant::now());
        match self.wait_for(one, Until::All, &show, asked.site, now, ready) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn are_ready(&self, asked: &[Rc<Asked>], until: Until) -> bool {
        self.port.take_in();
        match until {
            Until::All => asked.iter().all(|one| one.is_ready()),
            Until::One => asked.iter().any(|one| one.is_ready()),
        }
    }

    /// Whether a request is ready now; an error if it never can be.
    pub(super) fn try_ready(&self, asked: &Rc<Asked>) -> Result<bool> {
        if self.port.is_controlled() {
            return self.is_ready_at_last(asked);
        }
        self.port.take_in();
        if asked.is_ready() {
            return Ok(true);
        }
        if let Some(cause) = asked.comm.revoked.get() {
            return Err(cause.clone().into());
        }
        let Some(error) = self.port.lost(&asked.needs()) else {
            self.port.give_turn();
            return Ok(false);
        };
        // A rank that has ended did everything before that.
        self.port.take_in();
        if asked.is_ready() {
            Ok(true)
        } else {
            Err(error)
        }
    }
}

/// The communicators of some requests, without duplicates.
fn comms<'a>(asked: impl Iterator<Item = &'a Rc<Asked>>) -> Vec<Arc<CommShared>> {
    let mut comms: Vec<Arc<CommShared>> = Vec::new();
    for one in asked {
        if !comms.iter().any(|comm| Arc::ptr_eq(comm, &one.comm)) {
            comms.push(one.comm.clone());
        }
    }
    comms
}

/// What a wait for requests looks for, where a scheduler chooses which message arrives first.
fn sought(asked: &[Rc<Asked>], until: Until) -> Sought {
    let slots = asked.iter().filter_map(|one| match &one.way {
        Way::Receive { slot, .. } if !slot.is_filled() => Some(slot.want()),
        _ => None,
    });
    let one_of = until == Until::One;
    let ready = (0..asked.len()).filter(|&place| one_of && asked[place].is_ready());
    Sought {
        wants: slots.collect(),
        ready: ready.collect(),
        one_of,
    }
}

fn needs(mut arms: Vec<Needs>, until: Until) -> Needs {
    match (arms.len(), until) {
        (1, _) => arms.remove(0),
        (_, Until::All) => Needs::Every(arms),
        (_, Until::One) => Needs::Either(arms),
    }
}
