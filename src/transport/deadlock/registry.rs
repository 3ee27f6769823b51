//! The registry of waits and ends: an entry for each rank, read and written under one lock.

use std::sync::Arc;
use std::time::Instant;

use crate::Rank;
use crate::error::{Cause, Deadlock, Error, ErrorKind, Gone, Site};
use crate::transport::deadlock::choice::{Eligible, Pick, Transition};
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::{CommShared, memory::epoch};

/// One rank's entry.
#[derive(Default)]
pub(crate) struct RankEntry {
    pub(in crate::transport) wait: Option<Wait>,
    /// What the rank needs in a bound wait, which nothing ends early, and since when it waits.
    pub(in crate::transport) bound: Option<(Needs, Instant)>,
    /// The decision of others about this wait.
    pub(in crate::transport) verdict: Option<Cause>,
    pub(in crate::transport) end: Option<RankEnd>,
}

/// What a sleeping rank waits for.
pub(crate) struct Wait {
    /// The call, as it prints, and its source line.
    pub call: String,
    pub site: Site,
    pub needs: Needs,
    /// Whether the call has a deadline of its own, so that the rank wakes by itself.
    pub ends_by_itself: bool,
    /// The communicator, if its failure would end the wait.
    pub comm: Option<Arc<CommShared>>,
    /// The communicators of other requests that it waits for.
    pub also: Vec<Arc<CommShared>>,
    /// In collectives: the number of the call.
    pub collective: Option<u32>,
    /// The turn of the communicator's gate, or the epoch, whose end it waits for.
    pub turn: Option<Turn>,
    /// In controlled worlds: what it could take. The rank does not move until the chooser has decided.
    pub choice: Option<Eligible>,
    /// Whether it is a send that found no buffer space and waits to be received.
    pub needs_buffer: bool,
    pub since: Instant,
    /// Number of operations that each rank had begun, if there is a watchdog to report them.
    pub begun: Vec<u64>,
    /// The started collectives of the rank, which go on while it sleeps.
    pub(in crate::transport) awaiting: Vec<Awaiting>,
}

/// What the detector knows of a started call whose rank sleeps.
#[derive(Clone)]
pub(in crate::transport) struct Awaiting {
    pub comm: Arc<CommShared>,
    pub number: u32,
    pub ranks: Vec<Rank>,
}

impl Awaiting {
    /// What names the call, alike on all its ranks.
    pub(in crate::transport) fn key(&self) -> (u32, u32) {
        (self.comm.context, self.number)
    }
}

/// An event that frees several ranks at once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    /// The gate turns from this turn.
    Gate(u32),
    /// All ranks have come to an epoch.
    Epoch(epoch::Ticket),
}

impl Turn {
    pub(in crate::transport) fn is_over(self, comm: &CommShared) -> bool {
        match self {
            Turn::Gate(turn) => comm.gate.turned_by(turn).is_some(),
            Turn::Epoch(ticket) => comm.epoch().all_here(ticket),
        }
    }
}

impl Wait {
    /// Whether the gate has turned, all ranks are here or the communicator has broken, and the rank need only be told.
    pub(in crate::transport) fn is_over(&self) -> bool {
        let turned = |comm: &CommShared| self.turn.is_some_and(|turn| turn.is_over(comm));
        self.broken().is_some() || self.comm.as_deref().is_some_and(turned)
    }

    /// Why the communicator has broken, if that concerns this wait: point-to-point waits only if it was revoked.
    pub(in crate::transport) fn broken(&self) -> Option<&Cause> {
        if matches!(self.needs, Needs::Shrink(..)) {
            // It waits in a communicator that is revoked already.
            return None;
        }
        let comm = self.comm.as_ref()?;
        let cause = self.collective.and_then(|_| comm.cause.get());
        let revoked = || self.comms().find_map(|comm| comm.revoked.get());
        cause.or_else(revoked)
    }

    pub(in crate::transport) fn comms(&self) -> impl Iterator<Item = &Arc<CommShared>> {
        self.comm.iter().chain(&self.also)
    }

    /// The name of the communicator that the call is on, unless it is the world.
    pub(in crate::transport) fn comm_name(&self) -> Option<Arc<str>> {
        self.comm.as_ref()?.name()
    }

    /// The communicator and number of each collective that the rank is in: the blocking one, and those it has started.
    pub(in crate::transport) fn calls(&self) -> impl Iterator<Item = (&Arc<CommShared>, u32)> {
        let started = self.awaiting.iter().map(|call| (&call.comm, call.number));
        self.comm
            .as_ref()
            .zip(self.collective)
            .into_iter()
            .chain(started)
    }

    /// Whether the rank is in a collective on a communicator.
    pub(in crate::transport) fn is_in(&self, comm: &Arc<CommShared>) -> bool {
        self.calls().any(|(theirs, _)| Arc::ptr_eq(theirs, comm))
    }

