//! `rankfold simulate`: how long schedules take on a machine of round figures.

use clap::Args;
use rankfold::Rank;
use rankfold::collective::{Algorithm, Call};
use rankfold::cost;
use rankfold::schedule::Schedule;
use rankfold::simulate::{MOST_RANKS, MachineModel, SimulateError, Timing, simulate_while};

use super::choice::{Choice, Pair, call};
use super::curves::{self, Dot, Over};
use super::numbers::{Ranges, Sizes, elements};
use super::output::{Pictured, TextOrJson, interrupted};
use super::stop::Stop;
use super::table::{Object, table};
use super::work::{self, Work};

/// Time algorithms on a model of a machine; nothing is run.
///
/// Shown are the times at which the first rank is done, half of the ranks, and the last.
///
/// There may be millions of ranks; how far it is goes to standard error, and Ctrl-C ends it with what has been timed so
/// far. Without --alpha, --beta and --gamma the machine is LogGP with 100 ns latency, 50 ns overhead and
/// gap, 10 GB/s a port and 0.2 ns a fold: a model of threads on one machine, not a measurement.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold simulate ring halving --ranks 8,1000 --bytes 8,16Mi
  rankfold simulate 1-ring 2-tree --collective reduce --ranks 8 --finish
  rankfold simulate exchange halving --bytes 8..1Mi --plot times.svg
  rankfold simulate halving --ranks 1048576 --bytes 1Mi --format json")]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Numbers of ranks, with ranges whose both ends count: `8`, `1..64`, `1..8,16`.
    #[arg(long, value_name = "RANGES", default_value = "8")]
    ranks: Ranges,
    /// Lengths of the vector in bytes: `8,64Ki,16Mi`.
    #[arg(long, value_name = "SIZES", default_value = "8,64Ki,16Mi")]
    bytes: Sizes,
    /// The bytes of an element.
    #[arg(long, value_name = "BYTES", default_value_t = 8)]
    element_bytes: usize,
    /// The root, where there is one.
    #[arg(long, value_name = "R", default_value_t = 0)]
    root: Rank,
    /// Keep operands in rank order, for operators that do not commute.
    #[arg(long)]
    ordered: bool,
    /// Show the time at which each rank is done as well, in the order of ranks.
    #[arg(long)]
    finish: bool,
    #[command(flatten)]
    model: Model,
    /// What the picture is drawn over; without it, bytes, or ranks if there is one length. Needs `--plot`.
    #[arg(long, value_name = "AXIS", requires = "plot")]
    over: Option<Over>,
    #[command(flatten)]
    out: Pictured<TextOrJson>,
}

/// The longest time of a model, in nanoseconds: the sums of such times are finite, as JSON's numbers are.
const LONGEST_NS: f64 = 1e18;

/// The machine of the closed formulas.
#[derive(Args)]
pub struct Model {
    /// Nanoseconds to start a message.
    #[arg(long, value_name = "NS")]
    alpha: Option<f64>,
    /// Nanoseconds a byte moved.
    #[arg(long, value_name = "NS")]
    beta: Option<f64>,
    /// Nanoseconds an element folded.
    #[arg(long, value_name = "NS")]
    gamma: Option<f64>,
}

impl Model {
    /// Returns whether nothing is said of the machine.
    pub fn is_default(&self) -> bool {
        self.alpha.or(self.beta).or(self.gamma).is_none()
    }

    /// Returns the times of the closed formulas, per element: without options, what the default machine takes for a
    /// message on its own.
    pub fn closed(&self, element_bytes: usize) -> Result<cost::Model, Stop> {
        let machine = self.machine(element_bytes)?;
        let link = machine.link(0, 1);
        Ok(cost::Model {
            alpha: link.latency + 2.0 * link.overhead,
            beta: link.per_byte * element_bytes as f64,
            gamma: machine.fold_seconds(),
        })
    }

