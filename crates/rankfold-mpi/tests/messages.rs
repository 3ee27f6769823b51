//! Messages in all modes, blocking, started and persistent; probes; errors of their arguments.

#[path = "messages/mistakes.rs"]
mod mistakes;
mod support;

use std::ffi::c_int;
use std::ptr;

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use support::{at, len, no_status, programs, to, try_program};

type Send = unsafe extern "C" fn(
    *const std::ffi::c_void,
    c_int,
    MPI_Datatype,
    c_int,
    c_int,
    MPI_Comm,
) -> c_int;
type Started = unsafe extern "C" fn(
    *const std::ffi::c_void,
    c_int,
    MPI_Datatype,
    c_int,
    c_int,
    MPI_Comm,
    *mut MPI_Request,
) -> c_int;

fn attach(room: &mut Vec<u8>) {
    room.resize(1 << 16, 0);
    ok!(MPI_Buffer_attach(to(room), len(room)));
}

fn detach() {
    let (mut place, mut size): (*mut u8, c_int) = (ptr::null_mut(), 0);
    ok!(MPI_Buffer_detach((&raw mut place).cast(), &mut size));
    assert_eq!(size, 1 << 16);
}

#[test]
fn every_mode_of_send_delivers_around_a_ring() {
    programs(|me, size| {
        let mut room = Vec::new();
        attach(&mut room);
        let (right, left) = (
            ((me + 1) % size) as c_int,
            ((me + size - 1) % size) as c_int,
        );
        let modes: [Send; 4] = [MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend];
        for (tag, send) in modes.into_iter().enumerate() {
            let (mut got, mut coming, mut status) = ([-1i32; 3], MPI_REQUEST_NULL, no_status());
            let tag = tag as c_int;
            ok!(MPI_Irecv(
                to(&mut got),
                3,
                MPI_INT,
                left,
                tag,
                MPI_COMM_WORLD,
                &mut coming
            ));
            ok!(send(
                at(&[me as i32; 2]),
                2,
                MPI_INT,
                right,
                tag,
                MPI_COMM_WORLD
            ));
            ok!(MPI_Wait(&mut coming, &mut status));
            assert_eq!(coming, MPI_REQUEST_NULL);
            assert_eq!(got, [left, left, -1]);
            assert_eq!((status.MPI_SOURCE, status.MPI_TAG), (left, tag));
            let mut count = -1;
            ok!(MPI_Get_count(&status, MPI_INT, &mut count));
            assert_eq!(count, 2);
        }
        detach();
    });
}

/// Starts a receive of each tag from each rank, with a request each.
fn start_receives(got: &mut [i64], requests: &mut [MPI_Request]) {
    for (nth, (place, request)) in got.iter_mut().zip(requests).enumerate() {
        let (from, tag) = ((nth / 4) as c_int, (nth % 4) as c_int);
        let place = (place as *mut i64).cast();
        let comm = MPI_COMM_WORLD;
        ok!(MPI_Irecv(place, 1, MPI_INT64_T, from, tag, comm, request));
    }
}

/// Starts a send of each mode to each rank, with a request each; the tag says which mode it is.
fn start_sends(sent: &[i64], requests: &mut [MPI_Request]) {
    let modes: [Started; 4] = [MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend];
    for (nth, (value, request)) in sent.iter().zip(requests).enumerate() {
        let (rank, tag) = ((nth / 4) as c_int, (nth % 4) as c_int);
        let (send, value) = (modes[nth % 4], (value as *const i64).cast());
        let comm = MPI_COMM_WORLD;
        ok!(send(value, 1, MPI_INT64_T, rank, tag, comm, request));
    }
}

