//! Started collectives beside the blocking ones, two ranks, in one run and in turn. `cargo bench --bench started`, or
//! some groups of rows by their names: `cargo bench --bench started -- alone overlap`.
//!
//! ```text
//! alone        start ┃ wait                      beside the blocking call
//! persistent   start ┃ wait, described before    beside the plain started call
//! halo         two neighbours: persistent, beside the blocking call and the plain started one
//! window       64 messages in a scope: isend ┃ irecv_into, beside 64 blocking ones, one message
//! overlap      late ▶ start ┃ compute, with progress() every 20 us ┃ wait
//!              beside: compute ┃ the blocking call, of ranks that come together
//!              and:    compute ┃ copy as many elements, fold as many: what no started call can hide
//! ```

mod common;

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use common::On::Each;
use common::rounds::{Compared, Effort, compare};
use common::table::{machine, print, row, spread, time};
use rankfold::{Comm, Graph, Persistent, Result, World, op};

/// Maximum cost of starting, progressing and ending 8 bytes, over the blocking call.
const ALONE: f64 = 3.0;
/// Maximum of computation with a started call in it, over computation and the blocking call.
const OVERLAP: f64 = 1.1;
/// Number of messages that are in flight at once.
const WINDOW: u64 = 64;
/// How long a rank computes, how much later than the other one it may come, and how often it makes progress.
const COMPUTES: Duration = Duration::from_millis(1);
const LATE: u64 = 500_000;
const EVERY: Duration = Duration::from_micros(20);

/// A group of rows: its name, what measures it, and the number of rounds.
type Group = (&'static str, fn(Effort), usize);

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let test = named.iter().any(|arg| arg == "--test");
    let effort = |rounds: usize| Effort {
        rounds: if test { 1 } else { rounds },
        pieces: test.then_some(1),
    };
    let groups: [Group; 5] = [
        ("alone", alone, 41),
        ("persistent", by_persistent, 41),
        ("halo", halos, 41),
        ("window", windows, 41),
        ("overlap", overlap, 21),
    ];
    println!("{}", machine());
    row(
        "iall_reduce",
        "started",
        "beside",
        "ratio",
        "bound",
        "verdict",
    );
    let all = !groups
        .iter()
        .any(|(name, ..)| named.iter().any(|arg| arg == name));
    for (name, group, rounds) in groups {
        if all || named.iter().any(|arg| arg == name) {
            group(effort(rounds));
        }
    }
}

fn alone(effort: Effort) {
    for length in [1, 128, 1024, 8192, 131_072] {
        let ours = |times| timed(|comm| started(comm, length, times));
        let theirs = |times| timed(|comm| blocking(comm, length, times));
        let compared = compare(effort, &ours, &theirs);
        let name = format!("alone, {} bytes", 8 * length);
        match length {
            1 => print(&name, "blocking", ALONE, &compared),
            _ => show(&name, "blocking", &compared),
        }
    }
}

fn by_persistent(effort: Effort) {
    let ours = |times| timed(|comm| persistent(comm, times));
    let theirs = |times| timed(|comm| started(comm, 1, times));
    let compared = compare(effort, &ours, &theirs);
    print("persistent, 8 bytes", "plain", 1.0, &compared);
}

fn halos(effort: Effort) {
    for length in [1, 1024, 131_072] {
        let ours = |times| timed(|comm| persistent_halo(comm, length, times));
        let theirs = |times| timed(|comm| blocking_halo(comm, length, times));
        let name = format!("persistent halo, {} bytes", 8 * length);
        show(&name, "blocking", &compare(effort, &ours, &theirs));
    }
    let ours = |times| timed(|comm| persistent_halo(comm, 1, times));
    let theirs = |times| timed(|comm| started_halo(comm, times));
    let compared = compare(effort, &ours, &theirs);
    print("persistent halo, 8 bytes", "plain", 1.0, &compared);
}

fn windows(effort: Effort) {
    for length in [1, 128, 512, 8192, 32_768] {
        let ours = |times| timed(|comm| window(comm, length, times));
        let theirs = |times| timed(|comm| in_a_row(comm, length, times));
        let name = format!("window, {} bytes", 8 * length);
        show(&name, "blocking", &compare(effort, &ours, &theirs));
    }
}

fn overlap(effort: Effort) {
    for length in [8192, 65_536, 524_288] {
        let ours = |times| timed(|comm| overlapping(comm, length, times));
        let theirs = |times| timed(|comm| in_turn(comm, length, times));
        let compared = compare(effort, &ours, &theirs);
        let name = format!("overlap, {} KiB", length / 128);
        print(&name, "in turn", OVERLAP, &compared);
        let theirs = |times| timed(|comm| copying(comm, length, times));
        show(&name, "copied, folded", &compare(effort, &ours, &theirs));
    }
}

/// A comparison without a bound.
fn show(name: &str, beside: &str, compared: &Compared) {
    let (ours, theirs) = (time(compared.ours.median), time(compared.theirs.median));
    row(
        name,
        &ours,
        &format!("{theirs} {beside}"),
        &spread(&compared.ratio),
        "none",
        "",
    );
}

/// The longest time that a rank spends in `body`, which says how long that was.
fn timed(body: impl Fn(&Comm) -> Result<Duration> + Sync) -> Duration {
    let took = World::new(2).bind(Each.bind()).run(|comm| {
        comm.barrier()?;
        body(comm)
    });
    let took = took.expect("the ranks do not fail");
    took.into_iter().max().expect("there is a rank")
}

fn vector(comm: &Comm, length: usize) -> Vec<u64> {
    vec![comm.rank() as u64; length]
}

