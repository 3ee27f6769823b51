//! How ranks of several processes agree on new communicators: rank 0 collects what all ranks bring, and hands it to
//! every rank, with contexts that are its own to give. Each rank decides by that what any other decides, too.

use super::split::{Place, Wish, grouped};
use crate::engine::call::{From, InCall};
use crate::error::Result;
use crate::transport::trace::origin::Birth;

/// What all ranks have brought.
pub(super) struct Collected {
    /// New contexts.
    pub contexts: Vec<u32>,
    /// What each rank has brought.
    pub lists: Vec<Vec<i64>>,
}

impl Collected {
    /// The contexts and the lists with their lengths, one after another.
    fn flat(&self) -> Vec<i64> {
        let numbers = |list: &Vec<i64>| [&[list.len() as i64], &list[..]].concat();
        let contexts: Vec<i64> = self.contexts.iter().copied().map(i64::from).collect();
        let lists = self.lists.iter().flat_map(numbers);
        numbers(&contexts).into_iter().chain(lists).collect()
    }

    fn of(flat: &[i64]) -> Collected {
        let mut rest = flat;
        let mut next = || {
            let (length, numbers) = rest.split_first()?;
            let (list, others) = numbers.split_at_checked(*length as usize)?;
            rest = others;
            Some(list.to_vec())
        };
        let contexts = next().unwrap_or_default();
        Collected {
            contexts: contexts.into_iter().map(|context| context as u32).collect(),
            lists: std::iter::from_fn(next).collect(),
        }
    }
}

impl InCall<'_> {
    /// Collects the numbers of all ranks, and gives out as many new contexts.
    pub(super) fn bring_together(&self, mine: Vec<i64>, contexts: usize) -> Result<Collected> {
        if self.rank() > 0 {
            self.send(0, &mine)?;
            let (_, all) = self.expect(&From::Rank(0), Collected::of)?;
            return Ok(all);
        }
        let mut lists = vec![mine];
        for rank in 1..self.size() {
            let (_, list) = self.expect(&From::Rank(rank), <[i64]>::to_vec)?;
            lists.push(list);
        }
        let context = |_| self.comm.fabric().new_context();
        let all = Collected {
            contexts: (0..contexts).map(context).collect(),
            lists,
        };
        let flat = all.flat();
        (1..self.size()).try_for_each(|rank| self.send(rank, &flat))?;
        Ok(all)
    }

    /// The place that this rank gets by the wishes of all. Each rank makes its communicator, or finds it made by another
    /// rank of its process.
    pub(super) fn find_place_spread(
        &self,
        wish: Wish,
        birth: impl Fn(u32) -> Birth,
    ) -> Result<Place> {
        // No colour is -1.
        let mine = vec![wish.0.map_or(-1, i64::from), wish.1];
        let all = self.bring_together(mine, self.size())?;
        let wanted = |list: &Vec<i64>| (list[0].try_into().ok(), list[1]);
        let wishes: Vec<Wish> = all.lists.iter().map(wanted).collect();
        let groups = grouped(&wishes);
        let mine = groups
            .iter()
            .zip(all.contexts)
            .find_map(|(group, context)| {
                let me = group.iter().position(|(.., rank)| *rank == self.rank())?;
                Some((group, context, me))
            });
        Ok(mine.map(|(group, context, me)| {
            let (members, origin) = self.members_of(group, &birth);
            let shared = self.comm.fabric().adopt_comm(context, members, origin);
            (shared, me)
        }))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_collected_is_the_same_after_it_was_sent() {
        let lists = vec![vec![1, -2], vec![], vec![i64::MIN, i64::MAX, 0]];
        let sent = Collected {
            contexts: vec![4, u32::MAX],
            lists: lists.clone(),
        };
        let received = Collected::of(&sent.flat());
        assert_eq!(received.contexts, [4, u32::MAX]);
        assert_eq!(received.lists, lists);
    }
}
