//! The interface for tools, `MPI_T_`: there are no variables, categories, events or sources of events. Its calls return
//! their errors, and call no handler.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::profiled;
use crate::abi::*;
use crate::error::Out;
use crate::memory::Caller;
use crate::rank::current;

/// How often it was initialised and not finalised, by all ranks of the process: for threads that are no ranks.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// How often this rank has.
fn open() -> usize {
    // Relaxed, as everywhere here: only the number matters.
    current().map_or_else(|| OPEN.load(Ordering::Relaxed), |rank| rank.tools.get())
}

/// The handle of every session: no session has variables.
const SESSION: MPI_T_pvar_session = without_provenance_mut(1);

/// The code of a call; all but the first need that one.
fn code(result: Result<Out, c_int>) -> c_int {
    match result {
        _ if open() == 0 => MPI_T_ERR_NOT_INITIALIZED,
        Ok(Ok(())) => MPI_SUCCESS,
        Ok(Err(_)) => MPI_T_ERR_INVALID,
        Err(code) => code,
    }
}

fn check_session(session: MPI_T_pvar_session) -> Result<(), c_int> {
    match session == SESSION {
        true => Ok(()),
        false => Err(MPI_T_ERR_INVALID_SESSION),
    }
}

/// What is done to all variables of a session, which are none, or to one, which there is not.
fn on_variables(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Result<Out, c_int> {
    check_session(session)?;
    match handle == MPI_T_PVAR_ALL_HANDLES {
        true => Ok(Ok(())),
        false => Err(MPI_T_ERR_INVALID_HANDLE),
    }
}

macro_rules! tools {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) |$caller:pat_param| $body:block)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the MPI standard.")]
            #[cfg_attr(feature = "exports", unsafe(no_mangle))]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
                // SAFETY: who calls this function promises what the head of `exports` says.
                let $caller = unsafe { Caller::new() };
                let call = || -> Result<Out, c_int> { $body };
                code(call())
            }
        )*

        /// The names of these functions.
        pub(crate) const DONE: &[&str] = &[$(stringify!($name)),*];

        /// Their addresses.
        pub(crate) fn addresses() -> Vec<usize> {
            vec![
                profiled!(MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int),
                profiled!(MPI_T_finalize() -> c_int),
                $(profiled!($name($($arg: $ty),*) -> c_int)),*
            ]
        }

        /// The same with the names and types of their arguments.
        pub(crate) const SIGNATURES: &[crate::header::Signature] =
            &[
                ("MPI_T_init_thread", &[("required", "c_int"), ("provided", "*mut c_int")]),
                $((stringify!($name), &[$((stringify!($arg), stringify!($ty))),*])),*
            ];
    };
}

/// `MPI_T_init_thread` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub unsafe extern "C" fn MPI_T_init_thread(_required: c_int, provided: *mut c_int) -> c_int {
    // SAFETY: who calls this function promises what the head of `exports` says.
    let caller = unsafe { Caller::new() };
    OPEN.fetch_add(1, Ordering::Relaxed);
    if let Some(rank) = current() {
        rank.tools.set(rank.tools.get() + 1);
    }
    // Nothing here belongs to a thread.
    code(Ok(caller.write(provided, MPI_THREAD_MULTIPLE)))
}

