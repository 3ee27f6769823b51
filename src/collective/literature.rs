//! The names that the literature has for algorithms, and where each algorithm is from.

use super::Algorithm;
use crate::topology::TreeName;

/// Other names of algorithms that are not families of topologies.
const NAMES: [(&str, &str); 7] = [
    ("butterfly", "exchange"),
    ("simple-exchange", "exchange"),
    ("all-to-all-reduction", "exchange"),
    ("recursive-halving", "halving"),
    ("rabenseifner", "halving"),
    ("recursive-doubling", "doubling"),
    ("23-broadcast", "two-tree"),
];

/// Other names of families, but only in segments.
const PIPELINES: [(&str, &str); 2] = [
    ("linear-pipeline", "chain"),
    ("pipelined-binary-tree", "in-order"),
];

/// The name that an algorithm has here, given any of its names without segments.
pub(super) fn own_name(name: &str, in_segments: bool) -> &str {
    let pipelines = PIPELINES.iter().filter(|_| in_segments);
    let mut all = NAMES.iter().chain(pipelines);
    all.find(|(other, _)| *other == name)
        .map_or(name, |(_, own)| own)
}

/// Whether a name is one of an algorithm that is nothing without segments.
pub(super) fn wants_segments(name: &str) -> bool {
    PIPELINES.iter().any(|(other, _)| *other == name)
}

impl Algorithm {
    /// The names of algorithms in the literature that differ from the names here; `K` is the width of the family. Each
    /// is read like the name that it stands for, with the same `:segments=K`.
    ///
    /// Two pairs are easily confused: the *2-tree* of Xiong is `k-tree:2`, and the *two-tree* broadcast of Sanders,
    /// Speck and Träff, or *23-broadcast*, is `two-tree:segments=K`; a *2-ring* is `k-ring:2`, and a
    /// *1-ring* the `chain`.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::Algorithm;
    ///
    /// assert_eq!("butterfly".parse(), Ok(Algorithm::Exchange));
    /// assert_eq!("2-tree".parse::<Algorithm>(), "k-tree:2".parse());
    /// assert_eq!("23-broadcast:segments=8".parse::<Algorithm>(), "two-tree:segments=8".parse());
    /// assert_eq!("linear-pipeline:segments=8".parse::<Algorithm>(), "chain:segments=8".parse());
    /// assert!(Algorithm::aliases().any(|name| name == "K-tree"));
    /// ```
    pub fn aliases() -> impl Iterator<Item = &'static str> {
        let plain = NAMES.iter().chain(&PIPELINES).map(|(other, _)| *other);
        plain.chain(TreeName::aliases())
    }

    /// The other names of this algorithm, without segments.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::Algorithm;
    ///
    /// assert_eq!(Algorithm::Halving.also_called(), ["recursive-halving", "rabenseifner"]);
    /// let chain: Algorithm = "chain".parse().unwrap();
    /// assert_eq!(chain.also_called(), ["1-ring", "increasing-ring"]);
    /// ```
    pub fn also_called(self) -> Vec<String> {
        let mut names = match self {
            Algorithm::Tree {
                tree,
                segments: None,
            } => tree.also_called(),
            _ => Vec::new(),
        };
        let written = self.to_string();
        let own = written.split(':').next().unwrap_or_default();
        let all: [&[(&str, &str)]; 2] = match self.segments() {
            None => [&NAMES, &[]],
            Some(_) => [&NAMES, &PIPELINES],
        };
        for (other, name) in all.into_iter().flatten() {
            if *name == own {
                names.push((*other).to_owned());
            }
        }
        names
    }

    /// The text that the algorithm is from, or the first of several.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::collective::Algorithm;
    ///
    /// assert_eq!(Algorithm::Exchange.source(), "Foster 11.2");
    /// ```
    pub fn source(self) -> &'static str {
        use Algorithm::*;
        match self {
            Tree {
                segments: Some(_),
                tree,
            } => pipeline_source(tree),
            Tree { tree, .. } => tree.source(),
            Hypercube => "Kumar 4.1, 4.4",
            Exchange | Halving | Hybrid { .. } => "Foster 11.2",
            FarHalving | Ring | Pairwise | ScatterDoubling | ScatterRing => "Thakur 2005",
            Doubling => "Thakur 2005; scans: Hillis 1986",
            Bruck => "Bruck 1997",
            Dissemination => "Hensgen 1988",
            TwoTree { .. } => "Sanders 2009",
            Esbt { .. } => "Johnsson 1989",
            Circulant { .. } => "Träff 2024",
            Cells | Gate | Direct | Hierarchical { .. } => "-",
        }
    }
}

fn pipeline_source(tree: TreeName) -> &'static str {
    match tree {
        TreeName::Fibonacci => "Bruck 1992",
        _ => "Sanders 2009",
    }
}
