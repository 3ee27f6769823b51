//! Operators of reductions: the predefined ones on each basic datatype, and the program's functions.

use std::ffi::c_int;
use std::ptr::without_provenance_mut as handle;
use std::rc::Rc;

use crate::abi::*;
use crate::datatype::basic::{Basic, Holds};
use crate::datatype::pack::Buffer;
use crate::datatype::{self, Datatype, Type};
use crate::error::{Out, bad, failure, require};
use crate::memory::{Aligned, Byte, Caller, append, known};
use crate::rank::Rank;

/// A function of the program, which is told the number of elements as an `int` or as a large count.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    Small(MPI_User_function),
    Large(MPI_User_function_c),
}

/// An operator of the program.
pub(crate) struct Op {
    pub function: Function,
    pub commutes: bool,
}

/// An operator of a call.
#[derive(Clone)]
pub(crate) enum Operator {
    Predefined(MPI_Op),
    Own(Rc<Op>),
}

impl Operator {
    /// Its number in the head of a message.
    pub(crate) fn number(&self) -> u16 {
        match self {
            Operator::Predefined(op) => op.addr() as u16,
            Operator::Own(_) => 0x1000,
        }
    }
}

const NAMES: [(MPI_Op, &str); 14] = [
    (MPI_SUM, "MPI_SUM"),
    (MPI_MIN, "MPI_MIN"),
    (MPI_MAX, "MPI_MAX"),
    (MPI_PROD, "MPI_PROD"),
    (MPI_BAND, "MPI_BAND"),
    (MPI_BOR, "MPI_BOR"),
    (MPI_BXOR, "MPI_BXOR"),
    (MPI_LAND, "MPI_LAND"),
    (MPI_LOR, "MPI_LOR"),
    (MPI_LXOR, "MPI_LXOR"),
    (MPI_MINLOC, "MPI_MINLOC"),
    (MPI_MAXLOC, "MPI_MAXLOC"),
    (MPI_REPLACE, "MPI_REPLACE"),
    (MPI_NO_OP, "MPI_NO_OP"),
];

fn is_predefined(op: MPI_Op) -> bool {
    matches!(op, MPI_SUM | MPI_MIN | MPI_MAX | MPI_PROD) || NAMES.iter().any(|(it, _)| *it == op)
}

/// The name of the number of an operator.
pub(crate) fn name(number: u16) -> &'static str {
    let found = NAMES.iter().find(|(op, _)| op.addr() as u16 == number);
    found.map_or("an operator of the program", |(_, name)| name)
}

#[inline(always)]
pub(crate) fn of(rank: &Rank, op: MPI_Op) -> Out<Operator> {
    match is_predefined(op) {
        true => Ok(Operator::Predefined(op)),
        false => own(rank, op),
    }
}

#[inline(never)]
fn own(rank: &Rank, op: MPI_Op) -> Out<Operator> {
    let number = op.addr();
    if op == MPI_OP_NULL {
        return Err(failure(MPI_ERR_OP, "the operator is MPI_OP_NULL"));
    }
    let found = rank.ops.borrow().get(number).cloned();
    found
        .map(Operator::Own)
        .map_err(|why| bad(MPI_ERR_OP, "operator", number, why))
}

pub(crate) fn create(rank: &Rank, function: Function, commutes: bool) -> MPI_Op {
    handle(
        rank.ops
            .borrow_mut()
            .add(Rc::new(Op { function, commutes })),
    )
}

pub(crate) fn free(rank: &Rank, op: MPI_Op) -> Out {
    let freed = rank.ops.borrow_mut().remove(op.addr()).map(drop);
    freed.map_err(|why| bad(MPI_ERR_OP, "operator", op.addr(), why))
}

/// Refuses predefined operators on datatypes of the program, and those of numbers on the pairs of `MPI_MINLOC`.
#[inline]
pub(crate) fn check_kind(operator: &Operator, of: &Datatype) -> Out {
    let Operator::Predefined(op) = *operator else {
        return Ok(());
    };
    let is_number = matches!(of.runs[..], [(_, 1)]);
    let fits = of.predefined && (is_number || [MPI_MINLOC, MPI_MAXLOC].contains(&op));
    require(fits, MPI_ERR_OP, || {
        let what = match of.predefined {
            true => "is on numbers, and these are pairs",
            false => "is on predefined datatypes, and this one was made by the program",
        };
        format!("{} {what}", name(op.addr() as u16))
    })
}

