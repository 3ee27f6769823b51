//! The origins of values: whose contributions each element of each rank is folded from, before and after every step.

use std::fmt::Write;
use std::ops::Range;

use super::limit::{self, TooLarge};
use super::traffic::{Traffic, count};
use crate::Rank;
use crate::schedule::{Buffer, Combine, Lengths, Region, Schedule, Step, Transfer};

/// Meaning of the labels.
pub(super) const LABELS: &str =
    "0.1: folded from ranks 0 and 1; R: from all; ·: replaced before it is read";

/// Buffers with at most this many elements show each; longer ones show runs of equal origins.
const EACH: usize = 8;

const BUFFERS: [Buffer; 3] = [Buffer::Output, Buffer::Input, Buffer::Scratch];

/// The ranks whose contributions a value is folded from. Where only matters whether a value is read, one that is read has
/// some rank, and one that is not has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    /// One bit a rank; there are at most as many ranks as bits.
    ranks: u128,
    /// Whether some contribution is in it twice.
    twice: bool,
}

const READ: Origin = Origin {
    ranks: 1,
    twice: false,
};

const NOT_READ: Origin = Origin {
    ranks: 0,
    twice: false,
};

impl Origin {
    fn of(rank: Rank) -> Origin {
        Origin {
            ranks: 1 << rank,
            twice: false,
        }
    }

    fn with(self, other: Origin) -> Origin {
        Origin {
            ranks: self.ranks | other.ranks,
            twice: self.twice || other.twice || self.ranks & other.ranks != 0,
        }
    }

    /// Writes `0.1`, `0-7.9`, or `R` for all ranks; a contribution that is in it twice is an error, marked `!`.
    fn label(self, ranks: usize) -> String {
        let count = self.ranks.count_ones() as usize;
        let mut label = match count {
            n if n == ranks && n > 1 => "R".to_owned(),
            _ => dotted(self.ranks, count > 4),
        };
        if self.twice {
            label.push('!');
        }
        label
    }
}

/// Writes the ranks of a set of bits, if wanted with runs as their first and their last rank.
fn dotted(mut ranks: u128, in_runs: bool) -> String {
    let mut text = String::new();
    while ranks != 0 {
        let first = ranks.trailing_zeros();
        let length = match in_runs {
            true => (ranks >> first).trailing_ones(),
            false => 1,
        };
        let dot = if text.is_empty() { "" } else { "." };
        // Writing to a string cannot fail.
        let _ = write!(text, "{dot}{first}");
        if length > 1 {
            let _ = write!(text, "-{}", first + length - 1);
        }
        let run = u128::MAX >> (u128::BITS - length) << first;
        ranks &= !run;
    }
    text
}

/// The runs of a region that begin inside a buffer of this length. In a schedule with errors, a region may have more
/// runs than any buffer has elements; then those that are the same are visited once.
fn runs_within(region: Region, length: usize) -> impl Iterator<Item = Range<usize>> {
    let most = if region.stride == 0 { 1 } else { usize::MAX };
    region
        .runs()
        .take(most)
        .take_while(move |run| run.start < length)
}

/// What is known of every element of one rank, by buffer.
#[derive(Clone)]
struct Elements([Vec<Origin>; 3]);

impl Elements {
    fn new(lengths: Lengths, value: Origin) -> Elements {
        let held = |buffer| vec![value; lengths.of(buffer)];
        Elements([
            held(Buffer::Input),
            held(Buffer::Output),
            held(Buffer::Scratch),
        ])
    }

    fn at(&self, buffer: Buffer) -> &[Origin] {
        &self.0[buffer as usize]
    }

    fn read(&self, region: Region) -> Vec<Origin> {
        let held = self.at(region.buffer);
        let mut read = Vec::new();
        for run in runs_within(region, held.len()) {
            read.extend_from_slice(&held[run.start..run.end.min(held.len())]);
        }
        read
    }

    fn change(&mut self, region: Region, change: &mut dyn FnMut(usize, &mut Origin)) {
        let held = &mut self.0[region.buffer as usize];
        let mut number = 0_usize;
        for run in runs_within(region, held.len()) {
            let (length, end) = (run.len(), run.end.min(held.len()));
            let inside = &mut held[run.start..end];
            for (at, element) in inside.iter_mut().enumerate() {
                change(number + at, element);
            }
            number = number.saturating_add(length);
        }
    }

    fn fill(&mut self, region: Region, value: Origin) {
        self.change(region, &mut |_, element| *element = value);
    }

    fn arrive(&mut self, region: Region, combine: Combine, values: &[Origin]) {
        self.change(region, &mut |number, held| {
            if let Some(&value) = values.get(number) {
                *held = match combine {
                    Combine::Replace => value,
                    _ => held.with(value),
                };
            }
        });
    }

    /// From the elements that are read after an arrival to those that are read before it or by it.
    fn before(&mut self, region: Region, combine: Combine) {
        let read = match combine {
            Combine::Replace => NOT_READ,
            _ => READ,
        };
        self.fill(region, read);
    }
}

/// The labels of a rank at one moment: for each of its buffers, pieces of elements.
pub(super) type Held = Vec<(Buffer, Vec<Piece>)>;

/// Neighbours of one origin.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    /// `None`: the elements are replaced before they are read.
    pub label: Option<String>,
    pub elements: usize,
    /// The share of all ranks in it, from 0 to 1.
    pub share: f64,
}

