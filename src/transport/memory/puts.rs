//! What a rank writes into other ranks' parts of a window during an epoch: kept by the writer until the epoch ends,
//! then handed to the owner of each part, who writes it there.
//!
//! The owner goes by the writers' ranks, and by the order of each writer's calls. So the result does not depend on
//! which rank was faster, whether the places overlap or not, and operators that do not commute fold in rank order.

use crate::Rank;
use crate::op::{Element, Operator, append, fold_right};
use crate::sort;
use crate::sync::Mutex;
use crate::unwind;

/// The elements that one rank puts into one part, and where.
pub(crate) struct Puts<T> {
    data: Vec<T>,
    puts: Vec<Put<T>>,
}

/// One call of put or accumulate.
struct Put<T> {
    at: usize,
    count: usize,
    /// `None`: the elements replace those that are there.
    fold: Option<Box<dyn FoldInto<T>>>,
}

/// An operator on elements, kept until its epoch ends.
trait FoldInto<T>: Send {
    /// `part[i] ← part[i] ⊕ elements[i]`.
    fn fold(&self, part: &mut [T], elements: &[T]);
}

impl<T: Element, O: Operator<T> + Send> FoldInto<T> for O {
    fn fold(&self, part: &mut [T], elements: &[T]) {
        unwind::operator(|| fold_right(self, part, elements));
    }
}

impl<T: Element> Puts<T> {
    pub(crate) fn new() -> Self {
        Puts {
            data: Vec::new(),
            puts: Vec::new(),
        }
    }

    /// Adds elements that replace those from `at` on.
    pub(crate) fn put(&mut self, at: usize, elements: &[T]) {
        self.add(at, elements, None);
    }

    /// Adds elements that are folded into those from `at` on.
    pub(crate) fn accumulate(
        &mut self,
        at: usize,
        elements: &[T],
        op: impl Operator<T> + Send + 'static,
    ) {
        self.add(at, elements, Some(Box::new(op)));
    }

    fn add(&mut self, at: usize, elements: &[T], fold: Option<Box<dyn FoldInto<T>>>) {
        append(&mut self.data, elements);
        let count = elements.len();
        self.puts.push(Put { at, count, fold });
    }

    /// Writes everything into the part. The places were compared with its length when they were added.
    fn write(&self, part: &mut [T]) {
        let mut data = &self.data[..];
        for put in &self.puts {
            let (elements, rest) = data.split_at(put.count);
            let place = &mut part[put.at..put.at + put.count];
            match &put.fold {
                None => place.copy_from_slice(elements),
                Some(op) => op.fold(place, elements),
            }
            data = rest;
        }
    }
}

/// What was handed to the owner of a part, and is not written yet.
pub(crate) struct PutInbox<T>(Mutex<Vec<Delivery<T>>>);

/// What ends an epoch: then what was put in it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EpochEnd {
    /// The fence of this number.
    Fence(u32),
    /// The owner's wait for this one of its exposures.
    Exposure(u64),
}

struct Delivery<T> {
    from: Rank,
    end: EpochEnd,
    puts: Puts<T>,
}

impl<T: Element> PutInbox<T> {
    pub(crate) fn new() -> Self {
        PutInbox(Mutex::new(Vec::new()))
    }

    /// Hands over what rank `from` puts here.
    pub(crate) fn deliver(&self, from: Rank, end: EpochEnd, puts: Puts<T>) {
        self.0.lock().push(Delivery { from, end, puts });
    }

    /// Whether nothing was handed over for the epoch that ends so.
    pub(crate) fn is_empty(&self, end: EpochEnd) -> bool {
        !self.0.lock().iter().any(|it| it.end == end)
    }

    /// Writes all of it into the part, in rank order. What a failed fence has left stays.
    pub(crate) fn write_all(&self, end: EpochEnd, part: &mut [T]) {
        let mut due = self.take(|it| it.end == end);
        sort::by_numbers(&mut due, |it| [it.from]);
        due.iter().for_each(|it| it.puts.write(part));
        // The operators of the origins may have destructors, and this rank is in the middle of a call.
        unwind::operator(|| drop(due));
    }

    /// Drops what was put for exposures that have failed: those before this one.
    pub(crate) fn drop_before(&self, exposure: u64) {
        let lost = self.take(|it| matches!(it.end, EpochEnd::Exposure(it) if it < exposure));
        unwind::operator(|| drop(lost));
    }

    /// Takes some of it out, to be dropped without the mutex: operators may own anything.
    fn take(&self, which: impl Fn(&Delivery<T>) -> bool) -> Vec<Delivery<T>> {
        self.0.lock().extract_if(.., |it| which(it)).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::op;

    #[test]
    fn puts_are_written_in_rank_order_and_each_ranks_in_its_own() {
        let inbox = PutInbox::new();
        let mut last = Puts::new();
        last.accumulate(0, &[5, 6], |a, b| 10 * a + b);
        let mut first = Puts::new();
        first.put(1, &[2, 3]);
        first.accumulate(1, &[1], op::Sum);
        inbox.deliver(2, EpochEnd::Fence(7), last);
        inbox.deliver(1, EpochEnd::Fence(7), first);
        for exposure in [7, 8] {
            inbox.deliver(0, EpochEnd::Exposure(exposure), Puts::new());
        }
        let mut part = [9, 9, 9];
        inbox.write_all(EpochEnd::Fence(7), &mut part);
        assert_eq!(part, [95, 36, 3]);
        assert!(inbox.is_empty(EpochEnd::Fence(7)));
        inbox.drop_before(8);
        let exposures = [7, 8].map(EpochEnd::Exposure);
        assert_eq!(exposures.map(|it| inbox.is_empty(it)), [true, false]);
    }
}
