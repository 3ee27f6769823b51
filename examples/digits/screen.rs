//! The output: a terminal gets colours and a progress bar, everything else plain lines.

use std::env;
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Redraws of a bar per second.
const REDRAWN: u8 = 10;

/// A writer, and how to write to it.
pub struct Screen<W> {
    out: W,
    /// Whether it is a terminal that can move its cursor.
    live: bool,
    colours: bool,
}

impl Screen<io::Stdout> {
    /// Returns the standard output with its abilities.
    pub fn here() -> Self {
        let dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
        let live = io::stdout().is_terminal() && io::stderr().is_terminal() && !dumb;
        // https://no-color.org: set, and not empty.
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Screen {
            out: io::stdout(),
            live,
            colours: live && !plain,
        }
    }
}

impl<W: Write> Screen<W> {
    /// Writes a line and flushes.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// Writes a highlighted line.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = self.painted("1;36", text);
        self.line(&text)
    }

    /// Writes a line of success.
    pub fn good(&mut self, text: &str) -> io::Result<()> {
        let text = self.painted("32", text);
        self.line(&text)
    }

    /// Writes a line of explanation.
    pub fn aside(&mut self, text: &str) -> io::Result<()> {
        let text = self.painted("2", text);
        self.line(&text)
    }

    /// Returns the text between ECMA-48 escapes if colours are on.
    fn painted(&self, code: &str, text: &str) -> String {
        if self.colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Returns a bar for `steps` steps, invisible unless the output is a terminal.
    pub fn bar(&self, steps: usize) -> ProgressBar {
        if !self.live {
            return ProgressBar::hidden();
        }
        let colour = if self.colours { ".cyan" } else { "" };
        let template = format!("  [{{bar:40{colour}}}] step {{pos}} of {{len}}, loss {{msg}}");
        let style = ProgressStyle::with_template(&template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWN);
        ProgressBar::with_draw_target(Some(steps as u64), target)
            .with_style(style.progress_chars("=> "))
    }
}

#[cfg(test)]
impl Screen<Vec<u8>> {
    /// Returns a screen that keeps its output.
    pub fn kept(colours: bool) -> Self {
        Screen {
            out: Vec::new(),
            live: false,
            colours,
        }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_add_escapes() {
        for (colours, want) in [(false, "a\nb\n"), (true, "\x1b[1;36ma\x1b[0m\nb\n")] {
            let mut screen = Screen::kept(colours);
            screen.heading("a").unwrap();
            screen.line("b").unwrap();
            assert_eq!(screen.text(), want);
        }
    }

    #[test]
    fn where_nobody_watches_there_is_no_bar() {
        assert!(Screen::kept(false).bar(10).is_hidden());
    }
}
