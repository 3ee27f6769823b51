//! Destructors that panic or wait while a rank unwinds.

use rankfold::error::Gone;
use rankfold::{Comm, ErrorKind, Fault, Result, Source, World};

use super::{error_of, for_all_sizes};
use crate::support::guarded;

/// Panics when it is dropped, unless the thread is already panicking.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

#[test]
fn a_destructor_that_panics_is_the_failure_of_its_rank() {
    let program = |comm: &Comm| {
        let bomb = (comm.rank() == 1).then(|| Bomb);
        drop(bomb);
        comm.barrier()
    };
    for_all_sizes("a local", program, |ranks, report| {
        assert_eq!(report.culprit, Some(1));
        for rank in (0..ranks).filter(|&rank| rank != 1) {
            assert_eq!(error_of(&report, rank).culprit(), Some(1));
        }
    });
}

#[test]
fn a_message_whose_destructor_panics_fails_the_rank_that_drops_it() {
    let program = |comm: &Comm| match comm.rank() {
        0 => comm.send_value(1, 1, Bomb).and_then(|()| comm.barrier()),
        1 => comm.discard(0, 1).and_then(|_| comm.barrier()),
        _ => comm.barrier(),
    };
    for_all_sizes("a message", program, |ranks, report| {
        assert_eq!(report.culprit, Some(1));
        for rank in (0..ranks).filter(|&rank| rank != 1) {
            assert_eq!(error_of(&report, rank).culprit(), Some(1));
        }
    });
}

/// Waits in its destructor, like a guard that wants an answer before it releases something.
struct Waits<'a>(&'a Comm, Source);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let _ = self.0.recv::<u8>(self.1, 9);
    }
}

/// Rank 1 panics, outside our calls or inside one, while its own guard waits for a message from others, which wait for
/// rank 1.
fn panics_while_a_guard_waits(comm: &Comm, from: Source, inside: bool) -> Result<()> {
    if comm.rank() != 1 {
        return comm.recv::<u8>(1, 8).map(|_| ());
    }
    let _guard = Waits(comm, from);
    if inside {
        let mut one = [1];
        return comm.all_reduce(&mut one, |_, _| panic!("in an operator"));
    }
    panic!("in the program")
}

#[test]
fn a_panic_is_known_to_the_others_before_destructors_wait_for_them() {
    for source in [Source::Rank(0), Source::Any, Source::Rank(1)] {
        let program = |comm: &Comm| panics_while_a_guard_waits(comm, source, false);
        for_all_sizes("a guard waits", program, |ranks, report| {
            assert_eq!(report.culprit, Some(1));
            assert!(report.deadlocks.is_empty(), "{:?}", report.deadlocks);
            for rank in (0..ranks).filter(|&rank| rank != 1) {
                let error = error_of(&report, rank);
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::RankGone {
                            rank: 1,
                            why: Gone::Panicked(_),
                            ..
                        }
                    ),
                    "rank {rank}: {error}"
                );
            }
        });
    }
}

#[test]
fn an_injected_end_is_known_to_the_others_before_destructors_wait_for_them() {
    for (source, fault) in [Source::Rank(0), Source::Any]
        .into_iter()
        .flat_map(|source| [(source, Fault::Panic), (source, Fault::Return)])
    {
        let run = || {
            World::new(3).inject(1, 1, fault).run_each(|comm| {
                if comm.rank() != 1 {
                    return Ok(());
                }
                let _guard = Waits(comm, source);
                comm.send(1, 0, &[1u8])
            })
        };
        let report = guarded(&|| format!("{source}, {fault:?}"), run);
        assert_eq!(report.culprit, Some(1));
        assert!(report.deadlocks.is_empty(), "{:?}", report.deadlocks);
    }
}
