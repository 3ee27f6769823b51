//! Messages between processes: blocking, from any source, probed, by requests, synchronous.

use rankfold::{Comm, Plain, Result, Source, Tag};

use super::{numbers, world};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Own {
    place: [f32; 3],
    kind: u16,
}
// SAFETY: numbers.
unsafe impl Plain for Own {}

pub fn point_to_point(ranks: usize) {
    world(ranks)
        .plain::<Own>()
        .run(|comm| {
            assert_eq!(comm.size(), ranks * comm.processes());
            assert!(comm.is_near(comm.rank()));
            ring(comm)?;
            order(comm)?;
            any_source(comm)?;
            comm.barrier()?;
            probes(comm)?;
            requests(comm)?;
            synchronous(comm)
        })
        .unwrap();
    // A second world, whose messages are not those of the first.
    world(ranks).run(ring).unwrap();
}

fn ring(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    for length in [0, 1, 4, 5, 128, 129, 1000, 200_000] {
        let (got, status) = comm.sendrecv(right, 3, &numbers(me, length), left, 3)?;
        assert_eq!((got, status.source), (numbers(left, length), left));
    }
    comm.send(right, 1, &[me as f64, 0.5])?;
    assert_eq!(comm.recv::<f64>(left, 1)?.0, [left as f64, 0.5]);
    comm.send(right, 1, &[(1.5f32, me)])?;
    assert_eq!(comm.recv::<(f32, usize)>(left, 1)?.0, [(1.5, left)]);
    comm.send(right, 1, &[['a', 'ß']])?;
    assert_eq!(comm.recv::<[char; 2]>(left, 1)?.0, [['a', 'ß']]);
    Ok(())
}

/// Messages of one sender stay in order, whatever their lengths, and tags choose among them.
fn order(comm: &Comm) -> Result<()> {
    const MESSAGES: usize = 200;
    let (me, size) = (comm.rank(), comm.size());
    let length = |i: usize| [1, 3, 700, 40_000][i % 4];
    for to in (0..size).filter(|to| *to != me) {
        for i in 0..MESSAGES {
            comm.send(to, (i % 2) as u32, &numbers(me * MESSAGES + i, length(i)))?;
        }
    }
    for from in (0..size).filter(|from| *from != me) {
        for tag in [1, 0] {
            for i in (tag..MESSAGES).step_by(2) {
                let (got, _) = comm.recv::<u64>(from, tag as u32)?;
                assert!(
                    got == numbers(from * MESSAGES + i, length(i)),
                    "{from}, {i}"
                );
            }
        }
    }
    Ok(())
}

fn any_source(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let own = Own {
        place: [0.5; 3],
        kind: me as u16,
    };
    if me > 0 {
        return comm.send(0, me as u32, &[own]);
    }
    let mut from = vec![false; size];
    for _ in 1..size {
        let (got, status) = comm.recv::<Own>(Source::Any, Tag::Any)?;
        assert_eq!(
            (usize::from(got[0].kind), status.tag as usize),
            (status.source, status.source)
        );
        assert_eq!(got[0].place, [0.5; 3]);
        assert!(!std::mem::replace(&mut from[status.source], true));
    }
    Ok(())
}

fn probes(comm: &Comm) -> Result<()> {
    let (me, last) = (comm.rank(), comm.size() - 1);
    if me == 0 {
        comm.send(last, 5, &[1u8, 2, 3])?;
        comm.send(last, 6, &[4i16])?;
    }
    if me == last {
        let status = comm.probe(0, 6)?;
        assert_eq!((status.tag, status.source), (6, 0));
        while comm.iprobe(0, 5)?.is_none() {}
        let message = comm.probe_matched(Source::Any, 5)?;
        assert_eq!(message.recv::<u8>()?, [1, 2, 3]);
        assert_eq!(comm.recv::<i16>(0, 6)?.0, [4]);
    }
    Ok(())
}

fn requests(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    for length in [2, 3000] {
        let mut receives = Vec::new();
        for from in 0..size {
            receives.push(comm.irecv::<u64>(from, 9)?);
        }
        let mut sends = Vec::new();
        for to in 0..size {
            sends.push(comm.isend(to, 9, numbers(me, length))?);
        }
        for (from, mut receive) in receives.into_iter().enumerate() {
            let (got, _) = loop {
                if let Some(done) = receive.test()? {
                    break done;
                }
            };
            assert_eq!(got, numbers(from, length));
        }
        for send in sends {
            send.wait()?;
        }
    }
    Ok(())
}

/// Each rank learns of its left neighbour's state, which that one has sent before it received: so a synchronous send to
/// it has waited for the receive.
fn synchronous(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    for length in [1, 3000] {
        let sent = comm.issend(right, 11, numbers(me, length))?;
        assert_eq!(comm.recv::<u64>(left, 11)?.0, numbers(left, length));
        assert_eq!(sent.wait()?, numbers(me, length));
        // Round the ring: the first sends before it receives, all others after.
        if me > 0 {
            assert_eq!(comm.recv::<u64>(left, 12)?.0, numbers(left, length));
        }
        if size > 1 {
            comm.ssend(right, 12, &numbers(me, length))?;
        }
        if me == 0 && size > 1 {
            assert_eq!(comm.recv::<u64>(left, 12)?.0, numbers(left, length));
        }
    }
    let mut open = comm.issend(right, 13, vec![me])?;
    comm.barrier()?;
    assert_eq!(open.test()?, None, "no rank has received it");
    comm.barrier()?;
    assert_eq!(comm.recv::<usize>(left, 13)?.0, [left]);
    assert_eq!(open.wait()?, [me]);
    Ok(())
}
