//! Whatever a rank waits in: its error and the report name the program's own line.

use rankfold::op::Element;
use rankfold::partitioned::{RecvParts, SendParts};
use rankfold::{Buffering, Comm, Persistent, Request, Result, World, op};

use crate::BUFFERINGS;
use crate::support::guarded;

type Way = (&'static str, fn(&Comm) -> Result<()>);

/// Wait for what rank 1 never does.
const WAITS: [Way; 29] = [
    ("recv", |comm| comm.recv::<u8>(1, 0).map(drop)),
    ("recv_into", |comm| {
        comm.recv_into(1, 0, &mut [0u8]).map(drop)
    }),
    ("recv_value", |comm| comm.recv_value::<u8>(1, 0).map(drop)),
    ("ssend", |comm| comm.ssend(1, 0, &[0u8])),
    ("sendrecv", |comm| {
        comm.sendrecv::<u8>(1, 0, &[1], 1, 0).map(drop)
    }),
    ("probe", |comm| comm.probe(1, 0).map(drop)),
    ("probe_matched", |comm| comm.probe_matched(1, 0).map(drop)),
    ("barrier", |comm| comm.barrier()),
    ("all_reduce", |comm| comm.all_reduce(&mut [1], op::Sum)),
    ("values", |comm| comm.values().all_gather(1u8).map(drop)),
    ("dup", |comm| comm.dup().map(drop)),
    ("wait", |comm| comm.irecv::<u8>(1, 0)?.wait().map(drop)),
    ("wait of a value", |comm| {
        comm.irecv_value::<u8>(1, 0)?.wait().map(drop)
    }),
    ("wait of issend", |comm| {
        comm.issend(1, 0, vec![0u8])?.wait().map(drop)
    }),
    ("wait of iall_reduce", |comm| {
        comm.iall_reduce(vec![1], op::Sum)?.wait().map(drop)
    }),
    ("idup", |comm| comm.idup()?.barrier()),
    ("wait of a mapped one", |comm| {
        comm.irecv::<u8>(1, 0)?.map(drop).wait()
    }),
    ("wait_all", |comm| {
        Request::wait_all([comm.irecv::<u8>(1, 0)?]).map(drop)
    }),
    ("wait_any", |comm| {
        Request::wait_any(&mut [comm.irecv::<u8>(1, 0)?]).map(drop)
    }),
    ("wait_some", |comm| {
        Request::wait_some(&mut [comm.irecv::<u8>(1, 0)?]).map(drop)
    }),
    ("scope", scope_of_a_receive),
    ("scoped wait", scoped_wait),
    ("scoped wait of issend", |comm| {
        comm.scope(|s| s.issend(1, 0, &[0u8])?.wait().map(drop))
    }),
    ("scoped wait of iall_reduce", scoped_wait_of_a_collective),
    ("persistent receive", |comm| {
        started(comm.recv_init(1, 0, vec![0u8])?)?.wait()
    }),
    ("persistent send", |comm| {
        started(comm.ssend_init(1, 0, vec![0u8])?)?.wait()
    }),
    ("persistent collective", |comm| {
        started(comm.barrier_init()?)?.wait()
    }),
    ("parts received", |comm| receiving_parts(comm)?.wait()),
    ("parts sent", sent_parts),
];

/// Look, until rank 1 has ended, for what it never does.
const TESTS: [Way; 11] = [
    ("iprobe", |comm| {
        until(|| comm.iprobe(1, 0).map(|it| it.is_some()))
    }),
    ("test", |comm| {
        let mut one = comm.irecv::<u8>(1, 0)?;
        until(|| one.test().map(|it| it.is_some()))
    }),
    ("test_all", |comm| {
        let mut one = [comm.irecv::<u8>(1, 0)?];
        until(|| Request::test_all(&mut one).map(|it| it.is_some()))
    }),
    ("test_any", |comm| {
        let mut one = [comm.irecv::<u8>(1, 0)?];
        until(|| Request::test_any(&mut one).map(|it| it.is_some()))
    }),
    ("test_some", |comm| {
        let mut one = [comm.irecv::<u8>(1, 0)?];
        until(|| Request::test_some(&mut one).map(|it| !it.is_empty()))
    }),
    ("scoped test", |comm| {
        let mut buf = [0u8];
        comm.scope(|s| {
            let mut one = s.irecv_into(1, 0, &mut buf)?;
            until(|| one.test().map(|it| it.is_some()))
        })
    }),
    ("scoped test of a collective", |comm| {
        let mut buf = [0u8];
        comm.scope(|s| {
            let mut one = s.iall_reduce(&mut buf, op::Sum)?;
            until(|| one.test().map(|it| it.is_some()))
        })
    }),
    ("persistent receive", |comm| {
        let mut one = started(comm.recv_init(1, 0, vec![0u8])?)?;
        until(|| one.test())
    }),
    ("persistent send", |comm| {
        let mut one = started(comm.ssend_init(1, 0, vec![0u8])?)?;
        until(|| one.test())
    }),
    ("persistent collective", |comm| {
        let mut one = started(comm.barrier_init()?)?;
        until(|| one.test())
    }),
    ("parts received", |comm| {
        let mut one = receiving_parts(comm)?;
        until(|| one.test())
    }),
];

fn scope_of_a_receive(comm: &Comm) -> Result<()> {
    let mut buf = [0u8];
    comm.scope(|s| s.irecv_into(1, 0, &mut buf).map(drop))
}

fn scoped_wait(comm: &Comm) -> Result<()> {
    let mut buf = [0u8];
    comm.scope(|s| s.irecv_into(1, 0, &mut buf)?.wait().map(drop))
}

fn scoped_wait_of_a_collective(comm: &Comm) -> Result<()> {
    let mut sum = [1];
    comm.scope(|s| s.iall_reduce(&mut sum, op::Sum)?.wait().map(drop))
}

fn started<T: Element>(mut one: Persistent<'_, T>) -> Result<Persistent<'_, T>> {
    one.start()?;
    Ok(one)
}

fn receiving_parts(comm: &Comm) -> Result<RecvParts<'_, u8>> {
    let mut parts = RecvParts::new(comm, 1, 0, 2, vec![0; 2])?;
    parts.start()?;
    Ok(parts)
}

/// Without a buffer it waits for its receiver; with one it is over at once.
fn sent_parts(comm: &Comm) -> Result<()> {
    let mut parts = SendParts::new(comm, 1, 0, 1, vec![0u8])?;
    parts.start()?;
    parts.ready(0)?;
    parts.wait()?;
    comm.recv::<u8>(1, 0).map(drop)
}

fn until(mut look: impl FnMut() -> Result<bool>) -> Result<()> {
    while !look()? {}
    Ok(())
}

/// Rank 0 runs `way` and rank 1 what is beside it, and rank 0 fails in a line of this file.
fn names_its_own_line((name, way): Way, buffering: Buffering, beside: fn(&Comm) -> Result<()>) {
    let case = || format!("{name}, {buffering:?}");
    let world = World::new(2).buffering(buffering);
    let report = guarded(&case, || {
        world.run_each(|comm| match comm.rank() {
            0 => way(comm),
            _ => beside(comm),
        })
    });
    let error = report.outcomes[0].error().expect(name);
    let site = error.site().expect(name);
    assert_eq!(site.file(), file!(), "{}: {error}", case());
    for stuck in report.deadlocks.iter().flat_map(|knot| &knot.stuck) {
        assert_eq!(stuck.site.file(), file!(), "{}: {error}", case());
    }
    for last in report.recent().iter().filter_map(|all| all.last()) {
        assert_eq!(last.site.file(), file!(), "{}: {last:?}", case());
    }
}

#[test]
fn every_way_of_waiting_names_the_line_of_the_program() {
    for way in WAITS {
        for buffering in BUFFERINGS {
            names_its_own_line(way, buffering, |comm| comm.recv::<u8>(0, 99).map(drop));
        }
    }
}

#[test]
fn every_way_of_looking_names_the_line_of_the_program() {
    for way in TESTS {
        for buffering in BUFFERINGS {
            names_its_own_line(way, buffering, |_| Ok(()));
        }
    }
}
