//! What each algorithm serves and what it needs; and why it cannot be used for a call.

use std::fmt;

use super::{Algorithm, Call, Collective};
use crate::Rank;
use crate::topology::{Levels, TreeName, TwoTrees};

/// What an algorithm needs of a call of one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Needs {
    /// Whether the number of ranks must be a power of two.
    pub power_of_two: bool,
    /// Whether the operator must commute. If not, operands stay in rank order.
    pub commutative: bool,
    /// How it comes to a root other than 0.
    pub root: Root,
    /// Whether blocks must be cut evenly.
    pub even_blocks: bool,
}

/// How an algorithm comes to a root other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// There is no root.
    None,
    /// It knows any root, and keeps rank order.
    Any,
    /// Ranks are counted from the root on. With an operator that does not commute, rank 0 takes the
    /// root's place and then passes the result on, one step more.
    Turned,
}

const ANY: Needs = Needs {
    power_of_two: false,
    commutative: false,
    root: Root::None,
    even_blocks: false,
};
const COMMUTATIVE: Needs = Needs {
    commutative: true,
    ..ANY
};
const POWER_OF_TWO: Needs = Needs {
    power_of_two: true,
    ..ANY
};
const ROOTED: Needs = Needs {
    root: Root::Any,
    ..ANY
};
const TURNED: Needs = Needs {
    root: Root::Turned,
    ..ANY
};

impl Algorithm {
    /// What it needs to serve a collective; `None` if it does not serve it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Collective};
    ///
    /// assert!(Algorithm::Ring.needs(Collective::AllReduce).unwrap().commutative);
    /// assert_eq!(Algorithm::Ring.needs(Collective::Barrier), None);
    /// ```
    pub fn needs(self, collective: Collective) -> Option<Needs> {
        use Algorithm::*;
        if let Tree { tree, segments } = self {
            return tree_needs(tree, segments.is_some(), collective);
        }
        if let Hierarchical { tree } = self {
            return match collective {
                Collective::ReduceScatter => Some(Needs {
                    commutative: !keeps_order(tree),
                    ..ANY
                }),
                Collective::AllGather => Some(ANY),
                Collective::Gather | Collective::Scatter => None,
                Collective::Scan | Collective::ExclusiveScan => None,
                _ => tree_needs(tree, false, collective),
            };
        }
        let needs = match (collective, self) {
            (Collective::Broadcast, Direct) => TURNED,
            (Collective::Reduce | Collective::Gather | Collective::Scatter, Direct) => ROOTED,
            (Collective::AllReduce | Collective::ReduceScatter, Direct) => ANY,
            (Collective::AllGather | Collective::AllToAll, Direct) => ANY,
            (_, Cells) => return cells_needs(collective),
            (Collective::Barrier, Dissemination | Exchange) => ANY,
            (Collective::Broadcast, Hypercube) => TURNED,
            (Collective::Broadcast, ScatterDoubling | ScatterRing) => ROOTED,
            (Collective::Reduce, Hypercube) => Needs {
                root: Root::Any,
                ..POWER_OF_TWO
            },
            (Collective::Reduce, Halving) => ROOTED,
            (Collective::AllReduce, Exchange | Halving | Hybrid { .. }) => ANY,
            (Collective::AllReduce, Ring | Circulant { .. }) => COMMUTATIVE,
            (Collective::Broadcast | Collective::Reduce, TwoTree { .. }) => TURNED,
            (Collective::AllReduce, TwoTree { .. }) => ANY,
            (Collective::Broadcast, Circulant { .. }) => TURNED,
            (Collective::Reduce, Circulant { .. }) => Needs {
                commutative: true,
                ..TURNED
            },
            (Collective::Broadcast, Esbt { .. }) => Needs {
                root: Root::Any,
                ..POWER_OF_TWO
            },
            (Collective::Reduce, Esbt { .. }) => Needs {
                root: Root::Any,
                commutative: true,
                ..POWER_OF_TWO
            },
            (Collective::AllReduce, Esbt { .. }) => Needs {
                commutative: true,
                ..POWER_OF_TWO
            },
            (Collective::ReduceScatter, Halving) => ANY,
            (Collective::ReduceScatter, FarHalving | Ring | Pairwise) => COMMUTATIVE,
            (Collective::AllGather, Doubling | Ring | Bruck | Pairwise) => ANY,
            (Collective::Gather | Collective::Scatter, Hypercube) => Needs {
                root: Root::Any,
                ..POWER_OF_TWO
            },
            (Collective::AllToAll, Pairwise) => ANY,
            (Collective::AllToAll, Bruck) => Needs {
                even_blocks: true,
                ..ANY
            },
            (Collective::Scan | Collective::ExclusiveScan, Doubling) => ANY,
            (Collective::Scan | Collective::ExclusiveScan, Exchange) => POWER_OF_TWO,
            _ => return None,
        };
        Some(needs)
    }

