//! [`Group`]: an ordered set of ranks as a value, without communication.

use std::fmt;
use std::panic::Location;

use super::Comm;
use crate::Rank;
use crate::error::{Error, Result};
use crate::transport::communicator::members::Members;

/// An ordered set of ranks of a world: the members of a communicator, or any others.
///
/// A group is plain data: no rank communicates to make or change one. The members are numbered from 0, in their order.
/// Their names that are the same everywhere are their world ranks, as reports print them. Groups are equal if they have
/// the same members in the same order. [`communicator`](Self::communicator) makes a communicator of a group.
///
/// # Examples
///
/// ```
/// use rankfold::World;
///
/// World::new(6).run(|comm| {
///     let all = comm.group();
///     let even = all.include((0..6).step_by(2))?;
///     let low = all.include(0..3)?;
///     let ranks = |group: &rankfold::Group| group.world_ranks().collect::<Vec<_>>();
///     assert_eq!(ranks(&even.union(&low)), [0, 2, 4, 1]);
///     assert_eq!(ranks(&even.intersection(&low)), [0, 2]);
///     assert_eq!(ranks(&even.difference(&low)), [4]);
///     assert_eq!(low.translate([1, 2], &even), [None, Some(1)]);
///     Ok(())
/// })?;
/// # Ok::<(), rankfold::WorldError>(())
/// ```
#[doc(alias = "MPI_Group")]
#[derive(Clone)]
pub struct Group(Members);

/// How two groups resemble each other; see [`Group::compare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Similarity {
    /// The same members in the same order.
    #[doc(alias = "MPI_IDENT")]
    Identical,
    /// The same members in another order.
    #[doc(alias = "MPI_SIMILAR")]
    Similar,
    /// Not the same members.
    #[doc(alias = "MPI_UNEQUAL")]
    Unequal,
}

/// # Communicators: groups
///
/// The members of this communicator as a value.
impl Comm {
    /// Returns the members of this communicator as a [`Group`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(4).run(|comm| {
    ///     let odd = comm.split(comm.rank() as u32 % 2, 0)?;
    ///     let others = comm.group().difference(&odd.group());
    ///     assert_eq!(others.size(), 2);
    ///     assert!(!others.contains(comm.world_rank(comm.rank())));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Comm_group")]
    pub fn group(&self) -> Group {
        Group(self.shared.members.clone())
    }
}

impl Group {
    fn of(world: impl IntoIterator<Item = Rank>) -> Group {
        Group(Members::of(world.into_iter().collect()))
    }

    /// Returns the number of members.
    #[doc(alias = "MPI_Group_size")]
    pub fn size(&self) -> usize {
        self.0.size()
    }

    /// Returns whether it has no members.
    #[doc(alias = "MPI_GROUP_EMPTY")]
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// Returns whether a rank of the world is a member.
    pub fn contains(&self, world_rank: Rank) -> bool {
        self.0.contains(world_rank)
    }

    /// Returns the number in the group of a rank of the world; `None` if it is no member. MPI's `MPI_Group_rank` is that
    /// of `comm.world_rank(comm.rank())`.
    #[doc(alias = "MPI_Group_rank")]
    pub fn rank_of(&self, world_rank: Rank) -> Option<Rank> {
        self.0.member(world_rank)
    }

    /// Returns the world rank of a member; `None` if there is no such member.
    pub fn world_rank(&self, rank: Rank) -> Option<Rank> {
        (rank < self.size()).then(|| self.0.world(rank))
    }

    /// Returns the members' world ranks, in order.
    pub fn world_ranks(&self) -> impl Iterator<Item = Rank> {
        self.0.iter()
    }

    /// Returns the numbers in `to` of members of this group; `None` for those that are no members there, or no members
    /// here.
    #[doc(alias = "MPI_Group_translate_ranks")]
    pub fn translate(
        &self,
        ranks: impl IntoIterator<Item = Rank>,
        to: &Group,
    ) -> Vec<Option<Rank>> {
        let number = |rank| to.rank_of(self.world_rank(rank)?);
        ranks.into_iter().map(number).collect()
    }

    /// Returns the members of this group, and after them those of the other that are not in this one.
    #[doc(alias = "MPI_Group_union")]
    pub fn union(&self, other: &Group) -> Group {
        let more = other.world_ranks().filter(|rank| !self.contains(*rank));
        Group::of(self.world_ranks().chain(more))
    }

