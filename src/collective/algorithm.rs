//! The names of the algorithms: written, read, and completed.

use std::fmt;
use std::num::{IntErrorKind, NonZeroUsize, ParseIntError};
use std::str::FromStr;

#[cfg(doc)]
use super::Call;
use super::{Collective, literature};
use crate::names;
use crate::topology::TreeName;

/// The name of an algorithm with its parameters, as users choose it and tables list it.
///
/// One name serves several collectives: `ring` is a reduce-scatter, an all-gather and an all-reduce. A family of
/// topologies is the reduce along it, the broadcast in reverse, and the all-reduce by both; `segments=K` pipelines it.
///
/// # Examples
///
/// ```
/// use rankfold::collective::Algorithm;
///
/// let chain: Algorithm = "chain:segments=16".parse()?;
/// assert_eq!(chain.to_string(), "chain:segments=16");
/// assert_eq!("hybrid:2".parse(), Ok(Algorithm::Hybrid { stages: 2 }));
/// let refused = "halvign".parse::<Algorithm>().unwrap_err();
/// assert!(refused.to_string().starts_with("no algorithm is called `halvign`; did you mean `halving`?"));
/// # Ok::<(), rankfold::collective::UnknownAlgorithm>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// A family of topologies; pipelined if it has segments.
    #[doc(alias = "linear-pipeline")]
    #[doc(alias = "pipelined-binary-tree")]
    Tree {
        /// The family.
        tree: TreeName,
        /// The maximum number of segments; a vector has at most one per element.
        segments: Option<NonZeroUsize>,
    },
    /// The hypercube's tree to any root.
    Hypercube,
    /// Simple exchange across the dimensions of a hypercube, a butterfly: with the ranks 1, 2, 4, ... away, in this
    /// order.
    #[doc(alias = "butterfly")]
    #[doc(alias = "simple-exchange")]
    #[doc(alias = "all-to-all-reduction")]
    Exchange,
    /// Recursive halving with the nearest partner first, followed by its reversal where needed.
    #[doc(alias = "recursive-halving")]
    #[doc(alias = "Rabenseifner")]
    Halving,
    /// Recursive halving with the farthest partner first.
    FarHalving,
    /// `stages` stages of halving, simple exchange, and the halving reversed.
    Hybrid {
        /// The number of stages of halving.
        stages: u32,
    },
    /// Recursive doubling; as an all-reduce the same as [`Exchange`].
    #[doc(alias = "recursive-doubling")]
    Doubling,
    /// Each rank writes its short vector into a cell that all ranks can read, and the ranks that need it read it there.
    /// In an all-reduce every rank reads the cells of all others; where more than two ranks take turns on the CPUs, the last
    /// to arrive folds for all, and the schedule of a [crowded](super::Call::crowded) call shows rank 0 as the last. A started
    /// all-reduce sends the messages of that schedule, too. Each message is a read of a cell.
    Cells,
    /// A central barrier: all ranks count themselves in at one atomic word, and the last to arrive releases the others.
    /// Its schedule shows rank 0 as the last.
    Gate,
    /// Blocks that travel around a ring.
    Ring,
    /// Bruck's algorithms, with the minimum number of steps.
    Bruck,
    /// Every rank exchanges with every other, one partner per step.
    Pairwise,
    /// Over shared memory: every rank reads the parts that it needs of other ranks' vectors in place, and folds its
    /// block for all. Each message of its schedule is such a read, or a store into the vector of another rank. Two
    /// ranks whose cores are far apart may fold whole vectors, each for itself, as in [`Exchange`]; in a reduce, the
    /// root, in a scan, rank 1. In a broadcast every rank reads the vector of the root, or, if it is long, or there are two
    /// ranks, or they take turns on the CPUs, a share of it, which it stores into the vectors of all.
    Direct,
    /// Dissemination on a circle.
    Dissemination,
    /// A scatter, followed by an all-gather by recursive doubling.
    ScatterDoubling,
    /// A scatter, followed by an all-gather on a ring.
    ScatterRing,
    /// Follows the [levels](Call::levels) of the machine, with one leader per group. With no levels, or only one, it is
    /// the family by itself; for blocks it is then [`Ring`], or [`Halving`] in rank order. A call of a communicator
    /// uses the communicator's [own levels](crate::Comm::levels); if there are none, [`explain`](crate::Comm::explain)
    /// says why. Written `hierarchical`, or for example `hierarchical:flat` for a family other than the binomial tree.
    Hierarchical {
        /// The family among the members of each group.
        tree: TreeName,
    },
    /// Segments that alternate between two binary trees; not Xiong's 2-tree, which is
    /// [`k_tree`](crate::topology::Topology::k_tree) with k = 2.
    #[doc(alias = "23-broadcast")]
    TwoTree {
        /// The maximum number of segments.
        segments: NonZeroUsize,
    },
    /// Segments along the edge-disjoint trees of a hypercube.
    Esbt {
        /// The maximum number of segments.
        segments: NonZeroUsize,
    },
    /// Segments around a circulant graph.
    Circulant {
        /// The maximum number of segments.
        segments: NonZeroUsize,
    },
}