/// Refuses the operators that are for windows alone.
#[inline]
pub(crate) fn check_reduces(operator: &Operator) -> Out {
    let Operator::Predefined(op) = *operator else {
        return Ok(());
    };
    require(op != MPI_REPLACE && op != MPI_NO_OP, MPI_ERR_OP, || {
        format!("{} is for accesses to windows", name(op.addr() as u16))
    })
}

/// A reduction: elements of a datatype by an operator.
#[derive(Clone)]
pub(crate) struct Fold {
    pub operator: Operator,
    pub of: Type,
    pub datatype: MPI_Datatype,
}

impl Fold {
    /// Refuses an operator that is not on the datatype.
    pub(crate) fn check(&self) -> Out {
        let Operator::Predefined(op) = self.operator else {
            return Ok(());
        };
        let fits = self.of.runs.is_empty() || kernel(op, &self.of.runs).is_some();
        require(fits, MPI_ERR_OP, || {
            format!(
                "{} is not on elements of {}",
                name(op.addr() as u16),
                self.of.signature.names()
            )
        })
    }

    /// Combines packed elements: `right` becomes `left` op `right`.
    pub(crate) fn combine(&self, caller: &Caller, left: &[Byte], right: &mut [Byte]) -> Out {
        match &self.operator {
            Operator::Predefined(op) => {
                if let Some(kernel) = kernel(*op, &self.of.runs) {
                    // The datatype holds numbers.
                    let mut result = known(right).to_vec();
                    kernel(known(left), &mut result);
                    crate::memory::put(&result, right);
                }
                Ok(())
            }
            Operator::Own(op) => self.combine_own(caller, op, left, right),
        }
    }

    /// As `combine`, by a function of the program, which expects elements as the datatype lays them out.
    fn combine_own(&self, caller: &Caller, op: &Op, left: &[Byte], right: &mut [Byte]) -> Out {
        let Some(count) = left.len().checked_div(self.of.size) else {
            return Ok(());
        };
        let room = room(&self.of, count).ok_or_else(|| {
            let why = format!("there is no memory for {count} elements of the datatype");
            failure(MPI_ERR_NO_MEM, why)
        })?;
        let (mut input, mut inout) = (Aligned::new(room.bytes), Aligned::new(room.bytes));
        let place = |memory: &mut Aligned| memory.address().wrapping_offset(room.origin);
        let (input, inout) = (place(&mut input), place(&mut inout));
        let buffer = |at| Buffer {
            at,
            count,
            of: &self.of,
        };
        buffer(input).unpack(caller, left)?;
        buffer(inout).unpack(caller, right)?;
        self.with_handle(|datatype| caller.combine(op.function, input, inout, count, datatype));
        let mut combined = Vec::new();
        buffer(inout).pack(caller, &mut combined)?;
        right.copy_from_slice(&combined);
        Ok(())
    }

    /// Runs `f` with a handle of the datatype: a further one, if the program has freed its own since the call.
    fn with_handle(&self, f: impl FnOnce(MPI_Datatype)) {
        let further = match &self.of {
            Type::Derived(of) if datatype::of(self.datatype).is_err() => {
                Some(datatype::share(of.clone()))
            }
            _ => None,
        };
        f(further.unwrap_or(self.datatype));
        if let Some(further) = further {
            datatype::free(further).ok();
        }
    }

    /// Folds blocks from left to right.
    pub(crate) fn all<'b>(
        &self,
        caller: &Caller,
        mut blocks: impl Iterator<Item = &'b [Byte]>,
    ) -> Out<Vec<Byte>> {
        let mut left = blocks.next().map_or_else(Vec::new, <[Byte]>::to_vec);
        for block in blocks {
            let mut right = block.to_vec();
            self.combine(caller, &left, &mut right)?;
            left = right;
        }
        Ok(left)
    }
}

/// The memory that elements need for a function that reads and writes whole structs, with what is before, between and after
/// the parts of the datatype.
struct Room {
    bytes: usize,
    /// Where the elements' origin is, from the first byte on: a multiple of the memory's alignment.
    origin: isize,
}

/// `None` if the address space has no such room.
fn room(of: &Datatype, count: usize) -> Option<Room> {
    const ALIGN: isize = 16;
    let (first, end) = of.true_bounds();
    let others = isize::try_from(count.saturating_sub(1)).ok()?;
    let last = of.extent().checked_mul(others)?;
    let low = first.min(of.lb).min(of.ub).checked_add(last.min(0))?;
    let high = end.max(of.lb).max(of.ub).checked_add(last.max(0))?;
    let start = low.div_euclid(ALIGN).checked_mul(ALIGN)?;
    let len = high.checked_sub(start)?.checked_add(ALIGN)?;
    Some(Room {
        bytes: usize::try_from(len).ok()?,
        origin: start.checked_neg()?,
    })
}

