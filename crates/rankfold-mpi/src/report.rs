//! What is printed about a run: the calls that went wrong by MPI's names, with the lines of the program.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use rankfold::error::{Deadlock, Mismatch, Stuck};
use rankfold::testing::ReceiveChoice;
use rankfold::{Lost, Outcome, Report};

use crate::error::{Collective, Failure};
use crate::{hidden, plan};

/// Where and why a call ended its rank.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub call: &'static str,
    /// The communicator, unless it is `MPI_COMM_WORLD`.
    pub on: Option<String>,
    /// The line of the program, if its debug information tells.
    pub place: Option<String>,
    pub failure: Failure,
}

impl Stop {
    fn at(&self) -> String {
        let on = self.on.iter().map(|on| format!(" on {on}"));
        let place = self.place.iter().map(|place| format!(" at {place}"));
        on.chain(place).collect()
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", self.call, self.at(), self.failure)
    }
}

/// What is known of the ranks of a run beside the report of the engine.
pub(crate) struct Known<'a> {
    pub stops: &'a BTreeMap<usize, Stop>,
    pub calls: Vec<&'static str>,
}

impl Known<'_> {
    /// The call of a rank, with the arguments that the engine tells of it.
    fn call(&self, rank: usize, engine: &str) -> String {
        let name = self
            .stops
            .get(&rank)
            .map_or(self.calls[rank], |stop| stop.call);
        let waited_for = self.stops.get(&rank).and_then(|it| it.failure.waited_for);
        let arguments = match waited_for {
            Some(collective) => of_collective(name, collective),
            None => arguments(engine),
        };
        // A collective that is made of messages: their ranks and tags are not the program's.
        let is_exchange = plan::CALLS.contains(&name.trim_end_matches("_c"))
            && ["from ", "to "].iter().any(|it| arguments.starts_with(it));
        if arguments.is_empty() || is_exchange {
            name.into()
        } else {
            format!("{name}({arguments})")
        }
    }

    fn place(&self, rank: usize) -> String {
        self.stops.get(&rank).map_or_else(String::new, Stop::at)
    }

    fn stuck(&self, stuck: &Stuck) -> String {
        let needs_buffer = "this send needs a buffer: its message has not been received";
        let buffer = stuck.needs_buffer.then_some(needs_buffer);
        let notes: Vec<&str> = buffer.into_iter().chain(stuck.note.as_deref()).collect();
        let notes = if notes.is_empty() {
            String::new()
        } else {
            format!("  <- {}", notes.join("; "))
        };
        let (call, place) = (self.call(stuck.rank, &stuck.call), self.place(stuck.rank));
        format!("\n  rank {}: {call}{place}{notes}", stuck.rank)
    }

    fn deadlock(&self, found: &Deadlock) -> String {
        let mut text = match found.others {
            0 => "deadlock: no rank can move".to_string(),
            others => format!(
                "deadlock: {} of {} ranks cannot move",
                found.stuck.len(),
                found.stuck.len() + others
            ),
        };
        text.extend(found.stuck.iter().map(|stuck| self.stuck(stuck)));
        if let Some(first) = found.cycle.first() {
            let around: Vec<String> = found
                .cycle
                .iter()
                .chain([first])
                .map(ToString::to_string)
                .collect();
            let _ = write!(text, "\n  each waits for the next: {}", around.join(" -> "));
        }
        text
    }

    fn mismatch(&self, found: &Mismatch) -> String {
        let mut text = "mismatch: the ranks are in different collective calls".to_string();
        for called in &found.calls {
            let odd = if found.odd.contains(&called.rank) {
                "  <- differs from the others"
            } else {
                ""
            };
            let (call, place) = (
                self.call(called.rank, &called.call),
                self.place(called.rank),
            );
            let _ = write!(text, "\n  rank {}: {call}{place}{odd}", called.rank);
        }
        text
    }
}

/// What a call waits for, a collective: its name, unless it is the call itself, and its root.
fn of_collective(name: &str, Collective { call, root }: Collective) -> String {
    let call = (call != name).then(|| call.to_string());
    let root = root.map(|root| format!("root {root}"));
    let parts: Vec<String> = call.into_iter().chain(root).collect();
    parts.join(", ")
}

