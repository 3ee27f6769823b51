//! Windows: accesses against what a single rank computes, epochs, and the errors of wrong ones.

mod support;

use std::ffi::{c_int, c_void};
use std::ptr;

use rankfold_mpi::Program;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;

use support::{at, failure, programs, to, try_program};

const INT: isize = size_of::<c_int>() as isize;

/// A window of this memory, in units of integers.
fn create(memory: &mut [c_int]) -> MPI_Win {
    let mut win = MPI_WIN_NULL;
    let size = memory.len() as isize * INT;
    let comm = MPI_COMM_WORLD;
    ok!(MPI_Win_create(
        to(memory),
        size,
        INT as c_int,
        MPI_INFO_NULL,
        comm,
        &mut win
    ));
    win
}

fn put(win: MPI_Win, rank: usize, disp: usize, values: &[c_int]) -> c_int {
    let (count, int) = (values.len() as c_int, MPI_INT);
    // SAFETY: the buffer has as many elements.
    unsafe {
        MPI_Put(
            at(values),
            count,
            int,
            rank as c_int,
            disp as isize,
            count,
            int,
            win,
        )
    }
}

fn get(win: MPI_Win, rank: usize, disp: usize, values: &mut [c_int]) {
    let (count, int) = (values.len() as c_int, MPI_INT);
    let (rank, disp) = (rank as c_int, disp as isize);
    ok!(MPI_Get(to(values), count, int, rank, disp, count, int, win));
}

fn fetch_and_add(win: MPI_Win, rank: usize, disp: usize, by: c_int) -> c_int {
    let mut before = -1;
    let result: *mut c_void = (&raw mut before).cast();
    let (rank, disp) = (rank as c_int, disp as isize);
    ok!(MPI_Fetch_and_op(
        (&raw const by).cast(),
        result,
        MPI_INT,
        rank,
        disp,
        MPI_SUM,
        win
    ));
    before
}

#[test]
fn puts_and_gets_between_fences_move_what_is_there() {
    programs(|rank, ranks| {
        let mut memory = vec![-1; 2 * ranks];
        let mut win = create(&mut memory);
        ok!(MPI_Win_fence(0, win));
        for target in 0..ranks {
            let mine = [(rank * ranks + target) as c_int, rank as c_int];
            assert_eq!(put(win, target, 2 * rank, &mine), MPI_SUCCESS);
        }
        ok!(MPI_Win_fence(0, win));
        let wanted: Vec<c_int> = (0..ranks)
            .flat_map(|from| [(from * ranks + rank) as c_int, from as c_int])
            .collect();
        assert_eq!(memory, wanted);
        let other = (rank + 1) % ranks;
        let mut got = vec![0; 2 * ranks];
        get(win, other, 0, &mut got);
        ok!(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        let wanted: Vec<c_int> = (0..ranks)
            .flat_map(|from| [(from * ranks + other) as c_int, from as c_int])
            .collect();
        assert_eq!(got, wanted);
        ok!(MPI_Win_free(&mut win));
        assert_eq!(win, MPI_WIN_NULL);
    });
}

#[test]
fn every_ticket_is_drawn_once() {
    const DRAWS: usize = 40;
    programs(|rank, ranks| {
        let mut memory = [0; 1];
        let mut win = create(&mut memory);
        ok!(MPI_Win_lock_all(0, win));
        let mut drawn: Vec<c_int> = (0..DRAWS).map(|_| fetch_and_add(win, 0, 0, 1)).collect();
        assert!(drawn.is_sorted());
        ok!(MPI_Win_unlock_all(win));
        drawn.resize(DRAWS * ranks, 0);
        let mut all = vec![0; DRAWS * ranks];
        let (count, int) = (DRAWS as c_int, MPI_INT);
        ok!(MPI_Allgather(
            at(&drawn),
            count,
            int,
            to(&mut all),
            count,
            int,
            MPI_COMM_WORLD
        ));
        all.sort_unstable();
        assert!(all.iter().enumerate().all(|(at, it)| at as c_int == *it));
        ok!(MPI_Win_free(&mut win));
        assert_eq!(
            memory[0],
            if rank == 0 {
                (DRAWS * ranks) as c_int
            } else {
                0
            }
        );
    });
}

#[test]
fn an_exclusive_lock_keeps_all_others_out() {
    const TURNS: usize = 20;
    programs(|rank, ranks| {
        let mut memory = [0; 3];
        let mut win = create(&mut memory);
        let last = ranks - 1;
        for _ in 0..TURNS {
            let mut value = [0];
            ok!(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last as c_int, 0, win));
            get(win, last, 1, &mut value);
            assert_eq!(put(win, last, 1, &[value[0] + 1]), MPI_SUCCESS);
            ok!(MPI_Win_unlock(last as c_int, win));
        }
        ok!(MPI_Win_free(&mut win));
        if rank == last {
            assert_eq!(memory, [0, (TURNS * ranks) as c_int, 0]);
        }
    });
}

