//! The findings of a run: culprits, lost messages and the ranks' records. Read once, when the ranks have ended.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use super::elsewhere::Elsewhere;
use super::left::Lost;
use super::outcome::{End, Ends};
use super::recent::Recent;
use super::setup::Setup;
use crate::Rank;
use crate::error::{Cause, Deadlock, Gone, Mismatch};
use crate::machine::Placement;
use crate::names::Transport;
use crate::sort;
use crate::transport::deadlock::registry;
use crate::transport::memory::head::communicator;
use crate::transport::memory::packet::Packet;
use crate::transport::{CommShared, Fabric, Unfinished};

/// The activity of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The operations that it began: calls, and the messages inside collectives.
    pub operations: u64,
    /// The messages of elements that it sent, including those inside collectives; moved values are not counted.
    pub messages: u64,
    /// The bytes in these messages.
    pub bytes: u64,
    /// The waits so long that it stopped spinning and slept.
    pub sleeps: u64,
    /// Total time of its waits, except waits so short that it kept spinning.
    pub waiting: Duration,
}

/// Everything in a [`Report`](super::Report) but the outcomes; the fields are described there.
pub(super) struct Findings {
    pub culprit: Option<Rank>,
    pub deadlocks: Vec<Arc<Deadlock>>,
    pub mismatch: Option<Arc<Mismatch>>,
    pub lost: Vec<Lost>,
    pub unfinished: Vec<Unfinished>,
    pub placement: Placement,
    pub transport: Transport,
    pub counts: Vec<Counts>,
    pub seed: Option<u64>,
    pub wall: Duration,
    pub grounds: Grounds,
}

/// The facts on which the verdict on a run rests besides those that its report shows.
#[derive(Debug)]
pub(super) struct Grounds {
    pub strict: bool,
    /// Whether no rank noticed the mismatch.
    pub unnoticed: bool,
    /// The cause of the first failure, if all failures only follow from others.
    pub followed: Option<Cause>,
    /// A rank that failed because it needed the culprit.
    pub needed_by: Option<Rank>,
    pub recent: Recent,
    pub elsewhere: Elsewhere,
}

impl Findings {
    /// Reads what the ranks left behind in the fabric.
    pub(super) fn read(
        outcomes: &dyn Ends,
        setup: &Setup,
        fabric: &Fabric,
        placement: Placement,
        wall: Duration,
    ) -> Findings {
        fabric.assert_transport(|| fabric.carried_by_memory());
        let elsewhere = Elsewhere::of(fabric);
        let outcomes = &elsewhere.and(outcomes);
        let mut findings = Findings::of_all(outcomes, setup, fabric, placement, wall);
        findings.grounds.elsewhere = elsewhere;
        findings
    }

    /// The same by the ends of the ranks of all processes.
    fn of_all(
        outcomes: &dyn Ends,
        setup: &Setup,
        fabric: &Fabric,
        placement: Placement,
        wall: Duration,
    ) -> Findings {
        let recent = Recent::of(fabric);
        let left = fabric.leftovers();
        let comms = fabric.comms();
        let stray = stray(fabric, &comms, &left);
        let lost = |left| Lost::of(left, &recent.names);
        let lost = left.into_iter().filter_map(lost).collect();
        let (culprit, followed) = first(outcomes, fabric);
        let mut findings = Findings {
            culprit,
            deadlocks: deadlocks(fabric),
            mismatch: noticed(&comms).or_else(|| elsewhere(outcomes.ranks(), fabric)),
            lost,
            unfinished: unfinished(outcomes, fabric),
            placement,
            transport: fabric.settings.transport,
            counts: counts(fabric),
            seed: setup.settings.seed,
            wall,
            grounds: Grounds {
                strict: setup.strict,
                unnoticed: false,
                followed,
                needed_by: culprit.and_then(|culprit| needed_by(culprit, outcomes, fabric)),
                recent,
                elsewhere: Elsewhere::default(),
            },
        };
        findings.follow_mismatch(outcomes, fabric);
        findings.name_the_odd(fabric);
        findings.find_mismatch(outcomes, fabric, &comms, stray);
        findings.hear_of_mismatch(fabric);
        findings
    }

