//! What rankfold reports about wrong programs: run it and read.
//!
//! ```sh
//! cargo run --example reports
//! ```

use std::time::Duration;

use rankfold::{Comm, Error, Result, Source, World, op};

fn main() {
    show(
        "Two ranks wait for each other, a third runs on",
        3,
        waiting_for_each_other,
    );
    show("One rank is in another collective", 4, another_collective);
    show("One rank returns early", 3, an_early_return);
    show("One rank panics, and nobody else is to blame", 3, a_panic);
    show("A receive that nobody can satisfy", 3, a_hungry_wildcard);
    show("The wrong type, and which message it is", 2, the_wrong_type);
    println!("\n== A rank is stuck outside of rankfold: the watchdog");
    let watched = World::new(2)
        .timeout(Duration::from_millis(50))
        .run(stuck_elsewhere);
    println!("{}", watched.unwrap_err());
    println!("\n== A message that is never received, in a strict world");
    let strict = World::new(2).strict().run(|comm| match comm.rank() {
        0 => comm.send(1, 3, &[1.0, 2.0]),
        _ => Ok(()),
    });
    println!("{}", strict.unwrap_err());
}

/// Runs a wrong program and prints the error of `run`.
fn show(title: &str, ranks: usize, program: fn(&Comm) -> Result<()>) {
    println!("\n== {title}");
    match World::new(ranks).run(program) {
        Ok(_) => println!("nothing went wrong?"),
        Err(error) => println!("{error}"),
    }
}

fn waiting_for_each_other(comm: &Comm) -> Result<()> {
    match comm.rank() {
        0 => comm.recv::<f64>(1, 7).map(|_| ()),
        1 => comm.recv::<f64>(0, 7).map(|_| ()),
        // It has its own deadline, so it is not stuck.
        _ => comm
            .recv_timeout::<f64>(0, 8, Duration::from_secs(5))
            .map(|_| ()),
    }
}

fn another_collective(comm: &Comm) -> Result<()> {
    let mut v = [1u64];
    match comm.rank() {
        2 => comm.reduce(0, &mut v, op::Sum),
        _ => comm.all_reduce(&mut v, op::Sum),
    }
}

fn an_early_return(comm: &Comm) -> Result<()> {
    if comm.rank() == 1 {
        Ok(())
    } else {
        comm.barrier()
    }
}

fn a_panic(comm: &Comm) -> Result<()> {
    assert_ne!(comm.rank(), 1, "rank 1 does not like this");
    comm.barrier().unwrap();
    Ok(())
}

fn a_hungry_wildcard(comm: &Comm) -> Result<()> {
    if comm.rank() == 0 {
        comm.recv::<u8>(Source::Any, 3).map(|_| ())
    } else {
        Ok(())
    }
}

fn the_wrong_type(comm: &Comm) -> Result<()> {
    match comm.rank() {
        0 => comm.send(1, 5, &[1.5f32]),
        _ => comm.recv::<f64>(0, 5).map(|_| ()).map_err(|error| {
            // The message is still there: another receive gets it.
            comm.recv::<f32>(0, 5).map_or_else(|error| error, |_| error)
        }),
    }
}

/// Rank 1 is busy for longer than the watchdog waits.
fn stuck_elsewhere(comm: &Comm) -> Result<()> {
    if comm.rank() == 0 {
        return comm.recv::<u8>(1, 0).map(|_| ());
    }
    std::thread::sleep(Duration::from_millis(200));
    Err(Error::user("too late"))
}
