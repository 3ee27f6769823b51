//! `rankfold machine`: the parts of this machine, or of another, and where ranks would be placed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rankfold::draw;
use rankfold::machine::{Machine, Object, Placement};
use rankfold::topology::Levels;
use serde_json::{Value, json};

use super::output::Results;
use super::place::Place;
use super::stop::Stop;

/// Print the machine as a tree, with ranks in their places.
///
/// Nothing is pinned. Without --synthetic and --xml it is the machine that HWLOC_XMLFILE or HWLOC_SYNTHETIC names, else this
/// one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold machine --ranks 4 --bind scatter
  rankfold machine --synthetic \"package:2 l3:1(size=32MiB) core:2\" --ranks 4")]
pub struct Arguments {
    /// A machine as text, from the outside to the inside: `package:2 l3:2 core:4 cpu:2`.
    #[arg(long, value_name = "TEXT", conflicts_with = "xml")]
    synthetic: Option<String>,
    /// A machine from a file of `lstopo --of xml`.
    #[arg(long, value_name = "FILE")]
    xml: Option<PathBuf>,
    /// How many ranks are placed.
    #[arg(long, value_name = "N", default_value_t = 4)]
    ranks: usize,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    results: Results<Format>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The tree, and the map of ranks.
    Text,
    /// An object on one line.
    Json,
    /// A picture.
    Svg,
}

/// Maximum number of ranks: no process has more threads.
const MOST_RANKS: usize = 1 << 16;

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let ranks = arguments.ranks;
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(Stop::Input(format!(
            "--ranks: {ranks} is not from 1 to {MOST_RANKS}"
        )));
    }
    let output = arguments.results.to.open()?;
    let machine = machine(arguments)?;
    let placement = arguments.place.on(&machine, ranks)?;
    output.write(&match arguments.results.format {
        Format::Text => text(&machine, &placement),
        Format::Json => format!("{}\n", json(&machine, &placement)),
        Format::Svg => draw::machine(&machine, &placement)
            .and_then(|drawing| drawing.try_svg())
            .map_err(Stop::input)?,
    })
}

fn machine(arguments: &Arguments) -> Result<Machine, Stop> {
    let (machine, option) = match (&arguments.synthetic, &arguments.xml) {
        (Some(text), _) => (Machine::from_text(text), "--synthetic: "),
        (None, Some(path)) => (Machine::from_xml_file(path), "--xml: "),
        (None, None) => (Machine::to_plan_for(), ""),
    };
    machine.map_err(|error| Stop::Input(format!("{option}{error}")))
}

/// Returns the tree with ranks in their places if it can be drawn, and the map.
fn text(machine: &Machine, placement: &Placement) -> String {
    let drawing = draw::machine(machine, placement);
    let places = drawing.map_or(String::new(), |drawing| format!("\n{}", drawing.text()));
    let levels = Levels::of(machine, placement);
    format!("{machine}\n{places}\n{placement}\nby packages, NUMA nodes and caches: {levels}\n")
}

fn json(machine: &Machine, placement: &Placement) -> Value {
    let node = |node: &rankfold::machine::Node| {
        json!({
            "number": node.number,
            "cpus": node.cpus,
            "bytes": node.bytes,
            "cache_bytes": node.cache,
            "distances": node.distances,
        })
    };
    json!({
        "schema": "rankfold.machine/1",
        "source": machine.source.to_string(),
        "tree": object(&machine.tree),
        "nodes": machine.nodes.iter().map(node).collect::<Vec<_>>(),
        "kinds": machine.kinds,
        "mask": machine.usable.mask,
        "quota": machine.usable.quota,
        "usable": machine.usable.usable(),
        "ranks": placement.cpu,
        "why_unpinned": placement.why_unpinned.as_ref().map(ToString::to_string),
    })
}

fn object(of: &Object) -> Value {
    let children: Vec<Value> = of.children.iter().map(object).collect();
    let mut value = json!({"kind": of.kind.name(), "number": of.number, "cpus": of.cpus});
    if let Some(bytes) = of.bytes {
        value["bytes"] = bytes.into();
    }
    if !children.is_empty() {
        value["children"] = children.into();
    }
    value
}
