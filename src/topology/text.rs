//! Topologies as text, one triple per line.
//!
//! ```text
//! ranks 4      # optional, as is the next line. By default the ranks are those mentioned,
//! root 0       # and the root is the only one that sends nothing
//! 1 0 0        # in step 0, rank 1 sends to rank 0
//! 3 0 2
//! 2 1 0
//! ```

use std::{fmt::Write, str::FromStr};

use super::{
    Topology, TopologyError, Triple,
    written::{Entry, Written},
};

impl Topology {
    /// Reads a topology, one triple `p t q` per line.
    ///
    /// `#` starts a comment. The lines `ranks N` and `root R` are optional; each may occur once, anywhere. Without
    /// `ranks`, the highest rank mentioned determines the number of ranks; without `root`, the root is the only rank
    /// that sends nothing.
    ///
    /// # Errors
    ///
    /// Fails for a line of any other form, and for anything that [`from_triples`](Self::from_triples) refuses; both as
    /// [`TopologyError::Line`] where some line is the cause.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::Topology;
    ///
    /// assert_eq!(Topology::from_text("1 0 0\n3 0 2\n2 1 0 # last")?, Topology::binomial(4));
    ///
    /// let refused = Topology::from_text("ranks 4\n1 zero 0").unwrap_err();
    /// assert_eq!(refused.to_string(), "line 2: `1 zero 0` is not `p t q`, three numbers");
    /// # Ok::<(), rankfold::topology::TopologyError>(())
    /// ```
    pub fn from_text(text: &str) -> Result<Topology, TopologyError> {
        let file = File::read(text)?;
        let topology = file.written.topology();
        topology.map_err(|error| file.placed(error))
    }

    /// Writes the topology in the format of [`from_text`](Self::from_text): ranks, root, and all triples ordered by
    /// sender.
    ///
    /// # Examples
    ///
    /// ```
    /// # use rankfold::topology::Topology;
    /// assert_eq!(Topology::chain(3).to_text(), "ranks 3\nroot 0\n1 1 0\n2 0 1\n");
    /// ```
    pub fn to_text(&self) -> String {
        let mut text = format!("ranks {}\nroot {}\n", self.ranks(), self.root());
        for Triple { from, step, to } in self.triples() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{from} {step} {to}");
        }
        text
    }
}

impl FromStr for Topology {
    type Err = TopologyError;

    /// [`Topology::from_text`].
    fn from_str(text: &str) -> Result<Topology, TopologyError> {
        Topology::from_text(text)
    }
}

/// The contents of the lines, and where they stand.
#[derive(Default)]
struct File {
    written: Written,
    ranks_line: usize,
    root_line: usize,
    /// The line of each triple.
    lines: Vec<usize>,
}

impl File {
    fn read(text: &str) -> Result<File, TopologyError> {
        let mut file = File::default();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default().trim();
            if let Err(expected) = file.line(line, text) {
                let error = TopologyError::BadLine {
                    text: text.to_owned(),
                    expected,
                };
                return Err(at_line(line, error));
            }
        }
        Ok(file)
    }

    /// Parses one line, or returns what was expected.
    fn line(&mut self, line: usize, text: &str) -> Result<(), &'static str> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [] => Ok(()),
            ["ranks", n] => {
                self.ranks_line = line;
                let expected = "the only `ranks N`, with a number N";
                once(&mut self.written.ranks, n, expected)
            }
            ["root", r] => {
                self.root_line = line;
                let expected = "the only `root R`, with a number R";
                once(&mut self.written.root, r, expected)
            }
            [p, t, q] => {
                let triple = triple(p, t, q).ok_or("`p t q`, three numbers")?;
                self.written.triples.push(triple);
                self.lines.push(line);
                Ok(())
            }
            _ => Err("`p t q`, `ranks N` or `root R`"),
        }
    }

    /// Adds the line that caused the error, if there is one.
    fn placed(&self, error: TopologyError) -> TopologyError {
        match self.written.blamed(&error) {
            Some(Entry::Ranks) => at_line(self.ranks_line, error),
            Some(Entry::Root) => at_line(self.root_line, error),
            Some(Entry::Triple(i, _)) => at_line(self.lines[i], error),
            None => error,
        }
    }
}

fn at_line(line: usize, error: TopologyError) -> TopologyError {
    TopologyError::Line {
        line,
        error: Box::new(error),
    }
}

fn once(
    header: &mut Option<usize>,
    word: &str,
    expected: &'static str,
) -> Result<(), &'static str> {
    let value = word.parse().map_err(|_| expected)?;
    match header.replace(value) {
        Some(_) => Err(expected),
        None => Ok(()),
    }
}

fn triple(p: &str, t: &str, q: &str) -> Option<Triple> {
    Some(Triple {
        from: p.parse().ok()?,
        step: t.parse().ok()?,
        to: q.parse().ok()?,
    })
}
