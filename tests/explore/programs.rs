//! Random programs have the outcomes that the model has.

use std::collections::HashSet;
use std::sync::Mutex;

use rankfold::testing::{Explore, Explored, Random};
use rankfold::{Buffering, Comm, Rank, Source};

use super::model;
use crate::support;
use crate::support::guarded;

fn source(of: Option<Rank>) -> Source {
    of.map_or(Source::Any, Source::Rank)
}

/// Runs a rank's part of a program; an act that fails ends it.
fn act(comm: &Comm, acts: &[model::Act]) -> Vec<Rank> {
    let (mut got, mut posted) = (Vec::new(), Vec::new());
    for act in acts {
        let received = match *act {
            model::Act::Send(to) => {
                if comm.send(to, 0, &[0u8]).is_err() {
                    break;
                }
                continue;
            }
            model::Act::Post(of) => {
                posted.push(Some(comm.irecv::<u8>(source(of), 0).unwrap()));
                continue;
            }
            model::Act::Receive(of) => comm.recv::<u8>(source(of), 0),
            model::Act::Wait(slot) => posted[slot].take().unwrap().wait(),
        };
        match received {
            Ok((_, status)) => got.push(status.source),
            Err(_) => break,
        }
    }
    got
}

/// Returns all outcomes of a program, as found by an exploration.
fn all_of(explore: &Explore, program: &model::Program) -> (Explored, HashSet<Vec<Vec<Rank>>>) {
    let n = program.len();
    let seen = Mutex::new(HashSet::new());
    let now = Mutex::new((0, vec![Vec::new(); n]));
    let body = |comm: &Comm| {
        let got = act(comm, &program[comm.rank()]);
        let (ended, all) = &mut *now.lock().unwrap();
        all[comm.rank()] = got;
        *ended += 1;
        // The last rank to end records the outcome of all.
        if *ended % n == 0 {
            seen.lock().unwrap().insert(all.clone());
        }
        Ok(())
    };
    let explored = explore.find(body).unwrap();
    (explored, seen.into_inner().unwrap())
}

#[test]
fn random_programs_without_buffers_are_explored_to_the_end_and_the_same_each_time() {
    for seed in 0..(60.0 * support::scale()).ceil() as u64 {
        let mut random = Random::new(seed);
        let n = 2 + random.below(3);
        let program = model::random(n, &mut random);
        let zero = Explore::new(n).runs(usize::MAX).lenient();
        let zero = zero.world(|world| world.buffering(Buffering::Zero));
        let case = || format!("seed {seed}: {program:?}");
        let twice = [(); 2].map(|()| guarded(&case, || all_of(&zero, &program)));
        assert!(twice[0].0.complete, "{}", case());
        assert_eq!(twice[0], twice[1], "{}", case());
    }
}

#[test]
fn every_outcome_of_random_programs_is_found() {
    for seed in 0..(150.0 * support::scale()).ceil() as u64 {
        let mut random = Random::new(seed);
        let n = 2 + random.below(3);
        let program = model::random(n, &mut random);
        let want = model::outcomes(&program);
        let case = || format!("seed {seed}: {program:?}");
        let explore = Explore::new(n).runs(usize::MAX).lenient();
        let (explored, seen) = guarded(&case, || all_of(&explore, &program));
        let missed: Vec<_> = want.difference(&seen).collect();
        let impossible: Vec<_> = seen.difference(&want).collect();
        assert!(explored.complete, "{}", case());
        assert!(missed.is_empty(), "{} missed {missed:?}", case());
        assert!(
            impossible.is_empty(),
            "{} impossible {impossible:?}",
            case()
        );
        // Each order once: without posted receives, which may end unseen, no two orders look alike.
        let posts = program
            .iter()
            .flatten()
            .any(|act| matches!(act, model::Act::Post(_)));
        assert!(
            posts || explored.orders as usize == want.len(),
            "{}",
            case()
        );
    }
}
