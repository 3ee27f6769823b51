//! The primitives that everything else builds on, each compared with the plainest equivalent, in one run and in turn:
//! `cargo bench --bench ground`.
//!
//! ```text
//! 1  0 ⇄ 1                   mailbox                 the channel under it, bare: recv, try_recv
//! 2  0 ⇄ 1 on one CPU        mailbox                 one word and yield_now
//! 3  0 ┃ 1 ┃ … ┃ 63          barrier                 a counter and yield_now
//! 4  ▭▭▭▭▭▭▭▭                8 worlds at once        the same worlds one after another
//! 5  0 … … … ◀── 1           the CPU that a rank uses while it is blocked for a second
//! 6  start ┃ end             a whole process: 64 ranks, one barrier, beside 64 threads and std's
//! ```
//!
//! The bounds are rankfold's own targets. For the whole process they are 15 ms and 16 MiB; the best message-passing
//! library measured beside it took 25 ms and 32 MiB.
//!
//! No time is asserted here; the verdict is for the reader. The process fails if a result is wrong.

mod common;

use std::env;
use std::fs;
use std::process::{Command, ExitCode};
use std::sync::Barrier;
use std::thread::{self, sleep, yield_now};
use std::time::{Duration, Instant};

use common::On::{Any, Each, First};
use common::meet::{self, Witness};
use common::ping::{self, by_recv, by_spinning};
use common::rounds::{Effort, compare};
use common::table::{machine, print, row, time, verdict};
use rankfold::{World, op};

/// Number of ranks in a crowd.
const CROWD: usize = 64;
/// As an argument: this process is a child that is timed as a whole.
const ONE_SHOT: &str = "--one-shot";

/// Just enough to check that everything works.
const ONCE_OVER: Effort = Effort {
    rounds: 1,
    pieces: Some(2),
};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [first, which] = &args[..]
        && first == ONE_SHOT
    {
        return one_shot(which);
    }
    let effort = if args.iter().any(|arg| arg == "--test") {
        ONCE_OVER
    } else {
        Effort {
            rounds: 15,
            pieces: None,
        }
    };
    println!("{}", machine());
    row("subject", "ours", "theirs", "ratio", "bound", "verdict");
    ping_pong(effort);
    yielding(effort);
    crowd(effort);
    worlds(effort);
    blocked(effort);
    whole_process(effort);
    ExitCode::SUCCESS
}

/// 1: half a round trip.
fn ping_pong(effort: Effort) {
    let ours = |trips| ping::mailbox(Each, trips) / 2;
    let recv = |trips| ping::channel::<u64>(Each, trips, by_recv) / 2;
    let spin = |trips| ping::channel::<u64>(Each, trips, by_spinning) / 2;
    let subject = "8 bytes, a CPU each";
    print(
        subject,
        "crossbeam recv",
        1.3,
        &compare(effort, &ours, &recv),
    );
    print(
        subject,
        "crossbeam try_recv",
        1.3,
        &compare(effort, &ours, &spin),
    );
}

/// 2: the same with both threads on one CPU.
fn yielding(effort: Effort) {
    let ours = |trips| ping::mailbox(First, trips) / 2;
    let theirs = |trips| ping::one_line(First, trips, yield_now) / 2;
    print(
        "8 bytes, one CPU for both",
        "yield_now",
        2.0,
        &compare(effort, &ours, &theirs),
    );
}

/// 3: a barrier of many more ranks than CPUs.
fn crowd(effort: Effort) {
    meet::barrier(Any, CROWD, 3, Some(&Witness::default()));
    meet::central(Any, CROWD, 3, yield_now, Some(&Witness::default()));
    let ours = |times| meet::barrier(Any, CROWD, times, None);
    let theirs = |times| meet::central(Any, CROWD, times, yield_now, None);
    let subject = format!("barrier of {CROWD} ranks");
    print(
        &subject,
        "yielding counter",
        1.5,
        &compare(effort, &ours, &theirs),
    );
}

/// 4: worlds that share the CPUs with each other.
fn worlds(effort: Effort) {
    const WORLDS: usize = 8;
    const RANKS: usize = 4;
    let times = effort.pieces.unwrap_or(2000);
    let one = move || world(RANKS, times);
    let at_once = || {
        thread::scope(|scope| (0..WORLDS).for_each(|_| drop(scope.spawn(one))));
    };
    let in_turn = || (0..WORLDS).for_each(|_| one());
    let subject = format!("{WORLDS} worlds x {RANKS} ranks x {times} sums");
    let compared = compare(
        effort.one_a_turn(),
        &repeated(&at_once),
        &repeated(&in_turn),
    );
    print(&subject, "one after another", 1.5, &compared);
}

