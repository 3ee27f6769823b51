//! The origins of values: whose contributions each element of each rank is folded from, before and after every step.

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

/// The ranks whose contributions a value is folded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    /// One bit a rank; there are at most as many ranks as bits.
    ranks: u128,
    /// Whether some contribution is in it twice.
    twice: bool,
}

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
        let all: Vec<Rank> = (0..ranks)
            .filter(|&rank| self.ranks >> rank & 1 == 1)
            .collect();
        let doubt = if self.twice { "!" } else { "" };
        match all.len() {
            n if n == ranks && n > 1 => format!("R{doubt}"),
            ..=4 => dotted(all.iter().map(|rank| rank.to_string())) + doubt,
            _ => dotted(all.chunk_by(|a, b| a + 1 == *b).map(run)) + doubt,
        }
    }
}

fn dotted(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(".")
}

fn run(ranks: &[Rank]) -> String {
    match ranks {
        [one] => one.to_string(),
        _ => format!("{}-{}", ranks[0], ranks[ranks.len() - 1]),
    }
}

/// Something about every element of one rank, by buffer.
#[derive(Clone)]
struct Elements<T>([Vec<T>; 3]);

impl<T: Copy> Elements<T> {
    fn new(lengths: Lengths, value: T) -> Elements<T> {
        Elements(
            [Buffer::Input, Buffer::Output, Buffer::Scratch].map(|b| vec![value; lengths.of(b)]),
        )
    }

    fn at(&self, buffer: Buffer) -> &[T] {
        &self.0[buffer as usize]
    }

    fn read(&self, region: Region) -> Vec<T> {
        let held = self.at(region.buffer);
        let places = region.runs().flatten();
        places.filter_map(|at| held.get(at).copied()).collect()
    }

    fn change(&mut self, region: Region, mut change: impl FnMut(usize, &mut T)) {
        let held = &mut self.0[region.buffer as usize];
        for (number, at) in region.runs().flatten().enumerate() {
            if let Some(element) = held.get_mut(at) {
                change(number, element);
            }
        }
    }

    fn fill(&mut self, region: Region, value: T) {
        self.change(region, |_, element| *element = value);
    }
}

impl Elements<Origin> {
    fn arrive(&mut self, region: Region, combine: Combine, values: &[Origin]) {
        self.change(region, |number, held| {
            if let Some(&value) = values.get(number) {
                *held = match combine {
                    Combine::Replace => value,
                    _ => held.with(value),
                };
            }
        });
    }
}

impl Elements<bool> {
    /// From the elements that are read after an arrival to those that are read before it or by it.
    fn before(&mut self, region: Region, combine: Combine) {
        self.fill(region, combine != Combine::Replace);
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
        let moments = values.iter().zip(&live).map(|(values, live)| {
            let both = values.iter().zip(live);
            both.map(|(values, live)| held(values, live, traffic.ranks))
                .collect()
        });
        let moments = moments.collect();
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
fn forwards(traffic: &Traffic, lengths: &[Lengths]) -> Vec<Vec<Elements<Origin>>> {
    let start = lengths
        .iter()
        .enumerate()
        .map(|(rank, &all)| Elements::new(all, Origin::of(rank)));
    let mut now: Vec<_> = start.collect();
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
fn backwards(traffic: &Traffic, lengths: &[Lengths]) -> Vec<Vec<Elements<bool>>> {
    let end = lengths.iter().map(|&all| {
        let mut live = Elements::new(all, false);
        live.fill(Region::output(0..all.output), true);
        live
    });
    let mut moments = vec![end.collect::<Vec<_>>()];
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
fn undo(live: &mut Elements<bool>, step: &Step) {
    if let Some(recv) = step.recv {
        live.before(recv.region, step.combine);
    }
    if let Some(send) = step.send {
        live.fill(send.region, true);
    }
    if let Some(copy) = step.local {
        live.before(copy.to, copy.combine);
        live.fill(copy.from, true);
    }
}

fn held(values: &Elements<Origin>, live: &Elements<bool>, ranks: usize) -> Held {
    let of = |buffer: Buffer| {
        let (values, live) = (values.at(buffer), live.at(buffer));
        let shown = values
            .iter()
            .zip(live)
            .map(|(value, live)| live.then_some(*value));
        let shown: Vec<Option<Origin>> = shown.collect();
        let any = shown.iter().any(Option::is_some);
        (any || buffer == Buffer::Output && !shown.is_empty())
            .then(|| (buffer, pieces(&shown, ranks)))
    };
    BUFFERS.into_iter().filter_map(of).collect()
}

fn pieces(shown: &[Option<Origin>], ranks: usize) -> Vec<Piece> {
    let short = shown.len() <= EACH;
    let runs = shown.chunk_by(|a, b| !short && a == b);
    let piece = |run: &[Option<Origin>]| Piece {
        label: run[0].map(|origin| origin.label(ranks)),
        elements: run.len(),
        share: run[0].map_or(0.0, |origin| {
            f64::from(origin.ranks.count_ones()) / ranks as f64
        }),
    };
    runs.map(piece).collect()
}
