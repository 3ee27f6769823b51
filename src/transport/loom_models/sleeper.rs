//! Proves that no post is slept through: a rank that goes to sleep, looks and parks is woken by every rank that posts
//! meanwhile. A lost post would be a thread parked for ever, which loom reports as a deadlock.
//!
//! Checked by hand: without the fence in `lie_down`, without the one in `rouse`, or with either weakened to
//! acquire-release, every model here deadlocks.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::explore;
use crate::sync::Parker;
use crate::transport::wakeup::sleeper::Sleeper;

/// One sleeper and `posters` posters, each of which posts once.
fn posts_are_found(posters: u32) {
    let parker = Parker::new();
    let shared = Arc::new((Sleeper::new(&parker), AtomicU32::new(0)));
    let poster = |_| {
        let shared = shared.clone();
        thread::spawn(move || {
            shared.1.fetch_add(1, Ordering::Relaxed);
            shared.0.rouse();
        })
    };
    let posters_threads: Vec<_> = (0..posters).map(poster).collect();
    let (sleeper, mail) = &*shared;
    let all_here = || mail.load(Ordering::Relaxed) == posters;
    while !all_here() {
        sleeper.lie_down();
        if !all_here() {
            parker.park();
        }
        sleeper.get_up();
    }
    posters_threads
        .into_iter()
        .for_each(|poster| poster.join().unwrap());
}

#[test]
fn the_post_of_one_is_not_slept_through() {
    explore(None, || posts_are_found(1));
}

#[test]
fn the_posts_of_two_are_not_slept_through() {
    explore(Some(3), || posts_are_found(2));
}

#[test]
fn two_sleepers_that_post_to_each_other_both_get_up() {
    explore(None, || {
        let parkers = [Parker::new(), Parker::new()];
        let shared = Arc::new(parkers.each_ref().map(|parker| {
            let mail = AtomicU32::new(0);
            (Sleeper::new(parker), mail)
        }));
        let life = |me: usize, parker: Parker| {
            let shared = shared.clone();
            move || {
                let ((sleeper, mail), (other, theirs)) = (&shared[me], &shared[1 - me]);
                theirs.store(1, Ordering::Relaxed);
                other.rouse();
                sleeper.lie_down();
                while mail.load(Ordering::Relaxed) == 0 {
                    parker.park();
                }
                sleeper.get_up();
            }
        };
        let [first, second] = parkers;
        let second = thread::spawn(life(1, second));
        life(0, first)();
        second.join().unwrap();
    });
}
