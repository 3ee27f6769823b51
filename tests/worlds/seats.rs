//! Seats: threads that somebody else started become ranks.

use std::cell::RefCell;
use std::mem;
use std::sync::Barrier;
use std::thread;

use rankfold::{Comm, Outcome, Seat, Seats, World};

use super::{all_sum, is_gone, triangle_by_message};
use crate::common::{assert_usage, scaled};

#[test]
fn seats_make_ranks_of_threads_that_somebody_else_started() {
    let seats = World::connect(5);
    assert_eq!(seats.size(), 5);
    let sums: Vec<u64> = thread::scope(|scope| {
        let enter = |seat: Seat| scope.spawn(move || (seat.rank(), seat.enter()).1.rank());
        let ranks: Vec<_> = World::connect(5).into_iter().map(enter).collect();
        let ranks: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert_eq!(ranks, [0, 1, 2, 3, 4]);
        let run = |seat: Seat| scope.spawn(move || triangle_by_message(&seat.enter()).unwrap());
        let running: Vec<_> = seats.into_iter().map(run).collect();
        running
            .into_iter()
            .map(|rank| rank.join().unwrap())
            .collect()
    });
    assert_eq!(sums, [15; 5]);
}

/// A pool of threads, each doing the same jobs in turn, as a work-stealing pool's broadcast does.
#[test]
fn a_pool_takes_seats_by_number_and_its_threads_can_be_ranks_again() {
    let worlds: Vec<_> = (0..scaled(10)).map(|_| World::connect(4)).collect();
    let gate = Barrier::new(4);
    thread::scope(|scope| {
        for worker in 0..4 {
            let (worlds, gate) = (&worlds, &gate);
            scope.spawn(move || {
                for (turn, seats) in worlds.iter().enumerate() {
                    let comm = seats.take((worker + turn) % 4).unwrap().enter();
                    assert_eq!(comm.rank(), (worker + turn) % 4);
                    assert_eq!(triangle_by_message(&comm).unwrap(), 10);
                    drop(comm);
                    gate.wait(); // between jobs no thread is a rank
                }
            });
        }
    });
}

#[test]
fn a_thread_may_be_a_rank_of_two_worlds() {
    let (here, there) = (World::connect(2), World::connect(2));
    thread::scope(|scope| {
        for rank in 0..2 {
            let (here, there) = (&here, &there);
            scope.spawn(move || {
                let (a, b) = (
                    here.take(rank).unwrap().enter(),
                    there.take(1 - rank).unwrap().enter(),
                );
                let (sum, left) = (
                    all_sum(&a, 5).unwrap(),
                    b.sendrecv(rank, 1, &[a.rank()], rank, 1).unwrap(),
                );
                assert_eq!((sum, left.0), (10, vec![1 - rank]));
                drop(a); // in the order of entry, not in reverse
                assert_eq!(all_sum(&b, 1).unwrap(), 2);
            });
        }
    });
}

#[test]
fn a_seat_is_taken_once_and_only_if_there_is_one() {
    let seats = World::connect(2);
    let seat = seats.take(1).unwrap();
    assert_eq!(seat.rank(), 1);
    assert_usage(seats.take(1).map(|_| ()), "seat 1 is taken");
    assert_usage(seats.take(2).map(|_| ()), "seat 2 is not one of 2");
    let left: Vec<_> = seats.into_iter().map(|seat| seat.rank()).collect();
    assert_eq!(left, [0]);
}

#[test]
fn a_report_of_a_world_that_cannot_start_gives_the_reason() {
    let report = World::connect(0).report(Vec::<Outcome<()>>::new());
    assert_usage(report.map(drop), "a world has at least one rank");
}

#[test]
fn the_main_thread_may_be_a_rank() {
    let seats = World::connect(2);
    let other = seats.take(1).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| all_sum(&other.enter(), 1).unwrap());
        assert_eq!(all_sum(&seats.take(0).unwrap().enter(), 2).unwrap(), 3);
    });
}

#[test]
fn a_seat_that_is_dropped_unused_is_a_rank_that_has_left() {
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    drop(seats.take(1));
    assert!(is_gone(&comm));
    assert!(comm.barrier().is_err());
    // All of them at once, together with the world that holds them.
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    drop(seats);
    assert!(is_gone(&comm));
}

#[test]
fn a_thread_that_ends_with_its_comm_forgotten_is_noticed() {
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    let seat = seats.take(1).unwrap();
    let thread = thread::spawn(move || {
        let comm = seat.enter();
        comm.send(0, 7, &[1u8]).unwrap();
        mem::forget(comm);
    });
    assert!(is_gone(&comm)); // nothing with tag 0 can come
    assert_eq!(comm.recv::<u8>(1, 7).unwrap().0, [1]); // what it sent before is there
    thread.join().unwrap();
}

#[test]
fn a_comm_kept_in_a_thread_local_ends_with_its_thread() {
    thread_local! {
        static KEPT: RefCell<Option<Comm>> = const { RefCell::new(None) };
    }
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    let seat = seats.take(1).unwrap();
    thread::spawn(move || KEPT.set(Some(seat.enter())))
        .join()
        .unwrap();
    assert!(is_gone(&comm));
}

#[test]
fn a_thread_that_panics_as_a_rank_is_noticed_and_its_message_known() {
    let seats = World::connect(2);
    let comm = seats.take(0).unwrap().enter();
    let seat = seats.take(1).unwrap();
    let thread = thread::spawn(move || {
        let _comm = seat.enter();
        panic!("out of memory");
    });
    let error = comm.recv::<u8>(1, 0).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("panicked with \"out of memory\""),
        "{error}"
    );
    assert!(thread.join().is_err());
}

/// Threads of a pool outlive their ranks, and nobody joins them: the report waits for what the ranks leave.
#[test]
fn a_report_that_is_asked_for_again_and_again_misses_nothing() {
    for _ in 0..scaled(100) {
        let seats = World::connect(2);
        thread::scope(|scope| {
            for rank in 0..2 {
                let seat = seats.take(rank).unwrap();
                scope.spawn(move || keep_one(&seat.enter()));
            }
            let report = loop {
                match seats.report(vec![Outcome::<(), String>::Returned(()); 2]) {
                    Ok(report) => break report,
                    Err(_) => thread::yield_now(),
                }
            };
            assert_eq!(report.lost.len(), 1, "{report}");
        });
    }
}

/// Rank 1 receives the second message of two: the first is lost.
fn keep_one(comm: &Comm) {
    if comm.rank() == 1 {
        comm.recv::<u8>(0, 8).unwrap();
        return;
    }
    for tag in [7, 8] {
        comm.send(1, tag, &[1_u8]).unwrap();
    }
}

#[test]
fn what_a_request_gives_back_after_the_end_of_its_rank_is_counted() {
    let seats = World::connect(2);
    thread::scope(|scope| {
        scope.spawn(|| seats.take(0).unwrap().enter().send(1, 7, &[1_u8]));
        scope.spawn(|| {
            let comm = seats.take(1).unwrap().enter();
            let request = comm.irecv::<u8>(0, 7).unwrap();
            while !request.is_done() {
                thread::yield_now();
            }
            Seats::end(&comm, None);
            drop(request);
        });
    });
    let report = seats
        .report(vec![Outcome::<(), String>::Returned(()); 2])
        .unwrap();
    assert_eq!(report.lost.len(), 1, "{report}");
}
