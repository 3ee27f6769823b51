//! A trace written as JSON in Chrome's trace event format, which Perfetto and `chrome://tracing` show: a thread for
//! each rank, a slice for each call, an arrow for each message.

use std::fmt::{self, Write};
use std::time::Duration;

use super::trace::{Arrival, MessageKey, Trace, TracedCall, TracedMessage};
use crate::Rank;
use crate::transport::trace::part::WorldPart;

impl Trace {
    /// Returns the trace as JSON in Chrome's trace event format, for <https://ui.perfetto.dev>. That of one of several
    /// processes also says what `rankfold trace merge` needs.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = rankfold::World::new(4).trace(true).run_each(|comm| comm.barrier());
    /// std::fs::write("trace.json", report.trace().unwrap().to_perfetto())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Source
    ///
    /// *Trace Event Format*, the Chromium project: events M, X, s and f.
    pub fn to_perfetto(&self) -> String {
        let end = self.end();
        let mut text = format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"transport\":\"{}\"{}}},\"traceEvents\":[",
            self.transport,
            self.part
                .as_ref()
                .map_or_else(String::new, |part| about(part, self.ranks)),
        );
        let pid = self.part.as_ref().map_or(0, |part| part.process);
        let ranks = self
            .part
            .as_ref()
            .map_or(0..self.ranks, |part| part.ranks.clone());
        let threads = ranks.map(|rank| thread(pid, rank));
        let calls = self.calls.iter().map(|call| slice(pid, call, end));
        let messages = self.messages.iter().enumerate();
        let flows = messages.flat_map(|(id, message)| flow(id, message, self));
        let arrivals = self.arrivals.iter().filter(|_| self.part.is_some());
        let arrivals = arrivals.map(|arrival| arrives(pid, arrival));
        let events = threads.chain(calls).chain(flows).chain(arrivals);
        for (place, event) in events.enumerate() {
            text.push_str(if place == 0 { "\n" } else { ",\n" });
            text.push_str(&event);
        }
        text.push_str("\n]}\n");
        text
    }
}

/// Which ranks of which world these are, for those who merge the traces of its processes.
fn about(part: &WorldPart, ranks: usize) -> String {
    format!(
        ",\"world\":\"{:016x}\",\"process\":{},\"processes\":{},\"first_rank\":{},\"ranks\":{ranks}",
        part.world, part.process, part.processes, part.ranks.start,
    )
}

fn thread(pid: usize, rank: Rank) -> String {
    format!(
        "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{rank},\"args\":{{\"name\":\"rank {rank}\"}}}}"
    )
}

/// A call; one that has not ended lasts as long as the trace.
fn slice(pid: usize, call: &TracedCall, end: Duration) -> String {
    let lasts = call.end.unwrap_or(end).saturating_sub(call.begin);
    let name = call.call.split('(').next().unwrap_or(&call.call);
    format!(
        "{{\"ph\":\"X\",\"name\":{},\"cat\":\"call\",\"pid\":{pid},\"tid\":{},\"ts\":{},\"dur\":{},\
         \"args\":{{\"call\":{},\"at\":{},\"ended\":{},\"failed\":{}}}}}",
        Quoted(name),
        call.rank,
        Micros(call.begin),
        Micros(lasts),
        Quoted(&call.call),
        Quoted(&call.site.to_string()),
        call.end.is_some(),
        call.failed,
    )
}

/// The send of a message, and its receive if it was received.
fn flow(id: usize, message: &TracedMessage, trace: &Trace) -> Vec<String> {
    let name = match message.tag {
        Some(tag) => format!("tag {tag}"),
        None => trace.calls[message.sent_in].call.clone(),
    };
    let pid = trace.part.as_ref().map_or(0, |part| part.process);
    let leaves = |part: &WorldPart| !part.ranks.contains(&message.to);
    let leaves = trace.part.as_ref().is_some_and(leaves);
    let key = trace.keys[id].filter(|_| leaves);
    let key = key.map_or_else(String::new, key_of);
    let end = |phase: &str, rank: Rank, time: Duration| {
        format!(
            "{{\"ph\":\"{phase}\",\"bp\":\"e\",\"id\":{id},\"name\":{},\"cat\":\"message\",\"pid\":{pid},\
             \"tid\":{rank},\"ts\":{},\"args\":{{\"from\":{},\"to\":{},\"bytes\":{}{key}}}}}",
            Quoted(&name),
            Micros(time),
            message.from,
            message.to,
            message.bytes,
        )
    };
    let sent = end("s", message.from, message.sent);
    let received = message.received.map(|time| end("f", message.to, time));
    [Some(sent), received].into_iter().flatten().collect()
}

/// By what the two ends of a message are found to belong together: those of one key, in the order of each end.
fn key_of((context, _, _, tag): MessageKey) -> String {
    format!(",\"key\":[{context},{tag}]")
}

/// The receive of a message from another process: half an arrow, which viewers leave out.
fn arrives(pid: usize, arrival: &Arrival) -> String {
    let (_, from, to, _) = arrival.key;
    format!(
        "{{\"ph\":\"f\",\"bp\":\"e\",\"id\":\"arrival\",\"name\":\"message\",\"cat\":\"message\",\"pid\":{pid},\
         \"tid\":{to},\"ts\":{},\"args\":{{\"from\":{from},\"to\":{to}{}}}}}",
        Micros(arrival.received),
        key_of(arrival.key),
    )
}

/// Microseconds, to the nanosecond.
struct Micros(Duration);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:03}", nanos / 1000, nanos % 1000)
    }
}

/// A string in JSON syntax.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                _ if letter.is_control() => write!(f, "\\u{:04x}", letter as u32)?,
                _ => f.write_char(letter)?,
            }
        }
        f.write_char('"')
    }
}
