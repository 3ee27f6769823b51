//! The rank that is named when one rank makes another collective call than the rest, in worlds that do not check: that
//! rank, by its call and line, and never one that only returned. And how reports name communicators.

mod channels;
mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rankfold::error::{Called, Mismatch};
use rankfold::op::Sum;
use rankfold::topology::Topology;
use rankfold::{Cartesian, Comm, ErrorKind, Level, Rank, Report, Result, World, WorldError};
use support::{Sieve, guarded, scale};

/// Returns how often each program runs.
fn times() -> usize {
    (12.0 * scale()).ceil() as usize
}

/// One of some ranks makes another call.
#[derive(Clone, Copy, Debug)]
struct Odd {
    rank: Rank,
    ranks: usize,
    /// Whether the world checks.
    check: bool,
}

/// Runs the test with each rank of two to five as the odd one.
fn each_odd(test: impl Fn(Odd)) {
    for ranks in 2..=5 {
        let odd = |rank| Odd {
            rank,
            ranks,
            check: false,
        };
        (0..ranks).for_each(|rank| test(odd(rank)));
    }
}

type Call = fn(&Comm, Rank, usize) -> Result<()>;

/// Returns a rank other than this one, the same on all ranks.
fn other_root(root: Rank, by: usize, ranks: usize) -> Rank {
    (root + 1 + by % (ranks - 1)) % ranks
}

impl Odd {
    /// Checks that the program fails with the mismatch that names the odd rank, or both of two.
    fn is_named(self, what: &str, program: impl Fn(&Comm, bool) -> Result<()> + Sync) {
        self.is_named_in(what, times(), program);
    }

    fn is_named_in(
        self,
        what: &str,
        times: usize,
        program: impl Fn(&Comm, bool) -> Result<()> + Sync,
    ) {
        for time in 0..times {
            let show = || format!("{what}: {self:?}, time {time}");
            let world = World::new(self.ranks).check(self.check);
            let report = guarded(&show, || {
                world.run_each(|comm| program(comm, comm.rank() == self.rank))
            });
            let told = report.to_string();
            let culprit = report.culprit;
            match report.into_result() {
                Err(WorldError::Mismatch(found)) => self.judge(&found, &show()),
                other => panic!("{}: {other:?}\n{told}", show()),
            }
            let innocent = culprit.filter(|rank| *rank != self.rank);
            assert_eq!(innocent, None, "{}\n{told}", show());
            let named = self.ranks == 2 || culprit.is_some();
            assert!(named, "{}\n{told}", show());
        }
    }

    fn judge(self, found: &Mismatch, what: &str) {
        let odd = match self.ranks {
            2 => vec![],
            _ => vec![self.rank],
        };
        assert_eq!(found.odd, odd, "{what}: {found}");
        let line = |rank: Rank| {
            let call = found.calls.iter().find(|call| call.rank == rank);
            call.and_then(|call| call.site).map(|site| site.line())
        };
        let lines: Vec<_> = (0..self.ranks).map(line).collect();
        let others = |rank: &Rank| *rank != self.rank && lines[*rank].is_some();
        assert!(lines[self.rank].is_some(), "{what}: {found}");
        assert!((0..self.ranks).any(|rank| others(&rank)), "{what}: {found}");
    }

    /// The same where the odd rank names another root.
    fn with_another_root(self, what: &str, call: Call) {
        for root in 0..self.ranks {
            for by in 0..self.ranks - 1 {
                for n in [3, 20_000] {
                    let theirs = other_root(root, by, self.ranks);
                    let what = format!("{what}, {n} elements, root {theirs} instead of {root}");
                    self.is_named(&what, |comm, odd| {
                        call(comm, if odd { theirs } else { root }, n)
                    });
                }
            }
        }
    }
}

fn broadcast(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.broadcast(root, &mut vec![comm.rank(); n])
}

fn gather(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.gather(root, &vec![comm.rank(); n]).map(drop)
}

fn scatter(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let all = (comm.rank() == root).then(|| vec![1; n * comm.size()]);
    comm.scatter(root, all.as_deref(), &mut vec![0; n])
}

fn reduce(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.reduce(root, &mut vec![1; n], Sum)
}

fn reduce_value(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let sum = comm.values().reduce(root, n, |a, b| a + b);
    sum.map(drop)
}

fn gather_value(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    comm.values().gather(root, n).map(drop)
}

fn broadcast_value(comm: &Comm, root: Rank, n: usize) -> Result<()> {
    let value = (comm.rank() == root).then_some(n);
    comm.values().broadcast(root, value).map(drop)
}

