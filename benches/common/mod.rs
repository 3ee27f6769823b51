//! What the benches share: ranks and plain threads on the same CPUs, timed inside.
//!
//! - `mod` where they run, and how they are timed
//! - `ping` two threads that pass a number back and forth, through the library and its alternatives
//! - `swap` two threads that exchange vectors through bare cache lines
//! - `meet` many threads that wait for each other, likewise
//! - `rounds` two subjects in turn, and the ratio of their times; `table` its output
//!
//! ```text
//! thread 0   start ──▶ meet ──▶ │ clock │ work … work │ clock │ ──▶ end
//! thread 1   start ──▶ meet ──▶ │ clock │ work … work │ clock │ ──▶ end      the longest counts
//! ```
#![allow(dead_code)] // Each bench uses a part.

pub mod meet;
pub mod ping;
pub mod rounds;
pub mod swap;
pub mod table;

use std::sync::{Barrier, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use rankfold::machine::{Cpus, pin};
use rankfold::{Bind, Comm, Result, World};

/// Where the threads of a subject run: the same for the library and for its alternatives.
#[derive(Clone, Copy, Debug)]
pub enum On {
    /// Thread `i` on the `i`-th CPU of the process, in turn.
    Each,
    /// All of them on the first CPU.
    First,
    /// Wherever the system puts them.
    Any,
}

/// Returns the CPUs of the process, determined once, on the first thread, before anything is pinned.
pub fn cpus() -> &'static Cpus {
    static CPUS: LazyLock<Cpus> = LazyLock::new(Cpus::here);
    &CPUS
}

impl On {
    fn list(self) -> &'static [usize] {
        let mask = &cpus().mask[..];
        match self {
            On::Each => mask,
            On::First => &mask[..mask.len().min(1)],
            On::Any => &[],
        }
    }

    pub fn bind(self) -> Bind {
        match self.list() {
            [] => Bind::None,
            list => Bind::Cpus(list.to_vec()),
        }
    }

    fn pin(self, thread: usize) {
        if let list @ [_, ..] = self.list() {
            pin(list[thread % list.len()], cpus()).expect("a CPU of the mask");
        }
    }
}

/// Returns the time of `body` in the slowest of `n` ranks, started together.
pub fn ranks(on: On, n: usize, body: impl Fn(&Comm) -> Result<()> + Sync) -> Duration {
    ranks_of(on, World::new(n), body)
}

/// The same for the ranks of a given world.
pub fn ranks_of(on: On, world: World, body: impl Fn(&Comm) -> Result<()> + Sync) -> Duration {
    let timed = |comm: &Comm| {
        comm.barrier()?;
        let begin = Instant::now();
        body(comm)?;
        Ok(begin.elapsed())
    };
    let times = world.bind(on.bind()).run(timed);
    slowest(times.expect("the ranks do not fail"))
}

/// The same for `n` plain threads.
pub fn threads(on: On, n: usize, body: impl Fn(usize) + Sync) -> Duration {
    let start = Barrier::new(n);
    let timed = |me| {
        on.pin(me);
        start.wait();
        let begin = Instant::now();
        body(me);
        begin.elapsed()
    };
    let timed = &timed;
    thread::scope(|scope| {
        let all: Vec<_> = (0..n).map(|me| scope.spawn(move || timed(me))).collect();
        slowest(
            all.into_iter()
                .map(|one| one.join().expect("no thread fails")),
        )
    })
}

fn slowest(times: impl IntoIterator<Item = Duration>) -> Duration {
    times
        .into_iter()
        .max()
        .expect("there is at least one thread")
}
