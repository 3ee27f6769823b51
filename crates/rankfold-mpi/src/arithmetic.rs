//! All-reduces of numbers by predefined operators, which the engine knows: it combines them where they are.
//!
//! Which calls these are follows from the basic datatype and the operator alone, so that all ranks agree on it.

use rankfold::op::{Max, Min, Operator, Product, Sum};

use crate::abi::*;
use crate::comm::Communicator;
use crate::datatype::basic::{Basic, Holds};
use crate::datatype::pack::Buffer;
use crate::error::Out;
use crate::memory::{Caller, Number};
use crate::op::{self, Fold};

/// What the engine combines.
pub(crate) struct Arithmetic {
    holds: Holds,
    size: u8,
    op: MPI_Op,
}

impl Arithmetic {
    /// `None` if the engine does not know the datatype or the operator.
    pub(crate) fn of(fold: &Fold) -> Option<Arithmetic> {
        let op::Operator::Predefined(op) = fold.operator else {
            return None;
        };
        let [(Basic { holds, size }, times)] = fold.of.runs[..] else {
            return None;
        };
        let pair = times > 1 && [MPI_MINLOC, MPI_MAXLOC].contains(&op);
        let known = matches!(holds, Holds::Signed | Holds::Unsigned)
            || (holds == Holds::Float && size <= 8);
        let known = known && !pair && [MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX].contains(&op);
        known.then_some(Arithmetic { holds, size, op })
    }

    /// Calls the all-reduce; `send` is none if it is in place.
    #[inline]
    pub(crate) fn all_reduce(
        &self,
        caller: &Caller,
        comm: &Communicator,
        send: Option<Buffer<'_>>,
        into: Buffer<'_>,
    ) -> Out {
        match (self.holds, self.size) {
            (Holds::Float, 4) => self.on::<f32>(caller, comm, send, into),
            (Holds::Float, _) => self.on::<f64>(caller, comm, send, into),
            (Holds::Signed, 1) => self.on::<i8>(caller, comm, send, into),
            (Holds::Signed, 2) => self.on::<i16>(caller, comm, send, into),
            (Holds::Signed, 4) => self.on::<i32>(caller, comm, send, into),
            (Holds::Signed, _) => self.on::<i64>(caller, comm, send, into),
            (_, 1) => self.on::<u8>(caller, comm, send, into),
            (_, 2) => self.on::<u16>(caller, comm, send, into),
            (_, 4) => self.on::<u32>(caller, comm, send, into),
            _ => self.on::<u64>(caller, comm, send, into),
        }
    }

    fn on<T: Known>(
        &self,
        caller: &Caller,
        comm: &Communicator,
        send: Option<Buffer<'_>>,
        into: Buffer<'_>,
    ) -> Out
    where
        Sum: Operator<T>,
        Product: Operator<T>,
        Min: Operator<T>,
        Max: Operator<T>,
    {
        let Buffer { at, of, .. } = into;
        let len = into.bytes() / size_of::<T>();
        if of.is_dense() {
            let done = match send {
                None => caller.with_numbers(at, len, |all: &mut [T]| self.in_place(comm, all)),
                Some(from) => caller.with_two(from.at, at, len, |input: &[T], output: &mut [T]| {
                    self.apart(comm, input, output)
                }),
            };
            if let Some(done) = done {
                return done;
            }
        }
        let mut packed = Vec::new();
        send.unwrap_or(into).pack(caller, &mut packed)?;
        let mut numbers = caller.own_numbers::<T>(&packed);
        self.in_place(comm, &mut numbers)?;
        into.unpack(caller, caller.bytes_of(&numbers))
    }

    fn in_place<T: Known>(&self, comm: &Communicator, numbers: &mut [T]) -> Out
    where
        Sum: Operator<T>,
        Product: Operator<T>,
        Min: Operator<T>,
        Max: Operator<T>,
    {
        let engine = &comm.comm;
        match self.op {
            MPI_SUM => engine.all_reduce(numbers, Sum)?,
            MPI_PROD => engine.all_reduce(numbers, Product)?,
            MPI_MIN => engine.all_reduce(numbers, Min)?,
            _ => engine.all_reduce(numbers, Max)?,
        }
        Ok(())
    }

    fn apart<T: Known>(&self, comm: &Communicator, input: &[T], output: &mut [T]) -> Out
    where
        Sum: Operator<T>,
        Product: Operator<T>,
        Min: Operator<T>,
        Max: Operator<T>,
    {
        let engine = &comm.comm;
        match self.op {
            MPI_SUM => engine.all_reduce_into(input, output, Sum)?,
            MPI_PROD => engine.all_reduce_into(input, output, Product)?,
            MPI_MIN => engine.all_reduce_into(input, output, Min)?,
            _ => engine.all_reduce_into(input, output, Max)?,
        }
        Ok(())
    }
}

/// Numbers that the engine combines.
trait Known: Number + Default {}

impl<T: Number + Default> Known for T {}
