//! A reader of SVG drawings: checks that they are well-formed, and finds labels as boxes, lines, and their meanings.
//!
//! It shares no lengths with the writer. The widths of letters are those of a wide font.
#![allow(dead_code)] // each test takes what it needs

use std::collections::BTreeMap;

/// The widths of ASCII letters from the space on, in thousandths of an em, in DejaVu Sans Bold, which is wider than
/// Helvetica, Arial and its own regular face.
#[rustfmt::skip]
const WIDTHS: [u32; 95] = [
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365,
    696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580,
    1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850,
    733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500,
    500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687,
    716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
];

/// Signs of the notation come from any font, and are up to an em wide.
fn em(letter: char, mono: bool) -> f64 {
    match WIDTHS.get((letter as usize).wrapping_sub(32)) {
        None => 1.0,
        Some(_) if mono => 0.602,
        Some(&width) => f64::from(width) / 1000.0,
    }
}

pub struct Label {
    pub text: String,
    /// Left, top, right, bottom.
    pub area: [f64; 4],
}

impl Label {
    fn touches(&self, other: &Label) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.area, other.area);
        a < g && e < c && b < h && f < d
    }

    fn middle(&self) -> f64 {
        (self.area[0] + self.area[2]) / 2.0
    }
}

/// A tag with its attributes.
#[derive(Clone, Debug)]
pub struct Tag {
    name: String,
    attributes: BTreeMap<String, String>,
}

impl Tag {
    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    fn is(&self, name: &str, class: &str) -> bool {
        self.name == name
            && self
                .attributes
                .get("class")
                .is_some_and(|found| found == class)
    }

    fn number(&self, name: &str) -> f64 {
        self.attributes[name].parse().unwrap()
    }

    fn points(&self) -> Vec<(f64, f64)> {
        let pair = |pair: &str| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        self.attributes["points"].split(' ').map(pair).collect()
    }
}

pub struct Page {
    /// Left, top, right, bottom.
    area: [f64; 4],
    pub labels: Vec<Label>,
    tags: Vec<Tag>,
}

impl Page {
    /// Reads a document; panics if it is not well-formed.
    pub fn read(svg: &str) -> Page {
        let mut open: Vec<Tag> = Vec::new();
        let (mut labels, mut tags) = (Vec::new(), Vec::new());
        let mut rest = svg;
        while let Some((text, markup)) = rest.split_once('<') {
            if open.is_empty() {
                assert!(text.trim().is_empty(), "{text} outside");
            } else if let Some(tag) = open.last().filter(|tag| tag.name == "text") {
                labels.push(label(tag, &open, plain(text)));
            } else {
                plain(text);
            }
            let (inside, after) = markup.split_once('>').expect("a tag ends");
            rest = after;
            if let Some(name) = inside.strip_prefix('/') {
                assert_eq!(open.pop().expect("it was opened").name, name);
                continue;
            }
            let tag = tag(inside.trim_end_matches('/'));
            tags.push(tag.clone());
            if !inside.ends_with('/') {
                open.push(tag);
            }
        }
        assert!(open.is_empty() && rest.trim().is_empty());
        assert_eq!(tags.iter().filter(|tag| tag.name == "svg").count(), 1);
        let area = area(&tags[0]);
        Page { area, labels, tags }
    }

    pub fn lines<'a>(&'a self, class: &'a str) -> impl Iterator<Item = &'a Tag> {
        self.tags
            .iter()
            .filter(move |tag| tag.is("polyline", class))
    }

    /// Checks that no two labels overlap, and that no label or line is outside.
    pub fn assert_legible(&self, name: &str) {
        let [left, top, right, bottom] = self.area;
        let mut labels: Vec<&Label> = self.labels.iter().collect();
        labels.sort_by(|a, b| a.area[1].total_cmp(&b.area[1]));
        for (i, a) in labels.iter().enumerate() {
            let [w, n, e, s] = a.area;
            assert!(
                left <= w && top <= n && e <= right && s <= bottom,
                "{name}: {} outside",
                a.text
            );
            let level = labels[i + 1..].iter().take_while(|b| b.area[1] < s);
            for b in level {
                assert!(
                    !a.touches(b),
                    "{name}: {} {:?} and {} {:?}",
                    a.text,
                    a.area,
                    b.text,
                    b.area
                );
            }
        }
        for tag in self.tags.iter().filter(|tag| tag.has("points")) {
            for (x, y) in tag.points() {
                assert!(
                    left <= x && x <= right && top <= y && y <= bottom,
                    "{name}: {tag:?}"
                );
            }
        }
    }

