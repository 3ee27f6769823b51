//! The ranks of a communicator: it maps its own numbers to ranks of the world.

use std::sync::Arc;

use crate::Rank;

/// The members of a communicator, in the order of their numbers there.
///
/// The layers below a communicator identify ranks by their numbers in the world; numbers in a communicator are for its
/// users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Members {
    /// All ranks of a world of this size, by their own numbers.
    All(usize),
    /// Some of them.
    Some(Arc<Listed>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The world rank of each member.
    world: Vec<Rank>,
    /// The members by world rank: (world, member), sorted.
    sorted: Vec<(Rank, Rank)>,
}

impl Members {
    /// The members with these world ranks, none of them twice.
    pub(crate) fn of(world: Vec<Rank>) -> Members {
        let mut sorted: Vec<(Rank, Rank)> = world.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        Members::Some(Arc::new(Listed { world, sorted }))
    }

    #[inline]
    pub(crate) fn size(&self) -> usize {
        match self {
            Members::All(size) => *size,
            Members::Some(listed) => listed.world.len(),
        }
    }

    /// The world rank of a member.
    #[inline]
    pub(crate) fn world(&self, member: Rank) -> Rank {
        match self {
            Members::All(_) => member,
            Members::Some(listed) => listed.world[member],
        }
    }

    /// The member with this world rank, if there is one.
    #[inline]
    pub(crate) fn member(&self, world: Rank) -> Option<Rank> {
        match self {
            Members::All(size) => (world < *size).then_some(world),
            Members::Some(listed) => {
                let place = listed.sorted.binary_search_by_key(&world, |pair| pair.0);
                place.ok().map(|place| listed.sorted[place].1)
            }
        }
    }

    #[inline]
    pub(crate) fn contains(&self, world: Rank) -> bool {
        self.member(world).is_some()
    }

    /// The world ranks, in the order of the members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Rank> {
        (0..self.size()).map(|member| self.world(member))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn members_and_ranks_of_the_world_are_each_others_inverse() {
        let some = Members::of(vec![7, 2, 9, 0]);
        for members in [Members::All(5), some] {
            for member in 0..members.size() {
                assert_eq!(members.member(members.world(member)), Some(member));
            }
            let inside = (0..12).filter(|&world| members.contains(world)).count();
            assert_eq!(inside, members.size());
        }
    }
}
