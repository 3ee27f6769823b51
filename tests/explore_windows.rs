//! Exploring windows: every order in which ranks ask for the lock of a part, each once, every deadlock of locks, and no
//! order more where it makes no difference.

mod support;

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use rankfold::testing::{ChoiceKind, Explore, Explored, Random, explore};
use rankfold::window::{ExclusivePart, SharedPart};
use rankfold::{Comm, Rank, Result, Source, Window, World, WorldError, op};
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

/// Every outcome of random programs, by the plainest search: all interleavings over a model of locks that are granted in
/// the order of the requests.
mod model {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Act {
        /// Lock this part, to write or to read.
        Lock(Rank, bool),
        Unlock(Rank),
        Send(Rank),
        /// Receive from any rank.
        Receive,
    }

    pub type Program = Vec<Vec<Act>>;

    pub fn random(n: usize, random: &mut Random) -> Program {
        let mut program: Program = (0..n).map(|_| locks(n, random)).collect();
        for _ in 0..random.below(3) {
            let (from, to) = (random.below(n), random.below(n));
            for (rank, act) in [(from, Act::Send(to)), (to, Act::Receive)] {
                let place = random.below(program[rank].len() + 1);
                program[rank].insert(place, act);
            }
        }
        program
    }

    fn locks(n: usize, random: &mut Random) -> Vec<Act> {
        let (mut acts, mut held) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(3) {
            let part = random.below(usize::min(n, 2));
            if !held.contains(&part) {
                acts.push(Act::Lock(part, random.below(3) > 0));
                held.push(part);
            }
            if random.below(3) > 0 {
                let place = random.below(held.len());
                acts.push(Act::Unlock(held.remove(place)));
            }
        }
        acts.extend(held.into_iter().map(Act::Unlock));
        acts
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct State {
        next: Vec<usize>,
        /// Who holds each part, and who waits for it, in the order of the requests; and whether they write.
        queues: Vec<Vec<(Rank, bool)>>,
        parts: Vec<u64>,
        /// Ranks that have asked for a lock and not got it yet.
        asked: Vec<bool>,
        sent: Vec<(Rank, Rank)>,
        got: Vec<Vec<u64>>,
    }

    impl State {
        fn holds(&self, rank: Rank, part: Rank) -> bool {
            let queue = &self.queues[part];
            let Some(place) = queue.iter().position(|(one, _)| *one == rank) else {
                return false;
            };
            place == 0 || queue[..=place].iter().all(|(_, writes)| !writes)
        }

        fn all_after(&self, program: &Program) -> Vec<State> {
            let of = |rank: Rank| match program[rank].get(self.next[rank]) {
                None => Vec::new(),
                Some(Act::Receive) => self.receives(rank),
                Some(act) => self.step(rank, *act).into_iter().collect(),
            };
            (0..program.len()).flat_map(of).collect()
        }

        fn receives(&self, rank: Rank) -> Vec<State> {
            let first = |place: &usize| {
                self.sent[*place].1 == rank && !self.sent[..*place].contains(&self.sent[*place])
            };
            let take = |place: usize| {
                let mut after = self.clone();
                let (from, _) = after.sent.remove(place);
                after.got[rank].push(from as u64);
                after.next[rank] += 1;
                after
            };
            (0..self.sent.len()).filter(first).map(take).collect()
        }

        fn step(&self, rank: Rank, act: Act) -> Option<State> {
            let mut after = self.clone();
            match act {
                Act::Lock(part, writes) if !self.asked[rank] => {
                    after.queues[part].push((rank, writes));
                    after.asked[rank] = true;
                    return Some(after);
                }
                Act::Lock(part, writes) => {
                    if !self.holds(rank, part) {
                        return None;
                    }
                    after.asked[rank] = false;
                    after.got[rank].push(after.parts[part]);
                    if writes {
                        sign(&mut after.parts[part..], rank);
                    }
                }
                Act::Unlock(part) => after.queues[part].retain(|(one, _)| *one != rank),
                Act::Send(to) => after.sent.push((rank, to)),
                Act::Receive => unreachable!("it has a method of its own"),
            }
            after.next[rank] += 1;
            Some(after)
        }
    }

    /// All outcomes; `None` if some ranks can be stuck.
    pub fn outcomes(program: &Program) -> Option<HashSet<Vec<Vec<u64>>>> {
        let n = program.len();
        let start = State {
            next: vec![0; n],
            queues: vec![Vec::new(); n],
            parts: vec![0; n],
            asked: vec![false; n],
            sent: Vec::new(),
            got: vec![Vec::new(); n],
        };
        let (mut all, mut seen, mut open) = (HashSet::new(), HashSet::new(), vec![start]);
        while let Some(state) = open.pop() {
            if seen.insert(state.clone()) {
                let after = state.all_after(program);
                if after.is_empty() {
                    let ended = |rank: Rank| state.next[rank] == program[rank].len();
                    (0..n).all(ended).then_some(())?;
                    all.insert(state.got);
                }
                open.extend(after);
            }
        }
        Some(all)
    }
}

enum Guard<'w> {
    Write(ExclusivePart<'w, u64>),
    Read(SharedPart<'w, u64>),
}

/// Runs a rank's part of a program; returns what it read of each part when it locked it, and whom it heard.
fn act(comm: &Comm, win: &Window<u64>, acts: &[model::Act]) -> Result<Vec<u64>> {
    let (mut got, mut held) = (Vec::new(), BTreeMap::new());
    for act in acts {
        match *act {
            model::Act::Lock(part, true) => {
                let mut guard = win.lock_exclusive(part)?;
                got.push(sign(&mut guard, comm.rank()));
                held.insert(part, Guard::Write(guard));
            }
            model::Act::Lock(part, false) => {
                let guard = win.lock_shared(part)?;
                got.push(guard[0]);
                held.insert(part, Guard::Read(guard));
            }
            model::Act::Unlock(part) => match held.remove(&part) {
                Some(Guard::Write(guard)) => drop(guard),
                Some(Guard::Read(guard)) => drop(guard),
                None => unreachable!("it is held"),
            },
            model::Act::Send(to) => comm.send(to, 0, &[0u8])?,
            model::Act::Receive => got.push(comm.recv::<u8>(Source::Any, 0)?.1.source as u64),
        }
    }
    Ok(got)
}

/// Explores a program to the end, or until ranks are stuck.
fn explored(program: &model::Program) -> Option<(Explored, HashSet<Vec<Vec<u64>>>)> {
    let n = program.len();
    let seen = Mutex::new(HashSet::new());
    let now = Mutex::new((0, vec![Vec::new(); n]));
    let body = |comm: &Comm| {
        let win = comm.window(vec![0])?;
        let got = act(comm, &win, &program[comm.rank()])?;
        let (ended, all) = &mut *now.lock().unwrap();
        all[comm.rank()] = got;
        *ended += 1;
        if *ended % n == 0 {
            seen.lock().unwrap().insert(all.clone());
        }
        Ok(())
    };
    match Explore::new(n).runs(usize::MAX).find(body) {
        Ok(explored) => Some((explored, seen.into_inner().unwrap())),
        Err(found) => {
            let stuck = matches!(
                found.error,
                WorldError::Deadlock(_) | WorldError::ReturnedEarly { .. }
            );
            assert!(stuck, "{program:?}: {found}");
            None
        }
    }
}

#[test]
fn every_outcome_and_every_deadlock_of_random_programs_with_locks_is_found() {
    let (mut stuck, mut orders, mut runs) = (0, 0, 0);
    let programs = (400.0 * support::scale()).ceil() as u64;
    for seed in 0..programs {
        let mut random = Random::new(seed);
        let n = 2 + random.below(2);
        let program = model::random(n, &mut random);
        let case = || format!("seed {seed}: {program:?}");
        let want = model::outcomes(&program);
        let found = guarded(&case, || explored(&program));
        let Some((explored, seen)) = found else {
            assert!(want.is_none(), "{}: a deadlock that there is not", case());
            stuck += 1;
            continue;
        };
        let want = want.unwrap_or_else(|| panic!("{}: a deadlock was missed", case()));
        assert!(explored.complete, "{}", case());
        let missed: Vec<_> = want.difference(&seen).collect();
        let impossible: Vec<_> = seen.difference(&want).collect();
        assert!(missed.is_empty(), "{} missed {missed:?}", case());
        assert!(
            impossible.is_empty(),
            "{} impossible {impossible:?}",
            case()
        );
        // Each rank sees who wrote before it, so no two orders look alike.
        assert_eq!(explored.orders as usize, want.len(), "{}", case());
        (orders, runs) = (orders + explored.orders, runs + explored.runs);
    }
    assert!(
        stuck * 4 < programs.max(4) * 3,
        "{stuck} of {programs} get stuck"
    );
    assert!(runs <= 2 * orders, "{runs} runs for {orders} orders");
}
