//! The placement of ranks on CPUs: a pure function of the number of ranks, the binding and the machine.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::ranges::{Ranges, parse};
use super::spread::{self, Slowness};
use super::tree::{Machine, ObjectKind};
use super::{Cpus, PinError};
use crate::Rank;

/// The binding of ranks to CPUs.
///
/// Pinning keeps a rank's cache warm and its memory near. It hurts where CPUs are shared: pinned threads cannot make
/// way for each other, for another pinned program, or for threads that a quota stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bind {
    /// As [`Bind::Core`] if that is safe: nothing else in this process is pinned, there is a CPU for every rank, and
    /// the quota covers all CPUs of the mask. Otherwise no rank is pinned.
    #[default]
    Auto,
    /// No rank is pinned; the system moves ranks freely.
    None,
    /// Neighbours next to each other: rank `i` on the `i`-th CPU of the mask in the order of the machine's tree, so
    /// that SMT threads, cores and caches fill up one after another. If there are several kinds of cores, slower ones
    /// are used only if there are more ranks than fast CPUs. With more ranks than CPUs no rank is pinned; this also
    /// holds for the variants below, except for the list.
    Compact,
    /// As far apart as possible: packages, NUMA nodes, caches and cores take ranks in turn.
    Scatter,
    /// An even share of neighbouring ranks on each NUMA node, and within it one rank per core while there are cores.
    Numa,
    /// An even share of neighbouring ranks on each L3 cache, and within it one rank per core while there are cores.
    L3,
    /// One rank per core, neighbours next to each other; a core gets a second rank only if there are more ranks than
    /// cores. With fewer ranks than cores of several kinds, the fast cores are used; the same applies within the shares
    /// of [`Numa`](Self::Numa) and [`L3`](Self::L3).
    Core,
    /// Rank `i` on CPU `list[i % list.len()]`: if there are more ranks than entries, ranks share CPUs.
    ///
    /// Ranks of worlds on other CPUs count too where ranks decide whether to spin: two such worlds that run at once yield
    /// if all their ranks together are more than the CPUs of one.
    Cpus(Vec<usize>),
}

