//! The cost of running a schedule, compared with a loop written by hand, over the same lanes, and with the primitives
//! under the lanes, in one run and in turn: all-reduces by simple exchange. `cargo bench --bench executor`.
//!
//! ```text
//! by hand     for each dimension: post, receive, fold
//! executor    for each step: ask the schedule; post, receive, fold where it says
//! channels    the same over lanes that are crossbeam channels
//! bare lines  two threads, a number and the elements beside it, one cache line for both or one each way
//! kept call   calls of three or eighty lengths in turn at one line, and of more lengths than are kept
//! in turn     calls on several communicators, and what two threads take over as many sets of bare lines: a line each
//!             way, of which there are two, and one that each writes for itself
//! ```

mod common;

use std::time::{Duration, Instant};

use common::On::Each;
use common::rounds::{Effort, compare};
use common::table::{machine, print, row};
use common::{ranks, ranks_of, swap};
use rankfold::check::Goal;
use rankfold::collective::Algorithm;
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::Hypercube;
use rankfold::{Comm, Result, Transport, World, all_reduce_by_hand, op};

/// The algorithm that sends over lanes; the default choice for these lengths is cells.
const EXCHANGE: Algorithm = Algorithm::Exchange;

fn main() {
    let test = std::env::args().any(|arg| arg == "--test");
    let effort = Effort {
        rounds: if test { 1 } else { 25 },
        pieces: test.then_some(2),
    };
    println!("{}", machine());
    row(
        "all_reduce, P = 2",
        "ours",
        "theirs",
        "ratio",
        "bound",
        "verdict",
    );
    schedules(effort);
    lanes::<1>(effort, "8 bytes", &|times| swap::one_line(Each, times));
    lanes::<4>(effort, "32 bytes", &|times| {
        swap::two_lines::<4>(Each, times)
    });
    kept_calls(effort);
    in_turn(effort);
}

/// Schedules, compared with a loop written by hand.
fn schedules(effort: Effort) {
    let exchange = FoldAlong::new(Hypercube::new(1), 1);
    let by_hand = |times| timed(times, |comm, v| all_reduce_by_hand(comm, v, op::Sum));
    let known = |times| timed(times, |comm, v| run(comm, &exchange, v));
    let behind_dyn = |times| timed(times, |comm, v| run(comm, &exchange as &dyn Schedule, v));
    let public = |times| timed(times, |comm, v| comm.using(EXCHANGE).all_reduce(v, op::Sum));
    let beside = |subject, compared| print(subject, "by hand", 1.05, &compared);
    beside(
        "using(Exchange).all_reduce",
        compare(effort, &public, &by_hand),
    );
    beside(
        "a schedule of known type",
        compare(effort, &known, &by_hand),
    );
    beside(
        "a schedule behind dyn",
        compare(effort, &behind_dyn, &by_hand),
    );
    beside(
        "by hand, against itself",
        compare(effort, &by_hand, &by_hand),
    );
}

/// Calls of several lengths at one line.
fn kept_calls(effort: Effort) {
    let beside = |ours: usize, theirs: usize| {
        let (ours, theirs) = (
            move |times| at_one_line(times, ours),
            move |times| at_one_line(times, theirs),
        );
        compare(effort, &ours, &theirs)
    };
    print("three kept calls", "one kept call", 1.2, &beside(3, 1));
    print(
        "three kept calls",
        "described anew",
        1.0,
        &beside(3, 16_384),
    );
    print("eighty kept calls", "one kept call", 1.2, &beside(80, 1));
}

/// Several sets of lines, and calls on several communicators.
fn in_turn(effort: Effort) {
    let bare = |sets: u64| move |times| swap::lines_in_turn::<1>(Each, times, sets);
    let beside = compare(effort, &bare(1000), &bare(1));
    print("1000 sets of bare lines", "one set", 1.0, &beside);
    let communicators = |all: usize| move |times| at_communicators(times, all);
    for all in [3, 1000] {
        let beside = compare(effort, &communicators(all), &communicators(1));
        let subject = format!("{all} communicators in turn");
        print(&subject, "one communicator", 1.2, &beside);
    }
}

/// Times `times` all-reduces at one line over cells, of up to `lengths` elements in turn, which take no memory.
fn at_one_line(times: u64, lengths: usize) -> Duration {
    ranks(Each, 2, |comm| {
        for time in 0..times {
            let mut v = vec![(); time as usize % lengths];
            comm.all_reduce(&mut v, |(), ()| ())?;
        }
        Ok(())
    })
}

/// Times `times` all-reduces of 8 bytes at one line, on several communicators in turn. Their first calls are not timed.
fn at_communicators(times: u64, all: usize) -> Duration {
    let took = World::new(2).bind(Each.bind()).run(|comm| {
        let comms = (0..all).map(|_| comm.dup()).collect::<Result<Vec<_>>>()?;
        let mut begin = Instant::now();
        for time in 0..times + all as u64 {
            if time == all as u64 {
                comm.barrier()?;
                begin = Instant::now();
            }
            let mut v = [time];
            comms[time as usize % all].all_reduce(&mut v, op::Sum)?;
            assert_eq!(v[0], 2 * time);
        }
        Ok(begin.elapsed())
    });
    let took = took.expect("no rank fails");
    took.into_iter().max().expect("there are ranks")
}

/// Compares lanes with what they are made of, for vectors of `N` words.
fn lanes<const N: usize>(effort: Effort, subject: &str, bare: &dyn Fn(u64) -> Duration) {
    let sums = |times, world| sums::<N>(times, world);
    let ours = |times| sums(times, World::new(2));
    let channels = |times| sums(times, World::new(2).transport(Transport::Channels));
    let beside = compare(effort, &ours, &channels);
    print(subject, "over channels", 1.0, &beside);
    print(subject, "bare lines", 1.5, &compare(effort, &ours, bare));
}

/// Times `times` all-reduces of `N` words in a world.
fn sums<const N: usize>(times: u64, world: World) -> Duration {
    ranks_of(Each, world, |comm| {
        for time in 0..times {
            let mut v = [time + comm.rank() as u64; N];
            comm.using(EXCHANGE).all_reduce(&mut v, op::Sum)?;
            assert_eq!(v, [2 * time + 1; N]);
        }
        Ok(())
    })
}

fn run(comm: &Comm, schedule: &(impl Schedule + ?Sized), v: &mut [u64]) -> Result<()> {
    comm.run_schedule(schedule, &Goal::all_reduce(1), &[], v, op::Sum)
}

/// Times `times` all-reduces one after another, with every result checked.
fn timed(times: u64, all_reduce: impl Fn(&Comm, &mut [u64]) -> Result<()> + Sync) -> Duration {
    ranks(Each, 2, |comm| {
        for time in 0..times {
            let mut v = [time + comm.rank() as u64];
            all_reduce(comm, &mut v)?;
            assert_eq!(v[0], 2 * time + 1);
        }
        Ok(())
    })
}
