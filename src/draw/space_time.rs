//! Schedules as a picture: a line for each rank, a column for each step, arrows in the middle of the columns, and
//! labels on both sides of the arrows, where no arrow crosses them.

use super::arrow::{MARK, arrow, copy_mark, cross};
use super::figure::{Anchor, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use super::legend;
use super::notation;
use super::traffic::{DrawnMessage, Traffic};
use crate::Rank;
use crate::schedule::Transfer;

/// Distance between the lines of two ranks.
const ROW: f64 = 27.0;
/// Distance from the top to the line of rank 0.
const HEADER: f64 = 72.0;
/// Gap between a label and its neighbours.
const PAD: f64 = 8.0;
/// Distance of a label above its line.
const LIFT: f64 = 5.0;
/// Gap between two panels.
const BETWEEN_PANELS: f64 = 56.0;

pub(super) fn figure(panels: &[Traffic]) -> Figure {
    let scale = Scale::of(panels);
    let mut whole = Figure {
        title: panels
            .iter()
            .map(Traffic::heading)
            .collect::<Vec<_>>()
            .join(" | "),
        description: DESCRIPTION.to_owned(),
        shapes: Vec::new(),
    };
    let mut left = 0.0;
    for traffic in panels {
        let mut panel = Figure::default();
        Panel::new(traffic, &scale).draw(&mut panel);
        panel.shift(left, 0.0);
        left = panel.end().x + BETWEEN_PANELS;
        whole.shapes.append(&mut panel.shapes);
    }
    let top = whole.end().y + 28.0;
    legend::draw(panels, scale.uneven, top, &mut whole);
    whole
}

const DESCRIPTION: &str = "A space-time diagram: a line for each rank from top to bottom, a column for each \
step from left to right, and an arrow from sender to receiver for each message. What is sent is written \
where an arrow starts, what becomes of it where the arrow ends.";

/// Measures that all panels share.
struct Scale {
    /// Widths of the widest label of a send, and of a receive.
    send: f64,
    recv: f64,
    /// Width of the arrows' part of a column.
    field: f64,
    /// Number of elements of the longest message.
    most: usize,
    /// Whether messages differ in length.
    uneven: bool,
}

impl Scale {
    fn of(panels: &[Traffic]) -> Scale {
        let messages: Vec<DrawnMessage> = panels.iter().flat_map(Traffic::messages).collect();
        let widest = |text: fn(&DrawnMessage) -> Option<String>| {
            let widths = messages
                .iter()
                .filter_map(|message| Some(Style::CODE.width(&text(message)?)));
            widths.fold(0.0, f64::max)
        };
        let farthest = messages
            .iter()
            .map(|message| message.from.abs_diff(message.to))
            .max();
        let lengths: Vec<usize> = messages.iter().map(DrawnMessage::elements).collect();
        let (least, most) = (lengths.iter().min(), lengths.iter().max());
        Scale {
            send: widest(sent),
            recv: widest(landed),
            field: (50.0 + 7.0 * farthest.unwrap_or(0) as f64).min(220.0),
            most: most.copied().unwrap_or(0),
            uneven: most != least,
        }
    }

    /// Returns the thickness of an arrow.
    fn thickness(&self, message: &DrawnMessage) -> f64 {
        let share = message.elements() as f64 / self.most.max(1) as f64;
        if self.uneven { 1.0 + 2.2 * share } else { 1.6 }
    }

    /// Returns the width of a step's messages; the same for all steps that have some.
    fn messages(&self, traffic: &Traffic, step: usize) -> f64 {
        if !traffic.has_messages(step) {
            return 0.0;
        }
        let (before, after) = (PAD + self.send + PAD, MARK + PAD + self.recv + PAD);
        before + self.field + after
    }
}

/// Returns the label at the start of a message.
fn sent(message: &DrawnMessage) -> Option<String> {
    let (peer, region) = (message.to, message.sent?);
    Some(notation::send(
        &Transfer { peer, region },
        message.is_lone(),
    ))
}

/// Returns the label at the end of a message.
fn landed(message: &DrawnMessage) -> Option<String> {
    let (into, combine) = message.landed?;
    Some(notation::recv(
        message.from,
        &into,
        combine,
        message.is_lone(),
    ))
}

/// The picture of one schedule.
struct Panel<'a> {
    traffic: &'a Traffic,
    scale: &'a Scale,
    /// The width of the ranks' names.
    names: f64,
    /// The width of the labels of local copies and clashes, for each step.
    own: Vec<f64>,
    /// The position where each step starts, and where the last one ends.
    starts: Vec<f64>,
}

