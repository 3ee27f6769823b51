//! Operations that go on without a request, since it was freed or their messages are buffered: what becomes of their errors.

mod support;

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::{at, to};

fn begin() -> c_int {
    let mut rank = -1;
    ok!(MPI_Init(ptr::null_mut(), ptr::null_mut()));
    ok!(MPI_Comm_rank(MPI_COMM_WORLD, &mut rank));
    rank
}

fn finalize() -> c_int {
    // SAFETY: a call of the rank's own thread.
    unsafe { MPI_Finalize() }
}

/// A receive whose request was freed gets a message that is too long when no call of its rank is left but the last, which
/// returns what is given.
fn fails_at_the_end(program: Program, expected: c_int) -> Result<(), rankfold_mpi::Failed> {
    let together = Arc::new(Barrier::new(2));
    program.run(move || {
        let world = MPI_COMM_WORLD;
        if begin() == 1 {
            together.wait();
            ok!(MPI_Send(at(&[1i32, 2]), 2, MPI_INT, 0, 0, world));
            together.wait();
            assert_eq!(finalize(), MPI_SUCCESS);
            return;
        }
        let (one, mut request) = (Box::leak(Box::new([0i32])), MPI_REQUEST_NULL);
        ok!(MPI_Irecv(to(one), 1, MPI_INT, 1, 0, world, &mut request));
        ok!(MPI_Request_free(&mut request));
        together.wait();
        together.wait();
        assert_eq!(finalize(), expected);
    })
}

#[test]
fn finalize_returns_the_error_of_an_operation_whose_request_was_freed() {
    fails_at_the_end(Program::new(2), MPI_ERR_TRUNCATE).unwrap();
}

#[test]
fn such_an_error_ends_the_rank_of_a_program_in_c() {
    // It returns nothing.
    let failed = fails_at_the_end(Program::new(2).own_datatypes(), -1).unwrap_err();
    let told = failed.to_string();
    assert!(told.contains("rank 0: MPI_Finalize at "), "{told}");
    assert!(told.contains("MPI_ERR_TRUNCATE: in an operation"), "{told}");
}

/// Detaches the buffer; returns its address, its size, and what the call returns.
fn detached() -> (*mut u8, c_int, c_int) {
    let (mut place, mut size) = (ptr::null_mut::<u8>(), -1);
    // SAFETY: pointers to what the call writes.
    let code = unsafe { MPI_Buffer_detach((&raw mut place).cast(), &mut size) };
    (place, size, code)
}

/// Sends to a rank that has gone before it receives: the buffer is the program's again, though its message was lost.
fn detaches(sent: &Barrier, gone: &Barrier) {
    let mut room = vec![0u8; 1 << 12];
    ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ok!(MPI_Buffer_attach(to(&mut room), 1 << 12));
    let (mut mine, data) = (MPI_COMM_NULL, at(&[1i32]));
    ok!(MPI_Comm_dup(MPI_COMM_WORLD, &mut mine));
    ok!(MPI_Bsend(data, 1, MPI_INT, 1, 0, mine));
    sent.wait();
    gone.wait();
    let (place, size, code) = detached();
    assert_eq!((place, size), (room.as_mut_ptr(), 1 << 12));
    assert_ne!(code, MPI_SUCCESS);
    ok!(MPI_Buffer_attach(to(&mut room), 1 << 12));
    assert_eq!(detached().2, MPI_SUCCESS);
}

#[test]
fn a_buffer_whose_messages_are_lost_is_detached() {
    let barriers = Arc::new((Barrier::new(2), Barrier::new(2)));
    let went_well = Arc::new(AtomicBool::new(false));
    let seen = went_well.clone();
    let body = move || {
        let (sent, gone) = &*barriers;
        if begin() == 0 {
            detaches(sent, gone);
            // Relaxed: the run is over before it is read.
            seen.store(true, Ordering::Relaxed);
            return;
        }
        let mut mine = MPI_COMM_NULL;
        ok!(MPI_Comm_dup(MPI_COMM_WORLD, &mut mine));
        sent.wait();
        gone.wait();
    };
    // In programs in C the call waits.
    let program = Program::new(2).zero_buffering().own_datatypes();
    let why = program.run(body).unwrap_err().to_string();
    assert!(why.contains("without MPI_Finalize"), "{why}");
    assert!(went_well.load(Ordering::Relaxed), "{why}");
}
