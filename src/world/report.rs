//! What came of a run: rank by rank in [`Report`], in one sentence in [`WorldError`].

use std::env;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::Venue;
use super::trace::Trace;
use crate::Rank;
use crate::error::{Cause, Deadlock, Error, Gone, Mismatch, on};
use crate::machine::Placement;
use crate::transport::memory::packet::Packet;
use crate::transport::trace::origin::Names;
use crate::transport::trace::record::{self, Operation, Record};
use crate::transport::{CommShared, Fabric, Unfinished};
use crate::unwind;

/// What came of one rank.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome<R, E = Error> {
    /// It returned this.
    Returned(R),
    /// It returned this error.
    Failed(E),
    /// It panicked.
    Panicked {
        /// The panic's message.
        message: Arc<str>,
        /// Its line, if the panic hook saw it.
        site: Option<Arc<str>>,
    },
    /// An injected [`Fault::Return`](crate::Fault::Return) ended it early.
    Left,
}

impl<R, E> Outcome<R, E> {
    /// What the rank returned, if it did.
    pub fn value(&self) -> Option<&R> {
        match self {
            Outcome::Returned(value) => Some(value),
            _ => None,
        }
    }

    fn into_error(self) -> Option<E> {
        match self {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The error that the rank returned, if it did.
    pub fn error(&self) -> Option<&E> {
        match self {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }
}

/// What came of a run of a world.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<R, E = Error> {
    /// What came of each rank, in rank order.
    pub outcomes: Vec<Outcome<R, E>>,
    /// The rank that is to blame for the failures, if one is: the first that failed by itself, or that
    /// left while others needed it.
    pub culprit: Option<Rank>,
    /// The knots that were found, in the order in which they were found.
    pub deadlocks: Vec<Arc<Deadlock>>,
    /// The mismatch that broke a communicator, or that the ranks' records prove though no rank has noticed it, if
    /// there is one.
    pub mismatch: Option<Arc<Mismatch>>,
    /// Messages that were sent and never received.
    pub lost: Vec<Lost>,
    /// Requests that were neither waited for nor cancelled, of ranks that returned.
    pub unfinished: Vec<Unfinished>,
    /// Where the ranks ran.
    pub placement: Placement,
    /// What each rank did.
    pub counts: Vec<Counts>,
    /// The seed by which messages were chosen, in a [seeded](crate::World::seed) world.
    pub seed: Option<u64>,
    /// From the first thread's start to the last one's end.
    pub wall: Duration,
    /// Whether no rank has noticed the mismatch.
    unnoticed: bool,
    /// What the first rank that failed only followed.
    followed: Option<Cause>,
    /// What communicators are called.
    names: Names,
    strict: bool,
    /// What the ranks wrote down, and when they had ended, since the world began.
    records: Vec<Option<Arc<Record>>>,
    end: Duration,
}

/// What one rank did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Operations that it began: calls, and the messages inside collectives.
    pub operations: u64,
    /// Messages of elements that it sent, those inside collectives included; moved values are not
    /// counted.
    pub messages: u64,
    /// The bytes in these messages.
    pub bytes: u64,
    /// Waits so long that it gave up looking and slept.
    pub sleeps: u64,
    /// How long it waited in all. Waits so short that it kept looking are not counted.
    pub waiting: Duration,
}

/// A message that was sent and never received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// Who sent it.
    pub from: Rank,
    /// To whom.
    pub to: Rank,
    /// With which tag.
    pub tag: u32,
    /// What is in it, as `3 x f64`.
    pub contents: String,
    /// The communicator, as `dup of world at src/main.rs:7:20`; `None`: the world.
    pub comm: Option<Arc<str>>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost {
            from,
            to,
            tag,
            contents,
            comm,
        } = self;
        let on = on(comm.as_deref());
        write!(
            f,
            "rank {from} sent {contents} to rank {to} with tag {tag}{on}"
        )
    }
}

impl Lost {
    /// A left-over packet, if it is the user's.
    fn of((to, packet): (Rank, Packet), names: &Names) -> Option<Lost> {
        let from = packet.source();
        let collective = packet.head.context() % 2 == 1;
        let lost = (!collective).then(|| Lost {
            from,
            to,
            tag: packet.head.tag(),
            contents: packet.contents(),
            comm: names.get(packet.head.context()),
        });
        unwind::drop_quietly(packet);
        lost
    }
}