    pub fn machine(&self, element_bytes: usize) -> Result<MachineModel, Stop> {
        let Model { alpha, beta, gamma } = *self;
        for (option, ns) in [("alpha", alpha), ("beta", beta), ("gamma", gamma)] {
            if let Some(ns) = ns.filter(|ns| !(ns.is_finite() && *ns >= 0.0)) {
                return Err(Stop::Input(format!(
                    "--{option}: {ns} ns is no time: it must be finite and not negative"
                )));
            }
            if let Some(ns) = ns.filter(|ns| *ns > LONGEST_NS) {
                return Err(Stop::Input(format!(
                    "--{option}: {ns:e} ns are too long; at most {LONGEST_NS:e}"
                )));
            }
        }
        let machine = if self.is_default() {
            MachineModel::default()
        } else {
            let seconds = |ns: Option<f64>| ns.unwrap_or(0.0) * 1e-9;
            MachineModel::alpha_beta_gamma(seconds(alpha), seconds(beta), seconds(gamma))
        };
        Ok(machine.element_bytes(element_bytes))
    }
}

/// Times any schedule, in loops compiled for its type; with work, it reports progress until it is stopped.
struct Simulated<'a> {
    machine: &'a MachineModel,
    work: Option<(&'a Work, f64)>,
}

impl Simulated<'_> {
    fn run(&self, schedule: &dyn Schedule) -> Result<Option<Timing>, SimulateError> {
        let steps = schedule.steps();
        let mut part = self.work.map(|(work, weight)| work.part(weight, steps));
        let mut go_on = |done| part.as_mut().is_none_or(|part| part.done(done));
        simulate_while(schedule, self.machine, &mut go_on)
    }
}

/// One line of the results.
struct Line {
    pair: Pair,
    ranks: usize,
    bytes: usize,
    timing: Totals,
}

/// The part of a timing that is kept: the end of every rank only if it is asked for.
struct Totals {
    /// When the first rank is done, half of them, the last.
    seconds: [f64; 3],
    finish: Option<Vec<f64>>,
    steps: usize,
    messages: u64,
    bytes: u128,
}

