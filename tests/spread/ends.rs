//! How worlds and processes begin and end: what the other processes learn of it.

use std::process;
use std::sync::mpsc;
use std::thread;

use rankfold::error::Gone;
use rankfold::machine::Machine;
use rankfold::{Bind, Buffering, Comm, ErrorKind, Rank, World, WorldError};

use super::programs::world;

/// The first rank panics once it is told of a deadlock, and its process exits as soon as another rank there knows that:
/// the other processes learn of the panic, also one with many ranks, which is told late.
pub fn exits_after_a_verdict(ranks: usize) {
    let process = world(ranks).run(|comm| Ok(comm.process())).unwrap()[0];
    let ranks = if process == 0 { 2 } else { 50 * ranks };
    let run = world(ranks).run(|comm| {
        let me = comm.rank();
        let error = comm.recv::<u8>((me + 1) % comm.size(), 0).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
        assert_ne!(me, 0, "boom");
        let error = comm.recv::<u8>(0, 1).unwrap_err();
        if comm.is_near(0) {
            process::exit(0);
        }
        match error.kind() {
            ErrorKind::RankGone { rank: 0, why, .. } => panicked(why),
            _ => panic!("{error}"),
        }
        Ok(())
    });
    assert_eq!(run.unwrap_err().culprit(), Some(0));
}

/// The first process exits while its second rank sends one long message after the other, also when all processes have
/// come to their exit.
pub fn exits_while_a_rank_sends(ranks: usize) {
    world(ranks).run_each(|comm| {
        let receiver = comm.size() - 1;
        comm.barrier()?;
        match comm.rank() {
            0 => {
                comm.recv::<u8>(1, 0)?;
                process::exit(0);
            }
            1 => {
                comm.send(0, 0, &[1u8])?;
                loop {
                    _ = comm.send(receiver, 0, &vec![0u8; 1 << 16]);
                    thread::yield_now();
                }
            }
            me if me == receiver => {
                let mut message = vec![0u8; 1 << 16];
                while comm.recv_into(1, 0, &mut message).is_ok() {}
            }
            _ => {}
        }
        Ok(())
    });
}

fn panicked(why: &Gone) {
    assert!(
        matches!(why, Gone::Panicked(text) if text.contains("boom")),
        "{why:?}"
    );
}

/// Another thread tries again and again to open the next world while the ranks of the first one end.
pub fn another_thread_opens_the_next_world(ranks: usize) {
    for _ in 0..20 {
        let (started, begin) = mpsc::sync_channel::<()>(ranks);
        let next = thread::spawn(move || {
            begin.recv().unwrap();
            open_next(ranks)
        });
        let first = world(ranks).run(|comm| {
            started.send(()).unwrap();
            comm.barrier()?;
            Ok(comm.size())
        });
        assert_eq!(first.unwrap(), next.join().unwrap());
    }
}

fn open_next(ranks: usize) -> Vec<usize> {
    loop {
        let opened = world(ranks).run(|comm| {
            comm.barrier()?;
            Ok(comm.size())
        });
        match opened {
            Ok(sizes) => return sizes,
            Err(WorldError::Usage(why)) => {
                assert!(why.contains("another world"), "{why}");
                thread::yield_now();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The environment says nonsense of shared memory.
pub fn nonsense_of_memory(ranks: usize) {
    match world(ranks).run(|comm| comm.barrier()).unwrap_err() {
        WorldError::Usage(why) => assert!(why.contains(r#"is "nonsense""#), "{why}"),
        error => panic!("{error}"),
    }
}

/// The world of the last process cannot start, as no machine has such a CPU: all processes learn why, also those whose
/// ranks need none of its ranks, and the next world is as any other.
pub fn cannot_start(ranks: usize) {
    let here = world(ranks).run(|comm| Ok((comm.process() + 1 == comm.processes(), comm.size())));
    let (is_last, size) = here.unwrap()[0];
    for program in [|comm: &Comm| comm.barrier(), |_: &Comm| Ok(())] {
        let mine = match is_last {
            true => world(ranks).bind(Bind::Cpus(vec![1 << 20])),
            false => world(ranks),
        };
        match mine.run(program).unwrap_err() {
            WorldError::Usage(why) if is_last => assert!(why.contains("1048576"), "{why}"),
            error => {
                let first: Rank = size - ranks;
                assert_eq!(error.culprit(), Some(first), "{error}");
                assert!(error.to_string().contains("1048576"), "{error}");
            }
        }
        cannot_open(ranks, (is_last, size));
        for way in WAYS {
            asks_for_what_cannot_be(ranks, (is_last, size), *way);
        }
        let sizes = world(ranks).run(|comm| {
            comm.barrier()?;
            Ok(comm.size())
        });
        assert_eq!(sizes.unwrap()[0], size);
    }
}

/// The last process cannot even open its world, which has more ranks than it can have threads.
fn cannot_open(ranks: usize, (is_last, size): (bool, usize)) {
    let mine = world(if is_last { 1 << 20 } else { ranks });
    match mine.run(|comm| comm.barrier()).unwrap_err() {
        WorldError::Usage(why) => {
            assert!(why.contains("1048576 ranks are more threads"), "{why}");
            let last = format!("process {}", size / ranks - 1);
            assert!(is_last || why.contains(&last), "{why}");
        }
        error => panic!("{error}"),
    }
}

/// A world that cannot be spread over processes: its error, and what is in that.
type Way = (fn(World) -> WorldError, &'static str);

const WAYS: &[Way] = &[
    (|world| error_of(world.seed(1)), "a seed"),
    (
        |world| error_of(world.buffering(Buffering::Zero)),
        "limited buffering",
    ),
    (
        |world| error_of(world.machine(Machine::from_text("core:8").unwrap())),
        "stands in",
    ),
    (|world| world.start().err().unwrap(), "teams and seats"),
    (
        |world| world.bind(Bind::Core).start().err().unwrap(),
        "teams and seats",
    ),
    (|world| world.seats().err().unwrap(), "teams and seats"),
];

fn error_of(world: World) -> WorldError {
    world.run(|comm| comm.barrier()).unwrap_err()
}

/// The last process asks for a world that no processes can have together, and the others for one like any other: all learn
/// why there is none.
fn asks_for_what_cannot_be(ranks: usize, (is_last, size): (bool, usize), (way, what): Way) {
    let error = match is_last {
        true => way(world(ranks)),
        false => error_of(world(ranks)),
    };
    let WorldError::Usage(why) = error else {
        panic!("{what}: {error}");
    };
    assert!(why.contains(what), "{what}: {why}");
    let last = format!("process {}", size / ranks - 1);
    assert!(is_last || why.contains(&last), "{what}: {why}");
}
