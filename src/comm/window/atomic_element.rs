//! The numbers that an atomic window can have as elements.

use crate::op::Element;

/// The elements of an [`AtomicWindow`](crate::AtomicWindow): integers of up to 64 bits, floats and `bool`. No other
/// type can implement it.
pub trait AtomicElement: Element + sealed::Atomic {}

pub(super) mod sealed {
    /// A type with an atomic of the same size.
    pub trait Atomic: Copy {
        type Cell: Send + Sync + 'static;

        fn cell(self) -> Self::Cell;
        /// What was stored, and what its writer did before.
        fn load(cell: &Self::Cell) -> Self;
        fn store(cell: &Self::Cell, value: Self);
        /// Stores `new` if the value is `old`, bit by bit. The error is the value.
        fn exchange(cell: &Self::Cell, old: Self, new: Self) -> Result<Self, Self>;
    }
}

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize,
};

/// `$to` and `$from` convert a value to the type of the atomic and back.
macro_rules! atomic {
    ($($type:ty, $cell:ty, $to:expr, $from:expr;)*) => {$(
        impl AtomicElement for $type {}

        impl sealed::Atomic for $type {
            type Cell = $cell;

            fn cell(self) -> $cell {
                <$cell>::new($to(self))
            }

            #[inline]
            fn load(cell: &$cell) -> Self {
                // Acquire: pairs with the releases in `store` and `exchange`.
                $from(cell.load(Acquire))
            }

            #[inline]
            fn store(cell: &$cell, value: Self) {
                // Release: pairs with the acquires in `load` and `exchange`.
                cell.store($to(value), Release);
            }

            #[inline]
            fn exchange(cell: &$cell, old: Self, new: Self) -> Result<Self, Self> {
                // AcqRel: pairs with itself, and with `load` and `store`.
                let done = cell.compare_exchange($to(old), $to(new), AcqRel, Acquire);
                done.map($from).map_err($from)
            }
        }
    )*};
}

use std::convert::identity;

atomic! {
    u8, AtomicU8, identity, identity;
    u16, AtomicU16, identity, identity;
    u32, AtomicU32, identity, identity;
    u64, AtomicU64, identity, identity;
    usize, AtomicUsize, identity, identity;
    i8, AtomicI8, identity, identity;
    i16, AtomicI16, identity, identity;
    i32, AtomicI32, identity, identity;
    i64, AtomicI64, identity, identity;
    isize, AtomicIsize, identity, identity;
    bool, AtomicBool, identity, identity;
    f32, AtomicU32, f32::to_bits, f32::from_bits;
    f64, AtomicU64, f64::to_bits, f64::from_bits;
}
