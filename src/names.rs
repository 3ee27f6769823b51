//! The names of the collectives and of the transports, and the search for the most similar name.

use std::fmt;
use std::str::FromStr;

/// An operation that all ranks of a communicator perform together.
///
/// The names `one-to-all-broadcast`, `all-to-one-reduction`, `all-to-all-broadcast` (all_gather) and
/// `all-to-all-reduction` (all_reduce) are read as well.
///
/// # Examples
///
/// ```
/// use rankfold::collective::Collective;
///
/// assert_eq!(Collective::AllReduce.to_string(), "all_reduce");
/// assert_eq!("reduce_scatter".parse(), Ok(Collective::ReduceScatter));
/// let refused = "allreduce".parse::<Collective>().unwrap_err();
/// assert!(refused.to_string().starts_with("no collective is called `allreduce`; did you mean `all_reduce`?"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// No rank leaves before all have arrived.
    Barrier,
    /// Every rank receives the root's vector.
    #[doc(alias = "one-to-all-broadcast")]
    Broadcast,
    /// The root receives the fold of all vectors.
    #[doc(alias = "all-to-one-reduction")]
    Reduce,
    /// Every rank receives the fold of all vectors.
    #[doc(alias = "all-to-all-reduction")]
    AllReduce,
    /// Rank `r` receives block `r` of the fold of all vectors.
    ReduceScatter,
    /// Every rank receives the blocks of all ranks.
    #[doc(alias = "all-to-all-broadcast")]
    AllGather,
    /// The root receives the blocks of all ranks.
    Gather,
    /// Rank `r` receives block `r` of the root's vector.
    Scatter,
    /// Rank `r` receives block `r` of every rank's vector.
    AllToAll,
    /// Rank `r` receives the fold of the vectors of ranks `0..=r`.
    Scan,
    /// Rank `r` receives the fold of the vectors of ranks `0..r`; rank 0 receives nothing.
    ExclusiveScan,
}

use Collective::*;

/// All collectives with their names.
const NAMES: [(Collective, &str); 11] = [
    (Barrier, "barrier"),
    (Broadcast, "broadcast"),
    (Reduce, "reduce"),
    (AllReduce, "all_reduce"),
    (ReduceScatter, "reduce_scatter"),
    (AllGather, "all_gather"),
    (Gather, "gather"),
    (Scatter, "scatter"),
    (AllToAll, "all_to_all"),
    (Scan, "scan"),
    (ExclusiveScan, "exclusive_scan"),
];

/// Names of the literature. The printed code of the all-to-all reduction is an all-reduce, although Kumar's text calls
/// the reduce-scatter so.
const ALIASES: [(&str, Collective); 4] = [
    ("one-to-all-broadcast", Broadcast),
    ("all-to-one-reduction", Reduce),
    ("all-to-all-reduction", AllReduce),
    ("all-to-all-broadcast", AllGather),
];

impl Collective {
    /// Whether a rank gets the fold of the vectors of the ranks before it.
    pub(crate) fn is_scan(self) -> bool {
        matches!(self, Collective::Scan | Collective::ExclusiveScan)
    }

    /// All collectives.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::Collective;
    ///
    /// assert_eq!(Collective::all().count(), 11);
    /// ```
    pub fn all() -> impl Iterator<Item = Collective> {
        NAMES.into_iter().map(|(collective, _)| collective)
    }

    /// The name of the collective.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Whether one rank is the root.
    pub fn has_root(self) -> bool {
        matches!(self, Broadcast | Reduce | Gather | Scatter)
    }

    /// Whether the collective folds with an operator.
    pub fn folds(self) -> bool {
        matches!(
            self,
            Reduce | AllReduce | ReduceScatter | Scan | ExclusiveScan
        )
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(name: &str) -> Result<Collective, UnknownCollective> {
        let own = NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(one, _)| *one);
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        own.or(alias.map(|(_, one)| *one))
            .ok_or_else(|| UnknownCollective { name: name.into() })
    }
}

/// A name that no collective has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCollective {
    name: String,
}

impl fmt::Display for UnknownCollective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.map(|(_, name)| name);
        let aliases = ALIASES.map(|(alias, _)| alias);
        no_such(f, "collective", &self.name, &known, &aliases)
    }
}

impl std::error::Error for UnknownCollective {}

/// What carries the messages of a world; see [`World::transport`](crate::World::transport).
///
/// # Examples
///
/// ```
/// use rankfold::Transport;
///
/// assert_eq!("channels".parse(), Ok(Transport::Channels));
/// assert_eq!(Transport::default().to_string(), "memory");
/// let refused = "channel".parse::<Transport>().unwrap_err();
/// assert!(refused.to_string().starts_with("no transport is called `channel`; did you mean `channels`?"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// What is fastest: collectives over shared memory, short messages through SPSC rings, long ones read in the
    /// sender's buffer, and the rest over channels.
    #[default]
    Memory,
    /// Crossbeam channels alone: every message is copied into a packet and sent through a channel.
    Channels,
}

const TRANSPORTS: [(Transport, &str); 2] = [
    (Transport::Memory, "memory"),
    (Transport::Channels, "channels"),
];

impl Transport {
    /// Both transports, the default first.
    pub fn all() -> impl Iterator<Item = Transport> {
        TRANSPORTS.into_iter().map(|(transport, _)| transport)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        TRANSPORTS[self as usize].1
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Transport {
    type Err = UnknownTransport;

    fn from_str(name: &str) -> Result<Transport, UnknownTransport> {
        let found = Transport::all().find(|known| known.name() == name);
        found.ok_or_else(|| UnknownTransport { name: name.into() })
    }
}

/// A name that no transport has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTransport {
    name: String,
}

impl fmt::Display for UnknownTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = TRANSPORTS.map(|(_, name)| name);
        no_such(f, "transport", &self.name, &known, &[])
    }
}

impl std::error::Error for UnknownTransport {}

/// Reports that no `kind` has this name, with the nearest known name or alias and all known names.
pub(crate) fn no_such(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    name: &str,
    known: &[&str],
    aliases: &[&str],
) -> fmt::Result {
    write!(f, "no {kind} is called `{}`", name.escape_debug())?;
    let all = [known, aliases].concat();
    if let Some(nearest) = nearest(stem(name), &all, stem) {
        write!(f, "; did you mean `{nearest}`?")?;
    }
    write!(f, " (known: {})", known.join(", "))
}

/// A name up to its colon, if it has one.
fn stem(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

/// The known name whose stem is most similar to `name`, if any is similar enough.
pub(crate) fn nearest<'a>(
    name: &str,
    known: &[&'a str],
    stem: impl Fn(&'a str) -> &'a str,
) -> Option<&'a str> {
    let distance = |known: &&'a str| edits(name, stem(known));
    let found = known.iter().copied().min_by_key(distance)?;
    (distance(&found) <= name.len() / 2).then_some(found)
}

/// The number of letters to insert, delete or replace to turn `a` into `b`.
///
/// # Source
///
/// The dynamic programme of Wagner and Fischer, *The String-to-String Correction Problem*, J. ACM 21(1), 1974, reduced
/// to one row.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let kept = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = kept.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[row.len() - 1]
}
