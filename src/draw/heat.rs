//! A number for each pair, as cells that are darker for greater numbers.

use super::figure::{Anchor, Figure, Ink, Point, Role, Shape, Stroke, Style, at};
use super::svg;

/// The position of the first cell; the names are above the cells and left of them.
const TOP: f64 = 72.0;
const LEFT: f64 = 56.0;
/// Approximate width and height of all cells together.
const ROOM: f64 = 560.0;
/// Maximum and minimum width of a cell.
const WIDEST: f64 = 64.0;
const NARROWEST: f64 = 5.0;
/// A cell has room for its number from this width on.
const READABLE: f64 = 34.0;
/// A cell has room for the name of its row from this width on; narrower rows share names.
const NAMED: f64 = 15.0;
/// From this shade on, letters are white.
const DARK: u8 = 140;
/// Size of the scale below the cells.
const SCALE: f64 = 240.0;
const STEPS: usize = 48;
/// Gap between two heat maps in one document.
const BETWEEN: f64 = 40.0;
/// Gap between them and the warnings.
const WARNINGS: f64 = 28.0;

/// A heat map: a number for each pair, as cells in a square, darker for greater numbers, on a logarithmic scale that is
/// readable in print and without colours. Numbers are written into the cells that have room for them.
///
/// # Examples
///
/// ```
/// use rankfold::draw::Heat;
///
/// let mut heat = Heat::new("latency", "ns");
/// heat.names = vec!["0".into(), "1".into()];
/// heat.cells = vec![vec![None, Some(85.4)], vec![Some(85.4), None]];
/// assert!(heat.svg().contains(">85</text>"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Heat {
    /// Its title.
    pub title: String,
    /// A remark on a line below the title.
    pub note: String,
    /// The unit of the numbers.
    pub unit: String,
    /// The names of rows and columns.
    pub names: Vec<String>,
    /// The numbers, row by row; `None` where there is none.
    pub cells: Vec<Vec<Option<f64>>>,
    /// The rows and columns before which a line is drawn.
    pub breaks: Vec<usize>,
    /// Why the numbers may mean less than they seem to: written below, one or more lines each.
    pub warnings: Vec<String>,
}

impl Heat {
    /// Creates a heat map without cells.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Heat {
        Heat {
            title: title.into(),
            note: String::new(),
            unit: unit.into(),
            names: Vec::new(),
            cells: Vec::new(),
            breaks: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns the heat map as an SVG document.
    pub fn svg(&self) -> String {
        let mut figure = self.figure();
        let end = figure.end();
        figure.warn(&self.warnings, end.y + WARNINGS, end.x.max(ROOM));
        svg::write(&figure)
    }

    /// Returns several in one SVG document, two per row, each with its own scale; a warning that several share is
    /// written once.
    pub fn svg_of(all: &[Heat]) -> String {
        let mut page = Figure::default();
        let figures: Vec<Figure> = all.iter().map(Heat::figure).collect();
        let ends = figures.iter().step_by(2).map(|figure| figure.end().x);
        let second = ends.fold(0.0, f64::max) + BETWEEN;
        let mut down = 0.0;
        for row in figures.chunks(2) {
            let height = row.iter().map(|figure| figure.end().y).fold(0.0, f64::max);
            for (figure, right) in row.iter().zip([0.0, second]) {
                let mut figure = figure.clone();
                figure.shift(right, down);
                page.shapes.extend(figure.shapes);
            }
            down += height + BETWEEN;
        }
        let mut warnings: Vec<String> = Vec::new();
        for warning in all.iter().flat_map(|heat| &heat.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        page.warn(&warnings, down, page.end().x.max(ROOM));
        let titles: Vec<&str> = all.iter().map(|heat| heat.title.as_str()).collect();
        page.title = titles.join("; ");
        page.description =
            "A number for each pair, darker is more; each part has its own scale.".into();
        svg::write(&page)
    }

    fn figure(&self) -> Figure {
        let mut figure = Figure {
            title: self.title.clone(),
            description: format!(
                "{}: {} for each pair, darker is more.",
                self.title, self.unit
            ),
            shapes: Vec::new(),
        };
        figure.write(&*self.title, at(0.0, 14.0), Anchor::Start, Style::TITLE);
        figure.write(&*self.note, at(0.0, 32.0), Anchor::Start, Style::NOTE);
        let grid = Grid::new(self);
        grid.names(&mut figure, &self.names);
        for (row, cells) in self.cells.iter().enumerate() {
            for (column, value) in cells.iter().enumerate() {
                grid.cell(&mut figure, row, column, *value);
            }
        }
        grid.breaks(&mut figure, &self.breaks);
        grid.scale(&mut figure, &self.unit);
        figure
    }
}

/// Formats a number for a cell, with three significant digits.
fn short(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99_950.0 => format!("{value:.0}"),
        _ => format!("{value:.0e}"),
    }
}

struct Grid {
    count: usize,
    width: f64,
    /// The minimum and the maximum.
    range: Option<(f64, f64)>,
}

impl Grid {
    fn new(heat: &Heat) -> Grid {
        let count = heat.cells.len();
        let mut all: Vec<f64> = Vec::new();
        for row in &heat.cells {
            all.extend(row.iter().flatten());
        }
        all.retain(|value| value.is_finite() && *value > 0.0);
        let all = || all.iter().copied();
        Grid {
            count,
            width: (ROOM / count.max(1) as f64)
                .clamp(NARROWEST, WIDEST)
                .floor(),
            range: all().reduce(f64::min).zip(all().reduce(f64::max)),
        }
    }

