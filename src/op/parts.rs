//! The operators on numbers, applied to arrays and tuples part by part.

use super::numbers::{And, LogicalAnd, LogicalOr, LogicalXor, Max, Min, Or, Product, Sum, Xor};
use super::{Element, Operator, OperatorKind};

macro_rules! by_part {
    ($($op:ident),*) => { $(
        /// Component by component.
        impl<T: Element, const K: usize> Operator<[T; K]> for $op
        where
            $op: Operator<T>,
        {
            #[inline(always)]
            fn combine(&self, left: [T; K], right: [T; K]) -> [T; K] {
                let mut parts = left;
                for (part, &right) in parts.iter_mut().zip(&right) {
                    *part = self.combine(*part, right);
                }
                parts
            }
            #[inline]
            fn commutes(&self) -> bool {
                Operator::<T>::commutes(self)
            }
            #[inline]
            fn kind(&self) -> OperatorKind {
                OperatorKind::$op
            }
        }
        tuples!($op);
    )* };
}
macro_rules! tuples {
    ($op:ident) => {
        tuples!(@ $op: A 0, B 1);
        tuples!(@ $op: A 0, B 1, C 2);
        tuples!(@ $op: A 0, B 1, C 2, D 3);
        tuples!(@ $op: A 0, B 1, C 2, D 3, E 4);
        tuples!(@ $op: A 0, B 1, C 2, D 3, E 4, F 5);
    };
    (@ $op:ident: $($t:ident $i:tt),*) => {
        /// Component by component.
        impl<$($t: Element),*> Operator<($($t,)*)> for $op
        where
            $($op: Operator<$t>),*
        {
            #[inline(always)]
            fn combine(&self, left: ($($t,)*), right: ($($t,)*)) -> ($($t,)*) {
                ($(self.combine(left.$i, right.$i),)*)
            }
            #[inline]
            fn commutes(&self) -> bool {
                $(Operator::<$t>::commutes(self))&&*
            }
            #[inline]
            fn kind(&self) -> OperatorKind {
                OperatorKind::$op
            }
        }
    };
}
by_part!(
    Sum, Product, Min, Max, And, Or, Xor, LogicalAnd, LogicalOr, LogicalXor
);