fn started(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let mut v = vector(comm, length);
    let begin = Instant::now();
    for _ in 0..times {
        v = comm.iall_reduce(v, op::Max)?.wait()?;
    }
    assert!(v.iter().all(|&one| one == 1));
    Ok(begin.elapsed())
}

fn persistent(comm: &Comm, times: u64) -> Result<Duration> {
    let mut most: Persistent<'_, u64> = comm.all_reduce_init(vector(comm, 1), op::Max)?;
    let begin = Instant::now();
    for _ in 0..times {
        most.start()?;
        most.wait()?;
    }
    assert_eq!(most.output()?, [1]);
    Ok(begin.elapsed())
}

fn blocking(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let mut v = vector(comm, length);
    let begin = Instant::now();
    for _ in 0..times {
        comm.all_reduce(&mut v, op::Max)?;
    }
    assert!(v.iter().all(|&one| one == 1));
    Ok(begin.elapsed())
}

/// Each rank of a pair sends a block to the other one.
fn pair(comm: &Comm) -> Result<Graph> {
    let other = [1 - comm.rank()];
    comm.graph(&other, &other)
}

fn started_halo(comm: &Comm, times: u64) -> Result<Duration> {
    let pair = pair(comm)?;
    let mut halo = vec![2];
    let begin = Instant::now();
    for _ in 0..times {
        halo = pair.ineighbor_all_to_all(vector(comm, 1), halo)?.wait()?;
    }
    assert_eq!(halo, [1 - comm.rank() as u64]);
    Ok(begin.elapsed())
}

fn persistent_halo(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let pair = pair(comm)?;
    let mut halo = pair.neighbor_all_to_all_init(vector(comm, length), vec![2; length])?;
    let begin = Instant::now();
    for _ in 0..times {
        halo.start()?;
        halo.wait()?;
    }
    let other = 1 - comm.rank() as u64;
    assert!(halo.output()?.iter().all(|&one| one == other));
    Ok(begin.elapsed())
}

fn blocking_halo(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let pair = pair(comm)?;
    let (mine, mut halo) = (vector(comm, length), vec![2; length]);
    let begin = Instant::now();
    for _ in 0..times {
        pair.neighbor_all_to_all(&mine, &mut halo)?;
    }
    assert!(halo.iter().all(|&one| one < 2));
    Ok(begin.elapsed())
}

/// A window of messages after the other from rank 0 to rank 1; the time of one message.
fn window(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let mut halos = vec![vector(comm, length); WINDOW as usize];
    let begin = Instant::now();
    for _ in 0..times {
        comm.scope(|scope| {
            for halo in &mut halos {
                match comm.rank() {
                    0 => _ = scope.isend(1, 0, halo)?,
                    _ => _ = scope.irecv_into(0, 0, halo)?,
                }
            }
            Ok(())
        })?;
        comm.barrier()?;
    }
    assert!(halos.iter().flatten().all(|&one| one == 0));
    Ok(begin.elapsed() / WINDOW as u32)
}

fn in_a_row(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let mut halos = vec![vector(comm, length); WINDOW as usize];
    let begin = Instant::now();
    for _ in 0..times {
        for halo in &mut halos {
            match comm.rank() {
                0 => comm.send(1, 0, halo)?,
                _ => _ = comm.recv_into(0, 0, halo)?,
            }
        }
        comm.barrier()?;
    }
    assert!(halos.iter().flatten().all(|&one| one == 0));
    Ok(begin.elapsed() / WINDOW as u32)
}

/// Computes for a while, and calls `now_and_then` while it does.
fn compute(mut now_and_then: impl FnMut() -> Result<()>) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < COMPUTES {
        let part = Instant::now();
        while part.elapsed() < EVERY {
            spin_loop();
        }
        now_and_then()?;
    }
    Ok(())
}

/// How late a rank is: another number every time.
fn late(comm: &Comm, time: u64) -> Duration {
    let place = (2 * time + comm.rank() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Duration::from_nanos((place >> 32) % LATE)
}

fn overlapping(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let mut v = vector(comm, length);
    let mut spent = Duration::ZERO;
    for time in 0..times {
        comm.barrier()?;
        let come = Instant::now();
        while come.elapsed() < late(comm, time) {
            spin_loop();
        }
        let begin = Instant::now();
        let most = comm.iall_reduce(v, op::Max)?;
        compute(|| comm.progress())?;
        v = most.wait()?;
        spent += begin.elapsed();
    }
    assert!(v.iter().all(|&one| one == 1));
    Ok(spent)
}

fn in_turn(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let mut v = vector(comm, length);
    let mut spent = Duration::ZERO;
    for _ in 0..times {
        comm.barrier()?;
        let begin = Instant::now();
        compute(|| Ok(()))?;
        comm.all_reduce(&mut v, op::Max)?;
        spent += begin.elapsed();
    }
    assert!(v.iter().all(|&one| one == 1));
    Ok(spent)
}

/// What each rank does itself in a started call of two: it copies its vector, and folds another one.
fn copying(comm: &Comm, length: usize, times: u64) -> Result<Duration> {
    let (mut v, mut sent) = (vector(comm, length), vector(comm, length));
    let mut spent = Duration::ZERO;
    for _ in 0..times {
        comm.barrier()?;
        let begin = Instant::now();
        compute(|| Ok(()))?;
        sent.copy_from_slice(&v);
        op::reduce_local(&sent, &mut v, op::Max);
        spent += begin.elapsed();
    }
    assert!(v.iter().all(|&one| one == comm.rank() as u64));
    Ok(spent)
}