impl<R, E> Report<R, E> {
    pub(super) fn new(
        outcomes: Vec<Outcome<R, E>>,
        placement: Placement,
        venue: &Venue,
        fabric: &Fabric,
        wall: Duration,
    ) -> Self {
        let mut report = Report {
            outcomes,
            culprit: None,
            deadlocks: Vec::new(),
            mismatch: None,
            lost: Vec::new(),
            unfinished: Vec::new(),
            placement,
            counts: Vec::new(),
            seed: venue.settings.seed,
            wall,
            unnoticed: false,
            followed: None,
            names: fabric.names(),
            strict: venue.strict,
            records: Vec::new(),
            end: Duration::ZERO,
        };
        report.read(fabric);
        report
    }

    /// What the ranks left behind in the fabric.
    fn read(&mut self, fabric: &Fabric) {
        self.records = fabric.records().collect();
        self.end = Duration::from_nanos(fabric.clock().exact());
        let left = fabric.leftovers();
        let comms = fabric.comms();
        let noticed = comms.iter().find_map(|comm| match comm.cause.get() {
            Some(Cause::Mismatch(mismatch)) => Some(mismatch.clone()),
            _ => None,
        });
        let whole = comms.iter().all(|comm| comm.cause.get().is_none());
        let stray = whole.then(|| unread(fabric, &comms, &left)).flatten();
        let names = &self.names;
        let lost = left.into_iter();
        self.lost = lost.filter_map(|left| Lost::of(left, names)).collect();
        self.counts = fabric
            .tallies()
            .map(|[operations, messages, bytes, sleeps, waited]| Counts {
                operations,
                messages,
                bytes,
                sleeps,
                waiting: Duration::from_nanos(waited),
            })
            .collect();
        let returned = |one: &Unfinished| self.outcomes[one.rank].value().is_some();
        self.unfinished = fabric.unfinished.lock().clone();
        self.unfinished.retain(returned);
        // Each rank's own stay in their order.
        self.unfinished.sort_by_key(|one| one.rank);
        let registry = fabric.open_registry();
        self.deadlocks = registry.deadlocks.clone();
        drop(registry);
        self.blame_first(fabric);
        self.mismatch = noticed;
        if self.mismatch.is_none() {
            let differing = || comms.iter().find_map(|comm| fabric.compare_all(comm));
            // Who returned early may only have made another call than those who needed it.
            let found = match self.returned_early() {
                true => differing().or(stray.filter(|found| !found.odd.is_empty())),
                false => stray.filter(|_| self.is_whole()),
            };
            self.unnoticed = found.is_some();
            self.mismatch = found.map(Arc::new);
            if let Some(found) = &self.mismatch {
                self.culprit = found.odd.first().copied();
            }
        }
    }

    /// The culprit, by how the ranks ended.
    fn blame_first(&mut self, fabric: &Fabric) {
        let registry = fabric.open_registry();
        let failed = |rank: &Rank| !matches!(self.outcomes[*rank], Outcome::Returned(_));
        let ends = (0..self.outcomes.len()).filter_map(|rank| Some((rank, registry.end(rank)?)));
        let failed: Vec<_> = ends.filter(|(rank, _)| failed(rank)).collect();
        let first = |followers: bool| {
            let ends = failed.iter().filter(|(_, end)| followed(end) == followers);
            ends.min_by_key(|(_, end)| end.order)
        };
        if let Some((rank, _)) = first(false) {
            self.culprit = Some(*rank);
            return;
        }
        // All of them followed something: whatever the first of them followed.
        let cause = first(true).and_then(|(_, end)| end.follows.clone());
        self.culprit = cause.as_ref().and_then(Cause::culprit);
        self.followed = cause;
    }

    /// Whether all there is to blame is that a rank returned.
    fn returned_early(&self) -> bool {
        let by_cause =
            |cause: &Cause| matches!(cause, Cause::Gone { why, .. } if *why == Gone::Returned);
        let left = |rank: Rank| {
            !matches!(
                self.outcomes[rank],
                Outcome::Failed(_) | Outcome::Panicked { .. }
            )
        };
        self.followed.as_ref().is_some_and(by_cause) && self.culprit.is_none_or(left)
    }

