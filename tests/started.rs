//! Started collectives: against an independent fold, by every algorithm, several at a time in every order of ending,
//! beside blocking calls, in worlds that choose the order of messages; their deadlocks, deaths and mistakes.

mod channels;
mod common;
mod support;

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::definitions::{IDENTITY, KINDS, check, vector};
use common::{Compose, Map};
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::testing::explore;
use rankfold::{
    Buffering, Comm, ErrorKind, Outcome, Rank, Request, Result, Source, Tag, World, op,
};
use support::sweep::{sweep, sweep_bufferings};
use support::{Random, Sieve, guarded};

/// A started call, whatever its kind; it returns what the rank has to hold afterwards, and no more.
fn start(
    comm: &Comm,
    kind: Collective,
    algorithm: Option<Algorithm>,
    (id, root, n): (usize, Rank, usize),
) -> Result<Request<'static, Vec<Map>>> {
    let (me, p) = (comm.rank(), comm.size());
    let whole = vector(id, me, n * p);
    let block = vector(id, me, n);
    macro_rules! by {
        ($name:ident($($arguments:expr),*)) => {
            match algorithm {
                None => comm.$name($($arguments),*),
                Some(algorithm) => comm.using(algorithm).$name($($arguments),*),
            }
        };
    }
    match kind {
        Collective::Broadcast => by!(ibroadcast(root, whole)),
        Collective::Reduce => {
            let kept = move |buf| if me == root { buf } else { Vec::new() };
            Ok(by!(ireduce(root, whole, Compose))?.map(kept))
        }
        Collective::AllReduce => by!(iall_reduce(whole, Compose)),
        Collective::ReduceScatter => by!(ireduce_scatter(whole, Compose)),
        Collective::AllGather => by!(iall_gather(block)),
        Collective::Gather => Ok(by!(igather(root, block))?.map(Option::unwrap_or_default)),
        Collective::Scatter => {
            let all = (me == root).then_some(whole);
            by!(iscatter(root, all, vec![IDENTITY; n]))
        }
        Collective::AllToAll => by!(iall_to_all(whole)),
        Collective::Scan => by!(iscan(whole, Compose)),
        Collective::ExclusiveScan => by!(iexclusive_scan(whole, IDENTITY, Compose)),
        Collective::Barrier => Ok(by!(ibarrier())?.map(|()| Vec::new())),
    }
}

