//! What rankfold's test kit does for programs of MPI: all orders of messages, seeds, deaths, long waits.

mod support;

use std::ffi::c_int;
use std::time::Duration;

use rankfold::Fault;
use rankfold_mpi::abi::*;
use rankfold_mpi::exports::*;
use rankfold_mpi::{MessageOrder, Program};
use support::{at, no_status, to, try_program};

/// Rank 0 receives a number from each other rank, from any source; returns the numbers in their order.
fn collected(me: usize, ranks: usize) -> Vec<c_int> {
    let mut all = Vec::new();
    if me > 0 {
        let number = [me as c_int];
        ok!(MPI_Send(at(&number), 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
        return all;
    }
    for _ in 1..ranks {
        let (mut number, mut status) = ([0], no_status());
        ok!(MPI_Recv(
            to(&mut number),
            1,
            MPI_INT,
            MPI_ANY_SOURCE,
            0,
            MPI_COMM_WORLD,
            &mut status
        ));
        all.push(number[0]);
    }
    all
}

/// The whole program: `MPI_Init`, a check of the order, `MPI_Finalize`.
fn program(is_right: fn(&[c_int]) -> bool) -> impl Fn() + Send + Sync + Clone + 'static {
    move || {
        let (mut me, mut ranks) = (0, 0);
        ok!(MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()));
        ok!(MPI_Comm_rank(MPI_COMM_WORLD, &mut me));
        ok!(MPI_Comm_size(MPI_COMM_WORLD, &mut ranks));
        let all = collected(me as usize, ranks as usize);
        if !is_right(&all) {
            ok!(MPI_Abort(MPI_COMM_WORLD, 7));
        }
        ok!(MPI_Finalize());
    }
}

#[test]
fn an_exploration_takes_every_order_once() {
    for (ranks, orders) in [(1, 1), (2, 1), (3, 2), (4, 6), (5, 24)] {
        for settings in [
            Program::new(ranks),
            Program::new(ranks).zero_buffering().check(),
        ] {
            let explored = settings.explore(program(|_| true)).unwrap();
            assert_eq!(
                (explored.orders, explored.complete),
                (orders, true),
                "{ranks} ranks"
            );
        }
    }
}

#[test]
fn the_order_of_a_failure_repeats_it() {
    let rarely_wrong = program(|all| *all != [3, 1, 2]);
    let found = Program::new(4)
        .explore(rarely_wrong.clone())
        .unwrap_err()
        .to_string();
    let order = found
        .split("seed ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let order: MessageOrder = order.unwrap_or_else(|| panic!("{found}")).parse().unwrap();
    assert!(
        found.contains("MPI_ERR_OTHER: on MPI_COMM_WORLD, with code 7"),
        "{found}"
    );
    let again = Program::new(4).order(order).run(rarely_wrong.clone());
    assert!(again.unwrap_err().to_string().contains("with code 7"));
    let other = MessageOrder::Choices(vec![0, 1]);
    Program::new(4).order(other).run(rarely_wrong).unwrap();
}

#[test]
fn what_an_explored_run_leaves_behind_is_a_failure() {
    let lost = Program::new(2).explore(|| {
        let mut me = 0;
        ok!(MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()));
        ok!(MPI_Comm_rank(MPI_COMM_WORLD, &mut me));
        if me == 0 {
            ok!(MPI_Send(at(&[1.5]), 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD));
        }
        ok!(MPI_Finalize());
    });
    let expected = "rank 0 sent a message of 8 bytes to rank 1 with tag 4 that was never received";
    assert!(lost.unwrap_err().to_string().starts_with(expected));
}

#[test]
fn seeds_take_orders_that_differ_and_repeat() {
    let first_is = |seed| {
        Program::new(3)
            .seed(seed)
            .run(program(|all| all.first() != Some(&2)))
    };
    let found: Vec<bool> = (0..30).map(|seed| first_is(seed).is_ok()).collect();
    let again: Vec<bool> = (0..30).map(|seed| first_is(seed).is_ok()).collect();
    assert_eq!(found, again);
    assert!(found.contains(&true) && found.contains(&false));
}

#[test]
fn a_death_at_any_operation_ends_the_run_and_is_named() {
    for fault in [Fault::Error, Fault::Panic] {
        let mut died = 0;
        for nth in 1..60 {
            let settings = Program::new(3).world(|world| world.inject(1, nth, fault));
            let Err(failed) = try_program(settings, |me, ranks| {
                collected(me, ranks);
                let (own, mut sum) = ([me as f64], [0.0]);
                ok!(MPI_Allreduce(
                    at(&own),
                    to(&mut sum),
                    1,
                    MPI_DOUBLE,
                    MPI_SUM,
                    MPI_COMM_WORLD
                ));
            }) else {
                break;
            };
            let report = failed.to_string();
            assert!(
                report.ends_with("the first culprit is rank 1"),
                "{nth}: {report}"
            );
            died += 1;
        }
        assert!((5..59).contains(&died), "{died} operations");
    }
}

