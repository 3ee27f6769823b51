//! A schedule as a table: a row for each rank, a column for each step. Columns that do not fit beside each other
//! continue below.

use std::ops::Range;

use super::notation::{self, signs};
use super::origins::{Held, LABELS, Origins, Piece};
use super::traffic::Traffic;
use crate::Rank;
use crate::schedule::Buffer;

/// Width of a terminal, in columns.
const TERMINAL: usize = 100;
const BETWEEN_PANELS: &str = " │ ";
const BETWEEN_COLUMNS: &str = "  ";

pub(super) fn text(panels: &[Traffic]) -> String {
    let tables: Vec<StepTable> = panels.iter().map(StepTable::new).collect();
    written(&tables, legend(panels))
}

/// The origins of values before the first step and after each.
pub(super) fn origins(origins: &Origins) -> String {
    let legend = vec![String::new(), LABELS.to_owned()];
    written(&[StepTable::of_origins(origins)], legend)
}

fn written(tables: &[StepTable], legend: Vec<String>) -> String {
    let sides: Vec<DividedTable> = (tables.iter().zip(shares(tables)))
        .map(|(table, room)| table.side(room))
        .collect();
    let headings = tables.iter().map(|table| table.heading.as_str());
    let mut lines = vec![join(&sides, headings)];
    let most = sides.iter().map(|side| side.blocks.len()).max();
    for block in 0..most.unwrap_or(0) {
        lines.extend((block > 0).then(String::new));
        lines.extend(beside(&sides, block));
    }
    lines.extend(legend);
    lines
        .iter()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize) -> String {
    format!("{text}{:1$}", "", to.saturating_sub(width(text)))
}

/// Returns each table's share of a line: the width it wants. If two tables want too much, the wider one gets what the
/// other leaves, but at least half.
fn shares(tables: &[StepTable]) -> Vec<usize> {
    let [left, right] = tables else {
        return vec![TERMINAL; tables.len()];
    };
    let room = TERMINAL - width(BETWEEN_PANELS);
    let share = |own: &StepTable, other: &StepTable| {
        own.width()
            .min((room - room / 2).max(room.saturating_sub(other.width())))
    };
    vec![share(left, right), share(right, left)]
}

/// The actions of every rank in every step, as text.
struct StepTable {
    heading: String,
    /// By step and then by rank; each cell has one action per line.
    cells: Vec<Vec<Vec<String>>>,
    ranks: usize,
    /// The names of the columns.
    heads: Vec<String>,
}

/// Some columns of a table: the lines of the head and of each rank.
type Block = Vec<Vec<String>>;

/// A table divided into blocks, and the width of the widest.
struct DividedTable {
    width: usize,
    blocks: Vec<Block>,
}

impl StepTable {
    fn new(traffic: &Traffic) -> StepTable {
        let column = |step| {
            (0..traffic.ranks)
                .map(|rank| cell(traffic, rank, step))
                .collect()
        };
        StepTable {
            heading: traffic.heading(),
            cells: traffic.steps.clone().map(column).collect(),
            ranks: traffic.ranks,
            heads: traffic
                .steps
                .clone()
                .map(|step| format!("step {step}"))
                .collect(),
        }
    }

    fn of_origins(origins: &Origins) -> StepTable {
        let cell = |held: &Held| held.iter().map(strip).collect();
        let column = |ranks: &Vec<Held>| ranks.iter().map(cell).collect();
        let after = (1..origins.moments.len()).map(|moment| format!("after step {}", moment - 1));
        StepTable {
            heading: origins.heading(),
            cells: origins.moments.iter().map(column).collect(),
            ranks: origins.traffic.ranks,
            heads: std::iter::once("before".to_owned()).chain(after).collect(),
        }
    }

    fn head(&self, column: usize) -> &str {
        &self.heads[column]
    }

    fn column_width(&self, column: usize) -> usize {
        let lines = self.cells[column].iter().flatten();
        let widest = lines.map(|line| width(line)).max().unwrap_or(0);
        widest.max(width(self.head(column)))
    }

    /// Returns the width of the ranks' names.
    fn names(&self) -> usize {
        (self.ranks.saturating_sub(1))
            .to_string()
            .len()
            .max(width("rank"))
    }

    /// Returns the width of some columns, with the names.
    fn width_of(&self, columns: Range<usize>) -> usize {
        let each = |column| width(BETWEEN_COLUMNS) + self.column_width(column);
        self.names() + columns.map(each).sum::<usize>()
    }

    fn width(&self) -> usize {
        width(&self.heading).max(self.width_of(0..self.cells.len()))
    }