#[test]
fn started_sends_of_every_mode_and_their_requests_complete_together() {
    programs(|me, size| {
        let mut room = Vec::new();
        attach(&mut room);
        let mut requests = vec![MPI_REQUEST_NULL; 2 * 4 * size];
        let mut got = vec![0i64; 4 * size];
        let (receives, sends) = requests.split_at_mut(4 * size);
        start_receives(&mut got, receives);
        let sent: Vec<i64> = (0..4 * size).map(|at| (100 * me + at) as i64).collect();
        start_sends(&sent, sends);
        ok!(MPI_Waitall(
            len(&requests),
            requests.as_mut_ptr(),
            MPI_STATUSES_IGNORE
        ));
        assert!(requests.iter().all(|it| *it == MPI_REQUEST_NULL));
        for (nth, value) in got.iter().enumerate() {
            assert_eq!(*value, (100 * (nth / 4) + 4 * me + nth % 4) as i64);
        }
        detach();
    });
}

#[test]
fn a_persistent_request_is_started_again_and_sends_what_is_in_the_buffer_then() {
    programs(|me, size| {
        let (right, left) = (
            ((me + 1) % size) as c_int,
            ((me + size - 1) % size) as c_int,
        );
        let (mut out, mut got) = ([0u16], [0u16]);
        let mut requests = [MPI_REQUEST_NULL; 2];
        ok!(MPI_Recv_init(
            to(&mut got),
            1,
            MPI_UINT16_T,
            left,
            3,
            MPI_COMM_WORLD,
            &mut requests[0]
        ));
        ok!(MPI_Send_init(
            to(&mut out),
            1,
            MPI_UINT16_T,
            right,
            3,
            MPI_COMM_WORLD,
            &mut requests[1]
        ));
        for round in 0..5u16 {
            out[0] = 10 * me as u16 + round;
            ok!(MPI_Startall(2, requests.as_mut_ptr()));
            ok!(MPI_Waitall(2, requests.as_mut_ptr(), MPI_STATUSES_IGNORE));
            assert_eq!(got[0], 10 * left as u16 + round);
        }
        ok!(MPI_Request_free(&mut requests[0]));
        ok!(MPI_Request_free(&mut requests[1]));
        assert_eq!(requests, [MPI_REQUEST_NULL; 2]);
    });
}

#[test]
fn a_matched_probe_takes_the_message_that_it_tells_of() {
    programs(|me, size| {
        if me > 0 {
            let data = vec![me as f64; me];
            ok!(MPI_Send(
                at(&data),
                len(&data),
                MPI_DOUBLE,
                0,
                me as c_int,
                MPI_COMM_WORLD
            ));
            return;
        }
        for _ in 1..size {
            let (mut message, mut status, mut count) = (MPI_MESSAGE_NULL, no_status(), 0);
            ok!(MPI_Mprobe(
                MPI_ANY_SOURCE,
                MPI_ANY_TAG,
                MPI_COMM_WORLD,
                &mut message,
                &mut status
            ));
            ok!(MPI_Get_count(&status, MPI_DOUBLE, &mut count));
            assert_eq!((status.MPI_SOURCE, count), (status.MPI_TAG, status.MPI_TAG));
            let mut got = vec![0f64; count as usize];
            ok!(MPI_Mrecv(
                to(&mut got),
                count,
                MPI_DOUBLE,
                &mut message,
                MPI_STATUS_IGNORE
            ));
            assert_eq!(message, MPI_MESSAGE_NULL);
            assert_eq!(got, vec![f64::from(status.MPI_SOURCE); count as usize]);
        }
    });
}

#[test]
fn replaced_buffers_and_no_process_are_as_the_standard_says() {
    programs(|me, size| {
        let (right, left) = (
            ((me + 1) % size) as c_int,
            ((me + size - 1) % size) as c_int,
        );
        let mut value = [me as i32, 7];
        let mut status = no_status();
        ok!(MPI_Sendrecv_replace(
            to(&mut value),
            2,
            MPI_INT,
            right,
            1,
            left,
            1,
            MPI_COMM_WORLD,
            &mut status
        ));
        assert_eq!(value, [left, 7]);
        ok!(MPI_Recv(
            to(&mut value),
            2,
            MPI_INT,
            MPI_PROC_NULL,
            1,
            MPI_COMM_WORLD,
            &mut status
        ));
        assert_eq!((value, status.MPI_SOURCE), ([left, 7], MPI_PROC_NULL));
        ok!(MPI_Send(
            at(&value),
            2,
            MPI_INT,
            MPI_PROC_NULL,
            1,
            MPI_COMM_WORLD
        ));
    });
}

