//! Runs by a thread that ends: the destructors of its thread-locals call them, when it has lost some of its state.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::thread;

use rankfold::{Team, World};

use super::triangle;

/// The results of a run, made when this is dropped.
struct RunsAtLast {
    team: Arc<Team>,
    seen: Arc<Mutex<Vec<u64>>>,
}

impl Drop for RunsAtLast {
    fn drop(&mut self) {
        *self.seen.lock().unwrap() = self.team.run(triangle).unwrap();
    }
}

thread_local! {
    static LAST: RefCell<Option<RunsAtLast>> = const { RefCell::new(None) };
}

#[test]
fn a_destructor_of_a_thread_that_ends_runs_a_team() {
    let team = Arc::new(World::new(2).start().unwrap());
    for before in [false, true] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let last = RunsAtLast {
            team: team.clone(),
            seen: seen.clone(),
        };
        let team = team.clone();
        let ended = thread::spawn(move || {
            // Being a rank needs several thread-locals: they may all be gone at last, or some.
            drop(World::new(1).seats().unwrap().take(0).unwrap().enter());
            if before {
                team.run(triangle).unwrap();
            }
            LAST.set(Some(last));
            team.run(triangle).unwrap();
        });
        ended.join().unwrap();
        assert_eq!(*seen.lock().unwrap(), [3, 3], "{before}");
    }
}
