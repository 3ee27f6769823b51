//! Handles as the integers of Fortran: predefined ones are their own numbers; those of others are places in a table.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::profiled;
use crate::abi::*;

/// The handles that have a place, by their places and with them.
static WIDE: Mutex<(Vec<usize>, BTreeMap<usize, usize>)> =
    Mutex::new((Vec::new(), BTreeMap::new()));
/// Integers from here on are places.
const FIRST: usize = 1 << 12;

fn narrow(handle: usize) -> MPI_Fint {
    if handle < FIRST {
        return handle as MPI_Fint;
    }
    let (handles, places) = &mut *WIDE.lock().expect("no thread panics with it");
    let at = *places.entry(handle).or_insert(handles.len());
    if at == handles.len() {
        handles.push(handle);
    }
    (FIRST + at) as MPI_Fint
}

fn widen(number: MPI_Fint) -> usize {
    let number = number as usize;
    let wide = WIDE.lock().expect("no thread panics with it");
    match number.checked_sub(FIRST) {
        // An integer that is none stays one, and the call that gets it refuses it.
        Some(at) => wide.0.get(at).copied().unwrap_or(0),
        None => number,
    }
}

macro_rules! conversions {
    ($($handle:ident $to:ident $from:ident;)*) => {$(
        #[doc = concat!("`", stringify!($to), "` of the MPI standard.")]
        #[cfg_attr(feature = "exports", unsafe(no_mangle))]
        pub extern "C" fn $to(handle: $handle) -> MPI_Fint {
            narrow(handle.addr())
        }
        #[doc = concat!("`", stringify!($from), "` of the MPI standard.")]
        #[cfg_attr(feature = "exports", unsafe(no_mangle))]
        pub extern "C" fn $from(number: MPI_Fint) -> $handle {
            std::ptr::without_provenance_mut(widen(number))
        }
    )*
        /// The names of the functions of this file.
        pub(crate) const DONE: &[&str] = &[$(stringify!($to), stringify!($from)),*];

        /// The addresses of these functions.
        pub(crate) fn addresses() -> Vec<usize> {
            vec![$(profiled!($to(handle: $handle) -> MPI_Fint), profiled!($from(number: MPI_Fint) -> $handle)),*]
        }

        /// Types of handles and the names of their two functions.
        pub(crate) const CONVERSIONS: &[[&str; 3]] =
            &[$([stringify!($handle), stringify!($to), stringify!($from)]),*];
    };
}

conversions! {
    MPI_Comm MPI_Comm_c2f MPI_Comm_f2c;
    MPI_Datatype MPI_Type_c2f MPI_Type_f2c;
    MPI_Errhandler MPI_Errhandler_c2f MPI_Errhandler_f2c;
    MPI_File MPI_File_c2f MPI_File_f2c;
    MPI_Group MPI_Group_c2f MPI_Group_f2c;
    MPI_Info MPI_Info_c2f MPI_Info_f2c;
    MPI_Message MPI_Message_c2f MPI_Message_f2c;
    MPI_Op MPI_Op_c2f MPI_Op_f2c;
    MPI_Request MPI_Request_c2f MPI_Request_f2c;
    MPI_Session MPI_Session_c2f MPI_Session_f2c;
    MPI_Win MPI_Win_c2f MPI_Win_f2c;
}
