//! Exploring message orders: finds every order exactly once, every bug that occurs in one of them, and each bug again
//! by its order.

#[path = "explore/failures.rs"]
mod failures;
#[path = "explore/model.rs"]
mod model;
#[path = "explore/programs.rs"]
mod programs;
mod support;

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use rankfold::testing::{Explore, Explored, Found, MessageOrder, explore};
use rankfold::{Buffering, Comm, Rank, Request, Result, Source, Tag, WorldError, op};
use support::guarded;

fn factorial(k: usize) -> u64 {
    (1..=k as u64).product()
}

/// Returns the ranks in the order in which their messages are received from any source.
fn arrivals(comm: &Comm, count: usize) -> Result<Vec<Rank>> {
    let one = |_| Ok(comm.recv::<Rank>(Source::Any, Tag::Any)?.1.source);
    (0..count).map(one).collect()
}

/// Rank 0 receives one message from every other rank.
fn gather(comm: &Comm) -> Result<Vec<Rank>> {
    match comm.rank() {
        0 => arrivals(comm, comm.size() - 1),
        me => comm.send(0, me as u32, &[me]).map(|()| Vec::new()),
    }
}

/// Explores, and collects the ranks' results: each order, and all distinct results.
fn outcomes<R: Send + Clone + Default + Eq + std::hash::Hash>(
    ranks: usize,
    f: impl Fn(&Comm) -> Result<R> + Sync,
) -> (Explored, HashSet<Vec<R>>) {
    let seen = Mutex::new(HashSet::new());
    let now = Mutex::new(vec![R::default(); ranks]);
    let body = |comm: &Comm| {
        let got = f(comm)?;
        now.lock().unwrap()[comm.rank()] = got;
        comm.barrier()?;
        if comm.rank() == 0 {
            seen.lock().unwrap().insert(now.lock().unwrap().clone());
        }
        comm.barrier()
    };
    let explored = guarded(&|| format!("{ranks} ranks"), || explore(ranks, body));
    (explored, seen.into_inner().unwrap())
}

#[test]
fn k_messages_to_one_rank_have_k_factorial_orders() {
    for k in 1..=5 {
        let (explored, seen) = outcomes(k + 1, gather);
        assert_eq!(explored.orders, factorial(k), "{k} senders");
        assert!(explored.complete);
        assert_eq!(explored.runs, explored.orders);
        assert_eq!(seen.len() as u64, factorial(k));
    }
}

#[test]
fn a_program_without_a_choice_has_one_order() {
    let ring = |comm: &Comm| {
        let (me, n) = (comm.rank(), comm.size());
        let mut v = [me];
        for _ in 0..n {
            v = [comm.sendrecv((me + 1) % n, 0, &v, (me + n - 1) % n, 0)?.0[0]];
        }
        comm.all_reduce(&mut v, op::Sum)?;
        // Nor does a wildcard receive with only one possible source.
        comm.send((me + 1) % n, 1, &[me; 100])?;
        comm.send((me + 1) % n, 1, &[me])?;
        assert_eq!(comm.recv::<Rank>(Source::Any, 1)?.0.len(), 100);
        assert_eq!(comm.recv::<Rank>(Source::Any, 1)?.0.len(), 1);
        Ok(())
    };
    for ranks in 1..=8 {
        let explored = guarded(&|| format!("{ranks} ranks"), || explore(ranks, ring));
        assert_eq!(
            (explored.orders, explored.complete, explored.runs),
            (1, true, 1),
            "{ranks} ranks"
        );
    }
}

#[test]
fn two_receivers_have_the_product_of_their_orders() {
    let (explored, seen) = outcomes(5, |comm| match comm.rank() {
        me @ (0 | 1) => arrivals(comm, 3 - me),
        me => {
            comm.send(0, 0, &[me])?;
            if me < 4 {
                comm.send(1, 0, &[me])?;
            }
            Ok(Vec::new())
        }
    });
    assert_eq!((explored.orders, explored.complete), (6 * 2, true));
    assert_eq!(seen.len(), 12);
    assert_eq!(
        explored.runs, explored.orders,
        "they do not depend on each other"
    );
}

