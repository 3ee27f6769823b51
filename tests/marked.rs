//! Marks travel with messages of every length, by every way of sending and receiving, and end with their value.

use rankfold::{Buffering, Comm, Marked, Result, Source, Tag, World};

const LENGTHS: [usize; 7] = [0, 1, 4, 5, 128, 129, 100_000];

/// The mark of the message with this number.
fn mark(number: usize) -> u32 {
    (number as u32).wrapping_mul(0x9e37_79b9)
}

/// Sends a message in each way to rank 1, with a mark of its own.
fn send_all(comm: &Comm) -> Result<()> {
    let mut number = 0..;
    let mut next = |count: usize| {
        let number = number.next().unwrap_or(0);
        (number as u32, mark(number), vec![number as u64; count])
    };
    for count in LENGTHS {
        let (tag, mark, data) = next(count);
        Marked::new(comm, mark).send(1, tag, &data)?;
        let (tag, mark, data) = next(count);
        Marked::new(comm, mark).ssend(1, tag, &data)?;
        let (tag, mark, data) = next(count);
        let started = Marked::new(comm, mark).isend(1, tag, data)?;
        let (tag, mark, data) = next(count);
        let other = Marked::new(comm, mark).issend(1, tag, data)?;
        started.wait()?;
        other.wait()?;
        let (tag, mark, _) = next(count);
        let marked = Marked::new(comm, mark);
        drop(Marked::new(comm, 0));
        drop(marked);
        comm.send(1, tag, &[0u64])?;
    }
    Ok(())
}

fn receive_all(comm: &Comm) -> Result<()> {
    for number in 0..5 * LENGTHS.len() {
        let tag = number as u32;
        let status = match number % 4 {
            0 => comm.recv::<u64>(0, tag)?.1,
            1 => comm.recv_into(Source::Any, tag, &mut vec![0u64; 100_000])?,
            2 => comm.irecv::<u64>(0, Tag::Is(tag))?.wait()?.1,
            _ => {
                let found = comm.probe_matched(0, tag)?;
                let status = found.status();
                found.recv::<u64>()?;
                status
            }
        };
        let expected = if number % 5 == 4 { 0 } else { mark(number) };
        assert_eq!(status.mark(), expected, "message {number}");
    }
    Ok(())
}

#[test]
fn marks_travel_with_their_messages() {
    for buffering in [Buffering::Unbounded, Buffering::Zero, Buffering::Bytes(100)] {
        let world = World::new(2).buffering(buffering);
        let done = world.run(|comm| match comm.rank() {
            0 => send_all(comm),
            _ => receive_all(comm),
        });
        done.unwrap();
    }
}
