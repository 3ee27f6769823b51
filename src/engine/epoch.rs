//! Waits and failures of a call over shared memory.

use std::sync::Arc;

use super::call::InCall;
use crate::Rank;
use crate::error::{Called, Error, ErrorKind, Mismatch, Result};
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::epoch::{Outs, Ticket};
use crate::transport::memory::shared_call::Waiting;

impl InCall<'_> {
    /// All ranks are needed, in this call.
    pub(crate) fn all_at(&self) -> Needs {
        let call = (self.comm.shared.context, self.number, self.print);
        Needs::Gate(call, self.comm.shared.members.clone())
    }

    /// The mismatch with a rank that brought vectors of another call.
    #[cold]
    pub(crate) fn stranger(&self, rank: Rank) -> Error {
        let fabric = self.comm.fabric();
        let compared = fabric.compare_calls(&self.comm.shared, self.number);
        let compared = compared.map(|compared| compared.mismatch);
        let called = |rank| {
            let world = self.comm.to_world(rank);
            let call = self.record_of(world);
            Called {
                rank: world,
                call: call.map_or_else(|| "another call".into(), |call| call.to_string()),
                site: call.map(|call| call.site.into()),
            }
        };
        let pair = || Mismatch {
            calls: vec![called(self.rank()), called(rank)],
            odd: Vec::new(),
            comm: self.comm.shared.name(),
        };
        Error::new(ErrorKind::Mismatch(Arc::new(compared.unwrap_or_else(pair))))
    }
}

impl Waiting for InCall<'_> {
    type Error = Error;

    fn rouse(&self) {
        self.comm.shared.rouse_others_fenced(self.rank());
    }

    fn gather(&self, ticket: Ticket, all_here: &mut dyn FnMut() -> bool) -> Result<()> {
        // An injected failure may come after the arrival, too.
        self.comm.core.tick()?;
        if all_here() {
            return Ok(());
        }
        let epoch = self.comm.shared.epoch();
        let mut looks = 0u32;
        let found = self.wait(&|| self.all_at(), Some(Turn::Epoch(ticket)), || {
            if all_here() {
                return Some(None);
            }
            // The ranks that are here may be in another call: there is no hurry to find out.
            looks += 1;
            let odd = looks.is_multiple_of(64) || looks < 2;
            let stranger = odd.then(|| epoch.stranger(ticket, self.print)).flatten();
            stranger.map(Some)
        })?;
        found.map_or(Ok(()), |rank| Err(self.stranger(rank)))
    }

    fn stay(&self, (ticket, outs): (Ticket, Outs), all_out: &mut dyn FnMut() -> bool) {
        let port = &self.comm.core.port;
        port.recorder
            .settle(&self.on_comm(), &|| self.call.to_string());
        let shared = &self.comm.shared;
        let not_out = || shared.epoch().not_out(ticket, outs);
        port.wait_bound(
            &|| Needs::All(not_out().map(|rank| shared.members.world(rank)).collect()),
            all_out,
        );
    }
}
