//! The command line.

use rankfold::collective::Algorithm;
use rankfold::topology::{Topology, TreeName};

/// The names of the programs.
pub const NAMES: [&str; 15] = [
    "reduce",
    "reduce-1-ring",
    "reduce-2-tree",
    "one-to-all-broadcast",
    "all-to-all-reduction",
    "scatter",
    "template",
    "recursive-halving",
    "binomial",
    "linear-pipeline",
    "binary-tree",
    "23-broadcast",
    "matrix-vector",
    "gauss",
    "isoefficiency",
];

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub name: &'static str,
    /// At least 1, and a power of two for programs on a hypercube.
    pub ranks: usize,
    pub elements: usize,
    /// The source, below the number of ranks.
    pub root: usize,
    pub packets: usize,
    /// The family of `reduce`.
    pub topology: String,
    /// The broadcast of the programs of linear algebra.
    pub algorithm: Algorithm,
    /// Whether to run the listing with its slip.
    pub as_printed: bool,
}

/// Parses the arguments. The error is a sentence.
pub fn parse(arguments: &[impl AsRef<str>]) -> Result<Options, String> {
    let mut words = arguments.iter().map(AsRef::as_ref);
    let name = words.next().unwrap_or_default();
    let known = NAMES.iter().find(|known| **known == name);
    let mut options = Options {
        name: known.ok_or_else(|| {
            format!(
                "no program is called {name:?} (known: {})",
                NAMES.join(", ")
            )
        })?,
        ranks: 8,
        elements: 4,
        root: 0,
        packets: 4,
        topology: "2-tree".into(),
        algorithm: Algorithm::Tree {
            tree: TreeName::BINOMIAL,
            segments: None,
        },
        as_printed: false,
    };
    while let Some(option) = words.next() {
        if option == "--as-printed" {
            options.as_printed = true;
            continue;
        }
        let value = words.next().ok_or(format!("{option} wants a value"))?;
        set(&mut options, option, value)?;
    }
    fits(&options)?;
    Ok(options)
}

fn set(options: &mut Options, option: &str, value: &str) -> Result<(), String> {
    let number = || {
        value
            .parse()
            .map_err(|_| format!("{option} {value}: not a number"))
    };
    match option {
        "--ranks" => options.ranks = number()?,
        "--elements" => options.elements = number()?,
        "--root" => options.root = number()?,
        "--packets" => options.packets = number()?,
        "--topology" => options.topology = value.into(),
        "--algorithm" => {
            options.algorithm = value.parse().map_err(|error| format!("{error}"))?;
        }
        _ => {
            return Err(format!(
                "there is no option {option} (known: --ranks, --elements, --root, --packets, --topology, --algorithm, \
                 --as-printed)"
            ));
        }
    }
    Ok(())
}

/// The programs on a hypercube.
const ON_CUBES: [&str; 5] = [
    "one-to-all-broadcast",
    "all-to-all-reduction",
    "scatter",
    "template",
    "recursive-halving",
];

/// The most ranks that a program is run with.
const MOST: usize = 1024;

fn fits(options: &Options) -> Result<(), String> {
    let Options { ranks, root, .. } = *options;
    if !(1..=MOST).contains(&ranks) {
        return Err(format!("--ranks {ranks}: from 1 to {MOST}"));
    }
    if root >= ranks {
        return Err(format!("--root {root} is not one of the {ranks} ranks"));
    }
    if ON_CUBES.contains(&options.name) && !ranks.is_power_of_two() {
        return Err(format!(
            "--ranks {ranks}: {} wants a power of two",
            options.name
        ));
    }
    let topology = Topology::by_name(&options.topology, ranks);
    topology.map(|_| ()).map_err(|error| error.to_string())
}
