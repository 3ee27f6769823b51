//! A figure written as SVG.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use super::figure::{Anchor, Dash, Face, Figure, Ink, Label, Point, Role, Shape, Stroke};

/// Margin around the picture.
const MARGIN: f64 = 16.0;

const MONO: &str = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace";
const SANS: &str = "Helvetica, Arial, 'DejaVu Sans', 'Liberation Sans', sans-serif";

/// Returns the width and height of the document, in pixels.
pub(super) fn size(figure: &Figure) -> (f64, f64) {
    let end = figure.end();
    ((end.x + 2.0 * MARGIN).ceil(), (end.y + 2.0 * MARGIN).ceil())
}

pub(super) fn write(figure: &Figure) -> String {
    let (width, height) = size(figure);
    let shapes: String = figure
        .shapes
        .iter()
        .map(|shape| Svg(shape).to_string())
        .collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"{} {} {width} {height}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n\
         <rect x=\"{}\" y=\"{}\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <g font-family=\"{MONO}\" font-size=\"12\">\n{shapes}</g>\n</svg>\n",
        -MARGIN,
        -MARGIN,
        Escaped(&figure.title),
        Escaped(&figure.description),
        -MARGIN,
        -MARGIN,
    )
}

/// A length, rounded to a tenth of a pixel.
struct Px(f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round();
        // Adding 0 turns -0 into 0.
        write!(f, "{}", tenths / 10.0 + 0.0)
    }
}

/// A text escaped for use between tags or in an attribute.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            // Characters that XML cannot represent at all.
            '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}'),
            _ if letter.is_control() => f.write_char('\u{fffd}'),
            _ => f.write_char(letter),
        })
    }
}

fn colour(ink: Ink) -> Cow<'static, str> {
    let named = match ink {
        Ink::Shade(depth) => return shade(depth).into(),
        Ink::Black => "#000000",
        Ink::Grey => "#4d4d4d",
        Ink::Pale => "#bfbfbf",
        Ink::Ground => "#f3f3f3",
        Ink::White => "#ffffff",
        Ink::Blue => "#0072b2",
        Ink::Vermilion => "#d55e00",
        Ink::Green => "#009e73",
        Ink::Purple => "#aa4499",
    };
    named.into()
}

/// Returns a colour between nearly white and a dark blue, by way of a light blue.
fn shade(depth: u8) -> String {
    const STOPS: [[f64; 3]; 3] = [
        [247.0, 251.0, 255.0],
        [107.0, 174.0, 214.0],
        [8.0, 48.0, 107.0],
    ];
    let place = f64::from(depth) / 127.5;
    let (first, share) = if place < 1.0 {
        (0, place)
    } else {
        (1, place - 1.0)
    };
    let mixed = |i: usize| STOPS[first][i] + share * (STOPS[first + 1][i] - STOPS[first][i]);
    let [red, green, blue] = [0, 1, 2].map(|i| mixed(i).round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn class(role: Role) -> &'static str {
    match role {
        Role::Guide => "guide",
        Role::Message => "message",
        Role::Edge => "edge",
        Role::Rank => "rank",
        Role::Mark => "mark",
        Role::Spread => "spread",
    }
}

struct Svg<'a, T: ?Sized>(&'a T);

impl Display for Svg<'_, Stroke> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stroke { ink, width, dash } = *self.0;
        write!(
            f,
            "stroke=\"{}\" stroke-width=\"{}\"",
            colour(ink),
            Px(width)
        )?;
        match dash {
            Dash::Solid => Ok(()),
            Dash::Dashed => f.write_str(" stroke-dasharray=\"7 4\""),
            Dash::Dotted => f.write_str(" stroke-dasharray=\"2 4\""),
        }
    }
}

impl Display for Svg<'_, [Point]> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0.iter().enumerate()).try_for_each(|(i, point)| {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{},{}", Px(point.x), Px(point.y))
        })
    }
}

impl Display for Svg<'_, Label> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.0;
        write!(f, "<text x=\"{}\" y=\"{}\"", Px(label.at.x), Px(label.at.y))?;
        match label.anchor {
            Anchor::Start => {}
            Anchor::Middle => f.write_str(" text-anchor=\"middle\"")?,
            Anchor::End => f.write_str(" text-anchor=\"end\"")?,
        }
        if label.size != 12.0 {
            write!(f, " font-size=\"{}\"", Px(label.size))?;
        }
        match label.face {
            Face::Mono => {}
            Face::Sans => write!(f, " font-family=\"{SANS}\"")?,
            Face::Bold => write!(f, " font-family=\"{SANS}\" font-weight=\"bold\"")?,
        }
        if label.ink != Ink::Black {
            write!(f, " fill=\"{}\"", colour(label.ink))?;
        }
        writeln!(f, ">{}</text>", Escaped(&label.text))
    }
}

impl Display for Svg<'_, Shape> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Shape::Ground {
                corner,
                width,
                height,
                ink,
            } => ground(f, *corner, (*width, *height), *ink),
            Shape::Line {
                points,
                stroke,
                role,
            } => polyline(f, points, stroke, *role),
            Shape::Area { points, ink } => polygon(f, points, *ink),
            Shape::Circle {
                centre,
                radius,
                fill,
                stroke,
                role,
            } => {
                circle(f, *centre, *radius, *role)?;
                writeln!(f, " fill=\"{}\" {}/>", colour(*fill), Svg(stroke))
            }
            Shape::Label(label) => Svg(label).fmt(f),
        }
    }
}

fn ground(
    f: &mut fmt::Formatter<'_>,
    corner: Point,
    (width, height): (f64, f64),
    ink: Ink,
) -> fmt::Result {
    writeln!(
        f,
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
        Px(corner.x),
        Px(corner.y),
        Px(width),
        Px(height),
        colour(ink)
    )
}

fn polyline(
    f: &mut fmt::Formatter<'_>,
    points: &[Point],
    stroke: &Stroke,
    role: Role,
) -> fmt::Result {
    writeln!(
        f,
        "<polyline class=\"{}\" points=\"{}\" fill=\"none\" {}/>",
        class(role),
        Svg(points),
        Svg(stroke)
    )
}

fn polygon(f: &mut fmt::Formatter<'_>, points: &[Point], ink: Ink) -> fmt::Result {
    writeln!(
        f,
        "<polygon points=\"{}\" fill=\"{}\"/>",
        Svg(points),
        colour(ink)
    )
}

/// Begins a circle, up to its colours.
fn circle(f: &mut fmt::Formatter<'_>, centre: Point, radius: f64, role: Role) -> fmt::Result {
    write!(
        f,
        "<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"",
        class(role),
        Px(centre.x),
        Px(centre.y),
        Px(radius)
    )
}