    /// Returns the members of this group that are also in the other, in the order of this one.
    #[doc(alias = "MPI_Group_intersection")]
    pub fn intersection(&self, other: &Group) -> Group {
        Group::of(self.world_ranks().filter(|rank| other.contains(*rank)))
    }

    /// Returns the members of this group that are not in the other, in the order of this one.
    #[doc(alias = "MPI_Group_difference")]
    pub fn difference(&self, other: &Group) -> Group {
        Group::of(self.world_ranks().filter(|rank| !other.contains(*rank)))
    }

    /// Returns the members with these numbers, in this order.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such member, or if one occurs twice.
    #[doc(alias = "MPI_Group_incl")]
    #[doc(alias = "MPI_Group_range_incl")]
    pub fn include(&self, ranks: impl IntoIterator<Item = Rank>) -> Result<Group> {
        let ranks: Vec<Rank> = ranks.into_iter().collect();
        check_members(&ranks, self.size())?;
        Ok(Group::of(ranks.iter().map(|rank| self.0.world(*rank))))
    }

    /// Returns all members but those with these numbers, in their order.
    ///
    /// # Errors
    ///
    /// As [`include`](Self::include).
    #[doc(alias = "MPI_Group_excl")]
    #[doc(alias = "MPI_Group_range_excl")]
    pub fn exclude(&self, ranks: impl IntoIterator<Item = Rank>) -> Result<Group> {
        self.include(ranks).map(|without| self.difference(&without))
    }

    /// Compares the members and their order.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::{Similarity, World};
    ///
    /// World::new(3).run(|comm| {
    ///     let all = comm.group();
    ///     assert_eq!(all.compare(&comm.dup()?.group()), Similarity::Identical);
    ///     assert_eq!(all.compare(&all.include([2, 0, 1])?), Similarity::Similar);
    ///     assert_eq!(all.compare(&all.exclude([1])?), Similarity::Unequal);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Group_compare")]
    pub fn compare(&self, other: &Group) -> Similarity {
        let same = || self.world_ranks().all(|rank| other.contains(rank));
        match self.size() == other.size() {
            true if self == other => Similarity::Identical,
            true if same() => Similarity::Similar,
            _ => Similarity::Unequal,
        }
    }

    /// Makes a communicator of these ranks, which are members of `parent` and call this together; see
    /// [`Comm::subset`].
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a member is not in `parent`; otherwise as [`Comm::subset`].
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(5).run(|comm| {
    ///     let even = comm.group().include((0..5).step_by(2))?;
    ///     if even.contains(comm.world_rank(comm.rank())) {
    ///         assert_eq!(even.communicator(comm)?.size(), 3);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Comm_create")]
    #[track_caller]
    pub fn communicator(&self, parent: &Comm) -> Result<Comm> {
        let members = &parent.shared.members;
        let foreign = |rank: &Rank| members.member(*rank).is_none();
        if let Some(rank) = self.world_ranks().find(foreign) {
            let (show, size) = (&|| format!("communicator({self:?})"), parent.size());
            return parent.op(Location::caller(), show, || {
                Err(Error::usage(format!(
                    "rank {rank} of the world is not one of the {size} members of the communicator"
                )))
            });
        }
        let ranks = self.world_ranks().filter_map(|rank| members.member(rank));
        parent.subset(&ranks.collect::<Vec<_>>())
    }
}

/// Checks that these are different members of a group or communicator of this size.
pub(super) fn check_members(ranks: &[Rank], size: usize) -> Result<()> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    if let Some(last) = sorted.last().filter(|last| **last >= size) {
        return Err(Error::usage(format!(
            "rank {last} is not one of the {size} members"
        )));
    }
    match sorted.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => Err(Error::usage(format!("rank {} occurs twice", two[0]))),
        None => Ok(()),
    }
}

/// The group without members.
impl Default for Group {
    fn default() -> Self {
        Group::of([])
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Group) -> bool {
        self.size() == other.size() && self.world_ranks().eq(other.world_ranks())
    }
}

impl Eq for Group {}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Group")?;
        f.debug_list().entries(self.world_ranks()).finish()
    }
}
