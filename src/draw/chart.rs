//! Curves over two logarithmic axes: how times grow with lengths.

use super::figure::{Anchor, Dash, Figure, Ink, Point, Role, Shape, Stroke, Style, at};

/// The room of the curves.
const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 360.0;
/// Left of them, for the numbers of the upright axis.
const LEFT: f64 = 64.0;
const TOP: f64 = 44.0;

/// A curve: its name, and its points from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is called in the legend.
    pub name: String,
    /// Points, both numbers above 0.
    pub points: Vec<(f64, f64)>,
}

/// How curves are told apart, also without colours.
const LOOKS: [(Ink, Dash); 6] = [
    (Ink::Blue, Dash::Solid),
    (Ink::Vermilion, Dash::Dashed),
    (Ink::Green, Dash::Dotted),
    (Ink::Black, Dash::Dashed),
    (Ink::Grey, Dash::Solid),
    (Ink::Black, Dash::Dotted),
];

pub(super) fn figure(title: &str, axes: (&str, &str), curves: &[Curve]) -> Figure {
    let mut figure = Figure {
        title: title.to_owned(),
        description: format!(
            "{title}: {} over {}, both axes logarithmic.",
            axes.1, axes.0
        ),
        shapes: Vec::new(),
    };
    figure.write(title, at(0.0, 14.0), Anchor::Start, Style::TITLE);
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let x = Axis::new(all().map(|point| point.0), 2.0, WIDTH);
    let y = Axis::new(all().map(|point| point.1), 10.0, HEIGHT);
    grid(&mut figure, &x, &y);
    for (curve, look) in curves.iter().zip(LOOKS.iter().cycle()) {
        draw(&mut figure, curve, *look, &x, &y);
    }
    legend(&mut figure, curves);
    figure.write(axes.1, at(0.0, TOP - 12.0), Anchor::Start, Style::NOTE);
    let middle = at(LEFT + WIDTH / 2.0, TOP + HEIGHT + 38.0);
    figure.write(axes.0, middle, Anchor::Middle, Style::NOTE);
    figure
}

/// A logarithmic axis from one power to another.
struct Axis {
    base: f64,
    first: f64,
    last: f64,
    room: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, base: f64, room: f64) -> Axis {
        let powers = values.map(|value| value.log(base));
        let low = powers.clone().fold(f64::INFINITY, f64::min);
        let high = powers.fold(f64::NEG_INFINITY, f64::max);
        let (first, last) = if low.is_finite() && high.is_finite() {
            ((low + 1e-9).floor(), (high - 1e-9).ceil())
        } else {
            (0.0, 1.0)
        };
        Axis {
            base,
            first,
            last: last.max(first + 1.0),
            room,
        }
    }

    fn place(&self, value: f64) -> f64 {
        self.room * (value.log(self.base) - self.first) / (self.last - self.first)
    }

    /// Powers of the base, at most a dozen of them.
    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let (base, first, count) = (self.base, self.first, self.last - self.first);
        let step = (count / 12.0).ceil().max(1.0);
        (0..=(count / step) as usize).map(move |tick| base.powf(first + tick as f64 * step))
    }
}

fn grid(figure: &mut Figure, x: &Axis, y: &Axis) {
    let pale = Stroke::solid(Ink::Pale, 1.0);
    let bottom = TOP + HEIGHT;
    for value in x.ticks() {
        let place = LEFT + x.place(value);
        figure.line(at(place, TOP), at(place, bottom), pale, Role::Guide);
        figure.write(
            binary(value),
            at(place, bottom + 17.0),
            Anchor::Middle,
            Style::NOTE,
        );
    }
    for value in y.ticks() {
        let place = bottom - y.place(value);
        figure.line(at(LEFT, place), at(LEFT + WIDTH, place), pale, Role::Guide);
        figure.write(
            decimal(value),
            at(LEFT - 8.0, place + 4.0),
            Anchor::End,
            Style::NOTE,
        );
    }
}

fn draw(figure: &mut Figure, curve: &Curve, (ink, dash): (Ink, Dash), x: &Axis, y: &Axis) {
    let place = |&(a, b): &(f64, f64)| at(LEFT + x.place(a), TOP + HEIGHT - y.place(b));
    let points: Vec<Point> = curve.points.iter().map(place).collect();
    let stroke = Stroke {
        ink,
        width: 2.2,
        dash,
    };
    figure.shapes.push(Shape::Line {
        points,
        stroke,
        role: Role::Edge,
    });
}

fn legend(figure: &mut Figure, curves: &[Curve]) {
    let mut y = TOP + HEIGHT + 64.0;
    for (curve, (ink, dash)) in curves.iter().zip(LOOKS.iter().cycle()) {
        let stroke = Stroke {
            ink: *ink,
            width: 2.2,
            dash: *dash,
        };
        figure.line(
            at(LEFT, y - 4.0),
            at(LEFT + 40.0, y - 4.0),
            stroke,
            Role::Mark,
        );
        figure.write(&*curve.name, at(LEFT + 50.0, y), Anchor::Start, Style::NAME);
        y += 20.0;
    }
}

/// `64`, `4Ki`, `16Mi`.
fn binary(value: f64) -> String {
    let units = ["", "Ki", "Mi", "Gi", "Ti"];
    let power = ((value.log2() + 1e-9) / 10.0).floor().clamp(0.0, 4.0);
    let unit = units[power as usize];
    format!(
        "{}{unit}",
        (value / 1024f64.powf(power) * 1000.0).round() / 1000.0
    )
}

fn decimal(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}
