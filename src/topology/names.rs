//! The names of the families, written and read.

use std::fmt;
use std::str::FromStr;

use super::{Topology, TopologyError};
use crate::names;

/// The name of a family: everything that defines a topology except its number of ranks.
///
/// # Examples
///
/// ```
/// use rankfold::topology::{Topology, TreeName};
///
/// let name: TreeName = "k-tree:3".parse()?;
/// assert_eq!((name, name.to_string()), (TreeName::KTree(3), "k-tree:3".to_string()));
/// assert_eq!(name.on(8), Topology::k_tree(8, 3));
/// # Ok::<(), rankfold::topology::TopologyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreeName {
    /// [`Topology::chain`].
    Chain,
    /// [`Topology::decreasing_ring`].
    DecreasingRing,
    /// [`Topology::split_ring`].
    SplitRing,
    /// [`Topology::k_ring`] of this width, which is at least 1.
    KRing(usize),
    /// [`Topology::k_tree`] of this width, which is at least 1; 1 is the binomial tree.
    KTree(usize),
    /// [`Topology::flat`].
    Flat,
    /// [`Topology::flat_serial`].
    FlatSerial,
    /// [`Topology::k_ary`] of this width, which is at least 1.
    KAry(usize),
    /// [`Topology::in_order`].
    InOrder,
    /// [`Topology::fibonacci`].
    Fibonacci,
}

use TreeName::*;

/// The syntax that follows a family's name.
enum Maker {
    Plain(TreeName),
    /// Followed by a colon and the width.
    Wide(fn(usize) -> TreeName),
}

use Maker::{Plain, Wide};

/// All names, as errors list them, each at the index of its maker in [`MAKERS`].
const KNOWN: &[&str] = &[
    "chain",
    "decreasing-ring",
    "split-ring",
    "k-ring:K",
    "k-tree:K",
    "binomial",
    "flat",
    "flat-serial",
    "k-ary:K",
    "in-order",
    "fibonacci",
];

const MAKERS: [Maker; KNOWN.len()] = [
    Plain(Chain),
    Plain(DecreasingRing),
    Plain(SplitRing),
    Wide(KRing),
    Wide(KTree),
    Plain(TreeName::BINOMIAL),
    Plain(Flat),
    Plain(FlatSerial),
    Wide(KAry),
    Plain(InOrder),
    Plain(Fibonacci),
];

/// Other names of families. Those of the k-rings and k-trees, `K-ring` and `K-tree`, begin with their width.
const ALIASES: [(&str, TreeName); 5] = [
    ("1-ring", Chain),
    ("increasing-ring", Chain),
    ("binomial-tree", TreeName::BINOMIAL),
    ("star", Flat),
    ("binary-tree", KAry(2)),
];

/// The family of another name, or what should have been its width; `None` if it is no such name.
fn by_alias(name: &str) -> Option<Result<TreeName, &'static str>> {
    if let Some((_, family)) = ALIASES.iter().find(|(other, _)| *other == name) {
        return Some(Ok(*family));
    }
    let (width, kind) = name.split_once('-')?;
    let maker = match kind {
        "ring" => Wide(KRing),
        "tree" => Wide(KTree),
        _ => return None,
    };
    let digits = !width.is_empty() && width.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| make(&maker, Some(width)))
}

impl TreeName {
    /// The names that the literature has for families, where they differ from the names here, with `K` for the width:
    /// `1-ring` for the chain, `K-tree` for `k-tree:K` and `K-ring` for `k-ring:K`, `binomial-tree`, `star`
    /// for `flat`, `binary-tree` for `k-ary:2`.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::{Topology, TreeName};
    ///
    /// assert_eq!(Topology::by_name("2-tree", 8)?, Topology::k_tree(8, 2));
    /// assert_eq!("1-ring".parse::<TreeName>()?, TreeName::Chain);
    /// assert_eq!("2-ring".parse::<TreeName>()?, TreeName::KRing(2));
    /// # Ok::<(), rankfold::topology::TopologyError>(())
    /// ```
    pub fn aliases() -> impl Iterator<Item = &'static str> {
        ALIASES
            .iter()
            .map(|(other, _)| *other)
            .chain(["K-ring", "K-tree"])
    }

    /// The other names of this family.
    pub(crate) fn also_called(self) -> Vec<String> {
        let mut names = Vec::new();
        for (other, family) in ALIASES {
            if family == self {
                names.push(other.to_owned());
            }
        }
        match self {
            KRing(k) => names.push(format!("{k}-ring")),
            KTree(k) => names.push(format!("{k}-tree")),
            _ => {}
        }
        names
    }

    /// The text that the family is from.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Chain => "Xiong 1999, 4.1",
            KTree(2) => "Xiong 1999, 4.2",
            KTree(1) => "Sanders",
            KTree(_) => "after Xiong 1999, 4.2",
            DecreasingRing | SplitRing | KRing(_) | Flat => "BLACS",
            FlatSerial => "-",
            KAry(2) => "Foster 11.2",
            KAry(_) => "after Foster 11.2",
            InOrder => "Sanders 2009",
            Fibonacci => "Bruck 1992",
        }
    }

    /// The binomial tree.
    pub const BINOMIAL: TreeName = KTree(1);

    /// All names as they are written, with `K` for the width.
    pub const KNOWN: &[&str] = KNOWN;

    /// The family on `n` ranks, with root 0.
    ///
    /// # Panics
    ///
    /// If `n` or the width is 0.
    #[track_caller]
    pub fn on(self, n: usize) -> Topology {
        match self {
            Chain => Topology::chain(n),
            DecreasingRing => Topology::decreasing_ring(n),
            SplitRing => Topology::split_ring(n),
            KRing(k) => Topology::k_ring(n, k),
            KTree(k) => Topology::k_tree(n, k),
            Flat => Topology::flat(n),
            FlatSerial => Topology::flat_serial(n),
            KAry(k) => Topology::k_ary(n, k),
            InOrder => Topology::in_order(n),
            Fibonacci => Topology::fibonacci(n),
        }
    }
}

