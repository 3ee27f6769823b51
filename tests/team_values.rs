//! The results of a team's ranks come back whole and once, whatever their size, even from ranks that did nothing.

mod again;

use std::fmt::Debug;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use rankfold::{Comm, Error, Outcome, Result, Team, World, WorldError, op};

const RUNS: usize = 4;

/// Runs a closure that does nothing and one that does something, in turn.
fn returns<R: Send + PartialEq + Debug>(team: &Team, value: impl Fn(usize) -> R + Sync) {
    let expected: Vec<R> = (0..team.size()).map(&value).collect();
    for _ in 0..RUNS {
        let idle = team.run(|comm| Ok(value(comm.rank())));
        assert_eq!(idle.unwrap(), expected);
        let told = team.try_run_each(|comm| Ok::<_, Error>(value(comm.rank())));
        assert_eq!(told.unwrap().into_result().unwrap(), expected);
        let busy = team.run(|comm| comm.barrier().map(|()| value(comm.rank())));
        assert_eq!(busy.unwrap(), expected);
    }
}

#[repr(align(64))]
#[derive(Debug, PartialEq)]
struct Line(usize);

#[test]
fn values_of_any_size_and_alignment_come_back_in_rank_order() {
    for ranks in 1..=4 {
        let team = World::new(ranks).start().unwrap();
        returns(&team, |_| ());
        returns(&team, |rank| rank as u8);
        returns(&team, |rank| (rank as u8, rank as u64));
        returns(&team, |rank| [rank as u64; 4]);
        returns(&team, |rank| [rank as u64; 5]);
        returns(&team, |rank| [rank as u8; 33]);
        returns(&team, |rank| rank as u128);
        returns(&team, Line);
        returns(&team, |rank| Some(rank.to_string()));
        returns(&team, |rank| vec![rank; 100]);
        returns(&team, |rank| [rank.to_string(), String::new()]);
    }
}

/// Counts its instances.
struct Counted<'a, const N: usize>(&'a AtomicIsize, [u64; N]);

impl<'a, const N: usize> Counted<'a, N> {
    fn new(count: &'a AtomicIsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(count, [7; N])
    }
}

impl<const N: usize> Drop for Counted<'_, N> {
    fn drop(&mut self) {
        assert_eq!(self.1, [7; N]);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Checks that every value is dropped once, whether the others return, fail or panic, and work or not.
fn drops_once<const N: usize>() {
    const RANKS: usize = 3;
    let count = AtomicIsize::new(0);
    let team = World::new(RANKS).start().unwrap();
    for odd in 0..RANKS {
        for (how, busy) in [0, 1, 2]
            .into_iter()
            .flat_map(|how| [(how, false), (how, true)])
        {
            let run = |comm: &Comm| {
                let value = Counted::<N>::new(&count);
                if busy && comm.rank() == (odd + 1) % RANKS {
                    comm.send(comm.rank(), 0, &[1u8])?;
                    comm.recv::<u8>(comm.rank(), 0)?;
                }
                match (comm.rank() == odd, how) {
                    (true, 1) => Err(Error::user("failed")),
                    (true, 2) => panic!("panicked"),
                    _ => Ok(value),
                }
            };
            for _ in 0..2 {
                let ran = team.run(run);
                assert_eq!(ran.as_ref().map_or(0, Vec::len), [RANKS, 0, 0][how]);
                let living = count.load(Ordering::Relaxed);
                assert_eq!(living, [RANKS as isize, 0, 0][how], "rank {odd}");
                drop(ran);
                let report = team.try_run_each(run).unwrap();
                let returned = |outcome: &&Outcome<_>| matches!(outcome, Outcome::Returned(_));
                let returned = report.outcomes.iter().filter(returned).count();
                assert_eq!(count.load(Ordering::Relaxed), returned as isize);
                drop(report);
                assert_eq!(count.load(Ordering::Relaxed), 0);
            }
        }
    }
}

#[test]
fn a_value_is_dropped_once_however_the_run_ends() {
    drops_once::<0>();
    drops_once::<2>();
    drops_once::<9>();
}

/// `from` sends its rank to `to`; the others do nothing.
fn pass(comm: &Comm, from: usize, to: usize) -> Result<usize> {
    match comm.rank() {
        me if me == from => comm.send(to, 0, &[me]).map(|()| me),
        me if me == to => Ok(comm.recv::<usize>(from, 0)?.0[0]),
        me => Ok(me),
    }
}

#[test]
fn ranks_that_do_nothing_stand_where_they_stood_when_others_go_on() {
    const RANKS: usize = 4;
    let team = World::new(RANKS).start().unwrap();
    for _ in 0..RUNS {
        for (from, to) in (0..RANKS).flat_map(|from| (0..RANKS).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            let passed = team.run(|comm| pass(comm, from, to)).unwrap();
            assert_eq!(passed[to], from);
            let sums = team.run(|comm| {
                let mut v = [comm.rank()];
                comm.all_reduce(&mut v, op::Sum)?;
                Ok(v[0])
            });
            assert_eq!(sums.unwrap(), [6; RANKS]);
            assert_eq!(team.run(|comm| Ok(comm.rank())).unwrap(), [0, 1, 2, 3]);
        }
    }
}

#[test]
fn what_was_sent_to_a_rank_that_did_nothing_is_lost_in_its_own_run() {
    let team = World::new(3).strict().start().unwrap();
    for _ in 0..RUNS {
        let lost = team.run(|comm| match comm.rank() {
            0 => comm.send(2, 0, &[1u8]),
            _ => Ok(()),
        });
        assert!(matches!(lost, Err(WorldError::Lost(lost)) if lost.len() == 1));
        team.run(|_| Ok(())).unwrap();
        team.run(|comm| comm.barrier()).unwrap();
    }
}

#[test]
fn a_collective_that_one_rank_leaves_out_is_told_as_in_a_new_world() {
    let leaves_out = |odd: usize| {
        move |comm: &Comm| match comm.rank() == odd {
            true => Ok(()),
            false => comm.all_reduce(&mut [1.0], op::Sum),
        }
    };
    let team = World::new(3).start().unwrap();
    for odd in (0..3).chain(0..3) {
        let told = team.run(leaves_out(odd)).unwrap_err();
        let alone = World::new(3).run(leaves_out(odd)).unwrap_err();
        assert_eq!((told.culprit(), alone.culprit()), (Some(odd), Some(odd)));
        team.run(|_| Ok(())).unwrap();
    }
}

#[test]
fn runs_are_right_however_long_ranks_linger() {
    let times = [Duration::ZERO, Duration::MAX, Duration::from_micros(1)];
    for ranks in [1, 2, 5, 40] {
        let team = World::new(ranks).start().unwrap();
        for (round, time) in times.into_iter().cycle().take(4 * times.len()).enumerate() {
            team.linger(time);
            returns(&team, |rank| rank + round);
            let sums = team.run(|comm| {
                let mut v = [comm.rank() + round];
                comm.all_reduce(&mut v, op::Sum)?;
                Ok(v[0])
            });
            let sum = ranks * (ranks - 1) / 2 + ranks * round;
            assert_eq!(sums.unwrap(), vec![sum; ranks]);
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
