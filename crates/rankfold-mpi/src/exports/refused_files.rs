//! Input and output of MPI, which this library does not do: refused in one sentence, as an error of files, which calls
//! return unless the program has set another error handler on `MPI_FILE_NULL`.

use std::ffi::{c_char, c_int, c_void};

use crate::abi::*;
use crate::error::refused;

const FILES: &str = "MPI-IO is not done: read and write files by other means";

super::calls! {
    fn MPI_File_open(_comm: MPI_Comm, _name: *const c_char, _mode: c_int, _info: MPI_Info, file: *mut MPI_File) on MPI_FILE_NULL |_, caller| {
        caller.write(file, MPI_FILE_NULL)?;
        refused(FILES)
    }
    fn MPI_File_delete(_name: *const c_char, _info: MPI_Info) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_close(_fh: *mut MPI_File) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_amode(_fh: MPI_File, _amode: *mut c_int) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_atomicity(_fh: MPI_File, _flag: *mut c_int) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_byte_offset(_fh: MPI_File, _offset: MPI_Offset, _disp: *mut MPI_Offset) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_group(_fh: MPI_File, _group: *mut MPI_Group) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_info(_fh: MPI_File, _info_used: *mut MPI_Info) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_position(_fh: MPI_File, _offset: *mut MPI_Offset) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_position_shared(_fh: MPI_File, _offset: *mut MPI_Offset) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_size(_fh: MPI_File, _size: *mut MPI_Offset) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_type_extent(_fh: MPI_File, _datatype: MPI_Datatype, _extent: *mut MPI_Aint) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_type_extent_c(_fh: MPI_File, _datatype: MPI_Datatype, _extent: *mut MPI_Count) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_get_view(
        _fh: MPI_File, _disp: *mut MPI_Offset, _etype: *mut MPI_Datatype, _filetype: *mut MPI_Datatype, _datarep: *mut c_char,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread(
        _fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_all(
        _fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_all_c(
        _fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_at(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_at_all(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_at_all_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_at_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_c(
        _fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_shared(
        _fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iread_shared_c(
        _fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite(
        _fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_all(
        _fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_all_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_at(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_at_all(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_at_all_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_at_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_shared(
        _fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_iwrite_shared_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _request: *mut MPI_Request,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_preallocate(_fh: MPI_File, _size: MPI_Offset) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read(
        _fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_all(
        _fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_all_begin(_fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_all_begin_c(_fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_all_c(
        _fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_all_end(_fh: MPI_File, _buf: *mut c_void, _status: *mut MPI_Status) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_at(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_at_all(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_at_all_begin(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_at_all_begin_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_at_all_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_at_all_end(_fh: MPI_File, _buf: *mut c_void, _status: *mut MPI_Status) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_at_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_c(
        _fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_ordered(
        _fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_ordered_begin(_fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_ordered_begin_c(_fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_ordered_c(
        _fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_ordered_end(_fh: MPI_File, _buf: *mut c_void, _status: *mut MPI_Status) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_shared(
        _fh: MPI_File, _buf: *mut c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_read_shared_c(
        _fh: MPI_File, _buf: *mut c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_seek(_fh: MPI_File, _offset: MPI_Offset, _whence: c_int) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_seek_shared(_fh: MPI_File, _offset: MPI_Offset, _whence: c_int) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_set_atomicity(_fh: MPI_File, _flag: c_int) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_set_info(_fh: MPI_File, _info: MPI_Info) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_set_size(_fh: MPI_File, _size: MPI_Offset) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_set_view(
        _fh: MPI_File, _disp: MPI_Offset, _etype: MPI_Datatype, _filetype: MPI_Datatype, _datarep: *const c_char, _info: MPI_Info,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_sync(_fh: MPI_File) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write(
        _fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_all(
        _fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_all_begin(_fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_all_begin_c(_fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_all_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_all_end(_fh: MPI_File, _buf: *const c_void, _status: *mut MPI_Status) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_at(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_at_all(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_at_all_begin(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_at_all_begin_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_at_all_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_at_all_end(_fh: MPI_File, _buf: *const c_void, _status: *mut MPI_Status) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_at_c(
        _fh: MPI_File, _offset: MPI_Offset, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_ordered(
        _fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_ordered_begin(_fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_ordered_begin_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_ordered_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_ordered_end(_fh: MPI_File, _buf: *const c_void, _status: *mut MPI_Status) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_shared(
        _fh: MPI_File, _buf: *const c_void, _count: c_int, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_File_write_shared_c(
        _fh: MPI_File, _buf: *const c_void, _count: MPI_Count, _datatype: MPI_Datatype, _status: *mut MPI_Status,
    ) on MPI_FILE_NULL |_, _| {
        refused(FILES)
    }
    fn MPI_Register_datarep(
        _datarep: *const c_char, _read_conversion_fn: Option<MPI_Datarep_conversion_function>, _write_conversion_fn: Option<MPI_Datarep_conversion_function>, _dtype_file_extent_fn: Option<MPI_Datarep_extent_function>, _extra_state: *mut c_void,
    ) |_, _| {
        refused(FILES)
    }
    fn MPI_Register_datarep_c(
        _datarep: *const c_char, _read_conversion_fn: Option<MPI_Datarep_conversion_function_c>, _write_conversion_fn: Option<MPI_Datarep_conversion_function_c>, _dtype_file_extent_fn: Option<MPI_Datarep_extent_function>, _extra_state: *mut c_void,
    ) |_, _| {
        refused(FILES)
    }
}
