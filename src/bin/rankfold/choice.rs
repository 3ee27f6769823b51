//! Which algorithms a command is about: by name, or all of them, for one collective or for those they serve.

use std::num::NonZeroUsize;
use std::str::FromStr;

use clap::Args;
use rankfold::Rank;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::simulate::MOST_RANKS;
use rankfold::topology::Levels;

use super::stop::Stop;

/// The arguments of every command that is about algorithms.
#[derive(Args)]
pub struct Choice {
    /// Algorithms, as `halving`, `hybrid:2`, `k-tree:3` or `chain:segments=16`; `all` for all there are.
    #[arg(value_name = "ALGORITHM")]
    names: Vec<Named>,
    /// The same as an option, once for each.
    #[arg(long = "algorithm", value_name = "ALGORITHM")]
    more: Vec<Named>,
    /// What they are to do, as `all_reduce`; without it, what they can.
    #[arg(long, value_name = "COLLECTIVE")]
    collective: Option<Collective>,
    /// Ranks in groups, for `hierarchical`: groups of 8 neighbours, and these in groups of 2, are `8,2`.
    #[arg(long, value_name = "WIDTHS", value_delimiter = ',')]
    groups: Vec<NonZeroUsize>,
    /// Ranks that take turns on too few CPUs: by `cells`, one of them folds for all in an all_reduce.
    #[arg(long)]
    crowded: bool,
}

/// One named value, or all of them.
#[derive(Clone, Copy)]
pub enum Many<T> {
    All,
    One(T),
}

impl<T: FromStr> FromStr for Many<T> {
    type Err = T::Err;

    fn from_str(name: &str) -> Result<Many<T>, T::Err> {
        match name {
            "all" => Ok(Many::All),
            _ => name.parse().map(Many::One),
        }
    }
}

/// An algorithm, as it was typed.
type Named = Many<Algorithm>;

/// Maximum elements of a vector: 2^40, with room for everything computed from them.
const MOST_ELEMENTS: u64 = 1 << 40;

/// Returns the call of a collective by an operator that commutes or does not; refuses what is too large for any of the
/// commands.
pub fn call(
    collective: Collective,
    ranks: usize,
    length: usize,
    root: Rank,
    ordered: bool,
) -> Result<Call, Stop> {
    if ranks == 0 {
        return Err(Stop::input("--ranks: there is at least one rank"));
    }
    if ranks > MOST_RANKS {
        let line = format!("--ranks: {ranks} ranks are too many; at most {MOST_RANKS}");
        return Err(Stop::Input(line));
    }
    if length as u64 > MOST_ELEMENTS {
        let line = format!("a vector of {length} elements is too long; at most {MOST_ELEMENTS}");
        return Err(Stop::Input(line));
    }
    let call = Call::new(collective, ranks, length).to_root(root);
    Ok(if ordered { call } else { call.commuting() })
}

impl Choice {
    /// Returns the call among ranks in the requested groups, which take turns if that is requested.
    pub fn placed(&self, call: Call) -> Result<Call, Stop> {
        let call = if self.crowded { call.crowded() } else { call };
        if self.groups.is_empty() {
            return Ok(call);
        }
        if self.groups.len() > MOST_GROUPS {
            return Err(Stop::Input(format!(
                "--groups: at most {MOST_GROUPS} widths"
            )));
        }
        if call.ranks() > MOST_GROUPED {
            return Err(Stop::Input(format!(
                "--groups: for at most {MOST_GROUPED} ranks"
            )));
        }
        let widths: Vec<usize> = self.groups.iter().map(|width| width.get()).collect();
        let levels = Levels::runs(call.ranks(), &widths);
        Ok(call.on(levels))
    }
}

/// Maximum depth of groups in groups, beyond any machine's.
const MOST_GROUPS: usize = 8;

/// Maximum number of ranks whose groups are stored one by one.
const MOST_GROUPED: usize = 1 << 20;

/// One algorithm for one collective.
#[derive(Clone, Copy)]
pub struct Pair {
    pub collective: Collective,
    pub algorithm: Algorithm,
    /// Whether it was requested by name, so that a refusal is reported.
    pub by_name: bool,
}

impl Choice {
    /// Returns every algorithm for every collective that it serves, or for the given one.
    pub fn everywhere(&self) -> Result<Vec<Pair>, Stop> {
        let collectives = |_| match self.collective {
            Some(collective) => vec![collective],
            None => Collective::all().collect(),
        };
        self.pairs(collectives)
    }

    /// Returns every algorithm for the given collective, or else for the first that it serves, where all_reduce comes
    /// first.
    pub fn once(&self) -> Result<Vec<Pair>, Stop> {
        self.pairs(|named| vec![self.collective.unwrap_or_else(|| first_served(named))])
    }

    fn pairs(&self, collectives: impl Fn(Named) -> Vec<Collective>) -> Result<Vec<Pair>, Stop> {
        let mut pairs = Vec::new();
        for named in self.named() {
            let before = pairs.len();
            for collective in collectives(named) {
                match named {
                    Named::All => pairs.extend(all(collective)),
                    Named::One(algorithm) => pairs.extend(pair(collective, algorithm)),
                }
            }
            match named {
                Named::One(algorithm) if pairs.len() == before => return Err(self.none(algorithm)),
                _ => {}
            }
        }
        Ok(pairs)
    }

    /// Returns why the algorithm serves nothing that was requested.
    fn none(&self, algorithm: Algorithm) -> Stop {
        let collective = self.collective.unwrap_or(Collective::AllReduce);
        let refused = algorithm.refused(&Call::new(collective, 1, 1).commuting());
        match refused {
            Some(refusal) => Stop::input(refusal),
            None => Stop::Input(format!("{algorithm} does nothing")),
        }
    }

    /// Returns all names; all algorithms if there are none.
    fn named(&self) -> Vec<Named> {
        let names = self.names.iter().chain(&self.more).copied();
        let names: Vec<Named> = names.collect();
        if names.is_empty() {
            vec![Named::All]
        } else {
            names
        }
    }
}

/// Returns the pair if the algorithm serves the collective.
fn pair(collective: Collective, algorithm: Algorithm) -> Option<Pair> {
    algorithm.needs(collective).map(|_| Pair {
        collective,
        algorithm,
        by_name: true,
    })
}

fn all(collective: Collective) -> impl Iterator<Item = Pair> {
    Algorithm::all(collective).map(move |algorithm| Pair {
        collective,
        algorithm,
        by_name: false,
    })
}

fn first_served(named: Named) -> Collective {
    let serves = |collective: &Collective| match named {
        Named::All => true,
        Named::One(algorithm) => algorithm.needs(*collective).is_some(),
    };
    let preferred = std::iter::once(Collective::AllReduce);
    let mut served = preferred.chain(Collective::all()).filter(serves);
    served.next().unwrap_or(Collective::AllReduce)
}
