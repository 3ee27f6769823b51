//! An operator chosen at run time: calls are compiled once for each element type, the loops for each operator.

use super::kinds::Op;
use crate::op::named::{Fold, Task};
use crate::op::{And, Max, Min, Operator, OperatorKind, Or, Product, Sum, Xor};

/// `$op` are the operators that these types have.
macro_rules! chosen {
    ($($t:ty),* => $all:tt) => { $( chosen!(@ $t => $all); )* };
    (@ $t:ty => ($($op:ident),*)) => {
        /// The operator with this name, in loops of its own. An element type that lacks it makes calls panic.
        impl Operator<$t> for Op {
            fn combine(&self, left: $t, right: $t) -> $t {
                match self {
                    $(Op::$op => $op.combine(left, right),)*
                    #[allow(unreachable_patterns)]
                    op => undefined(*op, stringify!($t)),
                }
            }

            fn commutes(&self) -> bool {
                true
            }

            #[inline]
            fn kind(&self) -> OperatorKind {
                OPERATOR_KINDS[*self as usize]
            }

            fn meant<F: Fold<$t>>(&self, Task(fold): Task<F>) {
                match self {
                    $(Op::$op => fold.with(&$op),)*
                    #[allow(unreachable_patterns)]
                    op => undefined(*op, stringify!($t)),
                }
            }
        }
    };
}
chosen!(i32, i64, u8, u32, u64 => (Sum, Product, Min, Max, And, Or, Xor));
chosen!(f32, f64 => (Sum, Product, Min, Max));

const OPERATOR_KINDS: [OperatorKind; 7] = [
    OperatorKind::Sum,
    OperatorKind::Product,
    OperatorKind::Min,
    OperatorKind::Max,
    OperatorKind::And,
    OperatorKind::Or,
    OperatorKind::Xor,
];

#[cold]
fn undefined(op: Op, of: &str) -> ! {
    panic!("{op} is not defined for {of}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Type;
    use crate::op::{fold_left, fold_right, fold_two};

    const ALL: [Op; 7] = [
        Op::Sum,
        Op::Product,
        Op::Min,
        Op::Max,
        Op::And,
        Op::Or,
        Op::Xor,
    ];

    #[test]
    fn every_fold_is_that_of_the_operator_with_this_name() {
        let right: Vec<u32> = (0..100).map(|i| 7 * i + 3).collect();
        let left: Vec<u32> = (0..100).map(|i| 1000 - i).collect();
        for op in ALL {
            let one = |(&a, &b): (&u32, &u32)| -> u32 { op.combine(a, b) };
            let expected: Vec<u32> = left.iter().zip(&right).map(one).collect();
            let (mut a, mut b, mut c) = (left.clone(), right.clone(), right.clone());
            fold_right(&op, &mut a, &right);
            fold_left(&op, &mut b, &left);
            fold_two(&op, &mut c, &left, &right);
            assert_eq!([a, b, c], [&expected, &expected, &expected].map(Vec::clone));
            let kind = Operator::<u32>::kind(&op);
            assert_eq!(format!("{kind:?}").to_lowercase(), op.name());
            assert!(Operator::<u32>::commutes(&op) && op.folds(Type::U32));
        }
        let sum: f64 = Op::Sum.combine(1.5, 2.0);
        assert_eq!(sum, 3.5);
    }

    #[test]
    #[should_panic(expected = "xor is not defined for f32")]
    fn what_floats_do_not_have_is_refused() {
        fold_right(&Op::Xor, &mut [1f32; 40], &[1.0; 40]);
    }
}
