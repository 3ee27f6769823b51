//! Calls of functions that the program passed: of operators, attributes and error handlers.
//!
//! # Why this is sound
//!
//! As in `memory`: a [`Caller`] stands for the program's promise that the functions it passed are such functions, and may
//! be called with what it passed with them. Functions of attributes are kept as addresses, since their keys are the
//! process's; zero and one are the predefined ones and are never called.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::{self, with_exposed_provenance_mut};

use crate::abi::*;
use crate::memory::Caller;
use crate::op::Function;
use crate::rank::Handler;

impl Caller {
    /// Runs the function that deletes an attribute, if there is one.
    pub(crate) fn delete_attribute(
        &self,
        function: usize,
        comm: MPI_Comm,
        key: c_int,
        value: usize,
        state: usize,
    ) -> c_int {
        if function == 0 {
            return MPI_SUCCESS;
        }
        // SAFETY: the address of the function that the program passed to `MPI_Comm_create_keyval`.
        let delete: MPI_Comm_delete_attr_function =
            unsafe { transmute(ptr::with_exposed_provenance::<()>(function)) };
        // SAFETY: its arguments are those that the standard names.
        unsafe {
            delete(
                comm,
                key,
                with_exposed_provenance_mut(value),
                with_exposed_provenance_mut(state),
            )
        }
    }

    /// Runs the function that copies an attribute; returns what it returns, and the copy if there is one.
    pub(crate) fn copy_attribute(
        &self,
        function: usize,
        comm: MPI_Comm,
        key: c_int,
        value: usize,
        state: usize,
    ) -> (c_int, Option<usize>) {
        let (mut copy, mut flag) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: the address of the function that the program passed to `MPI_Comm_create_keyval`.
        let run: MPI_Comm_copy_attr_function =
            unsafe { transmute(ptr::with_exposed_provenance::<()>(function)) };
        // SAFETY: its arguments are those that the standard names; the copy is written to a pointer's place.
        let code = unsafe {
            run(
                comm,
                key,
                with_exposed_provenance_mut(state),
                with_exposed_provenance_mut(value),
                ptr::from_mut(&mut copy).cast(),
                &mut flag,
            )
        };
        (code, (flag != 0).then(|| copy.expose_provenance()))
    }

    /// Combines `count` elements: `inout` becomes `input` op `inout`.
    pub(crate) fn combine(
        &self,
        function: Function,
        input: *mut u8,
        inout: *mut u8,
        count: usize,
        datatype: MPI_Datatype,
    ) {
        let (input, inout, mut datatype) = (input.cast(), inout.cast(), datatype);
        // SAFETY: the function that the program passed to `MPI_Op_create` or `MPI_Op_create_c`, on buffers of as many
        // elements.
        unsafe {
            match function {
                Function::Small(run) => run(input, inout, &mut (count as c_int), &mut datatype),
                Function::Large(run) => run(input, inout, &mut (count as MPI_Count), &mut datatype),
            }
        }
    }

    /// Runs an error handler.
    pub(crate) fn handle(&self, handler: Handler, on: MPI_Comm, code: c_int) {
        let (mut on, mut code) = (on, code);
        // SAFETY: the address of the function that the program passed to `MPI_Comm_create_errhandler` or its like.
        let function: MPI_Comm_errhandler_function =
            unsafe { transmute(ptr::with_exposed_provenance::<()>(handler.function)) };
        // SAFETY: its arguments are those that the standard names.
        unsafe { function(&mut on, &mut code) };
    }
}