impl fmt::Display for TreeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TreeName::BINOMIAL => f.write_str("binomial"),
            KRing(k) => write!(f, "k-ring:{k}"),
            KTree(k) => write!(f, "k-tree:{k}"),
            KAry(k) => write!(f, "k-ary:{k}"),
            Chain => f.write_str("chain"),
            DecreasingRing => f.write_str("decreasing-ring"),
            SplitRing => f.write_str("split-ring"),
            Flat => f.write_str("flat"),
            FlatSerial => f.write_str("flat-serial"),
            InOrder => f.write_str("in-order"),
            Fibonacci => f.write_str("fibonacci"),
        }
    }
}

impl FromStr for TreeName {
    type Err = TopologyError;

    fn from_str(name: &str) -> Result<TreeName, TopologyError> {
        let bad_width = |expected| TopologyError::BadWidth {
            name: name.into(),
            expected,
        };
        if let Some(found) = by_alias(name) {
            return found.map_err(bad_width);
        }
        let (stem, number) = match name.split_once(':') {
            Some((stem, number)) => (stem, Some(number)),
            None => (name, None),
        };
        let place = KNOWN
            .iter()
            .position(|known| stem_of(known) == stem)
            .ok_or_else(|| unknown(name, stem))?;
        make(&MAKERS[place], number).map_err(bad_width)
    }
}

impl Topology {
    /// The name of the topology's family, or `custom`.
    ///
    /// The k-tree with k = 1 is called `binomial`. The root is not part of the name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::k_tree(8, 3).name(), "k-tree:3");
    /// assert_eq!(Topology::k_tree(8, 1).name(), "binomial");
    /// ```
    pub fn name(&self) -> String {
        self.shape
            .name()
            .map_or_else(|| "custom".into(), |name| name.to_string())
    }

    /// The family of this name on `n` ranks, with root 0.
    ///
    /// The names are `chain`, `decreasing-ring`, `split-ring`, `k-ring:K`, `k-tree:K`, `binomial`, `flat`,
    /// `flat-serial`, `k-ary:K`, `in-order` and `fibonacci`, where K is a number of at least 1.
    ///
    /// # Errors
    ///
    /// If `n` is 0, if no family has this name, or if the number after the colon is missing, too small or unexpected.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::Topology;
    ///
    /// assert_eq!(Topology::by_name("k-tree:2", 8)?, Topology::k_tree(8, 2));
    /// let refused = Topology::by_name("binominal", 8).unwrap_err();
    /// assert!(refused.to_string().starts_with("no topology is called `binominal`; did you mean `binomial`?"));
    /// # Ok::<(), rankfold::topology::TopologyError>(())
    /// ```
    pub fn by_name(name: &str, n: usize) -> Result<Topology, TopologyError> {
        if n == 0 {
            return Err(TopologyError::NoRanks);
        }
        Ok(name.parse::<TreeName>()?.on(n))
    }
}

/// The family, or what should have followed its name.
fn make(maker: &Maker, number: Option<&str>) -> Result<TreeName, &'static str> {
    match (maker, number) {
        (Plain(family), None) => Ok(*family),
        (Plain(_), Some(_)) => Err("this family has no width"),
        (Wide(family), number) => match number.and_then(|number| number.parse().ok()) {
            Some(k) if k > 0 => Ok(family(k)),
            _ => Err("wants a colon and a width of at least 1, as in `k-tree:3`"),
        },
    }
}

fn stem_of(known: &str) -> &str {
    known.trim_end_matches(":K")
}

/// All names and all other names.
fn every_name() -> Vec<&'static str> {
    KNOWN.iter().copied().chain(TreeName::aliases()).collect()
}

fn unknown(name: &str, stem: &str) -> TopologyError {
    TopologyError::UnknownName {
        name: name.to_owned(),
        nearest: names::nearest(stem, &every_name(), stem_of),
        known: KNOWN,
    }
}