/// `MPI_T_finalize` of the MPI standard.
#[cfg_attr(feature = "exports", unsafe(no_mangle))]
pub extern "C" fn MPI_T_finalize() -> c_int {
    if open() == 0 {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    let less = |open: usize| open.checked_sub(1);
    // It is 0 only where another thread has finalised too often.
    _ = OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    if let Some(rank) = current() {
        rank.tools.set(rank.tools.get() - 1);
    }
    MPI_SUCCESS
}

/// These two.
pub(crate) const SPECIAL: &[&str] = &["MPI_T_init_thread", "MPI_T_finalize"];

tools! {
    fn MPI_T_enum_get_info(_enumtype: MPI_T_enum, _number: *mut c_int, _name: *mut c_char, _name_len: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_enum_get_item(_enumtype: MPI_T_enum, _at: c_int, _value: *mut c_int, _name: *mut c_char, _name_len: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_cvar_get_num(num_cvar: *mut c_int) |caller| {
        Ok(caller.write(num_cvar, 0))
    }
    fn MPI_T_cvar_get_info(_at: c_int, _name: *mut c_char, _name_len: *mut c_int, _verbosity: *mut c_int, _datatype: *mut MPI_Datatype, _enumtype: *mut MPI_T_enum, _desc: *mut c_char, _desc_len: *mut c_int, _bind: *mut c_int, _scope: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_cvar_get_index(_name: *const c_char, _at: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_NAME)
    }
    fn MPI_T_cvar_handle_alloc(_at: c_int, _object: *mut c_void, _handle: *mut MPI_T_cvar_handle, _count: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_cvar_handle_free(_handle: *mut MPI_T_cvar_handle) |_caller| {
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_cvar_read(_handle: MPI_T_cvar_handle, _to: *mut c_void) |_caller| {
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_cvar_write(_handle: MPI_T_cvar_handle, _from: *const c_void) |_caller| {
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_pvar_get_num(num_pvar: *mut c_int) |caller| {
        Ok(caller.write(num_pvar, 0))
    }
    fn MPI_T_pvar_get_info(_at: c_int, _name: *mut c_char, _name_len: *mut c_int, _verbosity: *mut c_int, _varclass: *mut c_int, _datatype: *mut MPI_Datatype, _enumtype: *mut MPI_T_enum, _desc: *mut c_char, _desc_len: *mut c_int, _bind: *mut c_int, _readonly: *mut c_int, _continuous: *mut c_int, _atomic: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_pvar_get_index(_name: *const c_char, _varclass: c_int, _at: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_NAME)
    }
    fn MPI_T_pvar_session_create(session: *mut MPI_T_pvar_session) |caller| {
        Ok(caller.write(session, SESSION))
    }
    fn MPI_T_pvar_session_free(session: *mut MPI_T_pvar_session) |caller| {
        match caller.read(session.cast_const()) {
            Ok(open) => check_session(open)?,
            Err(error) => return Ok(Err(error)),
        }
        Ok(caller.write(session, MPI_T_PVAR_SESSION_NULL))
    }
    fn MPI_T_pvar_handle_alloc(session: MPI_T_pvar_session, _at: c_int, _object: *mut c_void, _handle: *mut MPI_T_pvar_handle, _count: *mut c_int) |_caller| {
        check_session(session)?;
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_pvar_handle_free(session: MPI_T_pvar_session, _handle: *mut MPI_T_pvar_handle) |_caller| {
        check_session(session)?;
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_pvar_start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) |_caller| {
        on_variables(session, handle)
    }
    fn MPI_T_pvar_stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) |_caller| {
        on_variables(session, handle)
    }
    fn MPI_T_pvar_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) |_caller| {
        on_variables(session, handle)
    }
    fn MPI_T_pvar_read(session: MPI_T_pvar_session, _handle: MPI_T_pvar_handle, _to: *mut c_void) |_caller| {
        check_session(session)?;
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_pvar_readreset(session: MPI_T_pvar_session, _handle: MPI_T_pvar_handle, _to: *mut c_void) |_caller| {
        check_session(session)?;
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_pvar_write(session: MPI_T_pvar_session, _handle: MPI_T_pvar_handle, _from: *const c_void) |_caller| {
        check_session(session)?;
        Err(MPI_T_ERR_INVALID_HANDLE)
    }
    fn MPI_T_category_get_num(num_cat: *mut c_int) |caller| {
        Ok(caller.write(num_cat, 0))
    }
    fn MPI_T_category_get_info(_at: c_int, _name: *mut c_char, _name_len: *mut c_int, _desc: *mut c_char, _desc_len: *mut c_int, _cvars: *mut c_int, _pvars: *mut c_int, _categories: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_category_get_index(_name: *const c_char, _at: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_NAME)
    }
    fn MPI_T_category_get_num_events(_at: c_int, _events: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_category_get_cvars(_at: c_int, _len: c_int, _indices: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_category_get_pvars(_at: c_int, _len: c_int, _indices: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_category_get_events(_at: c_int, _len: c_int, _indices: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_category_get_categories(_at: c_int, _len: c_int, _indices: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_INDEX)
    }
    fn MPI_T_category_changed(stamp: *mut c_int) |caller| {
        Ok(caller.write(stamp, 0))
    }
    fn MPI_T_event_get_num(num_events: *mut c_int) |caller| {
        Ok(caller.write(num_events, 0))
    }
    fn MPI_T_event_get_index(_name: *const c_char, _at: *mut c_int) |_caller| {
        Err(MPI_T_ERR_INVALID_NAME)
    }
    fn MPI_T_source_get_num(num_sources: *mut c_int) |caller| {
        Ok(caller.write(num_sources, 0))
    }
}
