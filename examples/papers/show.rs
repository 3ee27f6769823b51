//! What the programs print.

use std::fmt::Write;

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
    let mut text = steps(&messages);
    for (rank, result) in results
        .iter()
        .enumerate()
        .filter(|(_, one)| !one.is_empty())
    {
        let _ = writeln!(text, "rank {rank} has {result:?}");
    }
    Ok(text)
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
    let mut text =
        "Floyd, C = 1: ranks p, size f(p) = p log p, memory M(f(p))/p = p log² p\n".to_owned();
    for point in scaling::points(1.0, options.ranks) {
        let _ = writeln!(
            text,
            "{:5} {:9} {:12}",
            point.ranks, point.size, point.memory
        );
    }
    text
}
