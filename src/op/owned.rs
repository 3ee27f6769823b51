//! The vectors and the operator of a collective that goes on after its caller has returned, and so owns them.

use std::mem;

use super::element_vec::ElementVec;
use super::folds::{Folds, Operands, OwnFolds};
use super::{Element, Operator};

/// Two vectors, and the operator that folds into them.
pub(crate) struct Owned {
    input: ElementVec,
    output: ElementVec,
    /// `None` once the vectors were taken.
    folds: Option<Box<dyn Folds>>,
}

impl Owned {
    pub(crate) fn new<T: Element>(
        input: Vec<T>,
        output: Vec<T>,
        op: impl Operator<T> + 'static,
    ) -> Owned {
        Owned {
            input: ElementVec::from_vec(input),
            output: ElementVec::from_vec(output),
            folds: Some(Box::new(OwnFolds::<T, _>::new(op))),
        }
    }

    /// Owns these instead of others.
    #[inline]
    pub(crate) fn refill<T: Element>(
        &mut self,
        input: Vec<T>,
        output: Vec<T>,
        op: impl Operator<T> + 'static,
    ) {
        self.input = ElementVec::from_vec(input);
        self.output = ElementVec::from_vec(output);
        self.folds = Some(Box::new(OwnFolds::<T, _>::new(op)));
    }

    #[inline]
    pub(crate) fn operands(&mut self) -> Operands<'_> {
        let folds = self.folds.as_deref();
        Operands {
            input: self.input.all(),
            output: self.output.all_mut(),
            folds: folds.expect("a call has its operator"),
        }
    }

    /// The elements; `None` if they are not of type `T`.
    pub(crate) fn vectors<T: Element>(&mut self) -> Option<(&mut [T], &mut [T])> {
        let Owned { input, output, .. } = self;
        Some((input.all_mut().typed()?, output.all_mut().typed()?))
    }

    /// Takes the vectors out as memory, which any thread may free. Their operator stays.
    pub(crate) fn take_memory(&mut self) -> impl Send + Sync + 'static {
        let take = |vec: &mut ElementVec| mem::replace(vec, ElementVec::new(vec.info()));
        (take(&mut self.input), take(&mut self.output))
    }

    /// Drops the operator, and takes the vectors out for `f`. `None` if they were taken already.
    ///
    /// # Panics
    ///
    /// If they are not of type `T`.
    #[inline(always)] // the vectors would pass through memory
    pub(crate) fn take<T: Element, R>(
        &mut self,
        f: impl FnOnce((Vec<T>, Vec<T>)) -> R,
    ) -> Option<R> {
        drop(self.folds.take()?);
        Some(f((self.input.take_vec(), self.output.take_vec())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::op::Sum;

    fn all<T>(vectors: (Vec<T>, Vec<T>)) -> (Vec<T>, Vec<T>) {
        vectors
    }

    #[test]
    fn vectors_come_back_as_they_were_given_with_their_memory() {
        let (mut input, output) = (Vec::with_capacity(9), vec![3u32, 4]);
        input.push(5u32);
        let places = (input.as_ptr(), output.as_ptr());
        let mut owned = Owned::new(input, output, Sum);
        let (seen, into) = owned.vectors::<u32>().unwrap();
        assert_eq!((&*seen, &*into), (&[5][..], &[3, 4][..]));
        into[0] += seen[0];
        assert!(owned.vectors::<i32>().is_none());
        let (input, output) = owned.take(all::<u32>).unwrap();
        assert_eq!((input.as_ptr(), output.as_ptr()), places);
        assert_eq!((&input[..], &output[..]), (&[5][..], &[8, 4][..]));
        assert!(input.capacity() >= 9);
        assert!(owned.take(all::<u32>).is_none());
        owned.refill(vec![1.5], vec![2.5, 3.5], Sum);
        assert_eq!(owned.take(all::<f64>).unwrap(), (vec![1.5], vec![2.5, 3.5]));
    }

    #[test]
    fn elements_without_bytes_and_empty_vectors_come_back_too() {
        let mut owned = Owned::new(vec![(); 7], Vec::new(), |(), ()| ());
        assert_eq!(owned.take(all::<()>).unwrap(), (vec![(); 7], Vec::new()));
        let mut owned = Owned::new(Vec::<u64>::new(), vec![1], Sum);
        assert_eq!(owned.take(all::<u64>).unwrap(), (Vec::new(), vec![1]));
    }

    #[test]
    fn an_operator_ends_when_the_vectors_are_taken() {
        let held = Arc::new(());
        let theirs = held.clone();
        let mut owned = Owned::new(vec![1u8], vec![2u8], move |a: u8, _: u8| {
            _ = &theirs;
            a
        });
        assert_eq!(Arc::strong_count(&held), 2);
        owned.take(all::<u8>).unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
