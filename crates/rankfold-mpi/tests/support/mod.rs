//! What the tests share: programs of MPI in Rust, with calls that must succeed.
#![allow(dead_code)]

use std::ffi::{c_int, c_void};
use std::ptr;

use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use rankfold_mpi::{Failed, Program};

pub const RANKS: [usize; 8] = [1, 2, 3, 4, 5, 8, 17, 33];

/// Calls a function of MPI, which must succeed. The test passes pointers to what the call reads and writes.
#[macro_export]
macro_rules! ok {
    ($($call:tt)*) => {{
        #[allow(clippy::macro_metavars_in_unsafe)]
        // SAFETY: the pointers are to places of the test, of the lengths that are passed.
        let code = unsafe { $($call)* };
        assert_eq!(code, rankfold_mpi::abi::MPI_SUCCESS)
    }};
}

/// Runs the body on ranks, between `MPI_Init` and `MPI_Finalize`: with its rank and the number of ranks.
pub fn try_program(
    program: Program,
    body: impl Fn(usize, usize) + Send + Sync + 'static,
) -> Result<(), Failed> {
    program.run(move || {
        let (mut rank, mut size) = (-1, -1);
        ok!(MPI_Init(ptr::null_mut(), ptr::null_mut()));
        ok!(MPI_Comm_rank(MPI_COMM_WORLD, &mut rank));
        ok!(MPI_Comm_size(MPI_COMM_WORLD, &mut size));
        body(rank as usize, size as usize);
        ok!(MPI_Finalize());
    })
}

/// The same on several numbers of ranks, with and without buffers; it must end well.
pub fn programs(body: impl Fn(usize, usize) + Send + Sync + Clone + 'static) {
    for ranks in RANKS {
        for program in [Program::new(ranks), Program::new(ranks).zero_buffering()] {
            try_program(program, body.clone()).unwrap();
        }
    }
}

/// What a program that must fail says.
pub fn failure(ranks: usize, body: impl Fn(usize, usize) + Send + Sync + 'static) -> String {
    try_program(Program::new(ranks), body)
        .unwrap_err()
        .to_string()
}

pub fn at<T>(data: &[T]) -> *const c_void {
    data.as_ptr().cast()
}

pub fn to<T>(data: &mut [T]) -> *mut c_void {
    data.as_mut_ptr().cast()
}

pub fn len<T>(data: &[T]) -> c_int {
    data.len() as c_int
}

pub fn no_status() -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: 0,
        MPI_TAG: 0,
        MPI_ERROR: 0,
        MPI_internal: [0; 5],
    }
}
