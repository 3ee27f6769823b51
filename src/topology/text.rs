//! Topologies as text, one triple a line.
//!
//! ```text
//! ranks 4      # both of these lines may be left out:
//! root 0       # the ranks are then those mentioned, the root the only one that sends nothing
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
    /// Reads a topology, one triple `p t q` a line.
    ///
    /// `#` starts a comment. Lines `ranks N` and `root R` may be given, once each and anywhere;
    /// without the first there are as many ranks as the highest one mentioned needs, without the
    /// second the root is the only rank that sends nothing.
    ///
    /// # Errors
    ///
    /// A line that is none of these, or whatever [`from_triples`](Self::from_triples) refuses; both
    /// as [`TopologyError::Line`] where some line is to blame.
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

    /// Writes the topology as [`from_text`](Self::from_text) reads it: ranks, root, and all triples
    /// by sender.
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

/// What stands in the lines, and where.
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

    /// Takes one line in, or says what it should have been.
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

    /// The error with the line to blame, where there is one.
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