/// What combines packed elements.
type Kernel = fn(&[u8], &mut [u8]);

fn each<const N: usize>(left: &[u8], right: &mut [u8], f: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let (left, _) = left.as_chunks::<N>();
    let (right, _) = right.as_chunks_mut::<N>();
    left.iter().zip(right).for_each(|(a, b)| *b = f(*a, *b));
}

macro_rules! on {
    ($ty:ty, $f:expr) => {{
        fn kernel(left: &[u8], right: &mut [u8]) {
            let f: fn($ty, $ty) -> $ty = $f;
            each(left, right, |a, b| {
                f(<$ty>::from_ne_bytes(a), <$ty>::from_ne_bytes(b)).to_ne_bytes()
            });
        }
        kernel as Kernel
    }};
}

macro_rules! integer {
    ($op:expr, $ty:ty) => {
        match $op {
            MPI_SUM => Some(on!($ty, |a, b| a.wrapping_add(b))),
            MPI_PROD => Some(on!($ty, |a, b| a.wrapping_mul(b))),
            MPI_MIN => Some(on!($ty, |a, b| a.min(b))),
            MPI_MAX => Some(on!($ty, |a, b| a.max(b))),
            MPI_BAND => Some(on!($ty, |a, b| a & b)),
            MPI_BOR => Some(on!($ty, |a, b| a | b)),
            MPI_BXOR => Some(on!($ty, |a, b| a ^ b)),
            MPI_LAND => Some(on!($ty, |a, b| (a != 0 && b != 0).into())),
            MPI_LOR => Some(on!($ty, |a, b| (a != 0 || b != 0).into())),
            MPI_LXOR => Some(on!($ty, |a, b| ((a != 0) != (b != 0)).into())),
            _ => None,
        }
    };
}

macro_rules! float {
    ($op:expr, $ty:ty) => {
        match $op {
            MPI_SUM => Some(on!($ty, |a, b| a + b)),
            MPI_PROD => Some(on!($ty, |a, b| a * b)),
            MPI_MIN => Some(on!($ty, |a, b| if a < b || a.is_nan() { a } else { b })),
            MPI_MAX => Some(on!($ty, |a, b| if a > b || a.is_nan() { a } else { b })),
            _ => None,
        }
    };
}

macro_rules! complex {
    ($op:expr, $ty:ty, $size:expr) => {{
        const HALF: usize = $size / 2;
        fn parts(of: [u8; $size]) -> ($ty, $ty) {
            let (re, im) = of.split_at(HALF);
            let number = |bytes: &[u8]| <$ty>::from_ne_bytes(bytes.try_into().expect("half of it"));
            (number(re), number(im))
        }
        fn whole(re: $ty, im: $ty) -> [u8; $size] {
            let mut of = [0; $size];
            of[..HALF].copy_from_slice(&re.to_ne_bytes());
            of[HALF..].copy_from_slice(&im.to_ne_bytes());
            of
        }
        fn sum(left: &[u8], right: &mut [u8]) {
            each(left, right, |a, b| {
                let ((a, ai), (b, bi)) = (parts(a), parts(b));
                whole(a + b, ai + bi)
            });
        }
        fn product(left: &[u8], right: &mut [u8]) {
            each(left, right, |a, b| {
                let ((a, ai), (b, bi)) = (parts(a), parts(b));
                whole(a * b - ai * bi, a * bi + ai * b)
            });
        }
        match $op {
            MPI_SUM => Some(sum as Kernel),
            MPI_PROD => Some(product as Kernel),
            _ => None,
        }
    }};
}

/// A value and the rank or place that it comes from, an `int` unless it is named.
macro_rules! located {
    ($op:expr, $ty:ty) => {
        located!($op, $ty, i32)
    };
    ($op:expr, $ty:ty, $place:ty) => {{
        const VALUE: usize = size_of::<$ty>();
        const SIZE: usize = VALUE + size_of::<$place>();
        fn pick(a: [u8; SIZE], b: [u8; SIZE], before: fn(&$ty, &$ty) -> bool) -> [u8; SIZE] {
            let value =
                |of: &[u8]| <$ty>::from_ne_bytes(of[..VALUE].try_into().expect("its first part"));
            let place = |of: &[u8]| {
                <$place>::from_ne_bytes(of[VALUE..].try_into().expect("its second part"))
            };
            let (x, y) = (value(&a), value(&b));
            let first = before(&x, &y) || (!before(&y, &x) && place(&a) <= place(&b));
            if first { a } else { b }
        }
        fn min(left: &[u8], right: &mut [u8]) {
            each(left, right, |a, b| pick(a, b, |x, y| x < y));
        }
        fn max(left: &[u8], right: &mut [u8]) {
            each(left, right, |a, b| pick(a, b, |x, y| x > y));
        }
        match $op {
            MPI_MINLOC => Some(min as Kernel),
            MPI_MAXLOC => Some(max as Kernel),
            _ => None,
        }
    }};
}

