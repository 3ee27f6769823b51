//! What each rank of a world is doing, as reports print it: waits, last operations, and which ranks are awake.

use std::iter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Rank;
use crate::error::{Gone, on};
use crate::transport::Fabric;
use crate::transport::deadlock::wait_for_graph::Needs;
use crate::transport::trace::operation::{Operation, Progress, lines};
use crate::transport::trace::origin::Names;

use crate::transport::deadlock::registry::{RankEntry, Registry, Wait};

impl Fabric {
    /// Where every rank is, and what it did last: for the watchdog, where `own` is the wait that took too long, and for
    /// requests from outside.
    pub(crate) fn picture(&self, own: Option<(Rank, &Wait)>) -> String {
        let registry = self.open_registry();
        let now = Duration::from_nanos(self.clock().exact());
        let names = self.names();
        let lines = (0..self.endpoints.len()).flat_map(|rank| {
            let recent = self.recent(rank, &names);
            let line = self.whereabouts(&registry, rank, own, recent.last());
            let line = format!("  rank {rank}  {line}");
            iter::once(line).chain(lines_before(&recent, now))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(in crate::transport) fn whereabouts(
        &self,
        registry: &Registry,
        rank: Rank,
        own: Option<(Rank, &Wait)>,
        last: Option<&Operation>,
    ) -> String {
        match (&registry.entries[rank], own) {
            (_, Some((me, mine))) if rank == me => waiting(mine),
            (RankEntry { end: Some(end), .. }, _) => ended(&end.why),
            _ if self.is_far(rank) => "in another process".into(),
            (
                RankEntry {
                    wait: Some(wait), ..
                },
                _,
            ) => waiting(wait),
            (
                RankEntry {
                    bound: Some((needs, since)),
                    ..
                },
                _,
            ) => bound(needs, *since),
            (_, Some((_, mine))) => self.awake(rank, mine, last),
            (_, None) => "running".into(),
        }
    }

    /// The last operations of a rank, if they are recorded.
    pub(in crate::transport) fn recent(&self, rank: Rank, names: &Names) -> Vec<Operation> {
        let endpoint = &self.endpoints[rank];
        let record = endpoint.record.get().filter(|_| endpoint.is_in(self.run()));
        let recent = record.map(|record| record.recent(rank, names));
        recent.unwrap_or_default()
    }

    /// Describes a rank that is not asleep in one of our calls; `last` is the last operation that it recorded.
    pub(in crate::transport) fn awake(
        &self,
        rank: Rank,
        mine: &Wait,
        last: Option<&Operation>,
    ) -> String {
        let before = mine.begun.get(rank);
        if before != Some(&self.endpoints[rank].begun_in(self.run())) {
            return "running".into();
        }
        let quiet = round(mine.since.elapsed());
        match last {
            // It runs a user's operator, or its spinning has just ended.
            Some(last) if last.progress == Progress::Inside => {
                format!(
                    "inside {}, awake: it has begun nothing else for {quiet:.1?}",
                    last.place()
                )
            }
            _ if self.settings.record => format!("outside rankfold for at least {quiet:.1?}"),
            _ => format!("awake, and has begun no operation for at least {quiet:.1?}"),
        }
    }
}

/// How a rank ended: only the beginning of its error, since that may hold a picture itself. If each picture held those
/// of all ranks that ended before, their length would double from one to the next.
fn ended(why: &Gone) -> String {
    match why {
        Gone::Returned => why.to_string(),
        Gone::Failed(error) => Gone::Failed(beginning(error)).to_string(),
        Gone::Panicked(message) => Gone::Panicked(beginning(message)).to_string(),
    }
}

/// The first line of a text, or as much of it as fits into one.
fn beginning(text: &Arc<str>) -> Arc<str> {
    const MOST: usize = 160;
    let line = text.lines().next().unwrap_or_default();
    let kept: String = line.chars().take(MOST).collect();
    match kept.len() == text.trim_end().len() {
        true => kept.into(),
        false => format!("{kept} ...").into(),
    }
}

/// A few of the last operations of a rank, a line each.
pub(in crate::transport) fn lines_before(recent: &[Operation], now: Duration) -> Vec<String> {
    const SHOWN: usize = 3;
    lines(recent, SHOWN, now, |time| format!("{time} ago"))
}

pub(in crate::transport) fn bound(needs: &Needs, since: Instant) -> String {
    let of = match needs {
        Needs::One(rank) => format!("rank {rank} no longer uses"),
        Needs::All(ranks) => format!("ranks {ranks:?} no longer use"),
        _ => "others no longer use".into(),
    };
    let waited = round(since.elapsed());
    format!("through with its part of a call, waits until {of} its memory, for {waited:.1?}")
}

pub(in crate::transport) fn waiting(wait: &Wait) -> String {
    let on = on(wait.comm_name().as_deref());
    let time = round(wait.since.elapsed());
    format!("{} at {}{on}, for {time:.1?}", wait.call, wait.site)
}

pub(in crate::transport) fn round(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}
