//! A topology as a picture: children under the rank they send to, leaves side by side, and the step on the straight end
//! of each edge.

use super::figure::{Anchor, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use super::outline;
use crate::Rank;
use crate::topology::Topology;

/// Length of the straight end of an edge, which is labelled with the step.
const STEM: f64 = 26.0;
/// Gap between neighbours.
const GAP: f64 = 10.0;
/// Minimum height of the sloped part of the edges, above the stems.
const FAN: f64 = 22.0;
const HEAD: f64 = 4.5;

pub(super) fn figure(topology: &Topology) -> Figure {
    let mut figure = Figure {
        title: outline::heading(topology),
        description: format!(
            "The tree of a topology with its root, rank {}, on top; {}.",
            topology.root(),
            outline::EDGES
        ),
        shapes: draw(topology),
    };
    let height = figure.end().y;
    center(
        &mut figure,
        Style::TITLE
            .width(&outline::heading(topology))
            .max(Style::NOTE.width(outline::EDGES)),
    );
    figure.shift(0.0, 40.0);
    figure.write(
        outline::heading(topology),
        at(0.0, 14.0),
        Anchor::Start,
        Style::TITLE,
    );
    figure.write(
        outline::EDGES,
        at(0.0, height + 70.0),
        Anchor::Start,
        Style::NOTE,
    );
    figure
}

/// Centres a figure that is narrower than `room`.
fn center(figure: &mut Figure, room: f64) {
    let width = figure.end().x;
    figure.shift(((room - width) / 2.0).max(0.0), 0.0);
}

fn draw(topology: &Topology) -> Vec<Shape> {
    let places = Places::of(topology);
    let edges = topology
        .triples()
        .flat_map(|triple| places.edge(triple.from, triple.to, triple.step));
    let ranks = (0..topology.ranks()).flat_map(|rank| places.rank(rank, rank == topology.root()));
    edges.chain(ranks).collect()
}

/// The place of each rank.
struct Places {
    points: Vec<Point>,
    radius: f64,
}

impl Places {
    fn of(topology: &Topology) -> Places {
        let name = Style::NAME.width(&(topology.ranks() - 1).to_string());
        let radius = (name / 2.0 + 4.0).max(13.0);
        let step = Style::CODE.width(&topology.steps().to_string());
        let slot = GAP + (2.0 * radius).max(2.0 * (HEAD + 3.0) + step);
        let mut layout = Layout::new(topology, slot);
        layout.place(topology.root(), 0);
        let heights = layout.heights(radius);
        let point = |(x, depth): (f64, usize)| at(x + slot / 2.0, heights[depth] + radius);
        Places {
            points: layout.spots.into_iter().map(point).collect(),
            radius,
        }
    }

    fn edge(&self, from: Rank, to: Rank, step: usize) -> [Shape; 3] {
        let (low, high) = (self.points[from], self.points[to]);
        let end = low.y - self.radius;
        let bend = at(low.x, end - STEM);
        let line = Shape::Line {
            points: vec![at(low.x, end), bend, at(high.x, high.y + self.radius)],
            stroke: Stroke::solid(Ink::Grey, 1.4),
            role: Role::Edge,
        };
        let mut label = Figure::default();
        label.write(
            step.to_string(),
            at(low.x + HEAD + 3.0, end - 6.0),
            Anchor::Start,
            Style::CODE.ink(Ink::Blue),
        );
        [line, head(bend), label.shapes.remove(0)]
    }

    fn rank(&self, rank: Rank, root: bool) -> [Shape; 2] {
        let centre = self.points[rank];
        let circle = Shape::Circle {
            centre,
            radius: self.radius,
            fill: if root { Ink::Black } else { Ink::White },
            stroke: Stroke::solid(Ink::Black, 1.4),
            role: Role::Rank,
        };
        let mut label = Figure::default();
        let ink = if root { Ink::White } else { Ink::Black };
        label.write(
            rank.to_string(),
            at(centre.x, centre.y + 4.5),
            Anchor::Middle,
            Style::NAME.ink(ink),
        );
        [circle, label.shapes.remove(0)]
    }
}

/// Returns an upward arrowhead on the stem.
fn head(bend: Point) -> Shape {
    let Point { x, y } = bend;
    Shape::Area {
        points: vec![at(x, y), at(x + HEAD, y + 9.0), at(x - HEAD, y + 9.0)],
        ink: Ink::Grey,
    }
}

/// The layout: leaves side by side, every other rank over the middle of its children.
struct Layout<'a> {
    topology: &'a Topology,
    slot: f64,
    /// For each rank its horizontal position and its depth.
    spots: Vec<(f64, usize)>,
    leaves: usize,
    /// For each depth but the last, the greatest horizontal extent of an edge to the next depth.
    spreads: Vec<f64>,
}

impl<'a> Layout<'a> {
    fn new(topology: &'a Topology, slot: f64) -> Layout<'a> {
        Layout {
            topology,
            slot,
            spots: vec![(0.0, 0); topology.ranks()],
            leaves: 0,
            spreads: Vec::new(),
        }
    }

    /// Places a rank and all ranks under it.
    fn place(&mut self, rank: Rank, depth: usize) -> f64 {
        let topology = self.topology;
        let mut span: Option<(f64, f64)> = None;
        for edge in topology.predecessors(rank) {
            let x = self.place(edge.from, depth + 1);
            span = Some((span.map_or(x, |(first, _)| first), x));
        }
        let x = match span {
            Some((first, last)) => {
                self.spread(depth, (last - first) / 2.0);
                (first + last) / 2.0
            }
            None => {
                self.leaves += 1;
                (self.leaves - 1) as f64 * self.slot
            }
        };
        self.spots[rank] = (x, depth);
        x
    }

    fn spread(&mut self, depth: usize, sideways: f64) {
        if self.spreads.len() <= depth {
            self.spreads.resize(depth + 1, 0.0);
        }
        self.spreads[depth] = self.spreads[depth].max(sideways);
    }

    /// Returns the vertical position of each depth: the wider a fan, the higher it is.
    fn heights(&self, radius: f64) -> Vec<f64> {
        let below = |top: &mut f64, spread: &f64| {
            *top += 2.0 * radius + STEM + (spread / 5.0).clamp(FAN, 140.0);
            Some(*top)
        };
        let rest = self.spreads.iter().scan(0.0, below);
        std::iter::once(0.0).chain(rest).collect()
    }
}
