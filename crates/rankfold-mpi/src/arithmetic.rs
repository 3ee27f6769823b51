//! All-reduces of numbers by predefined operators, which the engine knows: it combines them where they are.
//!
//! Which calls these are follows from the basic datatype and the operator alone, so that all ranks agree on it.

use rankfold::op::{Max, Min, Operator, Product, Sum};

use crate::abi::*;
use crate::collective::distinct;
use crate::comm::Communicator;
use crate::datatype::basic::{Basic, Holds};
use crate::datatype::pack::{Buffer, Place};
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

    /// Calls the all-reduce.
    pub(crate) fn all_reduce(
        &self,
        caller: &Caller,
        comm: &Communicator,
        send: Option<&Place>,
        into: &Place,
    ) -> Out {
        distinct(&send.cloned(), into)?;
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

    fn on<T: Number + Default>(
        &self,
        caller: &Caller,
        comm: &Communicator,
        send: Option<&Place>,
        into: &Place,
    ) -> Out
    where
        Sum: Operator<T>,
        Product: Operator<T>,
        Min: Operator<T>,
        Max: Operator<T>,
    {
        let Buffer { at, count, of } = into.buffer();
        let from = send.map_or(into.buffer(), Place::buffer);
        let len = count * of.size / size_of::<T>();
        if of.is_dense() && from.of.is_dense() && at.cast::<T>().is_aligned() {
            if send.is_some() {
                caller.copy(from.at, at, len * size_of::<T>())?;
            }
            let done =
                caller.with_numbers(at, len, |numbers: &mut [T]| self.combine(comm, numbers));
            if let Some(done) = done {
                return done;
            }
        }
        let mut packed = Vec::new();
        from.pack(caller, &mut packed)?;
        let mut numbers = caller.own_numbers::<T>(&packed);
        self.combine(comm, &mut numbers)?;
        into.buffer().unpack(caller, caller.bytes_of(&numbers))
    }

    fn combine<T: Number>(&self, comm: &Communicator, numbers: &mut [T]) -> Out
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
}
