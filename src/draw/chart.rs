//! Curves over two logarithmic axes: how times grow with lengths, and what bounds them.

use super::axis::{Axis, Scale};
use super::crossing::{self, Crossing};
use super::figure::{Anchor, Dash, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use super::svg;
use crate::sort;

/// Size of the plot area.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 380.0;
/// Minimum space to the left of it, for the numbers of the vertical axis.
const LEFT: f64 = 66.0;
/// Gap between these numbers and the axis.
const GAP: f64 = 8.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = TOP + HEIGHT;
/// Gap between the curves and the sides.
const PAD: f64 = 14.0;
/// Distance between the names at the ends of curves.
const APART: f64 = 16.0;
/// Half the width of the ends of a bar.
const CAP: f64 = 3.5;
/// Distance between the bars of two curves at the same place.
const BESIDE: f64 = 4.0;

/// A curve: its name, and its points from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// The points; both coordinates are above 0.
    pub points: Vec<(f64, f64)>,
}

/// Uncertainty of the points of a curve: a bar at each, from its lower to its upper end. The first number is the
/// point's place on the horizontal axis.
pub type Intervals = Vec<(f64, f64, f64)>;

/// Curves over two logarithmic axes, each named at its end, and distinguished by colour, dashes and marks.
///
/// # Examples
///
/// ```
/// use rankfold::draw::{Axis, Chart, Curve};
///
/// let mut chart = Chart::new("all_reduce", Axis::bytes("bytes"), Axis::seconds("time"));
/// let points = vec![(8.0, 1e-6), (1024.0, 2e-6), (131072.0, 5e-5)];
/// chart.curves.push(Curve { name: "2 ranks".into(), points });
/// assert!(chart.svg().contains(">2 ranks</text>"));
/// assert!(chart.text().contains("o 2 ranks"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// A remark on a line below the title.
    pub note: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Uncertainties of the curves, in the same order: drawn as bars of the same colour.
    pub spreads: Vec<Intervals>,
    /// Why the curves may mean less than they seem to: written below them, one or more lines each.
    pub warnings: Vec<String>,
    /// A model's predictions for the curves, in the same order: drawn as dashed lines of the same colour. A curve with
    /// a model is drawn as points without a line.
    pub models: Vec<Curve>,
    /// Another model's predictions for the curves, in the same order: drawn as crosses of the same colour.
    pub crosses: Vec<Curve>,
    /// Places where curves cross: a ring each, with the place and the name.
    pub crossings: Vec<Crossing>,
    /// References for the curves: drawn in grey; the axes extend to include all of them.
    pub roofs: Vec<Curve>,
    /// Bounds of the curves: drawn in grey, as far as they fall inside the axes.
    pub limits: Vec<Curve>,
}

