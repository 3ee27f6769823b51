//! Datatypes: constructors, and what they tell.

use std::ffi::{c_char, c_int, c_void};

use super::arguments::array;
use crate::abi::*;
use crate::attribute;
use crate::datatype::build::{self, Subarray, placed, scaled, strided};
use crate::datatype::darray::{self, Distribution};
use crate::datatype::decode::{self, Made};
use crate::datatype::{self, Type};
use crate::error::{Out, count, failure};

/// The functions that no macro defines.
pub(crate) const SPECIAL: &[&str] = &["MPI_Aint_add", "MPI_Aint_diff"];

fn old(datatype: MPI_Datatype) -> Out<Type> {
    datatype::of(datatype)
}

fn wide(numbers: Vec<c_int>) -> Vec<MPI_Count> {
    numbers.into_iter().map(MPI_Count::from).collect()
}

fn narrow(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or(MPI_UNDEFINED)
}

/// The number of blocks and the length of each.
fn blocks(number: c_int, len: c_int) -> Out<(usize, usize)> {
    Ok((
        count(number, "the count")?,
        count(len, "the length of a block")?,
    ))
}

super::calls! {
    fn MPI_Type_contiguous(number: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let made = Made::by(MPI_COMBINER_CONTIGUOUS, &[number]).of(&[oldtype])?;
        let len = count(number, "the count")?;
        caller.write(newtype, strided(made, (1, len, 0), &*old(oldtype)?)?)
    }
    fn MPI_Type_vector(number: c_int, blocklength: c_int, stride: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let made = Made::by(MPI_COMBINER_VECTOR, &[number, blocklength, stride]).of(&[oldtype])?;
        let (of, (number, len)) = (old(oldtype)?, blocks(number, blocklength)?);
        caller.write(newtype, strided(made, (number, len, scaled(stride, &of)?), &of)?)
    }
    fn MPI_Type_create_hvector(number: c_int, blocklength: c_int, stride: MPI_Aint, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let made = Made::by(MPI_COMBINER_HVECTOR, &[number, blocklength]).at(&[stride]).of(&[oldtype])?;
        let (of, (number, len)) = (old(oldtype)?, blocks(number, blocklength)?);
        caller.write(newtype, strided(made, (number, len, stride), &of)?)
    }
    fn MPI_Type_indexed(number: c_int, lengths: *const c_int, places: *const c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (lens, places, of) = (array(caller, lengths, number)?, array(caller, places, number)?, old(oldtype)?);
        let integers = [&[number], &lens[..], &places[..]].concat();
        let made = Made::by(MPI_COMBINER_INDEXED, &integers).of(&[oldtype])?;
        let at: Out<Vec<isize>> = places.iter().map(|at| scaled(*at, &of)).collect();
        caller.write(newtype, placed(made, lens, at?, &of)?)
    }
    fn MPI_Type_create_hindexed(number: c_int, lengths: *const c_int, places: *const MPI_Aint, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (lens, places, of) = (array(caller, lengths, number)?, array(caller, places, number)?, old(oldtype)?);
        let integers = [&[number], &lens[..]].concat();
        let made = Made::by(MPI_COMBINER_HINDEXED, &integers).at(&places).of(&[oldtype])?;
        caller.write(newtype, placed(made, lens, places, &of)?)
    }
    fn MPI_Type_create_indexed_block(number: c_int, blocklength: c_int, places: *const c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (places, of) = (array(caller, places, number)?, old(oldtype)?);
        let integers = [&[number, blocklength], &places[..]].concat();
        let made = Made::by(MPI_COMBINER_INDEXED_BLOCK, &integers).of(&[oldtype])?;
        let at: Out<Vec<isize>> = places.iter().map(|at| scaled(*at, &of)).collect();
        caller.write(newtype, placed(made, std::iter::repeat(blocklength), at?, &of)?)
    }
    fn MPI_Type_create_hindexed_block(number: c_int, blocklength: c_int, places: *const MPI_Aint, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (places, of) = (array(caller, places, number)?, old(oldtype)?);
        let made = Made::by(MPI_COMBINER_HINDEXED_BLOCK, &[number, blocklength]).at(&places).of(&[oldtype])?;
        caller.write(newtype, placed(made, std::iter::repeat(blocklength), places, &of)?)
    }
    fn MPI_Type_create_struct(number: c_int, lengths: *const c_int, places: *const MPI_Aint, types: *const MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (lens, places) = (array(caller, lengths, number)?, array(caller, places, number)?);
        let types = array(caller, types, number)?;
        let integers = [&[number], &lens[..]].concat();
        let made = Made::by(MPI_COMBINER_STRUCT, &integers).at(&places).of(&types)?;
        caller.write(newtype, build::mixed(made, &wide(lens), &places, &types)?)
    }
    fn MPI_Type_create_resized(oldtype: MPI_Datatype, lb: MPI_Aint, extent: MPI_Aint, newtype: *mut MPI_Datatype) |_, caller| {
        let made = Made::by(MPI_COMBINER_RESIZED, &[]).at(&[lb, extent]).of(&[oldtype])?;
        let ub = lb.checked_add(extent).ok_or_else(|| failure(MPI_ERR_ARG, "the upper bound is beyond the address space"))?;
        caller.write(newtype, build::again(made, &*old(oldtype)?, Some((lb, ub))))
    }
    fn MPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |rank, caller| {
        let made = Made::by(MPI_COMBINER_DUP, &[]).of(&[oldtype])?;
        let made = build::again(made, &*old(oldtype)?, None);
        let has_any = rank.typed.borrow().contains_key(&oldtype.addr());
        if has_any {
            let (from, to) = (rank.type_attributes(oldtype)?, rank.type_attributes(made)?);
            if let Err(error) = attribute::copy_all(caller, &*from, &*to) {
                caller.write(newtype, MPI_DATATYPE_NULL)?;
                rank.typed.borrow_mut().remove(&made.addr());
                datatype::free(made)?;
                return Err(error);
            }
        }
        caller.write(newtype, made)
    }
    fn MPI_Type_create_subarray(ndims: c_int, sizes: *const c_int, subsizes: *const c_int, starts: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) |_, caller| {
        let (sizes, part) = (array(caller, sizes, ndims)?, array(caller, subsizes, ndims)?);
        let starts = array(caller, starts, ndims)?;
        let integers = [&[ndims], &sizes[..], &part[..], &starts[..], &[order]].concat();
        let made = Made::by(MPI_COMBINER_SUBARRAY, &integers).of(&[oldtype])?;
        let [sizes, part, starts] = [sizes, part, starts].map(wide);
        let it = Subarray { sizes: &sizes, part: &part, starts: &starts, order };
        caller.write(newtype, build::subarray(made, &it, &*old(oldtype)?)?)
    }
    fn MPI_Type_create_darray(
        size: c_int, number: c_int, ndims: c_int, gsizes: *const c_int, distribs: *const c_int, dargs: *const c_int,
        psizes: *const c_int, order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) |_, caller| {
        let [sizes, kinds, arguments, grid] = [gsizes, distribs, dargs, psizes].map(|it| array(caller, it, ndims));
        let (sizes, kinds, arguments, grid) = (sizes?, kinds?, arguments?, grid?);
        let integers = [&[size, number, ndims], &sizes[..], &kinds, &arguments, &grid, &[order]].concat();
        let made = Made::by(MPI_COMBINER_DARRAY, &integers).of(&[oldtype])?;
        let it = Distribution { ranks: size, rank: number, sizes: wide(sizes), kinds, arguments, grid, order };
        caller.write(newtype, darray::create(made, &it, &*old(oldtype)?)?)
    }
    fn MPI_Type_commit(datatype: *mut MPI_Datatype) |_, caller| {
        datatype::commit(caller.read(datatype)?)
    }
    fn MPI_Type_free(datatype: *mut MPI_Datatype) |rank, caller| {
        let of = caller.read(datatype)?;
        datatype::check_derived(of)?;
        let attributes = rank.typed.borrow().get(&of.addr()).cloned();
        if let Some(attributes) = attributes {
            attribute::delete_all(caller, &*attributes)?;
            rank.typed.borrow_mut().remove(&of.addr());
        }
        datatype::free(of)?;
        caller.write(datatype, MPI_DATATYPE_NULL)
    }
    fn MPI_Type_size(datatype: MPI_Datatype, size: *mut c_int) |_, caller| {
        caller.write(size, narrow(old(datatype)?.size))
    }
    fn MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) |_, caller| {
        caller.write(size, old(datatype)?.size as MPI_Count)
    }
    fn MPI_Type_get_extent(datatype: MPI_Datatype, lb: *mut MPI_Aint, extent: *mut MPI_Aint) |_, caller| {
        let of = old(datatype)?;
        caller.write(lb, of.lb)?;
        caller.write(extent, of.extent())
    }
    fn MPI_Type_get_extent_x(datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count) |_, caller| {
        let of = old(datatype)?;
        caller.write(lb, of.lb as MPI_Count)?;
        caller.write(extent, of.extent() as MPI_Count)
    }
    fn MPI_Type_get_true_extent(datatype: MPI_Datatype, true_lb: *mut MPI_Aint, true_extent: *mut MPI_Aint) |_, caller| {
        let (first, end) = old(datatype)?.true_bounds();
        caller.write(true_lb, first)?;
        caller.write(true_extent, end - first)
    }
    fn MPI_Type_get_true_extent_x(datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count) |_, caller| {
        let (first, end) = old(datatype)?.true_bounds();
        caller.write(true_lb, first as MPI_Count)?;
        caller.write(true_extent, (end - first) as MPI_Count)
    }
    fn MPI_Type_get_envelope(datatype: MPI_Datatype, integers: *mut c_int, addresses: *mut c_int, datatypes: *mut c_int, combiner: *mut c_int) |_, caller| {
        let of = old(datatype)?;
        decode::check_small(&of.made)?;
        caller.write(integers, narrow(of.made.integers.len()))?;
        caller.write(addresses, narrow(of.made.addresses.len()))?;
        caller.write(datatypes, narrow(of.made.types.len()))?;
        caller.write(combiner, of.made.combiner)
    }
    fn MPI_Type_get_contents(datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, integers: *mut c_int, addresses: *mut MPI_Aint, datatypes: *mut MPI_Datatype) |_, caller| {
        let of = old(datatype)?;
        decode::check_small(&of.made)?;
        let rooms = [max_integers, max_addresses, 0, max_datatypes].map(MPI_Count::from);
        decode::check_room(&of.made, rooms)?;
        caller.write_all(integers, of.made.integers.iter().copied())?;
        caller.write_all(addresses, of.made.addresses.iter().copied())?;
        caller.write_all(datatypes, of.made.handles())
    }
    fn MPI_Type_set_name(datatype: MPI_Datatype, name: *const c_char) |rank, caller| {
        let (text, of) = (caller.text(name)?, old(datatype)?);
        if of.predefined {
            rank.type_attributes(datatype)?.renamed.replace(Some(text));
        } else {
            *of.name.lock().expect("no thread panics with it") = text;
        }
        Ok(())
    }
    fn MPI_Type_get_name(datatype: MPI_Datatype, name: *mut c_char, length: *mut c_int) |rank, caller| {
        let typed = rank.typed.borrow().get(&datatype.addr()).cloned();
        let own = typed.and_then(|typed| typed.renamed.borrow().clone());
        let text = match (own, datatype) {
            (Some(own), _) => own,
            (None, MPI_DATATYPE_NULL) => "MPI_DATATYPE_NULL".into(),
            _ => old(datatype)?.name.lock().expect("no thread panics with it").clone(),
        };
        super::arguments::name(caller, (name, length), &text)
    }
    fn MPI_Get_address(location: *const c_void, address: *mut MPI_Aint) |_, caller| {
        // An address from MPI_BOTTOM on is used later.
        caller.write(address, location.expose_provenance() as MPI_Aint)
    }
}

/// `MPI_Aint_add` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub extern "C" fn MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub extern "C" fn MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
    addr1.wrapping_sub(addr2)
}
