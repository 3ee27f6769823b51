//! A machine with ranks in their places: nested boxes in the style of lstopo, and an outline as text.

use std::collections::BTreeMap;

use super::figure::{Anchor, Dash, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use super::traffic::count;
use crate::Rank;
use crate::machine::{Machine, Object, ObjectKind, Placement};

/// Size of a CPU's box.
const WIDTH: f64 = 84.0;
const HEIGHT: f64 = 40.0;
/// Gap between boxes, and between a box and its contents.
const GAP: f64 = 8.0;
/// Height of the line with a box's name.
const HEAD: f64 = 20.0;
/// Target ratio of width to height of a box with many children.
const RATIO: f64 = 1.8;

/// The machine, and the ranks on each CPU.
struct Seen<'a> {
    machine: &'a Machine,
    ranks: BTreeMap<usize, Vec<Rank>>,
}

impl<'a> Seen<'a> {
    fn new(machine: &'a Machine, placement: &Placement) -> Seen<'a> {
        let mut ranks: BTreeMap<usize, Vec<Rank>> = BTreeMap::new();
        for (rank, cpu) in placement.cpu.iter().enumerate() {
            if let Some(cpu) = cpu {
                ranks.entry(*cpu).or_default().push(rank);
            }
        }
        Seen { machine, ranks }
    }

    /// Formats the ranks on a CPU: `rank 3`, `ranks 0 2`, or `4 ranks` if there are more than two.
    fn ranks(&self, cpu: usize) -> Option<String> {
        match self.ranks.get(&cpu)?.as_slice() {
            [one] => Some(format!("rank {one}")),
            [one, other] => Some(format!("ranks {one} {other}")),
            many => Some(count(many.len(), "rank")),
        }
    }

    fn usable(&self, cpu: usize) -> bool {
        self.machine.usable.mask.contains(&cpu)
    }

    /// Returns an object's kind, number and size, followed by those of an only child.
    fn name(&self, object: &Object) -> String {
        let number = object
            .number
            .map_or(String::new(), |number| format!(" {number}"));
        let bytes = object.bytes.or_else(|| self.memory(object));
        let bytes = bytes.map_or(String::new(), |bytes| format!(" {}", size(bytes)));
        let own = format!("{}{number}{bytes}", object.kind);
        match object.children.as_slice() {
            [only] if only.kind != ObjectKind::Cpu => format!("{own}, {}", self.name(only)),
            _ => own,
        }
    }

    fn memory(&self, object: &Object) -> Option<u64> {
        let node = |number| {
            self.machine
                .nodes
                .iter()
                .find(|node| Some(node.number) == number)
        };
        (object.kind == ObjectKind::Node).then(|| node(object.number)?.bytes)?
    }

    /// Returns a CPU's description for text, where shapes cannot tell CPUs apart.
    fn cpu(&self, cpu: usize) -> String {
        match (self.ranks(cpu), self.usable(cpu)) {
            (Some(ranks), _) => format!("cpu {cpu} ◀ {ranks}"),
            (None, true) => format!("cpu {cpu}"),
            (None, false) => format!("(cpu {cpu})"),
        }
    }
}

fn size(bytes: u64) -> String {
    crate::machine::Bytes(bytes).to_string()
}

/// Returns the last of a chain of only children: the object that contains several, or CPUs.
fn innermost(object: &Object) -> &Object {
    match object.children.as_slice() {
        [only] if only.kind != ObjectKind::Cpu => innermost(only),
        _ => object,
    }
}

/// Returns whether it contains nothing but CPUs.
fn is_last(object: &Object) -> bool {
    object
        .children
        .iter()
        .all(|child| child.kind == ObjectKind::Cpu)
}

pub(super) fn heading(machine: &Machine, placement: &Placement) -> String {
    let (cpus, ranks) = (machine.tree.cpus.len(), placement.cpu.len());
    format!("machine: {}, {}", count(cpus, "CPU"), count(ranks, "rank"))
}

/// Returns notes on the placement and the meaning of the signs.
fn notes(machine: &Machine, placement: &Placement) -> Vec<String> {
    let mut notes = vec![format!("usable: {}", machine.usable)];
    let why = placement.why_unpinned.as_ref();
    notes.extend(why.map(|why| format!("no rank is pinned: {why}")));
    let refused = placement.refused.iter();
    notes.extend(refused.map(|(rank, why)| format!("rank {rank} is not pinned: {why}")));
    notes
}

// ── as text ──

pub(super) fn text(machine: &Machine, placement: &Placement) -> String {
    let seen = Seen::new(machine, placement);
    let mut text = format!("{}\n", heading(machine, placement));
    below(&seen, &machine.tree, "", &mut text);
    for note in notes(machine, placement) {
        text += &format!("{note}\n");
    }
    text
}

fn below(seen: &Seen<'_>, object: &Object, indent: &str, text: &mut String) {
    if is_last(object) && object.kind == ObjectKind::Machine {
        return cpus(seen, object, indent, text);
    }
    let mut children = object.children.iter().peekable();
    while let Some(child) = children.next() {
        let last = children.peek().is_none();
        let (corner, on) = if last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        if child.kind == ObjectKind::Cpu {
            *text += &format!("{indent}{corner}{}\n", seen.cpu(child.cpus[0]));
            continue;
        }
        let inner = innermost(child);
        if is_last(inner) {
            let cpus: Vec<_> = inner.cpus.iter().map(|&cpu| seen.cpu(cpu)).collect();
            *text += &format!(
                "{indent}{corner}{}: {}\n",
                seen.name(child),
                cpus.join("  ")
            );
        } else {
            *text += &format!("{indent}{corner}{}\n", seen.name(child));
            below(seen, inner, &format!("{indent}{on}"), text);
        }
    }
}

/// Writes the CPUs of an object without children, one per line.
fn cpus(seen: &Seen<'_>, object: &Object, indent: &str, text: &mut String) {
    for &cpu in &object.cpus {
        *text += &format!("{indent}{}\n", seen.cpu(cpu));
    }
}

// ── as a picture ──

pub(super) fn figure(machine: &Machine, placement: &Placement) -> Figure {
    let seen = Seen::new(machine, placement);
    let title = heading(machine, placement);
    let mut figure = Figure {
        description: format!(
            "{title}; boxes are what the machine consists of, from packages to CPUs."
        ),
        title: title.clone(),
        shapes: boxed(&seen, &machine.tree).shapes,
    };
    figure.shift(0.0, 30.0);
    figure.write(title, at(0.0, 14.0), Anchor::Start, Style::TITLE);
    let mut y = figure.end().y + 22.0;
    for note in notes(machine, placement) {
        figure.write(note, at(0.0, y), Anchor::Start, Style::NOTE);
        y += 18.0;
    }
    let signs = "thick: a rank is pinned there; dotted: this process may not use it";
    figure.write(signs, at(0.0, y), Anchor::Start, Style::NOTE);
    figure
}

/// A box with its upper left corner at the origin.
struct Boxed {
    shapes: Vec<Shape>,
    width: f64,
    height: f64,
}

fn boxed(seen: &Seen<'_>, object: &Object) -> Boxed {
    if object.kind == ObjectKind::Cpu {
        return leaf(seen, object.cpus[0]);
    }
    let name = seen.name(object);
    let inner: Vec<Boxed> = innermost(object)
        .children
        .iter()
        .map(|child| boxed(seen, child))
        .collect();
    let mut figure = Figure::default();
    let (width, height) = grid(inner, &mut figure);
    let width = width.max(Style::NAME.width(&name) + 2.0 * GAP);
    let height = height + HEAD;
    figure.write(name, at(GAP, HEAD - 3.0), Anchor::Start, Style::NAME);
    let mut shapes = frame(
        width,
        height,
        Ink::White,
        Stroke::solid(Ink::Grey, 1.0),
        Role::Guide,
    );
    shapes.extend(figure.shapes);
    Boxed {
        shapes,
        width,
        height,
    }
}

/// Arranges boxes in rows under the head, with about the target ratio; returns the size of the result.
fn grid(boxes: Vec<Boxed>, figure: &mut Figure) -> (f64, f64) {
    let widest = boxes.iter().map(|b| b.width).fold(1.0, f64::max);
    let highest = boxes.iter().map(|b| b.height).fold(1.0, f64::max);
    let columns = (boxes.len() as f64 * RATIO * highest / widest)
        .sqrt()
        .ceil() as usize;
    let rows = boxes.len().div_ceil(columns.max(1)).max(1);
    let columns = boxes.len().div_ceil(rows).max(1);
    let (mut y, mut right) = (HEAD + GAP, 0.0_f64);
    let mut boxes = boxes.into_iter().peekable();
    while boxes.peek().is_some() {
        let (mut x, mut height) = (GAP, 0.0_f64);
        for one in boxes.by_ref().take(columns) {
            let mut part = Figure {
                shapes: one.shapes,
                ..Figure::default()
            };
            part.shift(x, y);
            figure.shapes.extend(part.shapes);
            x += one.width + GAP;
            height = height.max(one.height);
        }
        right = right.max(x);
        y += height + GAP;
    }
    (right, y - HEAD)
}

fn leaf(seen: &Seen<'_>, cpu: usize) -> Boxed {
    let ranks = seen.ranks(cpu);
    let (fill, stroke) = match (&ranks, seen.usable(cpu)) {
        (Some(_), _) => (Ink::White, Stroke::solid(Ink::Blue, 2.5)),
        (None, true) => (Ink::White, Stroke::solid(Ink::Black, 1.0)),
        (None, false) => (
            Ink::Ground,
            Stroke {
                dash: Dash::Dotted,
                ..Stroke::solid(Ink::Grey, 1.0)
            },
        ),
    };
    let mut figure = Figure::default();
    let (middle, name) = (WIDTH / 2.0, format!("cpu {cpu}"));
    match ranks {
        Some(ranks) => {
            figure.write(name, at(middle, 15.0), Anchor::Middle, Style::NOTE);
            figure.write(
                ranks,
                at(middle, 32.0),
                Anchor::Middle,
                Style::NAME.ink(Ink::Blue),
            );
        }
        None => figure.write(name, at(middle, 24.0), Anchor::Middle, Style::NOTE),
    }
    let mut shapes = frame(WIDTH, HEIGHT, fill, stroke, Role::Rank);
    shapes.extend(figure.shapes);
    Boxed {
        shapes,
        width: WIDTH,
        height: HEIGHT,
    }
}

/// Returns a filled box with an edge.
fn frame(width: f64, height: f64, fill: Ink, stroke: Stroke, role: Role) -> Vec<Shape> {
    let corner: Point = at(0.0, 0.0);
    let ground = Shape::Ground {
        corner,
        width,
        height,
        ink: fill,
    };
    let edge = Shape::Line {
        points: vec![
            corner,
            at(width, 0.0),
            at(width, height),
            at(0.0, height),
            corner,
        ],
        stroke,
        role,
    };
    vec![ground, edge]
}
