//! What this library does not do, refused in one sentence.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::*;
use crate::error::refused;

const SPAWN: &str = "ranks are threads of one process, which are all started together: no further ones can be spawned";
const DYNAMIC: &str =
    "the ranks of a run are all that there are: none connects to those of another";
const INTER: &str = "communicators between two groups are not done: merge the groups into one";
const FILES: &str = "MPI-IO is not done: read and write files by other means";
const EXTERNAL: &str = "external32 is not done: all ranks are on one machine, and MPI_Pack serves";

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
    fn MPI_File_open(comm: MPI_Comm, _name: *const c_char, _mode: c_int, _info: MPI_Info, _file: *mut MPI_File) on comm |_, _| {
        refused(FILES)
    }
    fn MPI_File_delete(_name: *const c_char, _info: MPI_Info) |_, _| {
        refused(FILES)
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
}