impl Chart {
    /// Creates a chart without curves.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Chart {
        Chart {
            title: title.into(),
            note: String::new(),
            x,
            y,
            curves: Vec::new(),
            spreads: Vec::new(),
            warnings: Vec::new(),
            models: Vec::new(),
            crosses: Vec::new(),
            crossings: Vec::new(),
            roofs: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// Returns the chart as an SVG document.
    pub fn svg(&self) -> String {
        svg::write(&self.figure())
    }

    /// Returns the axes with their ranges, which cover the curves, their models and bars, and the roofs.
    pub(super) fn scales(&self) -> (Scale, Scale) {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for curves in [&self.curves, &self.models, &self.crosses, &self.roofs] {
            for point in curves.iter().flat_map(|curve| &curve.points) {
                x.push(point.0);
                y.push(point.1);
            }
        }
        for bar in self.spreads.iter().flatten() {
            y.extend([bar.1, bar.2]);
        }
        (Scale::new(self.x.unit, x), Scale::new(self.y.unit, y))
    }

    fn figure(&self) -> Figure {
        let (title, x, y) = (&self.title, &self.x.name, &self.y.name);
        let mut figure = Figure {
            title: title.clone(),
            description: format!("{title}: {y} over {x}, both axes logarithmic."),
            shapes: Vec::new(),
        };
        figure.write(&**title, at(0.0, 14.0), Anchor::Start, Style::TITLE);
        figure.write(&*self.note, at(0.0, 32.0), Anchor::Start, Style::NOTE);
        let frame = Frame::new(self);
        frame.grid(&mut figure);
        figure.write(&**y, at(0.0, TOP - 14.0), Anchor::Start, Style::NOTE);
        let below = at(frame.left + WIDTH / 2.0, BOTTOM + 38.0);
        figure.write(&**x, below, Anchor::Middle, Style::NOTE);
        figure.warn(&self.warnings, BOTTOM + 62.0, frame.left + WIDTH);
        let mut names = Vec::new();
        self.marks(&mut figure, &frame);
        for limit in self.roofs.iter().chain(&self.limits) {
            names.extend(frame.limit(&mut figure, limit));
        }
        for (model, look) in self.models.iter().zip(LOOKS.iter().cycle()) {
            frame.model(&mut figure, model, look.ink);
        }
        for (at, (spread, look)) in self.spreads.iter().zip(LOOKS.iter().cycle()).enumerate() {
            // Beside each other, so that bars at one place do not hide each other.
            let aside = BESIDE * (at as f64 - (self.spreads.len() - 1) as f64 / 2.0);
            frame.spread(&mut figure, spread, look.ink, aside.clamp(-PAD, PAD));
        }
        for (at, (curve, look)) in self.curves.iter().zip(LOOKS.iter().cycle()).enumerate() {
            let joined = at >= self.models.len();
            names.extend(frame.curve(&mut figure, curve, look, joined));
        }
        write_names(&mut figure, names, frame.left);
        figure
    }

    /// Draws where curves cross, and the crosses of the second model.
    fn marks(&self, figure: &mut Figure, frame: &Frame) {
        let place = |x: f64, y: f64| frame.place(&(x, y));
        let word = |x: f64| frame.x.word(crossing::rounded(x));
        let middle = frame.left + WIDTH / 2.0;
        crossing::crossings(
            figure,
            &self.crossings,
            &place,
            &word,
            (TOP, BOTTOM, middle),
        );
        for (points, look) in self.crosses.iter().zip(LOOKS.iter().cycle()) {
            crossing::crosses(figure, &points.points, look.ink, &place);
        }
    }
}

/// The marks by which curves are distinguished, even without colours.
struct Look {
    ink: Ink,
    dash: Dash,
    mark: PointShape,
}

#[derive(Clone, Copy)]
enum PointShape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

const fn look(ink: Ink, dash: Dash, mark: PointShape) -> Look {
    Look { ink, dash, mark }
}

const LOOKS: [Look; 8] = [
    look(Ink::Blue, Dash::Solid, PointShape::Circle),
    look(Ink::Vermilion, Dash::Solid, PointShape::Square),
    look(Ink::Green, Dash::Solid, PointShape::Triangle),
    look(Ink::Purple, Dash::Solid, PointShape::Diamond),
    look(Ink::Black, Dash::Dashed, PointShape::Circle),
    look(Ink::Blue, Dash::Dashed, PointShape::Square),
    look(Ink::Vermilion, Dash::Dashed, PointShape::Triangle),
    look(Ink::Green, Dash::Dashed, PointShape::Diamond),
];

/// The plot area with its axes.
struct Frame {
    x: Scale,
    y: Scale,
    /// Its left side: right of the widest number of the vertical axis.
    left: f64,
}

/// The name of a curve, at its end.
struct Name {
    text: String,
    end: Point,
    /// The position of its text, so that names do not overlap.
    y: f64,
    style: Style,
}

impl Frame {
    fn new(chart: &Chart) -> Frame {
        let (x, y) = chart.scales();
        let words = y.marks().into_iter().map(|mark| y.word(mark));
        let widest = words
            .map(|word| Style::NOTE.width(&word))
            .fold(0.0, f64::max);
        let left = LEFT.max((widest + GAP).ceil());
        Frame { x, y, left }
    }

    fn place(&self, &(x, y): &(f64, f64)) -> Point {
        let across = PAD + (WIDTH - 2.0 * PAD) * self.x.place(x);
        at(self.left + across, BOTTOM - HEIGHT * self.y.place(y))
    }

