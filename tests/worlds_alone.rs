//! A world that is alone in its process may pin its ranks automatically, one beside others may not. This file has one
//! test, so that nothing else runs in its process.

use rankfold::machine::Unpinned;
use rankfold::{Comm, World};

/// Returns why a new world of one rank is not pinned, if it is not.
fn why() -> Option<Unpinned> {
    World::new(1).run_each(|_| Ok(())).placement.why_unpinned
}

#[test]
fn only_a_world_that_is_alone_is_pinned_by_itself() {
    let alone = why();
    assert_ne!(alone, Some(Unpinned::NotAlone));
    let team = World::new(1).start().unwrap();
    assert_eq!(why(), Some(Unpinned::NotAlone));
    drop(team);
    assert_eq!(why(), alone);

    let seats = World::connect(1);
    assert_eq!(why(), Some(Unpinned::NotAlone));
    drop(seats);
    assert_eq!(why(), alone);

    // Entered seats are ranks, even after the object that handed them out is dropped.
    let entered = || World::connect(1).into_iter().next().unwrap().enter();
    let beside = |_rank: &Comm| std::thread::spawn(why).join().unwrap();
    assert_eq!(beside(&entered()), Some(Unpinned::NotAlone));
    assert_eq!(why(), alone);
}
