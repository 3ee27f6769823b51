//! Datatypes with large counts: constructors, and what they tell.

use std::ffi::c_int;
use std::iter::repeat;

use super::sizes::counted;
use crate::abi::*;
use crate::datatype::build::{self, Subarray, placed, scaled, strided};
use crate::datatype::darray::{self, Distribution};
use crate::datatype::decode::{self, Made};
use crate::datatype::{Type, of as old};
use crate::error::{Out, failure};
use crate::memory::Caller;

/// An array of as many elements as a large count says.
fn array<T: Copy>(caller: &Caller, from: *const T, number: MPI_Count) -> Out<Vec<T>> {
    caller.array(from, counted(number, "the count")?)
}

/// How a datatype is made of one other.
fn made(combiner: c_int, counts: &[&[MPI_Count]], oldtype: MPI_Datatype) -> Out<(Made, Type)> {
    let made = Made::by(combiner, &[]).counted(&counts.concat());
    Ok((made.of(&[oldtype])?, old(oldtype)?))
}

/// The number of blocks and the length of each.
fn blocks(number: MPI_Count, len: MPI_Count) -> Out<(usize, usize)> {
    Ok((
        counted(number, "the count")?,
        counted(len, "the length of a block")?,
    ))
}

fn place(by: MPI_Count) -> Out<isize> {
    isize::try_from(by)
        .map_err(|_| failure(MPI_ERR_ARG, "a displacement is beyond the address space"))
}

fn in_bytes(places: &[MPI_Count]) -> Out<Vec<isize>> {
    places.iter().map(|at| place(*at)).collect()
}

fn in_extents(places: &[MPI_Count], of: &Type) -> Out<Vec<isize>> {
    places.iter().map(|at| scaled(*at, of)).collect()
}

