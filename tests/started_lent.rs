//! Started collectives of long vectors, which lend what they own: it is never read after its rank has it back, whatever
//! becomes of the requests, the ranks and the operators. The ends and the lengths are random; a failure tells its seed.

mod support;

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Barrier;

use rankfold::collective::{Algorithm, Collective};
use rankfold::op::{Operator, SumExact};
use rankfold::{Comm, ErrorKind, Outcome, Rank, Request, Result, World, op};
use support::{Random, guarded};

const RUNS: u64 = if cfg!(debug_assertions) { 60 } else { 200 };
/// What a vector is overwritten with as soon as its rank has it back.
const SPOILED: u64 = u64::MAX;

/// What a rank does with its request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Waits,
    Drops,
    Leaks,
    Returns,
    Panics,
}

const ENDS: [End; 5] = [
    End::Waits,
    End::Drops,
    End::Leaks,
    End::Returns,
    End::Panics,
];

/// A started call: which, its root and its length.
#[derive(Clone, Copy, Debug)]
struct Plan {
    kind: usize,
    root: Rank,
    n: usize,
}

impl Plan {
    fn random(random: &mut Random, p: usize) -> Plan {
        Plan {
            kind: random.below(6),
            root: random.below(p),
            n: p * [1, 100, 3000, 9000, 40_000][random.below(5)],
        }
    }

    fn start(self, comm: &Comm) -> Result<Request<'static, Vec<u64>>> {
        let Plan { kind, root, n } = self;
        let (me, p) = (comm.rank(), comm.size());
        let mine: Vec<u64> = (0..n as u64).map(|i| i % 1000 + me as u64).collect();
        let block = mine[..n / p].to_vec();
        match kind {
            0 => comm.iall_reduce(mine, op::Sum),
            1 => comm.iall_reduce(mine, |a: u64, b: u64| {
                assert!(a < 1 << 20 && b < 1 << 20, "memory that its rank has back");
                a + b
            }),
            2 => comm.ibroadcast(root, mine),
            3 => comm.ireduce(root, mine, op::Sum),
            4 => comm.iall_gather(block),
            _ => comm.iall_to_all(mine),
        }
    }

    /// Checks a result.
    fn check(self, (me, p): (Rank, usize), got: &[u64]) {
        let Plan { kind, root, n } = self;
        let (part, ranks) = (n / p, p as u64);
        let of = |i: usize, rank: usize| i as u64 % 1000 + rank as u64;
        let expected = |i: usize| match kind {
            0 | 1 => i as u64 % 1000 * ranks + ranks * (ranks - 1) / 2,
            2 => of(i, root),
            3 if me == root => i as u64 % 1000 * ranks + ranks * (ranks - 1) / 2,
            3 => of(i, me),
            4 => of(i % part, i / part),
            _ => of(me * part + i % part, i / part),
        };
        let wrong = (0..n).find(|&i| got[i] != expected(i));
        assert_eq!(
            wrong,
            None,
            "{self:?} at rank {me}: {:?}",
            wrong.map(|i| got[i])
        );
    }

    fn wait(self, comm: &Comm, request: Request<'static, Vec<u64>>) -> Result<()> {
        let mut got = request.wait()?;
        self.check((comm.rank(), comm.size()), &got);
        got.fill(SPOILED);
        std::hint::black_box(&mut got);
        Ok(())
    }

    /// Ends a request; it can wait only if the others have begun.
    fn end(
        self,
        comm: &Comm,
        request: Request<'static, Vec<u64>>,
        end: End,
        is_first: bool,
    ) -> Result<()> {
        match end {
            End::Waits if !is_first || request.is_done() => return self.wait(comm, request),
            End::Leaks => std::mem::forget(request),
            _ => drop(request),
        }
        Ok(())
    }
}

