//! The type signature of a fused call: types, lengths and operators of its vectors, and where each lies in a block.
//!
//! Equal signatures have one number, in the whole process, so ranks compare signatures exactly by comparing two numbers.
//! Their operators may be of several types, as two closures are: of each signature there are a few variants, by the keys of
//! their vectors, so that what a line lists is compared with what the same line has listed before. All have the same types,
//! lengths, places, kinds and laws. Each is made once and kept for ever. Their memory is bounded: after [`MOST`] vectors
//! no new signature is made, and after as many in variants, or [`VARIANTS`] of one signature, no new variant. Whether a
//! signature is known is then the same for all ranks, at all times.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::ptr;

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

/// The number of variants of a signature.
const VARIANTS: usize = 16;

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
    /// The number of the [key](super::listed::Key) with which it is listed. Ranks need not agree about it.
    pub key: usize,
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
    pub vector: Vector,
    /// Its first byte in the block.
    pub first: usize,
    /// The number of its bytes.
    pub bytes: usize,
}

impl Slot {
    /// What stands behind the last vector: no key is 0.
    const NONE: Slot = Slot {
        vector: Vector {
            info: Info::of_value::<Slot>(),
            count: 0,
            op: OperatorKind::None,
            commutes: false,
            key: 0,
        },
        first: 0,
        bytes: 0,
    };

    /// Whether a vector with this key and length is this one.
    #[inline(always)]
    pub(super) fn has(&self, key: usize, count: usize) -> bool {
        self.vector.key == key && self.vector.count == count
    }
}

/// The first slots of no signature.
pub(super) static NO_SLOTS: [Slot; FEW] = [Slot::NONE; FEW];

/// The vectors of a fused call, in their order.
pub(crate) struct Signature {
    /// Not 0.
    id: u32,
    /// Those of the vectors and, if they are few, [`Slot::NONE`] behind them up to the number [`FEW`].
    slots: Box<[Slot]>,
    /// The number of vectors.
    count: usize,
    bytes: usize,
}

impl Signature {
    /// The signature of these vectors, with their keys unless it has too many variants; `None` if they do not fit into a
    /// block, or if it is new and there are too many.
    #[cold]
    pub(crate) fn of(vectors: impl Iterator<Item = Vector>) -> Option<&'static Signature> {
        KNOWN.lock().signature(placed(vectors)?)
    }

    fn leaked(id: u32, slots: Vec<Slot>) -> &'static Signature {
        Box::leak(Box::new(Signature::new(id, slots)))
    }

    fn new(id: u32, mut slots: Vec<Slot>) -> Signature {
        let (count, last) = (slots.len(), slots.last());
        let bytes = last.map_or(0, |slot| slot.first + slot.bytes);
        slots.resize_with(count.max(FEW), || Slot::NONE);
        Signature {
            id,
            slots: slots.into(),
            count,
            bytes,
        }
    }

    /// A number that no other signature has but its variants, and that is not 0.
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

    /// Whether it is that of these vectors, and has their keys.
    pub(crate) fn has_keys_of(&self, vectors: impl ExactSizeIterator<Item = Vector>) -> bool {
        let same_number = vectors.len() == self.count;
        let mut both = self.slots().iter().zip(vectors);
        same_number && both.all(|(slot, vector)| slot.has(vector.key, vector.count))
    }

    /// Whether it is the signature of vectors, with whatever keys.
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
        Some(Slot {
            vector,
            first: place.start,
            bytes: place.len(),
        })
    });
    slots.collect()
}

/// What distinguishes a vector from others.
type Key = (TypeId, usize, u8, bool);

/// The signatures of the process.
struct Known {
    /// The variants of each.
    signatures: BTreeMap<Vec<Key>, Vec<&'static Signature>>,
    /// The number of vectors in the first variant of each, and one for each signature.
    vectors: usize,
    /// The same of all other variants.
    in_variants: usize,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    signatures: BTreeMap::new(),
    vectors: 0,
    in_variants: 0,
});

impl Known {
    /// The signature of vectors in these places.
    fn signature(&mut self, slots: Vec<Slot>) -> Option<&'static Signature> {
        let keys: Vec<Key> = slots.iter().map(|slot| slot.vector.key()).collect();
        let number = self.signatures.len() as u32 + 1;
        let Some(variants) = self.signatures.get_mut(&keys) else {
            self.vectors = Some(self.vectors + slots.len() + 1).filter(|sum| *sum <= MOST)?;
            let signature = Signature::leaked(number, slots);
            self.signatures.insert(keys, vec![signature]);
            return Some(signature);
        };
        let vectors = || slots.iter().map(|slot| slot.vector);
        if let Some(same) = variants.iter().find(|it| it.has_keys_of(vectors())) {
            return Some(same);
        }
        let first = variants[0];
        if variants.len() < VARIANTS && self.in_variants + slots.len() < MOST {
            self.in_variants += slots.len() + 1;
            variants.push(Signature::leaked(first.id, slots));
        }
        variants.last().copied()
    }
}

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
            key: 1,
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
