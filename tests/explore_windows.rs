//! Exploring windows: every order in which ranks ask for the lock of a part, each once, every deadlock of locks, and no
//! order more where it makes no difference.

#[path = "explore_windows/model.rs"]
mod model;
#[path = "explore_windows/programs.rs"]
mod programs;
mod support;

use std::collections::HashSet;
use std::sync::Mutex;

use rankfold::testing::{ChoiceKind, Explore, Explored, explore};
use rankfold::{Comm, Rank, Result, World, WorldError, op};
use support::guarded;

fn factorial(k: usize) -> u64 {
    (1..=k as u64).product()
}

fn assert_one_order<R>(explored: &Explored, seen: &HashSet<Vec<R>>, ranks: usize) {
    let found = (explored.orders, explored.complete, explored.runs);
    assert_eq!((found, seen.len()), ((1, true, 1), 1), "{ranks} ranks");
}

/// Explores, and collects what the ranks return: each order, and all distinct results.
fn outcomes<R: Send + Clone + Default + Eq + std::hash::Hash>(
    ranks: usize,
    f: impl Fn(&Comm) -> Result<R> + Sync,
) -> (Explored, HashSet<Vec<R>>) {
    let seen = Mutex::new(HashSet::new());
    let now = Mutex::new((0, vec![R::default(); ranks]));
    let body = |comm: &Comm| {
        let got = f(comm)?;
        let (ended, all) = &mut *now.lock().unwrap();
        all[comm.rank()] = got;
        *ended += 1;
        // The last rank to end records the results of all.
        if *ended % ranks == 0 {
            seen.lock().unwrap().insert(all.clone());
        }
        Ok(())
    };
    let explored = guarded(&|| format!("{ranks} ranks"), || explore(ranks, body));
    (explored, seen.into_inner().unwrap())
}

/// The writers of a part, first to last, as the digits of a number.
fn sign(part: &mut [u64], rank: Rank) -> u64 {
    let before = part[0];
    part[0] = before * 8 + rank as u64 + 1;
    before
}

#[test]
fn writers_of_one_part_come_in_every_order() {
    for ranks in 2..=4 {
        let (explored, seen) = outcomes(ranks, |comm| {
            let win = comm.window(vec![0])?;
            let before = sign(&mut win.lock_exclusive(0)?, comm.rank());
            Ok(before)
        });
        assert_eq!(
            (explored.orders, explored.complete, explored.runs),
            (factorial(ranks), true, factorial(ranks)),
            "{ranks} ranks"
        );
        assert_eq!(seen.len() as u64, factorial(ranks));
    }
}

#[test]
fn a_result_that_depends_on_who_writes_last_is_found_and_repeated() {
    let last_is_1 = |comm: &Comm| {
        let win = comm.window(vec![0])?;
        sign(&mut win.lock_exclusive(0)?, comm.rank());
        comm.barrier()?;
        assert_eq!(win.lock_shared(0)?[0] % 8, 2, "rank 1 is the last");
        Ok(())
    };
    let found = Explore::new(2).find(last_is_1).unwrap_err();
    let choice = &found.choices[1];
    assert_eq!(
        (choice.rank, choice.took, choice.kind),
        (0, 0, ChoiceKind::Lock)
    );
    let first = &found.choices[0];
    assert_eq!((first.rank, &first.of[..]), (1, &[0, 1][..]));
    let text = found.to_string();
    let line = "was the next to ask for part 0 (there were ranks 0, 1)";
    assert!(
        text.contains("rank 1  lock_exclusive(part 0)") && text.contains(line),
        "{text}"
    );
    for _ in 0..20 {
        let again = Explore::new(2).repeat(&found.order, last_is_1).unwrap_err();
        assert_eq!(again.choices, found.choices);
    }
}

#[test]
fn locks_taken_in_opposite_orders_are_a_deadlock_with_both_lines() {
    let line = line!() + 5;
    let opposite = |comm: &Comm| {
        let (a, b) = (comm.window(vec![0])?, comm.window(vec![0])?);
        if comm.rank() == 0 {
            let _outer = a.lock_exclusive(0)?;
            return b.lock_exclusive(0).map(drop);
        }
        let _outer = b.lock_exclusive(0)?;
        a.lock_exclusive(0).map(drop)
    };
    let found = guarded(&|| "opposite orders".into(), || {
        Explore::new(2).find(opposite)
    });
    let found = found.unwrap_err();
    let WorldError::Deadlock(deadlock) = &found.error else {
        panic!("{found}");
    };
    let stuck: Vec<_> = deadlock
        .stuck
        .iter()
        .map(|one| (one.rank, one.site.line()))
        .collect();
    assert_eq!(stuck, [(0, line), (1, line + 3)], "{found}");
    assert_eq!(deadlock.cycle.len(), 2, "{found}");
}

