//! The algorithms by name: written, read, and completed.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

#[cfg(doc)]
use super::Call;
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
    /// Each rank writes its short vector into a cell that all can read, and whoever needs it reads it
    /// there; of more than two ranks the first folds for all, or the last one to come where they take turns on the
    /// CPUs. Drawn and checked as the messages that stand for it: along a star, or between all pairs.
    Cells,
    /// Blocks that go round a ring.
    Ring,
    /// Bruck's algorithms, in the least number of steps.
    Bruck,
    /// Everybody with everybody, one partner a step.
    Pairwise,
    /// Over shared memory: every rank reads what it needs of the others' vectors where they lie, and folds
    /// its share for all. Its schedule says who takes what from whom; ranks that are threads send nothing.
    Direct,
    /// Dissemination on a circle.
    Dissemination,
    /// A scatter, and an all-gather by recursive doubling.
    ScatterDoubling,
    /// A scatter, and an all-gather on a ring.
    ScatterRing,
    /// By the [levels](Call::levels) of the machine, one leader a group; without levels, or with one, what the
    /// family is by itself, or for blocks [`Ring`], or [`Halving`] in rank order. In a call of a
    /// [communicator](crate::Comm::levels) by its own levels; [`explain`](crate::Comm::explain) says why there are
    /// none, if so. Written `hierarchical`, or `hierarchical:flat` for another family than the binomial tree.
    Hierarchical {
        /// The family among the members of each group.
        tree: TreeName,
    },
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
const PLAIN: [(Algorithm, &str); 14] = [
    (Hypercube, "hypercube"),
    (Cells, "cells"),
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

/// What makes an algorithm that is nothing without segments.
type InSegments = fn(NonZeroUsize) -> Algorithm;

/// Those that are nothing without segments.
const IN_SEGMENTS: [(InSegments, &str); 3] = [
    (|segments| TwoTree { segments }, "two-tree:segments=K"),
    (|segments| Algorithm::Esbt { segments }, "esbt:segments=K"),
    (|segments| Circulant { segments }, "circulant:segments=K"),
];

const SEGMENTS: &str = ":segments=";
const LEVELS: &str = "hierarchical:";

/// What makes the algorithm of this name, if it is nothing without segments.
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

    /// The same by so many segments, if that can be asked of it at all.
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

    /// How many segments it is to have at most, if it is pipelined.
    pub fn segments(self) -> Option<NonZeroUsize> {
        match self {
            Tree { segments, .. } => segments,
            TwoTree { segments } | Algorithm::Esbt { segments } | Circulant { segments } => {
                Some(segments)
            }
            _ => None,
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
            return whole(text, text);
        };
        let segments = segments.parse().map_err(|_| bad(PIPELINE))?;
        if let Some(make) = only_in_segments(name) {
            return Ok(make(segments));
        }
        let pipeline = whole(name, text)?.in_segments(segments);
        pipeline.ok_or_else(|| bad(NO_PIPELINE))
    }
}

/// The algorithm of a name without segments; `text` is what an error shows.
fn whole(name: &str, text: &str) -> Result<Algorithm, UnknownAlgorithm> {
    let bad = |expected| UnknownAlgorithm::BadNumber {
        name: text.into(),
        expected,
    };
    if let Some((plain, _)) = PLAIN.iter().find(|(_, known)| *known == name) {
        return Ok(*plain);
    }
    if let Some(stages) = name.strip_prefix("hybrid:") {
        let stages = stages.parse().map_err(|_| bad(HYBRID))?;
        return Ok(Hybrid { stages });
    }
    if only_in_segments(name).is_some() {
        return Err(bad(ONLY_IN_SEGMENTS));
    }
    let (family, by_levels) = match name.strip_prefix(LEVELS) {
        Some(family) => (family, true),
        None => (name, false),
    };
    match family.parse() {
        Ok(tree) if by_levels => Ok(Hierarchical { tree }),
        Ok(tree) => Ok(Algorithm::tree(tree)),
        Err(_) if is_family(family) => Err(bad(FAMILY)),
        Err(_) if name == "hybrid" => Err(bad(HYBRID)),
        Err(_) => Err(UnknownAlgorithm::NoSuchName { name: text.into() }),
    }
}

const HYBRID: &str = "wants a colon and a number of stages, as in `hybrid:2`";
const PIPELINE: &str = "wants a number of segments of at least 1, as in `chain:segments=16`";
const ONLY_IN_SEGMENTS: &str = "wants a number of segments, as in `two-tree:segments=16`";
const NO_PIPELINE: &str = "only a family is pipelined, as in `chain:segments=16`, or what is nothing without \
     segments, as in `two-tree:segments=16`";
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