/// All names, as errors list them.
const NAMES: [(&str, Bind); 7] = [
    ("auto", Bind::Auto),
    ("none", Bind::None),
    ("compact", Bind::Compact),
    ("scatter", Bind::Scatter),
    ("numa", Bind::Numa),
    ("l3", Bind::L3),
    ("core", Bind::Core),
];

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Bind::Cpus(list) = self {
            let words: Vec<String> = list.iter().map(usize::to_string).collect();
            return f.write_str(&words.join(","));
        }
        let named = NAMES.iter().find(|(_, bind)| bind == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

/// Parses a name, or a list of CPUs such as `0-3,8`.
///
/// # Examples
///
/// ```
/// use rankfold::machine::Bind;
///
/// assert_eq!("scatter".parse(), Ok(Bind::Scatter));
/// assert_eq!("4,0-2".parse(), Ok(Bind::Cpus(vec![4, 0, 1, 2])));
/// ```
impl FromStr for Bind {
    type Err = BindError;

    fn from_str(name: &str) -> Result<Bind, BindError> {
        if let Some((_, bind)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(bind.clone());
        }
        let list = parse(name, 1 << 16).filter(|list| !list.is_empty());
        list.map(Bind::Cpus)
            .ok_or_else(|| BindError::UnknownName { name: name.into() })
    }
}

/// Decides the placement of ranks if only the CPUs are known, each taken as a core of its own; see [`Machine::place`]
/// for a machine with a tree. This function pins nothing: see [`pin`](super::pin).
///
/// `alone` states that no ranks of other worlds live in this process; it matters only to [`Bind::Auto`].
///
/// A binding that the machine cannot fulfil is not an error: no rank is pinned, and [`Placement::why_unpinned`] gives
/// the reason.
///
/// # Errors
///
/// [`BindError::NoCpus`] for an empty list, and [`BindError::OutsideMask`] for a list with a CPU that the process may
/// not use.
///
/// # Examples
///
/// ```
/// use rankfold::machine::{Bind, Cpus, place};
///
/// let cpus = Cpus { mask: vec![0, 1, 8, 9], quota: None };
/// let placement = place(3, &Bind::Auto, &cpus, true)?;
/// assert_eq!(placement.cpu, [Some(0), Some(1), Some(8)]);
///
/// let crowded = place(64, &Bind::Auto, &cpus, true)?;
/// assert_eq!(crowded.to_string(), "ranks 0-63  unpinned: 64 ranks on 4 CPUs");
/// # Ok::<(), rankfold::machine::BindError>(())
/// ```
pub fn place(ranks: usize, bind: &Bind, cpus: &Cpus, alone: bool) -> Result<Placement, BindError> {
    Machine::flat(cpus.clone()).place(ranks, bind, alone)
}

impl Machine {
    /// Decides the placement of ranks on this machine, as a pure function of its arguments.
    ///
    /// `alone` states that no ranks of other worlds live in this process; it matters only to [`Bind::Auto`]. A binding
    /// that the machine cannot fulfil is not an error: no rank is pinned, and [`Placement::why_unpinned`] gives the
    /// reason.
    ///
    /// # Errors
    ///
    /// As [`place`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::{Bind, Machine};
    ///
    /// // The second SMT threads of the cores have the higher numbers, as is common.
    /// let machine = Machine::from_text("package:2 core:2 cpu:2 numbers=0,4,1,5,2,6,3,7")?;
    /// let cpus = |bind| machine.place(4, &bind, true).map(|placement| placement.to_string());
    /// assert_eq!(cpus(Bind::Compact)?, "rank 0  cpu 0\nrank 1  cpu 4\nrank 2  cpu 1\nrank 3  cpu 5");
    /// assert_eq!(cpus(Bind::Scatter)?, "rank 0  cpu 0\nrank 1  cpu 2\nrank 2  cpu 1\nrank 3  cpu 3");
    /// assert_eq!(cpus(Bind::Core)?, "rank 0  cpu 0\nrank 1  cpu 1\nrank 2  cpu 2\nrank 3  cpu 3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn place(&self, ranks: usize, bind: &Bind, alone: bool) -> Result<Placement, BindError> {
        let asked = match bind {
            Bind::None => Err(Unpinned::NotAsked),
            Bind::Cpus(list) => listed(list, &self.usable)?,
            Bind::Auto => self.automatic(ranks, alone),
            wish => self.by_tree(ranks, wish),
        };
        Ok(match asked {
            Ok(list) => Placement::pinned(ranks, &list),
            Err(why) => Placement::unpinned(ranks, why),
        })
    }

    fn automatic(&self, ranks: usize, alone: bool) -> Asked {
        if !alone {
            return Err(Unpinned::NotAlone);
        }
        let list = self.by_tree(ranks, &Bind::Core)?;
        let cpus = self.usable.mask.len();
        match self.usable.quota {
            Some(quota) if quota < cpus as f64 => Err(Unpinned::Quota { quota, cpus }),
            _ => Ok(list),
        }
    }

    fn by_tree(&self, ranks: usize, wish: &Bind) -> Asked {
        let Some(tree) = self.usable_tree() else {
            return Err(Unpinned::MaskUnknown);
        };
        let cpus = tree.cpus.len();
        if ranks > cpus {
            return Err(Unpinned::Crowded { ranks, cpus });
        }
        let slow = &Slowness::of(self);
        Ok(match wish {
            Bind::Scatter => spread::scatter(&tree),
            Bind::Numa => spread::shares(&tree, ObjectKind::Node, ranks, slow),
            Bind::L3 => spread::shares(&tree, ObjectKind::L3, ranks, slow),
            Bind::Compact => spread::compact(&tree, ranks, slow),
            _ => spread::shares(&tree, ObjectKind::Machine, ranks, slow),
        })
    }
}

/// The CPUs to hand out in turn, or the reason why none are.
type Asked = Result<Vec<usize>, Unpinned>;

fn listed(list: &[usize], cpus: &Cpus) -> Result<Asked, BindError> {
    if list.is_empty() {
        return Err(BindError::NoCpus);
    }
    if cpus.mask.is_empty() {
        return Ok(Err(Unpinned::MaskUnknown));
    }
    match list.iter().find(|cpu| !cpus.mask.contains(cpu)) {
        Some(&cpu) => Err(BindError::outside(cpu, cpus)),
        None => Ok(Ok(list.to_vec())),
    }
}

