//! The duplicates of a communicator that its members take without waiting for each other.
//!
//! The n-th call of each member gives the n-th duplicate. The first member to call makes it, and the others find it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Rank;
use crate::sync::Mutex;

/// The duplicates of one communicator that some members have not taken yet. `C` is a communicator.
pub(crate) struct Duplicates<C>(Mutex<Open<C>>);

struct Open<C> {
    /// How many each member has taken; empty before the first.
    taken: Vec<u64>,
    /// Duplicates by number, each with the number of members that have taken it.
    made: BTreeMap<u64, (Arc<C>, usize)>,
}

impl<C> Duplicates<C> {
    pub(crate) fn new() -> Self {
        Duplicates(Mutex::new(Open {
            taken: Vec::new(),
            made: BTreeMap::new(),
        }))
    }

    /// The next duplicate for a member, one of `members`.
    pub(crate) fn take(
        &self,
        member: Rank,
        members: usize,
        make: impl FnOnce() -> Arc<C>,
    ) -> Arc<C> {
        let mut open = self.0.lock();
        open.taken.resize(members, 0);
        let number = open.taken[member];
        open.taken[member] += 1;
        let (duplicate, takers) = open.made.entry(number).or_insert_with(|| (make(), 0));
        *takers += 1;
        let (duplicate, all_have) = (duplicate.clone(), *takers == members);
        if all_have {
            open.made.remove(&number);
        }
        duplicate
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_member_takes_the_same_in_its_own_time_and_nothing_is_left() {
        let all = Duplicates::new();
        let mut made = 0;
        let mut take = |member| {
            *all.take(member, 3, || {
                made += 1;
                Arc::new(made)
            })
        };
        assert_eq!([take(2), take(2), take(0)], [1, 2, 1]);
        assert_eq!([take(0), take(0), take(1)], [2, 3, 1]);
        assert_eq!([take(1), take(1), take(2)], [2, 3, 3]);
        assert!(all.0.lock().made.is_empty());
    }
}