/// What the engine calls elements and operators, and what MPI does.
const NAMES: [(&str, &str); 14] = [
    ("i8", "MPI_INT8_T"),
    ("i16", "MPI_SHORT"),
    ("i32", "MPI_INT"),
    ("i64", "MPI_INT64_T"),
    ("u8", "MPI_UINT8_T"),
    ("u16", "MPI_UNSIGNED_SHORT"),
    ("u32", "MPI_UNSIGNED"),
    ("u64", "MPI_UINT64_T"),
    ("f32", "MPI_FLOAT"),
    ("f64", "MPI_DOUBLE"),
    ("Sum", "MPI_SUM"),
    ("Product", "MPI_PROD"),
    ("Min", "MPI_MIN"),
    ("Max", "MPI_MAX"),
];

/// One argument of a call of the engine in MPI's names; `None` if it means nothing to the program, as bytes do.
fn argument(part: &str) -> Option<String> {
    let known = ["from ", "to ", "tag ", "root "];
    if known.iter().any(|start| part.starts_with(start)) {
        return Some(part.into());
    }
    // The locked part of a window.
    if let Some(rank) = part.strip_prefix("part ") {
        return Some(format!("rank {rank}"));
    }
    let (number, name) = part
        .split_once(" x ")
        .map_or(("", part), |(number, name)| (number, name));
    let (_, name) = NAMES
        .iter()
        .find(|(engine, _)| *engine == name.trim_start_matches("op::"))?;
    Some(if number.is_empty() {
        name.to_string()
    } else {
        format!("{number} x {name}")
    })
}

/// What is in parentheses in a text, but not within others.
fn groups(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut groups) = (0usize, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => {
                start = if depth == 0 { at + 1 } else { start };
                depth += 1;
            }
            ')' if depth == 1 => {
                groups.push(&text[start..at]);
                depth = 0;
            }
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    groups
}

/// The arguments of a call of the engine that mean something to the program; those of each request of a wait for several.
pub(crate) fn arguments(call: &str) -> String {
    let of_one = |group: &str| {
        let known: Vec<String> = group.split(", ").filter_map(argument).collect();
        known.join(", ")
    };
    let all = groups(call).into_iter().map(of_one);
    // Of many requests the engine lists a few, and says how many more there are.
    let more = call
        .rsplit_once(" and ")
        .filter(|(_, more)| more.ends_with(" more"));
    let more = more.map(|(_, more)| format!("and {more}"));
    let all = all.filter(|it| !it.is_empty()).chain(more);
    all.collect::<Vec<_>>().join("; ")
}

/// Calls of the engine that are one call of MPI each. Collectives that move data are not: many calls are made of them.
const CALLS: [(&str, &str); 16] = [
    ("send", "MPI_Send"),
    ("ssend", "MPI_Ssend"),
    ("isend", "MPI_Isend"),
    ("issend", "MPI_Issend"),
    ("recv", "MPI_Recv"),
    ("recv_into", "MPI_Recv"),
    ("irecv", "MPI_Irecv"),
    ("probe", "MPI_Probe"),
    ("iprobe", "MPI_Iprobe"),
    ("probe_matched", "MPI_Mprobe"),
    ("iprobe_matched", "MPI_Improbe"),
    ("all_reduce", "MPI_Allreduce"),
    ("wait", "MPI_Wait"),
    ("wait for irecv", "MPI_Wait"),
    ("test of irecv", "MPI_Test"),
    ("wait_any", "MPI_Waitany"),
];

/// A call of the engine by MPI's name, if it has one, with the arguments that mean something to the program.
pub(crate) fn in_mpi(call: &str) -> String {
    let verb = call.split('(').next().unwrap_or(call);
    let name = CALLS.iter().find(|(engine, _)| *engine == verb);
    let name = name.map_or(verb, |(_, name)| name);
    match arguments(call) {
        arguments if arguments.is_empty() => name.into(),
        arguments => format!("{name}({arguments})"),
    }
}

/// A choice of an exploration, in a line.
pub(crate) fn choice(choice: &ReceiveChoice) -> String {
    let call = in_mpi(&choice.call);
    format!("\n  rank {}: {call} {}", choice.rank, choice.outcome())
}