    /// Why it cannot be used for a call; `None` if it can.
    ///
    /// Nothing is ever replaced in silence: what an algorithm does not do, it refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::{Algorithm, Call, Collective};
    ///
    /// let call = Call::new(Collective::AllReduce, 5, 100);
    /// assert_eq!(
    ///     Algorithm::Ring.refused(&call).unwrap().to_string(),
    ///     "ring does not keep operands in rank order: the operator must commute",
    /// );
    /// assert_eq!(Algorithm::Ring.refused(&call.commuting()), None);
    /// ```
    pub fn refused(self, call: &Call) -> Option<Refusal> {
        let (collective, ranks, root) = (call.collective, call.ranks(), call.root);
        let Some(needs) = self.needs(collective) else {
            return Some(self.not_for(collective));
        };
        let algorithm = self;
        if ranks == 0 {
            return Some(Refusal::NoRanks);
        }
        if root >= ranks {
            return Some(Refusal::NoSuchRoot { root, ranks });
        }
        if root > 0 && !collective.has_root() {
            return Some(Refusal::NoRoot { root, collective });
        }
        if call.from_input && collective != Collective::AllReduce {
            return Some(Refusal::OneForm { collective });
        }
        if needs.power_of_two && !ranks.is_power_of_two() {
            return Some(Refusal::NoPowerOfTwo { algorithm, ranks });
        }
        if needs.commutative && !call.commutes && ranks > 1 {
            return Some(Refusal::MustCommute { algorithm });
        }
        if call.pieces.is_some() && collective != Collective::AllToAll {
            return Some(Refusal::NoPieces { collective });
        }
        let even = call.blocks.is_even() && call.pieces.is_none();
        if needs.even_blocks && !even {
            return Some(Refusal::UnevenBlocks {
                algorithm,
                collective,
            });
        }
        if let (Algorithm::Hierarchical { .. }, Some(levels)) = (self, &call.levels) {
            return self.refused_on(call, levels);
        }
        match self {
            Algorithm::TwoTree { .. } if ranks > TwoTrees::MOST_RANKS => {
                Some(Refusal::TooManyRanks {
                    algorithm,
                    ranks,
                    most: TwoTrees::MOST_RANKS,
                })
            }
            Algorithm::Hybrid { stages } if stages > ranks.ilog2() => {
                Some(Refusal::TooManyStages {
                    stages,
                    dimensions: ranks.ilog2(),
                    ranks,
                })
            }
            Algorithm::Tree {
                tree: TreeName::KRing(0) | TreeName::KTree(0) | TreeName::KAry(0),
                ..
            } => Some(Refusal::NoWidth { algorithm }),
            _ => None,
        }
    }

    /// Why the groups that ranks are in do not serve.
    fn refused_on(self, call: &Call, levels: &Levels) -> Option<Refusal> {
        let (collective, ranks) = (call.collective, call.ranks());
        if levels.ranks() != ranks {
            let of = levels.ranks();
            return Some(Refusal::OtherLevels { of, ranks });
        }
        let in_order = collective.folds() && !call.commutes;
        let in_blocks = matches!(
            collective,
            Collective::ReduceScatter | Collective::AllGather
        );
        let refused = (in_order || in_blocks) && !levels.are_runs();
        refused.then_some(Refusal::NotRuns {
            algorithm: self,
            collective,
        })
    }

