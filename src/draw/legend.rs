//! The signs under a picture: for each that occurs, how it is drawn, how it is written and what it means.

use super::arrow::{arrow, copy_mark};
use super::figure::{Anchor, Figure, Point, Role, Style, at};
use super::notation::{Sign, signs};
use super::traffic::{Outcome, Traffic};

/// Line height.
const LINE: f64 = 20.0;
/// Width of a sample.
const SAMPLE: f64 = 44.0;
const GAP: f64 = 14.0;

/// Draws the signs from `top` downwards; if `uneven`, the last line explains the thickness of arrows.
pub(super) fn draw(panels: &[Traffic], uneven: bool, top: f64, figure: &mut Figure) {
    let signs: Vec<Sign> = signs(panels).collect();
    let keys = signs
        .iter()
        .map(|sign| Style::CODE.width(sign.meaning()[0]));
    let meaning = SAMPLE + GAP + keys.fold(0.0, f64::max) + GAP;
    let mut base = top;
    for sign in signs {
        let [key, text] = sign.meaning();
        sample(sign, at(0.0, base - 4.0), figure);
        figure.write(key, at(SAMPLE + GAP, base), Anchor::Start, Style::CODE);
        figure.write(text, at(meaning, base), Anchor::Start, Style::NOTE);
        base += LINE;
    }
    if uneven {
        let text = "the thicker an arrow, the more elements";
        figure.write(text, at(meaning, base), Anchor::Start, Style::NOTE);
    }
}

/// Draws a sample of the sign.
fn sample(sign: Sign, left: Point, figure: &mut Figure) {
    let right = at(left.x + SAMPLE - 8.0, left.y);
    let end = match sign {
        Sign::FoldRight | Sign::FoldLeft => Outcome::Folds,
        Sign::Replace => Outcome::Replaces,
        Sign::Lone => Outcome::Lone,
        Sign::Copy | Sign::LocalFold => return copy_mark(left, right, figure),
        Sign::Send | Sign::Clash | Sign::Empty | Sign::Buffers | Sign::Runs => return,
    };
    arrow([left, right], end, 1.6, Role::Mark, figure);
}
