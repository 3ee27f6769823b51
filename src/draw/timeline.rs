//! A run as a picture: a line for each rank, time from left to right, a bar for each call, and an arrow for each
//! message from the time it is sent to the time it is received.

use super::TooLarge;
use super::arrow::{arrow_head, cross};
use super::figure::{Anchor, Dash, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use crate::Rank;

/// A run; times are in seconds.
pub(crate) struct Timeline {
    pub ranks: usize,
    pub end: f64,
    pub scale: Scale,
    pub bars: Vec<Bar>,
    pub arrows: Vec<Arrow>,
}

/// The length of the picture and the meaning of its scale.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// As long as a page, labelled with times.
    Time,
    /// Proportional to the number of events, each of which takes this long; without times.
    Events(f64),
}

/// A call.
pub(crate) struct Bar {
    pub rank: Rank,
    pub begin: f64,
    /// `None` if it never finished.
    pub end: Option<f64>,
    pub label: String,
    pub failed: bool,
}

/// A message.
pub(crate) struct Arrow {
    pub from: Rank,
    pub to: Rank,
    pub sent: f64,
    /// `None` if it was never received.
    pub received: Option<f64>,
    /// Whether it belongs to a collective.
    pub collective: bool,
}

/// Distance between the lines of two ranks.
const ROW: f64 = 44.0;
/// Distance from the top to the line of rank 0.
const HEADER: f64 = 76.0;
/// Gap between a label and its neighbours.
const PAD: f64 = 8.0;
/// Height of a bar.
const BAR: f64 = 10.0;
/// Width of a picture with times.
const WIDTH: f64 = 1000.0;
/// Width of an event.
const EVENT: f64 = 26.0;
/// Length of an arrow that never arrives.
const SHORT: f64 = 18.0;
/// Number of parts of the scale.
const TICKS: usize = 5;

const LEGEND: [&str; 3] = [
    "a bar is a call: dark if it failed or was never over",
    "a solid arrow is a message between two ranks, a dashed one a message inside a collective",
    "a dotted line that ends in a cross is a message that was never received",
];

pub(super) fn figure(timeline: &Timeline) -> Figure {
    let (calls, messages) = (timeline.bars.len(), timeline.arrows.len());
    let mut figure = Figure {
        title: format!(
            "{} ranks, {calls} calls, {messages} messages",
            timeline.ranks
        ),
        description: DESCRIPTION.to_owned(),
        shapes: Vec::new(),
    };
    Panel::new(timeline).draw(&mut figure);
    figure
}

const DESCRIPTION: &str = "A space-time diagram of a run: a line for each rank from top to bottom, time from left \
to right, a bar for each call, and an arrow for each message from where it was sent to where it was received.";

struct Panel<'a> {
    run: &'a Timeline,
    /// The position of time 0.
    left: f64,
    /// Pixels per second.
    stretch: f64,
    width: f64,
}