#[test]
fn a_wait_that_is_too_long_is_ended() {
    let patient = Program::new(2).timeout(Duration::from_millis(20));
    let failed = try_program(patient, |me, _| {
        let mut number = [0];
        if me == 0 {
            ok!(MPI_Recv(
                to(&mut number),
                1,
                MPI_INT,
                1,
                0,
                MPI_COMM_WORLD,
                std::ptr::null_mut()
            ));
        }
        // It asks, and does not wait: the wait of the other rank is no deadlock.
        loop {
            let (mut there, mut status) = (0, no_status());
            ok!(MPI_Iprobe(0, 0, MPI_COMM_WORLD, &mut there, &mut status));
        }
    });
    let report = failed.unwrap_err().to_string();
    assert!(report.starts_with("rank 0: MPI_Recv"), "{report}");
    assert!(
        report.contains("MPI_ERR_OTHER: nothing came within "),
        "{report}"
    );
    // It speaks of the program alone.
    assert!(!report.contains("rankfold-mpi/src"), "{report}");
}

/// Asks once for what never comes.
fn ask(how: usize, request: &mut MPI_Request) -> c_int {
    let (mut there, mut at, mut status, world) = (0, 0, no_status(), MPI_COMM_WORLD);
    let (to, told, mut message) = (&mut there, &mut status, MPI_MESSAGE_NULL);
    match how {
        0 => ok!(MPI_Test(request, to, told)),
        1 => ok!(MPI_Testall(1, request, to, told)),
        2 => ok!(MPI_Testany(1, request, &mut at, to, told)),
        3 => ok!(MPI_Testsome(1, request, to, &mut at, told)),
        4 => ok!(MPI_Iprobe(0, 1, world, to, told)),
        5 => ok!(MPI_Improbe(0, 1, world, to, &mut message, told)),
        _ => ok!(MPI_Request_get_status(*request, to, told)),
    }
    there
}

/// Asks for ever.
fn asks(how: usize) {
    let (mut number, mut request) = ([0], MPI_REQUEST_NULL);
    let (buffer, world) = (to(&mut number), MPI_COMM_WORLD);
    ok!(MPI_Irecv(buffer, 1, MPI_INT, 0, 0, world, &mut request));
    while ask(how, &mut request) == 0 {}
}

#[test]
fn ranks_that_only_ask_are_ended_by_a_timeout_once_no_other_rank_moves() {
    const CALLS: [&str; 7] = [
        "MPI_Test",
        "MPI_Testall",
        "MPI_Testany",
        "MPI_Testsome",
        "MPI_Iprobe",
        "MPI_Improbe",
        "MPI_Request_get_status",
    ];
    for (how, call) in CALLS.iter().enumerate() {
        let patient = Program::new(3).timeout(Duration::from_millis(20));
        let failed = try_program(patient, move |_, _| asks(how)).unwrap_err();
        let report = failed.to_string();
        assert!(report.contains(&format!("{call} at ")), "{report}");
        assert!(
            report.contains("in vain, and no other rank has moved"),
            "{report}"
        );
    }
}

/// Rank 0 receives from all others at once and waits for any request, which may be the last one's if `last_first`.
fn wait_for_any(me: usize, ranks: usize, last_first: bool) {
    if me > 0 {
        let number = [me as c_int];
        ok!(MPI_Send(at(&number), 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
        return;
    }
    let mut numbers = vec![[0]; ranks];
    let mut requests = vec![MPI_REQUEST_NULL; ranks - 1];
    for from in 1..ranks {
        ok!(MPI_Irecv(
            to(&mut numbers[from]),
            1,
            MPI_INT,
            from as c_int,
            0,
            MPI_COMM_WORLD,
            &mut requests[from - 1]
        ));
    }
    let mut first = -1;
    let (many, none) = (requests.len() as c_int, std::ptr::null_mut());
    ok!(MPI_Waitany(many, requests.as_mut_ptr(), &mut first, none));
    assert!(last_first || first != many - 1, "the last one is first");
    ok!(MPI_Waitall(many, requests.as_mut_ptr(), none));
}

#[test]
fn an_exploration_ends_each_of_several_requests_first() {
    let explored = |last_first| {
        Program::new(3).explore(move || {
            let (mut me, mut ranks) = (-1, -1);
            ok!(MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()));
            ok!(MPI_Comm_rank(MPI_COMM_WORLD, &mut me));
            ok!(MPI_Comm_size(MPI_COMM_WORLD, &mut ranks));
            wait_for_any(me as usize, ranks as usize, last_first);
            ok!(MPI_Finalize());
        })
    };
    let all = explored(true).unwrap();
    assert!(all.complete && all.runs >= 2, "{all}");
    let found = explored(false).unwrap_err().to_string();
    assert!(found.contains("the last one is first"), "{found}");
}
