//! The ranks' inputs, and the expected results, computed independently of the library in the plainest way.
//!
//! Element `i` of rank `r`'s vector is a small number that repeats with a period of 251, a prime. So an element that
//! ends in a wrong place or comes from a wrong rank is noticed, and the expectation fits into a table of one period.
//! The numbers are chosen so that folds of floats are exact in any order.

use std::fmt;
use std::ops::Range;

use super::kinds::{Op, Type};
use super::point::{Point, Subject};
use crate::Rank;
use crate::collective::Collective;
use crate::op::Element;

/// The period of a vector, in elements.
const PERIOD: usize = 251;

/// An element that is measured: its numbers, and an arithmetic that is independent of the library's.
pub trait Number: Element + PartialEq + fmt::Display {
    /// Its [`Type`].
    const TYPE: Type;

    /// Returns a number for `p` in `0..251`, the same for the same `p`.
    fn value(op: Op, p: usize) -> Self;

    /// Folds `a` and `b`.
    fn fold(op: Op, a: Self, b: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty: $kind:ident),*) => { $(
        impl Number for $t {
            const TYPE: Type = Type::$kind;

            fn value(op: Op, p: usize) -> $t {
                match op {
                    // Odd numbers: their products lose no bits.
                    Op::Product => (2 * p + 1) as $t,
                    _ => p as $t,
                }
            }

            fn fold(op: Op, a: $t, b: $t) -> $t {
                let (a, b) = (a as i128, b as i128);
                (match op {
                    Op::Sum => a.wrapping_add(b),
                    Op::Product => a.wrapping_mul(b),
                    Op::Min => a.min(b),
                    Op::Max => a.max(b),
                    Op::And => a & b,
                    Op::Or => a | b,
                    Op::Xor => a ^ b,
                }) as $t
            }
        }
    )* };
}
macro_rules! floats {
    ($($t:ty: $kind:ident),*) => { $(
        impl Number for $t {
            const TYPE: Type = Type::$kind;

            fn value(op: Op, p: usize) -> $t {
                match op {
                    // Powers of two: products are exact.
                    Op::Product => [1.0, 2.0, -1.0, 0.5, -2.0][p % 5],
                    _ => p as $t,
                }
            }

            fn fold(op: Op, a: $t, b: $t) -> $t {
                match op {
                    Op::Sum => a + b,
                    Op::Product => a * b,
                    Op::Min => if b < a { b } else { a },
                    _ => if b > a { b } else { a },
                }
            }
        }
    )* };
}
integers!(i32: I32, i64: I64, u8: U8, u32: U32, u64: U64);
floats!(f32: F32, f64: F64);

/// Returns which number element `i` of rank `r`'s vector is; it differs in every turn.
fn place(rank: Rank, turn: usize, i: usize) -> usize {
    (37 * (rank % PERIOD) + 11 * (turn % PERIOD) + i % PERIOD) % PERIOD
}

/// A rank's vectors.
#[derive(Clone, Debug)]
pub struct Vectors<T> {
    /// The input, which is only read; empty where the call works in place.
    pub input: Vec<T>,
    /// The output.
    pub output: Vec<T>,
}

impl<T: Number> Vectors<T> {
    /// Creates a rank's vectors; the calling thread writes them.
    pub fn new(point: &Point, rank: Rank) -> Vectors<T> {
        let (input, output) = point.lengths(rank);
        let zero = T::value(point.op, 0);
        // Written, not only allocated: a page is placed near the thread that writes it first.
        let written = |length: usize| (0..length).map(|_| zero).collect();
        Vectors {
            input: written(input),
            output: written(output),
        }
    }

    /// Writes the inputs of the call. An output that is not an input is filled with wrong values.
    pub fn fill(&mut self, point: &Point, rank: Rank, turn: usize) {
        let own = |i: usize| place(rank, turn, i);
        write(&mut self.input, point.op, own);
        match Expected::<T>::of(point, rank, turn) {
            Some(expected) if !begins_with_output(point, rank) => {
                expected.write_wrong(point.op, &mut self.output);
            }
            _ => write(&mut self.output, point.op, own),
        }
    }

    /// Compares every element of the output with its expected value.
    ///
    /// # Errors
    ///
    /// The first element that is wrong.
    pub fn check(&self, point: &Point, rank: Rank, turn: usize) -> Result<(), Wrong> {
        let Some(expected) = Expected::<T>::of(point, rank, turn) else {
            return Ok(());
        };
        let mut pieces = self.output.chunks(expected.piece.max(1)).enumerate();
        pieces.try_for_each(|(number, piece)| expected.compare(number, piece, rank))
    }
}

/// Returns whether the output holds the rank's contribution; otherwise it only receives.
fn begins_with_output(point: &Point, rank: Rank) -> bool {
    use Collective::*;
    match point.subject {
        Subject::Collective(Broadcast) => rank == point.root,
        Subject::Collective(AllReduce) => !point.into,
        Subject::Collective(Reduce | Scan | ExclusiveScan) => true,
        _ => false,
    }
}

