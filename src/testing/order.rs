//! An order of messages: how it is written, read and explained.

use std::env;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::sync::Arc;

use crate::Rank;
use crate::error::Site;
use crate::transport::deadlock::scheduler::{BySeed, Chooser, Crossing};

/// Which messages receives from any source take: what `RANKFOLD_SEED` says.
///
/// # Examples
///
/// ```
/// use rankfold::testing::Order;
///
/// assert_eq!("17".parse(), Ok(Order::Seed(17)));
/// assert_eq!("order:0.2.1".parse(), Ok(Order::Choices(vec![0, 2, 1])));
/// assert_eq!(Order::Choices(vec![0, 2, 1]).to_string(), "order:0.2.1");
/// assert!("order:first".parse::<Order>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Each is drawn from this seed.
    Seed(u64),
    /// The places of those taken among the ways on, sorted by rank and source; the first where the list
    /// ends.
    Choices(Vec<usize>),
}

impl Order {
    /// What `RANKFOLD_SEED` asks for.
    pub(super) fn asked() -> Option<Order> {
        let text = env::var("RANKFOLD_SEED").ok()?;
        Some(text.parse().unwrap_or_else(|error| panic!("{error}")))
    }

    /// A seed that this process has drawn, short enough to type.
    pub(super) fn fresh() -> u64 {
        RandomState::new().hash_one("seed") % 1_000_000
    }

    pub(super) fn seed(&self) -> u64 {
        match self {
            Order::Seed(seed) => *seed,
            Order::Choices(_) => 0,
        }
    }

    pub(super) fn chooser(&self) -> Arc<dyn Chooser> {
        match self {
            Order::Seed(seed) => Arc::new(BySeed(*seed)),
            Order::Choices(places) => Arc::new(ByList(places.clone())),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Seed(seed) => seed.fmt(f),
            // Nothing behind the colon would look cut off, and the first is what is taken where a list ends.
            Order::Choices(places) if places.is_empty() => f.write_str("order:0"),
            Order::Choices(places) => {
                let places: Vec<String> = places.iter().map(usize::to_string).collect();
                write!(f, "order:{}", places.join("."))
            }
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        let numbers =
            |list: &str| -> Result<Vec<usize>, _> { list.split('.').map(str::parse).collect() };
        let order = match text.strip_prefix("order:") {
            Some("") => Ok(Order::Choices(Vec::new())),
            Some(list) => numbers(list).map(Order::Choices),
            None => text.parse().map(Order::Seed),
        };
        order.map_err(|_| {
            format!(
                "{text:?} is no order of messages: write a number, or order: and numbers with dots, as \
                 a failure prints it"
            )
        })
    }
}

/// Chooses by a list of places.
#[derive(Debug)]
struct ByList(Vec<usize>);

impl Chooser for ByList {
    fn choose(&self, crossing: &Crossing<'_>) -> usize {
        self.0.get(crossing.nth).copied().unwrap_or(0)
    }
}

/// A receive from any source, and whose message it took.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The rank that received.
    pub rank: Rank,
    /// Its call, as it prints.
    pub call: String,
    /// The line of the call.
    pub site: Site,
    /// Whose message it took; or the place of the request that it ended.
    pub took: Rank,
    /// It ended one of several requests.
    pub request: bool,
    /// Whose messages it could have taken then; sorted.
    pub of: Vec<Rank>,
}

impl Choice {
    pub(super) fn of(crossing: &Crossing<'_>, place: usize) -> Choice {
        let way = crossing.ways[place];
        let (call, site) = (crossing.call)(way.rank);
        let mine = crossing.ways.iter().filter(|other| other.rank == way.rank);
        Choice {
            rank: way.rank,
            call,
            site,
            took: way.line.source,
            request: way.line.is_request(),
            of: mine.map(|way| way.line.source).collect(),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choice {
            rank,
            call,
            site,
            took,
            request,
            of,
        } = self;
        let (one, those) = match request {
            true => ("ended the request at place", "those at"),
            false => ("took the message of rank", "those of"),
        };
        write!(f, "rank {rank}  {call}  {site}  {one} {took}")?;
        if of.len() > 1 {
            let of: Vec<String> = of.iter().map(Rank::to_string).collect();
            write!(f, " (there were {those} {})", of.join(", "))?;
        }
        Ok(())
    }
}