    fn grid(&self, figure: &mut Figure) {
        let (left, right) = (self.left, self.left + WIDTH);
        let across = |value: f64| BOTTOM - HEIGHT * self.y.place(value);
        for value in self.y.lines() {
            let y = across(value);
            figure.line(
                at(left, y),
                at(right, y),
                Stroke::solid(Ink::Ground, 1.0),
                Role::Guide,
            );
        }
        let pale = Stroke::solid(Ink::Pale, 1.0);
        for value in self.x.marks() {
            let x = self.place(&(value, 1.0)).x;
            figure.line(
                at(x, TOP),
                at(x, BOTTOM),
                Stroke::solid(Ink::Ground, 1.0),
                Role::Guide,
            );
            figure.line(at(x, BOTTOM), at(x, BOTTOM + 5.0), pale, Role::Guide);
            let below = at(x, BOTTOM + 19.0);
            figure.write(self.x.word(value), below, Anchor::Middle, Style::NOTE);
        }
        for value in self.y.marks() {
            let y = across(value);
            figure.line(at(left, y), at(right, y), pale, Role::Guide);
            let beside = at(left - GAP, y + 4.0);
            figure.write(self.y.word(value), beside, Anchor::End, Style::NOTE);
        }
        figure.line(
            at(left, BOTTOM),
            at(right, BOTTOM),
            Stroke::solid(Ink::Grey, 1.0),
            Role::Guide,
        );
    }

    /// Draws a dashed line without marks and without a name: it has those of its curve.
    fn model(&self, figure: &mut Figure, model: &Curve, ink: Ink) {
        let stroke = Stroke {
            ink,
            width: 1.6,
            dash: Dash::Dashed,
        };
        figure.shapes.push(Shape::Line {
            points: model.points.iter().map(|point| self.place(point)).collect(),
            stroke,
            role: Role::Edge,
        });
    }

    /// Draws a bar at each point, with a cap above and below.
    fn spread(&self, figure: &mut Figure, spread: &Intervals, ink: Ink, aside: f64) {
        let stroke = Stroke::solid(ink, 1.2);
        for &(x, low, high) in spread.iter().filter(|bar| bar.1 > 0.0 && bar.2.is_finite()) {
            let end = |y: f64| {
                let Point { x, y } = self.place(&(x, y));
                at(x + aside, y)
            };
            let (low, high) = (end(low), end(high));
            figure.line(low, high, stroke, Role::Spread);
            for end in [low, high] {
                let (from, to) = (at(end.x - CAP, end.y), at(end.x + CAP, end.y));
                figure.line(from, to, stroke, Role::Spread);
            }
        }
    }

    fn curve(&self, figure: &mut Figure, curve: &Curve, look: &Look, joined: bool) -> Option<Name> {
        let points: Vec<Point> = curve.points.iter().map(|point| self.place(point)).collect();
        let end = *points.last()?;
        let marks = points.clone();
        let stroke = Stroke {
            ink: look.ink,
            width: 2.2,
            dash: look.dash,
        };
        if joined {
            figure.shapes.push(Shape::Line {
                points,
                stroke,
                role: Role::Edge,
            });
        }
        for place in marks {
            figure.shapes.push(mark(look.mark, place, look.ink));
        }
        Some(Name {
            text: curve.name.clone(),
            end,
            y: end.y,
            style: Style::NAME.ink(look.ink),
        })
    }

