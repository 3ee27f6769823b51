//! An order of messages: its syntax, parsing and display.

use std::env;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::sync::Arc;

use crate::Rank;
use crate::error::Site;
use crate::transport::deadlock::choice::{BySeed, ChoicePoint, Chooser, Pick, Transition};

/// The messages that receives from any source take, as set by `RANKFOLD_SEED`.
///
/// # Examples
///
/// ```
/// use rankfold::testing::MessageOrder;
///
/// assert_eq!("17".parse(), Ok(MessageOrder::Seed(17)));
/// assert_eq!("order:0.2.1".parse(), Ok(MessageOrder::Choices(vec![0, 2, 1])));
/// assert_eq!(MessageOrder::Choices(vec![0, 2, 1]).to_string(), "order:0.2.1");
/// assert!("order:first".parse::<MessageOrder>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MessageOrder {
    /// Each choice is drawn from this seed.
    Seed(u64),
    /// The index of each choice among the possible ones, sorted by rank and source; the first where the list ends.
    Choices(Vec<usize>),
}

impl MessageOrder {
    /// The order that `RANKFOLD_SEED` sets.
    pub(super) fn asked() -> Option<MessageOrder> {
        let text = env::var("RANKFOLD_SEED").ok()?;
        Some(text.parse().unwrap_or_else(|error| panic!("{error}")))
    }

    /// A fresh random seed, short enough to type.
    pub(super) fn fresh() -> u64 {
        RandomState::new().hash_one("seed") % 1_000_000
    }

    pub(super) fn seed(&self) -> u64 {
        match self {
            MessageOrder::Seed(seed) => *seed,
            MessageOrder::Choices(_) => 0,
        }
    }

    pub(super) fn chooser(&self) -> Arc<dyn Chooser> {
        match self {
            MessageOrder::Seed(seed) => Arc::new(BySeed(*seed)),
            MessageOrder::Choices(places) => Arc::new(ByList(places.clone())),
        }
    }
}

impl fmt::Display for MessageOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageOrder::Seed(seed) => seed.fmt(f),
            // Nothing after the colon would look cut off, and 0 is the implied choice after the end of a list.
            MessageOrder::Choices(places) if places.is_empty() => f.write_str("order:0"),
            MessageOrder::Choices(places) => {
                let places: Vec<String> = places.iter().map(usize::to_string).collect();
                write!(f, "order:{}", places.join("."))
            }
        }
    }
}

impl FromStr for MessageOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<MessageOrder, String> {
        let numbers =
            |list: &str| -> Result<Vec<usize>, _> { list.split('.').map(str::parse).collect() };
        let order = match text.strip_prefix("order:") {
            Some("") => Ok(MessageOrder::Choices(Vec::new())),
            Some(list) => numbers(list).map(MessageOrder::Choices),
            None => text.parse().map(MessageOrder::Seed),
        };
        order.map_err(|_| {
            format!(
                "{text:?} is no order of messages: write a number, or order: and numbers with dots, as \
                 a failure prints it"
            )
        })
    }
}

/// Chooses by a list of indices.
#[derive(Debug)]
struct ByList(Vec<usize>);

impl Chooser for ByList {
    fn choose(&self, point: &ChoicePoint<'_>) -> usize {
        self.0.get(point.nth).copied().unwrap_or(0)
    }
}

/// What a [`ReceiveChoice`] is a choice of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChoiceKind {
    /// The message that a receive from any source takes.
    Message,
    /// Which of several requests ends first.
    Request,
    /// The rank that asks next for the lock of a window's part. Locks are granted in the order in which ranks ask.
    Lock,
}

/// A receive from any source, and the message that it took; or another choice of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiveChoice {
    /// The rank that received.
    pub rank: Rank,
    /// Its call, as printed.
    pub call: String,
    /// The line of the call.
    pub site: Site,
    /// The rank whose message it took, the index of the request that it completed, or the rank whose part of a window
    /// it asked to lock.
    pub took: Rank,
    /// What was chosen.
    pub kind: ChoiceKind,
    /// The ranks whose messages it could have taken then, or the requests that it could have completed; for a lock, the
    /// ranks that were about to ask for it. Sorted.
    pub of: Vec<Rank>,
}

impl ReceiveChoice {
    pub(super) fn of(point: &ChoicePoint<'_>, place: usize) -> ReceiveChoice {
        let transition = point.transitions[place];
        let (call, site) = (point.call)(transition.rank);
        let all = point.transitions.iter();
        let (kind, took) = taken(transition.pick);
        ReceiveChoice {
            rank: transition.rank,
            call,
            site,
            took,
            kind,
            of: all
                .filter_map(|other| instead(transition, *other))
                .collect(),
        }
    }

    /// What was taken and what else was there, in words that follow the call.
    pub fn outcome(&self) -> String {
        let (took, those) = match self.kind {
            ChoiceKind::Request => (
                format!("ended the request at place {}", self.took),
                "those at",
            ),
            ChoiceKind::Message => (
                format!("took the message of rank {}", self.took),
                "those of",
            ),
            ChoiceKind::Lock => (
                format!("was the next to ask for part {}", self.took),
                "ranks",
            ),
        };
        if self.of.len() < 2 {
            return took;
        }
        let of: Vec<String> = self.of.iter().map(Rank::to_string).collect();
        format!("{took} (there were {those} {})", of.join(", "))
    }
}

fn taken(pick: Pick) -> (ChoiceKind, Rank) {
    match pick {
        Pick::Message(queue) => (ChoiceKind::Message, queue.source),
        Pick::Request(place) => (ChoiceKind::Request, place),
        Pick::Lock(lock) => (ChoiceKind::Lock, lock.part),
    }
}

/// What another transition would have been instead of the chosen one, if it is one of the same choice.
fn instead(chosen: Transition, other: Transition) -> Option<Rank> {
    match (chosen.pick, other.pick) {
        (Pick::Lock(mine), Pick::Lock(theirs)) => mine.is_for_same(theirs).then_some(other.rank),
        _ => (chosen.rank == other.rank).then(|| taken(other.pick).1),
    }
}

impl fmt::Display for ReceiveChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReceiveChoice {
            rank, call, site, ..
        } = self;
        write!(f, "rank {rank}  {call}  {site}  {}", self.outcome())
    }
}