    /// The refusal to serve a collective.
    fn not_for(self, collective: Collective) -> Refusal {
        match self {
            Algorithm::Tree {
                tree,
                segments: Some(_),
            } if tree_needs(tree, false, collective).is_some() => {
                Refusal::NotPipelined { tree, collective }
            }
            algorithm => Refusal::NotFor {
                algorithm,
                collective,
            },
        }
    }
}

/// What goes over cells: all that whole ranks read of each other, in one hop or two.
fn cells_needs(collective: Collective) -> Option<Needs> {
    use Collective::*;
    match collective {
        Barrier | AllReduce | AllGather => Some(ANY),
        Broadcast | Reduce | Gather | Scatter => Some(ROOTED),
        ReduceScatter => Some(COMMUTATIVE),
        AllToAll => Some(Needs {
            even_blocks: true,
            ..ANY
        }),
        Scan | ExclusiveScan => None,
    }
}

fn tree_needs(tree: TreeName, pipelined: bool, collective: Collective) -> Option<Needs> {
    use Collective::*;
    let of_trees = || !pipelined || pipeline_period(tree, 1).is_some();
    let folding = Needs {
        commutative: !keeps_order(tree),
        ..ANY
    };
    match collective {
        Barrier => (!pipelined).then_some(ANY),
        Broadcast => of_trees().then_some(TURNED),
        Reduce if tree == TreeName::BINOMIAL && !pipelined => Some(ROOTED),
        Reduce => of_trees().then_some(Needs {
            root: Root::Turned,
            ..folding
        }),
        AllReduce => of_trees().then_some(folding),
        Gather | Scatter => {
            let serves = matches!(tree, TreeName::BINOMIAL | TreeName::Flat) && !pipelined;
            serves.then_some(ROOTED)
        }
        Scan | ExclusiveScan => (tree == TreeName::Chain).then_some(ANY),
        ReduceScatter | AllGather | AllToAll => None,
    }
}

/// Whether a single-port fold along the family keeps operands in rank order, on any number of ranks.
///
/// Rows of a ring come to the root in another order than that of their ranks.
fn keeps_order(tree: TreeName) -> bool {
    match tree {
        TreeName::Chain | TreeName::DecreasingRing | TreeName::KTree(_) => true,
        TreeName::Flat | TreeName::FlatSerial | TreeName::InOrder | TreeName::Fibonacci => true,
        TreeName::KRing(k) | TreeName::KAry(k) => k == 1,
        TreeName::SplitRing => false,
    }
}

/// How many steps lie between two segments of a pipeline along the family, if it is one.
pub(super) fn pipeline_period(tree: TreeName, ranks: usize) -> Option<usize> {
    match tree {
        TreeName::Chain | TreeName::DecreasingRing => Some(1),
        TreeName::InOrder | TreeName::Fibonacci | TreeName::SplitRing => Some(2),
        TreeName::KRing(k) => Some(k.min(ranks - 1).max(1)),
        _ => None,
    }
}

