//! The origins of values as a picture: a strip of boxes for each rank at each moment, and an arrow for each message
//! from the strip before its step to the one after it.

use super::figure::{Anchor, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use super::notation;
use super::origins::{Held, LABELS, Origins, Piece};
use crate::Rank;

/// Height of a box.
const HIGH: f64 = 22.0;
/// Distance between the strips of neighbouring ranks.
const BETWEEN_ROWS: f64 = 16.0;
/// Room for arrows between two moments.
const BETWEEN_MOMENTS: f64 = 56.0;
const HEAD: f64 = 7.0;
/// The darkest ground of a box, on which black is legible.
const DARKEST: f64 = 90.0;

pub(super) fn figure(origins: &Origins) -> Figure {
    let grid = Grid::of(origins);
    let mut figure = Figure {
        title: origins.heading(),
        description: format!(
            "A strip of boxes for each rank before and after every step. {LABELS}"
        ),
        shapes: Vec::new(),
    };
    figure.write(
        origins.heading(),
        at(0.0, 14.0),
        Anchor::Start,
        Style::TITLE,
    );
    grid.heads(&mut figure);
    for message in origins.traffic.messages() {
        let sender = &origins.moments[message.step][message.from];
        grid.arrow(
            &mut figure,
            message.step,
            (message.from, sender),
            message.to,
        );
    }
    for (moment, ranks) in origins.moments.iter().enumerate() {
        for (rank, held) in ranks.iter().enumerate() {
            grid.strip(&mut figure, moment, rank, held);
        }
    }
    let end = at(0.0, figure.end().y + 34.0);
    figure.write(LABELS, end, Anchor::Start, Style::NOTE);
    figure
}

/// The places of the strips.
struct Grid {
    /// Where the first strip of each moment begins, and where the last one ends.
    lefts: Vec<f64>,
    /// The width of a box.
    box_width: f64,
    ranks: usize,
}

impl Grid {
    fn of(origins: &Origins) -> Grid {
        let moments = &origins.moments;
        let widest = |ranks: &Vec<Held>| ranks.iter().map(boxes).max().unwrap_or(0);
        let boxes: Vec<usize> = moments.iter().map(widest).collect();
        let texts = moments
            .iter()
            .flatten()
            .flatten()
            .flat_map(|(_, pieces)| pieces);
        let text = texts
            .map(|piece| Style::CODE.width(&piece.text()))
            .fold(0.0, f64::max);
        let box_width = text + 8.0;
        let mut left = Style::NAME.width("rank 127") + 8.0;
        let lefts = boxes.iter().map(|&boxes| {
            let here = left;
            left += (boxes as f64 * box_width).max(Style::NAME.width("after step 99"))
                + BETWEEN_MOMENTS;
            here
        });
        Grid {
            lefts: lefts.collect(),
            box_width,
            ranks: origins.traffic.ranks,
        }
    }

    fn top(&self, rank: Rank) -> f64 {
        66.0 + rank as f64 * (HIGH + BETWEEN_ROWS)
    }

    fn heads(&self, figure: &mut Figure) {
        for (moment, &left) in self.lefts.iter().enumerate() {
            let name = match moment.checked_sub(1) {
                None => "before".to_owned(),
                Some(step) => format!("after step {step}"),
            };
            figure.write(name, at(left, 50.0), Anchor::Start, Style::NAME);
        }
        for rank in 0..self.ranks {
            let place = at(0.0, self.top(rank) + HIGH / 2.0 + 4.5);
            figure.write(format!("rank {rank}"), place, Anchor::Start, Style::NAME);
        }
    }

    fn strip(&self, figure: &mut Figure, moment: usize, rank: Rank, held: &Held) {
        let mut place = at(self.lefts[moment], self.top(rank));
        for (text, piece) in texts(held) {
            self.piece(figure, place, text, piece);
            place.x += self.box_width;
        }
    }

    fn piece(&self, figure: &mut Figure, place: Point, text: String, piece: &Piece) {
        let ink = match piece.label {
            Some(_) => Ink::Shade((piece.share * DARKEST) as u8),
            None => Ink::White,
        };
        figure.shapes.push(Shape::Ground {
            corner: place,
            width: self.box_width,
            height: HIGH,
            ink,
        });
        let (right, low) = (place.x + self.box_width, place.y + HIGH);
        let corners = [
            place,
            at(right, place.y),
            at(right, low),
            at(place.x, low),
            place,
        ];
        figure.shapes.push(Shape::Line {
            points: corners.into(),
            stroke: Stroke::solid(Ink::Black, 1.0),
            role: Role::Mark,
        });
        let middle = at(place.x + self.box_width / 2.0, place.y + HIGH / 2.0 + 4.0);
        figure.write(text, middle, Anchor::Middle, Style::CODE);
    }

    /// Draws a message from the right end of its sender's strip to the left end of its receiver's.
    fn arrow(&self, figure: &mut Figure, step: usize, (from, sender): (Rank, &Held), to: Rank) {
        let (Some(left), Some(right)) = (self.lefts.get(step), self.lefts.get(step + 1)) else {
            return;
        };
        let middle = |rank: Rank| self.top(rank) + HIGH / 2.0;
        let start = at(
            left + boxes(sender) as f64 * self.box_width + 3.0,
            middle(from),
        );
        let end = at(right - 4.0, middle(to));
        let bend = at(right - 4.0 - HEAD, middle(to));
        let grey = Stroke::solid(Ink::Grey, 1.2);
        figure.line(start, bend, grey, Role::Message);
        figure.shapes.push(Shape::Area {
            points: vec![end, at(bend.x, end.y - 4.0), at(bend.x, end.y + 4.0)],
            ink: Ink::Grey,
        });
    }
}

/// The number of boxes of a strip.
fn boxes(held: &Held) -> usize {
    held.iter().map(|(_, pieces)| pieces.len()).sum()
}

/// The texts of a strip; those of other buffers than the output begin with the name of their buffer.
fn texts(held: &Held) -> impl Iterator<Item = (String, &Piece)> {
    held.iter().flat_map(|(buffer, pieces)| {
        let name = notation::buffer(*buffer);
        pieces
            .iter()
            .map(move |piece| (format!("{name}{}", piece.text()), piece))
    })
}
