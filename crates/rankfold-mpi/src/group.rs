//! Groups: ordered sets of ranks of `MPI_COMM_WORLD`. Nothing here communicates.

use std::ffi::c_int;
use std::ptr::without_provenance_mut as handle;
use std::rc::Rc;

use rankfold::{Group, Similarity};

use crate::abi::*;
use crate::error::{Out, bad, failure, require};
use crate::rank::Rank;

/// A group, with the handle of the session that it is from, whose error handler gets its errors; 0 if it is from none.
pub(crate) struct Kept {
    pub group: Rc<Group>,
    pub session: usize,
}

/// Keeps a group that is from no session.
pub(crate) fn keep(rank: &Rank, group: Group) -> MPI_Group {
    keep_of(rank, group, 0)
}

/// Keeps a group that was made from another one.
pub(crate) fn keep_like(rank: &Rank, group: Group, other: MPI_Group) -> MPI_Group {
    keep_of(rank, group, rank.session_of(other.addr()).unwrap_or(0))
}

/// Keeps a group of a session.
pub(crate) fn keep_of(rank: &Rank, group: Group, session: usize) -> MPI_Group {
    if group.is_empty() {
        return MPI_GROUP_EMPTY;
    }
    let group = Rc::new(group);
    handle(rank.groups.borrow_mut().add(Kept { group, session }))
}

pub(crate) fn free(rank: &Rank, group: MPI_Group) -> Out {
    if group == MPI_GROUP_EMPTY {
        return Ok(());
    }
    require(group != MPI_GROUP_NULL, MPI_ERR_GROUP, || {
        "the group is MPI_GROUP_NULL".into()
    })?;
    let freed = rank.groups.borrow_mut().remove(group.addr()).map(drop);
    freed.map_err(|why| bad(MPI_ERR_GROUP, "group", group.addr(), why))
}

fn ranks(of: &Group, ranks: &[c_int]) -> Out<Vec<usize>> {
    let size = of.size();
    let rank = |rank: &c_int| {
        let number = usize::try_from(*rank).ok().filter(|rank| *rank < size);
        number.ok_or_else(|| {
            failure(
                MPI_ERR_RANK,
                format!("{rank} is no rank of the group, which has {size}"),
            )
        })
    };
    ranks.iter().map(rank).collect()
}

/// The group of some ranks of a group, in this order.
pub(crate) fn include(of: &Group, list: &[c_int]) -> Out<Group> {
    let list = ranks(of, list)?;
    of.include(list)
        .map_err(|error| failure(MPI_ERR_RANK, error.kind().to_string()))
}

/// The group without some of its ranks.
pub(crate) fn exclude(of: &Group, list: &[c_int]) -> Out<Group> {
    let list = ranks(of, list)?;
    of.exclude(list)
        .map_err(|error| failure(MPI_ERR_RANK, error.kind().to_string()))
}

/// The ranks of ranges (first, last, stride).
pub(crate) fn ranges(ranges: &[[c_int; 3]]) -> Out<Vec<c_int>> {
    let mut all = Vec::new();
    for [first, last, stride] in ranges {
        require(*stride != 0, MPI_ERR_ARG, || {
            "the stride of a range is 0".into()
        })?;
        // In 64 bits nothing overflows.
        let [start, end, by] = [*first, *last, *stride].map(i64::from);
        let is_forward = end == start || (end > start) == (by > 0);
        let steps = (end - start) / by;
        require(is_forward, MPI_ERR_ARG, || {
            format!("the range from {first} to {last} by {stride} has no rank")
        })?;
        require(steps < 1 << 20, MPI_ERR_ARG, || {
            format!("the range from {first} to {last} by {stride} has more ranks than any group")
        })?;
        all.extend((0..=steps).map(|step| (start + step * by) as c_int));
    }
    Ok(all)
}

/// The numbers that ranks of one group have in another.
pub(crate) fn translate(of: &Group, list: &[c_int], to: &Group) -> Out<Vec<c_int>> {
    let number = |rank: &c_int| {
        if *rank == MPI_PROC_NULL {
            return Ok(MPI_PROC_NULL);
        }
        let found = ranks(of, &[*rank])?;
        let world = of.world_rank(found[0]);
        let there = world.and_then(|world| to.rank_of(world));
        Ok(there.map_or(MPI_UNDEFINED, |there| there as c_int))
    };
    list.iter().map(number).collect()
}

pub(crate) fn compare(one: &Group, other: &Group) -> c_int {
    match one.compare(other) {
        Similarity::Identical => MPI_IDENT,
        Similarity::Similar => MPI_SIMILAR,
        Similarity::Unequal => MPI_UNEQUAL,
    }
}
