//! [`Plain`]: elements that mean the same in another process, and the numbers by which processes name their types.
//!
//! # Why this is sound
//!
//! Bytes are shown as elements of the type that [`Received::new`] was promised, if there are as many as it said, at an
//! address that is aligned for them, which is checked each time.
#![allow(unsafe_code)]

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::{OnceLock, RwLock};

use super::Element;
use super::elements::{Elements, Info};
use super::exact::summand::Summand;
use super::{ExactDot, ExactSum};
use crate::hash::Mix;

/// Elements that may be sent to another process: their bytes mean the same there.
///
/// Numbers, `bool` and `char` are plain, and arrays and pairs of what is plain. Every program knows the numbers, `bool`
/// and `char`, here `T`; arrays `[T; N]` of 1 to 8, of 16, of 32 and of 64 elements; and the pairs `(T, T)`, `(T, usize)`,
/// `(T, u64)`, `(T, u32)` and `(T, i32)`. [`World::plain`](crate::World::plain) makes any other type known.
///
/// # Safety
///
/// No value of the type has a pointer, a reference, or anything else that only its own process understands; its
/// alignment is at most 16; and all processes of the program are built from the same source by the same compiler.
///
/// # Examples
///
/// ```
/// use rankfold::{Plain, World};
///
/// #[derive(Clone, Copy)]
/// struct Particle {
///     place: [f64; 3],
///     mass: f64,
/// }
/// // SAFETY: four numbers.
/// unsafe impl Plain for Particle {}
///
/// World::new(2).plain::<Particle>().run(|comm| comm.barrier())?;
/// # Ok::<(), rankfold::WorldError>(())
/// ```
pub unsafe trait Plain: Element {}

// SAFETY: no bytes.
unsafe impl Plain for () {}
// SAFETY: plain elements one after another.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: two plain elements.
unsafe impl<A: Plain, B: Plain> Plain for (A, B) {}

// SAFETY: numbers, and a value of a few bits.
unsafe impl Plain for ExactSum {}
// SAFETY: as above.
unsafe impl Plain for ExactDot {}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            // SAFETY: a number, or a value of a few bits.
            unsafe impl Plain for $number {}
        )*

        /// The types that every program knows.
        fn known() -> Types {
            let mut types = Types::default();
            types.insert(Info::of::<()>());
            $(types.insert_forms::<$number>();)*
            for exact in [Info::of::<ExactSum>(), Info::of::<ExactDot>()] {
                types.insert(exact);
            }
            // What ranks exchange in a reduction by `SumExact`.
            types.insert(Info::of::<<f32 as Summand>::Wide>());
            types.insert(Info::of::<<f64 as Summand>::Wide>());
            types
        }
    };
}

numbers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char }

/// The types that this process knows, and their numbers.
#[derive(Default)]
struct Types {
    by_number: HashMap<u64, &'static Info>,
    by_type: HashMap<TypeId, u64>,
}

impl Types {
    /// Adds a type. Returns whether no other type has its number.
    fn insert(&mut self, info: &'static Info) -> bool {
        let number = number(info);
        let known = *self.by_number.entry(number).or_insert(info);
        let is_alone = known.is(info);
        if is_alone {
            self.by_type.insert(info.id(), number);
        }
        is_alone
    }

    /// Adds a number type, and arrays and pairs of it.
    fn insert_forms<T: Plain>(&mut self) {
        let arrays = [
            Info::of::<[T; 1]>(),
            Info::of::<[T; 2]>(),
            Info::of::<[T; 3]>(),
            Info::of::<[T; 4]>(),
            Info::of::<[T; 5]>(),
            Info::of::<[T; 6]>(),
            Info::of::<[T; 7]>(),
            Info::of::<[T; 8]>(),
            Info::of::<[T; 16]>(),
            Info::of::<[T; 32]>(),
            Info::of::<[T; 64]>(),
        ];
        let pairs = [
            Info::of::<(T, T)>(),
            Info::of::<(T, usize)>(),
            Info::of::<(T, u64)>(),
            Info::of::<(T, u32)>(),
            Info::of::<(T, i32)>(),
        ];
        self.insert(Info::of::<T>());
        for info in arrays.into_iter().chain(pairs) {
            self.insert(info);
        }
    }
}

/// The number of a type, alike in all processes: a hash of its identity, which several types of one name do not share, of
/// its name, size and alignment.
fn number(info: &'static Info) -> u64 {
    Mix::of(&(info.id(), info.name(), info.size(), info.align())).finish()
}