use Algorithm::*;

/// The algorithms that are not families of topologies, with their written names.
const PLAIN: [(Algorithm, &str); 15] = [
    (Hypercube, "hypercube"),
    (Cells, "cells"),
    (Gate, "gate"),
    (Exchange, "exchange"),
    (Halving, "halving"),
    (FarHalving, "far-halving"),
    (Doubling, "doubling"),
    (Ring, "ring"),
    (Bruck, "bruck"),
    (Pairwise, "pairwise"),
    (Direct, "direct"),
    (Dissemination, "dissemination"),
    (ScatterDoubling, "scatter-doubling"),
    (ScatterRing, "scatter-ring"),
    (Algorithm::HIERARCHICAL, "hierarchical"),
];

/// Constructor of an algorithm that requires segments.
type InSegments = fn(NonZeroUsize) -> Algorithm;

/// The algorithms that require segments.
const IN_SEGMENTS: [(InSegments, &str); 3] = [
    (|segments| TwoTree { segments }, "two-tree:segments=K"),
    (|segments| Algorithm::Esbt { segments }, "esbt:segments=K"),
    (|segments| Circulant { segments }, "circulant:segments=K"),
];

const SEGMENTS: &str = ":segments=";
const LEVELS: &str = "hierarchical:";

/// The constructor of the algorithm with this name, if the algorithm requires segments.
fn only_in_segments(name: &str) -> Option<InSegments> {
    let before = |known: &'static str| known.split(SEGMENTS).next();
    let mut all = IN_SEGMENTS.into_iter();
    all.find_map(|(make, known)| (before(known) == Some(name)).then_some(make))
}

impl Algorithm {
    /// [`Hierarchical`](Self::Hierarchical) with binomial trees.
    pub const HIERARCHICAL: Algorithm = Hierarchical {
        tree: TreeName::BINOMIAL,
    };

    /// A family of topologies, with whole vectors.
    pub const fn tree(tree: TreeName) -> Algorithm {
        Tree {
            tree,
            segments: None,
        }
    }

    /// A family of topologies, pipelined in `segments` segments.
    ///
    /// # Panics
    ///
    /// If `segments` is 0.
    #[track_caller]
    pub const fn pipelined(tree: TreeName, segments: usize) -> Algorithm {
        match NonZeroUsize::new(segments) {
            None => panic!("a pipeline of 0 segments"),
            segments => Tree { tree, segments },
        }
    }

    /// The same algorithm in `segments` segments, if it can have segments.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::Algorithm;
    ///
    /// let ring: Algorithm = "ring".parse().unwrap();
    /// assert_eq!(ring.in_segments(4.try_into().unwrap()), None);
    /// ```
    pub fn in_segments(self, segments: NonZeroUsize) -> Option<Algorithm> {
        match self {
            Tree { tree, .. } => Some(Tree {
                tree,
                segments: Some(segments),
            }),
            TwoTree { .. } => Some(TwoTree { segments }),
            Algorithm::Esbt { .. } => Some(Algorithm::Esbt { segments }),
            Circulant { .. } => Some(Circulant { segments }),
            _ => None,
        }
    }

    /// The maximum number of segments, if it is pipelined.
    pub fn segments(self) -> Option<NonZeroUsize> {
        match self {
            Tree { segments, .. } => segments,
            TwoTree { segments } | Algorithm::Esbt { segments } | Circulant { segments } => {
                Some(segments)
            }
            _ => None,
        }
    }