#[test]
fn a_reader_behind_a_writer_behind_a_reader_that_waits_for_it_is_a_deadlock() {
    let found = guarded(&|| "readers that wait".into(), || {
        Explore::new(3).find(|comm| {
            let win = comm.window(vec![0])?;
            if comm.rank() == 1 {
                return win.lock_exclusive(0).map(drop);
            }
            // Fine as long as the writer does not come between the two readers.
            let held = win.lock_shared(0)?;
            let other = 2 - comm.rank();
            comm.sendrecv(other, 0, &[held[0]], other, 0).map(drop)
        })
    });
    let found = found.unwrap_err();
    assert!(
        matches!(&found.error, WorldError::Deadlock(all) if all.stuck.len() == 3),
        "{found}"
    );
}

#[test]
fn readers_have_one_order() {
    for ranks in 1..=6 {
        let (explored, seen) = outcomes(ranks, |comm| {
            let win = comm.window(vec![comm.rank()])?;
            let one = win.lock_shared(0)?[0];
            let all = win.lock_all()?.iter().map(|part| part[0]).sum::<usize>();
            Ok(one + all)
        });
        assert_one_order(&explored, &seen, ranks);
    }
}

#[test]
fn locks_of_different_parts_have_one_order() {
    let (explored, _) = outcomes(4, |comm| {
        let win = comm.window(vec![0])?;
        for _ in 0..3 {
            sign(&mut win.local_mut()?, comm.rank());
        }
        Ok(0)
    });
    assert_eq!(
        (explored.orders, explored.complete, explored.runs),
        (1, true, 1)
    );
}

#[test]
fn each_reader_comes_before_or_after_the_writer_and_readers_in_no_order() {
    for readers in 1..=4 {
        let (explored, seen) = outcomes(readers + 1, |comm| {
            let win = comm.window(vec![0])?;
            match comm.rank() {
                0 => Ok(sign(&mut win.lock_exclusive(0)?, 0)),
                _ => Ok(win.lock_shared(0)?[0]),
            }
        });
        let want = 1 << readers;
        assert_eq!(
            (explored.orders, explored.complete),
            (want, true),
            "{readers} readers"
        );
        assert_eq!(seen.len() as u64, want);
        assert!(
            explored.runs <= 2 * want,
            "{readers} readers: {} runs",
            explored.runs
        );
    }
}

#[test]
fn fences_have_one_order() {
    for ranks in 1..=4 {
        let (explored, seen) = outcomes(ranks, |comm| {
            let (me, mut win) = (comm.rank(), comm.window(vec![0; comm.size()])?);
            let mut epoch = win.fence()?;
            for rank in 0..comm.size() {
                epoch.put(rank, me, &[me + 1])?;
                epoch.accumulate(rank, 0, &[1], op::Sum)?;
            }
            epoch.fence()?;
            let mut read = Vec::new();
            for rank in 0..comm.size() {
                read.extend_from_slice(epoch.read(rank)?);
            }
            epoch.close()?;
            win.local_mut()?[0] += 1;
            Ok((read, win.local_mut()?.to_vec()))
        });
        assert_one_order(&explored, &seen, ranks);
    }
}

#[test]
fn exposures_have_one_order() {
    for ranks in 2..=4 {
        let (explored, seen) = outcomes(ranks, |comm| {
            let (me, n) = (comm.rank(), comm.size());
            let (left, right) = ((me + n - 1) % n, (me + 1) % n);
            let win = comm.window(vec![me])?;
            for _ in 0..2 {
                let exposure = win.post(&[left])?;
                let access = win.start(&[right])?;
                let read = access.read(right)?[0];
                access.put(right, 0, &[read + n * me])?;
                access.complete()?;
                exposure.wait()?;
            }
            Ok(win.local_mut()?[0])
        });
        assert_one_order(&explored, &seen, ranks);
    }
}

#[test]
fn an_epoch_and_a_lock_that_compete_have_both_orders() {
    let (explored, seen) = outcomes(3, |comm| {
        let win = comm.window(vec![0])?;
        match comm.rank() {
            0 => {
                let exposure = win.post(&[1])?;
                exposure.wait()?;
                Ok(win.local_mut()?[0])
            }
            1 => {
                let access = win.start(&[0])?;
                access.put(0, 0, &[8])?;
                access.complete()?;
                Ok(0)
            }
            // Before the start, between it and the write of what was put, before the last look, or behind all.
            _ => Ok(sign(&mut win.lock_exclusive(0)?, 2)),
        }
    });
    assert!(explored.complete);
    let read: HashSet<(u64, u64)> = seen.iter().map(|all| (all[0], all[2])).collect();
    assert_eq!(read, HashSet::from([(8, 0), (67, 8), (8, 8)]), "{explored}");
}

#[test]
fn a_seed_repeats_the_order_of_locks() {
    let program = |comm: &Comm| {
        let win = comm.window(vec![0])?;
        for _ in 0..4 {
            sign(&mut win.lock_exclusive(0)?, comm.rank());
        }
        comm.barrier()?;
        Ok(win.lock_shared(0)?[0])
    };
    let run = |seed| World::new(3).seed(seed).run(program).unwrap();
    let all: HashSet<Vec<u64>> = (0..20).map(run).collect();
    assert!(all.len() > 10, "{all:?}");
    for seed in 0..5 {
        let first = run(seed);
        for _ in 0..20 {
            assert_eq!(run(seed), first, "seed {seed}");
        }
    }
}
