//! The type signature of a fused call: types, lengths and operators of its vectors, and where each lies in a block.
//!
//! Equal signatures are one, in the whole process: each is made once and kept for ever, so ranks compare signatures
//! exactly by comparing two numbers. Their memory is bounded: after [`MOST`] vectors, no new signature is made. Whether
//! a signature is known is then the same for all ranks, at all times.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::OperatorKind;
use super::elements::Info;

/// The number of bytes behind the vectors of a block.
pub(crate) const TAIL: usize = size_of::<u64>();

/// The alignment of a block: vectors of a stricter alignment have no place in one.
pub(crate) const ALIGNMENT: usize = 64;

/// The number of bytes of the longest block.
pub(crate) const LONGEST: usize = 4096;

/// The number of vectors in all signatures of the process.
const MOST: usize = 1 << 16;

/// The number of vectors that are compared with a signature while they are listed.
pub(crate) const FEW: usize = 8;

/// The number of vectors that are printed.
const SHOWN: usize = 16;

/// What ranks must agree on about one vector.
#[derive(Clone, Copy)]
pub(crate) struct Vector {
    pub info: &'static Info,
    pub count: usize,
    pub op: OperatorKind,
    pub commutes: bool,
}

impl Vector {
    /// 0 if everything is the same, also the address of the type's description. Without a branch.
    #[inline(always)]
    fn differs(&self, other: &Vector) -> usize {
        let address = |of: &Vector| ptr::from_ref(of.info).addr();
        let op = |of: &Vector| u16::from_ne_bytes([of.op as u8, of.commutes.into()]);
        let others = usize::from(op(self) ^ op(other)) | (self.count ^ other.count);
        (address(self) ^ address(other)) | others
    }

    #[inline]
    fn is(&self, other: &Vector) -> bool {
        let plain = |of: &Vector| (of.count, of.op, of.commutes);
        self.info.is(other.info) && plain(self) == plain(other)
    }

    /// Its bytes in a block in which the first `end` bytes are taken; `None` if there is no room.
    #[inline]
    pub(crate) fn after(&self, end: usize) -> Option<Range<usize>> {
        let first = aligned(end, self.info.align());
        // A slice has at most isize::MAX bytes.
        let end = first + self.count * self.info.size();
        let fits = end + TAIL <= LONGEST && self.info.align() <= ALIGNMENT;
        fits.then_some(first..end)
    }

    fn key(&self) -> Key {
        (self.info.id(), self.count, self.op as u8, self.commutes)
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, name, op) = (self.count, self.info.name(), self.op);
        write!(f, "all_reduce({count} x {name}, {op:?})")
    }
}

/// A vector and its place.
pub(crate) struct Slot {
    /// The key of the first such vector that was compared with this one in full; 0: none was.
    seen: AtomicUsize,
    pub vector: Vector,
    /// Its first byte in the block.
    pub first: usize,
    /// The number of its bytes.
    pub bytes: usize,
}

impl Slot {
    /// What stands behind the last vector.
    const fn none() -> Slot {
        let vector = Vector {
            info: Info::of_value::<Slot>(),
            count: 0,
            op: OperatorKind::None,
            commutes: false,
        };
        Slot::new(vector, 0, 0)
    }

    const fn new(vector: Vector, first: usize, bytes: usize) -> Slot {
        Slot {
            seen: AtomicUsize::new(0),
            vector,
            first,
            bytes,
        }
    }

    /// Whether a vector with this key and length is known to be this one.
    #[inline(always)]
    pub(super) fn is_as_seen(&self, key: usize, count: usize) -> bool {
        // Relaxed: the number alone is compared, and true of this slot whoever has stored it.
        self.seen.load(Ordering::Relaxed) == key && self.vector.count == count
    }

    /// Takes note of the key of such a vector, unless there is one: it would be taken in turns from ranks that list others.
    pub(super) fn see(&self, key: usize) {
        // Relaxed: as above, and of two that store one stays.
        if self.seen.load(Ordering::Relaxed) == 0 {
            self.seen.store(key, Ordering::Relaxed);
        }
    }
}

/// The first slots of no signature.
pub(super) static NO_SLOTS: [Slot; FEW] = [const { Slot::none() }; FEW];

/// The vectors of a fused call, in their order.
pub(crate) struct Signature {
    /// Not 0.
    id: u32,
    /// Those of the vectors and, if they are few, [`Slot::none`] behind them up to the number [`FEW`].
    slots: Box<[Slot]>,
    /// The number of vectors.
    count: usize,
    bytes: usize,
}

