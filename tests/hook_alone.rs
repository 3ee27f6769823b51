//! The first rank of a process may be entered where the standard library refuses to exchange panic hooks: in a
//! destructor that runs while a thread unwinds, or in a panic hook. Later worlds work nevertheless, and report panics
//! with message and line.
//!
//! The hook is installed once per process, so each case runs in a separate process.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use rankfold::{Comm, Outcome, Result, World};
use support::guarded;

const CASE: &str = "RANKFOLD_HOOK_CASE";

/// Runs the test of this name again, alone in a process, where it finds itself the case.
fn alone(test: &str) {
    let exe = std::env::current_exe().unwrap();
    let mut child = Command::new(exe);
    let child = child.args(["--exact", test, "--nocapture"]).env(CASE, test);
    let output = guarded(&|| test.into(), || child.output().unwrap());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test}:\n{text}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{text}"
    );
}

fn is_the_case() -> bool {
    std::env::var_os(CASE).is_some()
}

struct OnDrop<F: Fn()>(F);
impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn panic_once() {
    let caught = catch_unwind(|| panic!("the first"));
    assert!(caught.is_err());
}

/// Enters a seat on this thread, and makes a call on it.
fn enter() -> Result<()> {
    let comm = World::connect(1).take(0)?.enter();
    comm.barrier()
}

/// Checks that worlds and teams start, and report which rank panicked and where.
fn worlds_work() {
    assert_eq!(
        World::new(2)
            .run(|comm: &Comm| comm.barrier().map(|()| 7))
            .unwrap(),
        [7, 7]
    );
    World::new(2)
        .start()
        .unwrap()
        .run(|comm| comm.barrier())
        .unwrap();
    // Another thread may still be about to install the hook: until then lines are unknown.
    loop {
        let report = World::new(2).run_each(|comm| {
            assert!(comm.rank() == 0, "this one");
            Ok(())
        });
        let Outcome::Panicked { message, site } = &report.outcomes[1] else {
            panic!("{report}");
        };
        assert_eq!(&**message, "this one");
        if site
            .as_ref()
            .is_some_and(|site| site.contains("hook_alone.rs"))
        {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_seat_may_be_entered_first_in_a_destructor_that_unwinds() {
    if !is_the_case() {
        return alone("a_seat_may_be_entered_first_in_a_destructor_that_unwinds");
    }
    let unwinding = catch_unwind(|| {
        let _enters = OnDrop(|| {
            let entered = catch_unwind(AssertUnwindSafe(enter));
            // A rank that unwinds counts as ended for the others.
            assert!(entered.expect("no panic in a destructor").is_err());
        });
        panic!("the first");
    });
    assert!(unwinding.is_err());
    worlds_work();
}

#[test]
fn a_seat_may_be_entered_first_in_a_panic_hook() {
    if !is_the_case() {
        return alone("a_seat_may_be_entered_first_in_a_panic_hook");
    }
    std::panic::set_hook(Box::new(|_| assert!(enter().is_err())));
    panic_once();
    let _ = std::panic::take_hook();
    // Our hook was installed before the one that was just removed, or will be before the default one.
    worlds_work_without_lines();
}

#[test]
fn a_world_may_run_first_in_a_panic_hook() {
    if !is_the_case() {
        return alone("a_world_may_run_first_in_a_panic_hook");
    }
    std::panic::set_hook(Box::new(|info| {
        // Not for the panics that are provoked below.
        if info.to_string().contains("the first") {
            assert_eq!(World::new(2).run(|comm| comm.barrier()).unwrap().len(), 2);
            let team = World::new(2).start().unwrap();
            assert!(team.run(|comm| comm.barrier()).is_ok());
        }
    }));
    panic_once();
    worlds_work();
}

/// A thread that is not panicking, and is about to start a world that returns at once.
#[cfg(target_os = "linux")]
struct Other {
    thread: std::thread::JoinHandle<()>,
    /// Its folder below `/proc`.
    folder: std::path::PathBuf,
}

#[cfg(target_os = "linux")]
impl Other {
    fn start() -> Other {
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let own = std::fs::read_link("/proc/thread-self").unwrap();
            tell.send(std::path::Path::new("/proc").join(own)).unwrap();
            assert!(World::new(1).run(|comm| comm.barrier()).is_ok());
        });
        let folder = told.recv().unwrap();
        Other { thread, folder }
    }

    /// Whether it sleeps, as it does where it waits for a hook that runs.
    fn sleeps(&self) -> bool {
        let stat = std::fs::read_to_string(self.folder.join("stat")).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('S')
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_world_may_run_in_a_panic_hook_for_which_the_first_world_of_another_thread_waits() {
    if !is_the_case() {
        return alone(
            "a_world_may_run_in_a_panic_hook_for_which_the_first_world_of_another_thread_waits",
        );
    }
    static OTHER: std::sync::Mutex<Option<Other>> = std::sync::Mutex::new(None);
    std::panic::set_hook(Box::new(|info| {
        if info.to_string().contains("the first") {
            let other = Other::start();
            while !other.sleeps() {
                std::thread::yield_now();
            }
            *OTHER.lock().unwrap() = Some(other);
            assert!(World::new(2).run(|comm| comm.barrier()).is_ok());
            let seats = World::connect(1);
            let enter = move || seats.take(0).unwrap().enter().barrier().unwrap();
            assert!(std::thread::spawn(enter).join().is_ok());
        }
    }));
    panic_once();
    let other = OTHER.lock().unwrap().take().unwrap();
    other.thread.join().unwrap();
    worlds_work();
}

/// Like [`worlds_work`], where the hook may be lost.
fn worlds_work_without_lines() {
    assert_eq!(World::new(2).run(|comm| comm.barrier()).unwrap().len(), 2);
    let report = World::new(2).run_each(|comm| {
        assert!(comm.rank() == 0, "this one");
        Ok(())
    });
    assert!(
        matches!(&report.outcomes[1], Outcome::Panicked { message, .. } if &**message == "this one")
    );
}
