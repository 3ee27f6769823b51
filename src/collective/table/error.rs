//! What is wrong with a tuning table that was written or read, in one sentence.

use std::fmt;

use crate::collective::{Algorithm, Collective, Refusal};

/// Why something is no tuning table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// A line of a text that is none of a table.
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// It is no JSON, or JSON of something else.
    Json {
        /// What is wrong, and where.
        what: String,
    },
    /// A name or a remark that is not one line.
    Words {
        /// Which one.
        field: &'static str,
    },
    /// No ranks, or no rules.
    Empty {
        /// For which collective, among how many ranks.
        entry: (Collective, usize),
    },
    /// Two entries for the same.
    Twice {
        /// For which collective, among how many ranks.
        entry: (Collective, usize),
    },
    /// A rule that begins no later than the one before.
    Order {
        /// For which collective, among how many ranks.
        entry: (Collective, usize),
        /// From how many bytes on it was to hold.
        from: usize,
    },
    /// An algorithm for other collectives.
    NotFor {
        /// For which collective, among how many ranks.
        entry: (Collective, usize),
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// An algorithm that comes after itself.
    Same {
        /// For which collective, among how many ranks.
        entry: (Collective, usize),
        /// The algorithm.
        algorithm: Algorithm,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Line { line, what } => write!(f, "line {line}: {what}"),
            TableError::Json { what } => f.write_str(what),
            TableError::Words { field } => write!(
                f,
                "{field} must be one line, without blanks at its ends or control characters"
            ),
            TableError::Empty { entry } => write!(
                f,
                "{}: an entry has at least one rank and one rule",
                On(*entry)
            ),
            TableError::Twice { entry } => write!(f, "{}: there are two entries", On(*entry)),
            TableError::Order { entry, from } => write!(
                f,
                "{}: the rule from {from} bytes on comes too late: each begins above the one before",
                On(*entry)
            ),
            TableError::NotFor { entry, algorithm } => {
                let (algorithm, collective) = (*algorithm, entry.0);
                let refusal = Refusal::NotFor {
                    algorithm,
                    collective,
                };
                write!(f, "{}: {refusal}", On(*entry))
            }
            TableError::Same { entry, algorithm } => {
                write!(f, "{}: {algorithm} is its own runner-up", On(*entry))
            }
        }
    }
}

impl std::error::Error for TableError {}

/// An entry, as it is named everywhere.
pub(super) struct On(pub(super) (Collective, usize));

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let On((collective, ranks)) = self;
        let noun = if *ranks == 1 { "rank" } else { "ranks" };
        write!(f, "{collective} on {ranks} {noun}")
    }
}

/// Whether a text can be written on a line and read back.
pub(super) fn is_line(text: &str) -> bool {
    text.trim() == text && !text.contains(char::is_control)
}