    /// Whether the end of `rank` matters to the wait, or to a started call.
    pub(in crate::transport) fn involves(&self, rank: Rank) -> bool {
        let awaits = |call: &Awaiting| call.ranks.contains(&rank);
        self.needs.involves(rank) || self.awaiting.iter().any(awaits)
    }
}

/// How a rank ended.
#[derive(Clone, Debug)]
pub(crate) struct RankEnd {
    pub why: Gone,
    pub site: Option<Arc<str>>,
    /// The original cause, if the rank only followed another rank, a deadlock or a mismatch.
    pub follows: Option<Cause>,
    /// The number of ranks that ended before.
    pub order: usize,
}

impl RankEnd {
    /// The cause to report to ranks that need this one: the original cause, if the rank failed only because of that. A
    /// rank that handled it and returned is itself the cause.
    pub(crate) fn cause(&self, rank: Rank) -> Cause {
        match &self.follows {
            Some(first) if self.why != Gone::Returned => first.clone(),
            _ => self.gone(rank),
        }
    }

    pub(in crate::transport) fn gone(&self, rank: Rank) -> Cause {
        Cause::Gone {
            rank,
            why: self.why.clone(),
            site: self.site.clone(),
        }
    }
}

/// Whether a rank's end was a failure.
pub(in crate::transport) fn failed(why: &Gone) -> bool {
    *why != Gone::Returned
}

/// All entries.
pub(crate) struct Registry {
    pub(in crate::transport) entries: Vec<RankEntry>,
    pub(in crate::transport) ended: usize,
    pub(crate) deadlocks: Vec<Arc<Deadlock>>,
}

impl Registry {
    pub(crate) fn new(ranks: usize) -> Self {
        Registry {
            entries: (0..ranks).map(|_| RankEntry::default()).collect(),
            ended: 0,
            deadlocks: Vec::new(),
        }
    }

    /// Whether a rank has ended because this one was gone.
    pub(crate) fn is_followed(&self, gone: Rank) -> bool {
        let follows =
            |end: &RankEnd| matches!(&end.follows, Some(Cause::Gone { rank, .. }) if *rank == gone);
        let mut ends = self.entries.iter().filter_map(|entry| entry.end.as_ref());
        ends.any(follows)
    }

    pub(crate) fn end(&self, rank: Rank) -> Option<&RankEnd> {
        self.entries[rank].end.as_ref()
    }

    pub(in crate::transport) fn write_end(
        &mut self,
        rank: Rank,
        why: Gone,
        site: Option<Arc<str>>,
        follows: Option<Cause>,
    ) {
        self.entries[rank].end = Some(RankEnd {
            why,
            site,
            follows,
            order: self.ended,
        });
        self.ended += 1;
    }

    /// Whether one of these ranks has ended: then it is unwinding, and will do what the rank in the bound wait needs.
    pub(in crate::transport) fn unwinds_among(&self, needs: &Needs) -> bool {
        let mut ranks = 0..self.entries.len();
        self.ended > 0 && ranks.any(|rank| self.end(rank).is_some() && needs.involves(rank))
    }

    /// Forgets how ranks ended, for the next run.
    pub(in crate::transport) fn forget_ends(&mut self) {
        if self.ended > 0 {
            self.entries.iter_mut().for_each(|entry| entry.end = None);
            self.ended = 0;
        }
    }

    /// The first recorded end among `ranks` that `counts`.
    pub(in crate::transport) fn first_of(
        &self,
        ranks: &mut dyn Iterator<Item = Rank>,
        counts: &dyn Fn(&RankEnd) -> bool,
    ) -> Option<(Rank, &RankEnd)> {
        let ends = ranks.filter_map(|rank| Some((rank, self.end(rank).filter(|end| counts(end))?)));
        ends.min_by_key(|(_, end)| end.order)
    }

    /// The one of `ranks` that ended first, if an error of this kind comes from that.
    pub(crate) fn first_gone(&self, ranks: &[Rank], kind: &ErrorKind) -> Option<Rank> {
        let (rank, end) = self.first_of(&mut ranks.iter().copied(), &|_| true)?;
        end.cause(rank).is_of(kind).then_some(rank)
    }

    /// The error if what `me` needs can no longer arrive because a rank has ended.
    pub(in crate::transport) fn lost(&self, me: Rank, needs: &Needs) -> Option<Error> {
        self.lost_cause(me, needs).map(Error::from)
    }

    pub(in crate::transport) fn lost_cause(&self, me: Rank, needs: &Needs) -> Option<Cause> {
        let (rank, end) = self.missed(me, needs)?;
        Some(end.cause(rank))
    }

