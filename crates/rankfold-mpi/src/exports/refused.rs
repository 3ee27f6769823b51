//! What this library does not do, refused in one sentence.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::*;
use crate::error::refused;

const SPAWN: &str = "ranks are threads of one process, which are all started together: no further ones can be spawned";
const DYNAMIC: &str =
    "the ranks of a run are all that there are: none connects to those of another";
const INTER: &str = "communicators between two groups are not done: merge the groups into one";
const EXTERNAL: &str = "external32 is not done: all ranks are on one machine, and MPI_Pack serves";
const PARTITIONED: &str =
    "partitioned communication is not done: send each part as a message of its own";
const GENERALIZED: &str = "generalized requests are not done: what completes one is another thread of the rank, which has no calls of MPI here";
const FORTRAN: &str = "datatypes of Fortran are not done";

super::calls! {
    fn MPI_Comm_spawn(_command: *const c_char, _argv: *mut *mut c_char, _maxprocs: c_int, _info: MPI_Info, _root: c_int, comm: MPI_Comm, _intercomm: *mut MPI_Comm, _errors: *mut c_int) on comm |_, _| {
        refused(SPAWN)
    }
    fn MPI_Comm_spawn_multiple(
        _count: c_int, _commands: *mut *mut c_char, _argvs: *mut *mut *mut c_char, _maxprocs: *const c_int,
        _infos: *const MPI_Info, _root: c_int, comm: MPI_Comm, _intercomm: *mut MPI_Comm, _errors: *mut c_int,
    ) on comm |_, _| {
        refused(SPAWN)
    }
    fn MPI_Comm_accept(_port: *const c_char, _info: MPI_Info, _root: c_int, comm: MPI_Comm, _newcomm: *mut MPI_Comm) on comm |_, _| {
        refused(DYNAMIC)
    }
    fn MPI_Comm_connect(_port: *const c_char, _info: MPI_Info, _root: c_int, comm: MPI_Comm, _newcomm: *mut MPI_Comm) on comm |_, _| {
        refused(DYNAMIC)
    }
    fn MPI_Comm_join(_fd: c_int, _intercomm: *mut MPI_Comm) |_, _| {
        refused(DYNAMIC)
    }
    fn MPI_Open_port(_info: MPI_Info, _port: *mut c_char) |_, _| {
        refused(DYNAMIC)
    }
    fn MPI_Close_port(_port: *const c_char) |_, _| {
        refused(DYNAMIC)
    }
    fn MPI_Intercomm_create(_local: MPI_Comm, _leader: c_int, peer: MPI_Comm, _remote: c_int, _tag: c_int, _new: *mut MPI_Comm) on peer |_, _| {
        refused(INTER)
    }
    fn MPI_Intercomm_merge(comm: MPI_Comm, _high: c_int, _new: *mut MPI_Comm) on comm |_, _| {
        refused(INTER)
    }
    fn MPI_Pack_external(
        _datarep: *const c_char, _inbuf: *const c_void, _incount: c_int, _datatype: MPI_Datatype, _outbuf: *mut c_void,
        _outsize: MPI_Aint, _position: *mut MPI_Aint,
    ) |_, _| {
        refused(EXTERNAL)
    }
    fn MPI_Unpack_external(
        _datarep: *const c_char, _inbuf: *const c_void, _insize: MPI_Aint, _position: *mut MPI_Aint, _outbuf: *mut c_void,
        _outcount: c_int, _datatype: MPI_Datatype,
    ) |_, _| {
        refused(EXTERNAL)
    }
    fn MPI_Pack_external_size(_datarep: *const c_char, _incount: c_int, _datatype: MPI_Datatype, _size: *mut MPI_Aint) |_, _| {
        refused(EXTERNAL)
    }
    fn MPI_Grequest_complete(_request: MPI_Request) |_, _| {
        refused(GENERALIZED)
    }
    fn MPI_Grequest_start(
        _query_fn: Option<MPI_Grequest_query_function>, _free_fn: Option<MPI_Grequest_free_function>, _cancel_fn: Option<MPI_Grequest_cancel_function>, _extra_state: *mut c_void, _request: *mut MPI_Request,
    ) |_, _| {
        refused(GENERALIZED)
    }
    fn MPI_Intercomm_create_from_groups(
        _local_group: MPI_Group, _local_leader: c_int, _remote_group: MPI_Group, _remote_leader: c_int, _stringtag: *const c_char, _info: MPI_Info, _errhandler: MPI_Errhandler, _newintercomm: *mut MPI_Comm,
    ) |_, _| {
        refused(INTER)
    }
    fn MPI_Lookup_name(_service_name: *const c_char, _info: MPI_Info, _port_name: *mut c_char) |_, _| {
        refused(DYNAMIC)
    }
    fn MPI_Pack_external_c(
        _datarep: *const c_char, _inbuf: *const c_void, _incount: MPI_Count, _datatype: MPI_Datatype, _outbuf: *mut c_void, _outsize: MPI_Count, _position: *mut MPI_Count,
    ) |_, _| {
        refused(EXTERNAL)
    }
    fn MPI_Pack_external_size_c(
        _datarep: *const c_char, _incount: MPI_Count, _datatype: MPI_Datatype, _size: *mut MPI_Count,
    ) |_, _| {
        refused(EXTERNAL)
    }
    fn MPI_Parrived(_request: MPI_Request, _partition: c_int, _flag: *mut c_int) |_, _| {
        refused(PARTITIONED)
    }
    fn MPI_Pready(_partition: c_int, _request: MPI_Request) |_, _| {
        refused(PARTITIONED)
    }
    fn MPI_Pready_list(_length: c_int, _array_of_partitions: *mut c_int, _request: MPI_Request) |_, _| {
        refused(PARTITIONED)
    }
    fn MPI_Pready_range(_partition_low: c_int, _partition_high: c_int, _request: MPI_Request) |_, _| {
        refused(PARTITIONED)
    }
    fn MPI_Precv_init(
        _buf: *mut c_void, _partitions: c_int, _count: MPI_Count, _datatype: MPI_Datatype, _dest: c_int, _tag: c_int, comm: MPI_Comm, _info: MPI_Info, _request: *mut MPI_Request,
    ) on comm |_, _| {
        refused(PARTITIONED)
    }
    fn MPI_Psend_init(
        _buf: *const c_void, _partitions: c_int, _count: MPI_Count, _datatype: MPI_Datatype, _dest: c_int, _tag: c_int, comm: MPI_Comm, _info: MPI_Info, _request: *mut MPI_Request,
    ) on comm |_, _| {
        refused(PARTITIONED)
    }
    fn MPI_Publish_name(_service_name: *const c_char, _info: MPI_Info, _port_name: *const c_char) |_, _| {
        refused(DYNAMIC)
    }
    fn MPI_Type_create_f90_complex(_p: c_int, _r: c_int, _newtype: *mut MPI_Datatype) |_, _| {
        refused(FORTRAN)
    }
    fn MPI_Type_create_f90_integer(_r: c_int, _newtype: *mut MPI_Datatype) |_, _| {
        refused(FORTRAN)
    }
    fn MPI_Type_create_f90_real(_p: c_int, _r: c_int, _newtype: *mut MPI_Datatype) |_, _| {
        refused(FORTRAN)
    }
    fn MPI_Unpack_external_c(
        _datarep: *const c_char, _inbuf: *const c_void, _insize: MPI_Count, _position: *mut MPI_Count, _outbuf: *mut c_void, _outcount: MPI_Count, _datatype: MPI_Datatype,
    ) |_, _| {
        refused(EXTERNAL)
    }
    fn MPI_Unpublish_name(_service_name: *const c_char, _info: MPI_Info, _port_name: *const c_char) |_, _| {
        refused(DYNAMIC)
    }
}
