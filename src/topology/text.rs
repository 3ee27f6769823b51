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

use super::{Topology, TopologyError, Triple, table::senderless};
use crate::Rank;

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
        file.topology().map_err(|error| file.placed(error))
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

/// A value and the line it stands in.
type Placed<T> = (usize, T);

/// What stands in the lines.
#[derive(Default)]
struct File {
    ranks: Option<Placed<usize>>,
    root: Option<Placed<Rank>>,
    triples: Vec<Placed<Triple>>,
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
            ["ranks", n] => once(
                &mut self.ranks,
                line,
                n,
                "the only `ranks N`, with a number N",
            ),
            ["root", r] => once(
                &mut self.root,
                line,
                r,
                "the only `root R`, with a number R",
            ),
            [p, t, q] => {
                let triple = triple(p, t, q).ok_or("`p t q`, three numbers")?;
                self.triples.push((line, triple));
                Ok(())
            }
            _ => Err("`p t q`, `ranks N` or `root R`"),
        }
    }

    fn topology(&self) -> Result<Topology, TopologyError> {
        let mut triples: Vec<Triple> = self.triples.iter().map(|&(_, triple)| triple).collect();
        let ranks = match self.ranks {
            Some((_, ranks)) => ranks,
            None => self.mentioned(),
        };
        let root = match self.root {
            Some((_, root)) => root,
            None if ranks == 0 => return Err(TopologyError::NoRanks),
            None => {
                triples.sort();
                only_root(ranks, &triples)?
            }
        };
        Topology::from_triples(ranks, root, triples)
    }

    /// As many ranks as the highest one mentioned needs.
    fn mentioned(&self) -> usize {
        let in_triples = self.triples.iter().flat_map(|(_, t)| [t.from, t.to]);
        let highest = in_triples.chain(self.root.map(|(_, root)| root)).max();
        highest.map_or(0, |rank| rank.saturating_add(1))
    }

    /// The error with the line to blame, where there is one.
    fn placed(&self, error: TopologyError) -> TopologyError {
        match self.line_of(&error) {
            Some(line) => at_line(line, error),
            None => error,
        }
    }

    fn line_of(&self, error: &TopologyError) -> Option<usize> {
        match error {
            TopologyError::RankOutOfRange { rank, .. } => {
                self.first_line(|t| t.from == *rank || t.to == *rank)
            }
            TopologyError::StepTooLarge { triple } | TopologyError::RootHasSuccessor { triple } => {
                self.first_line(|t| t == triple)
            }
            TopologyError::TwoSuccessors { first, second } => self.second_line(first, second),
            TopologyError::Cycle { cycle, .. } => {
                self.first_line(|t| cycle.first() == Some(&t.from))
            }
            TopologyError::StepDoesNotRise { after, .. } => self.first_line(|t| t == after),
            TopologyError::NoStepZero { least } => self.first_line(|t| t == least),
            _ => None,
        }
        .or_else(|| self.header_line(error))
    }

    fn first_line(&self, is_it: impl Fn(&Triple) -> bool) -> Option<usize> {
        self.triples
            .iter()
            .find(|(_, t)| is_it(t))
            .map(|&(line, _)| line)
    }

    /// The later of the lines that two conflicting triples stand in.
    fn second_line(&self, first: &Triple, second: &Triple) -> Option<usize> {
        let either = self
            .triples
            .iter()
            .filter(|(_, t)| t == first || t == second);
        either.map(|&(line, _)| line).nth(1)
    }

    fn header_line(&self, error: &TopologyError) -> Option<usize> {
        match error {
            TopologyError::RankOutOfRange { .. } => self.root.map(|(line, _)| line),
            TopologyError::NoRanks => self.ranks.map(|(line, _)| line),
            _ => None,
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
    header: &mut Option<Placed<usize>>,
    line: usize,
    word: &str,
    expected: &'static str,
) -> Result<(), &'static str> {
    let value = word.parse().map_err(|_| expected)?;
    match header.replace((line, value)) {
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

/// The only rank that sends nothing; wants `triples` by sender.
fn only_root(ranks: usize, triples: &[Triple]) -> Result<Rank, TopologyError> {
    let candidates: Vec<Rank> = senderless(ranks, triples).take(2).collect();
    match candidates[..] {
        [root] => Ok(root),
        _ => Err(TopologyError::NoSingleRoot { candidates }),
    }
}