super::calls! {
    fn MPI_Type_contiguous_c(count: MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (made, of) = made(MPI_COMBINER_CONTIGUOUS, &[&[count]], oldtype)?;
        caller.write(newtype, strided(made, (1, counted(count, "the count")?, 0), &of)?)
    }
    fn MPI_Type_vector_c(count: MPI_Count, blocklength: MPI_Count, stride: MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (made, of) = made(MPI_COMBINER_VECTOR, &[&[count, blocklength, stride]], oldtype)?;
        let (number, len) = blocks(count, blocklength)?;
        caller.write(newtype, strided(made, (number, len, scaled(stride, &of)?), &of)?)
    }
    fn MPI_Type_create_hvector_c(count: MPI_Count, blocklength: MPI_Count, stride: MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (made, of) = made(MPI_COMBINER_HVECTOR, &[&[count, blocklength, stride]], oldtype)?;
        let (number, len) = blocks(count, blocklength)?;
        caller.write(newtype, strided(made, (number, len, place(stride)?), &of)?)
    }
    fn MPI_Type_indexed_c(count: MPI_Count, lengths: *const MPI_Count, places: *const MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (lens, places) = (array(caller, lengths, count)?, array(caller, places, count)?);
        let (made, of) = made(MPI_COMBINER_INDEXED, &[&[count], &lens, &places], oldtype)?;
        caller.write(newtype, placed(made, lens, in_extents(&places, &of)?, &of)?)
    }
    fn MPI_Type_create_hindexed_c(count: MPI_Count, lengths: *const MPI_Count, places: *const MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (lens, places) = (array(caller, lengths, count)?, array(caller, places, count)?);
        let (made, of) = made(MPI_COMBINER_HINDEXED, &[&[count], &lens, &places], oldtype)?;
        caller.write(newtype, placed(made, lens, in_bytes(&places)?, &of)?)
    }
    fn MPI_Type_create_indexed_block_c(count: MPI_Count, blocklength: MPI_Count, places: *const MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let places = array(caller, places, count)?;
        let (made, of) = made(MPI_COMBINER_INDEXED_BLOCK, &[&[count, blocklength], &places], oldtype)?;
        caller.write(newtype, placed(made, repeat(blocklength), in_extents(&places, &of)?, &of)?)
    }
    fn MPI_Type_create_hindexed_block_c(count: MPI_Count, blocklength: MPI_Count, places: *const MPI_Count, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let places = array(caller, places, count)?;
        let (made, of) = made(MPI_COMBINER_HINDEXED_BLOCK, &[&[count, blocklength], &places], oldtype)?;
        caller.write(newtype, placed(made, repeat(blocklength), in_bytes(&places)?, &of)?)
    }
    fn MPI_Type_create_struct_c(count: MPI_Count, lengths: *const MPI_Count, places: *const MPI_Count, types: *const MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (lens, places) = (array(caller, lengths, count)?, array(caller, places, count)?);
        let types = array(caller, types, count)?;
        let counts = [&[count], &lens[..], &places[..]].concat();
        let made = Made::by(MPI_COMBINER_STRUCT, &[]).counted(&counts).of(&types)?;
        caller.write(newtype, build::mixed(made, &lens, &in_bytes(&places)?, &types)?)
    }
    fn MPI_Type_create_resized_c(oldtype: MPI_Datatype, lb: MPI_Count, extent: MPI_Count, newtype: *mut MPI_Datatype) |_, caller| {
        let (made, of) = made(MPI_COMBINER_RESIZED, &[&[lb, extent]], oldtype)?;
        let (lb, extent) = (place(lb)?, place(extent)?);
        let ub = lb.checked_add(extent).ok_or_else(|| failure(MPI_ERR_ARG, "the upper bound is beyond the address space"))?;
        caller.write(newtype, build::again(made, &of, Some((lb, ub))))
    }
    fn MPI_Type_create_subarray_c(ndims: c_int, sizes: *const MPI_Count, subsizes: *const MPI_Count, starts: *const MPI_Count, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let [sizes, part, starts] = [sizes, subsizes, starts].map(|it| array(caller, it, ndims.into()));
        let (sizes, part, starts) = (sizes?, part?, starts?);
        let counts = [&sizes[..], &part, &starts].concat();
        let made = Made::by(MPI_COMBINER_SUBARRAY, &[ndims, order]).counted(&counts).of(&[oldtype])?;
        let it = Subarray { sizes: &sizes, part: &part, starts: &starts, order };
        caller.write(newtype, build::subarray(made, &it, &*old(oldtype)?)?)
    }
    fn MPI_Type_create_darray_c(
        size: c_int, number: c_int, ndims: c_int, gsizes: *const MPI_Count, distribs: *const c_int, dargs: *const c_int,
        psizes: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) |_, caller| {
        let sizes = array(caller, gsizes, ndims.into())?;
        let [kinds, arguments, grid] = [distribs, dargs, psizes].map(|it| array(caller, it, ndims.into()));
        let (kinds, arguments, grid) = (kinds?, arguments?, grid?);
        let integers = [&[size, number, ndims], &kinds[..], &arguments, &grid, &[order]].concat();
        let made = Made::by(MPI_COMBINER_DARRAY, &integers).counted(&sizes).of(&[oldtype])?;
        let it = Distribution { ranks: size, rank: number, sizes, kinds, arguments, grid, order };
        caller.write(newtype, darray::create(made, &it, &*old(oldtype)?)?)
    }
    fn MPI_Type_get_envelope_c(
        datatype: MPI_Datatype, integers: *mut MPI_Count, addresses: *mut MPI_Count, counts: *mut MPI_Count, datatypes: *mut MPI_Count,
        combiner: *mut c_int,
    ) |_, caller| {
        let of = old(datatype)?;
        for (to, len) in [integers, addresses, counts, datatypes].into_iter().zip(of.made.parts()) {
            caller.write(to, len as MPI_Count)?;
        }
        caller.write(combiner, of.made.combiner)
    }
    fn MPI_Type_get_contents_c(
        datatype: MPI_Datatype, max_integers: MPI_Count, max_addresses: MPI_Count, max_counts: MPI_Count, max_datatypes: MPI_Count,
        integers: *mut c_int, addresses: *mut MPI_Aint, counts: *mut MPI_Count, datatypes: *mut MPI_Datatype,
    ) |_, caller| {
        let of = old(datatype)?;
        decode::check_room(&of.made, [max_integers, max_addresses, max_counts, max_datatypes])?;
        caller.write_all(integers, of.made.integers.iter().copied())?;
        caller.write_all(addresses, of.made.addresses.iter().copied())?;
        caller.write_all(counts, of.made.counts.iter().copied())?;
        caller.write_all(datatypes, of.made.handles())
    }
    fn MPI_Type_size_c(datatype: MPI_Datatype, size: *mut MPI_Count) |_, caller| {
        caller.write(size, old(datatype)?.size as MPI_Count)
    }
    fn MPI_Type_get_extent_c(datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count) |_, caller| {
        let of = old(datatype)?;
        caller.write(lb, of.lb as MPI_Count)?;
        caller.write(extent, of.extent() as MPI_Count)
    }
    fn MPI_Type_get_true_extent_c(datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count) |_, caller| {
        let (first, end) = old(datatype)?.true_bounds();
        caller.write(true_lb, first as MPI_Count)?;
        caller.write(true_extent, (end - first) as MPI_Count)
    }
}
