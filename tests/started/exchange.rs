//! Two ranks, whose started all-reduces are one exchange: of every kind of length, several at a time, again and again.

use rankfold::collective::{Algorithm, Collective};
use rankfold::{Comm, ErrorKind, Outcome, Result, World, op};

use crate::common::definitions::{check, vector};
use crate::common::{Compose, Map};
use crate::support::{Random, guarded};

/// In the message itself, in a cell, in an annex, copied, by steps.
const LENGTHS: [usize; 9] = [1, 2, 5, 18, 60, 500, 3000, 9000, 40_000];
const SEED: u64 = 0x6578_6368;

/// Starts a few calls, and ends them in any order.
fn several(comm: &Comm, turn: usize, random: &mut Random) -> Result<()> {
    let lengths: Vec<usize> = (0..1 + random.below(4))
        .map(|_| random.of(&LENGTHS))
        .collect();
    let what = |one: usize| (8 * turn + one, 0, lengths[one].div_ceil(2));
    let mut open = Vec::new();
    for one in 0..lengths.len() {
        let (id, _, n) = what(one);
        let mine: Vec<Map> = vector(id, comm.rank(), 2 * n);
        let exchange = comm.using(Algorithm::Exchange);
        open.push((one, exchange.iall_reduce(mine, Compose)?));
    }
    while !open.is_empty() {
        let (one, request) = open.swap_remove((turn + comm.rank()) % open.len());
        check(comm, Collective::AllReduce, what(one), &request.wait()?);
    }
    Ok(())
}

#[test]
fn vectors_of_every_length_are_exchanged() {
    let run = |comm: &Comm| {
        let mut random = Random::new(SEED);
        (0..60).try_for_each(|turn| several(comm, turn, &mut random))
    };
    let name = || format!("seed {SEED:#x}");
    guarded(&name, || World::new(2).strict().run(run)).unwrap();
    guarded(&name, || World::new(2).strict().check(true).run(run)).unwrap();
}

#[test]
fn a_persistent_exchange_goes_on_beside_plain_ones() {
    let run = |comm: &Comm| {
        for n in LENGTHS {
            let exchange = comm.using(Algorithm::Exchange);
            let mut sum = exchange.all_reduce_init(vec![0; n], op::Sum)?;
            for turn in 0..20 {
                sum.input_mut()?.fill(comm.rank() + turn);
                sum.start()?;
                let most = comm.iall_reduce(vec![comm.rank(); n], op::Max)?;
                if turn % 2 == comm.rank() {
                    assert_eq!(most.wait()?, vec![1; n]);
                    sum.wait()?;
                } else {
                    sum.wait()?;
                    assert_eq!(most.wait()?, vec![1; n]);
                }
                assert_eq!(sum.output()?, vec![1 + 2 * turn; n]);
            }
        }
        Ok(())
    };
    guarded(&|| "persistent".into(), || World::new(2).strict().run(run)).unwrap();
}

#[test]
fn a_message_of_another_call_is_a_mismatch_on_both_ranks() {
    let run = |comm: &Comm| {
        let n = 1 + comm.rank();
        let exchange = comm.using(Algorithm::Exchange);
        exchange.iall_reduce(vec![n; n], op::Sum)?.wait()
    };
    let report = guarded(&|| "lengths".into(), || World::new(2).run_each(run));
    for rank in 0..2 {
        let Outcome::Failed(error) = &report.outcomes[rank] else {
            panic!("rank {rank}: {report}");
        };
        assert!(matches!(error.kind(), ErrorKind::Mismatch(_)), "{error}");
    }
}