impl Piece {
    /// Writes `0.1`, or `0.1×16` for several elements.
    pub fn text(&self) -> String {
        let label = self.label.as_deref().unwrap_or("·");
        match self.elements {
            1 => label.to_owned(),
            n => format!("{label}×{n}"),
        }
    }
}

/// A schedule with the origins of all values.
pub(super) struct Origins {
    pub traffic: Traffic,
    /// By moment, the first before step 0, and then by rank.
    pub moments: Vec<Vec<Held>>,
}

impl Origins {
    pub fn read(title: &str, schedule: &dyn Schedule) -> Result<Origins, TooLarge> {
        let traffic = Traffic::read(title, schedule, 0..schedule.steps())?;
        let lengths: Vec<Lengths> = (0..traffic.ranks)
            .map(|rank| schedule.lengths(rank))
            .collect();
        limit::origins(&lengths, traffic.steps.len() + 1)?;
        let values = forwards(&traffic, &lengths);
        let live = backwards(&traffic, &lengths);
        let mut moments = Vec::new();
        for (values, live) in values.iter().zip(&live) {
            let mut all = Vec::new();
            for (values, live) in values.iter().zip(live) {
                all.push(held(values, live, traffic.ranks));
            }
            moments.push(all);
        }
        Ok(Origins { traffic, moments })
    }

    /// Returns the title, and the numbers of ranks and steps.
    pub fn heading(&self) -> String {
        let Traffic {
            title,
            ranks,
            steps,
            ..
        } = &self.traffic;
        format!(
            "{title}: {}, {}; origins",
            count(*ranks, "rank"),
            count(steps.len(), "step")
        )
    }
}

/// What every rank holds before each step, and after the last.
fn forwards(traffic: &Traffic, lengths: &[Lengths]) -> Vec<Vec<Elements>> {
    let mut now = Vec::new();
    for (rank, &all) in lengths.iter().enumerate() {
        now.push(Elements::new(all, Origin::of(rank)));
    }
    let mut moments = vec![now.clone()];
    for step in traffic.steps.clone() {
        for (rank, held) in now.iter_mut().enumerate() {
            if let Some(copy) = traffic.step(rank, step).local {
                let values = held.read(copy.from);
                held.arrive(copy.to, copy.combine, &values);
            }
        }
        let before = now.clone();
        for (rank, held) in now.iter_mut().enumerate() {
            let Step { recv, combine, .. } = *traffic.step(rank, step);
            if let Some((recv, send)) = recv.and_then(|recv| matched(traffic, rank, step, recv)) {
                held.arrive(recv.region, combine, &before[recv.peer].read(send.region));
            }
        }
        moments.push(now.clone());
    }
    moments
}

/// A receive with its send.
fn matched(
    traffic: &Traffic,
    rank: Rank,
    step: usize,
    recv: Transfer,
) -> Option<(Transfer, Transfer)> {
    let sends = traffic.sends(&recv, rank, step);
    let send = traffic.step(recv.peer.min(traffic.ranks - 1), step).send;
    send.filter(|_| sends).map(|send| (recv, send))
}

/// Which elements are still read before they are replaced: before each step, and after the last, when outputs are.
fn backwards(traffic: &Traffic, lengths: &[Lengths]) -> Vec<Vec<Elements>> {
    let mut end = Vec::new();
    for &all in lengths {
        let mut live = Elements::new(all, NOT_READ);
        live.fill(Region::output(0..all.output), READ);
        end.push(live);
    }
    let mut moments = vec![end];
    for step in traffic.steps.clone().rev() {
        let mut now = moments[moments.len() - 1].clone();
        for (rank, live) in now.iter_mut().enumerate() {
            undo(live, traffic.step(rank, step));
        }
        moments.push(now);
    }
    moments.reverse();
    moments
}

/// From the elements that are read after a step to those that are read in it or after it.
fn undo(live: &mut Elements, step: &Step) {
    if let Some(recv) = step.recv {
        live.before(recv.region, step.combine);
    }
    if let Some(send) = step.send {
        live.fill(send.region, READ);
    }
    if let Some(copy) = step.local {
        live.before(copy.to, copy.combine);
        live.fill(copy.from, READ);
    }
}

fn held(values: &Elements, live: &Elements, ranks: usize) -> Held {
    let mut held = Vec::new();
    for buffer in BUFFERS {
        let (mut shown, mut any) = (Vec::new(), false);
        for (value, live) in values.at(buffer).iter().zip(live.at(buffer)) {
            let read = *live == READ;
            any |= read;
            shown.push(if read { *value } else { NOT_READ });
        }
        if any || buffer == Buffer::Output && !shown.is_empty() {
            held.push((buffer, pieces(&shown, ranks)));
        }
    }
    held
}

fn pieces(shown: &[Origin], ranks: usize) -> Vec<Piece> {
    let short = shown.len() <= EACH;
    let mut pieces = Vec::new();
    for run in shown.chunk_by(|a, b| !short && a == b) {
        let origin = run[0];
        pieces.push(Piece {
            label: (origin != NOT_READ).then(|| origin.label(ranks)),
            elements: run.len(),
            share: f64::from(origin.ranks.count_ones()) / ranks as f64,
        });
    }
    pieces
}
