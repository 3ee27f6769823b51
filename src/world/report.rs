//! The outcome of a run: rank by rank in [`Report`], in one sentence in [`WorldError`].

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
use crate::transport::trace::operation::{self, Operation};
use crate::transport::trace::origin::Names;
use crate::transport::trace::record::Record;
use crate::transport::{CommShared, Fabric, Unfinished};
use crate::unwind;

/// The outcome of one rank.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome<R, E = Error> {
    /// It returned this value.
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
    /// Returns the value that the rank returned, if it did.
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

    /// Returns the error that the rank returned, if it did.
    pub fn error(&self) -> Option<&E> {
        match self {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }
}

/// The outcome of a run of a world.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<R, E = Error> {
    /// The outcome of each rank, in rank order.
    pub outcomes: Vec<Outcome<R, E>>,
    /// The rank to blame for the failures, if there is one: the first that failed by itself, or that left while other
    /// ranks needed it.
    pub culprit: Option<Rank>,
    /// The deadlocks, in the order in which they were found.
    pub deadlocks: Vec<Arc<Deadlock>>,
    /// The mismatch that broke a communicator, or that the ranks' records prove although no rank noticed it, if there
    /// is one.
    pub mismatch: Option<Arc<Mismatch>>,
    /// Messages that were sent and never received.
    pub lost: Vec<Lost>,
    /// Requests that were neither waited for nor cancelled, of ranks that returned.
    pub unfinished: Vec<Unfinished>,
    /// Where the ranks ran.
    pub placement: Placement,
    /// The activity of each rank.
    pub counts: Vec<Counts>,
    /// The seed that chose messages, in a [seeded](crate::World::seed) world.
    pub seed: Option<u64>,
    /// The time from the start of the first thread to the end of the last.
    pub wall: Duration,
    /// Whether no rank noticed the mismatch.
    unnoticed: bool,
    /// The cause of the first failure, if all failures only follow from others.
    followed: Option<Cause>,
    /// The names of communicators.
    names: Names,
    strict: bool,
    /// The ranks' records, and (`end`) when the ranks had ended, since the world began.
    records: Vec<Option<Arc<Record>>>,
    end: Duration,
}

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
    /// How long it waited in total. Waits so short that it kept spinning are not counted.
    pub waiting: Duration,
}

/// A message that was sent and never received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// Its tag.
    pub tag: u32,
    /// Its contents, such as `3 x f64`.
    pub contents: String,
    /// The communicator, such as `dup of world at src/main.rs:7:20`; `None` for the world.
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
    /// A left-over packet, if it is a point-to-point message.
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

    /// Reads what the ranks left behind in the fabric.
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
        // Each rank's own requests stay in their order.
        self.unfinished.sort_by_key(|one| one.rank);
        let registry = fabric.open_registry();
        self.deadlocks = registry.deadlocks.clone();
        drop(registry);
        self.blame_first(fabric);
        self.mismatch = noticed;
        if self.mismatch.is_none() {
            let differing = || comms.iter().find_map(|comm| fabric.compare_all(comm));
            // A rank that returned early may only have made another call than the ranks that needed it.
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

    /// Finds the culprit, by how the ranks ended.
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
        // All of them only follow from other failures: blame the cause of the first.
        let cause = first(true).and_then(|(_, end)| end.follows.clone());
        self.culprit = cause.as_ref().and_then(Cause::culprit);
        self.followed = cause;
    }

    /// Whether the only fault is that a rank returned.
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

    /// Returns the last 64 operations of each rank, oldest first; none if the world does not
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

    /// Returns the full trace of the run, if the world [traced](crate::World::trace) it.
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
            let lines = operation::lines(operations, SHOWN, self.end, |time| format!("-{time}"));
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

    /// Returns the results in rank order if every rank returned one, and otherwise the error of the first culprit.
    ///
    /// Lost messages and unfinished requests print one line each, or are an error in a [strict](crate::World::strict)
    /// world. If the environment variable `RANKFOLD_RECENT` is set, a failed run prints the last operations of each
    /// rank on standard error. A failed run with a seed prints the seed.
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

    /// The same without printing anything.
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

    /// A deadlock, with the lost messages, some of which its ranks may have been meant to receive.
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
                // The messages first that the rank in need may have been meant to receive.
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

/// The number of last operations of each rank that are printed.
const SHOWN: usize = 6;

impl<R, E: fmt::Display> fmt::Display for Report<R, E> {
    /// Writes the outcome of each rank, and what was lost; for a failed run also the last operations of each rank.
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
    /// Writes what the rank did, without its return value.
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

/// The mismatch proved by a packet of a collective that was left behind, in a lane or in a cell: its receiver was in
/// another call, or in none. In calls that tolerate ranks that have ended such packets are normal.
fn unread(fabric: &Fabric, comms: &[Arc<CommShared>], left: &[(Rank, Packet)]) -> Option<Mismatch> {
    let stray = |(_, packet): &(Rank, Packet)| {
        let (context, number) = (packet.head.context(), packet.head.tag());
        let collective = context % 2 == 1;
        collective.then(|| fabric.stray_call(packet.source(), context - 1, number))?
    };
    let at_cells = || comms.iter().find_map(|comm| fabric.unread(comm));
    left.iter().find_map(stray).or_else(at_cells)
}

/// Whether a rank's end only follows from other failures.
fn followed(end: &crate::transport::deadlock::registry::RankEnd) -> bool {
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
        /// A rank that failed because it needed this one, and its error.
        needed_by: Option<(Rank, E)>,
        /// Messages that were sent and never received, perhaps because their tag differs from the requested one.
        /// Messages to the rank that needed this one come first.
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
    /// The world's settings are invalid.
    Usage(String),
    /// The thread of a rank could not be started.
    Spawn {
        /// The rank.
        rank: Rank,
        /// The system's error.
        error: io::Error,
    },
}

impl<E> WorldError<E> {
    /// Returns the rank to blame, if there is one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::World;
    /// let error = World::new(4).run(|comm| match comm.rank() {
    ///     2 => Ok(()), // does not enter the barrier
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

/// The message for one item that was left behind, and for several.
const LOST: [&str; 2] = ["message was never received", "messages were never received"];
const UNFINISHED: [&str; 2] = [
    "request was neither waited for nor cancelled",
    "requests were neither waited for nor cancelled",
];

/// Writes the first few items that were left behind, and how many more there are.
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
        // `unwrap` prints this, as does a `main` that returns the error: the report serves better than the fields.
        fmt::Display::fmt(self, f)
    }
}

impl<E: fmt::Display> std::error::Error for WorldError<E> {}
