//! Types and values of the application binary interface that MPI 5.0 defines: what a C program and this library must
//! agree on. Handles are as wide as a pointer; those of predefined objects are fixed numbers below 4096.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::without_provenance_mut as fixed;

macro_rules! handles {
    ($($of:ident $name:ident { $($value:ident = $number:expr;)* })*) => {$(
        #[repr(C)]
        pub struct $of {
            _opaque: [u8; 0],
        }
        pub type $name = *mut $of;
        $(pub const $value: $name = fixed($number);)*
    )*
        /// Structs, types and values of handles, for the header of C.
        pub(crate) const HANDLES: &[(&str, &str, &[(&str, usize)])] =
            &[$((stringify!($of), stringify!($name), &[$((stringify!($value), $number)),*])),*];
    };
}

handles! {
    MPI_ABI_Op MPI_Op {
        MPI_OP_NULL = 0x20; MPI_SUM = 0x21; MPI_MIN = 0x22; MPI_MAX = 0x23; MPI_PROD = 0x24;
        MPI_BAND = 0x28; MPI_BOR = 0x29; MPI_BXOR = 0x2a;
        MPI_LAND = 0x30; MPI_LOR = 0x31; MPI_LXOR = 0x32;
        MPI_MINLOC = 0x38; MPI_MAXLOC = 0x39; MPI_REPLACE = 0x3c; MPI_NO_OP = 0x3d;
    }
    MPI_ABI_Comm MPI_Comm { MPI_COMM_NULL = 0x100; MPI_COMM_WORLD = 0x101; MPI_COMM_SELF = 0x102; }
    MPI_ABI_Group MPI_Group { MPI_GROUP_NULL = 0x108; MPI_GROUP_EMPTY = 0x109; }
    MPI_ABI_Win MPI_Win { MPI_WIN_NULL = 0x110; }
    MPI_ABI_File MPI_File { MPI_FILE_NULL = 0x118; }
    MPI_ABI_Session MPI_Session { MPI_SESSION_NULL = 0x120; }
    MPI_ABI_Message MPI_Message { MPI_MESSAGE_NULL = 0x128; MPI_MESSAGE_NO_PROC = 0x129; }
    MPI_ABI_Info MPI_Info { MPI_INFO_NULL = 0x130; MPI_INFO_ENV = 0x131; }
    MPI_ABI_Errhandler MPI_Errhandler {
        MPI_ERRHANDLER_NULL = 0x140; MPI_ERRORS_ARE_FATAL = 0x141; MPI_ERRORS_RETURN = 0x142; MPI_ERRORS_ABORT = 0x143;
    }
    MPI_T_enum_t MPI_T_enum { MPI_T_ENUM_NULL = 0; }
    MPI_T_cvar_handle_t MPI_T_cvar_handle { MPI_T_CVAR_HANDLE_NULL = 0; }
    MPI_T_pvar_handle_t MPI_T_pvar_handle { MPI_T_PVAR_HANDLE_NULL = 0; MPI_T_PVAR_ALL_HANDLES = 1; }
    MPI_T_pvar_session_t MPI_T_pvar_session { MPI_T_PVAR_SESSION_NULL = 0; }
    MPI_ABI_Request MPI_Request { MPI_REQUEST_NULL = 0x180; }
    MPI_ABI_Datatype MPI_Datatype {
        MPI_DATATYPE_NULL = 0x200; MPI_AINT = 0x201; MPI_COUNT = 0x202; MPI_OFFSET = 0x203; MPI_PACKED = 0x207;
        MPI_SHORT = 0x208; MPI_INT = 0x209; MPI_LONG = 0x20a; MPI_LONG_LONG = 0x20b;
        MPI_UNSIGNED_SHORT = 0x20c; MPI_UNSIGNED = 0x20d; MPI_UNSIGNED_LONG = 0x20e; MPI_UNSIGNED_LONG_LONG = 0x20f;
        MPI_FLOAT = 0x210; MPI_C_FLOAT_COMPLEX = 0x212; MPI_DOUBLE = 0x214; MPI_C_DOUBLE_COMPLEX = 0x216;
        MPI_CXX_FLOAT_COMPLEX = 0x213; MPI_CXX_DOUBLE_COMPLEX = 0x217;
        MPI_LOGICAL = 0x218; MPI_INTEGER = 0x219; MPI_REAL = 0x21a; MPI_COMPLEX = 0x21b; MPI_DOUBLE_PRECISION = 0x21c; MPI_DOUBLE_COMPLEX = 0x21d;
        MPI_2REAL = 0x230; MPI_2DOUBLE_PRECISION = 0x231; MPI_2INTEGER = 0x232;
        MPI_LONG_DOUBLE = 0x220; MPI_C_LONG_DOUBLE_COMPLEX = 0x224; MPI_CXX_LONG_DOUBLE_COMPLEX = 0x225;
        MPI_FLOAT_INT = 0x228; MPI_DOUBLE_INT = 0x229; MPI_LONG_INT = 0x22a; MPI_2INT = 0x22b; MPI_SHORT_INT = 0x22c;
        MPI_LONG_DOUBLE_INT = 0x22d;
        MPI_C_BOOL = 0x238; MPI_CXX_BOOL = 0x239; MPI_WCHAR = 0x23c;
        MPI_INT8_T = 0x240; MPI_UINT8_T = 0x241; MPI_CHAR = 0x243; MPI_SIGNED_CHAR = 0x244;
        MPI_UNSIGNED_CHAR = 0x245; MPI_BYTE = 0x247;
        MPI_INT16_T = 0x248; MPI_UINT16_T = 0x249; MPI_INT32_T = 0x250; MPI_UINT32_T = 0x251;
        MPI_INT64_T = 0x258; MPI_UINT64_T = 0x259;
        MPI_LOGICAL1 = 0x2c0; MPI_LOGICAL2 = 0x2c8; MPI_LOGICAL4 = 0x2d0; MPI_LOGICAL8 = 0x2d8;
        MPI_INTEGER1 = 0x2c1; MPI_CHARACTER = 0x2c3; MPI_INTEGER2 = 0x2c9; MPI_INTEGER4 = 0x2d1; MPI_INTEGER8 = 0x2d9;
        MPI_REAL4 = 0x2d2; MPI_REAL8 = 0x2da; MPI_COMPLEX8 = 0x2db; MPI_COMPLEX16 = 0x2e3;
    }
}