impl<'a> Panel<'a> {
    fn new(traffic: &'a Traffic, scale: &'a Scale) -> Panel<'a> {
        let names = Style::NAME.width(&name(traffic.ranks.saturating_sub(1))) + PAD;
        let own: Vec<f64> = traffic
            .steps
            .clone()
            .map(|step| own_width(traffic, step))
            .collect();
        let mut starts = vec![names];
        for (step, own) in traffic.steps.clone().zip(&own) {
            let width = own + scale.messages(traffic, step);
            let head = Style::NAME.width(&head(step)) + 2.0 * PAD;
            starts.push(starts[starts.len() - 1] + width.max(head));
        }
        Panel {
            traffic,
            scale,
            names,
            own,
            starts,
        }
    }

    fn draw(&self, figure: &mut Figure) {
        figure.write(
            self.traffic.heading(),
            at(0.0, 14.0),
            Anchor::Start,
            Style::TITLE,
        );
        self.steps(figure);
        self.ranks(figure);
        for message in self.traffic.messages() {
            self.message(&message, figure);
        }
        self.own_deeds(figure);
    }

    fn column(&self, step: usize) -> usize {
        step - self.traffic.steps.start
    }

    /// Returns the vertical position of a rank's line.
    fn line(&self, rank: Rank) -> f64 {
        HEADER + ROW * rank as f64
    }

    fn right(&self) -> f64 {
        self.starts[self.starts.len() - 1]
    }

    fn bottom(&self) -> f64 {
        self.line(self.traffic.ranks) - ROW / 2.0
    }

    /// Returns where the arrows of a step start.
    fn departure(&self, step: usize) -> f64 {
        let column = self.column(step);
        self.starts[column] + self.own[column] + PAD + self.scale.send + PAD
    }

    /// Returns where the arrows of a step end.
    fn arrival(&self, step: usize) -> f64 {
        self.departure(step) + self.scale.field
    }

    /// Draws the columns and their names.
    fn steps(&self, figure: &mut Figure) {
        let top = HEADER - ROW - 14.0;
        for (column, step) in self.traffic.steps.clone().enumerate() {
            let (left, right) = (self.starts[column], self.starts[column + 1]);
            if column % 2 == 0 {
                figure.shapes.push(Shape::Ground {
                    corner: at(left, top),
                    width: right - left,
                    height: self.bottom() - top,
                    ink: Ink::Ground,
                });
            }
            let middle = at((left + right) / 2.0, top + 16.0);
            figure.write(head(step), middle, Anchor::Middle, Style::NAME);
        }
    }

    /// Draws a line for each rank, with its name at both ends.
    fn ranks(&self, figure: &mut Figure) {
        for rank in 0..self.traffic.ranks {
            let y = self.line(rank);
            let (start, end) = (at(self.names, y), at(self.right(), y));
            figure.line(start, end, Stroke::solid(Ink::Pale, 1.0), Role::Guide);
            figure.write(name(rank), at(0.0, y + 4.5), Anchor::Start, Style::NAME);
            if !self.own.is_empty() {
                let after = at(self.right() + PAD, y + 4.5);
                figure.write(rank.to_string(), after, Anchor::Start, Style::NAME);
            }
        }
    }

    /// Returns a place on the line of a rank; if there is no such rank, on the line of the other end.
    fn place(&self, rank: Rank, other: Rank, x: f64) -> Point {
        let exists = rank < self.traffic.ranks;
        at(x, self.line(if exists { rank } else { other }))
    }

    fn message(&self, message: &DrawnMessage, figure: &mut Figure) {
        let (from, to) = (self.departure(message.step), self.arrival(message.step));
        let (from, to) = (
            self.place(message.from, message.to, from),
            self.place(message.to, message.from, to),
        );
        let width = self.scale.thickness(message);
        arrow([from, to], message.outcome(), width, Role::Message, figure);
        if message.is_lone() {
            cross(if message.sent.is_none() { from } else { to }, figure);
        }
        if let Some(text) = sent(message) {
            figure.write(
                text,
                at(from.x - PAD, from.y - LIFT),
                Anchor::End,
                Style::CODE,
            );
        }
        if let Some(text) = landed(message) {
            let beside = at(to.x + MARK + PAD, to.y - LIFT);
            figure.write(text, beside, Anchor::Start, Style::CODE);
        }
    }

    /// Draws local copies and clashes, such as two sends in one step.
    fn own_deeds(&self, figure: &mut Figure) {
        for step in self.traffic.steps.clone() {
            for rank in 0..self.traffic.ranks {
                let left = at(self.starts[self.column(step)] + PAD, self.line(rank));
                let Some(text) = own(self.traffic, rank, step) else {
                    continue;
                };
                if self.traffic.step(rank, step).local.is_some() {
                    let end = at(left.x + Style::CODE.width(&text), left.y);
                    copy_mark(left, end, figure);
                }
                figure.write(text, at(left.x, left.y - LIFT), Anchor::Start, Style::CODE);
            }
        }
    }
}

/// Returns the label of a rank's local copy and clash in a step.
fn own(traffic: &Traffic, rank: Rank, step: usize) -> Option<String> {
    let doing = traffic.step(rank, step);
    let copy = doing.local.map(|copy| notation::copy(&copy));
    let clash = doing.clash.map(notation::clash);
    let both: Vec<_> = [copy, clash].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(" "))
}

fn own_width(traffic: &Traffic, step: usize) -> f64 {
    let texts = (0..traffic.ranks).filter_map(|rank| own(traffic, rank, step));
    let widest = texts.map(|text| Style::CODE.width(&text) + 2.0 * PAD);
    widest.fold(0.0, f64::max)
}

fn head(step: usize) -> String {
    format!("step {step}")
}

fn name(rank: Rank) -> String {
    format!("rank {rank}")
}
