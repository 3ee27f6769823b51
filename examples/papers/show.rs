//! What the programs print.

use std::fmt::{self, Write};

use rankfold::topology::Topology;
use rankfold::{Result, WorldError};

use crate::options::Options;
use crate::programs::talk::{Message, Run, Talk, contribution, message, run};
use crate::programs::{cube, foster, linear_algebra, sanders, scaling, xiong};

/// Why nothing is printed.
#[derive(Debug)]
pub enum Failure {
    Usage(String),
    World(WorldError),
}

impl Failure {
    /// The exit code of the program.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::World(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(error) => f.write_str(error),
            Failure::World(error) => error.fmt(f),
        }
    }
}

/// Runs a program, and returns what it prints.
pub fn printed(options: &Options) -> std::result::Result<String, Failure> {
    match options.name {
        "matrix-vector" | "gauss" => algebra(options),
        "isoefficiency" => Ok(isoefficiency(options)),
        _ => messages(options),
    }
    .map(|text| format!("{}, {} ranks\n{text}\n", options.name, options.ranks))
}

fn messages(options: &Options) -> std::result::Result<String, Failure> {
    let topology = Topology::by_name(&options.topology, options.ranks);
    let topology = topology.map_err(|error| Failure::Usage(error.to_string()))?;
    let done = run(options.ranks, |talk| listing(talk, options, &topology));
    let Run { messages, results } = done.map_err(Failure::World)?;
    Ok(steps(&messages) + &ends(&results))
}

/// What the ranks that have a result end with.
fn ends(results: &[Vec<u64>]) -> String {
    if results.len() > 1 && results.iter().all(|one| *one == results[0]) {
        return format!("every rank has {:?}\n", results[0]);
    }
    let ends = results.iter().enumerate();
    let ends = ends.filter(|(_, one)| !one.is_empty());
    ends.map(|(rank, one)| format!("rank {rank} has {one:?}\n"))
        .collect()
}

/// Runs the listing of a rank.
fn listing(talk: &mut Talk<'_>, options: &Options, topology: &Topology) -> Result<Vec<u64>> {
    let &Options {
        elements,
        root,
        packets,
        ..
    } = options;
    let own = contribution(talk.rank(), elements);
    let sent = |root| match talk.rank() == root {
        true => message(elements),
        false => vec![0; elements],
    };
    let (rooted, broadcast) = (sent(root), sent(0));
    match options.name {
        "reduce" => xiong::reduce(talk, topology, own),
        "reduce-1-ring" => xiong::reduce_1_ring(talk, own),
        "reduce-2-tree" => xiong::reduce_2_tree(talk, own),
        "one-to-all-broadcast" => cube::one_to_all_broadcast(talk, root, rooted),
        "scatter" => cube::scatter(talk, root, &message(elements * talk.size()), elements),
        "all-to-all-reduction" if options.as_printed => {
            cube::all_to_all_reduction_as_printed(talk, own)
        }
        "all-to-all-reduction" => cube::all_to_all_reduction(talk, own),
        "template" => foster::simple_exchange(talk, own),
        "recursive-halving" => foster::recursive_halving(talk, own),
        "binomial" => sanders::binomial(talk, broadcast),
        "linear-pipeline" => sanders::linear_pipeline(talk, broadcast, packets),
        "binary-tree" => sanders::binary_tree(talk, broadcast, packets),
        _ => sanders::broadcast_23(talk, broadcast, packets),
    }
}

/// A line for each step with its messages; in brackets, the number of elements.
fn steps(messages: &[Message]) -> String {
    let mut text = String::new();
    for step in messages.chunk_by(|a, b| a.step == b.step) {
        let _ = write!(text, "step {}:", step[0].step);
        for one in step {
            let _ = write!(text, "  {}→{} ({})", one.from, one.to, one.elements);
        }
        text.push('\n');
    }
    text
}

/// The order of the matrices.
const ORDER: usize = 60;

fn algebra(options: &Options) -> std::result::Result<String, Failure> {
    let Options {
        ranks, algorithm, ..
    } = *options;
    let (of, what): (Program, _) = match options.name {
        "gauss" => (linear_algebra::gauss, "solution"),
        _ => (linear_algebra::matrix_vector, "product"),
    };
    let alone = of(1, ORDER, algorithm).map_err(Failure::World)?;
    let among = of(ranks, ORDER, algorithm).map_err(Failure::World)?;
    let verdict = match among == alone {
        true => "is that of one rank, bit for bit",
        false => "differs from that of one rank",
    };
    let mut text = format!("order {ORDER}, broadcasts by {algorithm}: the {what} {verdict}\n");
    if options.name == "gauss" {
        let residual = linear_algebra::residual(&among);
        let _ = writeln!(text, "the largest residual is {residual:.1e}");
    }
    Ok(text)
}

type Program =
    fn(usize, usize, rankfold::collective::Algorithm) -> std::result::Result<Vec<f64>, WorldError>;

fn isoefficiency(options: &Options) -> String {
    let mut text = "Floyd: the least n with T(n,1) >= C T0(n,p), for C = 1\n".to_owned();
    let heads = ["p", "n = f(p)", "T(n,1)", "T0(n,p)", "M(n)", "M(f(p))/p"];
    row(&mut text, heads.map(String::from));
    for point in scaling::points(1.0, options.ranks) {
        let figures = [
            point.size,
            point.serial,
            point.overhead,
            point.memory,
            point.each,
        ];
        let cells = std::iter::once(point.ranks.to_string()).chain(figures.map(|x| x.to_string()));
        row(&mut text, cells);
    }
    text
}

fn row(text: &mut String, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<_> = cells
        .into_iter()
        .map(|cell| format!("{cell:>14}"))
        .collect();
    let _ = writeln!(text, "{}", cells.concat());
}
