//! Reductions of `MPI_LONG_DOUBLE`, which is C's `long double`: on x86-64 a number of 80 bits in 16 bytes, for which Rust
//! has no type. On other processors there are none.
//!
//! # Why this is sound
//!
//! The instructions read and write 10 bytes at addresses of arrays of 16, and leave the stack of the floating-point unit as
//! it was.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code))]

use crate::abi::MPI_Op;

/// What combines packed numbers.
type Kernel = fn(&[u8], &mut [u8]);

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn kernel(_op: MPI_Op) -> Option<Kernel> {
    None
}

/// The loop of an operator, if it is on these numbers.
#[cfg(target_arch = "x86_64")]
pub(crate) fn kernel(op: MPI_Op) -> Option<Kernel> {
    use crate::abi::{MPI_MAX, MPI_MIN, MPI_PROD, MPI_SUM};
    match op {
        MPI_SUM => Some(|left, right| each(left, right, sum)),
        MPI_PROD => Some(|left, right| each(left, right, product)),
        MPI_MIN => Some(|left, right| each(left, right, |a, b| if below(a, b) { *a } else { *b })),
        MPI_MAX => Some(|left, right| each(left, right, |a, b| if below(b, a) { *a } else { *b })),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn located(_op: MPI_Op) -> Option<Kernel> {
    None
}

/// The loop of `MPI_MINLOC` or `MPI_MAXLOC` on these numbers, each with a place.
#[cfg(target_arch = "x86_64")]
pub(crate) fn located(op: MPI_Op) -> Option<Kernel> {
    use crate::abi::{MPI_MAXLOC, MPI_MINLOC};
    match op {
        MPI_MINLOC => Some(|left, right| each_located(left, right, below)),
        MPI_MAXLOC => Some(|left, right| each_located(left, right, |a, b| below(b, a))),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn complex(_op: MPI_Op) -> Option<Kernel> {
    None
}

/// The loop of an operator on complex numbers of these.
#[cfg(target_arch = "x86_64")]
pub(crate) fn complex(op: MPI_Op) -> Option<Kernel> {
    use crate::abi::{MPI_PROD, MPI_SUM};
    match op {
        // The sum of each part.
        MPI_SUM => kernel(op),
        MPI_PROD => Some(each_product),
        _ => None,
    }
}

#[cfg(target_arch = "x86_64")]
fn each_product(left: &[u8], right: &mut [u8]) {
    let (left, _) = left.as_chunks::<16>();
    let (right, _) = right.as_chunks_mut::<16>();
    for (a, b) in left.chunks_exact(2).zip(right.chunks_exact_mut(2)) {
        let real = sum(&product(&a[0], &b[0]), &negative(product(&a[1], &b[1])));
        let imaginary = sum(&product(&a[0], &b[1]), &product(&a[1], &b[0]));
        (b[0], b[1]) = (real, imaginary);
    }
}

/// The sign is the highest bit of the 80.
#[cfg(target_arch = "x86_64")]
fn negative(mut of: Number) -> Number {
    of[9] ^= 0x80;
    of
}

/// Takes of each two elements the one whose number is before that of the other, or of equal ones the lower place.
#[cfg(target_arch = "x86_64")]
fn each_located(left: &[u8], right: &mut [u8], before: fn(&Number, &Number) -> bool) {
    let parts = |of: &[u8; 20]| {
        let (number, [place]) = (*of.first_chunk::<16>()?, of[16..].as_chunks::<4>().0) else {
            return None;
        };
        Some((number, i32::from_ne_bytes(*place)))
    };
    let (left, _) = left.as_chunks::<20>();
    let (right, _) = right.as_chunks_mut::<20>();
    for (a, b) in left.iter().zip(right) {
        let (Some((x, here)), Some((y, there))) = (parts(a), parts(b)) else {
            continue;
        };
        if before(&x, &y) || (!before(&y, &x) && here <= there) {
            *b = *a;
        }
    }
}

#[cfg(target_arch = "x86_64")]
type Number = [u8; 16];

#[cfg(target_arch = "x86_64")]
fn each(left: &[u8], right: &mut [u8], f: fn(&Number, &Number) -> Number) {
    let (left, _) = left.as_chunks::<16>();
    let (right, _) = right.as_chunks_mut::<16>();
    left.iter().zip(right).for_each(|(a, b)| *b = f(a, b));
}

#[cfg(target_arch = "x86_64")]
macro_rules! arithmetic {
    ($name:ident, $instruction:literal) => {
        fn $name(a: &Number, b: &Number) -> Number {
            let mut result = [0; 16];
            // SAFETY: as the head of this file says.
            unsafe {
                std::arch::asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $instruction,
                    "fstp tbyte ptr [{result}]",
                    a = in(reg) a, b = in(reg) b, result = in(reg) &mut result,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }
    };
}
#[cfg(target_arch = "x86_64")]
arithmetic!(sum, "faddp st(1), st");
#[cfg(target_arch = "x86_64")]
arithmetic!(product, "fmulp st(1), st");

/// Whether `a` is less than `b`, or is no number.
#[cfg(target_arch = "x86_64")]
fn below(a: &Number, b: &Number) -> bool {
    let below: u8;
    // SAFETY: as the head of this file says.
    unsafe {
        std::arch::asm!(
            "fld tbyte ptr [{b}]",
            "fld tbyte ptr [{a}]",
            "fcomip st, st(1)",
            "fstp st(0)",
            "setb {below}",
            a = in(reg) a, b = in(reg) b, below = out(reg_byte) below,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack),
        );
    }
    // An unordered comparison sets the same flag.
    below != 0
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::abi::{MPI_BAND, MPI_MAX, MPI_MIN, MPI_PROD, MPI_SUM};

    /// A positive or negative integer as a number of 80 bits: sign, exponent, and a significand with its leading one.
    fn number(value: i64) -> Number {
        let mut bytes = [0; 16];
        if value != 0 {
            let size = value.unsigned_abs();
            let shift = size.leading_zeros();
            bytes[..8].copy_from_slice(&(size << shift).to_le_bytes());
            let sign = if value < 0 { 0x8000 } else { 0 };
            let exponent = (16383 + 63 - shift) as u16 | sign;
            bytes[8..10].copy_from_slice(&exponent.to_le_bytes());
        }
        bytes
    }

    fn folded(op: MPI_Op, a: i64, b: i64) -> Number {
        let mut right = number(b);
        kernel(op).unwrap()(&number(a), &mut right);
        right[10..].fill(0);
        right
    }

    #[test]
    fn integers_are_combined_as_integers_are() {
        for a in [0, 1, -1, 7, -50, 1 << 40, -(1 << 30)] {
            for b in [0, 1, -3, 8, 12345, -(1 << 20)] {
                assert_eq!(folded(MPI_SUM, a, b), number(a + b), "{a} + {b}");
                assert_eq!(folded(MPI_MIN, a, b), number(a.min(b)), "min of {a}, {b}");
                assert_eq!(folded(MPI_MAX, a, b), number(a.max(b)), "max of {a}, {b}");
                if a * b != 0 {
                    assert_eq!(folded(MPI_PROD, a, b), number(a * b), "{a} * {b}");
                }
            }
        }
        assert!(kernel(MPI_BAND).is_none());
    }

    #[test]
    fn complex_numbers_of_them_are_multiplied_as_pairs() {
        let pair = |a: i64, b: i64| [number(a), number(b)].concat();
        let mut right = pair(5, -7);
        complex(MPI_PROD).unwrap()(&pair(2, 3), &mut right);
        right[10..16].fill(0);
        right[26..].fill(0);
        assert_eq!(right, pair(2 * 5 + 3 * 7, -2 * 7 + 3 * 5));
        assert!(complex(MPI_MIN).is_none());
    }
}