#[test]
fn a_rank_that_broadcasts_from_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("broadcast", broadcast));
}

#[test]
fn a_rank_that_gathers_at_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("gather", gather));
}

#[test]
fn a_rank_that_scatters_from_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("scatter", scatter));
}

#[test]
fn a_rank_that_reduces_to_another_root_is_named() {
    each_odd(|odd| odd.with_another_root("reduce", reduce));
}

#[test]
fn a_rank_that_moves_values_to_or_from_another_root_is_named() {
    each_odd(|odd| {
        odd.with_another_root("reduce_value", reduce_value);
        odd.with_another_root("gather_value", gather_value);
        odd.with_another_root("broadcast_value", broadcast_value);
    });
}

/// The two calls of a pair, made by the odd rank and the others, and the other way round.
fn pair(
    what: &str,
    one: impl Fn(&Comm) -> Result<()> + Sync,
    two: impl Fn(&Comm) -> Result<()> + Sync,
) {
    each_odd(|odd| {
        odd.is_named(
            what,
            |comm, is_odd| if is_odd { one(comm) } else { two(comm) },
        );
        odd.is_named(
            what,
            |comm, is_odd| if is_odd { two(comm) } else { one(comm) },
        );
    });
}

#[test]
fn a_rank_that_broadcasts_where_others_meet_at_a_barrier_is_named() {
    for root in 0..2 {
        for n in [1, 20_000] {
            let what = format!("barrier against broadcast of {n} from {root}");
            pair(
                &what,
                |comm| comm.barrier(),
                |comm| broadcast(comm, root, n),
            );
        }
    }
}

#[test]
fn a_rank_that_reduces_a_value_where_others_reduce_elements_is_named() {
    for root in 0..2 {
        let what = format!("reduce_value against reduce to {root}");
        pair(
            &what,
            |comm| reduce_value(comm, root, 1),
            |comm| reduce(comm, root, 1),
        );
    }
}

#[test]
fn a_rank_that_reduces_over_another_topology_is_named() {
    let over =
        |comm: &Comm, topology: &Topology| comm.reduce_over(topology, &mut [1, 2, 3], Sum).run();
    for other in [Topology::flat, Topology::decreasing_ring] {
        pair(
            "reduce_over",
            |comm| over(comm, &Topology::chain(comm.size())),
            |comm| over(comm, &other(comm.size())),
        );
    }
}

/// Rank 3 leaves, rank 1 misses it in a receive, and rank 0 misses rank 1: all calls of collectives agree.
#[test]
fn a_rank_missed_only_by_another_has_made_no_other_call() {
    for calls in [2, 20] {
        let world = World::new(4).check(false);
        let report = guarded(&|| format!("{calls} calls"), || {
            world.run_each(|comm| {
                if comm.rank() == 1 {
                    comm.recv::<u8>(3, 9)?;
                }
                let chain = Topology::chain(4);
                (0..calls).try_for_each(|_| comm.reduce_over(&chain, &mut [1u64], Sum).run())
            })
        });
        assert!(report.mismatch.is_none(), "{report}");
        for outcome in &report.outcomes {
            let mismatch = outcome
                .error()
                .filter(|error| matches!(error.kind(), ErrorKind::Mismatch(_)));
            assert!(mismatch.is_none(), "{report}");
        }
    }
}

/// Calls before or after the odd one do not change which rank is named.
#[test]
fn the_odd_rank_is_named_wherever_the_call_stands_in_the_program() {
    each_odd(|odd| {
        odd.is_named("between other calls", |comm, is_odd| {
            let root = usize::from(is_odd);
            reduce(comm, 0, 3)?;
            broadcast(comm, root, 3)?;
            comm.barrier()?;
            gather(comm, 0, 100)
        });
        odd.is_named("before messages from rank to rank", |comm, is_odd| {
            let (me, ranks) = (comm.rank(), comm.size());
            broadcast(comm, usize::from(is_odd), 3)?;
            comm.send((me + 1) % ranks, 0, &[me])?;
            comm.recv::<usize>((me + ranks - 1) % ranks, 0).map(drop)
        });
    });
}

// ── calls that make communicators ──

type Make = fn(&Comm) -> Result<()>;

