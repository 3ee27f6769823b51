//! Ranks that other ranks ask for after they have ended: their `main` has returned after `MPI_Finalize`, as MPI lets it, or
//! they have ended otherwise.

mod support;

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::process::ExitCode;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use rankfold_mpi::{Failed, Program};
use support::{at, no_status, to};

const NONE: MPI_Request = MPI_REQUEST_NULL;

/// Says that a thread has ended, which a rank has left before.
struct Says(Arc<AtomicBool>);

impl Drop for Says {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

thread_local! {
    static AT_END: RefCell<Option<Says>> = const { RefCell::new(None) };
}

/// How rank 1 ends.
#[derive(Clone, Copy)]
enum End {
    Well,
    WithoutFinalize,
    ByCode,
}

/// Runs the body on rank 0 of two, once rank 1 has sent the message 5 with tag 7 and has ended. Errors are returned.
fn after_the_end(end: End, body: impl Fn() + Send + Sync + 'static) -> Result<(), Failed> {
    let ended = Arc::new(AtomicBool::new(false));
    Program::new(2).run(move || {
        let mut me = -1;
        ok!(MPI_Init(ptr::null_mut(), ptr::null_mut()));
        ok!(MPI_Comm_rank(MPI_COMM_WORLD, &mut me));
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        if me == 1 {
            AT_END.set(Some(Says(ended.clone())));
            ok!(MPI_Send(at(&[5]), 1, MPI_INT, 0, 7, MPI_COMM_WORLD));
        } else {
            while !ended.load(Ordering::Acquire) {
                thread::yield_now();
            }
            body();
        }
        if me == 0 || !matches!(end, End::WithoutFinalize) {
            // SAFETY: the call has no arguments. It returns errors of what was freed.
            let code = unsafe { MPI_Finalize() };
            assert!([MPI_SUCCESS, FAILS].contains(&code));
        }
        match end {
            End::ByCode if me == 1 => ExitCode::from(3),
            _ => ExitCode::SUCCESS,
        }
    })
}

/// Asks by a call that writes a flag: what it returns, and the flag.
fn asked(call: impl FnOnce(&mut c_int) -> c_int) -> (c_int, bool) {
    let mut flag = -1;
    let code = call(&mut flag);
    (code, flag == 1)
}

fn probed() -> (c_int, bool) {
    // SAFETY: the flag is a place of the test.
    asked(|flag| unsafe { MPI_Iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE) })
}

fn probed_matched(message: &mut MPI_Message) -> (c_int, bool) {
    // SAFETY: as above.
    asked(|flag| unsafe { MPI_Improbe(1, 7, MPI_COMM_WORLD, flag, message, MPI_STATUS_IGNORE) })
}

fn tested(request: &mut MPI_Request) -> (c_int, bool) {
    // SAFETY: as above.
    asked(|flag| unsafe { MPI_Test(request, flag, MPI_STATUS_IGNORE) })
}

fn looked(request: MPI_Request) -> (c_int, bool) {
    // SAFETY: as above.
    asked(|flag| unsafe { MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE) })
}

fn tested_all(requests: &mut [MPI_Request]) -> (c_int, bool) {
    let (len, first) = (requests.len() as c_int, requests.as_mut_ptr());
    // SAFETY: as above.
    asked(|flag| unsafe { MPI_Testall(len, first, flag, MPI_STATUSES_IGNORE) })
}

fn tested_any(requests: &mut [MPI_Request]) -> (c_int, bool) {
    let (len, first, mut index) = (requests.len() as c_int, requests.as_mut_ptr(), 0);
    // SAFETY: as above.
    asked(|flag| unsafe { MPI_Testany(len, first, &mut index, flag, MPI_STATUS_IGNORE) })
}

fn tested_some(requests: &mut [MPI_Request]) -> (c_int, bool) {
    let (len, first, mut indices) = (requests.len() as c_int, requests.as_mut_ptr(), [0; 4]);
    let indices = indices.as_mut_ptr();
    // SAFETY: as above.
    asked(|number| unsafe { MPI_Testsome(len, first, number, indices, MPI_STATUSES_IGNORE) })
}

/// A receive of the message with a tag from a rank.
fn receives(buffer: &mut [c_int], from: c_int, tag: c_int) -> MPI_Request {
    let (into, mut request): (*mut c_void, _) = (to(buffer), NONE);
    ok!(MPI_Irecv(
        into,
        1,
        MPI_INT,
        from,
        tag,
        MPI_COMM_WORLD,
        &mut request
    ));
    request
}

fn sends_to(to: c_int) -> MPI_Request {
    let mut request = NONE;
    ok!(MPI_Issend(
        at(&[1]),
        1,
        MPI_INT,
        to,
        0,
        MPI_COMM_WORLD,
        &mut request
    ));
    request
}

/// Cancels a request; whether it was cancelled.
fn is_cancelled(mut request: MPI_Request) -> bool {
    let (mut status, mut cancelled) = (no_status(), -1);
    ok!(MPI_Cancel(&mut request));
    ok!(MPI_Wait(&mut request, &mut status));
    ok!(MPI_Test_cancelled(&status, &mut cancelled));
    cancelled == 1
}

/// What `MPI_Wait` returns.
fn waited(mut request: MPI_Request) -> c_int {
    // SAFETY: the request is a place of the test.
    unsafe { MPI_Wait(&mut request, MPI_STATUS_IGNORE) }
}

