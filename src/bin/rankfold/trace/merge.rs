//! `rankfold trace merge`: the traces of all processes of a world as one.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::clocks::{Aligned, Clocks, Time};
use super::file::{self, Event, Key, ProcessTrace, key, phase, time};
use crate::output::To;
use crate::stop::Stop;

/// Join the traces of all processes of a world, with one clock and all messages.
///
/// Each process of a world that is spread over processes has written `report.trace().to_perfetto()` to a file of its own.
/// The result shows all ranks, by process, and the messages between processes as arrows. Clocks are aligned by these
/// messages: none is received before it was sent, and where there are some in both directions, the fastest are taken to
/// last as long one way as the other. `otherData.clocks` says what was added to the clock of each process, and how far off
/// it may be; where messages do not tell, clocks start together.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rankfold trace merge trace-0.json trace-1.json -o trace.json
  rankfold trace merge trace-*.json -o trace.json")]
pub struct Arguments {
    /// The traces, one of each process, in any order.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    to: To,
}

pub fn run(arguments: &Arguments) -> Result<(), Stop> {
    let parts = arguments.files.iter().map(|path| file::read(path));
    let parts = in_order(parts.collect::<Result<_, _>>()?)?;
    let output = arguments.to.open()?;
    output.write(&Merged::of(parts).text())
}

/// The traces of all processes of one world, by process.
fn in_order(mut parts: Vec<ProcessTrace>) -> Result<Vec<ProcessTrace>, Stop> {
    let first = &parts[0];
    let same = |part: &&ProcessTrace| {
        (&part.about.world, part.about.processes) == (&first.about.world, first.about.processes)
    };
    if let Some(other) = parts.iter().find(|part| !same(part)) {
        let (one, other) = (&first.name, &other.name);
        return Err(Stop::Input(format!(
            "{one} and {other} are traces of different worlds"
        )));
    }
    parts.sort_by_key(|part| part.about.process);
    if let Some([one, other]) = parts
        .array_windows()
        .find(|[one, other]| one.about.process == other.about.process)
    {
        let (process, one, other) = (one.about.process, &one.name, &other.name);
        return Err(Stop::Input(format!(
            "{one} and {other} are both of process {process}"
        )));
    }
    let processes = parts[0].about.processes;
    let missing =
        (0..processes).find(|process| parts.iter().all(|part| part.about.process != *process));
    match missing {
        Some(process) => Err(Stop::Input(format!(
            "the trace of process {process} is missing: the world had {processes}"
        ))),
        None => Ok(parts),
    }
}

/// A message between processes: the places of its ends, process and event.
struct Message {
    sent: (usize, usize),
    received: (usize, usize),
}

/// The traces, joined.
struct Merged {
    parts: Vec<ProcessTrace>,
    messages: Vec<Message>,
    clocks: Vec<Aligned>,
}

impl Merged {
    fn of(parts: Vec<ProcessTrace>) -> Merged {
        let messages = matched(&parts);
        let mut clocks = Clocks::of(parts.len());
        let at =
            |(part, event): (usize, usize)| (part, time(&parts[part].events[event]).unwrap_or(0));
        for message in &messages {
            clocks.message(at(message.sent), at(message.received));
        }
        let mut clocks = clocks.align();
        begin_at_zero(&parts, &mut clocks);
        Merged {
            parts,
            messages,
            clocks,
        }
    }

