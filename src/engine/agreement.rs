//! How the ranks of a collective meet at the gate, and how they agree on the call in a world that checks.

use super::call::InCall;
use crate::Rank;
use crate::error::{Called, Error, ErrorKind, Mismatch, Result};
use crate::transport::communicator::call::{Call, Verdict};
use crate::transport::communicator::gate::Arrival;
use crate::transport::deadlock::registry::Turn;
use crate::transport::deadlock::wait_for_graph::Needs;

/// The result of an arrival at the gate.
pub(crate) enum Come {
    /// This rank was the last, and holds all others until it releases them from this turn.
    Last(u32),
    /// This other rank was the last, and has released all ranks.
    LetGoBy(Rank),
}

impl InCall<'_> {
    /// If the world checks, compares the calls of all ranks before anything is sent.
    #[inline]
    pub(crate) fn agree(&self) -> Result<()> {
        match self.comm.fabric().settings.check && !self.comm.shared.spans() {
            true => self.agree_at_gate(),
            false => Ok(()),
        }
    }

    #[cold]
    fn agree_at_gate(&self) -> Result<()> {
        // A call that tolerates ranks that have ended cannot wait for them to agree, and a started one waits for none.
        let verb = self.call.verb;
        let needless = verb.meets_first() || verb.is_started() || self.call.tolerant;
        if needless { Ok(()) } else { self.pass_gate() }
    }

    /// If the world checks, rank 0 examines what the call is about to do, and all ranks get its verdict.
    pub(crate) fn agree_that(&self, examine: impl FnOnce() -> Verdict) -> Result<()> {
        if !self.comm.fabric().settings.check || self.comm.shared.spans() {
            return Ok(());
        }
        let verdict = &self.comm.shared.verdict;
        if self.rank() == 0 {
            let found = examine();
            *verdict.lock() = found;
        }
        // The next call's gate keeps rank 0 from storing another verdict before all ranks have read this one.
        self.pass_gate()?;
        let found = verdict.lock().clone();
        match found {
            Verdict::Right => Ok(()),
            Verdict::Fault(fault) => Err(Error::new(ErrorKind::Refused(fault))),
            Verdict::Mismatch(found) => Err(Error::new(ErrorKind::Mismatch(found))),
        }
    }

    /// The mismatch if some rank is about to do something other than what `part` expects of it.
    pub(crate) fn compare_parts(&self, part: impl Fn(Rank) -> u32) -> Option<Mismatch> {
        let members = self.comm.shared.members.iter().enumerate();
        let (mut calls, mut odd) = (Vec::new(), Vec::new());
        for (rank, world) in members {
            let Some(call) = self.record_of(world) else {
                continue;
            };
            let same = call.part == part(rank);
            let steps = if same {
                ""
            } else {
                " with steps that rank 0 does not know"
            };
            odd.extend((!same).then_some(world));
            calls.push(Called {
                rank: world,
                call: format!("{call}{steps}"),
                site: Some(call.site.into()),
            });
        }
        let comm = self.comm.shared.name();
        (!odd.is_empty()).then_some(Mismatch { calls, odd, comm })
    }

    /// The record of world rank `rank` for its call of this number.
    pub(crate) fn record_of(&self, rank: Rank) -> Option<Call> {
        let context = self.comm.shared.context;
        self.comm.fabric().call_of(rank, context, self.number)
    }

    /// Waits until every rank is in this same call.
    pub(crate) fn pass_gate(&self) -> Result<()> {
        self.comm.core.port.meeting(self.comm.shared.context, || {
            if let Come::Last(turn) = self.come()? {
                self.let_go(turn);
            }
            Ok(())
        })
    }

    /// Arrives at the gate, and waits until the last rank to arrive releases all ranks. If this rank is the last, it
    /// must release them, and must not wait before that: for the detector all the others wait for a running rank.
    pub(crate) fn come(&self) -> Result<Come> {
        self.comm.core.tick()?;
        let members = &self.comm.shared.members;
        let call = (self.comm.shared.context, self.number, self.print);
        let needs = || Needs::Gate(call, members.clone());
        let gate = &self.comm.shared.gate;
        match gate.arrive(self.size(), self.print) {
            Arrival::Last(turn) => Ok(Come::Last(turn)),
            Arrival::Early(turn) => self
                .wait(&needs, Some(Turn::Gate(turn)), || gate.turned_by(turn))
                .map(Come::LetGoBy),
            // The ranks at the gate are in another call. The records are compared once no rank can proceed.
            Arrival::Strange => self.wait(&needs, None, || None),
        }
    }

    /// Releases all ranks, as the last rank to [arrive](Self::come) in this turn.
    pub(crate) fn let_go(&self, turn: u32) {
        self.comm.shared.gate.turn(turn, self.rank());
        self.comm.shared.rouse_others(self.rank());
    }
}