    /// A mismatch that made a rank fail counts before another rank's error, which may be what that rank made of it; not
    /// before a panic. One that no failed rank follows was handled.
    fn follow_mismatch(&mut self, outcomes: &dyn Ends, fabric: &Fabric) {
        let panicked = |rank| outcomes.end(rank) == End::Panicked;
        let known = matches!(self.grounds.followed, Some(Cause::Mismatch(_)));
        if known || !self.deadlocks.is_empty() || self.culprit.is_some_and(panicked) {
            return;
        }
        let registry = fabric.open_registry();
        let mut failed = outcomes.ends().zip(0..);
        let followed = failed.find_map(|(end, rank)| match &registry.end(rank)?.follows {
            Some(cause @ Cause::Mismatch(_)) if end != End::Returned => Some(cause.clone()),
            _ => None,
        });
        if let Some(cause) = followed.filter(|_| self.mismatch.is_some()) {
            self.culprit = cause.culprit();
            self.grounds.followed = Some(cause);
        }
    }

    /// The rank that noticed a mismatch may not have known the calls of ranks in other processes, which are known now.
    fn name_the_odd(&mut self, fabric: &Fabric) {
        let named = |found: &Arc<Mismatch>| fabric.naming_the_odd(found).map(Arc::new);
        let Some(named) = self.mismatch.as_ref().and_then(named) else {
            return;
        };
        if let Some(Cause::Mismatch(followed)) = &mut self.grounds.followed {
            *followed = named.clone();
            self.culprit = named.odd.first().copied();
        }
        self.mismatch = Some(named);
    }

    /// Finds a mismatch that no rank noticed.
    fn find_mismatch(
        &mut self,
        outcomes: &dyn Ends,
        fabric: &Fabric,
        comms: &[Arc<CommShared>],
        stray: Option<Mismatch>,
    ) {
        if self.mismatch.is_some() {
            return;
        }
        let differing = || comms.iter().find_map(|comm| fabric.compare_all(comm));
        // A rank that returned early may only have made another call than the ranks that needed it.
        let by_return = self.returned_early(outcomes);
        let found = match by_return {
            true => differing().or(stray.filter(|found| !found.odd.is_empty())),
            // In other processes nothing is found of what was left there.
            false if fabric.has_far() && stray_counts(comms) => differing().or(stray),
            false => stray,
        };
        let found = found.filter(|_| by_return || outcomes.are_whole());
        self.grounds.unnoticed = found.is_some();
        self.mismatch = found.map(Arc::new);
        if let Some(found) = &self.mismatch {
            self.culprit = found.odd.first().copied();
        }
    }

    /// Where ranks are in other processes, a mismatch that no rank noticed is one for all processes.
    fn hear_of_mismatch(&mut self, fabric: &Fabric) {
        let mine = self.mismatch.clone().filter(|_| self.grounds.unnoticed);
        let found = fabric.found_anywhere(mine);
        if self.mismatch.is_some() && !self.grounds.unnoticed {
            return;
        }
        if let Some(found) = &found {
            self.culprit = found.odd.first().copied();
            self.grounds.unnoticed = true;
        }
        self.mismatch = found;
    }

    /// Whether the only fault is that a rank returned.
    fn returned_early(&self, outcomes: &dyn Ends) -> bool {
        let by_cause =
            |cause: &Cause| matches!(cause, Cause::Gone { why, .. } if *why == Gone::Returned);
        let left = |rank| !matches!(outcomes.end(rank), End::Failed | End::Panicked);
        self.grounds.followed.as_ref().is_some_and(by_cause) && self.culprit.is_none_or(left)
    }
}

impl Counts {
    fn of([operations, messages, bytes, sleeps, waited]: [u64; 5]) -> Counts {
        Counts {
            operations,
            messages,
            bytes,
            sleeps,
            waiting: Duration::from_nanos(waited),
        }
    }
}

/// The activity of the ranks of this process.
fn counts(fabric: &Fabric) -> Vec<Counts> {
    let near = fabric.near();
    let tallies = fabric.tallies().skip(near.start).take(near.len());
    tallies.map(Counts::of).collect()
}

/// The culprit by how the ranks ended, and the cause of the first failure if all failures only follow from others.
fn first(outcomes: &dyn Ends, fabric: &Fabric) -> (Option<Rank>, Option<Cause>) {
    let registry = fabric.open_registry();
    let ends = outcomes.ends().enumerate();
    let failed: Vec<_> = ends
        .filter(|(_, end)| *end != End::Returned)
        .filter_map(|(rank, _)| Some((rank, registry.end(rank)?)))
        .collect();
    let first = |followers: bool| {
        let ends = failed.iter().filter(|(_, end)| followed(end) == followers);
        // What a rank here has followed is known in full.
        ends.min_by_key(|(rank, end)| (followers && fabric.is_far(*rank), end.order))
    };
    if let Some((rank, _)) = first(false) {
        return (Some(*rank), None);
    }
    // All of them only follow from other failures: blame the cause of the first.
    let cause = first(true).and_then(|(_, end)| end.follows.clone());
    (cause.as_ref().and_then(Cause::culprit), cause)
}

