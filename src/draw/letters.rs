//! A chart as text, for a terminal.

use super::chart::{Chart, Curve};

/// Size of the plot area, in characters.
const COLUMNS: usize = 64;
const ROWS: usize = 17;
/// Minimum space to the left of it, for the numbers of the vertical axis.
const MARGIN: usize = 8;
/// The marks of the curves' points.
const MARKS: [char; 8] = ['o', 'x', '+', '*', '#', '%', '@', '&'];

impl Chart {
    /// Returns the chart as text, for a terminal of 80 columns. Every line ends with a newline. Limits are left out.
    pub fn text(&self) -> String {
        text(self)
    }
}

fn text(chart: &Chart) -> String {
    let (x, y) = chart.scales();
    let column = |value: f64| along(x.place(value), COLUMNS);
    let row = |value: f64| ROWS - 1 - along(y.place(value), ROWS);
    let marked: Vec<_> = chart.curves.iter().zip(MARKS.into_iter().cycle()).collect();
    let cell = |(x, y): (f64, f64)| (column(x), row(y));
    let mut cells = plotted(&marked, cell);
    for &(x, low, high) in chart.spreads.iter().flatten() {
        bar(&mut cells, cell((x, low)), cell((x, high)));
    }
    let marks = y.marks();
    let words = marks.iter().map(|mark| y.word(*mark).chars().count());
    let margin = words.max().unwrap_or(0).max(MARGIN);
    let mut text = format!("{}: {} over {}\n", chart.title, chart.y.name, chart.x.name);
    for (at, cells) in cells.iter().enumerate() {
        let mark = marks.iter().find(|mark| row(**mark) == at);
        let (word, edge) = mark.map_or((String::new(), '│'), |mark| (y.word(*mark), '┤'));
        let line = format!("{word:>margin$} {edge}{}", cells.iter().collect::<String>());
        text += line.trim_end();
        text.push('\n');
    }
    let marks = x.marks().into_iter();
    let (ticks, words) = below(marks.map(|mark| (column(mark), x.word(mark))));
    let indent = margin + 2;
    text += &format!("{:>margin$} └{ticks}\n{:>indent$}{words}\n", "", "");
    for (curve, mark) in marked {
        text += &format!("{:>indent$}{mark} {}\n", "", curve.name);
    }
    text
}

/// Returns the cells with the curves and their marks; the first curve's marks are on top.
fn plotted(
    marked: &[(&Curve, char)],
    cell: impl Fn((f64, f64)) -> (usize, usize),
) -> Vec<Vec<char>> {
    let mut cells = vec![vec![' '; COLUMNS]; ROWS];
    for (curve, _) in marked {
        for pair in curve.points.windows(2) {
            between(cell(pair[0]), cell(pair[1]), |column, row| {
                cells[row][column] = '·';
            });
        }
    }
    for (curve, mark) in marked.iter().rev() {
        for point in &curve.points {
            let (column, row) = cell(*point);
            cells[row][column] = *mark;
        }
    }
    cells
}

/// Draws the bar of a point into empty cells.
fn bar(cells: &mut [Vec<char>], low: (usize, usize), high: (usize, usize)) {
    let column = low.0;
    for row in &mut cells[high.1..=low.1.max(high.1)] {
        if matches!(row[column], ' ' | '·') {
            row[column] = '¦';
        }
    }
}

/// Returns the index of the cell, out of `cells`, at this share of the way.
fn along(share: f64, cells: usize) -> usize {
    let cell = (share * (cells - 1) as f64).round();
    (cell.max(0.0) as usize).min(cells - 1)
}

/// Visits all cells on the straight line between two, one per column.
fn between(a: (usize, usize), b: (usize, usize), mut visit: impl FnMut(usize, usize)) {
    for column in a.0..=b.0 {
        let share = (column - a.0) as f64 / (b.0 - a.0).max(1) as f64;
        let row = a.1 as f64 + share * (b.1 as f64 - a.1 as f64);
        visit(column, row.round() as usize);
    }
}

/// Returns the line below the curves and the labels below it, as many as have room.
fn below(marks: impl Iterator<Item = (usize, String)>) -> (String, String) {
    let mut ticks: Vec<char> = vec!['─'; COLUMNS];
    let mut words = String::new();
    for (column, word) in marks {
        ticks[column] = '┴';
        let (used, wide) = (words.chars().count(), word.chars().count());
        let begin = column.saturating_sub(wide / 2);
        if used == 0 || begin > used {
            words += &" ".repeat(begin - used);
            words += &word;
        }
    }
    (ticks.into_iter().collect(), words)
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Chart, Curve};

    #[test]
    fn a_rising_line_rises_from_the_lower_left_to_the_upper_right() {
        let mut chart = Chart::new("growth", Axis::bytes("bytes"), Axis::seconds("time"));
        let points = vec![(8.0, 1e-6), (1024.0, 1e-4)];
        chart.curves.push(Curve {
            name: "a line".into(),
            points,
        });
        let text = chart.text();
        let marked: Vec<&str> = text
            .lines()
            .filter(|line| line.contains('o') && line.contains(['┤', '│']))
            .collect();
        assert_eq!(marked.len(), 2, "{text}");
        assert!(marked[0].trim_end().ends_with('o') && marked[0].starts_with("  100 µs ┤"));
        assert!(marked[1].starts_with("    1 µs ┤o"));
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert!(text.contains("8 B") && text.contains("1 KiB") && text.ends_with("o a line\n"));
    }

    #[test]
    fn how_far_a_point_may_be_off_is_a_bar_above_and_below_it() {
        let mut chart = Chart::new("growth", Axis::bytes("bytes"), Axis::seconds("time"));
        let points = vec![(8.0, 1e-5), (1024.0, 1e-4)];
        chart.curves.push(Curve {
            name: "a line".into(),
            points,
        });
        chart
            .spreads
            .push(vec![(8.0, 1e-6, 1e-4), (1024.0, 0.9e-4, 1.1e-4)]);
        let text = chart.text();
        let first = |line: &str| line.chars().nth(10);
        let column: String = text.lines().skip(1).take(17).filter_map(first).collect();
        assert_eq!(column.trim(), "¦¦¦¦¦¦¦o¦¦¦¦¦¦¦", "{text}");
        assert_eq!(chart.svg().matches("class=\"spread\"").count(), 6);
    }

    #[test]
    fn a_chart_without_points_is_drawn_without_points() {
        let chart = Chart::new("nothing", Axis::count("ranks"), Axis::seconds("time"));
        assert!(chart.text().starts_with("nothing: time over ranks\n"));
        assert!(chart.svg().starts_with("<svg"));
    }
}