/// What a receive, a probe or a completed request tells of its message.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MPI_Status {
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
    pub MPI_internal: [c_int; 5],
}

/// In the module `mpi_f08` of Fortran it has the same parts.
pub type MPI_F08_status = MPI_Status;
pub type MPI_Aint = isize;
pub type MPI_Count = i64;
pub type MPI_Offset = i64;
pub type MPI_Fint = c_int;

pub type MPI_User_function =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
pub type MPI_User_function_c =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut MPI_Datatype);
pub type MPI_Comm_copy_attr_function = unsafe extern "C" fn(
    MPI_Comm,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;
pub type MPI_Comm_delete_attr_function =
    unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;
pub type MPI_Win_copy_attr_function = unsafe extern "C" fn(
    MPI_Win,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;
pub type MPI_Win_delete_attr_function =
    unsafe extern "C" fn(MPI_Win, c_int, *mut c_void, *mut c_void) -> c_int;
pub type MPI_Type_copy_attr_function = unsafe extern "C" fn(
    MPI_Datatype,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;
pub type MPI_Type_delete_attr_function =
    unsafe extern "C" fn(MPI_Datatype, c_int, *mut c_void, *mut c_void) -> c_int;
/// The further arguments that the standard leaves to the library are none.
pub type MPI_Comm_errhandler_function = unsafe extern "C" fn(*mut MPI_Comm, *mut c_int, ...);
pub type MPI_Session_errhandler_function = unsafe extern "C" fn(*mut MPI_Session, *mut c_int, ...);
pub type MPI_Win_errhandler_function = unsafe extern "C" fn(*mut MPI_Win, *mut c_int, ...);
pub type MPI_File_errhandler_function = unsafe extern "C" fn(*mut MPI_File, *mut c_int, ...);
pub type MPI_Grequest_query_function = unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int;
pub type MPI_Grequest_free_function = unsafe extern "C" fn(*mut c_void) -> c_int;
pub type MPI_Grequest_cancel_function = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
pub type MPI_Datarep_extent_function =
    unsafe extern "C" fn(MPI_Datatype, *mut MPI_Aint, *mut c_void) -> c_int;
pub type MPI_Datarep_conversion_function = unsafe extern "C" fn(
    *mut c_void,
    MPI_Datatype,
    c_int,
    *mut c_void,
    MPI_Offset,
    *mut c_void,
) -> c_int;
pub type MPI_Datarep_conversion_function_c = unsafe extern "C" fn(
    *mut c_void,
    MPI_Datatype,
    MPI_Count,
    *mut c_void,
    MPI_Offset,
    *mut c_void,
) -> c_int;

macro_rules! classes {
    ($($name:ident = $number:expr, $text:expr;)*) => {
        $(pub const $name: c_int = $number;)*

        /// Names and values, for the header of C.
        pub(crate) const CLASSES: &[(&str, c_int)] = &[$((stringify!($name), $number)),*];

        /// The name of an error class, and what it means.
        pub(crate) fn class_text(class: c_int) -> Option<(&'static str, &'static str)> {
            match class {
                MPI_SUCCESS => Some(("MPI_SUCCESS", "no error")),
                $($number => Some((stringify!($name), $text)),)*
                _ => None,
            }
        }
    };
}

classes! {
    MPI_ERR_BUFFER = 1, "a buffer is missing, or used twice in one call";
    MPI_ERR_COUNT = 2, "a count is negative";
    MPI_ERR_TYPE = 3, "no such datatype, or it does not match";
    MPI_ERR_TAG = 4, "no such tag";
    MPI_ERR_COMM = 5, "no such communicator";
    MPI_ERR_RANK = 6, "no such rank";
    MPI_ERR_REQUEST = 7, "no such request";
    MPI_ERR_ROOT = 8, "no such root";
    MPI_ERR_GROUP = 9, "no such group";
    MPI_ERR_OP = 10, "no such operator, or not on this datatype";
    MPI_ERR_TOPOLOGY = 11, "the communicator has no such topology";
    MPI_ERR_DIMS = 12, "the dimensions do not fit";
    MPI_ERR_ARG = 13, "an argument is wrong";
    MPI_ERR_UNKNOWN = 14, "an error without a class";
    MPI_ERR_TRUNCATE = 15, "the message is longer than the buffer";
    MPI_ERR_OTHER = 16, "see the text";
    MPI_ERR_INTERN = 17, "a mistake in the library";
    MPI_ERR_PENDING = 18, "the request is still pending";
    MPI_ERR_IN_STATUS = 19, "the statuses hold the errors";
    MPI_ERR_ACCESS = 20, "the file may not be accessed";
    MPI_ERR_AMODE = 21, "no such mode of access";
    MPI_ERR_ASSERT = 22, "no such assertion";
    MPI_ERR_BAD_FILE = 23, "no such name of a file";
    MPI_ERR_BASE = 24, "no such base of memory";
    MPI_ERR_CONVERSION = 25, "data cannot be converted";
    MPI_ERR_DISP = 26, "no such displacement";
    MPI_ERR_DUP_DATAREP = 27, "the representation of data is there already";
    MPI_ERR_FILE_EXISTS = 28, "the file exists";
    MPI_ERR_FILE_IN_USE = 29, "the file is in use";
    MPI_ERR_FILE = 30, "no such file handle";
    MPI_ERR_INFO_KEY = 31, "no such key of an info";
    MPI_ERR_INFO_NOKEY = 32, "the info has no such key";
    MPI_ERR_INFO_VALUE = 33, "no such value of an info";
    MPI_ERR_INFO = 34, "no such info";
    MPI_ERR_IO = 35, "input or output failed";
    MPI_ERR_KEYVAL = 36, "no such key of an attribute";
    MPI_ERR_LOCKTYPE = 37, "no such lock";
    MPI_ERR_NAME = 38, "no such name of a service";
    MPI_ERR_NO_MEM = 39, "no memory";
    MPI_ERR_NOT_SAME = 40, "an argument is not the same on all ranks";
    MPI_ERR_NO_SPACE = 41, "no space for the file";
    MPI_ERR_NO_SUCH_FILE = 42, "the file does not exist";
    MPI_ERR_PORT = 43, "no such port";
    MPI_ERR_QUOTA = 44, "the quota for files is exceeded";
    MPI_ERR_READ_ONLY = 45, "the file can only be read";
    MPI_ERR_RMA_ATTACH = 46, "the memory cannot be attached";
    MPI_ERR_RMA_CONFLICT = 47, "accesses to the window conflict";
    MPI_ERR_RMA_RANGE = 48, "beyond the window";
    MPI_ERR_RMA_SHARED = 49, "the memory cannot be shared";
    MPI_ERR_RMA_SYNC = 50, "the epochs of the window do not match";
    MPI_ERR_SERVICE = 51, "no such service";
    MPI_ERR_SIZE = 52, "no such size";
    MPI_ERR_SPAWN = 53, "processes cannot be started";
    MPI_ERR_UNSUPPORTED_DATAREP = 54, "no such representation of data";
    MPI_ERR_UNSUPPORTED_OPERATION = 55, "not done by this library";
    MPI_ERR_WIN = 56, "no such window";
    MPI_ERR_RMA_FLAVOR = 57, "the window was made otherwise";
    MPI_ERR_PROC_ABORTED = 58, "another rank has ended";
    MPI_ERR_VALUE_TOO_LARGE = 59, "the value is too large";
    MPI_ERR_SESSION = 60, "no such session";
    MPI_ERR_ERRHANDLER = 61, "no such error handler";
}

pub const MPI_BOTTOM: *mut c_void = fixed(0);
pub const MPI_IN_PLACE: *mut c_void = fixed(1);
pub const MPI_BUFFER_AUTOMATIC: *mut c_void = fixed(2);
pub const MPI_STATUS_IGNORE: *mut MPI_Status = fixed(0);
pub const MPI_STATUSES_IGNORE: *mut MPI_Status = fixed(0);
pub const MPI_ERRCODES_IGNORE: *mut c_int = fixed(0);
pub const MPI_ARGV_NULL: *mut *mut c_char = fixed(0);
pub const MPI_UNWEIGHTED: *mut c_int = fixed(10);
pub const MPI_WEIGHTS_EMPTY: *mut c_int = fixed(11);

macro_rules! numbers {
    ($($name:ident = $number:expr;)*) => {
        $(pub const $name: c_int = $number;)*

        /// Names and values, for the header of C.
        pub(crate) const NUMBERS: &[(&str, c_int)] = &[$((stringify!($name), $number)),*];
    };
}

numbers! {
    MPI_SUCCESS = 0;
    MPI_ERR_LASTCODE = 0x3fff;
    MPI_MAX_ERROR_STRING = 512;
    MPI_MAX_INFO_KEY = 256;
    MPI_MAX_INFO_VAL = 1024;
    MPI_MAX_LIBRARY_VERSION_STRING = 8192;
    MPI_MAX_OBJECT_NAME = 128;
    MPI_MAX_PORT_NAME = 1024;
    MPI_MAX_PROCESSOR_NAME = 256;
    MPI_MAX_STRINGTAG_LEN = 1024;
    MPI_MAX_PSET_NAME_LEN = 1024;
    MPI_BSEND_OVERHEAD = 512;
    MPI_ANY_SOURCE = -1;
    MPI_ANY_TAG = -2;
    MPI_PROC_NULL = -3;
    MPI_ROOT = -4;
    MPI_UNDEFINED = -32766;
    MPI_THREAD_SINGLE = 0;
    MPI_THREAD_FUNNELED = 1024;
    MPI_THREAD_SERIALIZED = 2048;
    MPI_THREAD_MULTIPLE = 4096;
    MPI_ORDER_C = 12;
    MPI_ORDER_FORTRAN = 15;
    MPI_DISTRIBUTE_NONE = 16;
    MPI_DISTRIBUTE_BLOCK = 17;
    MPI_DISTRIBUTE_CYCLIC = 18;
    MPI_DISTRIBUTE_DFLT_DARG = 19;
    MPI_COMBINER_NAMED = 101;
    MPI_COMBINER_DUP = 102;
    MPI_COMBINER_CONTIGUOUS = 103;
    MPI_COMBINER_VECTOR = 104;
    MPI_COMBINER_HVECTOR = 105;
    MPI_COMBINER_INDEXED = 106;
    MPI_COMBINER_HINDEXED = 107;
    MPI_COMBINER_INDEXED_BLOCK = 108;
    MPI_COMBINER_HINDEXED_BLOCK = 109;
    MPI_COMBINER_STRUCT = 110;
    MPI_COMBINER_SUBARRAY = 111;
    MPI_COMBINER_DARRAY = 112;
    MPI_COMBINER_F90_INTEGER = 113;
    MPI_COMBINER_F90_REAL = 114;
    MPI_COMBINER_F90_COMPLEX = 115;
    MPI_COMBINER_RESIZED = 116;
    MPI_COMBINER_VALUE_INDEX = 117;
    MPI_TYPECLASS_INTEGER = 192;
    MPI_TYPECLASS_REAL = 193;
    MPI_TYPECLASS_COMPLEX = 194;
    MPI_IDENT = 201;
    MPI_CONGRUENT = 202;
    MPI_SIMILAR = 203;
    MPI_UNEQUAL = 204;
    MPI_CART = 211;
    MPI_GRAPH = 212;
    MPI_DIST_GRAPH = 213;
    MPI_COMM_TYPE_SHARED = 221;
    MPI_COMM_TYPE_HW_UNGUIDED = 222;
    MPI_COMM_TYPE_HW_GUIDED = 223;
    MPI_COMM_TYPE_RESOURCE_GUIDED = 224;
    MPI_LOCK_EXCLUSIVE = 301;
    MPI_LOCK_SHARED = 302;
    MPI_WIN_FLAVOR_CREATE = 311;
    MPI_WIN_FLAVOR_ALLOCATE = 312;
    MPI_WIN_FLAVOR_DYNAMIC = 313;
    MPI_WIN_FLAVOR_SHARED = 314;
    MPI_WIN_UNIFIED = 321;
    MPI_WIN_SEPARATE = 322;
    MPI_MODE_APPEND = 1;
    MPI_MODE_CREATE = 2;
    MPI_MODE_DELETE_ON_CLOSE = 4;
    MPI_MODE_EXCL = 8;
    MPI_MODE_RDONLY = 16;
    MPI_MODE_RDWR = 32;
    MPI_MODE_SEQUENTIAL = 64;
    MPI_MODE_UNIQUE_OPEN = 128;
    MPI_MODE_WRONLY = 256;
    MPI_SEEK_CUR = 401;
    MPI_SEEK_END = 402;
    MPI_SEEK_SET = 403;
    MPI_MODE_NOCHECK = 1024;
    MPI_MODE_NOPRECEDE = 2048;
    MPI_MODE_NOPUT = 4096;
    MPI_MODE_NOSTORE = 8192;
    MPI_MODE_NOSUCCEED = 16384;
    MPI_KEYVAL_INVALID = 0;
    MPI_TAG_UB = 501;
    MPI_IO = 502;
    MPI_HOST = 503;
    MPI_WTIME_IS_GLOBAL = 504;
    MPI_UNIVERSE_SIZE = 505;
    MPI_APPNUM = 506;
    MPI_LASTUSEDCODE = 507;
    MPI_WIN_BASE = 601;
    MPI_WIN_DISP_UNIT = 602;
    MPI_WIN_SIZE = 603;
    MPI_WIN_CREATE_FLAVOR = 604;
    MPI_WIN_MODEL = 605;
    MPI_T_ERR_CANNOT_INIT = 1001;
    MPI_T_ERR_NOT_ACCESSIBLE = 1002;
    MPI_T_ERR_NOT_INITIALIZED = 1003;
    MPI_T_ERR_NOT_SUPPORTED = 1004;
    MPI_T_ERR_MEMORY = 1005;
    MPI_T_ERR_INVALID = 1006;
    MPI_T_ERR_INVALID_INDEX = 1007;
    MPI_T_ERR_INVALID_ITEM = 1008;
    MPI_T_ERR_INVALID_SESSION = 1009;
    MPI_T_ERR_INVALID_HANDLE = 1010;
    MPI_T_ERR_INVALID_NAME = 1011;
    MPI_T_ERR_OUT_OF_HANDLES = 1012;
    MPI_T_ERR_OUT_OF_SESSIONS = 1013;
    MPI_T_ERR_CVAR_SET_NOT_NOW = 1014;
    MPI_T_ERR_CVAR_SET_NEVER = 1015;
    MPI_T_ERR_PVAR_NO_WRITE = 1016;
    MPI_T_ERR_PVAR_NO_STARTSTOP = 1017;
    MPI_T_ERR_PVAR_NO_ATOMIC = 1018;
    MPI_T_VERBOSITY_USER_BASIC = 0x09;
    MPI_T_VERBOSITY_USER_DETAIL = 0x0a;
    MPI_T_VERBOSITY_USER_ALL = 0x0c;
    MPI_T_VERBOSITY_TUNER_BASIC = 0x11;
    MPI_T_VERBOSITY_TUNER_DETAIL = 0x12;
    MPI_T_VERBOSITY_TUNER_ALL = 0x14;
    MPI_T_VERBOSITY_MPIDEV_BASIC = 0x21;
    MPI_T_VERBOSITY_MPIDEV_DETAIL = 0x22;
    MPI_T_VERBOSITY_MPIDEV_ALL = 0x24;
    MPI_T_BIND_NO_OBJECT = 1;
    MPI_T_BIND_MPI_COMM = 2;
    MPI_T_BIND_MPI_DATATYPE = 3;
    MPI_T_BIND_MPI_ERRHANDLER = 4;
    MPI_T_BIND_MPI_FILE = 5;
    MPI_T_BIND_MPI_GROUP = 6;
    MPI_T_BIND_MPI_OP = 7;
    MPI_T_BIND_MPI_REQUEST = 8;
    MPI_T_BIND_MPI_WIN = 9;
    MPI_T_BIND_MPI_MESSAGE = 10;
    MPI_T_BIND_MPI_INFO = 11;
    MPI_T_BIND_MPI_SESSION = 12;
    MPI_T_SCOPE_CONSTANT = 1;
    MPI_T_SCOPE_READONLY = 2;
    MPI_T_SCOPE_LOCAL = 3;
    MPI_T_SCOPE_GROUP = 4;
    MPI_T_SCOPE_GROUP_EQ = 5;
    MPI_T_SCOPE_ALL = 6;
    MPI_T_SCOPE_ALL_EQ = 7;
    MPI_T_PVAR_CLASS_STATE = 1;
    MPI_T_PVAR_CLASS_LEVEL = 2;
    MPI_T_PVAR_CLASS_SIZE = 3;
    MPI_T_PVAR_CLASS_PERCENTAGE = 4;
    MPI_T_PVAR_CLASS_HIGHWATERMARK = 5;
    MPI_T_PVAR_CLASS_LOWWATERMARK = 6;
    MPI_T_PVAR_CLASS_COUNTER = 7;
    MPI_T_PVAR_CLASS_AGGREGATE = 8;
    MPI_T_PVAR_CLASS_TIMER = 9;
    MPI_T_PVAR_CLASS_GENERIC = 10;
}
