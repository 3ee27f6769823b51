//! What a process of a launch measures: process 0 prints a line for each figure, `NAME BYTES NANOSECONDS`.

use std::time::{Duration, Instant};

use rankfold::{Comm, Result, Spread, World, op};

use super::plain::Mpi;
use super::{Job, hand, sizes};

/// How long one turn of a figure takes at least, and the number of turns of figures that are taken beside each other.
const TURN: f64 = 4e6;
const TURNS: usize = 9;

pub fn run(job: Job, test: bool) {
    let turn = if test { 1.0 } else { TURN };
    match job {
        Job::Plain => plain(turn),
        Job::Hand => hand::run(turn),
        Job::Ours(ranks) => ours(ranks, turn),
        Job::Beside => beside(turn, if test { 1 } else { TURNS }),
    }
}

/// Repeats `call` so often that it takes a turn; returns the nanoseconds of one. `most` is the greatest number of all
/// ranks.
pub fn timed(
    turn: f64,
    most: &dyn Fn(f64) -> Result<f64>,
    mut call: impl FnMut(u64) -> Result<()>,
) -> Result<f64> {
    // Once for what is made or mapped by the first call.
    call(2)?;
    let mut times = 1;
    loop {
        most(0.0)?;
        let begin = Instant::now();
        call(times)?;
        let took = most(begin.elapsed().as_nanos() as f64)?;
        if took >= turn {
            return Ok(took / times as f64);
        }
        times *= if took > turn / 8.0 { 2 } else { 8 };
    }
}

fn length(bytes: usize) -> usize {
    bytes / size_of::<f64>()
}

pub fn print(name: &str, bytes: usize, ns: f64) {
    println!("figure {name} {bytes} {ns}");
}

/// The numbers of a rank, and the sums of those of `size` ranks.
pub fn vectors(me: usize, size: usize, bytes: usize) -> (Vec<f64>, f64) {
    let sum = (0..size).map(|rank| rank as f64 + 0.5).sum();
    (vec![me as f64 + 0.5; length(bytes)], sum)
}

fn plain(turn: f64) {
    let mpi = Mpi::open();
    mpi.init();
    let (me, size) = mpi.place();
    for bytes in sizes() {
        let ns = plain_sum(&mpi, (me, size), bytes, turn);
        if me == 0 {
            print("plain", bytes, ns);
        }
    }
    mpi.finalize();
}

fn plain_sum(mpi: &Mpi, (me, size): (usize, usize), bytes: usize, turn: f64) -> f64 {
    let (input, sum) = vectors(me, size, bytes);
    let mut output = vec![0.0; input.len()];
    let ns = timed(turn, &|ns| Ok(mpi.max(ns)), |times| {
        (0..times).for_each(|_| mpi.sum(&input, &mut output));
        Ok(())
    });
    assert!(output.iter().all(|one| *one == sum));
    ns.expect("MPI does not fail")
}

/// The world is as a program would set it up that was tested before: nothing is checked beforehand.
fn world(ranks: usize) -> World {
    World::new(ranks)
        .spread(Spread::Must)
        .timeout(Duration::from_secs(60))
}

fn most(comm: &Comm, number: f64) -> Result<f64> {
    let mut most = [number];
    comm.all_reduce(&mut most, op::Max)?;
    Ok(most[0])
}

fn ours(ranks: usize, turn: f64) {
    let run = world(ranks).run(|comm| {
        for bytes in sizes() {
            let ns = our_sum(comm, bytes, turn)?;
            if comm.rank() == 0 {
                print("ours", bytes, ns);
            }
        }
        Ok(())
    });
    run.expect("no rank fails");
}

fn our_sum(comm: &Comm, bytes: usize, turn: f64) -> Result<f64> {
    let (input, sum) = vectors(comm.rank(), comm.size(), bytes);
    let mut output = vec![0.0; input.len()];
    let ns = timed(turn, &|ns| most(comm, ns), |times| {
        (0..times).try_for_each(|_| comm.all_reduce_into(&input, &mut output, op::Sum))
    })?;
    assert!(output.iter().all(|one| *one == sum));
    Ok(ns)
}

/// Both of one rank in each process, in turn.
fn beside(turn: f64, turns: usize) {
    let run = world(1).run(|comm| {
        let mpi = Mpi::open();
        let me = (comm.rank(), comm.size());
        for bytes in sizes() {
            for _ in 0..turns {
                let figures = [
                    ("ours", our_sum(comm, bytes, turn)?),
                    ("plain", plain_sum(&mpi, me, bytes, turn)),
                    ("ours-send", our_ping(comm, bytes, turn)?),
                    ("plain-send", plain_ping(comm, &mpi, bytes, turn)?),
                ];
                for (name, ns) in figures.iter().filter(|_| me.0 == 0) {
                    print(name, bytes, *ns);
                }
            }
        }
        Ok(())
    });
    run.expect("no rank fails");
}

fn our_ping(comm: &Comm, bytes: usize, turn: f64) -> Result<f64> {
    let mut buffer = vec![comm.rank() as f64; length(bytes)];
    let (me, other) = (comm.rank(), 1 - comm.rank());
    let both = timed(turn, &|ns| most(comm, ns), |times| {
        for _ in 0..times {
            if me == 0 {
                comm.send(other, 0, &buffer)?;
            }
            comm.recv_into(other, 0, &mut buffer)?;
            if me == 1 {
                comm.send(other, 0, &buffer)?;
            }
        }
        Ok(())
    })?;
    assert!(buffer.iter().all(|one| *one == 0.0));
    Ok(both / 2.0)
}

fn plain_ping(comm: &Comm, mpi: &Mpi, bytes: usize, turn: f64) -> Result<f64> {
    let mut buffer = vec![comm.rank() as f64; length(bytes)];
    let (me, other) = (comm.rank(), 1 - comm.rank());
    let both = timed(turn, &|ns| Ok(mpi.max(ns)), |times| {
        for _ in 0..times {
            if me == 0 {
                mpi.send(other, &buffer);
            }
            mpi.recv(other, &mut buffer);
            if me == 1 {
                mpi.send(other, &buffer);
            }
        }
        Ok(())
    })?;
    assert!(buffer.iter().all(|one| *one == 0.0));
    Ok(both / 2.0)
}
