//! In place of the crate `mpi-sys`, on which the crate `mpi` (rsmpi) stands: the functions are those of `rankfold_mpi`,
//! and every rank is a thread of this process.
//!
//! The names that begin with `RSMPI_` are those under which the crate `mpi` expects what C's header defines by macros.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_double, c_int};

pub use rankfold_mpi;
pub use rankfold_mpi::abi::*;
pub use rankfold_mpi::exports::*;
pub use rankfold_mpi::{launch, test};

pub type RSMPI_Fint = MPI_Fint;

macro_rules! values {
    ($($name:ident: $ty:ty = $value:ident;)*) => {
        $(pub const $name: $ty = $value;)*
    };
}

values! {
    RSMPI_C_BOOL: MPI_Datatype = MPI_C_BOOL;
    RSMPI_FLOAT: MPI_Datatype = MPI_FLOAT;
    RSMPI_DOUBLE: MPI_Datatype = MPI_DOUBLE;
    RSMPI_INT8_T: MPI_Datatype = MPI_INT8_T;
    RSMPI_INT16_T: MPI_Datatype = MPI_INT16_T;
    RSMPI_INT32_T: MPI_Datatype = MPI_INT32_T;
    RSMPI_INT64_T: MPI_Datatype = MPI_INT64_T;
    RSMPI_UINT8_T: MPI_Datatype = MPI_UINT8_T;
    RSMPI_UINT16_T: MPI_Datatype = MPI_UINT16_T;
    RSMPI_UINT32_T: MPI_Datatype = MPI_UINT32_T;
    RSMPI_UINT64_T: MPI_Datatype = MPI_UINT64_T;
    RSMPI_FLOAT_COMPLEX: MPI_Datatype = MPI_C_FLOAT_COMPLEX;
    RSMPI_DOUBLE_COMPLEX: MPI_Datatype = MPI_C_DOUBLE_COMPLEX;
    RSMPI_DATATYPE_NULL: MPI_Datatype = MPI_DATATYPE_NULL;
    RSMPI_COMM_WORLD: MPI_Comm = MPI_COMM_WORLD;
    RSMPI_COMM_NULL: MPI_Comm = MPI_COMM_NULL;
    RSMPI_COMM_SELF: MPI_Comm = MPI_COMM_SELF;
    RSMPI_COMM_TYPE_SHARED: c_int = MPI_COMM_TYPE_SHARED;
    RSMPI_GROUP_EMPTY: MPI_Group = MPI_GROUP_EMPTY;
    RSMPI_GROUP_NULL: MPI_Group = MPI_GROUP_NULL;
    RSMPI_UNDEFINED: c_int = MPI_UNDEFINED;
    RSMPI_PROC_NULL: c_int = MPI_PROC_NULL;
    RSMPI_ANY_SOURCE: c_int = MPI_ANY_SOURCE;
    RSMPI_ANY_TAG: c_int = MPI_ANY_TAG;
    RSMPI_MESSAGE_NULL: MPI_Message = MPI_MESSAGE_NULL;
    RSMPI_MESSAGE_NO_PROC: MPI_Message = MPI_MESSAGE_NO_PROC;
    RSMPI_REQUEST_NULL: MPI_Request = MPI_REQUEST_NULL;
    RSMPI_STATUS_IGNORE: *mut MPI_Status = MPI_STATUS_IGNORE;
    RSMPI_STATUSES_IGNORE: *mut MPI_Status = MPI_STATUSES_IGNORE;
    RSMPI_IDENT: c_int = MPI_IDENT;
    RSMPI_CONGRUENT: c_int = MPI_CONGRUENT;
    RSMPI_SIMILAR: c_int = MPI_SIMILAR;
    RSMPI_UNEQUAL: c_int = MPI_UNEQUAL;
    RSMPI_THREAD_SINGLE: c_int = MPI_THREAD_SINGLE;
    RSMPI_THREAD_FUNNELED: c_int = MPI_THREAD_FUNNELED;
    RSMPI_THREAD_SERIALIZED: c_int = MPI_THREAD_SERIALIZED;
    RSMPI_THREAD_MULTIPLE: c_int = MPI_THREAD_MULTIPLE;
    RSMPI_GRAPH: c_int = MPI_GRAPH;
    RSMPI_CART: c_int = MPI_CART;
    RSMPI_DIST_GRAPH: c_int = MPI_DIST_GRAPH;
    RSMPI_MAX_LIBRARY_VERSION_STRING: c_int = MPI_MAX_LIBRARY_VERSION_STRING;
    RSMPI_MAX_PROCESSOR_NAME: c_int = MPI_MAX_PROCESSOR_NAME;
    RSMPI_MAX: MPI_Op = MPI_MAX;
    RSMPI_MIN: MPI_Op = MPI_MIN;
    RSMPI_SUM: MPI_Op = MPI_SUM;
    RSMPI_PROD: MPI_Op = MPI_PROD;
    RSMPI_LAND: MPI_Op = MPI_LAND;
    RSMPI_BAND: MPI_Op = MPI_BAND;
    RSMPI_LOR: MPI_Op = MPI_LOR;
    RSMPI_BOR: MPI_Op = MPI_BOR;
    RSMPI_LXOR: MPI_Op = MPI_LXOR;
    RSMPI_BXOR: MPI_Op = MPI_BXOR;
    RSMPI_ERRORS_ARE_FATAL: MPI_Errhandler = MPI_ERRORS_ARE_FATAL;
    RSMPI_ERRORS_RETURN: MPI_Errhandler = MPI_ERRORS_RETURN;
    RSMPI_FILE_NULL: MPI_File = MPI_FILE_NULL;
    RSMPI_INFO_NULL: MPI_Info = MPI_INFO_NULL;
    RSMPI_WIN_NULL: MPI_Win = MPI_WIN_NULL;
}