    /// Divides the table into blocks of at most `room` characters.
    fn side(&self, room: usize) -> DividedTable {
        let cuts = self.cuts(room);
        let widest = cuts
            .iter()
            .map(|columns| self.width_of(columns.clone()))
            .max();
        DividedTable {
            width: width(&self.heading).max(widest.unwrap_or(0)),
            blocks: cuts
                .into_iter()
                .map(|columns| self.block(columns))
                .collect(),
        }
    }

    /// Returns the columns of each block; a column that is too wide has a block of its own.
    fn cuts(&self, room: usize) -> Vec<Range<usize>> {
        let mut cuts = Vec::new();
        let mut start = 0;
        // One block even without any column, to show the ranks.
        while start < self.cells.len() || cuts.is_empty() {
            let fits = |end: &usize| self.width_of(start..*end) <= room;
            let ends = (start + 2..=self.cells.len()).take_while(fits);
            let end = ends.last().unwrap_or(start + 1).min(self.cells.len());
            cuts.push(start..end);
            start = end;
        }
        cuts
    }

    fn block(&self, columns: Range<usize>) -> Block {
        let head: Vec<_> = columns
            .clone()
            .map(|column| vec![self.head(column).to_owned()])
            .collect();
        let mut rows = vec![self.row("rank".to_owned(), &columns, head.iter().collect())];
        rows.extend((0..self.ranks).map(|rank| {
            let cells = columns.clone().map(|column| &self.cells[column][rank]);
            self.row(rank.to_string(), &columns, cells.collect())
        }));
        rows
    }

    /// Returns the lines of one row, at least one.
    fn row(&self, name: String, columns: &Range<usize>, cells: Vec<&Vec<String>>) -> Vec<String> {
        let height = cells
            .iter()
            .map(|cell| cell.len())
            .max()
            .unwrap_or(0)
            .max(1);
        (0..height)
            .map(|line| {
                let name = if line == 0 { name.as_str() } else { "" };
                let mut text = format!("{name:>0$}", self.names());
                for (column, cell) in columns.clone().zip(&cells) {
                    let part = cell.get(line).map_or("", String::as_str);
                    text += BETWEEN_COLUMNS;
                    text += &pad(part, self.column_width(column));
                }
                text
            })
            .collect()
    }
}

/// Returns the origins in one buffer.
fn strip((buffer, pieces): &(Buffer, Vec<Piece>)) -> String {
    let name = notation::buffer(*buffer);
    let texts: Vec<String> = pieces.iter().map(Piece::text).collect();
    format!("{name}{}", texts.join(" "))
}

/// Returns what a rank does in a step, one action per line.
fn cell(traffic: &Traffic, rank: Rank, step: usize) -> Vec<String> {
    let doing = traffic.step(rank, step);
    let copy = doing.local.map(|copy| notation::copy(&copy));
    let send = doing.send.map(|send| {
        let lone = traffic.received(&send, rank, step).is_none();
        notation::send(&send, lone)
    });
    let recv = doing.recv.map(|recv| {
        let lone = !traffic.sends(&recv, rank, step);
        notation::recv(recv.peer, &recv.region, doing.combine, lone)
    });
    let clash = doing.clash.map(notation::clash);
    [copy, send, recv, clash].into_iter().flatten().collect()
}

/// Joins one block of each side; a rank has its row at the same height in both.
fn beside(sides: &[DividedTable], block: usize) -> Vec<String> {
    let rows = sides.iter().filter_map(|side| side.blocks.get(block));
    let most = rows.map(Vec::len).max().unwrap_or(0);
    (0..most)
        .flat_map(|row| row_of(sides, block, row))
        .collect()
}

fn row_of(sides: &[DividedTable], block: usize, row: usize) -> Vec<String> {
    let of = |side: &DividedTable| {
        side.blocks
            .get(block)
            .and_then(|block| block.get(row))
            .cloned()
    };
    let cells: Vec<Vec<String>> = sides
        .iter()
        .map(|side| of(side).unwrap_or_default())
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |line| {
        cells
            .iter()
            .map(move |cell| cell.get(line).map_or("", String::as_str))
    };
    (0..height)
        .map(|number| join(sides, line(number)))
        .collect()
}

/// Joins a part of each side into one line.
fn join<'a>(sides: &[DividedTable], parts: impl Iterator<Item = &'a str>) -> String {
    let padded = sides
        .iter()
        .zip(parts)
        .map(|(side, part)| pad(part, side.width));
    padded.collect::<Vec<_>>().join(BETWEEN_PANELS)
}

fn legend(panels: &[Traffic]) -> Vec<String> {
    let signs: Vec<_> = signs(panels).map(|sign| sign.meaning()).collect();
    let widest = signs.iter().map(|[key, _]| width(key)).max().unwrap_or(0);
    let lines = signs
        .iter()
        .map(|[key, meaning]| format!("{}   {meaning}", pad(key, widest)));
    let blank = (!signs.is_empty()).then(String::new);
    blank.into_iter().chain(lines).collect()
}