#[test]
fn several_at_once_end_in_any_order_well() {
    for seed in 0..RUNS {
        guarded(&|| format!("seed {seed}"), || {
            let p = 2 + seed as usize % 3;
            let world = World::new(p).run(|comm| {
                let mut random = Random::new(seed);
                let plans: Vec<Plan> = (0..1 + random.below(4))
                    .map(|_| Plan::random(&mut random, p))
                    .collect();
                let mut own = Random::new(seed * 31 + comm.rank() as u64);
                let mut open = Vec::new();
                for plan in plans {
                    open.push((plan, plan.start(comm)?));
                    (0..own.below(3)).try_for_each(|_| comm.progress())?;
                }
                while !open.is_empty() {
                    let (plan, request) = open.swap_remove(own.below(open.len()));
                    plan.wait(comm, request)?;
                }
                Ok(())
            });
            world.unwrap();
        });
    }
}

/// One rank ends in some way, before or after the others begin; those get their result or an error.
#[test]
fn whatever_becomes_of_a_rank_the_others_read_what_it_has_sent_or_get_an_error() {
    for seed in 0..RUNS {
        guarded(&|| format!("seed {seed}"), || {
            let mut random = Random::new(seed);
            let p = 2 + random.below(2);
            let (plan, end) = (Plan::random(&mut random, p), ENDS[random.below(ENDS.len())]);
            let (who, is_first) = (random.below(p), random.below(2) == 0);
            let ended = Barrier::new(p);
            let report = World::new(p).run_each(|comm| {
                if comm.rank() != who {
                    (0..usize::from(is_first)).for_each(|_| _ = ended.wait());
                    let request = plan.start(comm)?;
                    return plan.wait(comm, request);
                }
                let request = plan.start(comm)?;
                let result = plan.end(comm, request, end, is_first);
                (0..usize::from(is_first)).for_each(|_| _ = ended.wait());
                assert!(end != End::Panics, "as planned");
                result
            });
            let wrong = |(rank, outcome): (Rank, &Outcome<()>)| {
                rank != who && matches!(outcome, Outcome::Panicked { .. })
            };
            let wrong = report.outcomes.iter().enumerate().any(wrong);
            assert!(!wrong, "{plan:?} {end:?} of {who}: {report}");
        });
    }
}

/// Rank 0 has its vector back, and overwrites it, before rank 1 begins.
#[test]
fn who_comes_late_reads_a_copy() {
    for n in [3000, 40_000] {
        let back = Barrier::new(2);
        let sent = World::new(2).run(|comm| {
            let mut v = vec![5u64; n];
            if comm.rank() == 0 {
                v = comm.ibroadcast(0, v)?.wait()?;
                v.fill(SPOILED);
                back.wait();
            } else {
                back.wait();
                v = comm.ibroadcast(0, vec![0; n])?.wait()?;
            }
            Ok(v[n - 1])
        });
        assert_eq!(sent.unwrap(), [SPOILED, 5]);
    }
}

/// A persistent call may be written again as soon as it is over.
#[test]
fn persistent_calls_have_their_vectors_back() {
    const N: usize = 20_000;
    let run = World::new(2).run(|comm| {
        let mut sum = comm.all_reduce_init(vec![0u64; N], op::Sum)?;
        for turn in 0..20 {
            sum.input_mut()?.fill(turn + comm.rank() as u64);
            sum.start()?;
            sum.wait()?;
            assert!(sum.output()?.iter().all(|&one| one == 2 * turn + 1));
        }
        Ok(())
    });
    run.unwrap();
}

/// An operator panics while it reads what the other rank has lent.
#[test]
fn an_operator_that_panics_lets_the_lender_go() {
    for n in [20_000, 80_000] {
        for panics in 0..2 {
            let report = World::new(2).run_each(|comm| {
                let me = comm.rank();
                let op = move |a: u64, b: u64| {
                    assert!(me != panics, "as planned");
                    a + b
                };
                let request = comm.iall_reduce(vec![1u64; n], op)?;
                let waited = panic::catch_unwind(AssertUnwindSafe(|| request.wait().map(drop)));
                waited.unwrap_or_else(|payload| panic::resume_unwind(payload))
            });
            assert!(report.outcomes[panics].value().is_none(), "{report}");
        }
    }
}

