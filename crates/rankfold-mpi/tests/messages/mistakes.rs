//! Wrong arguments, messages too long, fatal errors and deadlocks.

use std::ffi::c_int;
use std::ptr;

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;

use crate::ok;
use crate::support::{at, failure, no_status, to, try_program};

#[test]
fn a_wrong_argument_has_the_class_that_the_standard_gives_it() {
    try_program(Program::new(2), |me, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        let data = [me as i32];
        // SAFETY: the buffer is of one element; no call gets further than its arguments.
        let send = |count, datatype, dest, tag, comm| unsafe {
            MPI_Send(at(&data), count, datatype, dest, tag, comm)
        };
        assert_eq!(send(-1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
        assert_eq!(
            send(1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD),
            MPI_ERR_TYPE
        );
        assert_eq!(send(1, MPI_INT, 2, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        assert_eq!(send(1, MPI_INT, -7, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        assert_eq!(
            send(1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD),
            MPI_ERR_RANK
        );
        assert_eq!(send(1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
        assert_eq!(
            send(1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD),
            MPI_ERR_TAG
        );
        assert_eq!(send(1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
        let never = ptr::without_provenance_mut(0x1234_5000);
        assert_eq!(send(1, MPI_INT, 0, 0, never), MPI_ERR_COMM);
        // SAFETY: a null pointer is refused.
        let null = unsafe { MPI_Send(ptr::null(), 1, MPI_INT, 0, 0, MPI_COMM_WORLD) };
        assert_eq!(null, MPI_ERR_BUFFER);
    })
    .unwrap();
}

/// Returns the class that a receive of two elements from rank 0 returns.
fn receive_two(got: &mut [i32; 2]) -> c_int {
    let (world, none) = (MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    // SAFETY: there is room for two elements.
    unsafe { MPI_Recv(to(got), 2, MPI_INT, 0, 0, world, none) }
}

#[test]
fn a_message_that_is_too_long_is_truncated_and_the_next_one_is_received() {
    try_program(Program::new(2), |me, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        if me == 0 {
            ok!(MPI_Send(
                at(&[1i32, 2, 3]),
                3,
                MPI_INT,
                1,
                0,
                MPI_COMM_WORLD
            ));
            ok!(MPI_Send(at(&[4i32]), 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
            return;
        }
        let mut got = [0i32; 2];
        let class = receive_two(&mut got);
        assert_eq!((class, got), (MPI_ERR_TRUNCATE, [1, 2]));
        let class = receive_two(&mut got);
        assert_eq!((class, got), (MPI_SUCCESS, [4, 2]));
    })
    .unwrap();
}

#[test]
fn an_error_of_a_start_goes_to_the_communicator_of_its_request() {
    try_program(Program::new(1), |_, _| {
        let (mut comm, mut sent) = (MPI_COMM_NULL, MPI_REQUEST_NULL);
        ok!(MPI_Comm_dup(MPI_COMM_WORLD, &mut comm));
        ok!(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        let from = at(&[1i32]);
        ok!(MPI_Bsend_init(from, 1, MPI_INT, 0, 0, comm, &mut sent));
        // SAFETY: a request of the test; no buffer is attached, and nothing is sent.
        let started = unsafe { [MPI_Start(&mut sent), MPI_Startall(1, &mut sent)] };
        assert_eq!(started, [MPI_ERR_BUFFER; 2]);
        ok!(MPI_Request_free(&mut sent));
        ok!(MPI_Comm_free(&mut comm));
    })
    .unwrap();
}

/// Has a receive of two elements in progress for which three come.
fn truncated() -> MPI_Request {
    let (mut request, sent) = (MPI_REQUEST_NULL, [1i32, 2, 3]);
    let into = Box::leak(Box::new([0i32; 2]));
    ok!(MPI_Irecv(
        to(into),
        2,
        MPI_INT,
        0,
        0,
        MPI_COMM_SELF,
        &mut request
    ));
    ok!(MPI_Send(at(&sent), 3, MPI_INT, 0, 0, MPI_COMM_SELF));
    request
}

#[test]
fn a_request_that_failed_is_over_and_fails_too_for_who_completes_it_after_a_look() {
    try_program(Program::new(1), |_, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        let (none, mut flag, mut index) = (MPI_STATUS_IGNORE, 5, 5);
        let mut request = truncated();
        // SAFETY: places for results.
        let class = unsafe { MPI_Test(&mut request, &mut flag, none) };
        assert_eq!((class, flag), (MPI_ERR_TRUNCATE, 1));
        assert_eq!(request, MPI_REQUEST_NULL);
        (request, flag) = (truncated(), 5);
        // SAFETY: places for results.
        let class = unsafe { MPI_Testany(1, &mut request, &mut index, &mut flag, none) };
        assert_eq!((class, flag, index), (MPI_ERR_TRUNCATE, 1, 0));
        assert_eq!(request, MPI_REQUEST_NULL);
        (request, flag) = (truncated(), 0);
        // SAFETY: places for results.
        let class = unsafe { MPI_Request_get_status(request, &mut flag, none) };
        assert_eq!((class, flag), (MPI_ERR_TRUNCATE, 1));
        // SAFETY: places for results.
        let class = unsafe { MPI_Wait(&mut request, none) };
        assert_eq!(class, MPI_ERR_TRUNCATE);
        assert_eq!(request, MPI_REQUEST_NULL);
    })
    .unwrap();
}

#[test]
fn a_look_at_several_requests_tells_of_those_that_failed() {
    try_program(Program::new(1), |_, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        let (none, mut flag) = (MPI_STATUS_IGNORE, 5);
        let (all, mut number, mut statuses) = ([truncated(), truncated()], 0, [no_status(); 2]);
        let mut at = [5; 2];
        let (places, told) = (at.as_mut_ptr(), statuses.as_mut_ptr());
        // SAFETY: places for results.
        let class =
            unsafe { MPI_Request_get_status_some(2, all.as_ptr(), &mut number, places, told) };
        assert_eq!((class, number), (MPI_ERR_IN_STATUS, 2));
        // SAFETY: places for results.
        let class = unsafe { MPI_Request_get_status_all(2, all.as_ptr(), &mut flag, told) };
        assert_eq!((class, flag), (MPI_ERR_IN_STATUS, 1));
        for status in statuses {
            assert_eq!(status.MPI_ERROR, MPI_ERR_TRUNCATE);
            assert_eq!((status.MPI_SOURCE, status.MPI_internal[0]), (0, 8));
        }
        for mut request in all {
            // SAFETY: places for results.
            let class = unsafe { MPI_Wait(&mut request, none) };
            assert_eq!(class, MPI_ERR_TRUNCATE);
            assert_eq!(request, MPI_REQUEST_NULL);
        }
    })
    .unwrap();
}

#[test]
fn a_fatal_error_ends_its_rank_and_is_the_first_culprit() {
    let said = failure(3, |me, _| {
        if me == 1 {
            ok!(MPI_Send(at(&[0i32]), 1, MPI_INT, 9, 0, MPI_COMM_WORLD));
        }
        ok!(MPI_Barrier(MPI_COMM_WORLD));
    });
    assert!(said.starts_with("rank 1: MPI_Send at "), "{said}");
    assert!(said.contains("tests/messages/mistakes.rs"), "{said}");
    assert!(
        said.contains("MPI_ERR_RANK: the destination 9 is no rank of MPI_COMM_WORLD, which has 3"),
        "{said}"
    );
    assert!(said.ends_with("the first culprit is rank 1"), "{said}");
}

#[test]
fn other_datatypes_than_were_sent_are_named() {
    let said = failure(2, |me, _| match me {
        0 => ok!(MPI_Send(at(&[1f64]), 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD)),
        _ => ok!(MPI_Recv(
            to(&mut [0i64]),
            1,
            MPI_INT64_T,
            0,
            0,
            MPI_COMM_WORLD,
            MPI_STATUS_IGNORE
        )),
    });
    assert!(
        said.contains("the message holds MPI_DOUBLE, and is received as MPI_INT64_T"),
        "{said}"
    );
}

#[test]
fn ranks_that_wait_for_each_other_are_a_deadlock_with_their_lines() {
    let said = failure(3, |me, size| {
        let left = ((me + size - 1) % size) as c_int;
        ok!(MPI_Recv(
            to(&mut [0u8]),
            1,
            MPI_BYTE,
            left,
            5,
            MPI_COMM_WORLD,
            MPI_STATUS_IGNORE
        ));
    });
    assert!(
        said.starts_with("deadlock: no rank can move\n  rank 0: MPI_Recv(from 2, tag 5) at "),
        "{said}"
    );
    assert!(
        said.contains("each waits for the next: 0 -> 2 -> 1 -> 0"),
        "{said}"
    );
}

#[test]
fn sends_that_need_a_buffer_are_named_under_zero_buffering_alone() {
    let exchange = |me: usize, _: usize| {
        let other = 1 - me as c_int;
        ok!(MPI_Send(at(&[1u8]), 1, MPI_BYTE, other, 0, MPI_COMM_WORLD));
        ok!(MPI_Recv(
            to(&mut [0u8]),
            1,
            MPI_BYTE,
            other,
            0,
            MPI_COMM_WORLD,
            MPI_STATUS_IGNORE
        ));
    };
    try_program(Program::new(2), exchange).unwrap();
    let said = try_program(Program::new(2).zero_buffering(), exchange)
        .unwrap_err()
        .to_string();
    assert!(said.contains("this send needs a buffer"), "{said}");
}