#[test]
fn a_shared_window_is_one_piece_in_the_order_of_ranks() {
    programs(|rank, ranks| {
        let (mut base, mut win) = (ptr::null_mut::<c_int>(), MPI_WIN_NULL);
        let size = (rank + 1) as isize * INT;
        ok!(MPI_Win_allocate_shared(
            size,
            INT as c_int,
            MPI_INFO_NULL,
            MPI_COMM_WORLD,
            (&raw mut base).cast(),
            &mut win
        ));
        let mut next = 0;
        for other in 0..ranks {
            let (mut bytes, mut unit, mut part) = (0, 0, ptr::null_mut::<c_int>());
            let other = other as c_int;
            let place = (&raw mut part).cast();
            ok!(MPI_Win_shared_query(
                win, other, &mut bytes, &mut unit, place
            ));
            assert_eq!((bytes, unit), ((other as isize + 1) * INT, INT as c_int));
            assert!(next == 0 || part.addr() == next);
            next = part.addr() + bytes as usize;
        }
        ok!(MPI_Win_fence(0, win));
        // SAFETY: the first element of this rank's part, which no other rank accesses now.
        unsafe { base.write(rank as c_int) };
        ok!(MPI_Win_fence(0, win));
        let mut first = [-1];
        get(win, ranks / 2, 0, &mut first);
        assert_eq!(first[0], (ranks / 2) as c_int);
        ok!(MPI_Win_fence(0, win));
        ok!(MPI_Win_free(&mut win));
    });
}