#[test]
fn the_order_of_one_sender_is_no_choice() {
    let (explored, seen) = outcomes(3, |comm| match comm.rank() {
        0 => arrivals(comm, 4),
        me => {
            comm.send(0, 0, &[me])?;
            comm.send(0, 1, &[me])?;
            Ok(Vec::new())
        }
    });
    assert_eq!((explored.orders, explored.complete), (6, true)); // 4 over 2
    assert_eq!(seen.len(), 6);
}

/// Rank 1 hears from rank 2, and then sends to rank 0, to which rank 2 has sent as well.
fn late_message(comm: &Comm) -> Result<Vec<Rank>> {
    match comm.rank() {
        0 => arrivals(comm, 2),
        1 => {
            let heard = arrivals(comm, 1)?;
            comm.send(0, 0, &[1usize]).map(|()| heard)
        }
        _ => {
            comm.send(0, 0, &[2usize])?;
            comm.send(1, 0, &[2usize]).map(|()| Vec::new())
        }
    }
}

#[test]
fn a_message_that_comes_only_after_another_choice_is_not_missed() {
    let (explored, seen) = outcomes(3, late_message);
    assert_eq!((explored.orders, explored.complete), (2, true));
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_message_that_follows_from_the_choice_is_no_alternative_to_it() {
    // A manager and two workers that answer the rank they hear from, while rank 3 has a choice of its own.
    let (explored, seen) = outcomes(4, |comm| match comm.rank() {
        0 => {
            comm.send(1, 0, &[0usize])?;
            let first = arrivals(comm, 1)?;
            comm.send(2, 0, &[0usize])?;
            let second = arrivals(comm, 1)?;
            comm.send(3, 0, &[0usize])?;
            Ok([first, second].concat())
        }
        3 => arrivals(comm, 1),
        me => {
            let heard = arrivals(comm, 1)?;
            comm.send(0, 0, &[me]).map(|()| heard)
        }
    });
    assert_eq!(
        (explored.orders, explored.complete, explored.runs),
        (1, true, 1)
    );
    assert_eq!(seen.len(), 1);
}

#[test]
fn posted_receives_from_any_source_have_all_orders() {
    for k in 1..=4 {
        let (explored, seen) = outcomes(k + 1, |comm| match comm.rank() {
            0 => {
                let posted = (0..k).map(|_| comm.irecv::<Rank>(Source::Any, 0));
                let all = Request::wait_all(posted.collect::<Result<Vec<_>>>()?)?;
                Ok(all.into_iter().map(|(_, status)| status.source).collect())
            }
            me => comm.send(0, 0, &[me]).map(|()| Vec::new()),
        });
        assert_eq!(
            (explored.orders, explored.complete),
            (factorial(k), true),
            "{k} senders"
        );
        assert_eq!(seen.len() as u64, factorial(k));
    }
}

#[test]
fn requests_of_which_any_may_end_first_have_all_orders() {
    for some in [false, true] {
        for k in 1..=4 {
            let (explored, seen) = outcomes(k + 1, |comm| {
                if comm.rank() > 0 {
                    return comm.send(0, 0, &[comm.rank()]).map(|()| Vec::new());
                }
                let posted = (1..=k).map(|rank| comm.irecv::<Rank>(rank, 0));
                let mut posted = posted.collect::<Result<Vec<_>>>()?;
                let mut order = Vec::new();
                while order.len() < k {
                    match some {
                        true => order.extend(
                            Request::wait_some(&mut posted)?
                                .iter()
                                .map(|(place, _)| *place),
                        ),
                        false => {
                            order.extend(Request::wait_any(&mut posted)?.map(|(place, _)| place))
                        }
                    }
                }
                Ok(order)
            });
            assert_eq!(
                (explored.orders, explored.complete),
                (factorial(k), true),
                "{k} senders"
            );
            assert_eq!(seen.len() as u64, factorial(k));
        }
    }
}

/// Which of two requests ends first if the other one is a synchronous send, or a collective, that another rank makes
/// ready when it has chosen.
fn ends_first(started: bool, waiting: Rank) -> (Explored, HashSet<Vec<usize>>) {
    let (chooses, sends) = (1 - waiting, 2);
    outcomes(3, |comm| {
        let me = comm.rank();
        if me == waiting {
            let other = match started {
                true => comm.ibarrier()?.map(drop),
                false => comm.issend(chooses, 5, vec![1u8])?.map(drop),
            };
            let mut two = [other, comm.irecv::<u8>(sends, 0)?.map(drop)];
            let first = Request::wait_any(&mut two)?.map_or(2, |(place, ())| place);
            Request::wait_any(&mut two)?;
            return Ok(first);
        }
        if me == chooses {
            comm.recv::<u8>(Source::Any, 0)?;
        } else {
            comm.send(waiting, 0, &[1u8])?;
            comm.send(chooses, 0, &[1u8])?;
        }
        match started {
            true => comm.ibarrier()?.wait()?,
            false if me == chooses => comm.recv::<u8>(waiting, 5).map(drop)?,
            false => {}
        }
        Ok(2)
    })
}

#[test]
fn a_send_or_a_collective_that_others_complete_may_end_before_a_receive() {
    for started in [false, true] {
        for waiting in [0, 1] {
            let (explored, seen) = ends_first(started, waiting);
            let case = format!("started: {started}, rank {waiting} waits: {explored:?}");
            assert!(explored.complete, "{case}");
            let firsts: HashSet<usize> = seen.iter().map(|all| all[waiting]).collect();
            assert_eq!(firsts, HashSet::from([0, 1]), "{case}");
        }
    }
}

/// Each finds what it looks for in a controlled world, where it looks last; in reality it may come too early.
#[test]
fn programs_that_look_without_waiting_are_not_explored_completely() {
    type Look = fn(&Comm) -> Result<bool>;
    let looks: [Look; 5] = [
        |comm| Ok(comm.irecv::<u8>(1, 0)?.test()?.is_some()),
        |comm| {
            let mut one = [comm.irecv::<u8>(1, 0)?];
            Ok(Request::test_any(&mut one)?.is_some())
        },
        |comm| {
            let one = comm.irecv::<u8>(1, 0)?;
            let done = one.is_done();
            one.wait()?;
            Ok(done)
        },
        |comm| {
            let there = comm.iprobe(1, 0)?.is_some();
            comm.recv::<u8>(1, 0)?;
            Ok(there)
        },
        |comm| {
            let got = comm.recv_timeout::<u8>(1, 0, Duration::from_millis(1));
            got.map(|_| true)
        },
    ];
    for (place, look) in looks.into_iter().enumerate() {
        let explored = explore(2, |comm| match comm.rank() {
            0 => look(comm).map(|found| assert!(found, "look {place}")),
            _ => comm.send(0, 0, &[1u8]),
        });
        assert!(!explored.complete, "look {place}: {explored:?}");
        // No others are drawn at random: there is one.
        assert_eq!((explored.orders, explored.runs), (1, 1), "look {place}");
    }
}

#[test]
fn ranks_that_look_again_and_again_see_what_comes() {
    let explored = explore(3, |comm| {
        let (me, n) = (comm.rank(), comm.size());
        // Each polls for a message of its left neighbour, the first one last.
        if me == 0 {
            comm.send(1, 0, &[0usize])?;
        }
        let mut request = comm.irecv::<Rank>((me + n - 1) % n, 0)?;
        while request.test()?.is_none() {}
        if me > 0 {
            comm.send((me + 1) % n, 0, &[me])?;
        }
        while comm.iprobe(Source::Any, 1)?.is_some() {}
        Ok(())
    });
    assert_eq!(explored.orders, 1);
    assert!(!explored.complete, "when to look is not explored");
}

#[test]
fn orders_are_explored_without_buffers_too() {
    let zero = Explore::new(4).world(|world| world.buffering(Buffering::Zero));
    let explored = zero.run(gather);
    assert_eq!((explored.orders, explored.complete), (6, true));
    let late = Explore::new(3)
        .world(|world| world.buffering(Buffering::Zero))
        .run(|comm| match comm.rank() {
            0 => arrivals(comm, 2).map(drop),
            1 => arrivals(comm, 1).and_then(|_| comm.send(0, 0, &[1usize])),
            // Rank 1 learns of it after rank 0 has received.
            _ => comm
                .send(0, 0, &[2usize])
                .and_then(|()| comm.send(1, 0, &[2usize])),
        });
    assert_eq!((late.orders, late.complete), (1, true));
}

/// Fails in one of the 120 orders of five messages.
fn fails_in_one_of_120(comm: &Comm) -> Result<()> {
    let got = gather(comm)?;
    assert_ne!(got, [4, 2, 5, 1, 3], "the one order");
    Ok(())
}

fn hidden() -> Box<Found> {
    Explore::new(6).find(fails_in_one_of_120).unwrap_err()
}

#[test]
fn a_failure_in_one_of_120_orders_is_found_and_repeated_100_times_of_100() {
    let found = hidden();
    assert!(
        matches!(found.error, WorldError::Panicked { rank: 0, .. }),
        "{found}"
    );
    let took: Vec<Rank> = found.choices.iter().map(|choice| choice.took).collect();
    assert_eq!(took, [4, 2, 5, 1, 3]);
    let explore = Explore::new(6);
    for _ in 0..100 {
        let again = explore
            .repeat(&found.order, fails_in_one_of_120)
            .unwrap_err();
        assert_eq!(again.choices, found.choices);
    }
    // An order parsed from text is the same one.
    let typed: MessageOrder = found.order.to_string().parse().unwrap();
    assert_eq!(typed, found.order);
    assert_eq!(hidden().order, found.order);
}

/// Runs one test of this file in a separate process, with an order requested; returns whether it passed, and its
/// output.
fn asked_for(order: &str, test: &str) -> (bool, String) {
    let this = std::env::current_exe().unwrap();
    let mut child = std::process::Command::new(this);
    child.args(["--exact", test]).env("RANKFOLD_SEED", order);
    let output = child.output().unwrap();
    (
        output.status.success(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

#[test]
fn rankfold_seed_repeats_one_order_and_no_other() {
    if std::env::var_os("RANKFOLD_SEED").is_some() {
        // The other process.
        let explored = explore(6, fails_in_one_of_120);
        assert_eq!((explored.orders, explored.complete), (1, false));
        return;
    }
    let this = "rankfold_seed_repeats_one_order_and_no_other";
    let (passed, text) = asked_for("order:3.1.2", this);
    assert!(
        !passed && text.contains("after 0 runs that went well") && text.contains("the one order"),
        "{text}"
    );
    let (passed, text) = asked_for("order:3.1", this);
    assert!(passed, "{text}");
    let (passed, text) = asked_for("by chance", this);
    assert!(
        !passed && text.contains("is no order of messages"),
        "{text}"
    );
}

/// What the second receive gets depends on whether the first message came before the first one was cancelled.
#[test]
fn where_a_request_is_cancelled_it_is_not_complete() {
    let (explored, seen) = outcomes(2, |comm| {
        if comm.rank() == 1 {
            [1, 2].iter().try_for_each(|it| comm.send(0, 0, &[*it]))?;
            return Ok(0);
        }
        let (first, second) = (comm.irecv::<i32>(1, 0)?, comm.irecv::<i32>(1, 0)?);
        first.cancel()?;
        let got = second.wait()?.0[0];
        comm.recv::<i32>(1, 0)?;
        Ok(got)
    });
    assert!(!explored.complete && !seen.is_empty());
}