#[test]
fn a_request_that_is_over_or_was_freed_is_an_error_and_no_fault() {
    try_program(Program::new(1), |_, _| {
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        let mut request = MPI_REQUEST_NULL;
        ok!(MPI_Isend(
            at(&[1u8]),
            1,
            MPI_BYTE,
            0,
            0,
            MPI_COMM_WORLD,
            &mut request
        ));
        let mut stale = request;
        ok!(MPI_Recv(
            to(&mut [0u8]),
            1,
            MPI_BYTE,
            0,
            0,
            MPI_COMM_WORLD,
            MPI_STATUS_IGNORE
        ));
        ok!(MPI_Wait(&mut request, MPI_STATUS_IGNORE));
        // SAFETY: a handle of a freed request is refused.
        let class = unsafe { MPI_Wait(&mut stale, MPI_STATUS_IGNORE) };
        assert_eq!(class, MPI_ERR_REQUEST);
    })
    .unwrap();
}

#[test]
fn the_error_of_a_request_goes_to_the_handler_of_its_communicator() {
    try_program(Program::new(1), |_, _| {
        let (mut other, mut request, mut got) = (MPI_COMM_NULL, MPI_REQUEST_NULL, [0u8]);
        ok!(MPI_Comm_dup(MPI_COMM_WORLD, &mut other));
        ok!(MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN));
        ok!(MPI_Irecv(
            to(&mut got),
            1,
            MPI_BYTE,
            0,
            0,
            other,
            &mut request
        ));
        ok!(MPI_Send(at(&[1u8, 2]), 2, MPI_BYTE, 0, 0, other));
        // SAFETY: there is room for the request.
        let class = unsafe { MPI_Wait(&mut request, MPI_STATUS_IGNORE) };
        assert_eq!((class, request), (MPI_ERR_TRUNCATE, MPI_REQUEST_NULL));
        ok!(MPI_Comm_free(&mut other));
    })
    .unwrap();
}

#[test]
fn a_receive_that_is_cancelled_leaves_the_message_to_another() {
    try_program(Program::new(1), |_, _| {
        let (mut request, mut status, mut cancelled) = (MPI_REQUEST_NULL, no_status(), 0);
        let mut never = [0u8];
        ok!(MPI_Irecv(
            to(&mut never),
            1,
            MPI_BYTE,
            0,
            0,
            MPI_COMM_WORLD,
            &mut request
        ));
        ok!(MPI_Cancel(&mut request));
        ok!(MPI_Wait(&mut request, &mut status));
        ok!(MPI_Test_cancelled(&status, &mut cancelled));
        assert_eq!(cancelled, 1);
        ok!(MPI_Send(at(&[9u8]), 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
        let mut got = [0u8];
        ok!(MPI_Recv(
            to(&mut got),
            1,
            MPI_BYTE,
            0,
            0,
            MPI_COMM_WORLD,
            MPI_STATUS_IGNORE
        ));
        assert_eq!((got, never), ([9], [0]));
    })
    .unwrap();
}

/// The crate `mpi` detaches its buffer under a lock that other ranks take before they receive.
#[test]
fn a_buffer_is_detached_before_its_message_is_received() {
    let program = Program::new(2).zero_buffering();
    try_program(program, |me, _| {
        let (mut room, mut got) = (Vec::new(), [0i32]);
        if me == 0 {
            attach(&mut room);
            ok!(MPI_Bsend(at(&[7i32]), 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
            detach();
        }
        ok!(MPI_Barrier(MPI_COMM_WORLD));
        if me == 1 {
            let (into, ignored) = (to(&mut got), MPI_STATUS_IGNORE);
            ok!(MPI_Recv(into, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, ignored));
            assert_eq!(got, [7]);
        }
    })
    .unwrap();
}