    /// Draws a limit, as far as it falls inside the plot area.
    fn limit(&self, figure: &mut Figure, limit: &Curve) -> Option<Name> {
        let points: Vec<Point> = limit.points.iter().map(|point| self.place(point)).collect();
        let across = self.left..=self.left + WIDTH;
        let inside = |p: &Point| (TOP..=BOTTOM).contains(&p.y) && across.contains(&p.x);
        let points = crossing::within(&points, &inside);
        let end = *points.last()?;
        let stroke = Stroke {
            ink: Ink::Grey,
            width: 1.4,
            dash: Dash::Dotted,
        };
        figure.shapes.push(Shape::Line {
            points,
            stroke,
            role: Role::Guide,
        });
        Some(Name {
            text: limit.name.clone(),
            end,
            y: end.y,
            style: Style::NOTE,
        })
    }
}

fn mark(mark: PointShape, place: Point, ink: Ink) -> Shape {
    let corners = |of: &[(f64, f64)]| Shape::Area {
        points: of
            .iter()
            .map(|(x, y)| at(place.x + x, place.y + y))
            .collect(),
        ink,
    };
    match mark {
        PointShape::Circle => Shape::Circle {
            centre: place,
            radius: 3.6,
            fill: ink,
            stroke: Stroke::solid(ink, 1.0),
            role: Role::Mark,
        },
        PointShape::Square => corners(&[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        PointShape::Triangle => corners(&[(0.0, -5.0), (4.6, 3.6), (-4.6, 3.6)]),
        PointShape::Diamond => corners(&[(0.0, -5.2), (5.2, 0.0), (0.0, 5.2), (-5.2, 0.0)]),
    }
}

/// Writes names beside the ends of their curves without overlap: pushes them down from the top one on, then pushes
/// those that are too low up again.
fn write_names(figure: &mut Figure, mut names: Vec<Name>, left: f64) {
    sort::by_float(&mut names, |name| (name.end.y, 0));
    for i in 1..names.len() {
        names[i].y = names[i].y.max(names[i - 1].y + APART);
    }
    let mut most = BOTTOM;
    for name in names.iter_mut().rev() {
        name.y = name.y.min(most);
        most = name.y - APART;
    }
    let left = left + WIDTH + 16.0;
    for name in names {
        let far = (name.y - name.end.y).abs() > 3.0 || left - name.end.x > PAD + 20.0;
        if far {
            let (from, to) = (at(name.end.x + 6.0, name.end.y), at(left - 3.0, name.y));
            figure.line(from, to, Stroke::solid(Ink::Pale, 0.8), Role::Guide);
        }
        figure.write(name.text, at(left, name.y + 4.5), Anchor::Start, name.style);
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::Label;
    use super::*;

    fn rates(points: &[(f64, f64)]) -> Chart {
        let mut chart = Chart::new("rates", Axis::bytes("bytes"), Axis::rate("bandwidth"));
        chart.curves.push(Curve {
            name: "2 ranks".into(),
            points: points.to_vec(),
        });
        chart
    }

    fn labels(figure: &Figure) -> Vec<&Label> {
        let shapes = figure.shapes.iter();
        shapes
            .filter_map(|shape| match shape {
                Shape::Label(label) => Some(label),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn no_label_of_the_upright_axis_is_cut_whatever_is_on_it() {
        let units = [
            Axis::rate("y"),
            Axis::seconds("y"),
            Axis::number("y"),
            Axis::count("y"),
        ];
        for y in units {
            for power in -12..12 {
                let low = 10f64.powi(power);
                let mut chart = rates(&[(8.0, low), (64.0, 3000.0 * low)]);
                chart.y = y.clone();
                let figure = chart.figure();
                for label in labels(&figure)
                    .into_iter()
                    .filter(|label| label.anchor == Anchor::End)
                {
                    let style = Style::NOTE;
                    let left = label.at.x - style.width(&label.text);
                    assert!(left >= 0.0, "{} begins at {left}", label.text);
                }
            }
        }
    }

    #[test]
    fn bars_reach_from_one_end_to_the_other_and_lie_on_the_chart() {
        let mut chart = rates(&[(8.0, 1.0), (64.0, 2.0)]);
        chart.spreads.push(vec![(8.0, 0.1, 1.5), (64.0, 1.9, 30.0)]);
        let figure = chart.figure();
        let bars = figure.shapes.iter().filter_map(|shape| match shape {
            Shape::Line {
                points,
                role: Role::Spread,
                ..
            } => Some(points),
            _ => None,
        });
        let bars: Vec<_> = bars.collect();
        assert_eq!(bars.len(), 6, "a bar and its two ends, twice");
        for point in bars.into_iter().flatten() {
            assert!((TOP - 0.1..=BOTTOM + 0.1).contains(&point.y), "{point:?}");
        }
    }

    #[test]
    fn warnings_are_written_below_the_chart_in_lines_that_fit() {
        let mut chart = rates(&[(8.0, 1.0), (64.0, 2.0)]);
        let words = "other processes used 0.8 CPUs on average: p99 and max are theirs as well, and medians may be, too, \
                     in all likelihood";
        chart.warnings = vec![words.into(), "a second one".into()];
        let figure = chart.figure();
        let warnings: Vec<&Label> = labels(&figure)
            .into_iter()
            .filter(|label| label.ink == Ink::Vermilion)
            .collect();
        let all: Vec<&str> = warnings.iter().map(|label| label.text.as_str()).collect();
        assert!(all.len() > 2, "{all:?}");
        assert_eq!(all.join(" "), format!("{words} a second one"));
        for pair in warnings.windows(2) {
            assert!(pair[0].at.y > BOTTOM + 50.0 && pair[0].at.y < pair[1].at.y);
        }
    }
}
