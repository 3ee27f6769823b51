//! A tree as a picture: children under what they send to, leaves side by side, and a label on the straight end of each
//! edge.

use super::figure::{Anchor, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use super::hung::{Hung, Outline};

/// Length of the straight end of an edge, which is labelled with the step.
const STEM: f64 = 26.0;
/// Gap between neighbours.
const GAP: f64 = 10.0;
/// Minimum height of the sloped part of the edges, above the stems.
const FAN: f64 = 22.0;
const HEAD: f64 = 4.5;

pub(super) fn figure(tree: &Hung) -> Figure {
    let mut figure = Figure {
        title: tree.heading.clone(),
        description: tree.description.clone(),
        shapes: draw(tree),
    };
    let height = figure.end().y;
    let wide = Style::TITLE.width(&tree.heading);
    center(&mut figure, wide.max(Style::NOTE.width(tree.note)));
    figure.shift(0.0, 40.0);
    let (top, end) = (at(0.0, 14.0), at(0.0, height + 70.0));
    figure.write(&tree.heading, top, Anchor::Start, Style::TITLE);
    figure.write(tree.note, end, Anchor::Start, Style::NOTE);
    figure
}

/// Centres a figure that is narrower than `room`.
fn center(figure: &mut Figure, room: f64) {
    let width = figure.end().x;
    figure.shift(((room - width) / 2.0).max(0.0), 0.0);
}

fn draw(tree: &Hung) -> Vec<Shape> {
    let places = Places::of(tree);
    let tops = tree.below.iter().enumerate();
    let mut edges: Vec<(usize, usize, &str)> = tops
        .flat_map(|(top, under)| under.iter().map(move |(label, low)| (*low, top, &**label)))
        .collect();
    edges.sort_unstable();
    let edges = edges
        .into_iter()
        .flat_map(|(low, top, label)| places.edge(low, top, label));
    let names = (0..tree.names.len()).flat_map(|name| places.name(tree, name));
    edges.chain(names).collect()
}

/// The place of each name.
struct Places {
    points: Vec<Point>,
    /// Half the height of an outline, and half the width of a circle.
    radius: f64,
}

impl Places {
    fn of(tree: &Hung) -> Places {
        let widest = |style: Style, texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| style.width(text)).fold(0.0, f64::max)
        };
        let name = widest(Style::NAME, &mut tree.names.iter());
        let label = widest(
            Style::CODE,
            &mut tree.below.iter().flatten().map(|edge| &edge.0),
        );
        let (radius, width) = match tree.outline {
            Outline::Circle => ((name / 2.0 + 4.0).max(13.0), 0.0),
            Outline::Box => (13.0, name + 12.0),
        };
        let slot = GAP + width.max(2.0 * radius).max(2.0 * (HEAD + 3.0) + label);
        let mut layout = Layout::new(tree, slot);
        layout.place(tree.root, 0);
        let heights = layout.heights(radius);
        let point = |(x, depth): (f64, usize)| at(x + slot / 2.0, heights[depth] + radius);
        Places {
            points: layout.spots.into_iter().map(point).collect(),
            radius,
        }
    }

    fn edge(&self, from: usize, to: usize, label: &str) -> [Shape; 3] {
        let (low, high) = (self.points[from], self.points[to]);
        let end = low.y - self.radius;
        let bend = at(low.x, end - STEM);
        let line = Shape::Line {
            points: vec![at(low.x, end), bend, at(high.x, high.y + self.radius)],
            stroke: Stroke::solid(Ink::Grey, 1.4),
            role: Role::Edge,
        };
        let place = at(low.x + HEAD + 3.0, end - 6.0);
        let label = written(label, place, Anchor::Start, Style::CODE.ink(Ink::Blue));
        [line, head(bend), label]
    }

    fn name(&self, tree: &Hung, name: usize) -> Vec<Shape> {
        let centre = self.points[name];
        let (fill, ink) = match name == tree.root {
            true => (Ink::Black, Ink::White),
            false => (Ink::White, Ink::Black),
        };
        let text = &tree.names[name];
        let mut shapes = match tree.outline {
            Outline::Circle => vec![self.circle(centre, fill)],
            Outline::Box => self.box_around(centre, Style::NAME.width(text), fill),
        };
        let place = at(centre.x, centre.y + 4.5);
        shapes.push(written(text, place, Anchor::Middle, Style::NAME.ink(ink)));
        shapes
    }

    fn circle(&self, centre: Point, fill: Ink) -> Shape {
        Shape::Circle {
            centre,
            radius: self.radius,
            fill,
            stroke: Stroke::solid(Ink::Black, 1.4),
            role: Role::Rank,
        }
    }

    fn box_around(&self, centre: Point, width: f64, fill: Ink) -> Vec<Shape> {
        let (x, y) = (width / 2.0 + 6.0, self.radius);
        let corners = [(-x, -y), (x, -y), (x, y), (-x, y)];
        let mut points: Vec<Point> = corners
            .map(|(right, down)| at(centre.x + right, centre.y + down))
            .into();
        let ground = Shape::Area {
            points: points.clone(),
            ink: fill,
        };
        points.push(points[0]);
        let stroke = Stroke::solid(Ink::Black, 1.4);
        let role = Role::Rank;
        vec![
            ground,
            Shape::Line {
                points,
                stroke,
                role,
            },
        ]
    }
}

fn written(text: &str, place: Point, anchor: Anchor, style: Style) -> Shape {
    let mut label = Figure::default();
    label.write(text, place, anchor, style);
    label.shapes.remove(0)
}

/// Returns an upward arrowhead on the stem.
fn head(bend: Point) -> Shape {
    let Point { x, y } = bend;
    Shape::Area {
        points: vec![at(x, y), at(x + HEAD, y + 9.0), at(x - HEAD, y + 9.0)],
        ink: Ink::Grey,
    }
}

/// The layout: leaves side by side, every other name over the middle of its children.
struct Layout<'a> {
    tree: &'a Hung,
    slot: f64,
    /// For each name its horizontal position and its depth.
    spots: Vec<(f64, usize)>,
    leaves: usize,
    /// For each depth but the last, the greatest horizontal extent of an edge to the next depth.
    spreads: Vec<f64>,
}

impl<'a> Layout<'a> {
    fn new(tree: &'a Hung, slot: f64) -> Layout<'a> {
        Layout {
            tree,
            slot,
            spots: vec![(0.0, 0); tree.names.len()],
            leaves: 0,
            spreads: Vec::new(),
        }
    }

    /// Places a name and all that hangs from it.
    fn place(&mut self, name: usize, depth: usize) -> f64 {
        let tree = self.tree;
        let mut span: Option<(f64, f64)> = None;
        for (_, under) in &tree.below[name] {
            let x = self.place(*under, depth + 1);
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
        self.spots[name] = (x, depth);
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
