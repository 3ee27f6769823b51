//! Algorithms whose number of segments or of stages may be left open: the best one for each call.

use std::fmt;
use std::str::FromStr;

use rankfold::collective::{Algorithm, Call, Collective, UnknownAlgorithm};
use rankfold::cost::{Model, best_segments, best_stages, closed_form};

use crate::curves::{family, in_segments};

/// An algorithm, or a family of which the fastest is taken.
#[derive(Clone, Copy, PartialEq)]
pub enum Which {
    Fixed(Algorithm),
    /// The number of segments or of stages means nothing.
    Best(Algorithm),
}

impl FromStr for Which {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Which, UnknownAlgorithm> {
        match name.strip_suffix("best") {
            Some(family) if family.ends_with(":segments=") || family == "hybrid:" => {
                format!("{family}1").parse().map(Which::Best)
            }
            _ => name.parse().map(Which::Fixed),
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Fixed(algorithm) => algorithm.fmt(f),
            Which::Best(algorithm @ Algorithm::Hybrid { .. }) => {
                write!(f, "{}:best", family(*algorithm))
            }
            Which::Best(algorithm) => write!(f, "{}:segments=best", family(*algorithm)),
        }
    }
}

impl Which {
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Which::Fixed(algorithm) | Which::Best(algorithm) => *algorithm,
        }
    }

    /// Returns the algorithm for a call.
    pub fn at(&self, call: &Call, model: &Model) -> Algorithm {
        match *self {
            Which::Fixed(algorithm) => algorithm,
            Which::Best(Algorithm::Hybrid { .. }) => Algorithm::Hybrid {
                stages: best_stages(call.ranks(), call.length(), model),
            },
            Which::Best(algorithm) => best_segments(algorithm, call, model)
                .and_then(|segments| in_segments(algorithm, segments))
                .unwrap_or(algorithm),
        }
    }
}

/// Returns the given algorithms, or else all with a closed form, each family once.
pub fn which(collective: Collective, given: &[Which]) -> Vec<Which> {
    if !given.is_empty() {
        return given.to_vec();
    }
    // A barrier moves no elements.
    let length = if collective == Collective::Barrier {
        0
    } else {
        2
    };
    let call = Call::new(collective, 2, length).commuting();
    let has_form = |one: &Algorithm| closed_form(*one, &call).is_some();
    let mut all: Vec<Which> = Vec::new();
    for algorithm in Algorithm::all(collective).filter(has_form) {
        let is_open = matches!(algorithm, Algorithm::Hybrid { .. });
        let which = match is_open || in_segments(algorithm, 1).is_some() {
            true => Which::Best(algorithm),
            false => Which::Fixed(algorithm),
        };
        if !all.iter().any(|one| one.to_string() == which.to_string()) {
            all.push(which);
        }
    }
    all
}