    /// The last 64 operations of each rank, the oldest first: none if the world does not
    /// [record](crate::World::record). The report prints the last few of them if the run failed.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Progress, World};
    ///
    /// let report = World::new(2).run_each(|comm| match comm.rank() {
    ///     0 => comm.recv::<u8>(1, 7).map(|_| ()), // rank 1 never sends it
    ///     _ => comm.send(0, 8, &[1u8]),
    /// });
    /// let recent = report.recent();
    /// assert_eq!(recent[0].last().unwrap().call, "recv(from 1, tag 7)");
    /// assert_eq!(recent[0].last().unwrap().progress, Progress::Failed);
    /// assert_eq!(recent[1].last().unwrap().call, "send(to 0, tag 8, 1 x u8)");
    /// ```
    pub fn recent(&self) -> Vec<Vec<Operation>> {
        let of = |(rank, record): (Rank, &Option<Arc<Record>>)| {
            let recent = record.as_ref();
            let recent = recent.map(|record| record.recent(rank, &self.names));
            recent.unwrap_or_default()
        };
        self.records.iter().enumerate().map(of).collect()
    }

    /// Everything that went on, if the world was to [trace](crate::World::trace) it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{World, op};
    ///
    /// let report = World::new(4).trace(true).run_each(|comm| {
    ///     comm.all_reduce(&mut [comm.rank()], op::Sum)
    /// });
    /// let trace = report.trace().unwrap();
    /// assert_eq!((trace.calls.len(), trace.messages.len()), (4, 6));
    /// ```
    pub fn trace(&self) -> Option<Trace> {
        Trace::of(&self.records)
    }

    /// The last few operations of each rank, as they print.
    fn recent_lines(&self) -> String {
        let mut text =
            String::from("the last operations of each rank, and how long before the end");
        for (rank, operations) in self.recent().iter().enumerate() {
            let lines = record::lines(operations, SHOWN, self.end, |time| format!("-{time}"));
            text.push_str(&format!("\n  rank {rank}"));
            lines.iter().for_each(|line| {
                text.push('\n');
                text.push_str(line);
            });
        }
        text
    }

    fn is_recorded(&self) -> bool {
        let mut records = self.records.iter().flatten();
        records.any(|record| record.keeps_recent())
    }

    /// Whether every rank returned.
    fn is_whole(&self) -> bool {
        let mut outcomes = self.outcomes.iter();
        outcomes.all(|outcome| matches!(outcome, Outcome::Returned(_)))
    }

    /// The results in rank order if every rank returned one, else the first culprit. Lost messages and
    /// unfinished requests print one line each, or are an error in a [strict](crate::World::strict) world.
    /// If the environment variable `RANKFOLD_RECENT` is set, a failed run prints the last operations of each
    /// rank on the standard error.
    /// The seed of a failure prints one line.
    ///
    /// # Errors
    ///
    /// As [`World::run`](crate::World::run).
    pub fn into_result(self) -> Result<Vec<R>, WorldError<E>> {
        let seed = self.seed;
        if !self.is_whole() && self.is_recorded() && env::var_os("RANKFOLD_RECENT").is_some() {
            eprintln!("rankfold: {}", self.recent_lines());
        }
        let result = self.judged();
        if let (Some(seed), Err(_)) = (seed, &result) {
            eprintln!("rankfold: seed {seed} repeats this");
        }
        result
    }

    /// The same without a word.
    pub(crate) fn judged(self) -> Result<Vec<R>, WorldError<E>> {
        if !self.is_whole() {
            return Err(self.into_error());
        }
        if let Some(mismatch) = self.mismatch.filter(|_| self.unnoticed) {
            return Err(WorldError::Mismatch(mismatch));
        }
        match (
            self.strict,
            self.unfinished.is_empty(),
            self.lost.is_empty(),
        ) {
            (true, false, _) => return Err(WorldError::Unfinished(self.unfinished)),
            (true, _, false) => return Err(WorldError::Lost(self.lost)),
            _ => {}
        }
        if !self.unfinished.is_empty() {
            let left = WorldError::<Error>::Unfinished(self.unfinished);
            eprintln!("rankfold: {left}");
        }
        if !self.lost.is_empty() {
            eprintln!("rankfold: {}", WorldError::<Error>::Lost(self.lost));
        }
        let values = self
            .outcomes
            .into_iter()
            .filter_map(|outcome| match outcome {
                Outcome::Returned(value) => Some(value),
                _ => None,
            });
        Ok(values.collect())
    }

    fn into_error(mut self) -> WorldError<E> {
        match self.followed.take() {
            Some(Cause::Mismatch(mismatch)) => return WorldError::Mismatch(mismatch),
            Some(Cause::Deadlock(knot)) => return self.deadlock(knot),
            _ => {}
        }
        let knot = self.deadlocks.first().cloned();
        match (self.culprit, knot, self.mismatch.take()) {
            (_, _, Some(mismatch)) if self.unnoticed => WorldError::Mismatch(mismatch),
            (None, Some(knot), _) => self.deadlock(knot),
            (_, None, Some(mismatch)) if !self.culprit.is_some_and(|rank| self.broke(rank)) => {
                WorldError::Mismatch(mismatch)
            }
            (Some(rank), ..) => self.blame(rank),
            (None, ..) => self.first_failure(),
        }
    }