    /// All names as they are written, with `K` for a number of at least 1 (`hybrid:K`: at least 0). The names of
    /// families may be followed by `:segments=K` where they can be pipelined. For other names see
    /// [`aliases`](Self::aliases).
    pub fn known() -> impl Iterator<Item = &'static str> {
        let plain = PLAIN.into_iter().map(|(_, name)| name);
        let in_segments = IN_SEGMENTS.into_iter().map(|(_, name)| name);
        plain
            .chain(["hybrid:K"])
            .chain(in_segments)
            .chain(TreeName::KNOWN.iter().copied())
    }

    /// The names that start with `typed`, restricted to those for `collective` if given.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Collective};
    ///
    /// let offered = Algorithm::completions("b", Some(Collective::AllGather));
    /// assert_eq!(offered, ["bruck"]);
    /// ```
    pub fn completions(typed: &str, collective: Option<Collective>) -> Vec<String> {
        let fits = |name: &&str| match collective {
            None => true,
            Some(collective) => sample(name).is_listed(collective),
        };
        let names = Algorithm::known().filter(|name| name.starts_with(typed));
        names.filter(fits).map(String::from).collect()
    }

    /// All algorithms that serve the collective; those with a parameter for some of its values.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Collective};
    ///
    /// let names: Vec<_> = Algorithm::all(Collective::Gather).map(|a| a.to_string()).collect();
    /// assert_eq!(names, ["hypercube", "cells", "direct", "binomial", "flat"]);
    /// ```
    pub fn all(collective: Collective) -> impl Iterator<Item = Algorithm> {
        let plain = PLAIN.into_iter().map(|(algorithm, _)| algorithm);
        let hybrids = [0, 1, 2, 3].map(|stages| Hybrid { stages });
        let trees = TREES
            .iter()
            .flat_map(|&tree| [Algorithm::tree(tree), Algorithm::pipelined(tree, 4)]);
        let few = const { NonZeroUsize::new(4).unwrap() };
        let in_segments = IN_SEGMENTS.into_iter().map(move |(make, _)| make(few));
        // A list, so that its users are not compiled for all these iterators.
        let mut all: Vec<Algorithm> = plain.chain(hybrids).chain(in_segments).collect();
        all.extend(trees);
        all.retain(|algorithm| algorithm.is_listed(collective));
        all.into_iter()
    }

    /// Whether lists show it for a collective: it serves it, and not as a second name of another.
    fn is_listed(self, collective: Collective) -> bool {
        self.needs(collective).is_some() && (self, collective) != (Doubling, Collective::AllReduce)
    }
}

/// The families that a list of all algorithms shows.
const TREES: &[TreeName] = &[
    TreeName::Chain,
    TreeName::DecreasingRing,
    TreeName::SplitRing,
    TreeName::KRing(3),
    TreeName::BINOMIAL,
    TreeName::KTree(2),
    TreeName::KTree(3),
    TreeName::Flat,
    TreeName::FlatSerial,
    TreeName::KAry(2),
    TreeName::KAry(3),
    TreeName::InOrder,
    TreeName::Fibonacci,
];

/// An algorithm whose name has `K` in place of a number.
fn sample(known: &str) -> Algorithm {
    let name = known.replace('K', "2");
    name.parse().expect("every known name is read")
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hybrid { stages } => write!(f, "hybrid:{stages}")?,
            TwoTree { .. } => f.write_str("two-tree")?,
            Algorithm::Esbt { .. } => f.write_str("esbt")?,
            Circulant { .. } => f.write_str("circulant")?,
            Tree { tree, .. } => write!(f, "{tree}")?,
            Hierarchical { tree } if *tree != TreeName::BINOMIAL => write!(f, "{LEVELS}{tree}")?,
            plain => {
                let named = PLAIN.iter().find(|(algorithm, _)| algorithm == plain);
                f.write_str(named.expect("what has no parameter is in the list").1)?;
            }
        }
        match self.segments() {
            Some(segments) => write!(f, "{SEGMENTS}{segments}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let bad = |expected| UnknownAlgorithm::BadNumber {
            name: text.into(),
            expected,
        };
        let Some((name, segments)) = text.split_once(SEGMENTS) else {
            return match literature::wants_segments(text) {
                true => Err(bad(LINEAR_PIPELINE)),
                false => whole(literature::own_name(text, false), text),
            };
        };
        let name = literature::own_name(name, true);
        let segments = segments
            .parse::<NonZeroUsize>()
            .map_err(|error| bad(number(error, PIPELINE)))?;
        if let Some(make) = only_in_segments(name) {
            return Ok(make(segments));
        }
        let pipeline = whole(name, text)?.in_segments(segments);
        pipeline.ok_or_else(|| bad(NO_PIPELINE))
    }
}

