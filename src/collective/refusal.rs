//! The reasons why an algorithm cannot be used for a call.

use super::needs::tree_needs;
use super::{Algorithm, Call, Collective, Needs};
use crate::Rank;
use crate::schedule::faults;
use crate::topology::{Levels, TreeName, TwoTrees};

faults! {
/// The reason why an algorithm cannot be used for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There are no ranks.
    NoRanks => "a collective of 0 ranks";
    /// The root is not one of the ranks.
    NoSuchRoot { root: Rank, ranks: usize } => "root {root} is not one of the {ranks} ranks";
    /// A root was given, but the collective has none.
    NoRoot { root: Rank, collective: Collective } => "{collective} has no root, and root {root} was given";
    /// The algorithm serves other collectives.
    NotFor { algorithm: Algorithm, collective: Collective }
        => "{algorithm} does not do {collective}; these do: {}", those_for(*collective);
    /// The family serves the collective, but not in segments.
    NotPipelined { tree: TreeName, collective: Collective }
        => "{tree} cannot be pipelined in {collective}: leave out `:segments=`";
    /// The number of ranks is not a power of two.
    NoPowerOfTwo { algorithm: Algorithm, ranks: usize }
        => "{algorithm} needs a number of ranks that is a power of two, and there are {ranks}";
    /// The operator does not commute.
    MustCommute { algorithm: Algorithm }
        => "{algorithm} does not keep operands in rank order: the operator must commute";
    /// The number of stages of halving exceeds the number of dimensions.
    TooManyStages { stages: u32, dimensions: u32, ranks: usize }
        => "hybrid:{stages} has more stages than {ranks} ranks have dimensions: at most {dimensions}";
    /// A family of width 0.
    NoWidth { algorithm: Algorithm } => "{algorithm} is of no width: it must be at least 1";
    /// More ranks than the algorithm's table supports.
    TooManyRanks { algorithm: Algorithm, ranks: usize, most: usize }
        => "{algorithm} needs a table of all ranks, and has none for {ranks}: at most {most}";
    /// Blocks that are not cut evenly.
    UnevenBlocks { algorithm: Algorithm, collective: Collective }
        => "{algorithm} does {collective} only with blocks that are cut evenly";
    /// Counts for pairs of ranks, but the collective takes none.
    NoPieces { collective: Collective }
        => "{collective} has no counts for pairs of ranks: only all_to_all has";
    /// Levels for another number of ranks.
    OtherLevels { of: usize, ranks: usize } => "the levels are of {of} ranks, and there are {ranks}";
    /// Groups of ranks that are not neighbours, where only neighbours can be folded or sent together.
    NotRuns { algorithm: Algorithm, collective: Collective }
        => "{algorithm} does {collective}{} only where each group of the machine is a run of \
            neighbouring ranks: place them by compact, numa or l3", in_order(*collective);
    /// The form from inputs was requested, but the collective has only one form.
    OneForm { collective: Collective }
        => "{collective} has one form only: only all_reduce is both in place and from inputs";
}
}

fn those_for(collective: Collective) -> String {
    Algorithm::completions("", Some(collective)).join(", ")
}

/// The condition under which groups must be contiguous, if only operators that do not commute require it.
fn in_order(collective: Collective) -> &'static str {
    if collective.folds() && collective != Collective::ReduceScatter {
        " with an operator that does not commute"
    } else {
        ""
    }
}

impl Algorithm {
    /// The reason why the algorithm cannot be used for a call; `None` if it can.
    ///
    /// There are no silent substitutions: an algorithm refuses what it does not support.
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
        let Some(needs) = self.needs(call.collective) else {
            return Some(self.not_for(call.collective));
        };
        senseless(call)
            .or_else(|| self.missed(needs, call))
            .or_else(|| self.beyond(call))
    }

    /// The requirement that the call does not meet.
    fn missed(self, needs: Needs, call: &Call) -> Option<Refusal> {
        let (algorithm, collective, ranks) = (self, call.collective, call.ranks());
        let even = call.blocks.is_even() && call.pieces.is_none();
        if needs.power_of_two && !ranks.is_power_of_two() {
            return Some(Refusal::NoPowerOfTwo { algorithm, ranks });
        }
        if needs.commutative && !call.commutes && ranks > 1 {
            return Some(Refusal::MustCommute { algorithm });
        }
        (needs.even_blocks && !even).then_some(Refusal::UnevenBlocks {
            algorithm,
            collective,
        })
    }

    /// The refusal due to the algorithm's own parameters, or to the groups of the ranks.
    fn beyond(self, call: &Call) -> Option<Refusal> {
        let (algorithm, ranks, most) = (self, call.ranks(), TwoTrees::MOST_RANKS);
        match self {
            Algorithm::Hierarchical { .. } => {
                let levels = call.levels.as_ref()?;
                self.refused_on(call, levels)
            }
            Algorithm::TwoTree { .. } if ranks > most => Some(Refusal::TooManyRanks {
                algorithm,
                ranks,
                most,
            }),
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

    /// The refusal due to the groups of the ranks.
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

/// The refusal of a call that no algorithm can run.
fn senseless(call: &Call) -> Option<Refusal> {
    let (collective, ranks, root) = (call.collective, call.ranks(), call.root);
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
    let pieces = call.pieces.is_some() && collective != Collective::AllToAll;
    pieces.then_some(Refusal::NoPieces { collective })
}
