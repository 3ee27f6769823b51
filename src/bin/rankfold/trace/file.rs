//! The trace of one process, as it is read from a file.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::clocks::Time;
use crate::input;
use crate::stop::Stop;

/// More processes take too long.
const MOST_PROCESSES: usize = 1 << 8;

/// The trace of one process.
pub struct ProcessTrace {
    pub name: String,
    pub about: About,
    pub events: Vec<Event>,
}

/// Which part of a world it is.
#[derive(Clone, Deserialize)]
pub struct About {
    pub transport: String,
    pub world: String,
    pub process: usize,
    pub processes: usize,
    pub ranks: usize,
}

/// An event of Chrome's format.
pub type Event = Map<String, Value>;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "otherData")]
    about: Value,
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

/// What the two ends of a message have in common: sender, receiver, communicator, tag.
pub type Key = (u64, u64, u64, u64);

/// Reads a file that `Trace::to_perfetto` has written in one of several processes.
pub fn read(path: &Path) -> Result<ProcessTrace, Stop> {
    let name = path.display().to_string();
    let text = input::read(path)?;
    let no_trace = |why: serde_json::Error| {
        Stop::Input(format!(
            "{name} is no trace that `Trace::to_perfetto` has written: {why}"
        ))
    };
    let File { about, events } = serde_json::from_str(&text).map_err(no_trace)?;
    if let Some(why) = cannot_be_merged(&about) {
        return Err(Stop::Input(format!("{name} {why}")));
    }
    let about: About = serde_json::from_value(about).map_err(no_trace)?;
    if let Some(why) = about.fault() {
        return Err(Stop::Input(format!("{name} {why}")));
    }
    match events.iter().position(|event| !is_sound(event)) {
        Some(place) => Err(Stop::Input(format!(
            "{name}: event {place} is none of a rank"
        ))),
        None => Ok(ProcessTrace {
            name,
            about,
            events,
        }),
    }
}

/// Why a trace is none of one process of several, if so.
fn cannot_be_merged(about: &Value) -> Option<&'static str> {
    if about.get("clocks").is_some() {
        return Some("is merged already");
    }
    let of_one = about.get("process").is_none();
    of_one
        .then_some("is the trace of a world in one process, or has logical times: it is not merged")
}

impl About {
    /// What is wrong with it.
    fn fault(&self) -> Option<String> {
        let (process, processes) = (self.process, self.processes);
        if processes > MOST_PROCESSES {
            return Some(format!(
                "is of {processes} processes: at most {MOST_PROCESSES} are merged"
            ));
        }
        (process >= processes)
            .then(|| format!("is of process {process} of {processes}: there is none"))
    }
}

/// Whether an event has what is needed: a thread, and a time if it is no name.
fn is_sound(event: &Event) -> bool {
    let has = |field: &str| event.get(field).is_some_and(Value::is_u64);
    let phase = phase(event);
    let timed = phase == "M" || time(event).is_some();
    has("tid") && timed && ["M", "X", "s", "f"].contains(&phase)
}

/// The kind of an event: M, X, s or f.
pub fn phase(event: &Event) -> &str {
    event.get("ph").and_then(Value::as_str).unwrap_or_default()
}

/// The time of an event, which is written in microseconds.
pub fn time(event: &Event) -> Option<Time> {
    let micros = event.get("ts")?.as_f64()?;
    // Days, of which the clocks of all processes together are a number.
    (micros.abs() < 1e12).then(|| (micros * 1000.0).round() as Time)
}

/// The key of one end of a message between processes.
pub fn key(event: &Event) -> Option<Key> {
    let arguments = event.get("args")?;
    let number = |value: &Value| value.as_u64();
    let key = arguments.get("key")?;
    Some((
        number(arguments.get("from")?)?,
        number(arguments.get("to")?)?,
        number(key.get(0)?)?,
        number(key.get(1)?)?,
    ))
}
