//! The errors of tuning tables, written or read, in one sentence each.

use std::fmt;

use crate::collective::{Algorithm, Collective, Refusal};

/// The reason why a tuning table is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// A line of text that does not belong in a table.
    Line {
        /// The line's number, counted from 1.
        line: usize,
        /// The reason.
        what: String,
    },
    /// Input that is not JSON, or not the JSON of a table.
    Json {
        /// The reason, with the place.
        what: String,
    },
    /// A name or a remark that is not a single line.
    Words {
        /// The field.
        field: &'static str,
    },
    /// An entry without ranks or without rules.
    Empty {
        /// The collective and the number of ranks.
        entry: (Collective, usize),
    },
    /// Two entries with the same key.
    Twice {
        /// The collective and the number of ranks.
        entry: (Collective, usize),
    },
    /// A rule that begins no later than the previous one.
    Order {
        /// The collective and the number of ranks.
        entry: (Collective, usize),
        /// The bytes from which the rule was to apply.
        from: usize,
    },
    /// An algorithm that does not serve the collective.
    NotFor {
        /// The collective and the number of ranks.
        entry: (Collective, usize),
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// A runner-up equal to the best algorithm.
    Same {
        /// The collective and the number of ranks.
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

/// An entry, as messages name it.
pub(super) struct On(pub(super) (Collective, usize));

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let On((collective, ranks)) = self;
        let noun = if *ranks == 1 { "rank" } else { "ranks" };
        write!(f, "{collective} on {ranks} {noun}")
    }
}

/// Whether a text can be written on one line and read back.
pub(super) fn is_line(text: &str) -> bool {
    text.trim() == text && !text.contains(char::is_control)
}