fn write<T: Number>(to: &mut [T], op: Op, places: impl Fn(usize) -> usize) {
    let period: [T; PERIOD] = std::array::from_fn(|i| T::value(op, places(i)));
    for chunk in to.chunks_mut(PERIOD) {
        chunk.copy_from_slice(&period[..chunk.len()]);
    }
}

/// The expected output of a rank: pieces of one length, each a part of a vector that repeats.
struct Expected<T> {
    piece: usize,
    /// One period for each piece, starting at the piece's first element; the last one serves all further pieces.
    periods: Vec<Vec<T>>,
}

/// One period of the contributions to a call, in one turn.
struct Inputs {
    op: Op,
    turn: usize,
}

impl Inputs {
    /// Returns those of one rank, from the element `first` on.
    fn of<T: Number>(&self, rank: Rank, first: usize) -> Vec<T> {
        let value = |i: usize| T::value(self.op, place(rank, self.turn, first + i));
        (0..PERIOD).map(value).collect()
    }

    /// Returns the fold of those of several ranks.
    fn fold<T: Number>(&self, ranks: Range<Rank>, first: usize) -> Vec<T> {
        let all = |i: usize| {
            let value = |rank| T::value(self.op, place(rank, self.turn, first + i));
            let values = ranks.clone().map(value);
            values.reduce(|a, b| T::fold(self.op, a, b))
        };
        (0..PERIOD).filter_map(all).collect()
    }
}

impl<T: Number> Expected<T> {
    /// Returns `None` where the output is undefined.
    fn of(point: &Point, rank: Rank, turn: usize) -> Option<Expected<T>> {
        let (n, root, block) = (point.ranks, point.root, point.block());
        let inputs = Inputs { op: point.op, turn };
        let Subject::Collective(collective) = point.subject else {
            let partner = rank ^ 1;
            return (partner < n).then(|| Expected::whole(inputs.of(partner, 0)));
        };
        let from_each = |first: usize| Expected {
            piece: block,
            periods: (0..n).map(|from| inputs.of(from, first)).collect(),
        };
        Some(match collective {
            Collective::Barrier => return None,
            Collective::Broadcast => Expected::whole(inputs.of(root, 0)),
            Collective::Reduce if rank != root => Expected::whole(inputs.of(rank, 0)),
            Collective::Reduce | Collective::AllReduce => Expected::whole(inputs.fold(0..n, 0)),
            Collective::ReduceScatter => Expected::whole(inputs.fold(0..n, rank * block)),
            Collective::AllGather | Collective::Gather => from_each(0),
            Collective::Scatter => Expected::whole(inputs.of(root, rank * block)),
            Collective::AllToAll => from_each(rank * block),
            Collective::Scan => Expected::whole(inputs.fold(0..rank + 1, 0)),
            Collective::ExclusiveScan if rank == 0 => {
                Expected::whole(vec![T::value(point.op, 0); PERIOD])
            }
            Collective::ExclusiveScan => Expected::whole(inputs.fold(0..rank, 0)),
        })
    }

    /// A vector that repeats as a whole.
    fn whole(period: Vec<T>) -> Expected<T> {
        Expected {
            piece: usize::MAX,
            periods: vec![period],
        }
    }

    /// The period of a piece.
    fn period(&self, number: usize) -> &[T] {
        &self.periods[number.min(self.periods.len() - 1)]
    }

    /// Fills an output so that each element is another one than expected.
    fn write_wrong(&self, op: Op, output: &mut [T]) {
        let [one, other] = [0, 1].map(|p| T::value(op, p));
        let wrong = |right: &T| if *right == one { other } else { one };
        for (number, piece) in output.chunks_mut(self.piece.max(1)).enumerate() {
            let period: Vec<T> = self.period(number).iter().map(wrong).collect();
            for part in piece.chunks_mut(PERIOD) {
                part.copy_from_slice(&period[..part.len()]);
            }
        }
    }

    fn compare(&self, number: usize, piece: &[T], rank: Rank) -> Result<(), Wrong> {
        let period = self.period(number);
        for (nth, part) in piece.chunks(PERIOD).enumerate() {
            if part == &period[..part.len()] {
                continue;
            }
            let differs = part
                .iter()
                .zip(period)
                .position(|(found, right)| found != right);
            let i = differs.unwrap_or(0);
            return Err(Wrong {
                rank,
                element: number.saturating_mul(self.piece) + nth * PERIOD + i,
                found: part[i].to_string(),
                expected: period[i].to_string(),
            });
        }
        Ok(())
    }
}