/// The CPU of each rank, as decided by [`place`].
///
/// It prints as a table of ranks and CPUs, without a trailing newline. Unpinned ranks share a line, and so do
/// neighbours on evenly spaced CPUs if there are more than 16 ranks. After 16 lines the remaining ranks are only
/// counted.
///
/// # Examples
///
/// ```
/// use rankfold::machine::{Bind, Cpus, place};
///
/// let cpus = Cpus { mask: vec![0, 3], quota: None };
/// let placement = place(2, &Bind::Compact, &cpus, true)?;
/// assert_eq!(placement.to_string(), "rank 0  cpu 0\nrank 1  cpu 3");
/// # Ok::<(), rankfold::machine::BindError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Placement {
    /// The CPU of each rank, in rank order; `None` for a rank that is not pinned.
    pub cpu: Vec<Option<usize>>,
    /// The reason why no rank is pinned; `None` if all are.
    pub why_unpinned: Option<Unpinned>,
    /// The ranks that were to be pinned but, as a world found when it checked, are unpinned or on another CPU; with the
    /// reasons.
    pub refused: Vec<(Rank, PinError)>,
    /// The rank, if any, that ran on the thread that called the run, as rank 0 of a [team](crate::Team) does. The library
    /// does not pin this thread; it may have been [pinned](crate::Team::pin_caller) before.
    pub caller: Option<Rank>,
}

impl Placement {
    fn pinned(ranks: usize, list: &[usize]) -> Placement {
        Placement {
            cpu: list.iter().copied().map(Some).cycle().take(ranks).collect(),
            why_unpinned: None,
            refused: Vec::new(),
            caller: None,
        }
    }

    pub(crate) fn unpinned(ranks: usize, why: Unpinned) -> Placement {
        Placement {
            cpu: vec![None; ranks],
            why_unpinned: Some(why),
            refused: Vec::new(),
            caller: None,
        }
    }

    /// Records that a rank could not be pinned.
    pub(crate) fn refuse(&mut self, rank: Rank, why: PinError) {
        self.cpu[rank] = None;
        self.refused.push((rank, why));
    }

    /// The reason why this rank in particular was not pinned.
    fn refusal(&self, rank: Rank) -> Option<&PinError> {
        let of_rank = |(refused, _): &&(Rank, PinError)| *refused == rank;
        self.refused.iter().find(of_rank).map(|(_, why)| why)
    }

    /// The number of CPUs that the pinned ranks are on; `None` if no rank is pinned.
    ///
    /// If it is less than the number of ranks, ranks share a CPU, and none of them should spin.
    pub fn distinct_cpus(&self) -> Option<usize> {
        let cpus: HashSet<usize> = self.cpu.iter().flatten().copied().collect();
        (!cpus.is_empty()).then_some(cpus.len())
    }

    /// Splits the ranks into runs that share a line.
    fn runs(&self) -> impl Iterator<Item = EvenRanks<'_>> {
        let join = self.cpu.len() > MANY;
        let mut first = 0;
        std::iter::from_fn(move || {
            let rest = self.cpu.get(first..).filter(|rest| !rest.is_empty())?;
            let special = |rank| self.caller == Some(rank) || self.refusal(rank).is_some();
            let alone = special(first);
            let until = (first..self.cpu.len()).find(|&rank| rank > first && special(rank));
            let rest = &rest[..until.map_or(rest.len(), |until| until - first)];
            let run = EvenRanks {
                first,
                cpu: &rest[..if alone { 1 } else { run_len(rest, join) }],
            };
            first += run.cpu.len();
            Some(run)
        })
    }

    /// The table's text for a run.
    fn says(&self, run: &EvenRanks<'_>) -> String {
        match (run.cpu[0], &self.why_unpinned) {
            (Some(cpu), _) if self.caller == Some(run.first) => {
                format!("cpu {cpu}, the caller's thread")
            }
            _ if self.caller == Some(run.first) => "the caller's thread".to_owned(),
            (Some(cpu), _) => run.cpus(cpu),
            (None, Some(why)) => format!("unpinned: {why}"),
            (None, None) => match self.refusal(run.first) {
                Some(why) => format!("unpinned: {why}"),
                None => "unpinned".to_owned(),
            },
        }
    }
}

/// The number of ranks above which they share lines, and the number of lines above which the rest is only counted.
const MANY: usize = 16;

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<EvenRanks<'_>> = self.runs().take(MANY).collect();
        let width = shown.iter().map(|run| run.ranks().len()).max().unwrap_or(0);
        for (i, run) in shown.iter().enumerate() {
            let newline = if i == 0 { "" } else { "\n" };
            write!(f, "{newline}{:<width$}  {}", run.ranks(), self.says(run))?;
        }
        match self.cpu.len() - shown.iter().map(|run| run.cpu.len()).sum::<usize>() {
            0 => Ok(()),
            more => write!(f, "\n... {more} more"),
        }
    }
}

/// Consecutive ranks that share a line: all unpinned, or on ascending, evenly spaced CPUs.
struct EvenRanks<'a> {
    first: Rank,
    /// Not empty.
    cpu: &'a [Option<usize>],
}

