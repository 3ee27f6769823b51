//! Results as a table for people, and as one JSON object per line for programs.

use std::fmt::Display;

/// Aligns the cells of each column: numbers on the right, words on the left. No line has trailing blanks.
pub fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let columns: Vec<Column> = (0..heads.len())
        .map(|i| Column::of(&head[i], rows.iter().map(|row| row[i].as_str())))
        .collect();
    let lines = std::iter::once(&head).chain(rows);
    lines.map(|cells| line(cells, &columns)).collect()
}

struct Column {
    width: usize,
    right: bool,
}

impl Column {
    fn of<'a>(head: &str, cells: impl Iterator<Item = &'a str> + Clone) -> Column {
        let width = cells.clone().map(|cell| cell.chars().count()).max();
        Column {
            width: width.unwrap_or(0).max(head.chars().count()),
            right: cells
                .into_iter()
                .all(|cell| cell.starts_with(|c: char| c.is_ascii_digit())),
        }
    }
}

fn line(cells: &[String], columns: &[Column]) -> String {
    let padded = cells.iter().zip(columns).map(|(cell, column)| {
        let width = column.width;
        if column.right {
            format!("{cell:>width$}")
        } else {
            format!("{cell:<width$}")
        }
    });
    let line = padded.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

/// A JSON object on one line, field by field.
pub struct Object(String);

impl Object {
    /// Starts an object of this schema, which is its first field.
    pub fn new(schema: &str) -> Object {
        Object("{".to_owned()).text("schema", schema)
    }

    pub fn text(self, name: &str, text: &str) -> Object {
        self.raw(name, quoted(text))
    }

    /// Adds a number or a boolean, as formatted by Rust.
    pub fn value(self, name: &str, value: impl Display) -> Object {
        self.raw(name, value)
    }

    /// Adds the text, or null.
    pub fn perhaps(self, name: &str, text: Option<&str>) -> Object {
        self.raw(name, text.map_or("null".to_owned(), quoted))
    }

    fn raw(self, name: &str, json: impl Display) -> Object {
        let separator = if self.0.len() > 1 { ", " } else { "" };
        Object(format!("{}{separator}{}: {json}", self.0, quoted(name)))
    }

    pub fn line(self) -> String {
        self.0 + "}\n"
    }
}

/// Formats an object with one field per line; it has no map with keys that are not strings.
pub fn pretty(of: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(of).unwrap_or_default() + "\n"
}

fn quoted(text: &str) -> String {
    // Serialising a string cannot fail: it has no map keys.
    serde_json::to_string(text).unwrap_or_default()
}