    pub fn assert_no_line_crosses_a_label(&self, name: &str, class: &str) {
        for line in self.lines(class) {
            for ends in line.points().windows(2) {
                let crossed = self
                    .labels
                    .iter()
                    .find(|label| crosses(ends[0], ends[1], label.area));
                assert!(
                    crossed.is_none(),
                    "{name}: {ends:?} crosses {}",
                    crossed.unwrap().text
                );
            }
        }
    }

    /// Returns the number after each name, such as `rank 3`, with its label.
    fn named(&self, name: &str) -> Vec<(usize, &Label)> {
        let number = |label: &Label| label.text.strip_prefix(name)?.parse().ok();
        self.labels
            .iter()
            .filter_map(|label| Some((number(label)?, label)))
            .collect()
    }

    /// Returns the messages of a diagram as (step, from, to). A rank is the one whose name is beside the end of the
    /// arrow, the step the one whose column contains it.
    pub fn arrows(&self) -> Vec<(usize, usize, usize)> {
        let ranks = self.named("rank ");
        let rank = |y: f64| {
            let beside = |label: &Label| label.area[1] < y && y < label.area[3];
            let mut found = ranks.iter().filter(|(_, label)| beside(label));
            let rank = found.next().expect("a rank").0;
            assert!(found.next().is_none());
            rank
        };
        let mut columns = self.columns();
        columns.sort_by(|a, b| a.1.total_cmp(&b.1));
        let arrow = |line: &Tag| {
            let [from, to] = line.points()[..] else {
                panic!("{line:?}")
            };
            let at = |x: f64| columns.partition_point(|column| column.1 <= x) - 1;
            assert_eq!(at(from.0), at(to.0));
            (columns[at(from.0)].0, rank(from.1), rank(to.1))
        };
        self.lines("message").map(arrow).collect()
    }

    /// For each message, returns whether a cross is at its start, and whether one is at its end.
    pub fn crossed_ends(&self) -> Vec<[bool; 2]> {
        let strokes: Vec<_> = self.lines("mark").map(Tag::points).collect();
        let crosses_at = |x: f64, y: f64| {
            let slanted = |up: bool| {
                strokes.iter().any(|ends| {
                    let [(a, b), (c, d)] = ends[..] else {
                        return false;
                    };
                    let near = ((a + c) / 2.0 - x).abs() < 0.1 && ((b + d) / 2.0 - y).abs() < 0.1;
                    near && if up {
                        (c - a) * (d - b) < 0.0
                    } else {
                        (c - a) * (d - b) > 0.0
                    }
                })
            };
            slanted(true) && slanted(false)
        };
        let ends = |line: &Tag| {
            let points = line.points();
            [points[0], points[points.len() - 1]].map(|(x, y)| crosses_at(x, y))
        };
        self.lines("message").map(ends).collect()
    }

    /// Returns each step, and where its column starts. Columns touch, and heads are in their middles.
    fn columns(&self) -> Vec<(usize, f64)> {
        let heads = self.named("step ");
        let guide = self.lines("guide").next().map(|line| line.points()[0].0);
        let mut start = guide.unwrap_or(0.0);
        let column = |(step, label): &(usize, &Label)| {
            let this = start;
            start = 2.0 * label.middle() - this;
            (*step, this)
        };
        heads.iter().map(column).collect()
    }