    fn corner(&self, row: usize, column: usize) -> Point {
        at(
            LEFT + self.width * column as f64,
            TOP + self.width * row as f64,
        )
    }

    /// Returns a shade between a light one and the darkest; a middle one where all numbers are nearly equal.
    fn shade(&self, value: f64) -> u8 {
        match self.range {
            Some((low, high)) if high / low > 1.05 => {
                let share = (value / low).ln() / (high / low).ln();
                (25.0 + 230.0 * share.clamp(0.0, 1.0)) as u8
            }
            _ => 90,
        }
    }

    fn cell(&self, figure: &mut Figure, row: usize, column: usize, value: Option<f64>) {
        let corner = self.corner(row, column);
        let shade = value.map(|value| self.shade(value));
        let gap = if self.width > 12.0 { 1.0 } else { 0.0 };
        figure.shapes.push(Shape::Ground {
            corner,
            width: self.width - gap,
            height: self.width - gap,
            ink: shade.map_or(Ink::Ground, Ink::Shade),
        });
        if let (Some(value), Some(shade)) = (value, shade)
            && self.width >= READABLE
        {
            let ink = if shade >= DARK {
                Ink::White
            } else {
                Ink::Black
            };
            let middle = at(
                corner.x + self.width / 2.0,
                corner.y + self.width / 2.0 + 4.0,
            );
            figure.write(short(value), middle, Anchor::Middle, Style::NOTE.ink(ink));
        }
    }

    /// Writes as many names as have room, above the columns and left of the rows.
    fn names(&self, figure: &mut Figure, names: &[String]) {
        let widest = names
            .iter()
            .map(|name| Style::NOTE.width(name))
            .fold(0.0, f64::max);
        let across = ((widest + 6.0) / self.width).ceil().max(1.0) as usize;
        let down = (NAMED / self.width).ceil().max(1.0) as usize;
        for (i, name) in names.iter().enumerate().take(self.count) {
            let middle = self.width / 2.0;
            if i % across == 0 {
                let above = at(self.corner(0, i).x + middle, TOP - 8.0);
                figure.write(&**name, above, Anchor::Middle, Style::NOTE);
            }
            if i % down == 0 {
                let beside = at(LEFT - 8.0, self.corner(i, 0).y + middle + 4.0);
                figure.write(&**name, beside, Anchor::End, Style::NOTE);
            }
        }
    }

    fn breaks(&self, figure: &mut Figure, breaks: &[usize]) {
        let end = self.corner(self.count, self.count);
        let stroke = Stroke::solid(Ink::Black, 1.2);
        for &i in breaks.iter().filter(|&&i| i > 0 && i < self.count) {
            let place = self.corner(i, i);
            let (x, y) = (place.x - 0.5, place.y - 0.5);
            figure.line(at(x, TOP), at(x, end.y), stroke, Role::Guide);
            figure.line(at(LEFT, y), at(end.x, y), stroke, Role::Guide);
        }
    }

    /// Draws the scale of shades and numbers.
    fn scale(&self, figure: &mut Figure, unit: &str) {
        // One shade needs no scale.
        let Some((low, high)) = self.range.filter(|(low, high)| high / low > 1.05) else {
            return;
        };
        let y = self.corner(self.count, 0).y + 18.0;
        let step = SCALE / STEPS as f64;
        let value = |share: f64| low * (high / low).powf(share);
        for i in 0..STEPS {
            figure.shapes.push(Shape::Ground {
                corner: at(LEFT + step * i as f64, y),
                width: step + 0.3,
                height: 12.0,
                ink: Ink::Shade(self.shade(value(i as f64 / (STEPS - 1) as f64))),
            });
        }
        let word = |share: f64| format!("{} {unit}", short(value(share)));
        let below = y + 28.0;
        figure.write(word(0.0), at(LEFT, below), Anchor::Start, Style::NOTE);
        figure.write(word(1.0), at(LEFT + SCALE, below), Anchor::End, Style::NOTE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: usize, value: impl Fn(usize, usize) -> f64) -> Heat {
        let mut heat = Heat::new("times", "ns");
        heat.names = (0..count).map(|i| i.to_string()).collect();
        let row = |r: usize| (0..count).map(|c| (r != c).then(|| value(r, c))).collect();
        heat.cells = (0..count).map(row).collect();
        heat
    }

    #[test]
    fn greater_numbers_have_darker_shades() {
        let grid = Grid::new(&of(9, |r, c| (10 * (r + c)) as f64));
        let shades: Vec<u8> = (10..=150)
            .step_by(10)
            .map(|ns| grid.shade(ns.into()))
            .collect();
        assert!(shades.is_sorted() && shades[0] < 40 && shades[14] == 255);
    }

    #[test]
    fn numbers_are_written_where_they_have_room_and_nowhere_else() {
        let times = |count| of(count, |_, _| 123.4).svg();
        assert_eq!(times(4).matches(">123</text>").count(), 12);
        assert!(!times(64).contains(">123</text>"));
    }

    #[test]
    fn nothing_and_what_is_no_number_are_drawn_too() {
        assert!(Heat::new("nothing", "ns").svg().ends_with("</svg>\n"));
        let odd = of(2, |r, _| if r == 0 { f64::NAN } else { 0.0 }).svg();
        assert!(odd.starts_with("<svg") && !odd.contains("NaN\""), "{odd}");
    }
}