impl<'a> Panel<'a> {
    fn new(run: &'a Timeline) -> Panel<'a> {
        let left = Style::NAME.width(&name(run.ranks.saturating_sub(1))) + PAD;
        let width = match run.scale {
            Scale::Time => WIDTH,
            Scale::Events(one) => (run.end / one + 1.0) * EVENT,
        };
        let stretch = match run.scale {
            Scale::Events(one) => EVENT / one,
            Scale::Time if run.end > 0.0 => WIDTH / run.end,
            Scale::Time => 0.0,
        };
        Panel {
            run,
            left,
            stretch,
            width,
        }
    }

    fn draw(&self, figure: &mut Figure) {
        let title = figure.title.clone();
        figure.write(title, at(0.0, 14.0), Anchor::Start, Style::TITLE);
        self.scale(figure);
        self.ranks(figure);
        self.bars(figure);
        for arrow in &self.run.arrows {
            self.arrow(arrow, figure);
        }
        for (place, text) in LEGEND.into_iter().enumerate() {
            let below = self.line(self.run.ranks) + PAD + 18.0 * place as f64;
            figure.write(text, at(0.0, below), Anchor::Start, Style::NOTE);
        }
    }

    fn x(&self, time: f64) -> f64 {
        self.left + time * self.stretch
    }

    /// Returns the vertical position of a rank's line.
    fn line(&self, rank: Rank) -> f64 {
        HEADER + ROW * rank as f64
    }

    /// Writes the times above the picture.
    fn scale(&self, figure: &mut Figure) {
        if self.run.scale != Scale::Time {
            let text = "each event of a rank a step to the right, and a message is received after it was sent";
            figure.write(text, at(self.left, 36.0), Anchor::Start, Style::NOTE);
            return;
        }
        for tick in 0..=TICKS {
            let time = self.run.end * tick as f64 / TICKS as f64;
            let (top, bottom) = (
                at(self.x(time), 42.0),
                at(self.x(time), self.line(self.run.ranks) - ROW / 2.0),
            );
            figure.line(top, bottom, Stroke::solid(Ink::Ground, 1.0), Role::Guide);
            figure.write(written(time), at(top.x, 36.0), Anchor::Middle, Style::NOTE);
        }
    }

    fn ranks(&self, figure: &mut Figure) {
        for rank in 0..self.run.ranks {
            let y = self.line(rank);
            let (start, end) = (at(self.left, y), at(self.left + self.width, y));
            figure.line(start, end, Stroke::solid(Ink::Pale, 1.0), Role::Guide);
            figure.write(name(rank), at(0.0, y + 4.5), Anchor::Start, Style::NAME);
        }
    }

    /// Draws the calls, each with its name where there is room.
    fn bars(&self, figure: &mut Figure) {
        let mut free = vec![f64::MIN; self.run.ranks];
        for bar in &self.run.bars {
            let (begin, end) = (self.x(bar.begin), self.x(bar.end.unwrap_or(self.run.end)));
            let y = self.line(bar.rank);
            figure.shapes.push(Shape::Ground {
                corner: at(begin, y - BAR / 2.0),
                width: (end - begin).max(1.0),
                height: BAR,
                ink: match bar.failed || bar.end.is_none() {
                    true => Ink::Grey,
                    false => Ink::Pale,
                },
            });
            // A name may extend beyond its bar, but not into another name.
            let label = Style::CODE.width(&bar.label);
            if begin >= free[bar.rank] && begin + label <= self.left + self.width.max(label) {
                let above = at(begin, y - BAR / 2.0 - 4.0);
                figure.write(bar.label.as_str(), above, Anchor::Start, Style::CODE);
                free[bar.rank] = begin + label + PAD;
            }
        }
    }

    fn arrow(&self, arrow: &Arrow, figure: &mut Figure) {
        let from = at(self.x(arrow.sent), self.line(arrow.from));
        let (ink, dash) = match (arrow.received, arrow.collective) {
            (None, _) => (Ink::Black, Dash::Dotted),
            (_, false) => (Ink::Blue, Dash::Solid),
            (_, true) => (Ink::Vermilion, Dash::Dashed),
        };
        let to = match arrow.received {
            Some(time) => at(self.x(time), self.line(arrow.to)),
            None => self.lost(from, arrow),
        };
        let width = 1.4;
        let stroke = Stroke { ink, width, dash };
        figure.line(from, to, stroke, Role::Message);
        match arrow.received {
            Some(_) => arrow_head(from, to, 0.0, ink, figure),
            None => cross(to, figure),
        }
    }

    /// Returns where the arrow of a message that never arrived ends: a short way towards its receiver.
    fn lost(&self, from: Point, arrow: &Arrow) -> Point {
        let down = match arrow.to.cmp(&arrow.from) {
            std::cmp::Ordering::Less => -SHORT,
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => SHORT,
        };
        at(from.x + SHORT, from.y + down)
    }
}

fn name(rank: Rank) -> String {
    format!("rank {rank}")
}

/// Formats a time with a suitable unit.
fn written(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.1} us", seconds * 1e6),
        ..1.0 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

/// Checks that a run can be drawn.
pub(super) fn check(timeline: &Timeline) -> Result<(), TooLarge> {
    let most = timeline.bars.len().max(timeline.arrows.len());
    super::limit::run(timeline.ranks, most)
}