    fn text(mut self) -> String {
        self.number_messages();
        let about = self.about();
        let clocks = &self.clocks;
        let parts = self.parts.into_iter().enumerate();
        let events = parts.flat_map(|(process, part)| {
            let add = clocks[process].add;
            let events = part
                .events
                .into_iter()
                .map(move |event| moved(event, process, add));
            std::iter::once(name(process)).chain(events)
        });
        let lines: Vec<String> = events
            .map(|event| Value::Object(event).to_string())
            .collect();
        format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[\n{}\n]}}\n",
            lines.join(",\n")
        )
    }

    /// Gives both ends of each message the same number, and the name that its sender knows.
    fn number_messages(&mut self) {
        let mut ids = 0u64..;
        for part in &mut self.parts {
            let mut known: HashMap<u64, u64> = HashMap::new();
            for event in &mut part.events {
                let id = event.get("id").and_then(Value::as_u64);
                let new = id.map(|id| *known.entry(id).or_insert_with(|| ids.next().unwrap_or(0)));
                new.into_iter()
                    .for_each(|id| _ = event.insert("id".into(), id.into()));
            }
        }
        for Message { sent, received } in &self.messages {
            let sent = &self.parts[sent.0].events[sent.1];
            let fields = ["id", "name", "args"]
                .map(|field| (field, sent.get(field).cloned().unwrap_or_default()));
            let received = &mut self.parts[received.0].events[received.1];
            fields
                .into_iter()
                .for_each(|(field, value)| _ = received.insert(field.into(), value));
        }
        // What was received without being sent is no arrow.
        let is_arrow = |event: &Event| event.get("id").is_none_or(Value::is_u64);
        self.parts
            .iter_mut()
            .for_each(|part| part.events.retain(is_arrow));
    }

    fn about(&self) -> Value {
        let about = &self.parts[0].about;
        let micros = |time: Time| time as f64 / 1000.0;
        let clock = |clock: &Aligned| json!({"added_us": micros(clock.add), "within_us": clock.within.map(micros)});
        json!({
            "transport": about.transport,
            "world": about.world,
            "processes": about.processes,
            "ranks": about.ranks,
            "messages_between_processes": self.messages.len(),
            "clocks": self.clocks.iter().map(clock).collect::<Vec<_>>(),
        })
    }
}

/// The messages between processes: of one key, the first that was sent is the first that was received.
fn matched(parts: &[ProcessTrace]) -> Vec<Message> {
    let mut sends: HashMap<Key, VecDeque<(usize, usize)>> = HashMap::new();
    let ends = |wanted: &'static str| {
        let parts = parts.iter().enumerate();
        parts.flat_map(move |(process, part)| {
            let events = part.events.iter().enumerate();
            let ends = events.filter(move |(_, event)| phase(event) == wanted);
            ends.filter_map(move |(place, event)| Some((key(event)?, (process, place))))
        })
    };
    for (key, sent) in ends("s") {
        sends.entry(key).or_default().push_back(sent);
    }
    let received = ends("f").filter_map(|(key, received)| {
        let sent = sends.get_mut(&key)?.pop_front()?;
        Some(Message { sent, received })
    });
    received.collect()
}

/// Moves all clocks so that nothing happens before zero.
fn begin_at_zero(parts: &[ProcessTrace], clocks: &mut [Aligned]) {
    let first = |(part, clock): (&ProcessTrace, &Aligned)| {
        Some(part.events.iter().filter_map(time).min()? + clock.add)
    };
    let begin = parts.iter().zip(&*clocks).filter_map(first).min();
    let early = begin.filter(|begin| *begin < 0).unwrap_or(0);
    clocks.iter_mut().for_each(|clock| clock.add -= early);
}

/// An event by the common clock.
fn moved(mut event: Event, process: usize, add: Time) -> Event {
    event.insert("pid".into(), process.into());
    if let Some(time) = time(&event) {
        event.insert("ts".into(), json!((time + add) as f64 / 1000.0));
    }
    if let Some(Value::Object(arguments)) = event.get_mut("args") {
        arguments.remove("key");
    }
    event
}

/// The event that names a process.
fn name(process: usize) -> Event {
    let name = json!({"name": format!("process {process}")});
    let fields = [
        ("ph", json!("M")),
        ("name", json!("process_name")),
        ("pid", json!(process)),
        ("tid", json!(0)),
        ("args", name),
    ];
    fields
        .map(|(field, value)| (field.to_owned(), value))
        .into_iter()
        .collect()
}