impl EvenRanks<'_> {
    fn ranks(&self) -> String {
        match self.cpu.len() {
            1 => format!("rank {}", self.first),
            n => format!("ranks {}-{}", self.first, self.first + n - 1),
        }
    }

    /// `cpu` is that of the first rank.
    fn cpus(&self, cpu: usize) -> String {
        let step = self
            .cpu
            .get(1)
            .and_then(|next| step(Some(cpu), *next))
            .unwrap_or(0);
        let last = cpu + step * (self.cpu.len() - 1);
        match step {
            0 => format!("cpu {cpu}"),
            1 => format!("cpus {cpu}-{last}"),
            _ => format!("cpus {cpu}-{last} by {step}"),
        }
    }
}

/// The number of ranks, starting with the first, that share its line. Pinned ranks do so only if `join` is set.
fn run_len(cpu: &[Option<usize>], join: bool) -> usize {
    if cpu[0].is_some() && !join {
        return 1;
    }
    let mut steps = cpu.windows(2).map(|pair| step(pair[0], pair[1]));
    let Some(first) = steps.next().flatten() else {
        return 1;
    };
    match 2 + steps.take_while(|step| *step == Some(first)).count() {
        // Two CPUs are always evenly spaced, which means nothing.
        2 if first > 1 => 1,
        len => len,
    }
}

/// The distance from one rank's CPU up to the next rank's; `None` if it is not ascending, or only one of them has a
/// CPU.
fn step(from: Option<usize>, to: Option<usize>) -> Option<usize> {
    match (from, to) {
        (Some(from), Some(to)) => to.checked_sub(from),
        (None, None) => Some(0),
        _ => None,
    }
}

/// The reason why no rank is pinned, as the report states it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unpinned {
    /// [`Bind::None`] was requested.
    NotAsked,
    /// Other ranks live in this process, and would be pinned to the same CPUs.
    NotAlone,
    /// One of the ranks runs on the calling thread: pinned ranks would share a CPU with it wherever it runs.
    Caller,
    /// The world was given [another machine](crate::World::machine) to plan for.
    StandIn,
    /// Threads cannot be pinned to a CPU on this system, or not verifiably.
    Unsupported,
    /// The system does not tell which CPUs there are.
    MaskUnknown,
    /// There are fewer CPUs than ranks.
    Crowded {
        /// The number of ranks.
        ranks: usize,
        /// The number of CPUs of the mask.
        cpus: usize,
    },
    /// The quota does not cover all CPUs of the mask.
    Quota {
        /// The CPU time of the process, in CPUs.
        quota: f64,
        /// The number of CPUs of the mask.
        cpus: usize,
    },
}

impl fmt::Display for Unpinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unpinned::NotAsked => f.write_str("not asked for"),
            Unpinned::Caller => f.write_str("the caller's thread takes part"),
            Unpinned::NotAlone => f.write_str("other ranks live in this process"),
            Unpinned::StandIn => f.write_str("another machine stands in for this one"),
            Unpinned::Unsupported => f.write_str("threads cannot be pinned on this system"),
            Unpinned::MaskUnknown => f.write_str("the affinity mask is unknown"),
            Unpinned::Crowded { ranks, cpus } => {
                write!(f, "{} on {}", count(*ranks, "rank"), count(*cpus, "CPU"))
            }
            Unpinned::Quota { quota, cpus } => {
                write!(f, "a quota of {quota:.2} for {}", count(*cpus, "CPU"))
            }
        }
    }
}

fn count(n: usize, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// The reason why a [`Bind`] is invalid on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindError {
    /// The text is neither the name of a binding nor a list of CPUs.
    UnknownName {
        /// The text.
        name: String,
    },
    /// The list of CPUs is empty.
    NoCpus,
    /// The list contains a CPU that the process may not use.
    OutsideMask {
        /// The first such CPU.
        cpu: usize,
        /// The CPUs that the process may use.
        mask: Vec<usize>,
    },
}

impl BindError {
    fn outside(cpu: usize, cpus: &Cpus) -> BindError {
        let mask = cpus.mask.clone();
        BindError::OutsideMask { cpu, mask }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::UnknownName { name } => {
                let known: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
                let (name, known) = (name.escape_debug(), known.join(", "));
                write!(
                    f,
                    "no binding is called `{name}`; there are {known}, and lists of CPUs as `0-3,8`"
                )
            }
            BindError::NoCpus => f.write_str("cannot bind to an empty list of CPUs"),
            BindError::OutsideMask { cpu, mask } => {
                write!(f, "cannot bind to CPU {cpu}: the mask is {}", Ranges(mask))
            }
        }
    }
}

impl Error for BindError {}
