//! The algorithms by name: written, read, and completed.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use super::Collective;
use crate::names;
use crate::topology::TreeName;

/// The name of an algorithm, with its parameters: what a user chooses, and a table lists.
///
/// One name serves several collectives: `ring` is a reduce-scatter, an all-gather and an all-reduce. A
/// family of topologies is the reduce along it, backwards the broadcast, and both the all-reduce;
/// `segments=K` pipelines it.
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
    /// A family of topologies; with segments, pipelined.
    Tree {
        /// The family.
        tree: TreeName,
        /// How many segments at most; a vector has no more than elements.
        segments: Option<NonZeroUsize>,
    },
    /// The hypercube's tree to any root.
    Hypercube,
    /// Simple exchange across the dimensions of a hypercube.
    Exchange,
    /// Recursive halving, the neighbour first; and what unwinds it.
    Halving,
    /// Recursive halving, the farthest partner first.
    FarHalving,
    /// So many stages of halving, simple exchange, and the halving unwound.
    Hybrid {
        /// How many.
        stages: u32,
    },
    /// Recursive doubling.
    Doubling,
    /// Blocks that go round a ring.
    Ring,
    /// Bruck's algorithms, in the least number of steps.
    Bruck,
    /// Everybody with everybody, one partner a step.
    Pairwise,
    /// Dissemination on a circle.
    Dissemination,
    /// A scatter, and an all-gather by recursive doubling.
    ScatterDoubling,
    /// A scatter, and an all-gather on a ring.
    ScatterRing,
    /// Segments down two binary trees in turn.
    TwoTree {
        /// How many segments at most.
        segments: NonZeroUsize,
    },
    /// Segments along the edge-disjoint trees of a hypercube.
    Esbt {
        /// How many segments at most.
        segments: NonZeroUsize,
    },
    /// Segments round a circulant graph.
    Circulant {
        /// How many segments at most.
        segments: NonZeroUsize,
    },
}

use Algorithm::*;

/// Those that are no family of topologies, as they are written.
const PLAIN: [(Algorithm, &str); 11] = [
    (Hypercube, "hypercube"),
    (Exchange, "exchange"),
    (Halving, "halving"),
    (FarHalving, "far-halving"),
    (Doubling, "doubling"),
    (Ring, "ring"),
    (Bruck, "bruck"),
    (Pairwise, "pairwise"),
    (Dissemination, "dissemination"),
    (ScatterDoubling, "scatter-doubling"),
    (ScatterRing, "scatter-ring"),
];

/// Those that are nothing without segments: as they are written before these.
type InSegments = fn(NonZeroUsize) -> Algorithm;
const IN_SEGMENTS: [(InSegments, &str); 3] = [
    (|segments| TwoTree { segments }, "two-tree:segments=K"),
    (|segments| Algorithm::Esbt { segments }, "esbt:segments=K"),
    (|segments| Circulant { segments }, "circulant:segments=K"),
];

const SEGMENTS: &str = ":segments=";

/// The name before the segments.
fn without_segments(known: &str) -> &str {
    known.split(SEGMENTS).next().unwrap_or(known)
}

impl Algorithm {
    /// A family of topologies, with whole vectors.
    pub const fn tree(tree: TreeName) -> Algorithm {
        Tree {
            tree,
            segments: None,
        }
    }

    /// A family of topologies, pipelined by so many segments.
    ///
    /// # Panics
    ///
    /// If there is no segment.
    pub const fn pipelined(tree: TreeName, segments: usize) -> Algorithm {
        match NonZeroUsize::new(segments) {
            None => panic!("a pipeline of 0 segments"),
            segments => Tree { tree, segments },
        }
    }

