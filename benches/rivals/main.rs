//! The Rust side of the comparison with other libraries, see README.md in this folder: rankfold itself, and what a Rust
//! program could use in its place. `run` in this folder drives it.
//!
//! ```text
//! rivals SUBJECT RANKS [CPUS]     reads points:     all_reduce_fresh 65536 40        (bytes a rank, milliseconds)
//!                                 answers each:     ok 9.3 8.8 12.1 960 1            (median, min, p99 in us, samples, batch)
//! rivals --test                   every subject and operation once, tiny
//! ```
//!
//! - `op` names, `vector` and `values` inputs and expected results, `place` CPUs
//! - `clock` how a point is timed
//! - `ours` rankfold; `threads` plain threads, used by `barriers`, `channel` and `floor`; `pool` rayon

mod barriers;
mod channel;
mod clock;
mod floor;
mod op;
mod ours;
mod place;
mod pool;
mod threads;
mod values;
mod vector;

use std::env;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use clock::Figures;
use op::Op;
use place::Place;

/// A library or primitive to be timed: what it offers, and a function that times a point.
struct Subject {
    name: &'static str,
    offers: fn(Op) -> bool,
    point: fn(&Place, Op, usize, Duration) -> Option<Figures>,
}

const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "rankfold",
        offers: ours::offers,
        point: ours::point,
    },
    Subject {
        name: "std",
        offers: barriers::offers,
        point: barriers::standard,
    },
    Subject {
        name: "spin",
        offers: barriers::offers,
        point: barriers::spinning,
    },
    Subject {
        name: "crossbeam",
        offers: channel::offers,
        point: channel::point,
    },
    Subject {
        name: "rayon",
        offers: pool::offers,
        point: pool::point,
    },
    Subject {
        name: "floor",
        offers: floor::offers,
        point: floor::point,
    },
];

/// A point as requested.
struct Question {
    op: Op,
    bytes: usize,
    budget: Duration,
}

impl Question {
    fn parse(line: &str) -> Result<Question, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [op, bytes, budget] = words[..] else {
            return Err(format!("not `operation bytes milliseconds`: `{line}`"));
        };
        let number = |text: &str| text.parse().map_err(|_| format!("not a number: `{text}`"));
        Ok(Question {
            op: op.parse()?,
            bytes: number(bytes)? as usize,
            budget: Duration::from_millis(number(budget)?),
        })
    }
}

/// Returns the line for one point.
fn answer(subject: &Subject, place: &Place, question: &Question) -> String {
    let Question { op, bytes, budget } = *question;
    if !(subject.offers)(op) || op.is_too_short(bytes, place.ranks) {
        return "none".into();
    }
    match (subject.point)(place, op, bytes, budget) {
        Some(it) => format!(
            "ok {:.4} {:.4} {:.4} {} {}",
            it.median, it.min, it.p99, it.samples, it.batch
        ),
        None => "wrong".into(),
    }
}

fn converse(subject: &Subject, place: &Place) -> Result<(), String> {
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        println!("{}", answer(subject, place, &Question::parse(&line)?));
        io::stdout().flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Runs everything once, on two ranks and on three.
fn test() -> Result<(), String> {
    let mut points = 0;
    for (subject, ranks) in SUBJECTS.iter().flat_map(|one| [(one, 2), (one, 3)]) {
        let place = Place::new(ranks, Vec::new());
        for op in op::all() {
            let (bytes, budget) = (96, Duration::from_micros(200));
            let ask = |bytes| answer(subject, &place, &Question { op, bytes, budget });
            let answer = ask(bytes);
            if answer == "wrong" {
                return Err(format!("{} is wrong: {op:?}, {ranks} ranks", subject.name));
            }
            let one = 4;
            if op.is_too_short(one, ranks) && ask(one) != "none" {
                return Err(format!("{} moves nothing: {op:?}", subject.name));
            }
            points += usize::from(answer != "none");
        }
    }
    println!("{points} points answered right");
    Ok(())
}

/// Parses the arguments: `2 0,1`, or `16` for wherever the system puts them.
fn place(ranks: &str, cpus: &str) -> Result<Place, String> {
    let number = |text: &str| {
        text.parse::<usize>()
            .map_err(|_| format!("not a number: `{text}`"))
    };
    let list = cpus.split(',').filter(|cpu| !cpu.is_empty());
    let (ranks, cpus) = (
        number(ranks)?,
        list.map(number).collect::<Result<Vec<_>, _>>()?,
    );
    if ranks < 2 || !(cpus.is_empty() || cpus.len() >= ranks) {
        return Err("at least two ranks, and a CPU for each if there are any".into());
    }
    Ok(Place::new(ranks, cpus))
}

fn serve(name: &str, ranks: &str, cpus: &str) -> Result<(), String> {
    let subject = SUBJECTS.iter().find(|one| one.name == name);
    let subject = subject.ok_or_else(|| format!("no subject is called `{name}`"))?;
    converse(subject, &place(ranks, cpus)?)
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--test"] => test(),
        [name, ranks] => serve(name, ranks, ""),
        [name, ranks, cpus] => serve(name, ranks, cpus),
        _ => {
            println!("driven by benches/rivals/run; by itself: --test, or SUBJECT RANKS [CPUS]");
            return ExitCode::SUCCESS;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