    /// A knot, with the messages that some of its ranks may have been meant to get.
    fn deadlock(&self, knot: Arc<Deadlock>) -> WorldError<E> {
        if self.lost.is_empty() {
            return WorldError::Deadlock(knot);
        }
        let lost = WorldError::<Error>::Lost(self.lost.clone());
        WorldError::Deadlock(Arc::new(Deadlock {
            unreceived: Some(lost.to_string()),
            ..Deadlock::clone(&knot)
        }))
    }

    fn broke(&self, rank: Rank) -> bool {
        matches!(self.outcomes[rank], Outcome::Panicked { .. })
    }

    fn blame(mut self, rank: Rank) -> WorldError<E> {
        let culprit = std::mem::replace(&mut self.outcomes[rank], Outcome::Left);
        let errors = self.outcomes.into_iter().enumerate();
        let needed_by = errors
            .filter_map(|(rank, outcome)| Some((rank, outcome.into_error()?)))
            .next();
        match culprit {
            Outcome::Failed(error) => WorldError::Failed { rank, error },
            Outcome::Panicked { message, site } => WorldError::Panicked {
                rank,
                message,
                site,
            },
            Outcome::Returned(_) | Outcome::Left => {
                // Those first that the rank in need may have been meant to get.
                let in_need = needed_by.as_ref().map(|(rank, _)| *rank);
                self.lost.sort_by_key(|lost| Some(lost.to) != in_need);
                WorldError::ReturnedEarly {
                    rank,
                    needed_by,
                    lost: self.lost,
                }
            }
        }
    }

    fn first_failure(self) -> WorldError<E> {
        let failed = self
            .outcomes
            .iter()
            .position(|outcome| !matches!(outcome, Outcome::Returned(_)));
        self.blame(failed.unwrap_or(0))
    }
}

/// How many of the last operations of each rank are printed.
const SHOWN: usize = 6;

impl<R, E: fmt::Display> fmt::Display for Report<R, E> {
    /// What came of each rank, and what was lost; of a run that failed, what the ranks did last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, outcome) in self.outcomes.iter().enumerate() {
            let gap = if rank == 0 { "" } else { "\n" };
            write!(f, "{gap}rank {rank} {outcome}")?;
        }
        if !self.lost.is_empty() {
            f.write_str("\n")?;
            show_left(f, &self.lost, LOST)?;
        }
        if !self.unfinished.is_empty() {
            f.write_str("\n")?;
            show_left(f, &self.unfinished, UNFINISHED)?;
        }
        if let Some(mismatch) = self.mismatch.as_ref().filter(|_| self.unnoticed) {
            write!(f, "\n{mismatch}")?;
        }
        if !self.is_whole() && self.is_recorded() {
            write!(f, "\n{}", self.recent_lines())?;
        }
        Ok(())
    }
}

impl<R, E: fmt::Display> fmt::Display for Outcome<R, E> {
    /// What the rank did, without what it returned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Returned(_) => f.write_str("returned"),
            Outcome::Failed(error) => write!(f, "failed: {error}"),
            Outcome::Panicked { message, site } => {
                f.write_str("panicked")?;
                site.as_ref()
                    .map_or(Ok(()), |site| write!(f, " at {site}"))?;
                write!(f, ": {message}")
            }
            Outcome::Left => f.write_str("left early"),
        }
    }
}

/// The mismatch that a packet of a collective proves which was left behind, in a lane or in a cell: its receiver was
/// in another call, or in none. In calls that go on without the dead such packets are in order.
fn unread(fabric: &Fabric, comms: &[Arc<CommShared>], left: &[(Rank, Packet)]) -> Option<Mismatch> {
    let stray = |(_, packet): &(Rank, Packet)| {
        let (context, number) = (packet.head.context(), packet.head.tag());
        let collective = context % 2 == 1;
        collective.then(|| fabric.stray_call(packet.source(), context - 1, number))?
    };
    let at_cells = || comms.iter().find_map(|comm| fabric.unread(comm));
    left.iter().find_map(stray).or_else(at_cells)
}

/// Whether a rank's end only follows from others.
fn followed(end: &crate::transport::deadlock::registry::End) -> bool {
    end.follows.is_some()
}