#[test]
fn each_gives_what_its_definition_says() {
    for p in (1..=17).chain([33, 64]) {
        let lengths: &[usize] = if p > 17 { &[0, 1, 20] } else { &[0, 1, 3, 700] };
        let run = |comm: &Comm| {
            // The same on all ranks; all cases from a fifth of the scale.
            let mut cases = Sieve::part(p as u64, 5.0);
            for (id, kind) in KINDS.into_iter().enumerate() {
                for &n in lengths.iter().filter(|_| cases.takes()) {
                    let what = (id, (7 * id + n) % p, n);
                    let got = start(comm, kind, None, what)?.wait()?;
                    check(comm, kind, what, &got);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn each_is_right_by_every_algorithm_that_takes_it() {
    let tried = AtomicUsize::new(0);
    for p in [1, 2, 3, 4, 5, 7, 8, 12] {
        let run = |comm: &Comm| {
            for (id, kind) in KINDS.into_iter().enumerate() {
                let (root, n) = (id % p, 5);
                let length = n * p;
                let call = Call::new(kind, p, length).to_root(root);
                let fits = |one: &Algorithm| one.refused(&call).is_none();
                for algorithm in Algorithm::all(kind).filter(fits) {
                    let what = (id, root, n);
                    let got = start(comm, kind, Some(algorithm), what)?.wait()?;
                    check(comm, kind, what, &got);
                    tried.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
    assert!(tried.into_inner() > 1000);
}

/// All orders of three.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

#[test]
fn three_at_a_time_end_in_every_order_and_another_one_on_every_rank() {
    for p in [1, 2, 3, 5, 8, 13] {
        let run = |comm: &Comm| {
            let mut random = Random::new(p as u64);
            for turn in 0..60 {
                let kinds: [Collective; 3] = std::array::from_fn(|_| random.of(&KINDS));
                let n = random.of(&[0, 1, 9, 300]);
                let what = |one: usize| (3 * turn + one, (turn + one) % p, n);
                let mut open = Vec::new();
                for (one, kind) in kinds.into_iter().enumerate() {
                    open.push(Some(start(comm, kind, None, what(one))?));
                }
                for one in ORDERS[(turn + comm.rank()) % ORDERS.len()] {
                    let got = open[one].take().expect("once").wait()?;
                    check(comm, kinds[one], what(one), &got);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn all_blocks_may_have_other_lengths() {
    for p in [1, 2, 3, 6, 9] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            let counts: Vec<usize> = (0..p).map(|rank| rank * 3 % 5).collect();
            let total: usize = counts.iter().sum();
            let mine = vec![me; counts[me]];
            let all: Vec<Rank> = (0..p).flat_map(|rank| vec![rank; counts[rank]]).collect();
            let gathered = comm.iall_gather_v(mine.clone(), &counts, vec![p; total])?;
            let at_root = vec![p; if me == 1 % p { total } else { 0 }];
            let collected = comm.igather_v(1 % p, mine.clone(), &counts, at_root)?;
            let given = (me == 0).then(|| all.clone());
            let scattered = comm.iscatter_v(0, given, &counts, vec![p; counts[me]])?;
            let reduced = comm.ireduce_scatter_v(all.clone(), &counts, op::Sum)?;
            // Rank q gets q elements from each rank, whose number they are.
            let (to, from): (Vec<usize>, Vec<usize>) = ((0..p).collect(), vec![me; p]);
            let out = vec![me; to.iter().sum()];
            let exchanged = comm.iall_to_all_v(out, &to, vec![p; me * p], &from)?;
            let want: Vec<Rank> = (0..p).flat_map(|rank| vec![rank; me]).collect();
            assert_eq!(exchanged.wait()?, want);
            assert_eq!(reduced.wait()?, vec![me * p; counts[me]]);
            assert_eq!(scattered.wait()?, mine);
            let collected = collected.wait()?;
            assert!(if me == 1 % p {
                collected == all
            } else {
                collected.is_empty()
            });
            assert_eq!(gathered.wait()?, all);
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn a_scope_ends_those_that_were_not_waited_for() {
    for p in [1, 2, 3, 8] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            let (mut sum, mut first, mut all) = ([me; 3], [me], vec![0; 2 * p]);
            let (mut block, mut swapped, mut scanned) = ([9], vec![0; p], [1]);
            let (mut root, mut collected) = ([me], vec![0; if me == 0 { p } else { 0 }]);
            let mut share = [0];
            comm.scope(|s| {
                let sum = s.iall_reduce(&mut sum, op::Sum)?;
                s.ibroadcast(p - 1, &mut first)?;
                s.iall_gather(&[me, me + 1], &mut all)?;
                s.iscatter(
                    0,
                    Some(&vec![me + 5; p]).filter(|_| me == 0).map(|v| &v[..]),
                    &mut block,
                )?;
                s.iall_to_all(&vec![me; p], &mut swapped)?;
                s.iscan(&mut scanned, op::Sum)?;
                s.ireduce(0, &mut root, op::Max)?;
                s.igather(0, &[me], &mut collected)?;
                s.ireduce_scatter(&vec![1; p], &mut share, op::Sum)?;
                assert_eq!(sum.wait()?, [p * (p - 1) / 2; 3]);
                Ok(())
            })?;
            let ranks: Vec<Rank> = (0..p).collect();
            assert_eq!(
                (first, block, scanned, share),
                ([p - 1], [5], [me + 1], [p])
            );
            assert_eq!(
                (all, swapped),
                (
                    ranks.iter().flat_map(|r| [*r, r + 1]).collect(),
                    ranks.clone()
                )
            );
            assert_eq!(root, [if me == 0 { p - 1 } else { me }]);
            assert_eq!(collected, if me == 0 { ranks } else { vec![] });
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn no_rank_ends_a_barrier_before_all_have_started_it() {
    for p in [2, 3, 5, 8, 9, 17, 33] {
        for algorithm in [
            None,
            Some("dissemination"),
            Some("exchange"),
            Some("binomial"),
        ] {
            let started = AtomicUsize::new(0);
            let run = |comm: &Comm| {
                for turn in 1..20 {
                    started.fetch_add(1, Ordering::SeqCst);
                    let all_here = match algorithm {
                        None => comm.ibarrier()?,
                        Some(name) => comm.using(name.parse().unwrap()).ibarrier()?,
                    };
                    all_here.wait()?;
                    assert!(started.load(Ordering::SeqCst) >= turn * p);
                }
                Ok(())
            };
            let case = || format!("{p} ranks, {algorithm:?}");
            guarded(&case, || World::new(p).strict().run(run)).unwrap();
        }
    }
}

// ── progress ──

/// Every rank but the first and the last is in another call when its part of the pipeline has to be played.
fn goes_on_in_other_calls(comm: &Comm) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let chain = comm.using("chain".parse().expect("an algorithm"));
    let passed = chain.ibroadcast(0, vec![me; 500])?;
    if me + 1 == p {
        assert_eq!(passed.wait()?, vec![0; 500]);
        (0..p - 1).try_for_each(|to| comm.send(to, 1, &[me]))?;
        return comm.barrier();
    }
    match me % 4 {
        0 => _ = comm.recv::<Rank>(p - 1, 1)?,
        1 => _ = comm.irecv::<Rank>(Source::Any, Tag::Any)?.wait()?,
        2 => {
            comm.probe(Source::Any, 1)?;
            comm.recv_into(p - 1, 1, &mut [0usize])?;
        }
        _ => {
            let mut coming = comm.irecv::<Rank>(p - 1, 1)?;
            while coming.test()?.is_none() {}
        }
    }
    comm.barrier()?;
    assert_eq!(passed.wait()?, vec![0; 500]);
    Ok(())
}

#[test]
fn they_go_on_while_their_rank_is_in_any_other_call() {
    for p in [2, 3, 4, 5, 9, 16] {
        for buffering in [Buffering::Unbounded, Buffering::Bytes(64), Buffering::Zero] {
            for check in [false, true] {
                let world = World::new(p).check(check).buffering(buffering).strict();
                let case = || format!("{p} ranks, {buffering:?}, check({check})");
                guarded(&case, || world.run(goes_on_in_other_calls)).unwrap();
            }
        }
    }
}

#[test]
fn they_go_on_in_blocking_collectives_on_other_communicators() {
    for p in [3, 6, 12] {
        let run = |comm: &Comm| {
            let other = comm.dup()?;
            let sums = comm.using("chain".parse().expect("an algorithm"));
            let sum = sums.iall_reduce(vec![1u64; 400], op::Sum)?;
            // The last rank enters the barrier only after the sum, which all others carry on inside it.
            if comm.rank() + 1 == p {
                assert_eq!(sum.wait()?, vec![p as u64; 400]);
                return other.barrier();
            }
            other.barrier()?;
            assert_eq!(sum.wait()?, vec![p as u64; 400]);
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn progress_carries_them_on() {
    let run = |comm: &Comm| {
        let mut sum = comm.iall_reduce(vec![1u64; 3000], op::Sum)?;
        while !sum.is_done() {
            comm.progress()?;
        }
        assert_eq!(sum.test()?, Some(vec![3; 3000]));
        Ok(())
    };
    guarded(&|| "progress".into(), || World::new(3).strict().run(run)).unwrap();
}

// ── requests ──

#[test]
fn requests_of_messages_and_collectives_are_waited_for_together() {
    enum Done {
        Sum(Vec<Rank>),
        Got(Vec<Rank>),
        Sent,
        AllHere,
    }
    let run = |comm: &Comm| {
        let (me, p) = (comm.rank(), comm.size());
        let mut open = vec![
            comm.irecv::<Rank>((me + p - 1) % p, 0)?
                .map(|(got, _)| Done::Got(got)),
            comm.iall_reduce(vec![me], op::Sum)?.map(Done::Sum),
            comm.ibarrier()?.map(|()| Done::AllHere),
            comm.isend((me + 1) % p, 0, vec![me])?.map(|_| Done::Sent),
        ];
        let mut seen = 0;
        while let Some((_, done)) = Request::wait_any(&mut open)? {
            match done {
                Done::Sum(sum) => assert_eq!(sum, [p * (p - 1) / 2]),
                Done::Got(got) => assert_eq!(got, [(me + p - 1) % p]),
                Done::Sent | Done::AllHere => {}
            }
            seen += 1;
        }
        assert_eq!(seen, 4);
        Ok(())
    };
    for p in [1, 2, 5, 9] {
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
        for seed in 0..20 {
            let world = World::new(p).seed(seed).strict();
            guarded(&|| format!("{p} ranks, seed {seed}"), || world.run(run)).unwrap();
        }
    }
}

#[test]
fn one_that_is_dropped_or_cancelled_goes_on_for_the_others() {
    for p in [2, 3, 9] {
        let run = |comm: &Comm| {
            let sum = comm.iall_reduce(vec![1u32; 50], op::Sum)?;
            match comm.rank() {
                0 => drop(sum),
                1 => assert!(!sum.cancel()?),
                _ => assert_eq!(sum.wait()?, vec![p as u32; 50]),
            }
            comm.barrier()
        };
        let report = guarded(&|| format!("{p} ranks"), || World::new(p).run_each(run));
        assert!(
            report.outcomes.iter().all(|one| one.value().is_some()),
            "{report}"
        );
        assert_eq!(report.unfinished.len(), 1, "{report}");
        assert_eq!(report.unfinished[0].rank, 0);
        assert!(
            report.unfinished[0]
                .call
                .starts_with("iall_reduce(50 x u32"),
            "{report}"
        );
    }
}

#[test]
fn one_that_is_dropped_at_the_end_of_its_rank_is_no_mismatch() {
    let turn = Barrier::new(2);
    let run = |comm: &Comm| {
        let sum = comm.iall_reduce(vec![1u32; 2], op::Sum)?;
        // Both have sent; neither has looked for the other's message since.
        turn.wait();
        match comm.rank() {
            0 => drop(sum),
            _ => assert_eq!(sum.wait()?, [2, 2]),
        }
        Ok(())
    };
    for _ in 0..50 {
        let report = guarded(&|| "dropped".into(), || World::new(2).run_each(run));
        assert!(
            report.outcomes.iter().all(|one| one.value().is_some()),
            "{report}"
        );
        assert!(report.mismatch.is_none(), "{report}");
        assert!(
            report.unfinished.iter().all(|one| one.rank == 0),
            "{report}"
        );
    }
}

/// Ends a sum of all ranks without its result.
fn give_up(comm: &Comm, in_scope: bool, fails: bool) -> Result<()> {
    if !in_scope {
        return comm.iall_reduce(vec![1u64], op::Sum)?.cancel().map(drop);
    }
    let mut sum = [1u64];
    let ended = comm.scope(|s| {
        let request = s.iall_reduce(&mut sum, op::Sum)?;
        match fails {
            true => comm.send(99, 0, &[1u8]),
            false => request.cancel().map(drop),
        }
    });
    assert_eq!(ended.is_err(), fails);
    Ok(())
}

#[test]
fn one_that_is_cancelled_at_the_end_of_its_rank_is_no_mismatch() {
    for (in_scope, fails) in [(false, false), (true, false), (true, true)] {
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        let run = |comm: &Comm| {
            // The message of rank 0 comes when rank 1 is in no call any more.
            if comm.rank() == 0 {
                first.wait();
            }
            let done = give_up(comm, in_scope, fails);
            if comm.rank() == 1 {
                first.wait();
            }
            second.wait();
            done
        };
        let case = || format!("in a scope: {in_scope}, that fails: {fails}");
        let report = guarded(&case, || World::new(2).run_each(run));
        assert!(report.mismatch.is_none(), "{report}");
        report.into_result().unwrap();
    }
}

#[test]
fn a_forgotten_result_is_dropped_with_its_rank() {
    let run = |comm: &Comm| {
        std::mem::forget(comm.iall_reduce(vec![1u32], op::Sum)?);
        comm.barrier()
    };
    let report = guarded(&|| "forgotten".into(), || World::new(4).run_each(run));
    assert_eq!(report.unfinished.len(), 4, "{report}");
}

// ── every order of messages ──

#[test]
fn exploring_finds_no_order_in_which_they_fail() {
    let run = |comm: &Comm| {
        let me = comm.rank();
        let sum = comm.iall_reduce(vec![me], op::Sum)?;
        if me == 0 {
            let (first, _) = comm.recv::<Rank>(Source::Any, 0)?;
            let (second, _) = comm.recv::<Rank>(Source::Any, 0)?;
            assert_eq!(first[0] + second[0], 3);
        } else {
            comm.send(0, 0, &[me])?;
        }
        assert_eq!(sum.wait()?, [3]);
        Ok(())
    };
    let explored = guarded(&|| "explore".into(), || explore(3, run));
    assert!(explored.complete, "{explored}");
    assert_eq!(explored.orders, 2);
}

// ── deaths ──

fn sum_of(comm: &Comm, request: Request<'static, Vec<u64>>, n: usize) -> Result<()> {
    let got = request.wait()?;
    let p = comm.size() as u64;
    assert_eq!(got, vec![p * (p + 1) / 2; n]);
    Ok(())
}

fn after_death(comm: &Comm, done: Result<()>) -> Result<u64> {
    let Err(error) = done else {
        return Ok(comm.rank() as u64);
    };
    if !matches!(error.kind(), ErrorKind::Injected) {
        let again = comm.barrier().expect_err("the communicator is broken");
        assert_eq!(again.culprit(), error.culprit(), "{error}; then {again}");
    }
    Err(error)
}

fn three_sums(comm: &Comm) -> Result<()> {
    let mine = comm.rank() as u64 + 1;
    let short = comm.iall_reduce(vec![mine], op::Sum)?;
    let long = comm.iall_reduce(vec![mine; 2000], op::Sum)?;
    let here = comm.ibarrier()?;
    sum_of(comm, long, 2000)?;
    here.wait()?;
    sum_of(comm, short, 1)
}

#[test]
fn a_rank_that_dies_at_any_operation_is_named_by_all_others() {
    sweep("three sums", 1..=9, 0.5, |comm| {
        after_death(comm, three_sums(comm))
    });
    sweep_bufferings("three sums", |comm| after_death(comm, three_sums(comm)));
}

#[test]
fn a_panic_in_an_operator_is_its_ranks_own() {
    for p in [2, 4, 8] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            // In an exchange every rank folds.
            let exchange = comm.using(Algorithm::Exchange);
            let sum = exchange.iall_reduce(vec![me; 10], move |a: Rank, b: Rank| {
                assert!(me != 1, "in the operator");
                a + b
            })?;
            if me == 1 {
                loop {
                    comm.progress()?;
                }
            }
            sum.wait()
        };
        let report = guarded(&|| format!("{p} ranks"), || World::new(p).run_each(run));
        assert!(
            matches!(report.outcomes[1], Outcome::Panicked { .. }),
            "{report}"
        );
        assert_eq!(report.culprit, Some(1), "{report}");
    }
}

#[test]
fn an_operator_may_not_call_and_the_others_are_told() {
    let run = |comm: &Comm| {
        let inner = comm.dup()?;
        let sum = comm.iall_reduce(vec![comm.rank()], move |a: Rank, b: Rank| {
            assert!(matches!(
                inner.barrier().unwrap_err().kind(),
                ErrorKind::Usage(_)
            ));
            a + b
        })?;
        assert_eq!(sum.wait()?, [3]);
        Ok(())
    };
    guarded(&|| "in an operator".into(), || World::new(3).run(run)).unwrap();
}

// ── persistent calls ──

#[test]
fn persistent_collectives_give_the_same_as_blocking_ones_turn_after_turn() {
    for p in [1, 2, 3, 5, 8, 13] {
        let run = |comm: &Comm| {
            let me = comm.rank();
            let at_root = |n: usize| vec![0; if me == 0 { n } else { 0 }];
            let mut sum = comm.all_reduce_init(vec![0u64; 4], op::Sum)?;
            let mut passed = comm.broadcast_init(p - 1, vec![0u64; 3])?;
            let mut least = comm.reduce_init(0, vec![0u64; 2], op::Min)?;
            let mut share = comm.reduce_scatter_init(vec![0u64; p], vec![0], op::Sum)?;
            let mut collected = comm.gather_init(0, vec![0u64], at_root(p))?;
            let mut dealt = comm.scatter_init(0, at_root(p), vec![0u64])?;
            let mut all = comm.all_gather_init(vec![0u64; 2], vec![0; 2 * p])?;
            let mut swapped = comm.all_to_all_init(vec![0u64; p], vec![0; p])?;
            let mut scanned = comm.scan_init(vec![0u64], op::Sum)?;
            let mut before = comm.exclusive_scan_init(vec![0u64], 7, op::Sum)?;
            let mut here = comm.barrier_init()?;
            for turn in 0..6 {
                let mine = |rank: Rank| turn * 100 + rank as u64;
                let mut calls = [
                    &mut sum,
                    &mut passed,
                    &mut least,
                    &mut share,
                    &mut collected,
                    &mut dealt,
                    &mut all,
                    &mut swapped,
                    &mut scanned,
                    &mut before,
                ];
                for call in &mut calls {
                    call.input_mut()?.fill(mine(me));
                    call.start()?;
                    assert!(call.is_active() && call.input_mut().is_err());
                }
                here.start()?;
                here.wait()?;
                for call in calls.iter_mut().rev() {
                    while turn % 2 == 1 && !call.test()? {}
                    call.wait()?;
                }
                let each: Vec<u64> = (0..p).map(mine).collect();
                let total: u64 = each.iter().sum();
                assert_eq!(sum.output()?, vec![total; 4]);
                assert_eq!(passed.output()?, vec![mine(p - 1); 3]);
                assert_eq!(share.output()?, [total]);
                assert_eq!(swapped.output()?, each);
                assert_eq!(
                    all.output()?
                        .chunks(2)
                        .map(|two| two[0])
                        .collect::<Vec<_>>(),
                    each
                );
                assert_eq!(scanned.output()?, [each[..=me].iter().sum::<u64>()]);
                let sums_before = each[..me].iter().sum::<u64>();
                assert_eq!(before.output()?, [if me == 0 { 7 } else { sums_before }]);
                assert_eq!(dealt.output()?, [mine(0)]);
                if me == 0 {
                    assert_eq!(least.output()?, vec![mine(0); 2]);
                    assert_eq!(collected.output()?, each);
                }
            }
            Ok(())
        };
        guarded(&|| format!("{p} ranks"), || World::new(p).strict().run(run)).unwrap();
    }
}

#[test]
fn a_persistent_call_is_started_once_at_a_time_and_meets_the_plain_one() {
    let run = |comm: &Comm| {
        if comm.rank() == 1 {
            assert_eq!(comm.iall_reduce(vec![1], op::Sum)?.wait()?, [3]);
            return Ok(());
        }
        let mut sum = comm.all_reduce_init(vec![1], op::Sum)?;
        sum.start()?;
        let again = sum.start().unwrap_err();
        assert!(matches!(again.kind(), ErrorKind::Usage(_)), "{again}");
        sum.wait()?;
        sum.wait()?;
        assert_eq!(sum.output()?, [3]);
        Ok(())
    };
    guarded(&|| "once".into(), || World::new(3).strict().run(run)).unwrap();
}

#[test]
fn persistent_messages_carry_what_their_buffers_hold_at_each_start() {
    for buffering in [Buffering::Unbounded, Buffering::Bytes(64), Buffering::Zero] {
        let run = |comm: &Comm| {
            let (me, p) = (comm.rank(), comm.size());
            let (right, left) = ((me + 1) % p, (me + p - 1) % p);
            let mut sent = comm.send_init(right, 1, vec![0; 300])?;
            let mut asked = comm.ssend_init(right, 2, vec![me])?;
            let mut received = comm.recv_init(left, 1, vec![9; 301])?;
            let mut any = comm.recv_init(Source::Any, 2, vec![p])?;
            for turn in 0..20 {
                sent.input_mut()?.fill(turn * p + me);
                any.start()?;
                received.start()?;
                asked.start()?;
                sent.start()?;
                sent.wait()?;
                received.wait()?;
                asked.wait()?;
                any.wait()?;
                assert_eq!(received.output()?[..300], vec![turn * p + left; 300]);
                assert_eq!((received.output()?[300], any.output()?[0]), (9, left));
            }
            Ok(())
        };
        for p in [1, 2, 5] {
            let world = World::new(p).buffering(buffering).strict();
            guarded(&|| format!("{p} ranks, {buffering:?}"), || world.run(run)).unwrap();
        }
    }
}

#[test]
fn a_persistent_call_that_failed_says_so_when_it_is_started_again() {
    let run = |comm: &Comm| {
        let mut sum = comm.all_reduce_init(vec![1], op::Sum)?;
        if comm.rank() == 0 {
            return Ok(());
        }
        let error = sum.start().and_then(|()| sum.wait()).unwrap_err();
        assert_eq!(error.culprit(), Some(0), "{error}");
        assert!(sum.start().is_err());
        Ok(())
    };
    let report = guarded(&|| "failed".into(), || World::new(3).run_each(run));
    assert!(
        report.outcomes.iter().all(|one| one.value().is_some()),
        "{report}"
    );
}

// ── operators that panic, and other misuse ──

/// A sum that panics where it is told to.
#[derive(Clone, Copy)]
struct Fragile(bool);

impl rankfold::op::Operator<u64> for Fragile {
    fn combine(&self, left: u64, right: u64) -> u64 {
        assert!(!self.0, "fragile");
        left.wrapping_add(right)
    }

    fn commutes(&self) -> bool {
        true
    }
}

/// A request that its destructor looks at.
struct Watched(Request<'static, Vec<u64>>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.is_done();
    }
}

#[test]
fn a_destructor_may_look_at_a_request_whose_operator_has_panicked() {
    for p in [2, 3, 5, 8] {
        for own in [true, false] {
            let run = |comm: &Comm| {
                let fragile = Fragile(comm.rank() == 0);
                let other = comm.dup()?;
                let healthy = other.iall_reduce(vec![1; 9], op::Sum)?;
                let broken = comm.iall_reduce(vec![1; 9], fragile)?;
                let (watched, kept) = match own {
                    true => (broken, healthy),
                    false => (healthy, broken),
                };
                let watched = Watched(watched);
                if comm.rank() > 0 {
                    while !watched.0.is_done() {}
                    return Ok(());
                }
                comm.barrier()?;
                drop(kept);
                Ok(())
            };
            let case = || format!("{p} ranks, {own}");
            let report = guarded(&case, || World::new(p).run_each(run));
            assert!(
                !matches!(report.outcomes[0], Outcome::Returned(())),
                "{report}"
            );
        }
    }
}

#[test]
fn a_rank_whose_operator_panics_in_a_look_has_ended() {
    for p in [2, 3] {
        let run = |comm: &Comm| {
            let exchange = comm.using(Algorithm::Ring);
            let sum = exchange.iall_reduce(vec![1; 9], Fragile(comm.rank() == 0))?;
            if comm.rank() == 0 {
                let looks = std::panic::AssertUnwindSafe(|| while !sum.is_done() {});
                assert!(std::panic::catch_unwind(looks).is_err());
                assert!(comm.ibarrier().and_then(Request::wait).is_err());
                return Ok(());
            }
            sum.wait().map(drop)
        };
        let report = guarded(&|| format!("{p} ranks"), || World::new(p).run_each(run));
        assert!(
            report.culprit.is_none_or(|culprit| culprit == 0),
            "{report}"
        );
    }
}

#[test]
fn counts_that_are_too_large_are_refused() {
    for count in [3, 1 << 57, usize::MAX / 2] {
        let run = |comm: &Comm| {
            let counts = [count, 0];
            let refused = comm
                .ireduce_scatter_v(vec![1u64], &counts, op::Sum)
                .map(drop);
            assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Usage(_)));
            Ok(())
        };
        guarded(&|| format!("{count}"), || World::new(2).run(run)).unwrap();
    }
}

#[test]
fn a_persistent_call_whose_start_is_refused_can_still_be_started() {
    let run = |comm: &Comm| {
        let sum = std::cell::RefCell::new(comm.all_reduce_init(vec![1], op::Sum)?);
        comm.all_reduce(&mut [1], |a: i32, b: i32| {
            let refused = sum.borrow_mut().start().unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            a + b
        })?;
        sum.borrow_mut().start()?;
        sum.borrow_mut().wait()?;
        assert_eq!(sum.borrow_mut().output()?, [2]);
        Ok(())
    };
    guarded(&|| "refused".into(), || World::new(2).run(run)).unwrap();
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
