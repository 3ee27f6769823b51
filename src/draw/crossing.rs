//! Marks on a chart beside its curves: crosses of a second model, the places where curves cross, and the part of a bound
//! that is inside.

use super::figure::{Anchor, Figure, Ink, Point, Role, Shape, Stroke, Style, at};

/// Half the width of a cross.
const ARM: f64 = 4.0;

/// A place where one curve crosses another.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Its place on the horizontal axis.
    pub x: f64,
    /// Its place on the vertical axis.
    pub y: f64,
    /// What crosses there.
    pub name: String,
}

/// Draws a cross at each point of a curve.
pub(super) fn crosses(
    figure: &mut Figure,
    points: &[(f64, f64)],
    ink: Ink,
    place: &dyn Fn(f64, f64) -> Point,
) {
    for &(x, y) in points {
        let Point { x, y } = place(x, y);
        let stroke = Stroke::solid(ink, 1.2);
        figure.line(
            at(x - ARM, y - ARM),
            at(x + ARM, y + ARM),
            stroke,
            Role::Mark,
        );
        figure.line(
            at(x - ARM, y + ARM),
            at(x + ARM, y - ARM),
            stroke,
            Role::Mark,
        );
    }
}

/// Returns a number with one digit after the point of its binary prefix.
pub(super) fn rounded(x: f64) -> f64 {
    let unit = 1024f64.powf(x.max(1.0).log(1024.0).floor());
    (x / unit * 10.0).round() / 10.0 * unit
}

/// Draws a ring at each crossing, and its place and name at the top of a line through it.
pub(super) fn crossings(
    figure: &mut Figure,
    all: &[Crossing],
    place: &dyn Fn(f64, f64) -> Point,
    word: &dyn Fn(f64) -> String,
    (top, bottom, middle): (f64, f64, f64),
) {
    for (turn, crossing) in all.iter().enumerate() {
        let centre = place(crossing.x, crossing.y);
        let stroke = Stroke::solid(Ink::Grey, 1.0);
        figure.line(at(centre.x, top), at(centre.x, bottom), stroke, Role::Guide);
        figure.shapes.push(Shape::Circle {
            centre,
            radius: 7.0,
            fill: Ink::Ground,
            stroke: Stroke::solid(Ink::Black, 1.6),
            role: Role::Guide,
        });
        // Names of neighbours lie below each other.
        let height = top + 14.0 + 15.0 * (turn % 4) as f64;
        let text = format!("{}: {}", word(crossing.x), crossing.name);
        let (aside, anchor) = match centre.x > middle {
            true => (-5.0, Anchor::End),
            false => (5.0, Anchor::Start),
        };
        figure.write(text, at(centre.x + aside, height), anchor, Style::NOTE);
    }
}

/// Returns the part of a rising line that is inside the plot area; empty if none is.
pub(super) fn within(points: &[Point], inside: &dyn Fn(&Point) -> bool) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        // In enough pieces that an end is at most a few pixels short.
        let cut = |i: usize| {
            let share = i as f64 / 64.0;
            at(a.x + share * (b.x - a.x), a.y + share * (b.y - a.y))
        };
        let mut pieces: Vec<Point> = (0..=64).map(cut).filter(|p| inside(p)).collect();
        if pieces.len() > 2 {
            pieces = vec![pieces[0], pieces[pieces.len() - 1]];
        }
        kept.extend(pieces);
    }
    kept.dedup();
    kept
}
