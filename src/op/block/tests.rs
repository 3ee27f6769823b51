//! Lists of vectors, packed and folded: each by its own operator, and none that is of another signature.

use std::rc::Rc;

use super::*;
use crate::op::{Max, Sum};

fn named<T: Element>(op: &impl Operator<T>) -> (OperatorKind, bool) {
    (op.kind(), op.commutes())
}

impl<'a> FusedVector<'a> {
    fn of<T: Element>(data: &'a mut [T], op: impl Operator<T> + 'a) -> Self {
        let named = named(&op);
        FusedVector::new(data, op, named)
    }
}

impl<'a> List<'a> {
    fn add<T: Element>(&mut self, data: &'a mut [T], op: impl Operator<T> + 'a) {
        let named = named(&op);
        self.push(data, op, named);
    }
}

fn signature(parts: &[FusedVector<'_>]) -> &'static Signature {
    Signature::of(parts.iter().map(FusedVector::vector)).unwrap()
}

fn parts<'p, 'a>(parts: &'p mut [FusedVector<'a>]) -> FusedVectors<'p, 'a> {
    FusedVectors::new(signature(parts), parts).unwrap()
}

type Three = ([u8; 2], [(u8, u64); 1], [i128; 3]);

fn three(v: &mut Three) -> [FusedVector<'_>; 3] {
    let second = |_: (u8, u64), right: (u8, u64)| right;
    let (a, b, c) = v;
    [
        FusedVector::of(a, Max),
        FusedVector::of(b, second),
        FusedVector::of(c, Sum),
    ]
}

const A: Three = ([3, 4], [(1, 2)], [7; 3]);
const B: Three = ([9, 1], [(5, 6)], [-8; 3]);

#[test]
fn every_vector_is_folded_by_its_own_operator_in_its_order() {
    let (mut a, mut b, mut c) = (A, B, A);
    let (mut left, mut right, mut out) = (three(&mut a), three(&mut b), three(&mut c));
    let (left, right) = (parts(&mut left), parts(&mut right));
    let folded = left
        .operator()
        .combine(left.block::<120>(), right.block::<120>());
    assert_eq!(parts(&mut out).unpack_block(&folded), Ok(()));
    drop(out);
    assert_eq!(c, ([9, 4], [(5, 6)], [-1; 3]));
}

#[test]
fn vectors_are_folded_into_those_of_a_rank_from_either_side() {
    let fold = |fold: fn(&mut FusedVectors<'_, '_>, Packed<'_>)| {
        let (mut a, mut b) = (A, B);
        let (mut ours, mut theirs) = (three(&mut a), three(&mut b));
        let signature = signature(&ours);
        let theirs = parts(&mut theirs).block::<120>();
        fold(&mut parts(&mut ours), theirs.packed(signature).unwrap());
        drop(ours);
        a
    };
    let right = fold(|ours, theirs| ours.fold_right(theirs));
    assert_eq!(right, ([9, 4], [(5, 6)], [-1; 3]));
    let left = fold(|ours, theirs| ours.fold_left(theirs));
    assert_eq!(left, ([9, 4], [(1, 2)], [-1; 3]));
    assert_eq!(fold(|ours, theirs| ours.unpack(theirs)), B);
}

#[test]
fn blocks_of_different_vectors_are_not_folded_and_hold_nothing() {
    let (mut a, mut b) = ([1u64], [2i64]);
    let never = |_: u64, _: u64| -> u64 { panic!("it was folded") };
    let mut list = [FusedVector::of(&mut a, never)];
    let mut theirs = [FusedVector::of(&mut b, |left: i64, _: i64| left)];
    let mut ours = parts(&mut list);
    let (own, other) = (ours.block::<56>(), parts(&mut theirs).block::<56>());
    assert_ne!(own.tail, other.tail);
    let mixed = ours.operator().combine(own, other);
    for (left, right) in [(other, own), (own, mixed), (mixed, own), (mixed, mixed)] {
        assert_eq!(ours.operator().combine(left, right).tail, 0);
    }
    for block in [mixed, other] {
        assert_eq!(ours.unpack_block(&block), Err(OtherVectors));
    }
    drop(list);
    assert_eq!(a, [1]);
}

#[test]
fn packed_vectors_of_another_signature_are_not_folded() {
    let (mut a, mut b) = ([1u64], [2i64]);
    let mut theirs = [FusedVector::of(&mut b, Sum)];
    let (signature, other) = (signature(&theirs), parts(&mut theirs).block::<56>());
    let packed = other.packed(signature).unwrap();
    let folds: [fn(&mut FusedVectors<'_, '_>, Packed<'_>); 3] = [
        |ours, theirs| ours.unpack(theirs),
        |ours, theirs| ours.fold_right(theirs),
        |ours, theirs| ours.fold_left(theirs),
    ];
    for fold in folds {
        let mut list = [FusedVector::of(&mut a, Sum)];
        let fold = || fold(&mut parts(&mut list), packed);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fold)).is_err());
    }
    assert_eq!(a, [1]);
}