/// The rank that failed because it needed the culprit, as directly as any; one of this process, if there is one.
fn needed_by(culprit: Rank, outcomes: &dyn Ends, fabric: &Fabric) -> Option<Rank> {
    let registry = fabric.open_registry();
    let cause = |rank: &Rank| registry.end(*rank)?.follows.as_ref()?.culprit();
    let distance = |rank: Rank| {
        let mut causes = iter::successors(cause(&rank), cause).take(outcomes.ranks());
        causes.position(|cause| cause == culprit)
    };
    let ends = outcomes.ends().enumerate();
    let failed = ends.filter(|(rank, end)| *rank != culprit && *end == End::Failed);
    let needing = failed.filter_map(|(rank, _)| Some((fabric.is_far(rank), distance(rank)?, rank)));
    needing.min().map(|(.., rank)| rank)
}

fn deadlocks(fabric: &Fabric) -> Vec<Arc<Deadlock>> {
    fabric.open_registry().deadlocks.clone()
}

/// Whether a rank's end only follows from other failures.
fn followed(end: &registry::RankEnd) -> bool {
    end.follows.is_some()
}

/// The requests that ranks that returned left open.
fn unfinished(outcomes: &dyn Ends, fabric: &Fabric) -> Vec<Unfinished> {
    let mut open = fabric.unfinished.lock().clone();
    open.retain(|one| outcomes.end(one.rank) == End::Returned);
    // Each rank's own requests stay in their order.
    sort::by_numbers(&mut open, |one| [one.rank]);
    open
}

/// The mismatch that broke a communicator, if one did. A part breaks as the whole one does.
fn noticed(comms: &[Arc<CommShared>]) -> Option<Arc<Mismatch>> {
    let mut whole = comms.iter().filter(|comm| !comm.is_part());
    whole.find_map(|comm| match comm.cause.get() {
        Some(Cause::Mismatch(mismatch)) => Some(mismatch.clone()),
        _ => None,
    })
}

/// Whether what is left of collectives says anything: not where a communicator is broken.
fn stray_counts(comms: &[Arc<CommShared>]) -> bool {
    comms.iter().all(|comm| comm.cause.get().is_none())
}

/// The mismatch by which ranks of other processes have failed, in a communicator without a rank here.
fn elsewhere(ranks: usize, fabric: &Fabric) -> Option<Arc<Mismatch>> {
    let registry = fabric.open_registry();
    let mut far = (0..ranks).filter(|rank| fabric.is_far(*rank));
    far.find_map(|rank| match &registry.end(rank)?.follows {
        Some(Cause::Mismatch(mismatch)) => Some(mismatch.clone()),
        _ => None,
    })
}

/// The mismatch proved by a packet of a collective that was left behind, in a lane or in a cell: its receiver was in
/// another call, or in none. In calls that tolerate ranks that have ended such packets are normal, and in communicators
/// that are broken; so is one of a started call whose receiver made the same call and ended without waiting for it,
/// because it dropped or cancelled the request.
fn stray(fabric: &Fabric, comms: &[Arc<CommShared>], left: &[(Rank, Packet)]) -> Option<Mismatch> {
    if !stray_counts(comms) {
        return None;
    }
    let agree = |context| {
        let mut comms = comms.iter().filter(|comm| comm.context == context);
        comms.all(|comm| fabric.compare_all(comm).is_none())
    };
    let stray = |(to, packet): &(Rank, Packet)| {
        let (context, number) = (communicator(packet.head.context()), packet.head.tag());
        let abandoned = packet.head.is_started()
            && fabric.call_of(*to, context, number).is_some()
            && agree(context);
        let collective = packet.head.is_collective() && !abandoned;
        collective.then(|| fabric.stray_call(packet.source(), context, number))?
    };
    let at_cells = || comms.iter().find_map(|comm| fabric.unread(comm));
    left.iter().find_map(stray).or_else(at_cells)
}
