//! From the names of a type and an operator to the code that is compiled for both.

use rankfold::measure::{
    Control, Effort, Failure, Number, Op, Pass, Point, Proved, Type, Vectors, call, pass, prove,
};
use rankfold::op::{And, Max, Min, Operator, Or, Product, Sum, Xor};
use rankfold::{Comm, Result as Called};

/// Runs a point once and compares the result.
pub fn proved(point: &Point) -> Result<Proved, Failure> {
    dispatch(point, Prove)
}

/// Times a point.
pub fn passed(point: &Point, effort: &Effort, control: &Control) -> Result<Pass, Failure> {
    dispatch(point, Time { effort, control })
}

/// An action on a point, for any element type.
trait Job {
    type Out;
    fn run<T: Number>(
        self,
        point: &Point,
        body: &(dyn Fn(&Comm, &mut Vectors<T>) -> Called<()> + Sync),
    ) -> Result<Self::Out, Failure>;
}

struct Prove;

impl Job for Prove {
    type Out = Proved;

    fn run<T: Number>(
        self,
        point: &Point,
        body: &(dyn Fn(&Comm, &mut Vectors<T>) -> Called<()> + Sync),
    ) -> Result<Proved, Failure> {
        prove(point, body)
    }
}

struct Time<'a> {
    effort: &'a Effort,
    control: &'a Control,
}

impl Job for Time<'_> {
    type Out = Pass;

    fn run<T: Number>(
        self,
        point: &Point,
        body: &(dyn Fn(&Comm, &mut Vectors<T>) -> Called<()> + Sync),
    ) -> Result<Pass, Failure> {
        pass(point, self.effort, self.control, body)
    }
}

fn dispatch<J: Job>(point: &Point, job: J) -> Result<J::Out, Failure> {
    match point.kind {
        Type::F32 => float::<f32, J>(point, job),
        Type::F64 => float::<f64, J>(point, job),
        Type::I32 => integer::<i32, J>(point, job),
        Type::I64 => integer::<i64, J>(point, job),
        Type::U8 => integer::<u8, J>(point, job),
        Type::U32 => integer::<u32, J>(point, job),
        Type::U64 => integer::<u64, J>(point, job),
    }
}

/// `point.op` is defined for floats: the plan has refused operators that only integers have.
fn float<T: Number, J: Job>(point: &Point, job: J) -> Result<J::Out, Failure>
where
    Sum: Operator<T>,
    Product: Operator<T>,
    Min: Operator<T>,
    Max: Operator<T>,
{
    match point.op {
        Op::Sum => by::<T, _, J>(point, job, Sum),
        Op::Product => by::<T, _, J>(point, job, Product),
        Op::Min => by::<T, _, J>(point, job, Min),
        _ => by::<T, _, J>(point, job, Max),
    }
}

fn integer<T: Number, J: Job>(point: &Point, job: J) -> Result<J::Out, Failure>
where
    Sum: Operator<T>,
    Product: Operator<T>,
    Min: Operator<T>,
    Max: Operator<T>,
    And: Operator<T>,
    Or: Operator<T>,
    Xor: Operator<T>,
{
    match point.op {
        Op::And => by::<T, _, J>(point, job, And),
        Op::Or => by::<T, _, J>(point, job, Or),
        Op::Xor => by::<T, _, J>(point, job, Xor),
        _ => float::<T, J>(point, job),
    }
}

fn by<T: Number, O: Operator<T> + Copy + Sync, J: Job>(
    point: &Point,
    job: J,
    op: O,
) -> Result<J::Out, Failure> {
    job.run(point, &|comm: &Comm, vectors: &mut Vectors<T>| {
        call(point, comm, vectors, op)
    })
}
