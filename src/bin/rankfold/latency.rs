//! `rankfold latency`: the time of 8 bytes between each pair of CPUs, over a bare cache line and over the library's
//! transports.

use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use rankfold::WorldError;
use rankfold::draw::Heat;
use rankfold::machine::Machine;
use rankfold::measure::{
    Control, Effort, Failure, Host, LATENCY_SCHEMA, Latency, MessagePath, Pair, Table, Watch,
    in_order, median, sorted,
};

use super::bench::{build, control};
use super::numbers::{Cpus, Time, in_words, passes};
use super::output::{Pictured, Results, interrupted};
use super::progress;
use super::stop::Stop;
use super::style::Style;
use super::table::pretty;

/// Measure how long 8 bytes take between each two CPUs.
///
/// They go by a bare cache line, a slot, a channel and a mailbox. Times are one way, in nanoseconds: half a round trip of `raw` and `mailbox`; of `slot` and `channel` the exchange
/// of an all_reduce, one message each way at once. Each pair is measured once for both directions, in a world of two
/// ranks bound to it. Ctrl-C ends it with what has been measured so far.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold latency
  rankfold latency --cpus 0-7 --ways raw,slot --plot latency.svg
  rankfold latency --format csv -o latency.csv")]
pub struct Arguments {
    /// Which CPUs, as `0-3,8`; without it all that may be used.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<Cpus>,
    /// Which ways: `raw`, `slot`, `channel`, `mailbox`.
    #[arg(long, value_name = "WAYS", value_delimiter = ',')]
    ways: Vec<MessagePath>,
    /// How often all pairs are gone through, in turn.
    #[arg(long, value_name = "N", default_value_t = 3)]
    passes: usize,
    /// How long each pair is measured on each way in all passes together, in seconds or as `20ms`.
    #[arg(long, value_name = "TIME", default_value = "0.02")]
    time: Time,
    #[command(flatten)]
    out: Pictured<Format>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table for each way.
    Text,
    /// A line of values for each way and pair.
    Csv,
    /// The whole run as one object; see docs/latency.schema.json.
    Json,
}

/// What is measured, and how.
pub struct Plan {
    pub machine: Machine,
    pub cpus: Vec<usize>,
    pub ways: Vec<MessagePath>,
    pub passes: usize,
    /// For each pair, way and pass.
    pub time: Duration,
}

/// More CPUs make too many pairs.
const MOST_CPUS: usize = 256;
const MOST_SECONDS: f64 = 60.0;

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let Results { format, to } = &arguments.out.results;
    let both = arguments.out.open()?;
    let plan = Plan::new(arguments)?;
    let latency = measured(&plan, &control())?;
    let text = written(&latency, *format, to.style());
    if latency.interrupted {
        return interrupted(&text);
    }
    both.write(&text, || {
        let heats = latency.tables.iter().map(|table| latency.heat(table));
        Ok(Heat::svg_of(&heats.collect::<Vec<_>>()))
    })
}

impl Plan {
    fn new(arguments: &Arguments) -> Result<Plan, Stop> {
        let passes = passes(arguments.passes)?;
        let time = arguments.time.at_most(MOST_SECONDS)?;
        let machine = Machine::here();
        let cpus = wanted(arguments, &machine)?;
        let mut ways = arguments.ways.clone();
        if ways.is_empty() {
            ways.extend(MessagePath::all());
        }
        Ok(Plan {
            machine,
            cpus,
            ways,
            passes,
            time: time.div_f64(passes as f64),
        })
    }

    fn pairs(&self) -> Vec<[usize; 2]> {
        let count = self.cpus.len();
        let after = |a: usize| (a + 1..count).map(move |b| [a, b]);
        (0..count).flat_map(after).collect()
    }
}

