//! A program that keeps the ranks' vectors in one place and lets rayon distribute the work.
//!
//! ```text
//! vectors   ▒▒▒▒│▒▒▒▒        one task for each share of all vectors;
//!           ▒▒▒▒│▒▒▒▒        the caller is a thread of the pool
//! ```
//!
//! Work moves between the threads, so no thread owns a vector, and there are no fresh or skewed variants.

use std::time::Duration;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::clock::{self, Figures, Member, Solo};
use super::op::{Kind, Op};
use super::place::Place;
use super::values;
use super::vector::Vector;

/// Shares begin at a multiple of this many elements: a cache line.
const LINE: usize = 16;

pub fn offers(op: Op) -> bool {
    use Kind::{AllReduce, AllReduceInplace, Reduce, Run};
    match op.kind {
        Run => op.sensible(),
        AllReduce | AllReduceInplace | Reduce => op.plain(),
        _ => false,
    }
}

/// A part of every vector.
struct Share<'v> {
    inputs: Vec<&'v mut [f32]>,
    outputs: Vec<&'v mut [f32]>,
}

struct Work<'v> {
    op: Op,
    ranks: usize,
    shares: Vec<Share<'v>>,
}

pub fn point(place: &Place, op: Op, bytes: usize, budget: Duration) -> Option<Figures> {
    let len = bytes / size_of::<f32>();
    let outputs = match op.kind {
        Kind::AllReduce => place.ranks,
        Kind::Reduce => 1,
        _ => 0,
    };
    let mut vectors = made(place.ranks, len);
    let mut results = made(outputs, len);
    let share = len.div_ceil(place.ranks).next_multiple_of(LINE);
    let mut shares: Vec<Share<'_>> = Vec::new();
    deal(&mut vectors, share, &mut shares, |share| &mut share.inputs);
    deal(&mut results, share, &mut shares, |share| &mut share.outputs);
    let mut work = Work {
        op,
        ranks: place.ranks,
        shares,
    };
    pool(place).install(|| clock::point(&Solo, &mut work, op, budget))
}

fn made(vectors: usize, len: usize) -> Vec<Vector> {
    (0..vectors).map(|_| Vector::new(len)).collect()
}

fn pool(place: &Place) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(place.ranks);
    let here = place.clone();
    let pool = builder
        .start_handler(move |thread| here.pin(thread))
        .build();
    pool.expect("there are threads")
}

/// Divides vectors into shares.
fn deal<'v>(
    vectors: &'v mut [Vector],
    len: usize,
    shares: &mut Vec<Share<'v>>,
    side: impl for<'s> Fn(&'s mut Share<'v>) -> &'s mut Vec<&'v mut [f32]>,
) {
    for vector in vectors {
        for (at, part) in vector.chunks_mut(len.max(1)).enumerate() {
            if shares.len() == at {
                shares.push(Share {
                    inputs: Vec::new(),
                    outputs: Vec::new(),
                });
            }
            side(&mut shares[at]).push(part);
        }
    }
}

fn accumulate(sum: &mut [f32], more: &[f32]) {
    sum.iter_mut().zip(more).for_each(|(sum, x)| *sum += x);
}

impl Share<'_> {
    fn fold(&mut self) {
        let [first, rest @ ..] = &mut self.inputs[..] else {
            return;
        };
        let [result, others @ ..] = &mut self.outputs[..] else {
            rest.iter().for_each(|input| accumulate(first, input));
            return rest
                .iter_mut()
                .for_each(|input| input.copy_from_slice(first));
        };
        let [second, rest @ ..] = rest else {
            return result.copy_from_slice(first);
        };
        for ((sum, left), right) in result.iter_mut().zip(&**first).zip(&**second) {
            *sum = left + right;
        }
        rest.iter().for_each(|input| accumulate(result, input));
        others
            .iter_mut()
            .for_each(|other| other.copy_from_slice(result));
    }

    /// Returns whether all results are right, for a share that begins at a multiple of [`LINE`].
    fn right(&self, op: Op, ranks: usize) -> bool {
        let results = if self.outputs.is_empty() {
            &self.inputs
        } else {
            &self.outputs
        };
        results
            .iter()
            .all(|got| values::right(op, got, 0, ranks, 1))
    }
}

impl Member for Work<'_> {
    fn call(&mut self) {
        match self.op.kind {
            Kind::Run => drop(rayon::broadcast(|thread| thread.index())),
            _ => self
                .shares
                .par_iter_mut()
                .with_max_len(1)
                .for_each(Share::fold),
        }
    }

    fn fill(&mut self, call: usize) {
        for share in &mut self.shares {
            for (rank, input) in share.inputs.iter_mut().enumerate() {
                values::fill(input, rank, call);
            }
        }
    }

    fn clear(&mut self) {
        if self.op.kind == Kind::AllReduceInplace {
            let inputs = self.shares.iter_mut().flat_map(|share| &mut share.inputs);
            inputs.for_each(|input| input.fill(0.0));
        }
    }

    fn right(&mut self) -> bool {
        self.shares
            .iter()
            .all(|share| share.right(self.op, self.ranks))
    }
}
