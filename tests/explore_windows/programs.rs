//! Random programs with locks have the outcomes and deadlocks that the model has.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use rankfold::testing::{Explore, Explored, Random};
use rankfold::window::{ExclusivePart, SharedPart};
use rankfold::{Comm, Result, Source, Window, WorldError};

use super::{model, sign};
use crate::support;
use crate::support::guarded;

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
