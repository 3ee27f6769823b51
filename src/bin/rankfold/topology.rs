//! `rankfold topology`: reads a topology or builds one of a family, verifies it, and writes or draws it.

use std::path::Path;

use clap::{Args, ValueEnum};
use rankfold::Rank;
use rankfold::draw;
use rankfold::topology::{Formal, Topology, TopologyError};

use super::input;
use super::output::Results;
use super::stop::Stop;

/// Maximum number of ranks that are listed; a longer list is of no use to a reader.
const MOST: usize = 1 << 22;

/// Validate a topology, and print its triples or draw it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold topology k-tree:2 --ranks 27 --format tree
  rankfold topology 2-tree --ranks 8 --nodes --format tree
  rankfold topology my-triples.txt --strict")]
pub struct Arguments {
    /// A file of triples, as text or JSON; `-` for standard input; or a family such as `k-tree:2`.
    #[arg(value_name = "FILE|FAMILY")]
    source: String,
    /// How many ranks the family has; a file must have as many.
    #[arg(long, value_name = "N")]
    ranks: Option<usize>,
    /// Turn the topology until this rank is its root.
    #[arg(long, value_name = "R")]
    root: Option<Rank>,
    /// Ask for the six properties of the strict form as well; those of a file's own nodes, if it has any.
    #[arg(long)]
    strict: bool,
    /// Show the definition instead of the triples: the partition, the weighted tree of its nodes, the association maps.
    #[arg(long, conflicts_with = "root")]
    nodes: bool,
    #[command(flatten)]
    results: Results<Format>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// One triple `p t q` a line; with --nodes, one node a line.
    Text,
    /// By the schema `rankfold.topology/1`.
    Json,
    /// For Graphviz.
    Dot,
    /// A drawing of the tree in box characters.
    Tree,
    /// A drawing of the tree.
    Svg,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let output = arguments.results.to.open()?;
    let Found { topology, formal } = found(arguments)?;
    let topology = turned(topology, arguments.root)?;
    if arguments.strict {
        strict(&topology, formal.as_ref())
            .map_err(|error| Stop::input(format!("{}: {error}", arguments.source)))?;
    }
    let format = arguments.results.format;
    output.write(&match arguments.nodes {
        true => nodes(&formal.unwrap_or_else(|| topology.formal()), format)?,
        false => written(&topology, format)?,
    })
}

/// Checks the six properties: of the nodes that a file defines, else of those that the triples define.
fn strict(topology: &Topology, formal: Option<&Formal>) -> Result<(), TopologyError> {
    match formal {
        Some(formal) => formal.strict().map(|_| ()),
        None => topology.check_strict(),
    }
}

fn nodes(formal: &Formal, format: Format) -> Result<String, Stop> {
    let drawn = || draw::nodes(formal).map_err(Stop::input);
    Ok(match format {
        Format::Text => formal.to_text(),
        Format::Json => formal.to_json(),
        Format::Dot => formal.to_dot(),
        Format::Tree => drawn()?.text().to_owned(),
        Format::Svg => drawn()?.try_svg().map_err(Stop::input)?,
    })
}

fn written(topology: &Topology, format: Format) -> Result<String, Stop> {
    let drawn = || draw::tree(topology).map_err(Stop::input);
    Ok(match format {
        Format::Text => topology.to_text(),
        Format::Json => topology.to_json(),
        Format::Dot => topology.to_dot(),
        Format::Tree => drawn()?.text().to_owned(),
        Format::Svg => drawn()?.try_svg().map_err(Stop::input)?,
    })
}

fn turned(topology: Topology, root: Option<Rank>) -> Result<Topology, Stop> {
    let ranks = topology.ranks();
    match root {
        Some(root) if root >= ranks => Err(Stop::input(format!(
            "--root: rank {root} is not one of the {ranks} ranks"
        ))),
        Some(root) => Ok(topology.rooted(root)),
        None => Ok(topology),
    }
}

/// A topology, and its definition if the file gives that.
struct Found {
    topology: Topology,
    formal: Option<Formal>,
}

/// Returns the family of this name, or else what is in the file.
fn found(arguments: &Arguments) -> Result<Found, Stop> {
    let source = arguments.source.as_str();
    match Topology::by_name(source, 1) {
        Ok(_) => Ok(Found {
            topology: family(source, arguments.ranks)?,
            formal: None,
        }),
        Err(_) if source == "-" || Path::new(source).exists() => read(source, arguments.ranks),
        Err(TopologyError::UnknownName { .. }) if source.contains(['/', '.']) => {
            Err(Stop::input(format!("there is no file {source}")))
        }
        Err(error @ TopologyError::UnknownName { .. }) => Err(Stop::input(
            error
                .to_string()
                .replacen("no topology", "no file and no topology", 1),
        )),
        Err(error) => Err(Stop::input(error)),
    }
}

fn family(name: &str, ranks: Option<usize>) -> Result<Topology, Stop> {
    match ranks {
        None => Err(Stop::input(format!(
            "{name} is a family: say how many ranks, with --ranks N"
        ))),
        Some(ranks) if ranks > MOST => Err(Stop::input(format!(
            "--ranks: a topology of more than {MOST} ranks is not listed"
        ))),
        Some(ranks) => Topology::by_name(name, ranks).map_err(Stop::input),
    }
}

fn read(source: &str, ranks: Option<usize>) -> Result<Found, Stop> {
    let (name, content) = match source {
        "-" => ("standard input", input::stdin()?),
        _ => (source, input::read(Path::new(source))?),
    };
    let found = parsed(&content).map_err(|error| Stop::input(format!("{name}: {error}")))?;
    match (found.topology.ranks(), ranks) {
        (has, Some(wanted)) if has != wanted => Err(Stop::input(format!(
            "--ranks: {name} has {has} ranks, not {wanted}"
        ))),
        (has, _) if has > MOST => Err(Stop::input(format!(
            "{name}: a topology of more than {MOST} ranks is not listed"
        ))),
        _ => Ok(found),
    }
}

/// Reads triples as text or JSON, or a definition as JSON.
fn parsed(content: &str) -> Result<Found, TopologyError> {
    let is_json = content.trim_start().starts_with(['{', '[']);
    let topology = match is_json {
        true => Topology::from_json(content)?,
        false => Topology::from_text(content)?,
    };
    // Triples lack the nodes that a definition must have.
    let formal = Formal::from_json(content).ok().filter(|_| is_json);
    Ok(Found { topology, formal })
}
