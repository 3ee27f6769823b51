//! Proves that jobs are handed over and given back: the server reads each as it was written, the caller sees what the
//! server did and that it no longer reads the job, and neither sleeps through a message of the other.
//!
//! A job is a number that the caller writes and overwrites, with nothing but the job slot to order it.
//!
//! Checked by hand: with a relaxed store or load in `put`, `next`, `done` or `is_empty` a number is missed or arrives
//! too early, and without the call that rouses the server, or the caller, that one sleeps for ever.

use std::ptr;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::explore;
use crate::sync::Parker;
use crate::transport::progress::wait::Patience;
use crate::transport::reuse::job_slot::JobSlot;
use crate::transport::wakeup::sleeper::Sleeper;

/// What a caller and a server share.
struct Shared {
    job_slot: JobSlot<u32>,
    caller: Sleeper,
    job: AtomicU32,
    result: AtomicU32,
}

/// A server for `jobs` jobs, on a thread of its own, which then ends.
fn server(jobs: u32, parker: &Parker) -> (Arc<Shared>, thread::JoinHandle<()>) {
    let server = Parker::new();
    let shared = Arc::new(Shared {
        job_slot: JobSlot::new(&server),
        caller: Sleeper::new(parker),
        job: AtomicU32::new(0),
        result: AtomicU32::new(0),
    });
    let theirs = shared.clone();
    let serve = move || {
        let Shared {
            job_slot,
            caller,
            job,
            result,
        } = &*theirs;
        for number in 1..=jobs {
            assert!(job_slot.next(&server, Patience::None, || ()).is_some());
            assert_eq!(job.load(Ordering::Relaxed), number);
            result.store(number, Ordering::Relaxed);
            job_slot.done(caller);
        }
        assert!(job_slot.next(&server, Patience::None, || ()).is_none());
    };
    (shared, thread::spawn(serve))
}

impl Shared {
    fn give(&self, number: u32) {
        self.job.store(number, Ordering::Relaxed);
        self.job_slot.give(ptr::dangling());
    }

    fn wait(&self, number: u32, parker: &Parker) {
        self.job_slot
            .wait(&self.caller, parker, Patience::None, || ());
        assert_eq!(self.result.load(Ordering::Relaxed), number);
        self.job.store(0, Ordering::Relaxed);
    }
}

#[test]
fn a_job_after_another_is_read_whole_and_given_back() {
    explore(Some(3), || {
        let parker = Parker::new();
        let (shared, thread) = server(2, &parker);
        for number in 1..=2 {
            shared.give(number);
            shared.wait(number, &parker);
        }
        shared.job_slot.close();
        thread.join().unwrap();
    });
}

#[test]
fn a_server_goes_home_whenever_it_is_told() {
    explore(None, || {
        let (shared, thread) = server(0, &Parker::new());
        shared.job_slot.close();
        thread.join().unwrap();
    });
}

#[test]
fn one_caller_waits_for_two() {
    explore(Some(2), || {
        let parker = Parker::new();
        let all = [server(1, &parker), server(1, &parker)];
        all.iter().for_each(|(shared, _)| shared.give(1));
        for (shared, thread) in all {
            shared.wait(1, &parker);
            shared.job_slot.close();
            thread.join().unwrap();
        }
    });
}