/// The value for edges without weights.
pub extern "C" fn RSMPI_UNWEIGHTED() -> *mut c_int {
    MPI_UNWEIGHTED
}

/// `MPI_Wtime` of the MPI standard.
pub extern "C" fn RSMPI_Wtime() -> c_double {
    MPI_Wtime()
}

/// `MPI_Wtick` of the MPI standard.
pub extern "C" fn RSMPI_Wtick() -> c_double {
    MPI_Wtick()
}

/// The level of threads, as the crate `mpi` needs it. It keeps one state for the process, in which the thread that
/// called `MPI_Init` is the one that did so last. Unless the level is `MPI_THREAD_MULTIPLE` it lets that thread alone
/// make a datatype by `derive`. Here each rank's thread may, so that this is the answer in a world of several ranks.
///
/// # Safety
///
/// As the head of [`rankfold_mpi::exports`] says.
pub unsafe extern "C" fn MPI_Query_thread(provided: *mut c_int) -> c_int {
    let (mut is_rank, mut ranks) = (0, 1);
    // SAFETY: the numbers are written to places for them. A thread that is no rank asks for nothing else.
    let known = unsafe {
        MPI_Is_thread_main(&mut is_rank) == MPI_SUCCESS
            && is_rank != 0
            && MPI_Comm_size(MPI_COMM_WORLD, &mut ranks) == MPI_SUCCESS
    };
    if known && ranks > 1 {
        // SAFETY: as the caller promises.
        unsafe { provided.write(MPI_THREAD_MULTIPLE) };
        return MPI_SUCCESS;
    }
    // SAFETY: as the caller promises.
    unsafe { rankfold_mpi::exports::MPI_Query_thread(provided) }
}

macro_rules! conversions {
    ($($handle:ident: $to:ident $other_to:ident, $from:ident $other_from:ident;)*) => {$(
        pub extern "C" fn $to(handle: $handle) -> RSMPI_Fint {
            $other_to(handle)
        }
        pub extern "C" fn $from(number: RSMPI_Fint) -> $handle {
            $other_from(number)
        }
    )*};
}

conversions! {
    MPI_Comm: RSMPI_Comm_c2f MPI_Comm_c2f, RSMPI_Comm_f2c MPI_Comm_f2c;
    MPI_Datatype: RSMPI_Type_c2f MPI_Type_c2f, RSMPI_Type_f2c MPI_Type_f2c;
    MPI_Errhandler: RSMPI_Errhandler_c2f MPI_Errhandler_c2f, RSMPI_Errhandler_f2c MPI_Errhandler_f2c;
    MPI_File: RSMPI_File_c2f MPI_File_c2f, RSMPI_File_f2c MPI_File_f2c;
    MPI_Group: RSMPI_Group_c2f MPI_Group_c2f, RSMPI_Group_f2c MPI_Group_f2c;
    MPI_Info: RSMPI_Info_c2f MPI_Info_c2f, RSMPI_Info_f2c MPI_Info_f2c;
    MPI_Message: RSMPI_Message_c2f MPI_Message_c2f, RSMPI_Message_f2c MPI_Message_f2c;
    MPI_Op: RSMPI_Op_c2f MPI_Op_c2f, RSMPI_Op_f2c MPI_Op_f2c;
    MPI_Request: RSMPI_Request_c2f MPI_Request_c2f, RSMPI_Request_f2c MPI_Request_f2c;
    MPI_Win: RSMPI_Win_c2f MPI_Win_c2f, RSMPI_Win_f2c MPI_Win_f2c;
}