/// Why an algorithm cannot be used for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields say what their names say
pub enum Refusal {
    /// There is nobody.
    NoRanks,
    /// The root is not one of the ranks.
    NoSuchRoot { root: Rank, ranks: usize },
    /// A root was given, and the collective has none.
    NoRoot { root: Rank, collective: Collective },
    /// It serves other collectives.
    NotFor {
        algorithm: Algorithm,
        collective: Collective,
    },
    /// The family serves the collective, but not by segments.
    NotPipelined {
        tree: TreeName,
        collective: Collective,
    },
    /// The number of ranks is no power of two.
    NoPowerOfTwo { algorithm: Algorithm, ranks: usize },
    /// The operator does not commute.
    MustCommute { algorithm: Algorithm },
    /// More stages of halving than there are dimensions.
    TooManyStages {
        stages: u32,
        dimensions: u32,
        ranks: usize,
    },
    /// A family of width 0.
    NoWidth { algorithm: Algorithm },
    /// More ranks than it keeps a table for.
    TooManyRanks {
        algorithm: Algorithm,
        ranks: usize,
        most: usize,
    },
    /// Blocks of other lengths than even ones.
    UnevenBlocks {
        algorithm: Algorithm,
        collective: Collective,
    },
    /// Pieces for pairs of ranks, and the collective has none.
    NoPieces { collective: Collective },
    /// Levels of another number of ranks.
    OtherLevels { of: usize, ranks: usize },
    /// Groups of ranks that are not neighbours, where only neighbours can be folded or sent together.
    NotRuns {
        algorithm: Algorithm,
        collective: Collective,
    },
    /// From inputs was asked for, and the collective has one form only.
    OneForm { collective: Collective },
}

impl fmt::Display for Refusal {
    // One arm a variant: a refusal that is added must say something.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoRanks => write!(f, "a collective of 0 ranks"),
            Refusal::NoSuchRoot { root, ranks } => {
                write!(f, "root {root} is not one of the {ranks} ranks")
            }
            Refusal::NoRoot { root, collective } => {
                write!(f, "{collective} has no root, and root {root} was given")
            }
            Refusal::NotFor {
                algorithm,
                collective,
            } => not_for(f, algorithm, *collective),
            Refusal::NotPipelined { tree, collective } => write!(
                f,
                "{tree} cannot be pipelined in {collective}: leave out `:segments=`"
            ),
            Refusal::NoPowerOfTwo { algorithm, ranks } => write!(
                f,
                "{algorithm} needs a number of ranks that is a power of two, and there are {ranks}"
            ),
            Refusal::MustCommute { algorithm } => write!(
                f,
                "{algorithm} does not keep operands in rank order: the operator must commute"
            ),
            Refusal::TooManyStages {
                stages,
                dimensions,
                ranks,
            } => write!(
                f,
                "hybrid:{stages} has more stages than {ranks} ranks have dimensions: at most {dimensions}"
            ),
            Refusal::NoWidth { algorithm } => {
                write!(f, "{algorithm} is of no width: it must be at least 1")
            }
            Refusal::TooManyRanks {
                algorithm,
                ranks,
                most,
            } => write!(
                f,
                "{algorithm} needs a table of all ranks, and has none for {ranks}: at most {most}"
            ),
            Refusal::UnevenBlocks {
                algorithm,
                collective,
            } => write!(
                f,
                "{algorithm} does {collective} only with blocks that are cut evenly"
            ),
            Refusal::NoPieces { collective } => write!(
                f,
                "{collective} has no counts for pairs of ranks: only all_to_all has"
            ),
            Refusal::OtherLevels { of, ranks } => {
                write!(f, "the levels are of {of} ranks, and there are {ranks}")
            }
            Refusal::NotRuns {
                algorithm,
                collective,
            } => {
                let alone = if collective.folds() && *collective != Collective::ReduceScatter {
                    " with an operator that does not commute"
                } else {
                    ""
                };
                write!(
                    f,
                    "{algorithm} does {collective}{alone} only where each group of the machine is a run of \
                     neighbouring ranks: place them by compact, numa or l3"
                )
            }
            Refusal::OneForm { collective } => write!(
                f,
                "{collective} has one form only: only all_reduce is both in place and from inputs"
            ),
        }
    }
}

fn not_for(
    f: &mut fmt::Formatter<'_>,
    algorithm: &Algorithm,
    collective: Collective,
) -> fmt::Result {
    let others = Algorithm::completions("", Some(collective)).join(", ");
    write!(
        f,
        "{algorithm} does not do {collective}; these do: {others}"
    )
}

impl std::error::Error for Refusal {}
