//! Sum and product of the complex numbers of the crate `num-complex`.

use num_complex::Complex;

use super::{Operator, OperatorKind, Product, Sum};

macro_rules! complex {
    ($($t:ty),*) => { $(
        complex!(Sum: $t => |a, b| a + b);
        complex!(Product: $t => |a, b| a * b);
    )* };
    ($op:ident: $t:ty => $f:expr) => {
        impl Operator<Complex<$t>> for $op {
            #[inline(always)]
            fn combine(&self, left: Complex<$t>, right: Complex<$t>) -> Complex<$t> {
                let f: fn(Complex<$t>, Complex<$t>) -> Complex<$t> = $f;
                f(left, right)
            }
            #[inline]
            fn commutes(&self) -> bool {
                true
            }
            #[inline]
            fn kind(&self) -> OperatorKind {
                OperatorKind::$op
            }
        }
    };
}
complex!(f32, f64);