#[test]
fn wrong_calls_return_their_class_and_leave_the_memory_alone() {
    try_program(Program::new(2), |rank, ranks| {
        let mut memory = [7; 4];
        let mut win = create(&mut memory);
        ok!(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        ok!(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        assert_eq!(put(win, 0, 0, &[1]), MPI_ERR_RMA_SYNC);
        ok!(MPI_Win_fence(0, win));
        check_wrong_puts(win, ranks);
        ok!(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        assert_eq!(memory, [7; 4]);
        check_wrong_epochs(win, rank);
        let stale = win;
        ok!(MPI_Win_free(&mut win));
        assert_eq!(put(stale, 0, 0, &[1]), MPI_ERR_WIN);
        let mut again = create(&mut memory);
        assert_ne!(again, stale);
        assert_eq!(put(stale, 0, 0, &[1]), MPI_ERR_WIN);
        ok!(MPI_Win_free(&mut again));
    })
    .unwrap();
}

/// Puts outside a window of four integers, to a rank that is none, and into what is no window.
fn check_wrong_puts(win: MPI_Win, ranks: usize) {
    assert_eq!(put(win, 0, 4, &[1]), MPI_ERR_RMA_RANGE);
    assert_eq!(put(win, 0, 3, &[1, 2]), MPI_ERR_RMA_RANGE);
    assert_eq!(put(win, 0, usize::MAX, &[1]), MPI_ERR_DISP);
    assert_eq!(put(win, 0, isize::MAX as usize, &[1]), MPI_ERR_RMA_RANGE);
    assert_eq!(put(win, ranks, 0, &[1]), MPI_ERR_RANK);
    assert_eq!(put(MPI_WIN_NULL, 0, 0, &[1]), MPI_ERR_WIN);
    assert_eq!(put(MPI_COMM_WORLD.cast(), 0, 0, &[1]), MPI_ERR_WIN);
}

/// Ends of epochs that were not begun, and wrong arguments of the calls of synchronization.
fn check_wrong_epochs(win: MPI_Win, rank: usize) {
    // SAFETY: the calls take no pointers.
    let returned = unsafe {
        [
            (MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC),
            (MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC),
            (MPI_Win_complete(win), MPI_ERR_RMA_SYNC),
            (MPI_Win_wait(win), MPI_ERR_RMA_SYNC),
            (MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC),
            (MPI_Win_lock(7, 0, 0, win), MPI_ERR_LOCKTYPE),
            (MPI_Win_fence(1, win), MPI_ERR_ASSERT),
            (MPI_Win_detach(win, ptr::null()), MPI_ERR_RMA_FLAVOR),
        ]
    };
    for (nth, (code, wanted)) in returned.into_iter().enumerate() {
        assert_eq!(code, wanted, "call {nth} of rank {rank}");
    }
}

#[test]
fn the_memory_of_a_rank_that_has_ended_is_not_accessed() {
    let program = |rank, _| {
        // It stays: the window is never freed.
        let win = create(Box::leak(Box::new([0; 4])));
        ok!(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        if rank == 0 {
            // The message comes after the lock: rank 1 ends while it is held.
            ok!(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
            ok!(MPI_Send(ptr::null(), 0, MPI_INT, 1, 0, MPI_COMM_WORLD));
            while put(win, 1, 0, &[1]) == MPI_SUCCESS {
                std::thread::yield_now();
            }
            assert_eq!(put(win, 1, 0, &[1]), MPI_ERR_PROC_ABORTED);
        } else {
            let ignored = MPI_STATUS_IGNORE;
            ok!(MPI_Recv(
                ptr::null_mut(),
                0,
                MPI_INT,
                0,
                0,
                MPI_COMM_WORLD,
                ignored
            ));
        }
    };
    try_program(Program::new(2), program).unwrap();
}

#[test]
fn a_deadlock_of_locks_is_told_by_the_calls_of_windows() {
    let text = failure(2, |rank, _| {
        let mut memory = [0; 1];
        let win = create(&mut memory);
        ok!(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank as c_int, 0, win));
        ok!(MPI_Barrier(MPI_COMM_WORLD));
        ok!(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank as c_int, 0, win));
    });
    assert!(text.starts_with("deadlock: no rank can move"), "{text}");
    assert!(text.contains("rank 0: MPI_Win_lock(rank 1)"), "{text}");
    assert!(
        text.contains("each waits for the next: 0 -> 1 -> 0"),
        "{text}"
    );
}

#[test]
fn accumulates_of_all_ranks_add_up_whatever_the_datatype() {
    programs(|_, ranks| {
        let mut memory = vec![0.0f64; 9];
        let mut win = MPI_WIN_NULL;
        let comm = MPI_COMM_WORLD;
        ok!(MPI_Win_create(
            to(&mut memory),
            72,
            8,
            MPI_INFO_NULL,
            comm,
            &mut win
        ));
        let mut column = MPI_DATATYPE_NULL;
        ok!(MPI_Type_vector(3, 1, 3, MPI_DOUBLE, &mut column));
        ok!(MPI_Type_commit(&mut column));
        ok!(MPI_Win_fence(0, win));
        let mine = [0.5f64, 1.0, 2.0];
        for target in 0..ranks as c_int {
            let (three, op) = (3, MPI_SUM);
            ok!(MPI_Accumulate(
                at(&mine),
                three,
                MPI_DOUBLE,
                target,
                1,
                1,
                column,
                op,
                win
            ));
        }
        ok!(MPI_Win_fence(0, win));
        let n = ranks as f64;
        assert_eq!(memory, [0.0, 0.5 * n, 0.0, 0.0, n, 0.0, 0.0, 2.0 * n, 0.0]);
        ok!(MPI_Type_free(&mut column));
        ok!(MPI_Win_free(&mut win));
    });
}
