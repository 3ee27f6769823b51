//! Runs in which a program ends its rank before it returns: no later run notices.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rankfold::{Comm, Error, Result, Seats, World};

use super::support::guarded;
use super::{left, right, triangle};

/// Sends short messages round, many times.
fn rounds(comm: &Comm) -> Result<u64> {
    let mut sum = 0;
    for round in 0..20_u64 {
        comm.send(right(comm), 3, &[round])?;
        sum += comm.recv::<u64>(left(comm), 3)?.0[0];
    }
    Ok(sum)
}

#[test]
fn a_rank_that_its_program_has_ended_is_there_in_the_next_run() {
    guarded(&|| "ends by the program, then messages".into(), || {
        for (ends, with_error) in [(0, false), (1, false), (0, true), (1, true)] {
            for record in [false, true] {
                let team = World::new(2).record(record).start().unwrap();
                for busy in [false, true, false] {
                    let ended = team.run(|comm| {
                        if busy {
                            rounds(comm)?;
                        }
                        if comm.rank() == ends {
                            let error = with_error.then_some(&"enough" as &dyn Display);
                            Seats::end(comm, error);
                        }
                        Ok::<_, Error>(())
                    });
                    ended.unwrap();
                    assert_eq!(team.run(rounds).unwrap(), [190, 190], "rank {ends}");
                    assert_eq!(team.run(triangle).unwrap(), [3, 3], "rank {ends}");
                }
            }
        }
    });
}

/// Calls its communicator while the rank unwinds: the call is refused, and does not count as an operation.
struct CallsAtLast<'c>(&'c Comm);

impl Drop for CallsAtLast<'_> {
    fn drop(&mut self) {
        assert!(self.0.iprobe(0, 0).is_err());
    }
}

#[test]
fn a_rank_that_ended_by_a_panic_that_was_caught_is_there_in_the_next_run() {
    for record in [false, true] {
        let team = World::new(2).record(record).start().unwrap();
        let caught = team.run(|comm| {
            if comm.rank() == 1 {
                let panics = || {
                    let _calls = CallsAtLast(comm);
                    std::panic::resume_unwind(Box::new("caught"));
                };
                assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
            }
            Ok::<_, Error>(())
        });
        caught.unwrap();
        assert_eq!(team.run(rounds).unwrap(), [190, 190], "record {record}");
    }
}
