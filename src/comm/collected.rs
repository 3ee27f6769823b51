//! How ranks of several processes agree on new communicators: rank 0 collects what all ranks bring, and answers with
//! contexts that are its own to give, one for each communicator. For a graph every rank gets what all have brought; for a
//! duplicate the context alone; of a split, its own part.

use std::sync::Arc;

use super::split::{Place, Wish, grouped};
use crate::Rank;
use crate::engine::call::{From, InCall};
use crate::error::Result;
use crate::transport::CommShared;
use crate::transport::trace::origin::Birth;

/// What all ranks have brought.
pub(super) struct Collected {
    /// A new context.
    pub context: u32,
    /// What each rank has brought.
    pub lists: Vec<Vec<i64>>,
}

impl Collected {
    /// The context and the lists with their lengths, one after another.
    fn flat(&self) -> Vec<i64> {
        let numbers = |list: &Vec<i64>| [&[list.len() as i64], &list[..]].concat();
        let lists = self.lists.iter().flat_map(numbers);
        [i64::from(self.context)].into_iter().chain(lists).collect()
    }

    fn of(flat: &[i64]) -> Collected {
        let (context, mut rest) = flat.split_first().unwrap_or((&0, &[]));
        let next = || {
            let (length, numbers) = rest.split_first()?;
            let (list, others) = numbers.split_at_checked(*length as usize)?;
            rest = others;
            Some(list.to_vec())
        };
        Collected {
            context: *context as u32,
            lists: std::iter::from_fn(next).collect(),
        }
    }
}

/// The part that a rank gets by a split.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    context: u32,
    /// The place of this rank among the members.
    me: usize,
    /// The members, in runs of a first rank, a step and a length: of most splits they are a few, however many ranks.
    runs: Vec<[i64; 3]>,
}

impl Part {
    fn flat(&self) -> Vec<i64> {
        let place = [i64::from(self.context), self.me as i64];
        [&place[..], self.runs.as_flattened()].concat()
    }

    /// `None` for a rank that has no part.
    fn of(flat: &[i64]) -> Option<Part> {
        let (&[context, me], runs) = flat.split_first_chunk()?;
        Some(Part {
            context: context as u32,
            me: me as usize,
            runs: runs.as_chunks().0.to_vec(),
        })
    }

    fn members(&self) -> impl Iterator<Item = Rank> {
        let run = |&[first, step, length]: &[i64; 3]| {
            (0..length).map(move |place| (first + place * step) as Rank)
        };
        self.runs.iter().flat_map(run)
    }
}

/// Ranks as runs of a first one, a step and a length.
fn runs_of(ranks: &[Rank]) -> Vec<[i64; 3]> {
    let step = |two: &[Rank]| two[1] as i64 - two[0] as i64;
    let (mut runs, mut rest) = (Vec::new(), ranks);
    while let Some(&first) = rest.first() {
        let by = rest.get(..2).map_or(0, step);
        let length = 1 + rest.windows(2).take_while(|two| step(two) == by).count();
        runs.push([first as i64, by, length as i64]);
        rest = &rest[length..];
    }
    runs
}

/// The part of each rank by the wishes of all. Each part takes a new context.
fn parts(wishes: &[Wish], mut new_context: impl FnMut() -> u32) -> Vec<Option<Part>> {
    let mut parts = vec![None; wishes.len()];
    for group in grouped(wishes) {
        let context = new_context();
        let members: Vec<Rank> = group.iter().map(|(.., rank)| *rank).collect();
        let runs = runs_of(&members);
        for (me, rank) in members.into_iter().enumerate() {
            let runs = runs.clone();
            parts[rank] = Some(Part { context, me, runs });
        }
    }
    parts
}