/// Returns the requested CPUs, once each.
fn wanted(arguments: &Arguments, machine: &Machine) -> Result<Vec<usize>, Stop> {
    let mask = &machine.usable.mask;
    let mut cpus = arguments
        .cpus
        .as_ref()
        .map_or(mask, |Cpus(list)| list)
        .clone();
    cpus.sort_unstable();
    cpus.dedup();
    if let Some(other) = cpus.iter().find(|cpu| !mask.contains(cpu)) {
        return Err(Stop::Input(format!(
            "--cpus: CPU {other} may not be used: {}",
            machine.usable
        )));
    }
    if mask.len().min(machine.usable.usable()) < 2 {
        return Err(Stop::Input(format!(
            "there are no two CPUs to measure between: {}",
            machine.usable
        )));
    }
    match cpus.len() {
        0 | 1 => Err(Stop::input("--cpus: name at least two")),
        2..=MOST_CPUS => Ok(cpus),
        many => Err(Stop::Input(format!(
            "--cpus: {many} CPUs have too many pairs; name at most {MOST_CPUS}"
        ))),
    }
}

/// Measures; the plan's CPUs are two or more that may be used.
pub fn measured(plan: &Plan, control: &Control) -> Result<Latency, Stop> {
    let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let (cpus, breaks) = in_order(&plan.machine, &plan.cpus);
    let mut watch = Watch::start(Pair::first(&plan.machine));
    let tables = tables(plan, &cpus, control, &mut watch)?;
    let noise = watch.finish();
    let mut latency = Latency {
        schema: LATENCY_SCHEMA.into(),
        build: build(),
        command: std::env::args().collect(),
        started: started.map_or(0, |since| since.as_secs()),
        machine: Host::of(&plan.machine),
        remarks: noise.remarks(),
        noise,
        interrupted: control.is_stopped(),
        passes: plan.passes,
        cpus,
        breaks,
        tables,
    };
    let more = remarks(&latency);
    latency.remarks.extend(more);
    Ok(latency)
}

/// Returns a table for each way. Each pass measures every pair once by every way, so that disturbances of the machine
/// affect all alike.
fn tables(
    plan: &Plan,
    cpus: &[usize],
    control: &Control,
    watch: &mut Watch,
) -> Result<Vec<Table>, Stop> {
    let pairs = plan.pairs();
    let progress = progress::of_steps(plan.ways.len() * pairs.len() * plan.passes);
    let mut times = vec![vec![Vec::new(); pairs.len()]; plan.ways.len()];
    for _ in 0..plan.passes {
        for (at, pair) in pairs.iter().enumerate() {
            let pair = pair.map(|cpu| cpus[cpu]);
            for (way, times) in plan.ways.iter().zip(&mut times) {
                if control.is_stopped() {
                    break;
                }
                progress.set_message(format!("{way}, CPUs {} and {}", pair[0], pair[1]));
                times[at].push(nanoseconds(plan, *way, pair, control)?);
                progress.inc(1);
            }
        }
        watch.look();
    }
    progress.finish_and_clear();
    let tables = plan.ways.iter().zip(&times);
    let tables = tables.map(|(way, times)| table(*way, cpus.len(), &pairs, times));
    Ok(tables.collect())
}

fn nanoseconds(
    plan: &Plan,
    way: MessagePath,
    pair: [usize; 2],
    control: &Control,
) -> Result<f64, Stop> {
    let seconds = way.seconds(&plan.machine, pair, &Effort::time(plan.time), control);
    Ok(1e9 * seconds.map_err(|failure| failed(way, failure))?)
}

/// Distinguishes the system's refusals from faults.
fn failed(way: MessagePath, failure: Failure) -> Stop {
    let line = format!("{way}: {failure}").replace('\n', "; ");
    match failure {
        Failure::Thread(_) | Failure::World(WorldError::Spawn { .. }) => Stop::Input(line),
        _ => Stop::Fault(line),
    }
}

fn remarks(latency: &Latency) -> Vec<String> {
    let mut remarks = Vec::new();
    if !latency.build.optimised {
        remarks.push("this program was built without optimisations: use --release".into());
    }
    if latency.interrupted {
        remarks.push("interrupted: some pairs have fewer passes, or none".into());
    }
    remarks
}

