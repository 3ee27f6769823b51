//! Buffers whose counts are `int`, or `MPI_Count` in the calls that end in `_c`; and how both are defined at once.

use std::ffi::{c_int, c_void};

use super::arguments;
use crate::abi::*;
use crate::collective::Parts;
use crate::datatype;
use crate::datatype::pack::Place;
use crate::error::{Out, failure, require};
use crate::memory::Caller;
use crate::p2p::checked_buffer;

/// A count of either type.
pub(super) fn counted(number: impl Into<i64>, what: &str) -> Out<usize> {
    let number = number.into();
    usize::try_from(number).map_err(|_| {
        let text = format!("{what} is {number}, which is negative");
        failure(MPI_ERR_COUNT, text)
    })
}

/// A buffer of a call.
pub(super) fn place(at: *const c_void, number: impl Into<i64>, of: MPI_Datatype) -> Out<Place> {
    let number = number.into();
    if let Ok(number) = c_int::try_from(number) {
        return arguments::place(at, number, of);
    }
    let count = counted(number, "the count")?;
    let of = datatype::committed(of)?;
    let at = checked_buffer(at.cast_mut(), count, &of)?.at;
    Ok(Place { at, count, of })
}

/// A buffer that may be `MPI_IN_PLACE`, which is `None`.
pub(super) fn in_place(
    at: *const c_void,
    number: impl Into<i64>,
    of: MPI_Datatype,
) -> Out<Option<Place>> {
    match at.cast_mut() == MPI_IN_PLACE {
        true => Ok(None),
        false => place(at, number, of).map(Some),
    }
}

/// A buffer of which each rank has a part of its own length at its own place.
pub(super) fn parts<N: Into<i64> + Copy, D: TryInto<isize> + Copy>(
    caller: &Caller,
    at: *const c_void,
    (counts, places): (*const N, *const D),
    of: MPI_Datatype,
    ranks: usize,
) -> Out<(Place, Parts)> {
    let counts = caller.array(counts, ranks)?;
    let counts: Out<Vec<usize>> = counts.iter().map(|it| counted(*it, "a count")).collect();
    let (counts, places) = (counts?, self::places(caller, places, ranks)?);
    // Only parts that are not empty need a buffer.
    let longest = counts.iter().copied().max().unwrap_or(0);
    Ok((place(at, longest as i64, of)?, Parts { counts, places }))
}

/// Places of either type.
pub(super) fn places<D: TryInto<isize> + Copy>(
    caller: &Caller,
    places: *const D,
    ranks: usize,
) -> Out<Vec<isize>> {
    let one = |at: D| {
        at.try_into()
            .map_err(|_| failure(MPI_ERR_ARG, "a place is beyond the address space"))
    };
    caller.array(places, ranks)?.into_iter().map(one).collect()
}

/// A buffer of equal parts, one for each rank.
pub(super) fn equal(
    at: *const c_void,
    number: impl Into<i64>,
    of: MPI_Datatype,
    ranks: usize,
) -> Out<(Place, Parts)> {
    let place = place(at, number, of)?;
    let all = place.count.checked_mul(ranks);
    let fits = all.is_some_and(|all| place.of.fits(all));
    require(fits, MPI_ERR_COUNT, || {
        let number = place.count;
        format!("buffers of {number} elements for {ranks} ranks are larger than the address space")
    })?;
    let parts = Parts::equal(ranks, place.count);
    Ok((place, parts))
}

/// Defines collectives in six forms: the three of [`collectives`](super::persistent::collectives), and these with large
/// counts. In the arguments `Count` and `Place` are the types of counts and of places in buffers.
macro_rules! both_sizes {
    ($($name:ident $started:ident $persistent:ident / $name_c:ident $started_c:ident $persistent_c:ident
        ($($args:tt)*) |$rank:tt, $caller:tt, $on:ident| $(at once $quick:block, or)? $body:block)*) => {
        /// With counts that are `int`.
        pub(crate) mod narrow {
            use super::*;

            type Count = c_int;
            #[allow(dead_code)] // some files have no places
            type Displacement = c_int;

            $crate::exports::persistent::collectives! {
                $($name $started $persistent($($args)*) |$rank, $caller, $on| $(at once $quick, or)? $body)*
            }
        }
        /// With large counts.
        pub(crate) mod large {
            use super::*;

            type Count = MPI_Count;
            #[allow(dead_code)] // some files have no places
            type Displacement = MPI_Aint;

            $crate::exports::persistent::collectives! {
                $($name_c $started_c $persistent_c($($args)*) |$rank, $caller, $on| $(at once $quick, or)? $body)*
            }
        }
        pub use large::*;
        pub use narrow::*;
    };
}
pub(super) use both_sizes;