impl InCall<'_> {
    /// Collects the numbers of all ranks at rank 0; `None` at the others.
    fn gather_lists(&self, mine: Vec<i64>) -> Result<Option<Vec<Vec<i64>>>> {
        if self.rank() > 0 {
            self.send(0, &mine)?;
            return Ok(None);
        }
        let mut lists = vec![mine];
        for rank in 1..self.size() {
            let (_, list) = self.expect(&From::Rank(rank), <[i64]>::to_vec)?;
            lists.push(list);
        }
        Ok(Some(lists))
    }

    /// What rank 0 answers.
    fn answer<R>(&self, read: impl FnMut(&[i64]) -> R) -> Result<R> {
        let (_, answer) = self.expect(&From::Rank(0), read)?;
        Ok(answer)
    }

    /// Collects the numbers of all ranks, and gives out a new context.
    pub(super) fn bring_together(&self, mine: Vec<i64>) -> Result<Collected> {
        let Some(lists) = self.gather_lists(mine)? else {
            return self.answer(Collected::of);
        };
        let context = self.comm.fabric().new_context();
        let all = Collected { context, lists };
        let flat = all.flat();
        (1..self.size()).try_for_each(|rank| self.send(rank, &flat))?;
        Ok(all)
    }

    /// A communicator of the same ranks.
    pub(super) fn duplicate_spread(&self, birth: Birth) -> Result<Place> {
        let context = match self.gather_lists(Vec::new())? {
            None => self.answer(|context| context.first().map_or(0, |context| *context as u32))?,
            Some(_) => {
                let context = self.comm.fabric().new_context();
                let answer = [i64::from(context)];
                (1..self.size()).try_for_each(|rank| self.send(rank, &answer))?;
                context
            }
        };
        Ok(Some((self.same_ranks_as(context, birth), self.rank())))
    }

    /// A communicator of the same ranks under this context. Each rank makes it, or finds it made by another rank of its
    /// process.
    pub(super) fn same_ranks_as(&self, context: u32, birth: Birth) -> Arc<CommShared> {
        let shared = &self.comm.shared;
        let origin = shared.origin.child(birth, self.call.site);
        let members = shared.members.clone();
        self.comm.fabric().adopt_comm(context, members, origin)
    }

    /// The place that this rank gets by the wishes of all. Each rank makes its communicator, or finds it made by another
    /// rank of its process.
    pub(super) fn find_place_spread(
        &self,
        wish: Wish,
        birth: impl Fn(u32) -> Birth,
    ) -> Result<Place> {
        let mine = self.find_part(wish)?;
        Ok(mine.zip(wish.0).map(|(part, color)| {
            let (members, origin) = self.members_of(part.members(), birth(color));
            let fabric = self.comm.fabric();
            let shared = fabric.adopt_comm(part.context, members, origin);
            (shared, part.me)
        }))
    }

    fn find_part(&self, wish: Wish) -> Result<Option<Part>> {
        // No colour is -1.
        let mine = vec![wish.0.map_or(-1, i64::from), wish.1];
        let Some(lists) = self.gather_lists(mine)? else {
            return self.answer(Part::of);
        };
        let wanted = |list: &Vec<i64>| (list[0].try_into().ok(), list[1]);
        let wishes: Vec<Wish> = lists.iter().map(wanted).collect();
        let mut parts = parts(&wishes, || self.comm.fabric().new_context());
        for (rank, part) in parts.iter().enumerate().skip(1) {
            let part = part.as_ref().map_or_else(Vec::new, Part::flat);
            self.send(rank, &part)?;
        }
        Ok(parts.swap_remove(0))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_collected_is_the_same_after_it_was_sent() {
        let lists = vec![vec![1, -2], vec![], vec![i64::MIN, i64::MAX, 0]];
        let sent = Collected {
            context: u32::MAX,
            lists: lists.clone(),
        };
        let received = Collected::of(&sent.flat());
        assert_eq!(received.context, u32::MAX);
        assert_eq!(received.lists, lists);
    }

    /// The parts by these wishes as they arrive, and the number of contexts that they took.
    fn parts_of(wishes: &[Wish]) -> (Vec<Option<Part>>, u32) {
        let mut contexts = 0;
        let parts = parts(wishes, || {
            contexts += 1;
            u32::MAX - contexts
        });
        let arrived = |part: &Option<Part>| {
            let flat = part.as_ref().map_or_else(Vec::new, Part::flat);
            assert!(flat.len() < 2 + 3 * wishes.len() && Part::of(&flat) == *part);
            Part::of(&flat)
        };
        (parts.iter().map(arrived).collect(), contexts)
    }

    #[test]
    fn a_split_takes_a_context_for_each_part() {
        let ranks = 0..1000;
        let columns: Vec<Wish> = ranks.map(|rank| (Some(rank % 10), 0)).collect();
        let (parts, contexts) = parts_of(&columns);
        assert_eq!(contexts, 10);
        for (rank, part) in parts.iter().enumerate() {
            let part = part.as_ref().unwrap();
            assert_eq!(part.runs, [[rank as i64 % 10, 10, 100]]);
            assert_eq!(part.members().nth(part.me), Some(rank));
        }
    }

    #[test]
    fn a_part_has_the_members_in_the_order_of_their_keys() {
        let keys = [5, 1, 4, 1, -9, 2, 6, 6];
        let mut wishes: Vec<Wish> = keys.iter().map(|key| (Some(3), *key)).collect();
        wishes[6].0 = None;
        let (parts, contexts) = parts_of(&wishes);
        assert_eq!((contexts, &parts[6]), (1, &None));
        for (me, rank) in [4, 1, 3, 5, 2, 0, 7].into_iter().enumerate() {
            let part = parts[rank].as_ref().unwrap();
            assert!(part.members().eq([4, 1, 3, 5, 2, 0, 7]));
            assert_eq!((part.me, part.context), (me, u32::MAX - 1));
        }
    }
}