    /// The end that took away what `me` needs; the first one, where there are several.
    pub(in crate::transport) fn missed(&self, me: Rank, needs: &Needs) -> Option<(Rank, &RankEnd)> {
        let first = |(_, end): &(Rank, &RankEnd)| end.order;
        let arms = |arms: &[Needs]| arms.iter().map(|arm| self.missed(me, arm)).collect();
        match needs {
            Needs::One(one) => self.first_of(&mut [*one].into_iter(), &|_| true),
            Needs::All(some) => self.first_of(&mut some.iter().copied(), &|_| true),
            Needs::Gate(_, of) => {
                self.first_of(&mut of.iter().filter(|&rank| rank != me), &|_| true)
            }
            // A rank that returned leaves the set of senders; one that failed may have been the one to send.
            Needs::Any(of) => self.first_of(&mut of.iter().filter(|&rank| rank != me), &|end| {
                failed(&end.why)
            }),
            Needs::Shrink(..) | Needs::Started(_) => None,
            Needs::Every(needs) => {
                let missed: Vec<_> = arms(needs);
                missed.into_iter().flatten().min_by_key(first)
            }
            Needs::Either(needs) => {
                let missed: Option<Vec<_>> = arms(needs).into_iter().collect();
                missed?.into_iter().min_by_key(first)
            }
        }
    }
}

/// Queries of a controlled world.
impl Registry {
    /// Whether a rank that waits for the chooser will be told something.
    pub(in crate::transport) fn may_choose(&self, rank: Rank, wait: &Wait) -> bool {
        let choice = wait.choice.as_ref();
        choice.is_some_and(|eligible| {
            !eligible.is_empty() || self.lost_cause(rank, &wait.needs).is_some()
        })
    }

    /// Whether a rank has ended, or waits for something that has not arrived yet.
    pub(in crate::transport) fn is_at_rest(&self, rank: Rank, asleep: impl Fn() -> bool) -> bool {
        match &self.entries[rank] {
            RankEntry { end: Some(_), .. } => true,
            RankEntry {
                wait: Some(wait), ..
            } => asleep() && !wait.is_over(),
            _ => false,
        }
    }

    /// Whether a rank sleeps until a time that its call has set, or for a thread that is no rank.
    #[cfg(feature = "mpi")]
    pub(in crate::transport) fn wakes_by_itself(&self, rank: Rank) -> bool {
        let by_itself = |wait: &Wait| wait.ends_by_itself || wait.needs.is_nothing();
        self.entries[rank].wait.as_ref().is_some_and(by_itself)
    }

    pub(in crate::transport) fn living(&self) -> impl Iterator<Item = (Rank, &Wait)> {
        let entries = self.entries.iter().enumerate();
        let living = entries.filter(|(_, entry)| entry.end.is_none());
        living.filter_map(|(rank, entry)| Some((rank, entry.wait.as_ref()?)))
    }

    /// The transitions for what ranks wait for; if there is none, those for the receives that they have posted besides.
    pub(in crate::transport) fn transitions(&self) -> Vec<Transition> {
        let of = |picks: fn(&Eligible) -> &[Pick]| {
            let all = self
                .living()
                .filter_map(|(rank, wait)| Some((rank, wait.choice.as_ref()?)));
            let transitions = all.flat_map(|(rank, eligible)| {
                let picks = picks(eligible).iter();
                picks.map(move |&pick| Transition { rank, pick })
            });
            transitions.collect::<Vec<_>>()
        };
        let transitions = of(|eligible| &eligible.picks);
        if transitions.is_empty() {
            of(|eligible| &eligible.other)
        } else {
            transitions
        }
    }

    pub(in crate::transport) fn eligible(&self, rank: Rank) -> Option<&Eligible> {
        self.entries[rank].wait.as_ref()?.choice.as_ref()
    }

    /// The call of a rank that waits.
    pub(in crate::transport) fn call_of(&self, rank: Rank) -> (String, Site) {
        let wait = self.entries[rank].wait.as_ref();
        let wait = wait.expect("who has a transition waits");
        (wait.call.clone(), wait.site)
    }

    /// The ranks that wait for any message while a rank that might have sent one has failed.
    pub(in crate::transport) fn hopeless(&self) -> impl Iterator<Item = (Rank, Cause)> {
        let choosing = self.living().filter(|(_, wait)| wait.choice.is_some());
        choosing.filter_map(|(rank, wait)| Some((rank, self.lost_cause(rank, &wait.needs)?)))
    }

    pub(in crate::transport) fn tell(&mut self, rank: Rank, cause: Cause) {
        self.entries[rank].verdict = Some(cause);
    }

    /// The ranks that wait with a deadline.
    pub(in crate::transport) fn with_deadline(&self) -> impl Iterator<Item = Rank> {
        let waiting = self.living().filter(|(_, wait)| wait.ends_by_itself);
        waiting.map(|(rank, _)| rank)
    }
}

#[cfg(all(test, not(loom)))]
impl Wait {
    /// A wait of which only the needs are known.
    pub(in crate::transport) fn for_needs(needs: Needs) -> Wait {
        Wait {
            call: String::new(),
            site: std::panic::Location::caller(),
            needs,
            ends_by_itself: false,
            comm: None,
            also: Vec::new(),
            collective: None,
            turn: None,
            choice: None,
            needs_buffer: false,
            since: Instant::now(),
            begun: Vec::new(),
            awaiting: Vec::new(),
        }
    }
}
