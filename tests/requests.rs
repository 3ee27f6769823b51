//! Requests, probes and buffering, program by program: right programs that cause no report at any buffering, wrong ones
//! with the report that each must cause, and requests that are never waited for.

mod again;
#[path = "requests/deadlocks.rs"]
mod deadlocks;
#[path = "requests/exchanges.rs"]
mod exchanges;
#[path = "requests/forgotten.rs"]
mod forgotten;
#[path = "requests/leftovers.rs"]
mod leftovers;
#[path = "requests/matching.rs"]
mod matching;
#[path = "requests/scopes.rs"]
mod scopes;
#[path = "requests/sites.rs"]
mod sites;
mod support;

use std::cell::RefCell;

use rankfold::{Buffering, Comm, ErrorKind, Rank, Request, Result, World};
use support::guarded;

/// Every way of buffering: none, a little, unlimited.
const BUFFERINGS: [Buffering; 4] = [
    Buffering::Zero,
    Buffering::Bytes(16),
    Buffering::Bytes(2000),
    Buffering::Unbounded,
];

/// Short enough to travel in its packet, and long enough to be lent.
const LENGTHS: [usize; 2] = [2, 1500];

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

// ── right programs ──

/// Runs a program on up to 8 ranks at every buffering, checked and not: all ranks return, and no message is left.
fn stays_silent(least: usize, program: impl Fn(&Comm) -> Result<()> + Sync) {
    for ranks in least..=8 {
        for buffering in BUFFERINGS {
            for check in [false, true] {
                let case = format!("{ranks} ranks, {buffering:?}, check({check})");
                let world = World::new(ranks).check(check).buffering(buffering).strict();
                let report = guarded(&|| case.clone(), || world.run_each(&program));
                report
                    .into_result()
                    .unwrap_or_else(|error| panic!("{case}: {error}"));
            }
        }
    }
}

#[test]
fn calls_with_wrong_arguments_are_refused() {
    World::new(2)
        .strict()
        .run(|comm| {
            let usage = |error: rankfold::Error| {
                assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            };
            usage(comm.isend(2, 0, vec![0]).unwrap_err());
            usage(comm.isend_value(2, 0, 0).unwrap_err());
            usage(comm.irecv::<u8>(-1, 0).unwrap_err());
            usage(comm.irecv_value::<u8>(2, 0).unwrap_err());
            usage(comm.iprobe(2, 0).unwrap_err());
            usage(comm.probe_matched(2, 0).unwrap_err());
            usage(comm.scope(|s| s.isend(2, 0, &[0]).map(|_| ())).unwrap_err());
            let mut inside = Ok(());
            let inside = RefCell::new(&mut inside);
            comm.send(comm.rank(), 0, &[1])?;
            comm.send(comm.rank(), 0, &[1])?;
            comm.all_reduce(&mut [1, 2], |a, b| {
                **inside.borrow_mut() = comm.progress();
                a + b
            })?;
            usage(inside.into_inner().as_ref().err().map_or_else(
                || rankfold::Error::user("not refused"),
                |error| {
                    assert!(error.to_string().contains("operator"), "{error}");
                    comm.isend(9, 0, vec![0]).unwrap_err()
                },
            ));
            comm.discard(comm.rank(), 0)?;
            comm.discard(comm.rank(), 0).map(|_| ())
        })
        .unwrap();
}

#[test]
fn a_negative_source_is_told_as_it_was_written() {
    let says = "the sender -1 is no rank, which is 0 or more; any rank is Source::Any";
    let refused = World::new(2).run(|comm| {
        let error = comm.irecv::<u8>(-1, 0).unwrap_err();
        Ok(error.to_string())
    });
    for text in refused.unwrap() {
        assert!(text.starts_with("irecv(from -1, tag 0) at "), "{text}");
        assert!(text.ends_with(says), "{text}");
    }
}

#[test]
fn a_request_of_another_world_is_refused() {
    let [one, two] = [World::connect(1), World::connect(1)];
    let (one, two) = (one.take(0).unwrap().enter(), two.take(0).unwrap().enter());
    let foreign = two.irecv::<u8>(0, 0).unwrap();
    let mut both = [one.irecv::<u8>(0, 0).unwrap(), foreign];
    let refused = Request::wait_any(&mut both).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
    let refused = Request::test_all(&mut both[..]).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