const NO: (c_int, bool) = (MPI_SUCCESS, false);
const YES: (c_int, bool) = (MPI_SUCCESS, true);
const FAILS: c_int = MPI_ERR_PROC_ABORTED;

#[test]
fn a_rank_that_has_ended_well_has_sent_what_probes_find_and_nothing_else() {
    let probes = || {
        let mut message = MPI_MESSAGE_NULL;
        assert_eq!((probed(), probed()), (YES, YES));
        assert_eq!(probed_matched(&mut message), YES);
        let mut got = [0];
        ok!(MPI_Mrecv(
            to(&mut got),
            1,
            MPI_INT,
            &mut message,
            MPI_STATUS_IGNORE
        ));
        assert_eq!(got, [5]);
        for _ in 0..3 {
            assert_eq!((probed(), probed_matched(&mut message)), (NO, NO));
        }
        // SAFETY: there is no status.
        let found = unsafe { MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) };
        assert_eq!(found, FAILS);
    };
    after_the_end(End::Well, probes).unwrap();
}

#[test]
fn requests_of_a_rank_that_has_ended_well_are_never_over() {
    let tests = || {
        let mut buffers = [[0]; 4];
        let [first, lost, other, own] = &mut buffers;
        let mut request = receives(lost, 1, 8);
        let mut sent = sends_to(1);
        for _ in 0..3 {
            assert_eq!((tested(&mut request), looked(request)), (NO, NO));
            assert_eq!((tested(&mut sent), looked(sent)), (NO, NO));
        }
        let mut all = [request, receives(other, 1, 9), sent];
        assert_eq!((tested_all(&mut all), tested_any(&mut all)), (NO, NO));
        assert_eq!(tested_some(&mut all), NO);
        // What has come is over, and what comes from others.
        let mut both = [all[0], receives(first, 1, 7)];
        assert_eq!(tested_all(&mut both), NO);
        assert_eq!(tested_any(&mut both), YES);
        let (mut index, mut both) = (-1, [all[0], receives(own, 0, 1)]);
        ok!(MPI_Send(at(&[6]), 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        ok!(MPI_Waitany(
            2,
            both.as_mut_ptr(),
            &mut index,
            MPI_STATUS_IGNORE
        ));
        assert_eq!((index, &*first, &*own), (1, &[5], &[6]));
        for request in all {
            assert_eq!(waited(request), FAILS);
        }
    };
    after_the_end(End::Well, tests).unwrap();
}

#[test]
fn waits_for_a_rank_that_has_ended_well_fail() {
    let waits = || {
        let mut buffers = [[0]; 2];
        let [one, other] = &mut buffers;
        let (mut index, mut both) = (0, [receives(one, 1, 8), receives(other, 1, 9)]);
        assert_eq!(tested_some(&mut both), NO);
        // SAFETY: the requests and the index are places of the test.
        let any = unsafe { MPI_Waitany(2, both.as_mut_ptr(), &mut index, MPI_STATUS_IGNORE) };
        // SAFETY: as above.
        let all = unsafe { MPI_Waitall(2, both.as_mut_ptr(), MPI_STATUSES_IGNORE) };
        assert_eq!((any, all, both), (FAILS, MPI_ERR_IN_STATUS, [NONE; 2]));
    };
    after_the_end(End::Well, waits).unwrap();
}

#[test]
fn a_request_of_a_rank_that_has_ended_is_cancelled() {
    let cancels = || {
        let mut buffers = [[0]; 3];
        let [come, lost, tested_before] = &mut buffers;
        assert!(!is_cancelled(receives(come, 1, 7)));
        assert!(is_cancelled(receives(lost, 1, 8)));
        let mut request = receives(tested_before, 1, 9);
        _ = looked(request);
        if tested(&mut request) == NO {
            assert!(is_cancelled(request));
        }
        assert!(is_cancelled(sends_to(1)));
        assert_eq!(come, &[5]);
    };
    after_the_end(End::Well, cancels).unwrap();
    for end in [End::WithoutFinalize, End::ByCode] {
        let why = after_the_end(end, cancels).unwrap_err().to_string();
        assert!(why.contains("the first culprit is rank 1"), "{why}");
    }
}

#[test]
fn a_rank_that_has_not_ended_well_is_an_error() {
    let asks = || {
        let mut buffers = [[0]; 3];
        let [come, lost, other] = &mut buffers;
        assert_eq!((probed().0, tested(&mut receives(come, 1, 7))), (0, YES));
        assert_eq!(probed().0, FAILS);
        assert_eq!(tested(&mut receives(lost, 1, 8)), (FAILS, true));
        let mut all = [receives(other, 1, 9)];
        assert_eq!(tested_all(&mut all), (MPI_ERR_IN_STATUS, true));
    };
    for end in [End::WithoutFinalize, End::ByCode] {
        let why = after_the_end(end, asks).unwrap_err().to_string();
        assert!(why.contains("the first culprit is rank 1"), "{why}");
    }
}

#[test]
fn a_receive_that_was_freed_fails_no_later_call_since_its_rank_has_ended_well() {
    let frees = || {
        ok!(MPI_Comm_set_errhandler(
            MPI_COMM_WORLD,
            MPI_ERRORS_ARE_FATAL
        ));
        let mut lost = [0];
        let mut request = receives(&mut lost, 1, 8);
        ok!(MPI_Request_free(&mut request));
        assert_eq!((probed(), probed(), request), (YES, YES, NONE));
    };
    after_the_end(End::Well, frees).unwrap();
}