#[test]
fn scopes_start_long_collectives_too() {
    const N: usize = 30_000;
    let run = World::new(3).run(|comm| {
        let (mut a, mut b) = (vec![1u64; N], vec![comm.rank() as u64; N]);
        comm.scope(|s| {
            s.iall_reduce(&mut a, op::Sum)?;
            s.ibroadcast(2, &mut b)?;
            Ok(())
        })?;
        assert!(a.iter().all(|&one| one == 3) && b.iter().all(|&one| one == 2));
        Ok(())
    });
    run.unwrap();
}

/// Functions `x -> a x + b` of integers, which do not commute.
type Line = (u64, u64);

fn after((a, b): Line, (c, d): Line) -> Line {
    let b = a.wrapping_mul(d).wrapping_add(b);
    (a.wrapping_mul(c), b)
}

fn line(rank: Rank, i: usize) -> Line {
    let x = (rank as u64 * 1_000_003 + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x | 1, x.rotate_left(17))
}

fn lines(rank: Rank, n: usize) -> Vec<Line> {
    (0..n).map(|i| line(rank, i)).collect()
}

/// What the ranks up to `last` make of element `i`, in their order.
fn folded(last: Rank, i: usize) -> Line {
    (1..=last).fold(line(0, i), |left, rank| after(left, line(rank, i)))
}

/// Lengths of vectors, whose halves are around the shortest message that is lent, or much longer.
fn length(random: &mut Random, p: usize) -> usize {
    match random.below(6) {
        0 => random.below(5),
        1 => 500 + random.below(30),
        2 => 256 * p - 4 + random.below(9),
        3 => p * (250 + random.below(20)),
        4 => 4000 + random.below(3000),
        _ => random.below(60_000),
    }
}

/// Starts a reduction by an algorithm; `None` if that refuses it.
fn reduced(
    comm: &Comm,
    (collective, algorithm): (Collective, Algorithm),
    n: usize,
) -> Result<Option<Request<'static, Vec<Line>>>> {
    let (by, mine) = (comm.using(algorithm), lines(comm.rank(), n));
    let started = match collective {
        Collective::AllReduce => by.iall_reduce(mine, after),
        Collective::ReduceScatter => by.ireduce_scatter(mine, after),
        Collective::Reduce => by.ireduce(0, mine, after),
        _ => by.iscan(mine, after),
    };
    match started {
        Err(error) if matches!(error.kind(), ErrorKind::Usage { .. }) => Ok(None),
        started => started.map(Some),
    }
}

#[test]
fn operators_that_do_not_commute_are_in_order_by_every_algorithm() {
    for seed in 0..RUNS {
        guarded(&|| format!("seed {seed}"), || {
            let mut random = Random::new(seed);
            let collective = [
                Collective::AllReduce,
                Collective::AllReduce,
                Collective::ReduceScatter,
                Collective::Reduce,
                Collective::Scan,
            ][random.below(5)];
            let p = 2 + random.below(4) * random.below(3) / 2 * 2 + random.below(2);
            let mut n = length(&mut random, p);
            n -= if collective == Collective::ReduceScatter {
                n % p
            } else {
                0
            };
            let checked = random.below(2) == 0;
            let run = World::new(p).check(checked).run(|comm| {
                Algorithm::all(collective)
                    .into_iter()
                    .try_for_each(|algorithm| in_order(comm, collective, algorithm, n))
            });
            run.unwrap();
        });
    }
}

