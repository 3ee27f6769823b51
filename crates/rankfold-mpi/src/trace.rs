//! The trace of a run, for Perfetto: the engine's calls with the calls of MPI that they are made for, and their lines.
//!
//! The engine records calls with lines of this library. Each rank of a traced run notes when it enters a call of MPI and
//! from where, and makes a call of the engine then that marks the place in the record: what follows until the next mark
//! belongs to it. Marks are left out of the file.

use std::backtrace::Backtrace;
use std::fs;
use std::path::Path;

use rankfold::{Report, Source, Tag, Trace, TracedCall};

use crate::failed::Failed;
use crate::hidden;
use crate::launch::Shared;
use crate::line;
use crate::rank::Rank;
use crate::report;

/// A call of MPI that a rank entered.
pub(crate) struct Entered {
    call: &'static str,
    from: Backtrace,
}

/// Notes that a rank enters a call.
#[cold]
pub(crate) fn enter(rank: &Rank, call: &'static str) {
    let from = Backtrace::force_capture();
    let marked = rank.alone.hidden.iprobe(Source::Rank(0), Tag::Is(0));
    if marked.is_ok() {
        rank.entered.borrow_mut().push(Entered { call, from });
    }
}

/// What is printed of a call of the engine.
enum Printed {
    Mark,
    /// With the line of the program, if it is known.
    Call(Option<String>),
}

/// Marks are the only calls that this file makes.
fn is_mark(call: &TracedCall) -> bool {
    call.site.file() == file!()
}

/// Gives the calls of the engine the names of those of MPI, and tells their lines.
fn name(trace: &mut Trace, entered: &[Vec<Entered>]) -> Vec<Printed> {
    let mut lines: Vec<Vec<Option<String>>> = Vec::new();
    for rank in entered {
        lines.push(rank.iter().map(|it| line::in_backtrace(&it.from)).collect());
    }
    let mut marks = vec![0usize; trace.ranks];
    let mut all = Vec::with_capacity(trace.calls.len());
    for call in &mut trace.calls {
        let rank = call.rank;
        if is_mark(call) {
            marks[rank] += 1;
            all.push(Printed::Mark);
            continue;
        }
        // Before the first mark the rank sets itself up, which the program does by its first call.
        let at = marks[rank].saturating_sub(1);
        let Some(of) = entered[rank].get(at) else {
            call.call = report::in_mpi(&call.call);
            all.push(Printed::Call(None));
            continue;
        };
        call.call = match report::arguments(&call.call) {
            arguments if arguments.is_empty() || hidden::made(call) => of.call.into(),
            arguments => format!("{}({arguments})", of.call),
        };
        all.push(Printed::Call(lines[rank][at].clone()));
    }
    all
}

/// Writes the trace of a run.
pub(crate) fn write(
    report: &Report<(), String>,
    shared: &Shared,
    file: &Path,
) -> Result<(), Failed> {
    let Some(mut trace) = report.trace() else {
        return Ok(());
    };
    let printed = name(&mut trace, &shared.entered());
    let sites: Vec<String> = trace.calls.iter().map(|it| it.site.to_string()).collect();
    let text = text(&trace.to_perfetto(), trace.ranks, &sites, &printed);
    let failed = |error| format!("the trace cannot be written: {}: {error}", file.display());
    fs::write(file, text).map_err(|error| Failed::new(failed(error)))
}

/// The text of a trace with the program's lines, and without marks: after a line for the trace and one for each rank comes
/// one for each call.
fn text(text: &str, ranks: usize, sites: &[String], printed: &[Printed]) -> String {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let events: Vec<&str> = lines.filter(|line| *line != "]}").collect();
    let mut all = Vec::with_capacity(events.len());
    for (nth, event) in events.into_iter().enumerate() {
        let event = event.trim_end_matches(',');
        let call = nth.checked_sub(ranks);
        match call.and_then(|call| Some((sites.get(call)?, printed.get(call)?))) {
            Some((_, Printed::Mark)) => {}
            Some((site, Printed::Call(Some(place)))) => {
                let (from, to) = (format!("\"at\":{site:?}"), format!("\"at\":{place:?}"));
                all.push(event.replacen(&from, &to, 1));
            }
            _ => all.push(event.into()),
        }
    }
    format!("{head}\n{}\n]}}\n", all.join(",\n"))
}