/// Why a run of a world failed: what the first culprit did.
#[non_exhaustive]
pub enum WorldError<E = Error> {
    /// A rank returned an error.
    Failed {
        /// The rank.
        rank: Rank,
        /// Its error.
        error: E,
    },
    /// A rank panicked.
    Panicked {
        /// The rank.
        rank: Rank,
        /// The panic's message.
        message: Arc<str>,
        /// Its line, if the panic hook saw it.
        site: Option<Arc<str>>,
    },
    /// A rank returned while others still needed it.
    ReturnedEarly {
        /// The rank.
        rank: Rank,
        /// A rank that failed for want of it, and its error.
        needed_by: Option<(Rank, E)>,
        /// Messages that were sent and never received: perhaps with another tag than was asked for. Those to the
        /// rank that needed it stand first.
        lost: Vec<Lost>,
    },
    /// Ranks waited for each other.
    Deadlock(Arc<Deadlock>),
    /// Ranks were in collective calls that do not match.
    Mismatch(Arc<Mismatch>),
    /// Messages were never received, in a [strict](crate::World::strict) world.
    Lost(Vec<Lost>),
    /// Requests were neither waited for nor cancelled, in a [strict](crate::World::strict) world.
    Unfinished(Vec<Unfinished>),
    /// The world was asked for something it cannot be.
    Usage(String),
    /// The thread of a rank could not be started.
    Spawn {
        /// The rank.
        rank: Rank,
        /// What the system said.
        error: io::Error,
    },
}

impl<E> WorldError<E> {
    /// The rank that is to blame, where there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::World;
    /// let error = World::new(4).run(|comm| match comm.rank() {
    ///     2 => Ok(()), // does not come to the barrier
    ///     _ => comm.barrier(),
    /// });
    /// assert_eq!(error.unwrap_err().culprit(), Some(2));
    /// ```
    pub fn culprit(&self) -> Option<Rank> {
        match self {
            WorldError::Failed { rank, .. }
            | WorldError::Panicked { rank, .. }
            | WorldError::ReturnedEarly { rank, .. }
            | WorldError::Spawn { rank, .. } => Some(*rank),
            WorldError::Mismatch(mismatch) => mismatch.odd.first().copied(),
            _ => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for WorldError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::Failed { rank, error } => write!(f, "rank {rank} failed: {error}"),
            WorldError::Panicked {
                rank,
                message,
                site,
            } => {
                write!(f, "rank {rank} panicked")?;
                site.as_ref()
                    .map_or(Ok(()), |site| write!(f, " at {site}"))?;
                write!(f, ": {message}")
            }
            WorldError::ReturnedEarly {
                rank,
                needed_by,
                lost,
            } => {
                write!(f, "rank {rank} returned while other ranks still needed it")?;
                if let Some((other, error)) = needed_by {
                    write!(f, "; rank {other} failed: {error}")?;
                }
                if lost.is_empty() {
                    return Ok(());
                }
                f.write_str("; ")?;
                show_left(f, lost, LOST)
            }
            WorldError::Deadlock(knot) => knot.fmt(f),
            WorldError::Mismatch(mismatch) => mismatch.fmt(f),
            WorldError::Lost(lost) => show_left(f, lost, LOST),
            WorldError::Unfinished(requests) => show_left(f, requests, UNFINISHED),
            WorldError::Usage(what) => f.write_str(what),
            WorldError::Spawn { rank, error } => {
                write!(f, "the thread of rank {rank} could not be started: {error}")
            }
        }
    }
}

/// What there is to say of one thing that was left behind, and of several.
const LOST: [&str; 2] = ["message was never received", "messages were never received"];
const UNFINISHED: [&str; 2] = [
    "request was neither waited for nor cancelled",
    "requests were neither waited for nor cancelled",
];

/// The first of what was left behind, and how much more there is.
fn show_left(
    f: &mut fmt::Formatter<'_>,
    left: &[impl fmt::Display],
    [one, several]: [&str; 2],
) -> fmt::Result {
    const SHOWN: usize = 3;
    let first: Vec<_> = left.iter().take(SHOWN).map(ToString::to_string).collect();
    match left.len() {
        1 => write!(f, "1 {one}: ")?,
        many => write!(f, "{many} {several}: ")?,
    }
    f.write_str(&first.join("; "))?;
    if left.len() > SHOWN {
        write!(f, "; and {} more", left.len() - SHOWN)
    } else {
        Ok(())
    }
}

impl<E: fmt::Display> fmt::Debug for WorldError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Printed by `unwrap` and by a `main` that returns it: the report serves better than the fields.
        fmt::Display::fmt(self, f)
    }
}

impl<E: fmt::Display> std::error::Error for WorldError<E> {}