/// The algorithm with a name without segments; errors show `text`.
fn whole(name: &str, text: &str) -> Result<Algorithm, UnknownAlgorithm> {
    let bad = |expected| UnknownAlgorithm::BadNumber {
        name: text.into(),
        expected,
    };
    if let Some((plain, _)) = PLAIN.iter().find(|(_, known)| *known == name) {
        return Ok(*plain);
    }
    if let Some(stages) = name.strip_prefix("hybrid:") {
        let stages = stages
            .parse::<u32>()
            .map_err(|error| bad(number(error, HYBRID)))?;
        return Ok(Hybrid { stages });
    }
    if only_in_segments(name).is_some() {
        return Err(bad(match name {
            "two-tree" => TWO_TREE,
            _ => ONLY_IN_SEGMENTS,
        }));
    }
    let (family, by_levels) = match name.strip_prefix(LEVELS) {
        Some(family) => (family, true),
        None => (name, false),
    };
    match family.parse() {
        Ok(tree) if by_levels => Ok(Hierarchical { tree }),
        Ok(tree) => Ok(Algorithm::tree(tree)),
        Err(_) if is_family(family) => Err(bad(width(family))),
        Err(_) if name == "hybrid" => Err(bad(HYBRID)),
        Err(_) => Err(UnknownAlgorithm::NoSuchName { name: text.into() }),
    }
}

const HYBRID: &str = "wants a colon and a number of stages, as in `hybrid:2`";
const PIPELINE: &str = "wants a number of segments of at least 1, as in `chain:segments=16`";
const ONLY_IN_SEGMENTS: &str = "wants a number of segments, as in `esbt:segments=16`";
const TWO_TREE: &str =
    "wants a number of segments, as in `two-tree:segments=16` (the 2-tree of Xiong is `k-tree:2`)";
const LINEAR_PIPELINE: &str = "wants a number of segments, as in `linear-pipeline:segments=16`";
const NO_PIPELINE: &str = "only a family is pipelined, as in `chain:segments=16`, or what is nothing without \
     segments, as in `two-tree:segments=16`";
const FAMILY: &str = "a family is followed by `:K` where it has a width of at least 1, as in `k-tree:3`, and then by \
     `:segments=K` where it is pipelined";

/// What was expected instead of a number: `form`, unless it is only too large.
fn number(error: ParseIntError, form: &'static str) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large",
        _ => form,
    }
}

/// What was expected instead of the width in the name of a family.
fn width(family: &str) -> &'static str {
    let (_, width) = family.split_once(':').unwrap_or_default();
    width
        .parse::<usize>()
        .map_or_else(|error| number(error, FAMILY), |_| FAMILY)
}

fn is_family(name: &str) -> bool {
    let stem = name.split(':').next().unwrap_or(name);
    TreeName::KNOWN
        .iter()
        .any(|known| known.trim_end_matches(":K") == stem)
}

/// The reason why a text does not name an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownAlgorithm {
    /// No algorithm has this name.
    NoSuchName {
        /// The text.
        name: String,
    },
    /// The number is missing, too small or unexpected.
    BadNumber {
        /// The text.
        name: String,
        /// The expected number.
        expected: &'static str,
    },
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownAlgorithm::NoSuchName { name } => {
                let known: Vec<_> = Algorithm::known().collect();
                let aliases: Vec<_> = Algorithm::aliases().collect();
                names::no_such(f, "algorithm", name, &known, &aliases)
            }
            UnknownAlgorithm::BadNumber { name, expected } => {
                write!(f, "`{}`: {expected}", name.escape_debug())
            }
        }
    }
}

impl std::error::Error for UnknownAlgorithm {}
