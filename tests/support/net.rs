//! The net under a test that may hang: it ends the process when nothing moves any more, however slow the machine is.
//!
//! Time says nothing about a hang. On a machine with other work a rank may wait for its turn on a CPU for
//! minutes, and a machine that was suspended loses hours at once. So the net looks at the threads of this process once
//! a second, and tells two kinds of hang from slowness:
//!
//! - *deadlock*: every thread sleeps, and none has been switched to, look after look. A thread that only lacks a CPU
//!   is runnable, and a machine that stands still does not look.
//! - *livelock*: threads run on and on, which shows as CPU time.
//!
//! Where the system does not tell (`/proc` is Linux's), the number of looks decides.

use std::io::{self, Write};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use std::{fmt, fs};

use super::scale;

/// The time between two looks. Nothing is measured by it.
const TICK: Duration = Duration::from_secs(1);
/// After so many looks that find every thread asleep where it was, nothing moves any more.
const STILL: u32 = 60;
/// In so much CPU time of the process, in seconds, a case ends: most take milliseconds.
const BUSY: f64 = 600.0;
/// A case ends within so many looks, whatever they show.
const LOOKS: u32 = 1800;
/// The name of the threads that look.
const WATCH: &str = "net";

/// Runs `body`; if it hangs the process is aborted with the name of the case and what its threads do.
pub fn guarded<R>(case: &dyn Fn() -> String, body: impl FnOnce() -> R) -> R {
    let (done, watch) = channel::<()>();
    let name = case();
    let look = move || {
        let mut net = Net::new((1.0 / scale()).max(1.0));
        while watch.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            if let Some(hang) = net.look(Sight::now()) {
                // Not `eprintln`: what the harness has captured is lost with the process.
                let _ = writeln!(io::stderr(), "HANGS: {name}\n{hang}");
                process::abort();
            }
        }
    };
    let watching = thread::Builder::new().name(WATCH.into()).spawn(look);
    watching.expect("a thread to watch the case");
    let result = body();
    drop(done);
    result
}

/// What a thread of the process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: u32,
    pub name: String,
    /// As the system names it: `S` for one that sleeps until it is woken.
    pub state: char,
    /// How often another thread got its CPU.
    pub switches: u64,
}

/// What there is to see of the process at a moment.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// All threads but those that look; `None` where the system does not tell.
    pub tasks: Option<Vec<Task>>,
    /// Seconds of CPU time so far.
    pub busy: f64,
}

impl Sight {
    fn now() -> Sight {
        Sight {
            tasks: tasks(),
            busy: busy().unwrap_or(0.0),
        }
    }
}

/// Why a case is taken to hang.
#[derive(Debug)]
pub struct Hang {
    why: &'static str,
    tasks: Vec<Task>,
}

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.why)?;
        for Task {
            id,
            name,
            state,
            switches,
        } in &self.tasks
        {
            write!(f, "\n  {name} ({id}): {state}, {switches} switches")?;
        }
        Ok(())
    }
}

/// What the looks at one case have shown so far.
pub struct Net {
    last: Option<Sight>,
    first_busy: Option<f64>,
    still: u32,
    looks: u32,
    slower: f64,
}

impl Net {
    /// For a process that a tool makes so many times slower.
    pub fn new(slower: f64) -> Net {
        Net {
            last: None,
            first_busy: None,
            still: 0,
            looks: 0,
            slower,
        }
    }

    /// Takes another look; the reason, if that shows a hang.
    pub fn look(&mut self, now: Sight) -> Option<Hang> {
        let began = *self.first_busy.get_or_insert(now.busy);
        self.looks += 1;
        self.still = if self.stands_still(&now) {
            self.still + 1
        } else {
            0
        };
        let why = if self.still >= STILL {
            "no thread has run since many looks, and none can"
        } else if now.busy - began > BUSY * self.slower {
            "its threads run without end"
        } else if f64::from(self.looks) > f64::from(LOOKS) * self.slower {
            "it does not end"
        } else {
            self.last = Some(now);
            return None;
        };
        let tasks = now.tasks.unwrap_or_default();
        Some(Hang { why, tasks })
    }

    /// Whether every thread sleeps where it slept at the last look.
    fn stands_still(&self, now: &Sight) -> bool {
        let before = self.last.as_ref().and_then(|last| last.tasks.as_ref());
        let asleep = |tasks: &Vec<Task>| tasks.iter().all(|task| task.state == 'S');
        now.tasks.as_ref().is_some_and(asleep) && now.tasks.as_ref() == before
    }
}

/// The threads of this process but those that look.
fn tasks() -> Option<Vec<Task>> {
    let entries = fs::read_dir("/proc/self/task").ok()?;
    let status = |entry: io::Result<fs::DirEntry>| {
        let path = entry.ok()?.path();
        let id = path.file_name()?.to_str()?.parse().ok()?;
        task(id, &fs::read_to_string(path.join("status")).ok()?)
    };
    // One that has just ended is not there any more.
    let mut tasks: Vec<Task> = entries.filter_map(status).collect();
    tasks.retain(|task| task.name != WATCH);
    tasks.sort_by_key(|task| task.id);
    Some(tasks)
}

/// A thread by what `/proc/self/task/*/status` says of it.
pub fn task(id: u32, status: &str) -> Option<Task> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.strip_prefix(':')?.trim())
    };
    let count = |name| field(name)?.parse::<u64>().ok();
    Some(Task {
        id,
        name: field("Name")?.into(),
        state: field("State")?.chars().next()?,
        switches: count("voluntary_ctxt_switches")? + count("nonvoluntary_ctxt_switches")?,
    })
}

/// Seconds of CPU time that this process has taken so far.
fn busy() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process may hold anything; what follows it are numbers.
    let numbers = stat.rsplit_once(')')?.1;
    let ticks = numbers.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|number| number.parse::<f64>().ok()).sum();
    // Linux tells this in hundredths of a second on every machine.
    Some(ticks / 100.0)
}
