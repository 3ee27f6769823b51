//! A rank's vectors and the call on them, without the type of the elements: the loop that times calls is compiled once.

use super::point::Point;
use super::vectors::{Number, Vectors, Wrong};
use crate::collective::{Call, Choice};
use crate::{Comm, Rank, Result};

/// The work of a point on one rank.
pub type Body<'a, T> = dyn Fn(&Comm, &mut Vectors<T>) -> Result<()> + Sync + 'a;

/// A point with its call.
pub(super) trait Case: Sync {
    fn point(&self) -> &Point;

    /// Creates the vectors of a rank; the calling thread writes them.
    fn seat(&self, rank: Rank) -> Box<dyn Seat + '_>;

    /// Returns the automatic choice for a call on these elements.
    fn explain(&self, comm: &Comm, call: &Call) -> Result<Choice>;
}

/// The vectors of one rank.
pub(super) trait Seat {
    /// Writes the inputs of the call.
    fn fill(&mut self, turn: usize);

    /// Calls as often as `calls` says. The loop is here, so that nothing but the call is repeated.
    fn call(&mut self, comm: &Comm, calls: u64) -> Result<()>;

    /// Compares every element of the output with its expected value.
    fn check(&self, turn: usize) -> std::result::Result<(), Wrong>;
}

/// A case with elements of one type.
pub(super) struct Typed<'a, T> {
    pub point: &'a Point,
    pub body: &'a Body<'a, T>,
}

impl<T: Number> Case for Typed<'_, T> {
    fn point(&self) -> &Point {
        self.point
    }

    fn seat(&self, rank: Rank) -> Box<dyn Seat + '_> {
        Box::new(Taken {
            case: self,
            rank,
            vectors: Vectors::new(self.point, rank),
        })
    }

    fn explain(&self, comm: &Comm, call: &Call) -> Result<Choice> {
        comm.explain::<T>(call)
    }
}

struct Taken<'a, T> {
    case: &'a Typed<'a, T>,
    rank: Rank,
    vectors: Vectors<T>,
}

impl<T: Number> Seat for Taken<'_, T> {
    fn fill(&mut self, turn: usize) {
        self.vectors.fill(self.case.point, self.rank, turn);
    }

    fn call(&mut self, comm: &Comm, calls: u64) -> Result<()> {
        (0..calls).try_for_each(|_| (self.case.body)(comm, &mut self.vectors))
    }

    fn check(&self, turn: usize) -> std::result::Result<(), Wrong> {
        self.vectors.check(self.case.point, self.rank, turn)
    }
}