impl Totals {
    fn of(timing: Timing, finish: bool) -> Totals {
        Totals {
            seconds: [timing.first(), timing.median(), timing.total],
            steps: timing.steps,
            messages: timing.messages,
            bytes: timing.bytes,
            finish: finish.then_some(timing.finish),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    if let Some(many) = arguments.ranks.iter().find(|&ranks| ranks > MOST_RANKS) {
        let line = format!("--ranks: {many} ranks are too many; at most {MOST_RANKS}");
        return Err(Stop::Input(line));
    }
    let (root, least) = (arguments.root, arguments.ranks.iter().min().unwrap_or(0));
    if root >= least {
        let line = format!("--root: {root} is not one of the {least} ranks");
        return Err(Stop::Input(line));
    }
    let lengths = lengths(arguments)?;
    let plan = Plan {
        arguments,
        pairs: pairs(arguments, &lengths)?,
        lengths,
    };
    if arguments.out.plot.is_some() {
        one_collective(&plan.pairs)?;
    }
    let both = arguments.out.open()?;
    let machine = arguments.model.machine(arguments.element_bytes)?;
    let work = Work::new("simulate", plan.weight()?);
    let lines = plan.lines(&machine, &work)?;
    let stopped = work.is_stopped();
    work.finish();
    let written = match arguments.out.results.format {
        TextOrJson::Text => text(&lines, stopped),
        TextOrJson::Json => lines.iter().map(json).collect(),
    };
    match stopped {
        true => interrupted(&written),
        false => both.write(&written, || picture(arguments, &plan, &lines)),
    }
}

/// Returns what is timed: over segments or stages, every number of them.
fn pairs(arguments: &Arguments, lengths: &[(usize, usize)]) -> Result<Vec<Pair>, Stop> {
    let pairs = arguments.choice.once()?;
    let Some(over @ (Over::Segments | Over::Stages)) = arguments.over else {
        return Ok(pairs);
    };
    let ranks = arguments.ranks.iter().max().unwrap_or(1);
    let length = lengths.iter().map(|one| one.1).max().unwrap_or(1);
    let expanded = pairs.into_iter().flat_map(|pair| {
        let each = over
            .expanded(vec![pair.algorithm], ranks, length)
            .into_iter();
        each.map(move |algorithm| Pair {
            algorithm,
            by_name: false,
            ..pair
        })
    });
    let mut all: Vec<Pair> = Vec::new();
    for new in expanded {
        if !all
            .iter()
            .any(|old| old.algorithm == new.algorithm && old.collective == new.collective)
        {
            all.push(new);
        }
    }
    Ok(all)
}

/// Refuses a picture of several collectives, whose times are not to be compared.
fn one_collective(pairs: &[Pair]) -> Result<(), Stop> {
    let differ = |two: &&[Pair]| two[0].collective != two[1].collective;
    match pairs.windows(2).find(differ) {
        Some(two) => Err(Stop::Input(format!(
            "--plot: {} by {} and {} by {} are not for one picture: name one --collective",
            two[0].collective, two[0].algorithm, two[1].collective, two[1].algorithm
        ))),
        None => Ok(()),
    }
}

fn picture(arguments: &Arguments, plan: &Plan<'_>, lines: &[Line]) -> Result<String, Stop> {
    let ranks = arguments.ranks.iter().take(2).count();
    let over = Over::of(arguments.over, plan.lengths.len(), ranks);
    let dot = |line: &Line| Dot {
        name: line.pair.algorithm.to_string(),
        algorithm: line.pair.algorithm,
        ranks: line.ranks,
        bytes: line.bytes,
        seconds: line.timing.seconds[2],
    };
    let dots: Vec<Dot> = lines.iter().map(dot).collect();
    let title = lines.first().map_or("", |line| line.pair.collective.name());
    let dots: Vec<&Dot> = dots.iter().collect();
    Ok(curves::chart(&format!("{title}, simulated"), over, &dots)?.svg())
}

/// What is timed.
struct Plan<'a> {
    arguments: &'a Arguments,
    pairs: Vec<Pair>,
    lengths: Vec<(usize, usize)>,
}

/// With more calls than this, weights are estimated without examining the schedules.
const WEIGHED: usize = 10_000;

impl Plan<'_> {
    /// Returns all calls, in the order in which they are timed: algorithm, ranks, bytes, call.
    fn calls(&self) -> impl Iterator<Item = Result<(Pair, usize, usize, Call), Stop>> + '_ {
        let Arguments {
            root,
            ordered,
            choice,
            ranks,
            ..
        } = self.arguments;
        let of = move |pair: Pair, ranks, bytes, length| {
            let call = call(pair.collective, ranks, length, *root, *ordered)?;
            Ok((pair, ranks, bytes, choice.placed(call)?))
        };
        ranks.iter().flat_map(move |ranks| {
            self.lengths.iter().flat_map(move |&(bytes, length)| {
                self.pairs
                    .iter()
                    .map(move |&pair| of(pair, ranks, bytes, length))
            })
        })
    }

    /// Returns the work of a call.
    fn weigh(&self, pair: Pair, call: &Call) -> f64 {
        let each = self.lengths.len() * self.pairs.len();
        match self.arguments.ranks.iter().take(WEIGHED).count() * each < WEIGHED {
            true => work::weight(pair.algorithm, call),
            false => call.ranks() as f64,
        }
    }

    fn weight(&self) -> Result<f64, Stop> {
        let weights = self
            .calls()
            .map(|call| call.map(|(pair, _, _, call)| self.weigh(pair, &call)));
        weights.sum()
    }

    /// Returns the lines of all calls, or of those that were timed before it was stopped.
    fn lines(&self, machine: &MachineModel, work: &Work) -> Result<Vec<Line>, Stop> {
        let mut lines = Vec::new();
        for call in self.calls() {
            let (pair, ranks, bytes, call) = call?;
            if work.is_stopped() {
                break;
            }
            let weight = self.weigh(pair, &call);
            let simulated = Simulated {
                machine,
                work: Some((work, weight)),
            };
            if let Some(timing) = timed(pair, &call, simulated)? {
                lines.push(Line {
                    pair,
                    ranks,
                    bytes,
                    timing: Totals::of(timing, self.arguments.finish),
                });
            }
        }
        match lines.is_empty() && !work.is_stopped() {
            true => Err(self.nothing()),
            false => Ok(lines),
        }
    }

    /// Returns what to say if every algorithm refuses every call.
    fn nothing(&self) -> Stop {
        let refusal = self.calls().find_map(|call| {
            let (pair, _, _, call) = call.ok()?;
            Some((pair, pair.algorithm.refused(&call)?))
        });
        Stop::Input(match refusal {
            Some((Pair { algorithm, .. }, why)) => {
                format!("no algorithm serves such a call; {algorithm}: {why}")
            }
            None => "no algorithm serves such a call".into(),
        })
    }
}