/// Returns the calls that make another communicator of the same ranks, with their names up to the number of ranks.
fn makers() -> Vec<(&'static str, Make)> {
    vec![
        ("dup", |comm| comm.dup().map(drop)),
        ("split(colour 0, key 0)", |comm| comm.split(0, 0).map(drop)),
        ("split_by(package)", |comm| {
            comm.split_by(Level::Package).map(drop)
        }),
        ("split_by(L3 cache)", |comm| {
            comm.split_by(Level::L3).map(drop)
        }),
        ("cartesian([", |comm| {
            Cartesian::new(comm, &[comm.size()], &[false]).map(drop)
        }),
        ("cartesian([", |comm| {
            Cartesian::new(comm, &[comm.size()], &[true]).map(drop)
        }),
        ("cartesian([1, ", |comm| {
            Cartesian::new(comm, &[1, comm.size()], &[false; 2]).map(drop)
        }),
        ("cartesian([", |comm| {
            Cartesian::new(comm, &[comm.size(), 1], &[false; 2]).map(drop)
        }),
        ("cartesian([1, 1, 1, 1, 1, 1, ..]", |comm| {
            let mut dims = [1; 8];
            dims[7] = comm.size();
            Cartesian::new(comm, &dims, &[false; 8]).map(drop)
        }),
        ("cartesian([1, 1, 1, 1, 1, 1, ..]", |comm| {
            let mut dims = [1; 8];
            dims[6] = comm.size();
            Cartesian::new(comm, &dims, &[false; 8]).map(drop)
        }),
        ("graph(in-degree 1, out-degree 2)", |comm| {
            let me = comm.rank();
            comm.graph(&[me], &[me, me]).map(drop)
        }),
    ]
}

#[test]
fn a_rank_that_makes_another_kind_of_communicator_or_another_grid_is_named() {
    let makers = makers();
    // All cases from a fifth of the scale.
    let mut cases = Sieve::part(1, 5.0);
    for one in 0..makers.len() {
        for two in (0..makers.len()).filter(|two| *two != one) {
            for (ranks, rank) in [(2, 0), (2, 1), (3, 0), (3, 2), (4, 1)] {
                for check in [false, true] {
                    if !cases.takes() {
                        continue;
                    }
                    let odd = Odd { rank, ranks, check };
                    let [(mine, make), (theirs, make_theirs)] = [makers[one], makers[two]];
                    let what = format!("{mine} of {one} against {theirs} of {two}");
                    odd.is_named_in(&what, 1, |comm, is_odd| match is_odd {
                        true => make(comm),
                        false => make_theirs(comm),
                    });
                }
            }
        }
    }
}

