//! Proves that jobs are handed over and given back: the server reads each as it was written, the caller sees what the
//! server did and that it no longer reads the job, and neither sleeps through a message of the other. Servers that look
//! before they sleep are roused and rouse the caller; those without patience are unparked, and count down.
//!
//! A job is a number that the caller writes and overwrites, with nothing but the job slot to order it.
//!
//! Checked by hand: with a relaxed store or load in `put`, `next`, `done` or `is_empty` a number is missed or arrives
//! too early, and without the call that rouses the server, or the caller, that one sleeps for ever. Of the count: with a
//! relaxed decrement or load a number is missed, and without the unpark of the last server, or with that of the first
//! alone, the caller sleeps for ever.

use std::ptr;
use std::time::Duration;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::explore;
use crate::sync::Parker;
use crate::transport::progress::idle::Patience;
use crate::transport::reuse::count_down::CountDown;
use crate::transport::reuse::job_slot::JobSlot;
use crate::transport::wakeup::sleeper::Sleeper;

/// What a caller and a server share.
struct Shared {
    job_slot: JobSlot<u32>,
    patience: Patience,
    caller: Sleeper,
    left: Arc<CountDown>,
    job: AtomicU32,
    result: AtomicU32,
}

/// A server for `jobs` jobs, on a thread of its own, which then ends.
fn server(
    jobs: u32,
    patience: Patience,
    parker: &Parker,
    left: &Arc<CountDown>,
) -> (Arc<Shared>, thread::JoinHandle<()>) {
    let server = Parker::new();
    let shared = Arc::new(Shared {
        job_slot: JobSlot::new(&server),
        patience,
        caller: Sleeper::new(parker),
        left: left.clone(),
        job: AtomicU32::new(0),
        result: AtomicU32::new(0),
    });
    let theirs = shared.clone();
    let serve = move || {
        for number in 1..=jobs {
            assert!(theirs.next(&server).is_some());
            assert_eq!(theirs.job.load(Ordering::Relaxed), number);
            theirs.result.store(number, Ordering::Relaxed);
            theirs.done();
        }
        assert!(theirs.next(&server).is_none());
    };
    (shared, thread::spawn(serve))
}

impl Shared {
    fn next(&self, server: &Parker) -> Option<*const u32> {
        self.job_slot
            .next(server, self.patience, Duration::ZERO, || ())
    }

    fn done(&self) {
        match self.patience {
            Patience::None => {
                self.job_slot.empty();
                self.left.decrement();
            }
            _ => self.job_slot.done(&self.caller),
        }
    }

    fn give(&self, number: u32) {
        self.job.store(number, Ordering::Relaxed);
        self.job_slot.give(ptr::dangling(), self.patience);
    }

    fn wait(&self, number: u32, parker: &Parker) {
        match self.patience {
            Patience::None => self.left.wait(parker),
            _ => self
                .job_slot
                .wait(&self.caller, parker, self.patience, Duration::ZERO, || ()),
        }
        assert!(self.job_slot.is_empty());
        assert_eq!(self.result.load(Ordering::Relaxed), number);
        self.job.store(0, Ordering::Relaxed);
    }

    fn close(&self) {
        self.job_slot.close(self.patience);
    }
}

fn a_job_after_another(patience: Patience) {
    explore(Some(3), move || {
        let parker = Parker::new();
        let left = Arc::new(CountDown::new(&parker));
        let (shared, thread) = server(2, patience, &parker, &left);
        for number in 1..=2 {
            left.begin(1);
            shared.give(number);
            shared.wait(number, &parker);
        }
        shared.close();
        thread.join().unwrap();
    });
}

fn one_caller_waits_for_two_with(patience: Patience) {
    explore(Some(2), move || {
        let parker = Parker::new();
        let left = Arc::new(CountDown::new(&parker));
        let all = [(); 2].map(|()| server(1, patience, &parker, &left));
        left.begin(2);
        all.iter().for_each(|(shared, _)| shared.give(1));
        for (shared, thread) in all {
            shared.wait(1, &parker);
            shared.close();
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_job_after_another_is_read_whole_and_given_back() {
    a_job_after_another(Patience::Spin);
}

#[test]
fn a_job_after_another_is_read_whole_and_given_back_in_a_crowd() {
    a_job_after_another(Patience::None);
}

#[test]
fn a_server_goes_home_whenever_it_is_told() {
    for patience in [Patience::Spin, Patience::None] {
        explore(None, move || {
            let parker = Parker::new();
            let left = Arc::new(CountDown::new(&parker));
            let (shared, thread) = server(0, patience, &parker, &left);
            shared.close();
            thread.join().unwrap();
        });
    }
}

#[test]
fn one_caller_waits_for_two() {
    one_caller_waits_for_two_with(Patience::Spin);
}

#[test]
fn one_caller_waits_for_two_in_a_crowd() {
    one_caller_waits_for_two_with(Patience::None);
}
