//! The names of the families, written and read.

use super::{Topology, TopologyError};

/// How a family is made.
enum Maker {
    Plain(fn(usize) -> Topology),
    /// From ranks and width: the name is followed by a colon and the width.
    Wide(fn(usize, usize) -> Topology),
}

use Maker::{Plain, Wide};

/// All names, as an error lists them, each in the place of its maker in [`MAKERS`].
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
    Plain(Topology::chain),
    Plain(Topology::decreasing_ring),
    Plain(Topology::split_ring),
    Wide(Topology::k_ring),
    Wide(Topology::k_tree),
    Plain(Topology::binomial),
    Plain(Topology::flat),
    Plain(Topology::flat_serial),
    Wide(Topology::k_ary),
    Plain(Topology::in_order),
    Plain(Topology::fibonacci),
];

impl Topology {
    /// What this topology is called: the name of its family, or `custom`.
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
        self.shape.name()
    }

    /// The family of this name on `n` ranks, with root 0.
    ///
    /// The names: `chain`, `decreasing-ring`, `split-ring`, `k-ring:K`, `k-tree:K`, `binomial`,
    /// `flat`, `flat-serial`, `k-ary:K`, `in-order`, `fibonacci`, with a number of at least 1 for K.
    ///
    /// # Errors
    ///
    /// If `n` is 0, no family has this name, or the number after the colon is missing, too small or
    /// one too many.
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
        let (stem, number) = match name.split_once(':') {
            Some((stem, number)) => (stem, Some(number)),
            None => (name, None),
        };
        let place = KNOWN
            .iter()
            .position(|known| stem_of(known) == stem)
            .ok_or_else(|| unknown(name, stem))?;
        make(&MAKERS[place], n, number).map_err(|expected| TopologyError::BadWidth {
            name: name.into(),
            expected,
        })
    }
}

/// The family, or what should have followed its name.
fn make(maker: &Maker, n: usize, number: Option<&str>) -> Result<Topology, &'static str> {
    match (maker, number) {
        (Plain(family), None) => Ok(family(n)),
        (Plain(_), Some(_)) => Err("this family has no width"),
        (Wide(family), number) => match number.and_then(|number| number.parse().ok()) {
            Some(k) if k > 0 => Ok(family(n, k)),
            _ => Err("wants a colon and a width of at least 1, as in `k-tree:3`"),
        },
    }
}

fn stem_of(known: &str) -> &str {
    known.trim_end_matches(":K")
}

fn unknown(name: &str, stem: &str) -> TopologyError {
    let distance = |known: &&&str| edits(stem, stem_of(known));
    let nearest = KNOWN
        .iter()
        .min_by_key(distance)
        .filter(|known| distance(known) <= stem.len() / 2);
    TopologyError::UnknownName {
        name: name.to_owned(),
        nearest: nearest.copied(),
        known: KNOWN,
    }
}

/// How many letters must be put in, left out or changed to make `a` into `b`.
///
/// # Source
///
/// The dynamic programme of Wagner and Fischer, *The String-to-String Correction Problem*, J. ACM
/// 21(1), 1974, of which only one row is kept.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let kept = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = kept.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[row.len() - 1]
}
