//! The net under a test that may hang: it aborts the process when nothing progresses any more, however slow the machine
//! is.
//!
//! Time alone does not indicate a hang. On a busy machine a rank may wait minutes for a CPU, and a machine that was
//! suspended loses hours at once. So the net looks at the threads of this process once a second, and distinguishes two
//! kinds of hang from slowness:
//!
//! - *deadlock*: every thread sleeps, and none has been switched to, look after look. A thread that only lacks a CPU is
//!   runnable, and a suspended machine does not look.
//! - *livelock*: threads keep running, which shows as CPU time.
//!
//! Where the system does not report this (`/proc` is Linux's), the number of looks decides.

use std::io::{self, Write};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use std::{fmt, fs};

use super::scale;

/// The time between two looks. Nothing is measured by it.
const TICK: Duration = Duration::from_secs(1);
/// After this many looks that find every thread asleep where it was, nothing progresses any more.
const STILL: u32 = 60;
/// CPU time of the process, in seconds, within which a case ends: most take milliseconds.
const BUSY: f64 = 600.0;
/// A case ends within this many looks, whatever they show.
const LOOKS: u32 = 1800;
/// The name of the threads that look.
const WATCH: &str = "net";

/// Runs `body`; if it hangs, aborts the process with the name of the case and the state of its threads.
pub fn guarded<R>(case: &dyn Fn() -> String, body: impl FnOnce() -> R) -> R {
    let (done, watch) = channel::<()>();
    let name = case();
    let look = move || {
        let mut net = Net::new((1.0 / scale()).max(1.0));
        while watch.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            if let Some(hang) = net.look(Sight::now()) {
                // Not `eprintln`: output that the harness has captured is lost with the process.
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

/// State of a thread of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: u32,
    pub name: String,
    /// The system's letter: `S` for a thread that sleeps until it is woken.
    pub state: char,
    /// Number of context switches to another thread.
    pub switches: u64,
}

/// State of the process at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// All threads except those that look; `None` where the system does not report them.
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

/// Why a case is considered to hang.
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

/// The results of the looks at one case so far.
pub struct Net {
    last: Option<Sight>,
    first_busy: Option<f64>,
    still: u32,
    looks: u32,
    slower: f64,
}

impl Net {
    /// Creates a net for a process that a tool makes `slower` times slower.
    pub fn new(slower: f64) -> Net {
        Net {
            last: None,
            first_busy: None,
            still: 0,
            looks: 0,
            slower,
        }
    }

    /// Takes another look; returns the reason if it shows a hang.
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

    /// Returns whether every thread sleeps where it slept at the last look.
    fn stands_still(&self, now: &Sight) -> bool {
        let before = self.last.as_ref().and_then(|last| last.tasks.as_ref());
        let asleep = |tasks: &Vec<Task>| tasks.iter().all(|task| task.state == 'S');
        now.tasks.as_ref().is_some_and(asleep) && now.tasks.as_ref() == before
    }
}

/// Returns the threads of this process except those that look.
fn tasks() -> Option<Vec<Task>> {
    let entries = fs::read_dir("/proc/self/task").ok()?;
    let status = |entry: io::Result<fs::DirEntry>| {
        let path = entry.ok()?.path();
        let id = path.file_name()?.to_str()?.parse().ok()?;
        task(id, &fs::read_to_string(path.join("status")).ok()?)
    };
    // A thread that has just ended is no longer there.
    let mut tasks: Vec<Task> = entries.filter_map(status).collect();
    tasks.retain(|task| task.name != WATCH);
    tasks.sort_by_key(|task| task.id);
    Some(tasks)
}

/// Parses a thread from `/proc/self/task/*/status`.
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

/// Returns the seconds of CPU time that this process has used so far.
fn busy() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process may contain anything; numbers follow it.
    let numbers = stat.rsplit_once(')')?.1;
    let ticks = numbers.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|number| number.parse::<f64>().ok()).sum();
    // Linux reports this in hundredths of a second on every machine.
    Some(ticks / 100.0)
}
