//! The cost of the flight recorder: the same program in worlds that record and in worlds that do not, in one run and in
//! turn. `cargo bench --bench recorder`.
//!
//! ```text
//! ping-pong    0 ⇄ 1     8 bytes through the fast box, there and back: two operations a rank
//! all_reduce   0 ⇄ 1     8 bytes over cells: one operation, one message a rank
//! stream       0 ──▶ 0   8 bytes to itself, sent and received: no rank waits, nothing hides the cost
//! ```

mod common;

use std::time::{Duration, Instant};

use common::On::Each;
use common::rounds::{Compared, Spread};
use common::table::{machine, print, row, spread, time};
use rankfold::{Comm, Result, World, op};

/// Maximum cost of the recorder on a ping-pong; elsewhere the ratio is only shown.
const BOUND: f64 = 1.03;

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let effort = if test {
        Effort { turns: 1, times: 2 }
    } else {
        Effort {
            turns: 2001,
            times: 1000,
        }
    };
    println!("{}", machine());
    row(
        "8 bytes",
        "recorded",
        "not recorded",
        "ratio",
        "bound",
        "verdict",
    );
    for (name, ranks, body) in SUBJECTS {
        let compared = in_turns(effort, [true, false], ranks, body);
        match name {
            "ping-pong" => print(name, "not recorded", BOUND, &compared),
            _ => show(name, &compared),
        }
    }
    let compared = in_turns(effort, [false, false], 2, ping_pong);
    print("ping-pong, none recorded", "not recorded", BOUND, &compared);
}

/// A comparison without a bound.
fn show(name: &str, compared: &Compared) {
    let (ours, theirs) = (time(compared.ours.median), time(compared.theirs.median));
    let theirs = format!("{theirs} not recorded");
    row(name, &ours, &theirs, &spread(&compared.ratio), "none", "");
}

const SUBJECTS: [(&str, usize, Body); 3] = [
    ("ping-pong", 2, ping_pong),
    ("all_reduce", 2, all_reduce),
    ("stream", 1, stream),
];

/// Number of turns of each side, and number of repetitions in each. They are the same for both sides, and so small that
/// other programs do not disturb most turns.
#[derive(Clone, Copy)]
struct Effort {
    turns: usize,
    times: u64,
}

/// A world of each kind in turn, in alternating order.
fn in_turns(effort: Effort, record: [bool; 2], ranks: usize, body: Body) -> Compared {
    let Effort { turns, times } = effort;
    let mut figures: [Vec<f64>; 2] = Default::default();
    for turn in 0..turns {
        for side in [turn % 2, 1 - turn % 2] {
            let took = timed(record[side], ranks, times, body);
            figures[side].push(took.as_nanos() as f64 / times as f64);
        }
    }
    let ratios = figures[0].iter().zip(&figures[1]).map(|(a, b)| a / b);
    let ratio = Spread::of(ratios.collect());
    let [ours, theirs] = figures.map(Spread::of);
    Compared {
        ours,
        theirs,
        ratio,
    }
}

type Body = fn(&Comm, u64) -> Result<()>;

/// Returns the time of the slowest rank, started together.
fn timed(record: bool, ranks: usize, times: u64, body: Body) -> Duration {
    let world = World::new(ranks).bind(Each.bind()).record(record);
    let took = world.run(|comm| {
        comm.barrier()?;
        let begin = Instant::now();
        body(comm, times)?;
        Ok(begin.elapsed())
    });
    let took = took.expect("the ranks do not fail");
    took.into_iter().max().expect("there is a rank")
}

fn ping_pong(comm: &Comm, times: u64) -> Result<()> {
    let (me, peer) = (comm.rank(), 1 - comm.rank());
    let mut got = [0u64];
    for time in 0..times {
        if me == 0 {
            comm.send(peer, 0, &[time])?;
        }
        comm.recv_into(peer, 0, &mut got)?;
        assert_eq!(got[0], time);
        if me == 1 {
            comm.send(peer, 0, &[time])?;
        }
    }
    Ok(())
}

fn all_reduce(comm: &Comm, times: u64) -> Result<()> {
    for time in 0..times {
        let mut v = [time + comm.rank() as u64];
        comm.all_reduce(&mut v, op::Sum)?;
        assert_eq!(v[0], 2 * time + 1);
    }
    Ok(())
}

fn stream(comm: &Comm, times: u64) -> Result<()> {
    let mut got = [0u64];
    for time in 0..times {
        comm.send(0, 0, &[time])?;
        comm.recv_into(0, 0, &mut got)?;
        assert_eq!(got[0], time);
    }
    Ok(())
}
