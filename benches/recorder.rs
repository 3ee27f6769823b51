//! What the flight recorder costs: the same program in worlds that record and in worlds that do not, in one
//! run and in turns. `cargo bench --bench recorder`.
//!
//! ```text
//! ping-pong    0 ⇄ 1     8 bytes through the mailbox, there and back: two operations a rank
//! all_reduce   0 ⇄ 1     8 bytes over the lanes: one operation, two messages a rank
//! stream       0 ──▶ 0   8 bytes to itself, sent and received: nobody waits, nothing hides the cost
//! ```

mod common;

use std::time::{Duration, Instant};

use common::On::Each;
use common::rounds::{Compared, Effort, Spread, compare};
use common::table::{machine, print, row};
use rankfold::{Comm, Result, World, op};

/// What the recorder may cost on a ping-pong; elsewhere the ratio is only shown.
const BOUND: f64 = 1.03;

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let effort = Effort {
        rounds: if test { 1 } else { 101 },
        pieces: test.then_some(2),
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
    let subjects: [(&str, usize, Body); 3] = [
        ("ping-pong", 2, ping_pong),
        ("all_reduce", 2, all_reduce),
        ("stream", 1, stream),
    ];
    for (name, ranks, body) in subjects {
        let on = |times| timed(true, ranks, times, body);
        let off = |times| timed(false, ranks, times, body);
        let compared = compare(effort, &on, &off);
        print(name, "not recorded", BOUND, &compared);
        print(
            "  the best turn of each",
            "not recorded",
            BOUND,
            &best(&compared),
        );
    }
    let off = |times| timed(false, 2, times, ping_pong);
    print(
        "ping-pong, none recorded",
        "not recorded",
        BOUND,
        &compare(effort, &off, &off),
    );
}

/// The fastest turn of each side: what is left of the difference where other programs disturb the machine.
fn best(compared: &Compared) -> Compared {
    let only = |figure| Spread::of(vec![figure]);
    let (ours, theirs) = (compared.ours.min, compared.theirs.min);
    Compared {
        ours: only(ours),
        theirs: only(theirs),
        ratio: only(ours / theirs),
    }
}

type Body = fn(&Comm, u64) -> Result<()>;

/// How long the slower of the ranks takes, started together.
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
