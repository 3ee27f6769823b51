//! From the name of a type to the code that is compiled for it; the operator stays a value.
//!
//! A call that only moves elements is compiled for each size of element, not for each type: `explain` and the copying
//! loops know no more of an element than its size.

use rankfold::measure::{
    Control, Effort, Failure, Number, Op, Pass, Point, Proved, Type, Vectors, call, folded, pass,
    prove,
};
use rankfold::op::Operator;
use rankfold::{Comm, Result as Called};

/// Runs a point once and compares the result.
pub fn proved(point: &Point) -> Result<Proved, Failure> {
    match elements(point) {
        Type::F32 => prove(point, &fold_of::<f32>(point)),
        Type::F64 => prove(point, &fold_of::<f64>(point)),
        Type::I32 => prove(point, &fold_of::<i32>(point)),
        Type::I64 => prove(point, &fold_of::<i64>(point)),
        Type::U8 => prove(point, &call_of::<u8>(point)),
        Type::U32 => prove(point, &call_of::<u32>(point)),
        Type::U64 => prove(point, &call_of::<u64>(point)),
    }
}

/// Times a point.
pub fn passed(point: &Point, effort: &Effort, control: &Control) -> Result<Pass, Failure> {
    match elements(point) {
        Type::F32 => pass(point, effort, control, &fold_of::<f32>(point)),
        Type::F64 => pass(point, effort, control, &fold_of::<f64>(point)),
        Type::I32 => pass(point, effort, control, &fold_of::<i32>(point)),
        Type::I64 => pass(point, effort, control, &fold_of::<i64>(point)),
        Type::U8 => pass(point, effort, control, &call_of::<u8>(point)),
        Type::U32 => pass(point, effort, control, &call_of::<u32>(point)),
        Type::U64 => pass(point, effort, control, &call_of::<u64>(point)),
    }
}

/// Returns the type of the elements that are folded; of those that are moved, the unsigned type of the same size.
fn elements(point: &Point) -> Type {
    match (point.kind, point.kind.bytes()) {
        (kind, _) if point.subject.folds() => kind,
        (_, 1) => Type::U8,
        (_, 4) => Type::U32,
        _ => Type::U64,
    }
}

/// Returns the fold of a point. Its operator is defined for the type: the plan has refused those that floats lack.
fn fold_of<T: Number>(point: &Point) -> impl Fn(&Comm, &mut Vectors<T>) -> Called<()> + Sync
where
    Op: Operator<T>,
{
    |comm, vectors| folded(point, comm, vectors, point.op)
}

/// Returns the fold or the movement of a point.
fn call_of<T: Number>(point: &Point) -> impl Fn(&Comm, &mut Vectors<T>) -> Called<()> + Sync
where
    Op: Operator<T>,
{
    |comm, vectors| call(point, comm, vectors, point.op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankfold::measure::Subject;

    #[test]
    fn what_is_moved_is_as_long_as_what_is_asked_for() {
        let names = ["f32", "f64", "i32", "i64", "u8", "u32", "u64"];
        for kind in names.map(|name| name.parse::<Type>().unwrap()) {
            for subject in Subject::all() {
                let elements = elements(&Point::new(subject, 2, 8, kind));
                assert_eq!(elements.bytes(), kind.bytes());
                assert!(elements == kind || !subject.folds());
            }
        }
    }
}
