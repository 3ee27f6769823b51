//! Waits and failures of a call over shared memory.

use std::sync::Arc;

use super::call::{From, InCall};
use crate::Rank;
use crate::collective::Call as Shape;
use crate::direct;
use crate::error::{Called, Error, ErrorKind, Mismatch, Result};
use crate::op::{Element, Operator};
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::memory::epoch::Ticket;
use crate::transport::memory::shared_vectors::{Coming, Met, Waiting, meet};
use crate::unwind;

impl InCall<'_> {
    /// Runs a call over shared memory.
    pub(super) fn run_direct<T: Element>(
        &self,
        shape: &Shape,
        input: &[T],
        output: &mut [T],
        op: &impl Operator<T>,
    ) -> Result<()> {
        self.comm.core.tick()?;
        let me = self.rank();
        let coming = Coming {
            epoch: self.comm.shared.epoch(),
            me,
            print: self.print,
            job: direct::job(shape),
            lists: &self.comm.core.lists,
            copies: &self.comm.core.port.copies,
        };
        let met = meet(
            &coming,
            self,
            direct::brings(shape, me, input, output),
            |rank| direct::lengths(shape, rank),
            |vectors| {
                self.note_all_sent(shape, size_of::<T>());
                // The operator's own calls would be recorded as this call.
                self.settle();
                unwind::operator(|| direct::run(shape, me, vectors, op));
            },
        )?;
        self.concluded(met, shape)
    }

    /// The result of a call over shared memory that this rank has left.
    fn concluded(&self, met: Met, shape: &Shape) -> Result<()> {
        match met {
            Met::Well => {
                self.note_all_received(shape);
                Ok(())
            }
            // That rank has reported the cause to all others, or is about to end.
            Met::Failed(rank) => self.wait(&|| self.needs(&From::Rank(rank)), None, || None),
            Met::Aborted => self.wait(&|| self.all_at(), None, || None),
            Met::Strange(rank) => Err(self.stranger(rank)),
            Met::Inside => Err(Error::usage(
                "this rank is in the middle of another collective over shared memory on this communicator",
            )),
        }
    }

    /// Counts the messages that would be sent, and records them where that is requested.
    fn note_all_sent(&self, shape: &Shape, element_bytes: usize) {
        direct::sends(shape, self.rank(), &mut |to, elements| {
            let bytes = elements * element_bytes;
            self.note_sending(to, bytes);
            self.note_sent(to);
            self.comm.core.port.count(bytes);
        });
    }

    /// Records the messages that would be received.
    fn note_all_received(&self, shape: &Shape) {
        if !self.comm.core.port.recorder.writes() {
            return;
        }
        let others = (0..self.size()).filter(|&other| other != self.rank());
        for from in others {
            direct::sends(shape, from, &mut |to, _| {
                if to == self.rank() {
                    self.note_received(from);
                }
            });
        }
    }

    /// All ranks are needed, in this call.
    fn all_at(&self) -> Needs {
        let call = (self.call.context, self.number, self.print);
        Needs::Gate(call, self.comm.shared.members.clone())
    }

    /// The mismatch with a rank that brought vectors of another call.
    #[cold]
    fn stranger(&self, rank: Rank) -> Error {
        let fabric = self.comm.fabric();
        let compared = fabric.compare_calls(&self.comm.shared, self.number);
        let compared = compared.map(|compared| compared.mismatch);
        let called = |rank| {
            let world = self.comm.world_rank(rank);
            let call = self.record_of(world);
            Called {
                rank: world,
                call: call.map_or_else(|| "another call".into(), |call| call.to_string()),
                site: call.map(|call| call.site),
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

    fn stay(&self, ticket: Ticket, all_out: &mut dyn FnMut() -> bool) {
        let port = &self.comm.core.port;
        port.recorder
            .settle(self.described, &|| self.call.to_string());
        let shared = &self.comm.shared;
        let not_out = || shared.epoch().not_out(ticket);
        port.wait_bound(
            &|| Needs::All(not_out().map(|rank| shared.members.world(rank)).collect()),
            all_out,
        );
    }
}
