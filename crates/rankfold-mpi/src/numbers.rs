//! Reductions of numbers by predefined operators, at once: the engine combines them step by step. Those of other
//! datatypes, and those that are started, collect all contributions.
//!
//! Which calls these are follows from the basic datatype and the operator alone, so that all ranks agree on it.

use rankfold::op::{
    And, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Operator, Or, Product, Sum, Xor,
};

use crate::abi::*;
use crate::collective::distinct;
use crate::comm::Communicator;
use crate::datatype::basic::{Basic, Holds};
use crate::datatype::pack::Place;
use crate::error::{Out, failure};
use crate::memory::{Caller, Number};
use crate::op::{self, Fold};

/// A reduction that the engine does.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    AllReduce,
    Reduce { root: usize },
    Scan,
}

/// Buffers of a reduction: what is sent, unless it is in place, and where the result goes, if it comes here.
pub(crate) struct Ends<'a> {
    pub send: Option<&'a Place>,
    pub recv: Option<&'a Place>,
}

const ARITHMETIC: [MPI_Op; 4] = [MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX];
const BITS: [MPI_Op; 6] = [MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR];

/// What the engine combines: the basic datatype and the operator, if it knows them.
fn known(fold: &Fold) -> Option<(Basic, MPI_Op)> {
    let op::Operator::Predefined(op) = fold.operator else {
        return None;
    };
    let [(basic, _)] = fold.of.runs[..] else {
        return None;
    };
    let fits = match basic.holds {
        Holds::Signed | Holds::Unsigned => ARITHMETIC.contains(&op) || BITS.contains(&op),
        Holds::Float => basic.size <= 8 && ARITHMETIC.contains(&op),
        _ => false,
    };
    fits.then_some((basic, op))
}

/// Does a reduction; `None` if the engine does not know its datatype or its operator.
pub(crate) fn reduce(
    caller: &Caller,
    comm: &Communicator,
    call: Call,
    fold: &Fold,
    ends: &Ends<'_>,
) -> Option<Out> {
    let (Basic { holds, size }, op) = known(fold)?;
    let task = Task {
        caller,
        comm,
        call,
        op,
        ends,
    };
    Some(match (holds, size) {
        (Holds::Float, 4) => task.run::<f32>(Task::arithmetic),
        (Holds::Float, _) => task.run::<f64>(Task::arithmetic),
        (Holds::Signed, 1) => task.run::<i8>(Task::integers),
        (Holds::Signed, 2) => task.run::<i16>(Task::integers),
        (Holds::Signed, 4) => task.run::<i32>(Task::integers),
        (Holds::Signed, _) => task.run::<i64>(Task::integers),
        (_, 1) => task.run::<u8>(Task::integers),
        (_, 2) => task.run::<u16>(Task::integers),
        (_, 4) => task.run::<u32>(Task::integers),
        _ => task.run::<u64>(Task::integers),
    })
}

struct Task<'a> {
    caller: &'a Caller,
    comm: &'a Communicator,
    call: Call,
    op: MPI_Op,
    ends: &'a Ends<'a>,
}

impl Task<'_> {
    /// Packs the numbers, has them combined, and puts the result where it goes.
    fn run<T: Number + Default>(&self, combine: fn(&Self, &mut [T]) -> Out) -> Out {
        let Ends { send, recv } = *self.ends;
        if let Some(into) = recv {
            distinct(&send.cloned(), into)?;
        }
        let from = send.or(recv);
        let from = from.ok_or_else(|| failure(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root"))?;
        let mut packed = Vec::new();
        from.buffer().pack(self.caller, &mut packed)?;
        let mut numbers = self.caller.own_numbers::<T>(&packed);
        combine(self, &mut numbers)?;
        match recv {
            Some(into) => into
                .buffer()
                .unpack(self.caller, self.caller.bytes_of(&numbers)),
            None => Ok(()),
        }
    }

    fn by<T: Number>(&self, numbers: &mut [T], op: impl Operator<T>) -> Out {
        let engine = &self.comm.comm;
        match self.call {
            Call::AllReduce => engine.all_reduce(numbers, op)?,
            Call::Reduce { root } => engine.reduce(root, numbers, op)?,
            Call::Scan => engine.scan(numbers, op)?,
        }
        Ok(())
    }

    fn arithmetic<T: Number>(&self, numbers: &mut [T]) -> Out
    where
        Sum: Operator<T>,
        Product: Operator<T>,
        Min: Operator<T>,
        Max: Operator<T>,
    {
        match self.op {
            MPI_SUM => self.by(numbers, Sum),
            MPI_PROD => self.by(numbers, Product),
            MPI_MIN => self.by(numbers, Min),
            _ => self.by(numbers, Max),
        }
    }

    fn integers<T: Number>(&self, numbers: &mut [T]) -> Out
    where
        Sum: Operator<T>,
        Product: Operator<T>,
        Min: Operator<T>,
        Max: Operator<T>,
        And: Operator<T>,
        Or: Operator<T>,
        Xor: Operator<T>,
        LogicalAnd: Operator<T>,
        LogicalOr: Operator<T>,
        LogicalXor: Operator<T>,
    {
        match self.op {
            MPI_BAND => self.by(numbers, And),
            MPI_BOR => self.by(numbers, Or),
            MPI_BXOR => self.by(numbers, Xor),
            MPI_LAND => self.by(numbers, LogicalAnd),
            MPI_LOR => self.by(numbers, LogicalOr),
            MPI_LXOR => self.by(numbers, LogicalXor),
            _ => self.arithmetic(numbers),
        }
    }
}
