//! Several requests at once: each result comes exactly once in every way of waiting and looking, requests of different
//! kinds are completed together, and what fails leaves the others as documented.

mod again;
#[path = "several_requests/endings.rs"]
mod endings;
#[path = "several_requests/functions.rs"]
mod functions;
mod support;

use rankfold::testing::Explore;
use rankfold::{Buffering, Comm, ErrorKind, Outcome, Rank, Request, Result, Source, Status, World};
use support::guarded;

const BUFFERINGS: [Buffering; 3] = [Buffering::Zero, Buffering::Bytes(100), Buffering::Unbounded];

/// Runs a program that must succeed in every buffering, in the threads' own order and in one drawn from a seed.
fn succeeds(ranks: usize, program: impl Fn(&Comm) -> Result<()> + Sync) {
    for buffering in BUFFERINGS {
        for seed in [None, Some(3)] {
            let case = format!("{ranks} ranks, {buffering:?}, seed {seed:?}");
            let world = World::new(ranks).buffering(buffering).strict();
            let world = match seed {
                Some(seed) => world.seed(seed),
                None => world,
            };
            let report = guarded(&|| case.clone(), || world.run_each(&program));
            report
                .into_result()
                .unwrap_or_else(|error| panic!("{case}: {error}"));
        }
    }
}