/// Turns a call into a subject that counts pieces.
fn repeated(call: &dyn Fn()) -> impl Fn(u64) -> Duration {
    move |pieces| {
        let begin = Instant::now();
        (0..pieces).for_each(|_| call());
        begin.elapsed()
    }
}

/// Sums of eight bytes, each compared.
fn world(ranks: usize, times: u64) {
    let sums = World::new(ranks).run(|comm| {
        for time in 0..times {
            let mut v = [time + comm.rank() as u64];
            comm.all_reduce(&mut v, op::Sum)?;
            assert_eq!(v[0], ranks as u64 * time + (ranks * (ranks - 1) / 2) as u64);
        }
        Ok(())
    });
    sums.expect("no rank fails");
}

/// 5: the cost of a rank that has nothing to do.
fn blocked(effort: Effort) {
    let span = Duration::from_millis(effort.pieces.map_or(1000, |pieces| 10 * pieces));
    let used = World::new(2).run(|comm| {
        if comm.rank() == 1 {
            // Not to order the two: this is the observed time span.
            sleep(span);
            comm.send(0, 0, &[7])?;
            return Ok(None);
        }
        let before = cpu_time();
        let (got, _) = comm.recv::<i32>(1, 0)?;
        assert_eq!(got, [7]);
        Ok(before.zip(cpu_time()).map(|(before, after)| after - before))
    });
    let percent = used.expect("no rank fails")[0].map(|used| 100.0 * used.div_duration_f64(span));
    let shown = percent.map_or("not known here".into(), |percent| format!("{percent:.3} %"));
    let verdict = percent.map_or("-", |percent| verdict(percent <= 2.0));
    row(
        &format!("a rank blocked for {span:?}"),
        &shown,
        "-",
        "-",
        "2 % of a CPU",
        verdict,
    );
}

/// Returns the CPU time of this thread so far, as reported by Linux.
fn cpu_time() -> Option<Duration> {
    let line = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split_whitespace()
        .next()?
        .parse()
        .ok()
        .map(Duration::from_nanos)
}

/// 6: everything, from the start of a process to its end.
fn whole_process(effort: Effort) {
    let child = |which| move |pieces| (0..pieces).map(|_| spawn(which).0).sum();
    let compared = compare(effort.one_a_turn(), &child("ranks"), &child("threads"));
    let subject = format!("a process of {CROWD} ranks");
    print(&subject, "threads and std's barrier", 2.0, &compared);
    let in_time = verdict(compared.ours.median <= 15e6);
    let [ours, theirs] = [compared.ours, compared.theirs].map(|side| time(side.median));
    row("  its time", &ours, &theirs, "-", "15 ms", in_time);
    let [ours, theirs] = ["ranks", "threads"].map(|which| spawn(which).1);
    let kib = ours.trim_end_matches(" kB").parse::<u64>().ok();
    let in_memory = kib.map_or("-", |kib| verdict(kib <= 16 << 10));
    row(
        "  its peak memory",
        &ours,
        &theirs,
        "-",
        "16 MiB",
        in_memory,
    );
}

/// Runs this program as a child; returns its lifetime, and its own report of its peak memory.
fn spawn(which: &str) -> (Duration, String) {
    let program = env::current_exe().expect("this program has a name");
    let begin = Instant::now();
    let output = Command::new(program).args([ONE_SHOT, which]).output();
    let time = begin.elapsed();
    let output = output.expect("this program starts once more");
    assert!(output.status.success(), "a child failed: {output:?}");
    let peak = String::from_utf8_lossy(&output.stdout);
    (time, peak.trim().to_owned())
}

/// The child: all ranks meet once. Prints its peak memory at its end.
fn one_shot(which: &str) -> ExitCode {
    match which {
        "ranks" => drop(
            World::new(CROWD)
                .run(|comm| comm.barrier())
                .expect("no rank fails"),
        ),
        "threads" => {
            let barrier = Barrier::new(CROWD);
            let meet = || {
                barrier.wait();
            };
            thread::scope(|scope| (0..CROWD).for_each(|_| drop(scope.spawn(meet))));
        }
        _ => return ExitCode::FAILURE,
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.map_or("not known here", str::trim));
    ExitCode::SUCCESS
}
