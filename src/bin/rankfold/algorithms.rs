//! `rankfold algorithms`: a table of all algorithms, in which each row is proved as it is printed.

use clap::{Args, ValueEnum};
use rankfold::check::check;
use rankfold::collective::{Algorithm, Call, Collective, Needs, Root};

use super::check::goal;
use super::output::Results;
use super::stop::Stop;
use super::table::{Object, table};

/// The numbers of ranks for which steps are shown.
const SHOWN: [usize; 2] = [8, 13];
/// The numbers of ranks for which a row is proved, with the first and the last root.
const PROVED: [usize; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 33];

/// List every algorithm, what it needs, and what was proved of it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold algorithms --collective all_reduce")]
pub struct Arguments {
    /// Only those of this collective.
    #[arg(long, value_name = "COLLECTIVE")]
    collective: Option<Collective>,
    #[command(flatten)]
    results: Results<Format>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table.
    Text,
    /// A table in Markdown, with what its columns mean.
    Markdown,
    /// An object for each algorithm, one a line.
    Json,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let output = arguments.results.to.open()?;
    let asked = |collective: &Collective| arguments.collective.is_none_or(|one| one == *collective);
    let rows: Vec<Row> = Collective::all()
        .filter(asked)
        .flat_map(|collective| {
            Algorithm::all(collective).filter_map(move |algorithm| Row::of(collective, algorithm))
        })
        .collect();
    if let Some(fault) = rows.iter().find_map(|row| row.proved.as_ref().err()) {
        return Err(Stop::Fault(fault.clone()));
    }
    output.write(&match arguments.results.format {
        Format::Text => table(&HEADS, &rows.iter().map(Row::cells).collect::<Vec<_>>()),
        Format::Markdown => markdown(&rows),
        Format::Json => rows.iter().map(Row::json).collect(),
    })
}

const HEADS: [&str; 10] = [
    "collective",
    "algorithm",
    "ranks",
    "operator",
    "root",
    "P = 8",
    "P = 13",
    "proved",
    "also called",
    "source",
];

struct Row {
    collective: Collective,
    algorithm: Algorithm,
    needs: Needs,
    steps: [Option<usize>; 2],
    /// Number of calls that were proved, or the first fault.
    proved: Result<usize, String>,
}

impl Row {
    fn of(collective: Collective, algorithm: Algorithm) -> Option<Row> {
        let steps = |ranks| {
            let call = Call::new(collective, ranks, 10 * ranks).commuting();
            let schedule = algorithm.schedule(&call).ok()?;
            Some(schedule.steps())
        };
        Some(Row {
            collective,
            algorithm,
            needs: algorithm.needs(collective)?,
            steps: SHOWN.map(steps),
            proved: prove(collective, algorithm),
        })
    }

    fn ranks(&self) -> &'static str {
        if self.needs.power_of_two {
            "powers of two"
        } else {
            "any"
        }
    }

    fn operator(&self) -> &'static str {
        match (self.collective.folds(), self.needs.commutative) {
            (false, _) => "-",
            (true, true) => "commutes",
            (true, false) => "any",
        }
    }

    fn root(&self) -> &'static str {
        match self.needs.root {
            Root::None => "-",
            Root::Any => "any",
            Root::Turned => "turned",
        }
    }

    fn proved(&self) -> usize {
        self.proved.as_ref().copied().unwrap_or(0)
    }

    fn cells(&self) -> Vec<String> {
        let steps = self
            .steps
            .map(|steps| steps.map_or("-".to_owned(), |steps| steps.to_string()));
        let [eight, thirteen] = steps;
        vec![
            self.collective.to_string(),
            self.algorithm.to_string(),
            self.ranks().to_owned(),
            self.operator().to_owned(),
            self.root().to_owned(),
            eight,
            thirteen,
            self.proved().to_string(),
            self.also_called(),
            self.algorithm.source().to_owned(),
        ]
    }

    fn also_called(&self) -> String {
        let names = self.other_names();
        match names.is_empty() {
            true => "-".to_owned(),
            false => names,
        }
    }

    fn other_names(&self) -> String {
        let mut names = self.algorithm.also_called();
        // As an all-reduce, recursive doubling is simple exchange.
        if (self.collective, self.algorithm) == (Collective::AllReduce, Algorithm::Exchange) {
            names.extend(Algorithm::Doubling.also_called());
        }
        names.join(", ")
    }

    fn json(&self) -> String {
        let object = Object::new("rankfold-algorithms-1")
            .text("collective", self.collective.name())
            .text("algorithm", &self.algorithm.to_string())
            .value("power_of_two", self.needs.power_of_two)
            .value("commutative", self.needs.commutative)
            .text("root", self.root())
            .value("proved", self.proved())
            .text("also_called", &self.other_names())
            .text("source", self.algorithm.source());
        object.line()
    }
}

/// Returns the number of calls that the checker has certified.
fn prove(collective: Collective, algorithm: Algorithm) -> Result<usize, String> {
    let mut proved = 0;
    for call in PROVED
        .into_iter()
        .flat_map(|ranks| calls(collective, ranks))
    {
        let Ok(schedule) = algorithm.schedule(&call) else {
            continue;
        };
        check(&*schedule, &goal(&call))
            .map_err(|fault| format!("{collective} by {algorithm}: {fault}"))?;
        proved += 1;
    }
    Ok(proved)
}

fn calls(collective: Collective, ranks: usize) -> Vec<Call> {
    let call = |root: usize| Call::new(collective, ranks, ranks + 1).to_root(root);
    let roots = match collective.has_root() && ranks > 1 {
        true => vec![call(0), call(ranks - 1)],
        false => vec![call(0)],
    };
    let commuting = roots
        .iter()
        .filter(|_| collective.folds())
        .map(|call| call.clone().commuting());
    let commuting: Vec<Call> = commuting.collect();
    roots.into_iter().chain(commuting).collect()
}

const WORDS: &str = "\
# Collectives and their algorithms

Made by `rankfold algorithms --format markdown`; a test compares it. Every row is

- **proved** on symbols while the table is made: calls with 1 to 33 ranks, the first and the last root,
  operators that commute and operators that do not; `tests/algorithms.rs` proves many more;
- **run on threads** by `tests/on_threads.rs`: 1 to 33 and 64 ranks, all roots up to 9 ranks, odd lengths, two types
  of elements, against the plainest code there is;
- **timed** by the simulator (`rankfold simulate`) and **drawn** (`rankfold draw`).

*operator*: whether it must commute; if not, operands stay in rank order. *root*: `turned` means that ranks are
counted from the root on, which takes one more step if the operator does not commute. *P = 8*, *P = 13*: steps.
`K` in a name is a number of yours; the table shows some. *also called*: names that are read as well, each followed by
the same `:segments=K`. *source*: [the papers](papers.md), and what they cite. Along a hypercube (`exchange`, `halving`,
`hybrid`, `doubling`), partners are 1, 2, 4, ... away, in this order; `far-halving` counts down.

";

fn markdown(rows: &[Row]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = WORDS.to_owned() + &line(&HEADS.map(String::from));
    text += &line(&HEADS.map(|_| "---".to_owned()));
    text.extend(rows.iter().map(|row| {
        let mut cells = row.cells();
        cells[1] = format!("`{}`", cells[1]);
        line(&cells)
    }));
    text
}
