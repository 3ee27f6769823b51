//! How a datatype was made: what `MPI_Type_get_envelope` and `MPI_Type_get_contents` tell.

use std::ffi::c_int;

use super::Type;
use crate::abi::{MPI_COMBINER_NAMED, MPI_Count, MPI_Datatype, MPI_ERR_ARG, MPI_ERR_TYPE};
use crate::error::{Out, require};

/// The call that made a datatype.
#[derive(Debug)]
pub(crate) struct Made {
    pub combiner: c_int,
    pub integers: Vec<c_int>,
    pub addresses: Vec<isize>,
    /// Those of a call with large counts.
    pub counts: Vec<MPI_Count>,
    /// With the numbers of their handles, which are those of predefined ones for good.
    pub types: Vec<(usize, Type)>,
}

impl Made {
    pub(crate) fn named() -> Made {
        Made::by(MPI_COMBINER_NAMED, &[])
    }

    pub(crate) fn by(combiner: c_int, integers: &[c_int]) -> Made {
        Made {
            combiner,
            integers: integers.to_vec(),
            addresses: Vec::new(),
            counts: Vec::new(),
            types: Vec::new(),
        }
    }

    pub(crate) fn at(mut self, addresses: &[isize]) -> Made {
        self.addresses = addresses.to_vec();
        self
    }

    pub(crate) fn counted(mut self, counts: &[MPI_Count]) -> Made {
        self.counts = counts.to_vec();
        self
    }

    pub(crate) fn of(mut self, types: &[MPI_Datatype]) -> Out<Made> {
        let types = types.iter().map(|it| Ok((it.addr(), super::of(*it)?)));
        self.types = types.collect::<Out<_>>()?;
        Ok(self)
    }

    /// How many integers, addresses, counts and datatypes there are.
    pub(crate) fn parts(&self) -> [usize; 4] {
        [
            self.integers.len(),
            self.addresses.len(),
            self.counts.len(),
            self.types.len(),
        ]
    }

    /// Handles of its datatypes: new ones of those that the program made, which it frees.
    pub(crate) fn handles(&self) -> impl Iterator<Item = MPI_Datatype> {
        self.types.iter().map(|(number, datatype)| match datatype {
            Type::Predefined(_) => std::ptr::without_provenance_mut(*number),
            Type::Derived(derived) => super::share(derived.clone()),
        })
    }
}

/// Refuses to tell a datatype that was made with large counts by a call without them.
pub(crate) fn check_small(made: &Made) -> Out {
    require(made.counts.is_empty(), MPI_ERR_TYPE, || {
        "the datatype was made with large counts: call the function that ends in _c".into()
    })
}

/// Refuses to decode a predefined datatype, or one that has more parts than there is room for: integers, addresses, counts
/// and datatypes.
pub(crate) fn check_room(made: &Made, rooms: [MPI_Count; 4]) -> Out {
    require(made.combiner != MPI_COMBINER_NAMED, MPI_ERR_ARG, || {
        "the datatype is predefined".into()
    })?;
    let parts = made.parts();
    let mut both = parts.iter().zip(rooms);
    let fits = both.all(|(len, room)| usize::try_from(room).is_ok_and(|room| *len <= room));
    require(fits, MPI_ERR_ARG, || {
        format!(
            "the datatype has {parts:?} integers, addresses, counts and datatypes, and there is room for {rooms:?}"
        )
    })
}
