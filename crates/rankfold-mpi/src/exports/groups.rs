//! Groups.

use std::ffi::c_int;

use super::arguments::array;
use crate::abi::*;
use crate::error::{Out, count};
use crate::group;
use crate::memory::Caller;
use crate::rank::Rank;

/// The ranks of ranges, which are triples of numbers.
fn ranges(caller: &Caller, number: c_int, from: *mut [c_int; 3]) -> Out<Vec<c_int>> {
    group::ranges(&caller.array(from.cast_const(), count(number, "the number of ranges")?)?)
}

fn combine(
    rank: &Rank,
    caller: &Caller,
    (one, other): (MPI_Group, MPI_Group),
    to: *mut MPI_Group,
    how: fn(&rankfold::Group, &rankfold::Group) -> rankfold::Group,
) -> Out {
    let made = how(&*rank.group(one)?, &*rank.group(other)?);
    caller.write(to, group::keep_like(rank, made, one))
}

super::calls! {
    fn MPI_Group_size(group: MPI_Group, size: *mut c_int) on group |rank, caller| {
        caller.write(size, rank.group(group)?.size() as c_int)
    }
    fn MPI_Group_rank(group: MPI_Group, number: *mut c_int) on group |rank, caller| {
        let mine = rank.group(group)?.rank_of(rank.me());
        caller.write(number, mine.map_or(MPI_UNDEFINED, |mine| mine as c_int))
    }
    fn MPI_Group_translate_ranks(group1: MPI_Group, n: c_int, ranks1: *const c_int, group2: MPI_Group, ranks2: *mut c_int) on group1 |rank, caller| {
        let (of, to) = (rank.group(group1)?, rank.group(group2)?);
        caller.write_all(ranks2, group::translate(&of, &array(caller, ranks1, n)?, &to)?)
    }
    fn MPI_Group_compare(group1: MPI_Group, group2: MPI_Group, result: *mut c_int) on group1 |rank, caller| {
        caller.write(result, group::compare(&*rank.group(group1)?, &*rank.group(group2)?))
    }
    fn MPI_Group_union(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) on group1 |rank, caller| {
        combine(rank, caller, (group1, group2), newgroup, rankfold::Group::union)
    }
    fn MPI_Group_intersection(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) on group1 |rank, caller| {
        combine(rank, caller, (group1, group2), newgroup, rankfold::Group::intersection)
    }
    fn MPI_Group_difference(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) on group1 |rank, caller| {
        combine(rank, caller, (group1, group2), newgroup, rankfold::Group::difference)
    }
    fn MPI_Group_incl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) on group |rank, caller| {
        let made = group::include(&*rank.group(group)?, &array(caller, ranks, n)?)?;
        caller.write(newgroup, group::keep_like(rank, made, group))
    }
    fn MPI_Group_excl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) on group |rank, caller| {
        let made = group::exclude(&*rank.group(group)?, &array(caller, ranks, n)?)?;
        caller.write(newgroup, group::keep_like(rank, made, group))
    }
    fn MPI_Group_range_incl(group: MPI_Group, n: c_int, triples: *mut [c_int; 3], newgroup: *mut MPI_Group) on group |rank, caller| {
        let made = group::include(&*rank.group(group)?, &ranges(caller, n, triples)?)?;
        caller.write(newgroup, group::keep_like(rank, made, group))
    }
    fn MPI_Group_range_excl(group: MPI_Group, n: c_int, triples: *mut [c_int; 3], newgroup: *mut MPI_Group) on group |rank, caller| {
        let made = group::exclude(&*rank.group(group)?, &ranges(caller, n, triples)?)?;
        caller.write(newgroup, group::keep_like(rank, made, group))
    }
    fn MPI_Group_free(group: *mut MPI_Group) |rank, caller| {
        let of = caller.read(group)?;
        rank.blame(of.addr(), group::free(rank, of))?;
        caller.write(group, MPI_GROUP_NULL)
    }
}
