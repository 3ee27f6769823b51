//! A picture as data: shapes with their places, and an upper bound of the width of a text.
//!
//! Lengths are in pixels at 100 %; x grows to the right, y downwards.

/// Line height of a warning.
const WARNING: f64 = 17.0;

/// A place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

/// The point at `(x, y)`.
pub(super) const fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// Colours that people with colour blindness can distinguish.
///
/// # Source
///
/// Okabe and Ito, *Color Universal Design*, 2008: the palette, except that the purple is the darker one of Tol, *Colour
/// Schemes*, 2021, which is legible as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Black,
    Grey,
    /// For guide lines.
    Pale,
    /// For backgrounds.
    Ground,
    White,
    Blue,
    Vermilion,
    Green,
    Purple,
    /// From 0, nearly white, to 255, a dark blue: each darker than the one before, even without its colour.
    Shade(u8),
}

/// The dash pattern of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

/// The stroke of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stroke {
    pub ink: Ink,
    pub width: f64,
    pub dash: Dash,
}

impl Stroke {
    /// A solid line.
    pub const fn solid(ink: Ink, width: f64) -> Stroke {
        Stroke {
            ink,
            width,
            dash: Dash::Solid,
        }
    }
}

/// The meaning of a line or a circle; a class in the SVG, by which a page or a test can find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Guide,
    Message,
    Edge,
    Rank,
    Mark,
    Spread,
}

/// A typeface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Face {
    /// Monospaced, for the notation.
    Mono,
    Sans,
    Bold,
}

/// Which part of a label is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    pub text: String,
    /// On the baseline.
    pub at: Point,
    pub anchor: Anchor,
    pub face: Face,
    /// The font size.
    pub size: f64,
    pub ink: Ink,
}

impl Label {
    /// Returns how far it may reach to the right.
    fn right(&self) -> f64 {
        let share = match self.anchor {
            Anchor::Start => 1.0,
            Anchor::Middle => 0.5,
            Anchor::End => 0.0,
        };
        self.at.x + share * text_width(&self.text, self.face, self.size)
    }

    /// Returns how far it may reach down.
    fn bottom(&self) -> f64 {
        self.at.y + 0.3 * self.size
    }
}

/// Returns an upper bound of the width of a text, in whatever font is available.
pub(super) fn text_width(text: &str, face: Face, size: f64) -> f64 {
    let em = |letter: char| match face {
        _ if !letter.is_ascii() => 1.1,
        Face::Mono => 0.62,
        Face::Sans | Face::Bold => match letter {
            'A'..='Z' | 'm' | 'w' | '%' | '@' => 1.12,
            'i' | 'j' | 'l' | ' ' | '.' | ',' | ':' | ';' => 0.45,
            'a'..='z' | '0'..='9' => 0.72,
            _ => 0.85,
        },
    };
    size * text.chars().map(em).sum::<f64>()
}

/// One element of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A rectangle without an edge.
    Ground {
        corner: Point,
        width: f64,
        height: f64,
        ink: Ink,
    },
    /// Straight lines from point to point.
    Line {
        points: Vec<Point>,
        stroke: Stroke,
        role: Role,
    },
    /// A closed area.
    Area {
        points: Vec<Point>,
        ink: Ink,
    },
    Circle {
        centre: Point,
        radius: f64,
        fill: Ink,
        stroke: Stroke,
        role: Role,
    },
    Label(Label),
}

impl Shape {
    /// A line from one point to another.
    pub fn line(from: Point, to: Point, stroke: Stroke, role: Role) -> Shape {
        Shape::Line {
            points: vec![from, to],
            stroke,
            role,
        }
    }

    fn points_mut(&mut self) -> &mut [Point] {
        match self {
            Shape::Line { points, .. } | Shape::Area { points, .. } => points,
            Shape::Ground { corner: one, .. } | Shape::Circle { centre: one, .. } => {
                std::slice::from_mut(one)
            }
            Shape::Label(label) => std::slice::from_mut(&mut label.at),
        }
    }

    /// Returns the lower right corner of the area that it may cover.
    fn end(&self) -> Point {
        let far = |points: &[Point]| {
            let farther = |a: Point, b: &Point| at(a.x.max(b.x), a.y.max(b.y));
            points.iter().fold(at(0.0, 0.0), farther)
        };
        match self {
            Shape::Line { points, .. } | Shape::Area { points, .. } => far(points),
            Shape::Ground {
                corner,
                width,
                height,
                ..
            } => at(corner.x + width, corner.y + height),
            Shape::Circle { centre, radius, .. } => at(centre.x + radius, centre.y + radius),
            Shape::Label(label) => at(label.right(), label.bottom()),
        }
    }
}

/// Shapes, the later ones on top, with a title and a description of the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figure {
    pub title: String,
    pub description: String,
    pub shapes: Vec<Shape>,
}

impl Figure {
    /// Returns the lower right corner of the area that the shapes may cover.
    pub fn end(&self) -> Point {
        let ends = self.shapes.iter().map(Shape::end);
        ends.fold(at(0.0, 0.0), |a, b| at(a.x.max(b.x), a.y.max(b.y)))
    }

    /// Moves all shapes.
    pub fn shift(&mut self, right: f64, down: f64) {
        for point in self.shapes.iter_mut().flat_map(Shape::points_mut) {
            *point = at(point.x + right, point.y + down);
        }
    }

    /// Writes a text.
    pub fn write(&mut self, text: impl Into<String>, place: Point, anchor: Anchor, style: Style) {
        self.shapes.push(Shape::Label(Label {
            text: text.into(),
            at: place,
            anchor,
            face: style.face,
            size: style.size,
            ink: style.ink,
        }));
    }

    /// Writes warnings below each other, the first at `top`, broken at `width`.
    pub fn warn(&mut self, warnings: &[String], top: f64, width: f64) {
        let style = Style::NOTE.ink(Ink::Vermilion);
        let lines = warnings.iter().flat_map(|text| style.broken(text, width));
        for (line, text) in lines.enumerate() {
            let place = at(0.0, top + WARNING * line as f64);
            self.write(text, place, Anchor::Start, style);
        }
    }

    /// Draws a line.
    pub fn line(&mut self, from: Point, to: Point, stroke: Stroke, role: Role) {
        self.shapes.push(Shape::line(from, to, stroke, role));
    }
}

/// The look of a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    pub face: Face,
    pub size: f64,
    pub ink: Ink,
}

impl Style {
    /// For titles of pictures.
    pub const TITLE: Style = Style::new(Face::Bold, 15.0, Ink::Black);
    /// For ranks and steps.
    pub const NAME: Style = Style::new(Face::Sans, 13.0, Ink::Black);
    /// For explanations.
    pub const NOTE: Style = Style::new(Face::Sans, 12.0, Ink::Grey);
    /// For the notation.
    pub const CODE: Style = Style::new(Face::Mono, 12.0, Ink::Black);

    const fn new(face: Face, size: f64, ink: Ink) -> Style {
        Style { face, size, ink }
    }

    /// The same style in another colour.
    pub const fn ink(self, ink: Ink) -> Style {
        Style { ink, ..self }
    }

    /// Returns an upper bound of the width of a text.
    pub fn width(self, text: &str) -> f64 {
        text_width(text, self.face, self.size)
    }

    /// Breaks a text into lines no wider than `width`, except for single words that are.
    pub fn broken(self, text: &str, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if self.width(&format!("{line} {word}")) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }
}