    /// All names as they are written, a `K` standing for a number of at least 1 (`hybrid:K`: of 0 or
    /// more). Those of families may be followed by `:segments=K` where they can be pipelined.
    pub fn known() -> impl Iterator<Item = &'static str> {
        let plain = PLAIN.into_iter().map(|(_, name)| name);
        let in_segments = IN_SEGMENTS.into_iter().map(|(_, name)| name);
        plain
            .chain(["hybrid:K"])
            .chain(in_segments)
            .chain(TreeName::KNOWN.iter().copied())
    }

    /// The names that go on from what was typed, for the collective if one is given.
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
            Some(collective) => sample(name).needs(collective).is_some(),
        };
        let names = Algorithm::known().filter(|name| name.starts_with(typed));
        names.filter(fits).map(String::from).collect()
    }

    /// All that serve the collective, those with a parameter for some values of it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Collective};
    ///
    /// let names: Vec<_> = Algorithm::all(Collective::Gather).map(|a| a.to_string()).collect();
    /// assert_eq!(names, ["hypercube", "binomial", "flat"]);
    /// ```
    pub fn all(collective: Collective) -> impl Iterator<Item = Algorithm> {
        let plain = PLAIN.into_iter().map(|(algorithm, _)| algorithm);
        let hybrids = [0, 1, 2, 3].map(|stages| Hybrid { stages });
        let trees = TREES
            .iter()
            .flat_map(|&tree| [Algorithm::tree(tree), Algorithm::pipelined(tree, 4)]);
        let few = const { NonZeroUsize::new(4).unwrap() };
        let in_segments = IN_SEGMENTS.into_iter().map(move |(make, _)| make(few));
        let all = plain.chain(hybrids).chain(in_segments).chain(trees);
        all.filter(move |algorithm| algorithm.needs(collective).is_some())
    }
}

/// The families that a list of all shows.
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

/// An algorithm of a name in which `K` stands for a number.
fn sample(known: &str) -> Algorithm {
    let name = known.replace('K', "2");
    name.parse().expect("every known name is read")
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hybrid { stages } => write!(f, "hybrid:{stages}"),
            Tree {
                tree,
                segments: None,
            } => write!(f, "{tree}"),
            Tree {
                tree,
                segments: Some(segments),
            } => write!(f, "{tree}{SEGMENTS}{segments}"),
            TwoTree { segments } => write!(f, "two-tree{SEGMENTS}{segments}"),
            Algorithm::Esbt { segments } => write!(f, "esbt{SEGMENTS}{segments}"),
            Circulant { segments } => write!(f, "circulant{SEGMENTS}{segments}"),
            plain => {
                let named = PLAIN.iter().find(|(algorithm, _)| algorithm == plain);
                f.write_str(named.expect("what has no parameter is in the list").1)
            }
        }
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let bad = |expected| UnknownAlgorithm::BadNumber {
            name: name.into(),
            expected,
        };
        if let Some((plain, _)) = PLAIN.iter().find(|(_, known)| *known == name) {
            return Ok(*plain);
        }
        if let Some(stages) = name.strip_prefix("hybrid:") {
            let stages = stages.parse().map_err(|_| bad(HYBRID))?;
            return Ok(Hybrid { stages });
        }
        let (tree, segments) = match name.split_once(SEGMENTS) {
            Some((tree, segments)) => (tree, Some(segments.parse().map_err(|_| bad(PIPELINE))?)),
            None => (name, None),
        };
        let named = |known: &&(InSegments, &str)| without_segments(known.1) == tree;
        if let Some((make, _)) = IN_SEGMENTS.iter().find(named) {
            return segments.map(make).ok_or_else(|| bad(ONLY_IN_SEGMENTS));
        }
        match tree.parse() {
            Ok(tree) => Ok(Tree { tree, segments }),
            Err(_) if is_family(tree) => Err(bad(FAMILY)),
            Err(_) if name == "hybrid" => Err(bad(HYBRID)),
            Err(_) => Err(UnknownAlgorithm::NoSuchName { name: name.into() }),
        }
    }
}

const HYBRID: &str = "wants a colon and a number of stages, as in `hybrid:2`";
const PIPELINE: &str = "wants a number of segments of at least 1, as in `chain:segments=16`";
const ONLY_IN_SEGMENTS: &str = "wants a number of segments, as in `two-tree:segments=16`";
const FAMILY: &str = "a family is followed by `:K` where it has a width of at least 1, as in `k-tree:3`, and then by \
     `:segments=K` where it is pipelined";

fn is_family(name: &str) -> bool {
    let stem = name.split(':').next().unwrap_or(name);
    TreeName::KNOWN
        .iter()
        .any(|known| known.trim_end_matches(":K") == stem)
}

/// Why a text is not the name of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownAlgorithm {
    /// None is called that.
    NoSuchName {
        /// The text.
        name: String,
    },
    /// The number is missing, too small or one too many.
    BadNumber {
        /// The text.
        name: String,
        /// What is wanted.
        expected: &'static str,
    },
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownAlgorithm::NoSuchName { name } => {
                let known: Vec<_> = Algorithm::known().collect();
                names::no_such(f, "algorithm", name, &known)
            }
            UnknownAlgorithm::BadNumber { name, expected } => {
                write!(f, "`{}`: {expected}", name.escape_debug())
            }
        }
    }
}

impl std::error::Error for UnknownAlgorithm {}
