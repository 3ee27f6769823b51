//! One request of each kind, leaked with `forget` at the point where most is in flight. Run these alone under a memory
//! checker, without leak detection: they leak, as documented, and touch no freed memory.

use std::mem::forget;

use rankfold::{Comm, Result, World, op};

use super::{BUFFERINGS, left, right};
use crate::support::guarded;

type Kind = fn(&Comm) -> Result<()>;

const KINDS: [(&str, Kind); 8] = [
    ("isend", |comm| {
        forget(comm.isend(right(comm), 0, vec![comm.rank(); 500])?);
        comm.discard(left(comm), 0).map(|_| ())
    }),
    ("isend that nobody receives", |comm| {
        forget(comm.isend(right(comm), 0, vec![comm.rank(); 500])?);
        Ok(())
    }),
    ("isend_value", |comm| {
        forget(comm.isend_value(right(comm), 0, vec![comm.rank(); 500])?);
        comm.discard(left(comm), 0).map(|_| ())
    }),
    ("irecv", |comm| {
        forget(comm.irecv::<usize>(left(comm), 0)?);
        comm.send(right(comm), 0, &[comm.rank(); 500])
    }),
    ("irecv that never completes", |comm| {
        forget(comm.irecv::<usize>(left(comm), 0)?);
        Ok(())
    }),
    ("irecv_value", |comm| {
        forget(comm.irecv_value::<String>(left(comm), 0)?);
        comm.send_value(right(comm), 0, String::from("forgotten"))
    }),
    ("a request that has given its result", |comm| {
        let mut coming = comm.irecv::<usize>(left(comm), 0)?;
        comm.send(right(comm), 0, &[comm.rank(); 500])?;
        while coming.test()?.is_none() {}
        forget(coming);
        Ok(())
    }),
    ("a matched message", |comm| {
        let sent = comm.isend(right(comm), 0, vec![comm.rank(); 500])?;
        forget(comm.probe_matched(left(comm), 0)?);
        sent.wait().map(|_| ())
    }),
];

#[test]
fn requests_of_each_kind_leave_nothing_dangling() {
    for ranks in [1, 2, 5] {
        for buffering in BUFFERINGS {
            for (name, kind) in KINDS {
                let case = format!("{name}, {ranks} ranks, {buffering:?}");
                let world = World::new(ranks).buffering(buffering);
                let report = guarded(&|| case.clone(), || {
                    world.run_each(|comm| {
                        kind(comm)?;
                        // Messages and loans of all kinds pass meanwhile.
                        let mut sum = vec![1; 300];
                        comm.all_reduce(&mut sum, op::Sum)?;
                        let (up, down) = (right(comm), left(comm));
                        comm.sendrecv(up, 7, &sum, down, 7).map(|_| ())
                    })
                });
                let all = report
                    .outcomes
                    .iter()
                    .all(|outcome| outcome.value().is_some());
                assert!(all, "{case}: {:?}", report.outcomes);
                let told = match name {
                    "a matched message" | "a request that has given its result" => 0,
                    _ => ranks,
                };
                assert_eq!(report.unfinished.len(), told, "{case}");
            }
        }
    }
}

#[test]
fn borrowed_requests_are_complete_when_their_scope_ends() {
    for buffering in BUFFERINGS {
        World::new(2)
            .buffering(buffering)
            .strict()
            .run(|comm| {
                let mut buf = vec![0; 500];
                let mine = vec![comm.rank(); 500];
                comm.scope(|s| {
                    forget(s.irecv_into(left(comm), 0, &mut buf)?);
                    forget(s.isend(right(comm), 0, &mine)?);
                    Ok(())
                })?;
                drop(mine);
                assert_eq!(buf, vec![left(comm); 500]);
                Ok(())
            })
            .unwrap();
    }
}