impl Signature {
    /// The signature of these vectors; `None` if they do not fit into a block, or if it is new and there are too many.
    #[cold]
    pub(crate) fn of(vectors: impl Iterator<Item = Vector>) -> Option<&'static Signature> {
        let slots = placed(vectors)?;
        let mut known = KNOWN.lock();
        let keys = slots.iter().map(|slot| slot.vector.key()).collect();
        if let Some(signature) = known.signatures.get(&keys) {
            return Some(signature);
        }
        let vectors = known.vectors + slots.len() + 1;
        if vectors > MOST {
            return None;
        }
        known.vectors = vectors;
        let signature = Signature::new(known.signatures.len() as u32 + 1, slots);
        let signature: &'static Signature = Box::leak(Box::new(signature));
        known.signatures.insert(keys, signature);
        Some(signature)
    }

    fn new(id: u32, mut slots: Vec<Slot>) -> Signature {
        let (count, last) = (slots.len(), slots.last());
        let bytes = last.map_or(0, |slot| slot.first + slot.bytes);
        slots.resize_with(count.max(FEW), Slot::none);
        Signature {
            id,
            slots: slots.into(),
            count,
            bytes,
        }
    }

    /// A number that no other signature has, and that is not 0.
    #[inline]
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots[..self.count]
    }

    /// The first slots, whether there are vectors for all of them or not.
    #[inline]
    pub(super) fn few(&self) -> &[Slot; FEW] {
        self.slots.first_chunk().expect("there are so many")
    }

    /// The number of bytes up to the end of the last vector.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn commutes(&self) -> bool {
        self.slots().iter().all(|slot| slot.vector.commutes)
    }

    /// Whether it is the signature of vectors.
    #[inline(always)]
    pub(crate) fn is_of(&self, vectors: impl ExactSizeIterator<Item = Vector> + Clone) -> bool {
        if vectors.len() != self.count {
            return false;
        }
        let both = self.slots().iter().zip(vectors);
        let differ = both.clone().fold(0, |differ, (slot, vector)| {
            differ | slot.vector.differs(&vector)
        });
        // Of one type there may be several descriptions.
        differ == 0 || { both }.all(|(slot, vector)| slot.vector.is(&vector))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, slot) in self.slots().iter().take(SHOWN).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{}", slot.vector)?;
        }
        match self.count.saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

/// The first multiple of an alignment, which is a power of two, from `end` on.
#[inline]
fn aligned(end: usize, alignment: usize) -> usize {
    (end + alignment - 1) & !(alignment - 1)
}

/// The vectors in their places, one behind the other; `None` if there is no room.
fn placed(vectors: impl Iterator<Item = Vector>) -> Option<Vec<Slot>> {
    let mut end = 0;
    let slots = vectors.map(|vector| {
        let place = vector.after(end)?;
        end = place.end;
        Some(Slot::new(vector, place.start, place.len()))
    });
    slots.collect()
}

/// What distinguishes a vector from others.
type Key = (TypeId, usize, u8, bool);

/// The signatures of the process.
struct Known {
    signatures: BTreeMap<Vec<Key>, &'static Signature>,
    /// The number of vectors in them, and one for each signature.
    vectors: usize,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    signatures: BTreeMap::new(),
    vectors: 0,
});

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::op::Element;

    fn vector<T: Element>(count: usize, op: OperatorKind) -> Vector {
        Vector {
            info: Info::of::<T>(),
            count,
            op,
            commutes: true,
        }
    }

    fn of(vectors: &[Vector]) -> Option<&'static Signature> {
        Signature::of(vectors.iter().copied())
    }

    #[test]
    fn equal_signatures_are_one_and_all_others_differ() {
        use OperatorKind::{Max, Sum};
        let (a, b) = (vector::<u64>(3, Sum), vector::<u64>(3, Max));
        let (c, d) = (vector::<i64>(3, Sum), vector::<u64>(2, Sum));
        let other = Vector {
            commutes: false,
            ..a
        };
        let lists: &[&[Vector]] = &[
            &[],
            &[a],
            &[b],
            &[c],
            &[d],
            &[other],
            &[a, a],
            &[a, b],
            &[b, a],
        ];
        for (i, one) in lists.iter().enumerate() {
            for (j, other) in lists.iter().enumerate() {
                let (one, same) = (of(one).unwrap(), of(other).unwrap());
                assert_eq!(one.id() == same.id(), i == j, "{one} and {same}");
                assert_eq!(one.is_of(other.iter().copied()), i == j, "{one}");
            }
        }
    }

    #[test]
    fn vectors_lie_aligned_one_behind_the_other() {
        #[derive(Clone, Copy)]
        #[repr(align(32))]
        struct Aligned;
        let sum = OperatorKind::Sum;
        let list = [
            vector::<u8>(3, sum),
            vector::<Aligned>(7, sum),
            vector::<u16>(2, sum),
            vector::<f64>(0, sum),
            vector::<u128>(1, sum),
        ];
        let places = |slot: &Slot| slot.first..slot.first + slot.bytes;
        let places: Vec<_> = of(&list).unwrap().slots().iter().map(places).collect();
        assert_eq!(places, [0..3, 32..32, 32..36, 40..40, 48..64]);
    }

    #[test]
    fn a_block_has_room_for_its_length_only() {
        let bytes = |count| vector::<u8>(count, OperatorKind::Sum);
        assert_eq!(of(&[bytes(4088)]).unwrap().bytes(), 4088);
        assert!(of(&[bytes(4089)]).is_none());
        assert!(of(&[bytes(4088), bytes(0)]).is_some());
        assert!(of(&[bytes(4088), bytes(1)]).is_none());
        #[derive(Clone, Copy)]
        #[repr(align(128))]
        struct Aligned;
        assert!(of(&[vector::<Aligned>(0, OperatorKind::Sum)]).is_none());
        assert!(vector::<()>(usize::MAX, OperatorKind::Sum).after(8) == Some(8..8));
    }
}