type Received = (Vec<usize>, Status);
type Way = fn(Vec<Request<'_, Received>>) -> Result<Vec<(usize, Received)>>;

/// Every way to complete several requests; each returns the results with their places.
const WAYS: [(&str, Way); 6] = [
    ("wait_all", |requests| {
        let all = Request::wait_all(requests)?;
        Ok(all.into_iter().enumerate().collect())
    }),
    ("wait_any", |mut requests| {
        let mut done = Vec::new();
        while let Some(one) = Request::wait_any(&mut requests)? {
            done.push(one);
        }
        Ok(done)
    }),
    ("wait_some", |mut requests| {
        let mut done = Vec::new();
        while done.len() < requests.len() {
            let some = Request::wait_some(&mut requests)?;
            assert!(!some.is_empty());
            done.extend(some);
        }
        Ok(done)
    }),
    ("test_all", |mut requests| {
        loop {
            if let Some(all) = Request::test_all(&mut requests)? {
                return Ok(all.into_iter().enumerate().collect());
            }
        }
    }),
    ("test_any", |mut requests| {
        let mut done = Vec::new();
        while done.len() < requests.len() {
            done.extend(Request::test_any(&mut requests)?);
        }
        assert!(Request::test_any(&mut requests)?.is_none());
        Ok(done)
    }),
    ("test_some", |mut requests| {
        let mut done = Vec::new();
        while done.len() < requests.len() {
            done.extend(Request::test_some(&mut requests)?);
        }
        assert!(Request::test_some(&mut requests)?.is_empty());
        Ok(done)
    }),
];

const MESSAGES: usize = 3;

#[test]
fn every_way_gives_each_result_once_with_its_place() {
    for (name, way) in WAYS {
        for ranks in 1..=5 {
            succeeds(ranks, |comm| {
                let receives = (0..ranks * MESSAGES).map(|place| {
                    let tag = (place / ranks) as u32;
                    comm.irecv::<usize>(place % ranks, tag)
                });
                let receives = receives.collect::<Result<Vec<_>>>()?;
                let all = ranks * MESSAGES;
                // An order of its own for each rank: 7 has no factor in common with any of these numbers.
                let sends = (0..all).map(|i| {
                    let place = (7 * i + comm.rank()) % all;
                    let (to, tag) = (place % ranks, place / ranks);
                    comm.isend(to, tag as u32, vec![comm.rank(), tag])
                });
                let sends = sends.collect::<Result<Vec<_>>>()?;
                let mut done = way(receives)?;
                done.sort_by_key(|(place, _)| *place);
                assert_eq!(done.len(), ranks * MESSAGES, "{name}");
                for (at, (place, (got, status))) in done.into_iter().enumerate() {
                    let (from, tag) = (place % ranks, place / ranks);
                    assert_eq!((place, status.source), (at, from), "{name}");
                    assert_eq!(got, [from, tag], "{name}");
                }
                Request::wait_all(sends).map(drop)
            });
        }
    }
}

#[test]
fn without_requests_every_way_is_done_at_once() {
    World::new(1)
        .run(|_| {
            for (name, way) in WAYS {
                assert!(way(Vec::new())?.is_empty(), "{name}");
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn test_all_ends_none_until_all_are_complete_and_skips_what_is_over() {
    succeeds(1, |comm| {
        let mut three = [
            comm.irecv::<u8>(0, 0)?,
            comm.irecv::<u8>(0, 1)?,
            comm.irecv::<u8>(0, 2)?,
        ];
        comm.send(0, 1, &[1u8])?;
        assert!(Request::test_all(&mut three)?.is_none());
        assert!(three[1].is_done() && !three[0].is_done());
        let (place, (got, _)) = Request::test_any(&mut three)?.expect("it is there");
        assert_eq!((place, got), (1, vec![1]));
        comm.send(0, 2, &[2u8])?;
        assert!(Request::test_all(&mut three)?.is_none());
        comm.send(0, 0, &[0u8])?;
        let rest = Request::test_all(&mut three)?.expect("both are there");
        assert_eq!((&rest[0].0, &rest[1].0), (&vec![0], &vec![2]));
        assert_eq!(Request::test_all(&mut three)?.map(|all| all.len()), Some(0));
        assert!(Request::wait_any(&mut three)?.is_none());
        Ok(())
    });
}

#[test]
fn test_any_takes_the_first_in_the_slice_and_test_some_takes_all() {
    World::new(1)
        .strict()
        .run(|comm| {
            for some in [false, true] {
                let receives = (0..3).map(|tag| comm.irecv::<u32>(0, tag));
                let mut receives = receives.collect::<Result<Vec<_>>>()?;
                comm.send(0, 2, &[2u32])?;
                comm.send(0, 1, &[1u32])?;
                if some {
                    let done = Request::test_some(&mut receives)?;
                    let places: Vec<usize> = done.iter().map(|(place, _)| *place).collect();
                    assert_eq!(places, [1, 2]);
                } else {
                    assert_eq!(Request::test_any(&mut receives)?.unwrap().0, 1);
                    assert_eq!(Request::test_any(&mut receives)?.unwrap().0, 2);
                    assert!(Request::test_any(&mut receives)?.is_none());
                }
                receives.swap_remove(0).cancel()?;
            }
            Ok(())
        })
        .unwrap();
}

// ── failures ──

/// Rank 0 waits for a message of rank 1, which fails, and for one of rank 2, which sends only once it is told. Either
/// the first that is complete suffices to rank 0 (`any`), or it needs both.
fn one_of_two_never_comes(comm: &Comm, any: bool) -> Result<()> {
    match comm.rank() {
        0 => {
            let both = [comm.irecv::<u8>(1, 0)?, comm.irecv::<u8>(2, 0)?];
            if any {
                any_of(comm, both)
            } else {
                all_of(comm, both)
            }
        }
        1 => Err(rankfold::Error::user("of its own")),
        _ => {
            comm.recv::<u8>(0, 9)?;
            comm.send(0, 0, &[2u8])
        }
    }
}

type ReceivedByte = (Vec<u8>, Status);

fn any_of(comm: &Comm, mut both: [Request<'_, ReceivedByte>; 2]) -> Result<()> {
    // Until rank 2 is told, none is complete, and one still can be.
    while !both[0].is_done() {}
    assert!(Request::test_any(&mut both)?.is_none());
    assert!(Request::test_some(&mut both)?.is_empty());
    comm.send(2, 9, &[0u8])?;
    let (place, _) = Request::wait_any(&mut both)?.expect("rank 2 sends");
    assert_eq!(place, 1);
    Request::test_any(&mut both).map(drop)
}

fn all_of(comm: &Comm, mut both: [Request<'_, ReceivedByte>; 2]) -> Result<()> {
    let failed = loop {
        if let Err(error) = Request::test_all(&mut both) {
            break error;
        }
    };
    assert!(Request::wait_any(&mut both)?.is_none()); // both are over
    comm.send(2, 9, &[0u8])?;
    comm.recv::<u8>(2, 0)?; // its message is left to later receives
    Err(failed)
}

#[test]
fn one_of_several_that_can_never_complete_fails_those_that_need_all() {
    for any in [false, true] {
        for buffering in BUFFERINGS {
            let case = || format!("any: {any}, {buffering:?}");
            let world = World::new(3).buffering(buffering);
            let report = guarded(&case, || {
                world.run_each(|comm| one_of_two_never_comes(comm, any))
            });
            let error = report.outcomes[0].error().expect("rank 1 is missed");
            let gone = matches!(error.kind(), ErrorKind::RankGone { rank, .. } if *rank == 1);
            assert!(gone, "{}: {error}", case());
            let word = if any { "test_any for" } else { "test_all for" };
            assert!(error.to_string().contains(word), "{}: {error}", case());
            assert!(matches!(report.outcomes[2], Outcome::Returned(())));
        }
    }
}

#[test]
fn a_message_that_does_not_fit_ends_its_own_request_only() {
    succeeds(1, |comm| {
        let mut both = [comm.irecv::<u8>(0, 0)?, comm.irecv::<u8>(0, 1)?];
        comm.send(0, 0, &[1.0f64])?;
        let error = Request::test_any(&mut both).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::WrongType { .. }),
            "{error}"
        );
        assert!(Request::test_any(&mut both)?.is_none());
        comm.send(0, 1, &[7u8])?;
        assert_eq!(Request::wait_any(&mut both)?.unwrap().1.0, [7]);
        assert_eq!(comm.recv::<f64>(0, 0)?.0, [1.0]);
        Ok(())
    });
}

/// Messages for the first receives, and one that does not fit the last.
fn the_last_of_three_does_not_fit(comm: &Comm) -> Result<Vec<Request<'static, Event>>> {
    let text = |(text, status): (String, Status)| Event::Text(text, status.source);
    let all = vec![
        comm.irecv::<u8>(0, 0)?.map(|_| Event::Moved),
        comm.irecv_value::<String>(0, 1)?.map(text),
        comm.irecv::<u8>(0, 2)?.map(|_| Event::Moved),
    ];
    comm.send(0, 0, &[1u8])?;
    comm.send_value(0, 1, String::from("one"))?;
    comm.send(0, 2, &[2u16])?;
    Ok(all)
}

fn is_of_the_wrong_type<R: std::fmt::Debug>(result: Result<R>) {
    let error = result.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::WrongType { .. }),
        "{error}"
    );
}

#[test]
fn a_message_that_does_not_fit_leaves_all_messages_of_those_that_need_all() {
    for test in [false, true] {
        succeeds(1, |comm| {
            let mut all = the_last_of_three_does_not_fit(comm)?;
            match test {
                true => is_of_the_wrong_type(Request::test_all(&mut all)),
                false => is_of_the_wrong_type(Request::wait_all(all)),
            }
            assert_eq!(comm.recv::<u8>(0, 0)?.0, [1]);
            assert_eq!(comm.recv_value::<String>(0, 1)?.0, "one");
            assert_eq!(comm.recv::<u16>(0, 2)?.0, [2]);
            Ok(())
        });
    }
}

#[test]
fn a_message_that_finds_no_room_leaves_all_messages_of_those_that_need_all() {
    succeeds(1, |comm| {
        let (mut long, mut short) = ([0u8; 2], [0u8; 1]);
        let failed = comm.scope(|s| {
            let both = [
                s.irecv_into(0, 0, &mut long)?,
                s.irecv_into(0, 1, &mut short)?,
            ];
            comm.send(0, 0, &[1u8])?;
            comm.send(0, 1, &[2u8, 3])?;
            Request::wait_all(both.map(Request::from)).map(drop)
        });
        let error = failed.unwrap_err();
        assert!(
            matches!(
                error.kind(),
                ErrorKind::TooShort {
                    sent: 2,
                    room: 1,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(comm.recv::<u8>(0, 0)?.0, [1]);
        assert_eq!(comm.recv::<u8>(0, 1)?.0, [2, 3]);
        Ok(())
    });
}

#[test]
fn a_message_that_does_not_fit_leaves_the_results_of_some_to_the_next_call() {
    for some in [Request::wait_some, Request::test_some] {
        let world = World::new(1).strict().run(|comm| {
            let mut all = the_last_of_three_does_not_fit(comm)?;
            is_of_the_wrong_type(some(&mut all));
            let left = some(&mut all)?;
            let text = Event::Text(String::from("one"), 0);
            assert_eq!(left, [(0, Event::Moved), (1, text)]);
            assert_eq!(comm.recv::<u16>(0, 2)?.0, [2]);
            Ok(())
        });
        world.unwrap();
    }
}

#[test]
fn what_any_of_several_takes_first_is_explored_in_every_order() {
    for some in [false, true] {
        let orders = std::sync::Mutex::new(std::collections::BTreeSet::new());
        let explored = Explore::new(4).run(|comm| {
            if comm.rank() > 0 {
                return comm.send(0, 0, &[comm.rank()]);
            }
            let posted = (1..4).map(|from| comm.irecv::<Rank>(from, 0));
            let mut posted = posted.collect::<Result<Vec<_>>>()?;
            let mut order = Vec::new();
            while order.len() < 3 {
                match some {
                    true => order.extend(Request::test_some(&mut posted)?),
                    false => order.extend(Request::test_any(&mut posted)?),
                }
            }
            let order: Vec<usize> = order.iter().map(|(place, _)| *place).collect();
            orders.lock().unwrap().insert(order);
            Ok(())
        });
        assert_eq!(explored.orders, 6, "{explored:?}");
        assert!(!explored.complete, "when to look is not explored");
        assert_eq!(orders.lock().unwrap().len(), 6);
    }
}

/// Rank 0 gives up three receives, two of which have their messages, and keeps one that is open.
fn gives_up_two_messages(
    comm: &Comm,
    fails: impl Fn(Vec<Request<'_, (Vec<i32>, rankfold::Status)>>),
) -> Result<()> {
    match comm.rank() {
        1 => {
            comm.send(0, 0, &[1])?;
            comm.send(0, 0, &[2])?;
            return comm.recv::<u8>(0, 9).map(drop);
        }
        2 => return comm.recv::<u8>(0, 9).map(drop),
        _ => {}
    }
    let first = comm.irecv::<i32>(1, 0)?;
    let second = comm.irecv::<i32>(1, 0)?;
    let gone = comm.irecv::<i32>(2, 0)?;
    let open = comm.irecv::<i32>(1, 0)?;
    while !second.is_done() {}
    comm.send(2, 9, &[0u8])?;
    fails(vec![second, first, gone]);
    assert_eq!(open.wait()?.0, [1]);
    assert_eq!(comm.recv::<i32>(1, 0)?.0, [2]);
    comm.send(1, 9, &[0u8])
}

#[test]
fn messages_of_requests_that_failed_together_go_back_in_the_order_in_which_they_came() {
    succeeds(3, |comm| {
        gives_up_two_messages(comm, |all| {
            Request::wait_all(all).unwrap_err();
        })
    });
    succeeds(3, |comm| {
        gives_up_two_messages(
            comm,
            |mut all| {
                while let Ok(None) = Request::test_all(&mut all) {}
            },
        )
    });
}

// ── requests of different kinds ──

#[derive(Debug, PartialEq)]
enum Event {
    Numbers(Vec<f64>),
    Text(String, Rank),
    Sent(usize),
    Moved,
}

#[test]
fn requests_of_different_kinds_are_completed_together() {
    succeeds(3, |comm| {
        let (right, left) = ((comm.rank() + 1) % 3, (comm.rank() + 2) % 3);
        let mut halo = [0.0; 2];
        comm.scope(|s| {
            let halo = s.irecv_into(left, 2, &mut halo)?;
            let mut all = vec![
                comm.irecv::<f64>(left, 0)?
                    .map(|(numbers, _)| Event::Numbers(numbers)),
                comm.irecv_value::<String>(Source::Any, 1)?
                    .map(|(text, status)| (text, status.source))
                    .map(|(text, from)| Event::Text(text, from)),
                Request::from(halo).map(|(buf, _)| Event::Numbers(buf.to_vec())),
                comm.issend(right, 0, vec![0.5])?
                    .map(|buffer| Event::Sent(buffer.len())),
                comm.isend_value(right, 1, String::from("text"))?
                    .map(|()| Event::Moved),
                comm.isend(right, 2, vec![1.0, 2.0])?
                    .map(|buffer| Event::Sent(buffer.len())),
            ];
            let expected = [
                Event::Numbers(vec![0.5]),
                Event::Text("text".into(), left),
                Event::Numbers(vec![1.0, 2.0]),
                Event::Sent(1),
                Event::Moved,
                Event::Sent(2),
            ];
            let mut count = 0;
            while let Some((place, event)) = Request::wait_any(&mut all)? {
                assert_eq!(event, expected[place]);
                count += 1;
            }
            assert_eq!(count, expected.len());
            Ok(())
        })?;
        assert_eq!(halo, [1.0, 2.0]);
        Ok(())
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
