//! Prints what the worlds of this process are doing when a signal asks for it.
//!
//! The handler only notes the signal. A separate thread answers it, so that the answer may take locks and allocate
//! memory like any other code.

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;

use super::World;
use crate::transport::Fabric;

/// The worlds to print, while they run.
static WORLDS: Mutex<Vec<Weak<Fabric>>> = Mutex::new(Vec::new());

impl World {
    /// Prints this world on standard error whenever the process gets the signal SIGUSR1: where every rank waits, and
    /// its last operations. (Feature `signal`, on Unix.)
    ///
    /// The first such world of a process starts a thread that waits for the signal until the process ends. Existing
    /// handlers of SIGUSR1 continue to run.
    ///
    /// # Errors
    ///
    /// Fails if the system refuses the handler or the thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// let world = World::new(2).dump_on_signal()?; // kill -USR1 <pid>
    /// world.run(|comm| comm.barrier())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dump_on_signal(mut self) -> io::Result<World> {
        static ANSWERS: Mutex<bool> = Mutex::new(false);
        let mut answers = ANSWERS.lock();
        if !*answers {
            let signals = Signals::new([SIGUSR1])?;
            let name = "rankfold-signal".to_owned();
            thread::Builder::new()
                .name(name)
                .spawn(move || answer(signals))?;
            *answers = true;
        }
        self.dump = true;
        Ok(self)
    }
}

/// Also prints this world when the signal arrives.
pub(super) fn watch(fabric: &Arc<Fabric>) {
    let mut worlds = WORLDS.lock();
    worlds.retain(|world| world.strong_count() > 0);
    worlds.push(Arc::downgrade(fabric));
}

fn answer(mut signals: Signals) {
    for _ in signals.forever() {
        let worlds: Vec<_> = WORLDS.lock().iter().filter_map(Weak::upgrade).collect();
        for world in &worlds {
            eprintln!("{}", picture(world));
        }
        eprintln!("rankfold: worlds that run: {}", worlds.len());
    }
}

fn picture(world: &Fabric) -> String {
    let since = Duration::from_nanos(world.clock().exact());
    let ranks = world.ranks();
    format!(
        "rankfold: a world of {ranks} ranks, begun {since:.1?} ago\n{}",
        world.picture(None)
    )
}