/// The outcome of a rank that did not end well, in one line.
fn ended(rank: usize, outcome: &Outcome<(), String>) -> Option<String> {
    match outcome {
        Outcome::Returned(()) => None,
        Outcome::Failed(text) => Some(format!("rank {rank}: {text}")),
        Outcome::Panicked { message, .. } => Some(format!("rank {rank} panicked: {message}")),
        other => Some(format!("rank {rank} {other}")),
    }
}

/// Ranks that ended in a deadlock or a mismatch, which the tables show.
fn in_tables(report: &Report<(), String>) -> Vec<usize> {
    let stuck = report
        .deadlocks
        .iter()
        .flat_map(|found| found.stuck.iter().map(|it| it.rank));
    let called = report
        .mismatch
        .iter()
        .flat_map(|found| found.calls.iter().map(|it| it.rank));
    stuck.chain(called).collect()
}

/// Why a run failed; `None` if it did not.
pub(crate) fn failure(report: &Report<(), String>, known: &Known<'_>) -> Option<String> {
    let well = report
        .outcomes
        .iter()
        .all(|it| matches!(it, Outcome::Returned(())));
    if well && report.mismatch.is_none() {
        return None;
    }
    let mut parts: Vec<String> = report
        .deadlocks
        .iter()
        .map(|found| known.deadlock(found))
        .collect();
    parts.extend(report.mismatch.iter().map(|found| known.mismatch(found)));
    let shown = in_tables(report);
    let mut rest: Vec<usize> = (0..report.outcomes.len())
        .filter(|rank| !shown.contains(rank))
        .collect();
    // The first culprit comes first.
    rest.sort_by_key(|rank| Some(*rank) != report.culprit);
    parts.extend(
        rest.into_iter()
            .filter_map(|rank| ended(rank, &report.outcomes[rank])),
    );
    if let Some(culprit) = report.culprit {
        parts.push(format!("the first culprit is rank {culprit}"));
    }
    parts.extend(
        report
            .seed
            .map(|seed| format!("seed {seed} repeats this run")),
    );
    Some(parts.join("\n"))
}

fn lost(it: &Lost) -> String {
    let bytes: Option<usize> = it
        .contents
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    let bytes = bytes.map_or_else(String::new, |bytes| format!(" of {bytes} bytes"));
    format!(
        "rank {} sent a message{bytes} to rank {} with tag {} that was never received",
        it.from, it.to, it.tag
    )
}

/// What a run left behind.
pub(crate) fn left(report: &Report<(), String>) -> impl Iterator<Item = String> {
    const SHOWN: usize = 8;
    let of_the_program = || report.lost.iter().filter(|it| !hidden::has(it));
    let more = of_the_program()
        .count()
        .checked_sub(SHOWN + 1)
        .map(|more| format!("and {} further messages", more + 1));
    of_the_program().take(SHOWN).map(lost).chain(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_call_of_the_engine_only_ranks_tags_and_roots_are_told() {
        assert_eq!(arguments("recv_into(from 2, tag any)"), "from 2, tag any");
        assert_eq!(
            arguments("broadcast(root 0, 12 x rankfold_mpi::memory::Byte)"),
            "root 0"
        );
        assert_eq!(arguments("send(to 1, tag 0)"), "to 1, tag 0");
        assert_eq!(arguments("barrier"), "");
        assert_eq!(
            arguments("wait_any irecv(from any, tag 0) of line 4, irecv(from 1, tag 2) of line 5"),
            "from any, tag 0; from 1, tag 2"
        );
        assert_eq!(
            arguments("wait_any irecv(from 1, tag 0) of line 4 and 12 more"),
            "from 1, tag 0; and 12 more"
        );
        assert_eq!(arguments("lock_exclusive(part 1)"), "rank 1");
        assert_eq!(
            arguments("all_reduce(3 x f64, Max)"),
            "3 x MPI_DOUBLE, MPI_MAX"
        );
        assert_eq!(
            in_mpi("recv_into(from any, tag 3)"),
            "MPI_Recv(from any, tag 3)"
        );
        assert_eq!(in_mpi("ibarrier"), "ibarrier");
        assert_eq!(
            in_mpi("test of irecv(from any, tag any)"),
            "MPI_Test(from any, tag any)"
        );
    }
}