/// The loop of a predefined operator on packed elements of a signature, if it is on these.
fn kernel(op: MPI_Op, runs: &[(Basic, u64)]) -> Option<Kernel> {
    match op {
        MPI_REPLACE => return Some(|left, right| right.copy_from_slice(left)),
        MPI_NO_OP => return Some(|_, _| {}),
        _ => {}
    }
    let is_located = [MPI_MINLOC, MPI_MAXLOC].contains(&op);
    match runs {
        [(basic, 2)] if is_located => located_of(op, basic, basic),
        [(basic, _)] => kernel_of(op, basic),
        [(value, 1), (place, 1)] => located_of(op, value, place),
        _ => None,
    }
}

/// The same on pairs of a value and its place.
fn located_of(op: MPI_Op, value: &Basic, place: &Basic) -> Option<Kernel> {
    use Holds::{Float, Signed};
    match (value.holds, value.size, place.holds, place.size) {
        (Signed, 4, Signed, 4) => located!(op, i32),
        (Signed, 8, Signed, 4) => located!(op, i64),
        (Signed, 2, Signed, 4) => located!(op, i16),
        (Float, 4, Signed, 4) => located!(op, f32),
        (Float, 8, Signed, 4) => located!(op, f64),
        (Float, 16, Signed, 4) => crate::extended::located(op),
        (Float, 4, Float, 4) => located!(op, f32, f32),
        (Float, 8, Float, 8) => located!(op, f64, f64),
        _ => None,
    }
}

/// The same on elements of one kind.
fn kernel_of(op: MPI_Op, Basic { holds, size }: &Basic) -> Option<Kernel> {
    use Holds::{Byte, Complex, Float, Logical, Signed, Unsigned};
    match (holds, size) {
        (Signed, 1) => integer!(op, i8),
        (Signed, 2) => integer!(op, i16),
        (Signed, 4) => integer!(op, i32),
        (Signed, _) => integer!(op, i64),
        (Unsigned, 1) => integer!(op, u8),
        (Unsigned, 2) => integer!(op, u16),
        (Unsigned, 4) => integer!(op, u32),
        (Unsigned, _) => integer!(op, u64),
        (Float, 4) => float!(op, f32),
        (Float, 8) => float!(op, f64),
        (Float, 16) => crate::extended::kernel(op),
        (Complex, 8) => complex!(op, f32, 8),
        (Complex, 16) => complex!(op, f64, 16),
        (Complex, _) => crate::extended::complex(op),
        (Logical, _) if ![MPI_LAND, MPI_LOR, MPI_LXOR].contains(&op) => None,
        (Logical, 1) => integer!(op, u8),
        (Logical, 2) => integer!(op, u16),
        (Logical, 4) => integer!(op, u32),
        (Logical, _) => integer!(op, u64),
        (Byte, _) if [MPI_BAND, MPI_BOR, MPI_BXOR].contains(&op) => integer!(op, u8),
        _ => None,
    }
}

/// Combines elements of two buffers of the same rank.
pub(crate) fn reduce_local(
    caller: &Caller,
    fold: &Fold,
    input: &Buffer<'_>,
    inout: &Buffer<'_>,
) -> Out {
    fold.check()?;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    input.pack(caller, &mut left)?;
    inout.pack(caller, &mut right)?;
    fold.combine(caller, &left, &mut right)?;
    inout.unpack(caller, &right)
}

/// Whether an operator commutes.
pub(crate) fn commutes(operator: &Operator) -> c_int {
    match operator {
        Operator::Predefined(op) => (*op != MPI_REPLACE).into(),
        Operator::Own(op) => op.commutes.into(),
    }
}

/// The head of a block of a collective: the signature, the call and the operator.
pub(crate) fn head(signature: u32, call: u16, op: u16, message: &mut Vec<Byte>) {
    append(&signature.to_le_bytes(), message);
    append(&call.to_le_bytes(), message);
    append(&op.to_le_bytes(), message);
}
