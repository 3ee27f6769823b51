//! Error handlers of files. No file is opened here: the handler is that of `MPI_FILE_NULL`, which is for opening and deleting.

use std::ffi::c_int;
use std::ptr::without_provenance_mut as handle;

use super::errors::{check_handler, further_handle, keep_handler};
use crate::abi::*;
use crate::error::{Out, require};

fn check(file: MPI_File) -> Out {
    require(file == MPI_FILE_NULL, MPI_ERR_FILE, || {
        "the file is none: files are not opened here".into()
    })
}

super::calls! {
    fn MPI_File_create_errhandler(function: Option<MPI_File_errhandler_function>, errhandler: *mut MPI_Errhandler) on MPI_FILE_NULL |rank, caller| {
        let function = super::arguments::function(function)?;
        let made = keep_handler(rank, (function as *const ()).expose_provenance());
        caller.write(errhandler, handle(made))
    }
    fn MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) on MPI_FILE_NULL |rank, _| {
        check(file)?;
        check_handler(rank, errhandler)?;
        rank.files_on_error.set(errhandler.addr());
        Ok(())
    }
    fn MPI_File_get_errhandler(file: MPI_File, errhandler: *mut MPI_Errhandler) on MPI_FILE_NULL |rank, caller| {
        check(file)?;
        caller.write(errhandler, further_handle(rank, rank.files_on_error.get()))
    }
    fn MPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) on MPI_FILE_NULL |rank, caller| {
        check(fh)?;
        crate::call::call_handler(rank, "MPI_File_call_errhandler", MPI_FILE_NULL.cast(), caller, errorcode)
    }
}
