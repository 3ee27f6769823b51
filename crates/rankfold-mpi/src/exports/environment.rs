//! The environment: begin and end, levels of threads, time, versions, memory.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_double, c_int, c_void};
use std::sync::OnceLock;
use std::time::Instant;

use super::arguments::flag;
use super::profiled;
use crate::abi::*;
use crate::call::{
    check_running, enter_anywhere, finalise, initialise, is_finalised, is_initialised,
};
use crate::error::failure;
use crate::memory::Caller;

/// The functions that no macro defines.
pub(crate) const SPECIAL: &[&str] = &[
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Wtime",
    "MPI_Wtick",
];
const PROCESSOR: &str = "a thread of one process";

/// Calls that any thread may make, those that do not ask for a level before `MPI_Init` and after `MPI_Finalize` too.
macro_rules! anywhere {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),*) |$rank:pat_param, $caller:pat_param| $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the MPI standard.")]
        $(#[$meta])*
        #[cfg_attr(feature = "exports", unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
            // SAFETY: who calls this function promises what the head of `exports` says.
            let caller = unsafe { Caller::new() };
            enter_anywhere(stringify!($name), &caller, |rank| {
                let ($rank, $caller) = (rank, &caller);
                $body
            })
        })*

        /// The names of these functions.
        pub(crate) const ANYWHERE: &[&str] = &[$(stringify!($name)),*];

        /// The addresses of these functions, and of those that no macro defines.
        pub(crate) fn special_addresses() -> Vec<usize> {
            vec![
                profiled!(MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int),
                profiled!(MPI_Init_thread(argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) -> c_int),
                profiled!(MPI_Finalize() -> c_int),
                profiled!(MPI_Wtime() -> c_double),
                profiled!(MPI_Wtick() -> c_double),
                $(profiled!($name($($arg: $ty),*) -> c_int)),*
            ]
        }

        /// The same with the names and types of their arguments.
        pub(crate) const ANYWHERE_SIGNATURES: &[crate::header::Signature] =
            &[$((stringify!($name), &[$((stringify!($arg), stringify!($ty))),*])),*];
    };
}

/// `MPI_Init` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub unsafe extern "C" fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) -> c_int {
    // SAFETY: who calls this function promises what the head of `exports` says.
    let caller = unsafe { Caller::new() };
    initialise("MPI_Init", &caller, |_| Ok(()))
}

/// The thread of a rank is the one that called `MPI_Init`: no other one is known to belong to it.
const MOST: c_int = MPI_THREAD_FUNNELED;

/// `MPI_Init_thread` of the MPI standard. It provides `MPI_THREAD_FUNNELED` at most.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub unsafe extern "C" fn MPI_Init_thread(
    _argc: *mut c_int,
    _argv: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    // SAFETY: who calls this function promises what the head of `exports` says.
    let caller = unsafe { Caller::new() };
    initialise("MPI_Init_thread", &caller, |rank| {
        let levels = [
            MPI_THREAD_SINGLE,
            MPI_THREAD_FUNNELED,
            MPI_THREAD_SERIALIZED,
            MPI_THREAD_MULTIPLE,
        ];
        if !levels.contains(&required) {
            return Err(failure(
                MPI_ERR_ARG,
                format!("{required} is no level of threads"),
            ));
        }
        rank.level.set(required.min(MOST));
        caller.write(provided, rank.level.get())
    })
}

/// `MPI_Finalize` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub unsafe extern "C" fn MPI_Finalize() -> c_int {
    // SAFETY: who calls this function promises what the head of `exports` says.
    let caller = unsafe { Caller::new() };
    finalise(&caller)
}

anywhere! {
    fn MPI_Initialized(initialized: *mut c_int) |rank, caller| {
        caller.write(initialized, flag(is_initialised(rank)))
    }
    fn MPI_Finalized(finalized: *mut c_int) |rank, caller| {
        caller.write(finalized, flag(is_finalised(rank)))
    }
    fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) |_, caller| {
        caller.write(version, 3)?;
        caller.write(subversion, 1)
    }
    fn MPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) |_, caller| {
        let text = concat!("rankfold-mpi ", env!("CARGO_PKG_VERSION"), ": ranks are threads of one process");
        let written = caller.write_text(version, MPI_MAX_LIBRARY_VERSION_STRING as usize, text)?;
        caller.write(resultlen, written as c_int)
    }
    fn MPI_Query_thread(provided: *mut c_int) |rank, caller| {
        rank.map_or(Ok(()), check_running)?;
        caller.write(provided, rank.map_or(MOST, |rank| rank.level.get()))
    }
    fn MPI_Is_thread_main(main: *mut c_int) |rank, caller| {
        rank.map_or(Ok(()), check_running)?;
        caller.write(main, flag(rank.is_some()))
    }
}

super::calls! {
    fn MPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) |_, caller| {
        let written = caller.write_text(name, MPI_MAX_PROCESSOR_NAME as usize, PROCESSOR)?;
        caller.write(resultlen, written as c_int)
    }
    fn MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) |rank, caller| {
        super::infos::check(rank, info)?;
        let len = usize::try_from(size).map_err(|_| failure(MPI_ERR_ARG, format!("the size is {size}")))?;
        let at = allocate(len).ok_or_else(|| failure(MPI_ERR_NO_MEM, format!("there is no memory for {len} bytes")))?;
        caller.write(baseptr.cast::<*mut u8>(), at)
    }
    fn MPI_Free_mem(base: *mut c_void) |_, caller| {
        release(caller, base.cast())
    }
}

/// Before each allocation is its length.
const BEFORE: usize = 16;

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len.checked_add(BEFORE)?, BEFORE).ok()
}

fn allocate(len: usize) -> Option<*mut u8> {
    // SAFETY: the layout is not empty.
    let at = unsafe { alloc(layout(len)?) };
    if at.is_null() {
        return None;
    }
    // SAFETY: the allocation begins with room for a number, and is aligned for one.
    unsafe { at.cast::<usize>().write(len) };
    Some(at.wrapping_add(BEFORE))
}

fn release(_: &Caller, at: *mut u8) -> crate::error::Out {
    if at.is_null() {
        return Err(failure(MPI_ERR_ARG, "the memory is a null pointer"));
    }
    let start = at.wrapping_sub(BEFORE);
    // SAFETY: by the caller's promise it came from `allocate`, which wrote the length there.
    let len = unsafe { start.cast::<usize>().read() };
    let layout =
        layout(len).ok_or_else(|| failure(MPI_ERR_ARG, "the memory is not from MPI_Alloc_mem"))?;
    // SAFETY: as above, with the same layout.
    unsafe { dealloc(start, layout) };
    Ok(())
}

/// `MPI_Wtime` of the MPI standard: seconds since the process first asked.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub extern "C" fn MPI_Wtime() -> c_double {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// `MPI_Wtick` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub extern "C" fn MPI_Wtick() -> c_double {
    1e-9
}
