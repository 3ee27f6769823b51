//! The limits of the machine: cache lines handed over and memory moved, with nothing around it.
//!
//! ```text
//! line_hand       0 ══▶ 1 ══▶ 0      one line that both write; half of the round trip
//! line_exchange   0 ⇄ 1              a line each: write your own, wait for the other's
//! line_meet       0 ┃ 1 ┃ …          a line that all ranks count up
//! copy            every rank: its output = its input
//! add             every rank: a third vector = output + input
//! accumulate      every rank: its output += its input
//! fetch_fresh     every rank: its output = what its neighbour has just written
//! ```

use std::hint::black_box;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use super::barriers;
use super::clock::{Figures, Member};
use super::op::{Kind, Op};
use super::place::Place;
use super::threads;
use super::values;
use super::vector::Vector;

pub fn offers(op: Op) -> bool {
    match op.kind {
        Kind::LineHand | Kind::LineExchange | Kind::LineMeet => op.plain(),
        Kind::Copy | Kind::Add | Kind::Accumulate => op.plain(),
        Kind::Fetch => op.fresh(),
        _ => false,
    }
}

pub fn point(place: &Place, op: Op, bytes: usize, budget: Duration) -> Option<Figures> {
    match op.kind {
        Kind::LineHand | Kind::LineExchange => lines(place, op, budget),
        Kind::LineMeet => barriers::spinning(place, op, bytes, budget),
        Kind::Fetch => fetch(place, op, bytes, budget),
        _ => moves(place, op, bytes, budget),
    }
}

/// One side of two that hand lines over. Further ranks have no lines.
struct Side<'l> {
    rank: usize,
    mine: &'l AtomicU64,
    other: &'l AtomicU64,
    one: bool,
    time: u64,
    wait: fn(),
}

fn lines(place: &Place, op: Op, budget: Duration) -> Option<Figures> {
    let lines: [CachePadded<AtomicU64>; 2] = Default::default();
    let one = op.kind == Kind::LineHand;
    threads::point(place, op, budget, |rank| Side {
        rank,
        mine: &lines[if one { 0 } else { rank % 2 }],
        other: &lines[if one { 0 } else { (rank + 1) % 2 }],
        one,
        time: 0,
        wait: threads::waiting(place),
    })
}

impl Side<'_> {
    fn until(&self, number: u64) {
        // Acquire: makes visible what the other thread wrote before its Release store of the number.
        while self.other.load(Ordering::Acquire) < number {
            (self.wait)();
        }
    }

    /// Odd numbers go there, even ones come back.
    fn hand(&mut self) {
        let there = 2 * self.time - 1;
        if self.rank == 0 {
            self.mine.store(there, Ordering::Release);
            self.until(there + 1);
        } else {
            self.until(there);
            self.mine.store(there + 1, Ordering::Release);
        }
    }

    fn exchange(&mut self) {
        self.mine.store(self.time, Ordering::Release);
        self.until(self.time);
    }
}

impl Member for Side<'_> {
    #[inline]
    fn call(&mut self) {
        self.time += 1;
        match self.rank {
            0 | 1 if self.one => self.hand(),
            0 | 1 => self.exchange(),
            _ => {}
        }
    }
}

/// A rank that works on its own memory.
struct Mover {
    kind: Kind,
    input: Vector,
    output: Vector,
    third: Vector,
}

fn moves(place: &Place, op: Op, bytes: usize, budget: Duration) -> Option<Figures> {
    let (len, _) = op.elements(bytes, place.ranks);
    threads::point(place, op, budget, |_| Mover {
        kind: op.kind,
        input: Vector::new(len),
        output: Vector::new(len),
        third: Vector::new(len),
    })
}

impl Member for Mover {
    fn call(&mut self) {
        let Mover {
            kind,
            input,
            output,
            third,
        } = self;
        match kind {
            Kind::Copy => output.copy_from_slice(input),
            Kind::Add => add(third, output, input),
            _ => output
                .iter_mut()
                .zip(input.iter())
                .for_each(|(to, x)| *to += x),
        }
        black_box((output, third));
    }
}

fn add(sum: &mut [f32], left: &[f32], right: &[f32]) {
    for ((sum, left), right) in sum.iter_mut().zip(left).zip(right) {
        *sum = left + right;
    }
}

/// A rank that copies its neighbour's vector. Each rank has two vectors, for even and for odd calls, so that a rank
/// that is one call ahead does not overwrite what is being read.
struct Fetcher<'v> {
    rank: usize,
    vectors: &'v [[RwLock<Vector>; 2]],
    output: Vector,
    filled: usize,
}

fn fetch(place: &Place, op: Op, bytes: usize, budget: Duration) -> Option<Figures> {
    let (len, _) = op.elements(bytes, place.ranks);
    let vectors: Vec<_> = (0..place.ranks)
        .map(|_| [(); 2].map(|()| RwLock::new(Vector::new(len))))
        .collect();
    threads::point(place, op, budget, |rank| Fetcher {
        rank,
        vectors: &vectors,
        output: Vector::new(len),
        filled: 0,
    })
}

impl Fetcher<'_> {
    fn neighbour(&self) -> usize {
        (self.rank + 1) % self.vectors.len()
    }
}

impl Member for Fetcher<'_> {
    fn call(&mut self) {
        let from = self.vectors[self.neighbour()][self.filled % 2]
            .read()
            .expect("nobody panicked");
        self.output.copy_from_slice(&from);
    }

    fn fill(&mut self, call: usize) {
        self.filled = call;
        let mut mine = self.vectors[self.rank][call % 2]
            .write()
            .expect("nobody panicked");
        values::fill(&mut mine, self.rank, call);
    }

    fn right(&mut self) -> bool {
        values::is_vector_of(&self.output, self.neighbour(), self.filled)
    }
}