/// A started reduction by an algorithm, if that admits it, folds in rank order.
fn in_order(comm: &Comm, collective: Collective, algorithm: Algorithm, n: usize) -> Result<()> {
    let Some(request) = reduced(comm, (collective, algorithm), n)? else {
        return Ok(());
    };
    let (got, me, p) = (request.wait()?, comm.rank(), comm.size());
    let (last, from) = match collective {
        Collective::Scan => (me, 0),
        Collective::Reduce if me > 0 => return Ok(()),
        Collective::ReduceScatter => (p - 1, me * (n / p)),
        _ => (p - 1, 0),
    };
    let wrong = (0..got.len()).find(|&i| got[i] != folded(last, from + i));
    let what = format!("{algorithm} {collective:?} of {n} on {p}, rank {me}");
    assert_eq!(wrong, None, "{what}");
    Ok(())
}

/// Sums of floats have the bits that the blocking call gives them, exact ones too.
#[test]
fn sums_have_the_bits_of_the_blocking_call() {
    fn bits(comm: &Comm, n: usize, op: impl Operator<f64> + Copy + 'static) -> Result<()> {
        let float = |i: usize| 1.0 / (1 + i + 7 * comm.rank()) as f64 * 3f64.powi(i as i32 % 90);
        let mine: Vec<f64> = (0..n).map(float).collect();
        for algorithm in [Algorithm::Halving, Algorithm::Ring, Algorithm::FarHalving] {
            let (by, mut sum) = (comm.using(algorithm), mine.clone());
            let request = by.iall_reduce(mine.clone(), op);
            let Ok(request) = request else { continue };
            let got = request.wait()?;
            by.all_reduce(&mut sum, op)?;
            let same = got
                .iter()
                .zip(&sum)
                .all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{algorithm} of {n}");
        }
        Ok(())
    }
    for (p, n) in [(2, 1023), (2, 1025), (2, 70_001), (3, 30_001), (4, 50_000)] {
        let run = World::new(p).run(|comm| {
            bits(comm, n, op::Sum)?;
            bits(comm, n, SumExact)
        });
        run.unwrap();
    }
}

/// An operator panics anywhere in a call, or in the next one; its rank catches that and goes on, or ends.
#[test]
fn an_operator_that_panics_anywhere_spoils_no_memory() {
    for seed in 0..RUNS {
        guarded(&|| format!("seed {seed}"), || {
            let mut random = Random::new(seed);
            let p = 2 + random.below(8) / 6;
            let n = length(&mut random, p);
            let (who, catches) = (random.below(p), random.below(2) == 0);
            let mut left = vec![u64::MAX; p];
            left[who] = random.below(2 * n + 2) as u64;
            let by = [Algorithm::Halving, Algorithm::Ring, Algorithm::Exchange][random.below(3)];
            let report = World::new(p).run_each(|comm| {
                let mut rounds = || three_rounds(comm, by, n, left[comm.rank()]);
                match panic::catch_unwind(AssertUnwindSafe(&mut rounds)) {
                    Ok(done) => done,
                    Err(_) if catches => {
                        let spoiled = vec![SPOILED; n];
                        comm.send(0, 7, &spoiled[..n.min(1)]).map(drop)
                    }
                    Err(payload) => panic::resume_unwind(payload),
                }
            });
            let wrong = |(rank, outcome): (Rank, &Outcome<()>)| {
                rank != who && matches!(outcome, Outcome::Panicked { .. })
            };
            let wrong = report.outcomes.iter().enumerate().any(wrong);
            assert!(!wrong, "{by} of {n}, {who}: {report}");
        });
    }
}

/// All-reduces with an operator that panics after `left` calls; what they return is spoiled.
fn three_rounds(comm: &Comm, by: Algorithm, n: usize, left: u64) -> Result<()> {
    let count = Rc::new(Cell::new(left));
    for round in 0..3 {
        let count = count.clone();
        let op = op::commutative(move |a: u64, b: u64| {
            assert!(count.get() > 0, "as planned");
            assert!(a < 1 << 40 && b < 1 << 40, "memory that its rank has back");
            count.set(count.get() - 1);
            a + b
        });
        let mut got = comm.using(by).iall_reduce(vec![round; n], op)?.wait()?;
        assert!(got.iter().all(|&one| one == round * comm.size() as u64));
        got.fill(SPOILED);
    }
    Ok(())
}