/// Returns the mismatch with which a program fails.
fn mismatch(
    ranks: usize,
    program: impl Fn(&Comm) -> Result<()> + Sync,
) -> std::sync::Arc<Mismatch> {
    match World::new(ranks).run(program) {
        Err(WorldError::Mismatch(found)) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn calls_that_make_communicators_print_as_they_were_called() {
    for (one, (text, make)) in makers().into_iter().enumerate() {
        let found = mismatch(3, |comm| match comm.rank() {
            1 => make(comm),
            _ => comm.barrier(),
        });
        let call = found.calls.iter().find(|call| call.rank == 1).unwrap();
        assert!(call.call.starts_with(text), "{one}: {found}");
    }
    let found = mismatch(3, |comm| match comm.rank() {
        1 => Cartesian::new(comm, &[3, 1], &[false, true]).map(drop),
        2 => comm.split_if(None, 7).map(drop),
        _ => comm.split(5, -1).map(drop),
    });
    let calls: Vec<&str> = found.calls.iter().map(|call| call.call.as_str()).collect();
    let all = [
        "split(colour 5, key -1)",
        "cartesian([3, 1], [false, true])",
        "split(no colour, key 7)",
    ];
    assert_eq!(calls, all);
    assert_eq!(
        found.odd,
        [1],
        "a rank that stays out of a split takes part in it"
    );
}

#[test]
fn calls_that_differ_in_what_does_not_print_say_so() {
    let found = mismatch(3, |comm| {
        let tree = match comm.rank() {
            1 => Topology::flat(3),
            _ => Topology::chain(3),
        };
        comm.reduce_over(&tree, &mut [1], Sum).run()
    });
    let odd = found.calls.iter().find(|call| call.rank == 1).unwrap();
    assert!(
        odd.call
            .ends_with(" over another topology, or in another order"),
        "{found}"
    );
    let others = found.calls.iter().filter(|call| call.rank != 1);
    assert!(
        others
            .into_iter()
            .all(|call| !call.call.contains("another")),
        "{found}"
    );
}

// ── names of communicators ──

/// The place of a call in this file, as it prints.
macro_rules! at {
    ($line:expr) => {
        format!("{}:{}:", file!(), $line)
    };
}

#[test]
fn a_deadlock_over_two_communicators_names_both() {
    let line = line!() + 3;
    let error = World::new(2)
        .run(|comm| {
            let dup = comm.dup()?;
            let both = match comm.rank() {
                0 => [comm, &dup],
                _ => [&dup, comm],
            };
            both.into_iter().try_for_each(Comm::barrier)
        })
        .unwrap_err();
    let WorldError::Deadlock(knot) = &error else {
        panic!("{error}");
    };
    assert_eq!(knot.stuck[0].comm, None);
    let name = format!("dup of world at {}", at!(line));
    assert!(
        knot.stuck[1].comm.as_ref().unwrap().starts_with(&name),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains(" on world") && text.contains(&format!(" on {name}")),
        "{text}"
    );
    assert!(text.ends_with("cycle: 0 -> 1 -> 0"), "{text}");
}

#[test]
fn what_goes_on_in_the_world_alone_names_no_communicator() {
    let error = World::new(2).run(|comm| comm.recv::<u8>(1 - comm.rank(), 0).map(drop));
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("deadlock") && !text.contains(" on "),
        "{text}"
    );
}

#[test]
fn a_mismatch_and_each_error_name_the_communicator_and_its_parents() {
    let report = World::new(4).run_each(|comm| {
        let part = comm.split(comm.rank() as u32 % 2, 0)?;
        let grid = Cartesian::new(&part, &[2, 1], &[false, false])?;
        match comm.rank() {
            3 => grid.barrier(),
            _ => grid.broadcast(0, &mut [1]),
        }
    });
    let start = "cartesian 2x1 of (split colour 1 of world at ";
    let found = report.mismatch.as_ref().unwrap();
    assert!(found.comm.as_ref().unwrap().starts_with(start), "{found}");
    assert!(
        found
            .to_string()
            .contains(&format!("collective calls on {start}")),
        "{found}"
    );
    let error = report.outcomes[3].error().unwrap().to_string();
    assert!(
        error.starts_with("barrier at ") && error.contains(&format!(" on {start}")),
        "{error}"
    );
    let recent = report.recent();
    assert!(
        recent[3]
            .last()
            .unwrap()
            .comm
            .as_ref()
            .unwrap()
            .starts_with(start)
    );
    assert_eq!(recent[3].first().unwrap().comm, None, "split, on the world");
    assert!(
        recent[2]
            .last()
            .unwrap()
            .comm
            .as_ref()
            .unwrap()
            .starts_with("cartesian 2x1 of (split colour 0")
    );
    let text = report.to_string();
    assert!(text.contains(&format!(" on {start}")), "{text}");
}

#[test]
fn messages_and_requests_that_are_left_name_their_communicator() {
    let report = World::new(2).run_each(|comm| {
        let dup = comm.dup()?;
        if comm.rank() == 0 {
            dup.send(1, 7, &[1u8])?;
            comm.send(1, 8, &[1u8])?;
            drop(dup.irecv::<u8>(1, 9)?);
        }
        Ok(())
    });
    let dup = "dup of world at tests/blame.rs:";
    let of = |tag| report.lost.iter().find(|lost| lost.tag == tag).unwrap();
    assert!(of(7).comm.as_ref().unwrap().starts_with(dup), "{report}");
    assert_eq!(of(8).comm, None);
    assert!(
        report.unfinished[0].comm.as_ref().unwrap().starts_with(dup),
        "{report}"
    );
    assert!(
        report.to_string().contains(&format!("with tag 7 on {dup}")),
        "{report}"
    );
}

#[test]
fn a_shrunken_communicator_is_named_as_that() {
    let report = World::new(3).run_each(|comm| {
        assert_ne!(comm.rank(), 2, "rank 2 fails");
        let living = comm.shrink()?;
        living.recv::<u8>(1 - comm.rank(), 0).map(drop)
    });
    let knot = &report.deadlocks[0];
    let name = knot.stuck[0].comm.as_ref().unwrap();
    assert!(
        name.starts_with("shrink of world at tests/blame.rs:"),
        "{knot}"
    );
}

// ── other causes ──

/// A rank that asks for another tag than is sent.
fn wrong_tag(comm: &Comm) -> Result<()> {
    match comm.rank() {
        0 => comm.recv::<u8>(1, 7).map(drop),
        _ => comm.send(0, 8, &[1u8]),
    }
}

#[test]
fn the_error_of_a_run_says_which_message_was_sent_and_never_received() {
    let clue = "1 message was never received: rank 1 sent 1 x u8 to rank 0 with tag 8";
    let error = World::new(2).run(wrong_tag).unwrap_err();
    let WorldError::ReturnedEarly { rank: 1, lost, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((lost.len(), lost[0].tag), (1, 8));
    let text = error.to_string();
    assert!(
        text.contains("recv(from 1, tag 7)") && text.ends_with(clue),
        "{text}"
    );
    // The same where all ranks finally wait for each other.
    let error = World::new(2).run(|comm| {
        wrong_tag(comm)?;
        comm.barrier()
    });
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("deadlock") && text.ends_with(clue),
        "{text}"
    );
}

#[test]
fn messages_to_the_rank_in_need_are_told_first() {
    let error = World::new(4).run(|comm| match comm.rank() {
        0 => comm.recv::<u8>(1, 7).map(drop),
        1 => comm.send(0, 8, &[1u8]),
        _ => (0..5).try_for_each(|tag| comm.send(1, tag, &[1u8])),
    });
    let text = error.unwrap_err().to_string();
    let first = "11 messages were never received: rank 1 sent 1 x u8 to rank 0 with tag 8; ";
    assert!(text.contains(first), "{text}");
}

/// Returns the wait-for picture in the error of a rank that has timed out.
fn picture(report: &Report<()>, rank: Rank) -> &str {
    match report.outcomes[rank].error().map(|error| error.kind()) {
        Some(ErrorKind::TimedOut { picture, .. }) => picture,
        other => panic!("{other:?}"),
    }
}

/// Returns once another rank has set the flag.
fn until(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
}

#[test]
fn a_rank_inside_an_operator_is_not_called_outside() {
    let (inside, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = guarded(&|| "an operator that waits".into(), || {
        let world = World::new(2)
            .timeout(Duration::from_millis(40))
            .check(false);
        world.run_each(|comm| {
            let wait = |a: u64, b: u64| {
                inside.store(true, Ordering::Release);
                until(&over);
                a + b
            };
            comm.reduce(1, &mut [1], wait)?;
            until(&inside);
            let late = comm.barrier();
            over.store(true, Ordering::Release);
            late
        })
    });
    let picture = picture(&report, 0);
    let line = picture
        .lines()
        .find(|line| line.starts_with("  rank 1"))
        .unwrap();
    assert!(line.contains("rank 1  inside reduce(root 1, "), "{picture}");
    assert!(
        line.contains(", awake: it has begun nothing else for "),
        "{picture}"
    );
    assert!(!picture.contains("outside"), "{picture}");
    assert!(picture.contains(" ms ago  barrier at "), "{picture}");
}

#[test]
fn a_rank_that_is_elsewhere_is_outside_and_its_calls_are_over() {
    let (elsewhere, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = guarded(&|| "a rank elsewhere".into(), || {
        let world = World::new(2).timeout(Duration::from_millis(40));
        world.run_each(|comm| {
            comm.barrier()?;
            if comm.rank() == 1 {
                elsewhere.store(true, Ordering::Release);
                until(&over);
                return Ok(());
            }
            until(&elsewhere);
            let dup = comm.recv::<u8>(1, 0).map(drop);
            over.store(true, Ordering::Release);
            dup
        })
    });
    let picture = picture(&report, 0);
    assert!(
        picture.contains("rank 1  outside rankfold for at least "),
        "{picture}"
    );
    let after = picture.split("rank 1").nth(1).unwrap();
    assert!(!after.contains("not over"), "{picture}");
}

/// One rank leaves out the last call; what the others do in it does not need that rank.
fn leaves_out(ranks: usize, leaver: Rank, call: impl Fn(&Comm) -> Result<()> + Sync) {
    for time in 0..times() {
        let case = || format!("{leaver} of {ranks} leaves out a call, time {time}");
        let ended = guarded(&case, || {
            World::new(ranks).check(false).run(|comm| {
                comm.barrier()?;
                if comm.rank() == leaver {
                    return Ok(());
                }
                call(comm)
            })
        });
        let error = ended
            .map(drop)
            .expect_err("a rank was missed, or its message was");
        assert_eq!(error.culprit(), Some(leaver), "{error}");
        if let WorldError::Mismatch(found) = &error {
            assert_eq!(found.odd, [leaver], "{error}");
            assert!(
                error.to_string().contains("no such call: it has returned"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_rank_that_returned_without_a_call_is_named_though_the_others_records_agree() {
    for ranks in 3..=5 {
        for leaver in 1..ranks {
            leaves_out(ranks, leaver, |comm| comm.broadcast(0, &mut [1u64]));
            leaves_out(ranks, leaver, |comm| {
                let all = (comm.rank() == 0).then(|| vec![7u8; comm.size()]);
                comm.values().scatter(0, all).map(drop)
            });
        }
    }
}

/// All but one return without the call that the odd rank makes at the end.
fn makes_one_more(call: impl Fn(&Comm) -> Result<()> + Sync) {
    for (ranks, check) in [(3, false), (4, false), (5, false), (3, true), (5, true)] {
        for odd in 0..ranks {
            let case = || format!("{odd} of {ranks} makes a call more, check {check}");
            let error = guarded(&case, || {
                World::new(ranks).check(check).run(|comm| {
                    comm.barrier()?;
                    if comm.rank() == odd {
                        call(comm)
                    } else {
                        Ok(())
                    }
                })
            });
            let error = error.expect_err("the others make no such call");
            let WorldError::Mismatch(found) = &error else {
                panic!("{}: {error}", case());
            };
            assert_eq!(found.odd, [odd], "{}: {error}", case());
            let without = |called: &&Called| called.call.contains("it has returned");
            let others = found.calls.iter().filter(without).count();
            assert!(others * 2 > ranks, "{}: {error}", case());
        }
    }
}

#[test]
fn a_rank_that_makes_a_call_more_than_all_others_is_named_and_none_of_those_that_returned() {
    makes_one_more(|comm| comm.barrier());
    makes_one_more(|comm| comm.all_reduce(&mut [1u8], Sum));
    makes_one_more(|comm| comm.values().all_reduce(1, |a, b| a + b).map(drop));
    makes_one_more(|comm| comm.dup().map(drop));
    // Its messages leave, and are never received.
    makes_one_more(|comm| comm.broadcast(comm.rank(), &mut [1u8]));
}

/// The others wait for the rank that is missed, not for its call. Without that rank they are in a deadlock, which they may
/// find before it returns.
#[test]
fn who_waits_for_a_rank_that_returned_does_not_wait_for_those_that_wait_for_it() {
    let mut named = 0;
    for time in 0..times() {
        let case = || format!("a chain behind a missing rank, time {time}");
        let returns = AtomicBool::new(false);
        let error = guarded(&case, || {
            World::new(4).check(false).run(|comm| {
                while comm.rank() != 1 && !returns.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
                match comm.rank() {
                    0 => comm.barrier(),
                    1 => {
                        returns.store(true, Ordering::Relaxed);
                        Ok(())
                    }
                    me => comm.recv::<u8>((me + 1) % 4, 0).map(drop),
                }
            })
        });
        let error = error.expect_err("a rank was missed");
        assert!(matches!(error.culprit(), Some(1) | None), "{error}");
        named += usize::from(error.culprit() == Some(1));
    }
    assert!(named > 0, "the rank that returned is never named");
}

/// A rank that returns the error that another rank caused is not to blame, whatever it does in between.
#[test]
fn who_cleans_up_before_it_returns_an_error_of_others_is_not_to_blame() {
    let error = World::new(2).run(|comm| {
        if comm.rank() == 1 {
            return Ok(());
        }
        let received = comm.recv::<u8>(1, 0);
        comm.send(0, 0, &[1u8])?;
        comm.recv::<u8>(0, 0)?;
        received.map(|_| ())
    });
    assert!(
        matches!(error, Err(WorldError::ReturnedEarly { rank: 1, .. })),
        "{error:?}"
    );
}

/// What a rank was told in an earlier run, on the same thread, does not excuse it.
#[test]
fn an_error_of_an_earlier_run_is_an_error_of_its_own() {
    let team = World::new(2).start().unwrap();
    let kept = Mutex::new(None);
    let first = team.run(|comm| {
        if comm.rank() == 1 {
            return Ok(());
        }
        let error = comm.recv::<u8>(1, 0).unwrap_err();
        *kept.lock().unwrap() = Some(error.to_string());
        Ok(())
    });
    drop(first);
    let text = kept.lock().unwrap().clone().unwrap();
    let second = team.try_run_each(|comm| match comm.rank() {
        0 => Err(text.clone()),
        _ => Ok(()),
    });
    assert_eq!(second.unwrap().culprit, Some(0));
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