/// Returns bytes with the number of elements in them.
fn lengths(arguments: &Arguments) -> Result<Vec<(usize, usize)>, Stop> {
    let length = |&bytes: &usize| Ok((bytes, elements(bytes, arguments.element_bytes)?));
    let lengths = arguments.bytes.0.iter().map(length);
    lengths.collect::<Result<_, _>>().map_err(Stop::Input)
}

/// Returns the seconds of a call on a machine, if the algorithm supports it and the machine can be simulated.
pub fn seconds(algorithm: Algorithm, call: &Call, machine: &MachineModel) -> Option<f64> {
    let alone = Simulated {
        machine,
        work: None,
    };
    let timing = alone.run(&*algorithm.schedule(call).ok()?).ok()??;
    Some(timing.total)
}

/// Returns `None` if one of many algorithms refuses the call, or if it was stopped.
fn timed(pair: Pair, call: &Call, simulated: Simulated<'_>) -> Result<Option<Timing>, Stop> {
    let schedule = match pair.algorithm.schedule(call) {
        Ok(schedule) => schedule,
        Err(refusal) if pair.by_name => return Err(Stop::input(refusal)),
        Err(_) => return Ok(None),
    };
    match simulated.run(&*schedule) {
        Ok(timing) => Ok(timing),
        Err(fault @ (SimulateError::TooManyRanks { .. } | SimulateError::NoTime { .. })) => {
            Err(Stop::input(fault))
        }
        Err(fault) => Err(Stop::Fault(format!(
            "{} by {}: {fault}",
            pair.collective, pair.algorithm
        ))),
    }
}

/// Formats a time in microseconds, to the nanosecond.
fn time(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e6)
}

/// Formats a time in microseconds for programs, with all its digits.
fn exact(seconds: f64) -> String {
    (seconds * 1e6).to_string()
}

/// Formats the times at which the ranks are done, if they are to be shown.
fn finish(line: &Line, time: fn(f64) -> String) -> Option<String> {
    let times = line.timing.finish.as_ref()?.iter();
    let times: Vec<_> = times.map(|&seconds| time(seconds)).collect();
    Some(times.join(", "))
}

const HEADS: [&str; 10] = [
    "collective",
    "algorithm",
    "ranks",
    "bytes",
    "steps",
    "messages",
    "bytes sent",
    "min/us",
    "median/us",
    "max/us",
];

fn text(lines: &[Line], stopped: bool) -> String {
    let row = |line: &Line| {
        let mut cells = vec![
            line.pair.collective.to_string(),
            line.pair.algorithm.to_string(),
            line.ranks.to_string(),
            line.bytes.to_string(),
            line.timing.steps.to_string(),
            line.timing.messages.to_string(),
            line.timing.bytes.to_string(),
        ];
        cells.extend(line.timing.seconds.map(time));
        cells
    };
    let each: String = lines.iter().filter_map(each).collect();
    let note = if stopped {
        "interrupted: what is not here was not timed\n"
    } else {
        ""
    };
    table(&HEADS, &lines.iter().map(row).collect::<Vec<_>>()) + &each + note
}

/// The line below the table with the times at which the ranks are done.
fn each(line: &Line) -> Option<String> {
    let Line {
        pair, ranks, bytes, ..
    } = line;
    let times = finish(line, time)?;
    Some(format!(
        "{} by {}, {ranks} ranks, {bytes} bytes; done at/us: {times}\n",
        pair.collective, pair.algorithm
    ))
}

fn json(line: &Line) -> String {
    let [min, median, max] = line.timing.seconds.map(exact);
    let object = Object::new("rankfold.simulate/1")
        .text("collective", line.pair.collective.name())
        .text("algorithm", &line.pair.algorithm.to_string())
        .value("ranks", line.ranks)
        .value("bytes", line.bytes)
        .value("steps", line.timing.steps)
        .value("messages", line.timing.messages)
        .value("bytes_sent", line.timing.bytes)
        .value("time_us", max)
        .value("finish_min_us", min)
        .value("finish_median_us", median);
    match finish(line, exact) {
        Some(times) => object.value("finish_us", format_args!("[{times}]")).line(),
        None => object.line(),
    }
}