/// An element with a wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The rank.
    pub rank: Rank,
    /// Index of the element in its output.
    pub element: usize,
    /// The value found.
    pub found: String,
    /// The expected value.
    pub expected: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wrong {
            rank,
            element,
            found,
            expected,
        } = self;
        write!(
            f,
            "element {element} of rank {rank} is {found} and must be {expected}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, ranks: usize, length: usize) -> Point {
        Point::new(name.parse().unwrap(), ranks, length, Type::I64)
    }

    fn filled(point: &Point, rank: Rank) -> Vectors<i64> {
        let mut vectors = Vectors::new(point, rank);
        vectors.fill(point, rank, 5);
        vectors
    }

    #[test]
    fn what_nobody_has_touched_is_not_right() {
        for subject in Subject::all().filter(|s| s.name() != "barrier") {
            let point = Point {
                op: Op::Sum,
                ..Point::new(subject, 3, 600, Type::I64)
            };
            let wrong = |rank: Rank| filled(&point, rank).check(&point, rank, 5).is_err();
            assert!((0..3).any(wrong), "{subject}");
        }
    }

    /// Points of all collectives, with each root, of a type of few values.
    fn each_point(mut with: impl FnMut(&Point)) {
        let shapes = [1, 2, 3, 5].map(|ranks| [1, 74, 600].map(|length| (ranks, length)));
        for (ranks, length) in shapes.into_iter().flatten() {
            let roots = (0..ranks).flat_map(|root| [(root, false), (root, true)]);
            for (subject, (root, into)) in
                Subject::all().flat_map(|one| roots.clone().map(move |it| (one, it)))
            {
                for op in [Op::Sum, Op::Product, Op::Max, Op::And, Op::Xor] {
                    let point = Point::new(subject, ranks, length, Type::U8);
                    with(&Point {
                        op,
                        root,
                        into,
                        ..point
                    });
                }
            }
        }
    }

    #[test]
    fn every_element_of_an_output_that_is_no_input_is_wrong_until_the_call() {
        each_point(|point| {
            for rank in (0..point.ranks).filter(|rank| !begins_with_output(point, *rank)) {
                let mut vectors = Vectors::<u8>::new(point, rank);
                vectors.fill(point, rank, 0);
                let Some(expected) = Expected::<u8>::of(point, rank, 0) else {
                    continue;
                };
                for (i, found) in vectors.output.iter().enumerate() {
                    let (number, within) = (i / expected.piece, i % expected.piece);
                    let right = expected.period(number)[within % PERIOD];
                    assert_ne!(*found, right, "element {i} of rank {rank}: {point:?}");
                }
                let checked = vectors.check(point, rank, 0);
                assert_eq!(checked.is_err(), !vectors.output.is_empty(), "{point:?}");
            }
        });
    }

    #[test]
    fn a_vector_that_is_input_and_output_holds_the_input() {
        each_point(|point| {
            for rank in (0..point.ranks).filter(|rank| begins_with_output(point, *rank)) {
                let mut vectors = Vectors::<u8>::new(point, rank);
                vectors.fill(point, rank, 2);
                let input = |i: usize| u8::value(point.op, place(rank, 2, i));
                assert!(
                    vectors
                        .output
                        .iter()
                        .copied()
                        .eq((0..point.length).map(input))
                );
                assert!(vectors.input.is_empty());
            }
        });
    }

    #[test]
    fn one_wrong_element_is_found_wherever_it_is() {
        for (element, length) in [(0, 1), (250, 251), (251, 600), (599, 600)] {
            let point = point("all_reduce", 3, length);
            let sum = |i: usize| (0..3).map(|r| filled(&point, r).output[i]).sum::<i64>();
            let mut right = filled(&point, 1);
            right.output = (0..length).map(sum).collect();
            assert_eq!(right.check(&point, 1, 5), Ok(()));
            right.output[element] += 1;
            let wrong = right.check(&point, 1, 5).unwrap_err();
            assert_eq!((wrong.rank, wrong.element), (1, element));
            assert_eq!(
                wrong.to_string(),
                format!(
                    "element {element} of rank 1 is {} and must be {}",
                    sum(element) + 1,
                    sum(element)
                )
            );
        }
    }

    #[test]
    fn blocks_that_changed_places_are_found() {
        let point = point("all_gather", 3, 1500);
        let blocks = [0, 1, 2].map(|r| filled(&point, r).input);
        let mut all = filled(&point, 0);
        all.output = blocks.concat();
        assert_eq!(all.check(&point, 0, 5), Ok(()));
        all.output = [&blocks[0][..], &blocks[2], &blocks[1]].concat();
        assert_eq!(all.check(&point, 0, 5).unwrap_err().element, 500);
    }

    #[test]
    fn numbers_differ_between_ranks_and_turns() {
        for rank in 0..PERIOD {
            assert!(rank == 0 || place(rank, 0, 0) != place(0, 0, 0));
            assert_ne!(place(rank, 0, 0), place(rank, 1, 0));
        }
    }

    #[test]
    fn products_of_floats_are_exact_and_of_integers_keep_their_last_bit() {
        let floats = (0..60).map(|p| f32::value(Op::Product, p));
        let product = floats.fold(1.0, |a, b| f32::fold(Op::Product, a, b));
        assert!(product.is_normal() && product.abs().log2().fract() == 0.0);
        let bytes = (0..60).map(|p| u8::value(Op::Product, p));
        assert_eq!(bytes.fold(1, |a, b| u8::fold(Op::Product, a, b)) % 2, 1);
    }
}