fn table(way: MessagePath, count: usize, pairs: &[[usize; 2]], times: &[Vec<f64>]) -> Table {
    let matrix = |of: &dyn Fn(&[f64]) -> f64| {
        let mut cells = vec![vec![None; count]; count];
        for ([a, b], times) in pairs.iter().zip(times) {
            let value = (!times.is_empty()).then(|| of(&sorted(times.iter().copied())));
            (cells[*a][*b], cells[*b][*a]) = (value, value);
        }
        cells
    };
    Table {
        way: way.name().into(),
        meaning: way.meaning().into(),
        ns: matrix(&|sorted| median(sorted)),
        min_ns: matrix(&|sorted| sorted[0]),
    }
}

fn written(latency: &Latency, format: Format, style: Style) -> String {
    match format {
        Format::Text => text(latency, style),
        Format::Csv => csv(latency),
        Format::Json => pretty(latency),
    }
}

fn text(latency: &Latency, style: Style) -> String {
    let host = &latency.machine;
    let mut text = format!(
        "{}: {}\n{}\nrankfold {}, {}; {}, {:.1} s\n",
        host.model,
        host.parts,
        host.may_use,
        latency.build.version,
        latency.build.git.as_deref().unwrap_or("unknown commit"),
        in_words(latency.passes),
        latency.noise.wall_s,
    );
    for table in &latency.tables {
        let title = format!("{}: {}", table.way, table.meaning);
        text += &format!("\n{}\n{}", style.bold(&title), matrix(latency, table));
        text += &range(latency, table);
    }
    text += "\nnanoseconds one way, medians of the passes; each pair is measured once for both directions\n";
    for remark in &latency.remarks {
        text += &style.warn(&format!("note: {remark}\n"));
    }
    text
}

/// Returns numbers in columns as wide as the widest.
fn matrix(latency: &Latency, table: &Table) -> String {
    let cell = |value: &Option<f64>| value.map_or("-".into(), |ns| format!("{ns:.0}"));
    let names = || latency.cpus.iter().map(usize::to_string);
    let widths = names()
        .chain(table.ns.iter().flatten().map(cell))
        .map(|word| word.len());
    let width = widths.max().unwrap_or(1);
    let line = |first: String, cells: Vec<String>| {
        let padded = cells.iter().map(|cell| format!("  {cell:>width$}"));
        format!("{first:>5}{}\n", padded.collect::<String>())
    };
    let rows = names().zip(&table.ns);
    let rows = rows.map(|(name, row)| line(name, row.iter().map(cell).collect()));
    line("CPU".into(), names().collect()) + &rows.collect::<String>()
}

/// Returns the minimum, the median and the maximum, with their pairs of CPUs.
fn range(latency: &Latency, table: &Table) -> String {
    let count = latency.cpus.len();
    let above = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let known =
        above.filter_map(|(a, b)| Some((table.ns[a][b]?, latency.cpus[a], latency.cpus[b])));
    let mut all: Vec<(f64, usize, usize)> = known.collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    match &all[..] {
        [] | [_] => String::new(),
        [least, .., most] => format!(
            "least {:.0} (CPUs {} and {}), median {:.0}, greatest {:.0} (CPUs {} and {})\n",
            least.0,
            least.1,
            least.2,
            median(&all.iter().map(|one| one.0).collect::<Vec<_>>()),
            most.0,
            most.1,
            most.2
        ),
    }
}

fn csv(latency: &Latency) -> String {
    let mut text = "way,cpu_a,cpu_b,ns,min_ns\n".to_owned();
    let cpus = &latency.cpus;
    for table in &latency.tables {
        for (a, row) in table.ns.iter().enumerate() {
            for (b, ns) in row.iter().enumerate().skip(a + 1) {
                if let (Some(ns), Some(min)) = (ns, table.min_ns[a][b]) {
                    text += &format!("{},{},{},{ns:.1},{min:.1}\n", table.way, cpus[a], cpus[b]);
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_time_in_both_directions_and_a_cpu_none_with_itself() {
        let pairs = [[0, 1], [0, 2], [1, 2]];
        let times = vec![vec![3.0, 1.0, 2.0], vec![], vec![5.0]];
        let table = table(MessagePath::Raw, 3, &pairs, &times);
        assert_eq!(table.ns[0], [None, Some(2.0), None]);
        assert_eq!(table.ns[1], [Some(2.0), None, Some(5.0)]);
        assert_eq!(table.min_ns[1][0], Some(1.0));
    }
}