#[test]
fn vectors_have_one_signature() {
    let (mut a, mut b) = ([1u64], [2i64]);
    let (mut ours, theirs) = (
        [FusedVector::of(&mut a, Sum)],
        [FusedVector::of(&mut b, Sum)],
    );
    assert!(FusedVectors::new(signature(&theirs), &mut ours).is_none());
    assert!(FusedVectors::new(signature(&[]), &mut ours).is_none());
    assert!(FusedVectors::new(signature(&ours), &mut ours).is_some());
}

#[test]
fn lists_with_closures_of_several_types_have_variants_of_one_signature() {
    let (mut a, mut b) = ([1u64], [2u64]);
    let mut sums = [FusedVector::of(&mut a, |left: u64, right: u64| {
        left + right
    })];
    let mut most = [FusedVector::of(&mut b, |left: u64, right: u64| {
        left.max(right)
    })];
    let (of_sums, of_most) = (signature(&sums), signature(&most));
    assert_eq!(of_sums.id(), of_most.id());
    let has = |signature: &Signature, list: &[FusedVector<'_>]| {
        signature.has_keys_of(list.iter().map(FusedVector::vector))
    };
    assert!(has(of_sums, &sums) && has(of_most, &most));
    assert!(!has(of_sums, &most) && !has(of_most, &sums) && !has(of_sums, &[]));
    assert!(std::ptr::eq(signature(&sums), of_sums));
    assert!(FusedVectors::new(of_sums, &mut most).is_some());
    assert!(FusedVectors::new(of_most, &mut sums).is_some());
}

#[test]
fn every_operator_of_a_list_is_dropped_once() {
    for count in [0, 1, 7, 8, 9, 30] {
        let dropped = Rc::new(());
        let mut data = vec![[1u8]; count];
        let mut list = List::new(None);
        for (at, one) in data.iter_mut().enumerate() {
            // One that has something to drop is among others.
            match at % 3 {
                0 => list.add(one, Sum),
                _ => {
                    let held = dropped.clone();
                    list.add(one, move |a: u8, b: u8| {
                        a + b + Rc::strong_count(&held) as u8
                    });
                }
            }
        }
        assert_eq!(list.all().len(), count);
        assert_eq!(Rc::strong_count(&dropped), 1 + count - count.div_ceil(3));
        drop(list);
        assert_eq!(Rc::strong_count(&dropped), 1);
    }
}

/// Whether a list has the likely signature of a `u64` that is summed and an `i64` of which the most is sought, if it has
/// `count` vectors, of which the first has this length and the second this operator.
fn is_likely(length: usize, second: fn(&mut List<'_>), count: usize) -> bool {
    let (mut a, mut b, mut c) = ([1u64; 2], [2i64], [[0u8]; 9]);
    let likely = signature(&[
        FusedVector::of(&mut a[..1], Sum),
        FusedVector::of(&mut b, Max),
    ]);
    let mut list = List::new(Some(likely));
    list.add(&mut a[..length], Sum);
    if count > 1 {
        second(&mut list);
    }
    let more = c.iter_mut().take(count.saturating_sub(2));
    more.for_each(|one| list.add(one, Sum));
    let found = list.as_likely().map(|parts| parts.signature().id());
    assert_eq!(list.all().len(), count);
    assert!(found.is_none_or(|id| id == likely.id()));
    found.is_some()
}

/// A vector that lives as long as a list.
fn leaked<T>(data: T) -> &'static mut T {
    Box::leak(Box::new(data))
}

#[test]
fn a_list_has_its_likely_signature_only_if_all_vectors_have() {
    let most: fn(&mut List<'_>) = |list| list.add(leaked([2i64]), Max);
    assert!(is_likely(1, most, 2));
    let first: fn(&mut List<'_>) = |list| list.add(leaked([2i64]), |a: i64, _: i64| a);
    let other: fn(&mut List<'_>) = |list| list.add(leaked([2u64]), Max);
    assert!(!is_likely(1, first, 2) && !is_likely(1, other, 2));
    assert!(!is_likely(2, most, 2));
    assert!(
        [1, 3, 8, 9, 11]
            .iter()
            .all(|count| !is_likely(1, most, *count))
    );
    assert!(List::new(None).as_likely().is_none());
}

#[test]
fn a_list_of_many_vectors_is_compared_as_a_whole() {
    let mut data = [[1u32]; 12];
    let mut parts: Vec<FusedVector<'_>> = data
        .iter_mut()
        .map(|one| FusedVector::of(one, Sum))
        .collect();
    let likely = signature(&parts);
    assert!(FusedVectors::new(likely, &mut parts).is_some());
    drop(parts);
    let mut list = List::new(Some(likely));
    data.iter_mut().for_each(|one| list.add(one, Sum));
    assert!(list.as_likely().is_none());
    assert!(FusedVectors::new(likely, list.all()).is_some());
}
