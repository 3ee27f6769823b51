//! MPI's functions, under their names: each checks its arguments and calls what does the work.
//!
//! # Safety
//!
//! Each function is unsafe as in C: its pointer arguments are null or point to what the MPI standard says, with room for
//! as many objects as the other arguments say, and the buffers of an operation that goes on are left alone until its
//! request is complete. Wrong handles, ranks, tags, counts and null pointers are errors, and are named.
#![allow(
    unsafe_code,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

mod all_reduce;
mod arguments;
mod attributes;
mod barriers;
mod buffers;
mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod errors;
mod files;
mod fortran;
mod further;
mod groups;
mod infos;
mod large_calls;
mod large_datatypes;
mod large_messages;
mod matched;
mod messages;
mod neighborhoods;
mod one_sided;
mod operators;
mod others;
mod packing;
mod persistent;
mod reductions;
mod refused;
mod refused_files;
mod requests;
mod sessions;
mod sizes;
mod statuses;
mod table;
mod tools;
mod topologies;
mod type_attributes;
mod window_attributes;
mod windows;

pub use all_reduce::*;
pub use attributes::*;
pub use barriers::*;
pub use buffers::*;
pub use collectives::*;
pub use communicators::*;
pub use datatypes::*;
pub use environment::*;
pub(crate) use errors::Added;
pub use errors::*;
pub use files::*;
pub use fortran::*;
pub use further::*;
pub use groups::*;
pub(crate) use infos::Pairs;
pub use infos::*;
pub use large_calls::*;
pub use large_datatypes::*;
pub use large_messages::*;
pub use matched::*;
pub use messages::*;
pub use neighborhoods::*;
pub use one_sided::*;
pub use operators::*;
pub use others::*;
pub use persistent::*;
pub use reductions::*;
pub use refused::*;
pub use refused_files::*;
pub use requests::*;
pub use sessions::*;
pub use statuses::*;
pub(crate) use table::{CONVERSIONS, signatures};
pub use table::{Part, addresses, functions};
pub use tools::*;
pub use topologies::*;
pub use type_attributes::*;
pub use window_attributes::*;
pub use windows::*;

/// The address of a function under its second name, which begins with `PMPI_`: what a program calls that has a function of
/// its own under the first, to profile it.
macro_rules! profiled {
    ($name:ident($($arg:ident: $ty:ty),*) -> $result:ty) => {{
        #[cfg_attr(feature = "exports", unsafe(export_name = concat!("P", stringify!($name))))]
        unsafe extern "C" fn profiled($($arg: $ty),*) -> $result {
            #[allow(unused_unsafe)] // some of these functions are safe
            // SAFETY: who calls this one promises what that one asks.
            unsafe { $name($($arg),*) }
        }
        (profiled as *const ()).addr()
    }};
}
use profiled;

/// Defines functions of MPI. Each body returns an [`Out`](crate::error::Out): an error is handled by the error handler of
/// the communicator or window after `on`, or of `MPI_COMM_WORLD`.
macro_rules! calls {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(on $comm:ident)? |$rank:pat_param, $caller:pat_param| $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the MPI standard.")]
        $(#[$meta])*
        #[cfg_attr(feature = "exports", unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> ::std::ffi::c_int {
            // SAFETY: who calls this function promises what the head of `exports` says.
            let caller = &unsafe { $crate::memory::Caller::new() };
            let on = [$($comm.cast(),)? $crate::abi::MPI_COMM_NULL][0];
            $crate::call::enter(stringify!($name), on, caller, move |rank| {
                let ($rank, $caller) = (rank, caller);
                $body
            })
        })*

        /// The names of the functions of this file.
        pub(crate) const DONE: &[&str] = &[$(stringify!($name)),*];

        /// Their addresses, by both names: whoever has these links to all of them.
        pub(crate) fn addresses() -> Vec<usize> {
            vec![$($crate::exports::profiled!($name($($arg: $ty),*) -> ::std::ffi::c_int)),*]
        }

        /// The same with the names and types of their arguments.
        pub(crate) const SIGNATURES: &[$crate::header::Signature] =
            &[$((stringify!($name), &[$((stringify!($arg), stringify!($ty))),*])),*];
    };
}
use calls;