    /// Returns the edges of a tree as (from, step, to): the circles at both ends, and the nearest number.
    pub fn edges(&self) -> Vec<(usize, usize, usize)> {
        let circles: Vec<&Tag> = self
            .tags
            .iter()
            .filter(|tag| tag.is("circle", "rank"))
            .collect();
        let centre = |label: &Label| (label.middle(), (label.area[1] + label.area[3]) / 2.0);
        let numbers: Vec<(usize, f64, f64, bool)> = (self.labels.iter())
            .filter_map(|label| {
                let (number, (x, y)) = (label.text.parse().ok()?, centre(label));
                Some((
                    number,
                    x,
                    y,
                    circles.iter().any(|circle| inside(circle, x, y)),
                ))
            })
            .collect();
        let nearest = |x: f64, y: f64, in_circle: bool| {
            let far = |n: &&(usize, f64, f64, bool)| (n.1 - x).hypot(n.2 - y);
            let of_kind = numbers.iter().filter(|n| n.3 == in_circle);
            of_kind.min_by(|a, b| far(a).total_cmp(&far(b))).unwrap().0
        };
        let rank = |(x, y): (f64, f64)| {
            let circle = circles
                .iter()
                .find(|circle| inside(circle, x, y))
                .expect("a rank");
            nearest(circle.number("cx"), circle.number("cy"), true)
        };
        let edge = |line: &Tag| {
            let points = line.points();
            let (start, bend) = (points[0], points[1]);
            let step = nearest(start.0, (start.1 + bend.1) / 2.0, false);
            (rank(start), step, rank(points[points.len() - 1]))
        };
        self.lines("edge").map(edge).collect()
    }
}

/// Returns whether a point is inside a circle, or on its line.
fn inside(circle: &Tag, x: f64, y: f64) -> bool {
    (circle.number("cx") - x).hypot(circle.number("cy") - y) <= circle.number("r") + 0.5
}

fn area(svg: &Tag) -> [f64; 4] {
    let numbers: Vec<f64> = svg.attributes["viewBox"]
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let [x, y, width, height] = numbers[..] else {
        panic!("a view box has four numbers")
    };
    assert_eq!((width, height), (svg.number("width"), svg.number("height")));
    [x, y, x + width, y + height]
}

fn tag(inside: &str) -> Tag {
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    assert!(name.chars().all(char::is_alphanumeric), "{name}");
    let mut attributes = BTreeMap::new();
    while !rest.trim().is_empty() {
        let (key, after) = rest
            .trim_start()
            .split_once("=\"")
            .expect("an attribute has a value");
        let (value, after) = after.split_once('"').expect("a value ends");
        let twice = attributes.insert(key.to_owned(), plain(value));
        assert!(twice.is_none(), "{key} stands twice in {inside}");
        rest = after;
    }
    Tag {
        name: name.to_owned(),
        attributes,
    }
}

/// Returns a text without entities; panics if it contains a forbidden character.
fn plain(text: &str) -> String {
    let forbidden =
        |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}' | '>');
    assert!(!text.contains(forbidden), "{text:?}");
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let (entity, after) = part.split_once(';').expect("an entity ends");
        plain += match entity {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            _ => panic!("{entity} is not known in XML"),
        };
        plain += after;
    }
    plain
}

fn label(tag: &Tag, open: &[Tag], text: String) -> Label {
    let inherited = |name: &str| {
        let found = open.iter().rev().find_map(|tag| tag.attributes.get(name));
        found.unwrap_or_else(|| panic!("{name} of {text}"))
    };
    let size: f64 = inherited("font-size").parse().unwrap();
    assert!(size >= 11.0, "{text} is too small to read");
    let mono = inherited("font-family").contains("monospace");
    let width = size * text.chars().map(|letter| em(letter, mono)).sum::<f64>();
    let (x, y) = (tag.number("x"), tag.number("y"));
    let left = match tag.attributes.get("text-anchor").map(String::as_str) {
        None => x,
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        Some(other) => panic!("{other}"),
    };
    // Letters extend from below the baseline to the height of capitals.
    Label {
        text,
        area: [left, y - 0.76 * size, left + width, y + 0.24 * size],
    }
}

/// Returns whether a line crosses an area, by clipping the line to it.
fn crosses(from: (f64, f64), to: (f64, f64), area: [f64; 4]) -> bool {
    let [left, top, right, bottom] = area;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut first, mut last) = (0.0f64, 1.0f64);
    let sides = [
        (-dx, from.0 - left),
        (dx, right - from.0),
        (-dy, from.1 - top),
        (dy, bottom - from.1),
    ];
    for (speed, room) in sides {
        if speed == 0.0 && room <= 0.0 {
            return false;
        }
        if speed < 0.0 {
            first = first.max(room / speed);
        } else if speed > 0.0 {
            last = last.min(room / speed);
        }
    }
    first < last
}
