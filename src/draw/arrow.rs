//! The arrows of space-time diagrams and the marks at their ends.

use super::figure::{Dash, Figure, Ink, Point, Role, Shape, Stroke, at};
use super::traffic::Outcome;

/// The radius of the mark at the end of an arrow.
pub(super) const MARK: f64 = 6.0;

/// Draws a bar on the line of a rank, square at both ends.
pub(super) fn copy_mark(from: Point, to: Point, figure: &mut Figure) {
    figure.line(from, to, Stroke::solid(Ink::Green, 3.0), Role::Mark);
}

/// Draws an arrow that shows how a message ends.
pub(super) fn arrow(
    ends: [Point; 2],
    outcome: Outcome,
    width: f64,
    role: Role,
    figure: &mut Figure,
) {
    let [from, to] = ends;
    let (ink, dash) = match outcome {
        Outcome::Folds => (Ink::Blue, Dash::Solid),
        Outcome::Replaces => (Ink::Vermilion, Dash::Dashed),
        Outcome::Lone => (Ink::Black, Dash::Dotted),
    };
    figure.line(from, to, Stroke { ink, width, dash }, role);
    match outcome {
        Outcome::Folds => {
            arrow_head(from, to, MARK, ink, figure);
            fold_mark(to, figure);
        }
        Outcome::Replaces => arrow_head(from, to, 0.0, ink, figure),
        Outcome::Lone => {}
    }
}

/// Draws the head of an arrow, with its tip at distance `before` from the end.
pub(super) fn arrow_head(from: Point, to: Point, before: f64, ink: Ink, figure: &mut Figure) {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx.hypot(dy).max(1.0);
    let (dx, dy) = (dx / length, dy / length);
    let on = |back: f64, aside: f64| {
        at(
            to.x - dx * (before + back) - dy * aside,
            to.y - dy * (before + back) + dx * aside,
        )
    };
    figure.shapes.push(Shape::Area {
        points: vec![on(0.0, 0.0), on(10.0, 4.5), on(10.0, -4.5)],
        ink,
    });
}

/// Draws a circle with a plus in it.
fn fold_mark(centre: Point, figure: &mut Figure) {
    let stroke = Stroke::solid(Ink::Blue, 1.6);
    figure.shapes.push(Shape::Circle {
        centre,
        radius: MARK,
        fill: Ink::White,
        stroke,
        role: Role::Mark,
    });
    let Point { x, y } = centre;
    figure.line(at(x - MARK, y), at(x + MARK, y), stroke, Role::Mark);
    figure.line(at(x, y - MARK), at(x, y + MARK), stroke, Role::Mark);
}

/// Draws the cross at the missing end of a message.
pub(super) fn cross(centre: Point, figure: &mut Figure) {
    let (Point { x, y }, stroke) = (centre, Stroke::solid(Ink::Black, 2.0));
    figure.line(
        at(x - 5.0, y - 5.0),
        at(x + 5.0, y + 5.0),
        stroke,
        Role::Mark,
    );
    figure.line(
        at(x - 5.0, y + 5.0),
        at(x + 5.0, y - 5.0),
        stroke,
        Role::Mark,
    );
}
