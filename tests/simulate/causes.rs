//! What fills the stretches of a critical path, in steps with several actions.

use rankfold::Rank;
use rankfold::schedule::{Combine, Lengths, LocalCopy, Region, Schedule, Step, Transfer};
use rankfold::simulate::{Cause, Link, MachineModel, critical_path};

/// One step of three ranks: rank 0 sends to rank 1, receives from rank 2, and folds elements of its own.
struct Busy {
    sent: usize,
    received: usize,
}

impl Schedule for Busy {
    fn ranks(&self) -> usize {
        3
    }

    fn steps(&self) -> usize {
        1
    }

    fn step(&self, rank: Rank, _: usize) -> Step {
        let to = |peer, count| {
            let region = Region::output(0..count);
            Some(Transfer { peer, region })
        };
        match rank {
            0 => Step {
                local: Some(LocalCopy {
                    combine: Combine::FoldRight,
                    ..LocalCopy::new(Region::scratch(0..4), Region::scratch(4..8))
                }),
                send: to(1, self.sent),
                recv: to(2, self.received),
                combine: Combine::FoldRight,
                ..Step::IDLE
            },
            1 => Step {
                recv: to(0, self.sent),
                ..Step::IDLE
            },
            _ => Step {
                send: to(0, self.received),
                ..Step::IDLE
            },
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths {
            scratch: 8,
            ..Lengths::in_place(100)
        }
    }
}

#[test]
fn a_fold_of_its_own_elements_does_not_hide_that_a_rank_sends() {
    let link = |latency| Link {
        latency,
        overhead: 0.0,
        gap: 1.0,
        per_byte: 1.0,
    };
    for (sent, received, latency, cause, peer) in [
        (90, 1, 0.0, Cause::Sends, 1),
        (1, 9, 0.0, Cause::Receives, 2),
        (1, 9, 50.0, Cause::Waits, 2),
        // The fold of what it has received makes the difference, and then does not.
        (10, 9, 0.0, Cause::Receives, 2),
        (19, 9, 0.0, Cause::Sends, 1),
    ] {
        let machine = MachineModel::flat(link(latency)).fold_cost(1.0);
        // Rank 0 is done last, by the fold.
        let path = critical_path(&Busy { sent, received }, &machine).unwrap();
        let last = path.steps.last().unwrap();
        let found = (last.rank, last.cause, last.peer);
        assert_eq!(found, (0, cause, peer), "{sent} sent, {received} received");
    }
}
