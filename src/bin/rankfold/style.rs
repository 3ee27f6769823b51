//! Colour, only on a terminal that supports it. Words repeat everything that a colour conveys.

use std::io::{IsTerminal, stdout};

/// Whether output is coloured.
#[derive(Clone, Copy)]
pub struct Style {
    on: bool,
}

impl Style {
    /// Returns the style of standard output, if the output goes there: see <https://no-color.org>.
    pub fn of_stdout(goes_there: bool) -> Style {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Style {
            on: goes_there && wanted && !dumb && stdout().is_terminal(),
        }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self.on {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Style;

    #[test]
    fn what_is_not_coloured_is_left_as_it_is() {
        assert_eq!(Style { on: false }.bold("x"), "x");
        assert_eq!(Style { on: true }.bold("x"), "\x1b[1mx\x1b[0m");
        assert_eq!(Style::of_stdout(false).warn("x"), "x");
    }
}