fn types() -> &'static RwLock<Types> {
    static TYPES: OnceLock<RwLock<Types>> = OnceLock::new();
    TYPES.get_or_init(|| RwLock::new(known()))
}

/// Makes a type known.
///
/// # Panics
///
/// If its alignment is more than 16, or if a type that is known has the same number.
#[track_caller]
pub(crate) fn know<T: Plain>() {
    let info = Info::of::<T>();
    assert!(
        info.align() <= 16,
        "{} is aligned to more than 16 bytes",
        info.name()
    );
    let alone = types().write().is_ok_and(|mut types| types.insert(info));
    assert!(
        alone,
        "{} cannot be told from another plain type",
        info.name()
    );
}

thread_local! {
    /// The last type that was asked for by this thread, and its number: a known type stays known.
    static LAST: Cell<Option<(&'static Info, u64)>> = const { Cell::new(None) };
}

/// Whether this is the last one, or else `find`, which is the last one then.
fn last_or(
    is: impl Fn(&(&'static Info, u64)) -> bool,
    find: impl FnOnce() -> Option<(&'static Info, u64)>,
) -> Option<(&'static Info, u64)> {
    let last = LAST.try_with(Cell::get).ok().flatten();
    if let Some(last) = last.filter(is) {
        return Some(last);
    }
    let found = find()?;
    let _ = LAST.try_with(|last| last.set(Some(found)));
    Some(found)
}

/// The number of a type that is known; a single value of it that is moved has none.
pub(crate) fn number_of(info: &'static Info) -> Option<u64> {
    info.vectors()?;
    let find = || {
        let number = types().read().ok()?.by_type.get(&info.id()).copied();
        Some((info, number?))
    };
    last_or(|(last, _)| last.is(info), find).map(|(_, number)| number)
}

/// The type with this number.
pub(crate) fn type_of(number: u64) -> Option<&'static Info> {
    let find = || {
        let info = types().read().ok()?.by_number.get(&number).copied();
        Some((info?, number))
    };
    last_or(|(_, last)| *last == number, find).map(|(info, _)| info)
}

/// Elements of a message, in the memory in which they have arrived.
pub(crate) struct Received {
    bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    count: usize,
    info: &'static Info,
}

impl Received {
    /// `count` elements.
    ///
    /// # Safety
    ///
    /// The bytes are those of elements of this type, in this process or in another one to which the type is known as
    /// plain.
    pub(crate) unsafe fn new(
        bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
        count: usize,
        info: &'static Info,
    ) -> Received {
        Received { bytes, count, info }
    }

    fn elements(&self) -> Option<Elements<'_>> {
        let bytes = (*self.bytes).as_ref();
        let is_whole = self.count.checked_mul(self.info.size()) == Some(bytes.len());
        let first = bytes.as_ptr();
        // SAFETY: the promise of `new`; they are as many, and aligned, as is checked here.
        let elements = || unsafe { Elements::from_raw(first, self.count, self.info) };
        (is_whole && first.addr().is_multiple_of(self.info.align())).then(elements)
    }
}

/// The elements of a message, if that is what it is and they are of this type.
pub(super) fn shown<'a>(info: &Info, received: &'a dyn Any) -> Option<Elements<'a>> {
    let received = received.downcast_ref::<Received>()?;
    let elements = received.elements()?;
    (elements.info().id() == info.id()).then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_one_name_have_different_numbers() {
        let one = {
            #[derive(Clone, Copy)]
            struct Own(#[allow(dead_code)] u8);
            Info::of::<Own>()
        };
        let other = {
            #[derive(Clone, Copy)]
            struct Own(#[allow(dead_code)] bool);
            Info::of::<Own>()
        };
        assert_eq!((one.name(), one.size()), (other.name(), other.size()));
        assert_ne!(number(one), number(other));
    }

    #[test]
    fn numbers_arrays_and_pairs_are_known_and_other_types_once_they_are_made_known() {
        #[derive(Clone, Copy)]
        struct Own;
        // SAFETY: no bytes.
        unsafe impl Plain for Own {}
        let is_known = |info: &'static Info| {
            let number = number_of(info);
            number.is_some_and(|number| type_of(number).is_some_and(|other| other.is(info)))
        };
        assert!(is_known(Info::of::<f64>()));
        assert!(is_known(Info::of::<[u8; 8]>()));
        assert!(is_known(Info::of::<(f32, usize)>()));
        assert!(!is_known(Info::of::<&'static str>()));
        assert!(!is_known(Info::of::<Own>()));
        know::<Own>();
        know::<Own>();
        assert!(is_known(Info::of::<Own>()));
    }
}
