//! Every collective call, and each with one thing changed.

use rankfold::check::Goal;
use rankfold::collective::Algorithm;
use rankfold::op::{First, OperatorKind};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::{Topology, TreeName};
use rankfold::{Order, hypercube};

use super::{Case, count, counts, last, signed, unsigned};

const BINOMIAL: Algorithm = Algorithm::tree(TreeName::BINOMIAL);
const CHAIN: Algorithm = Algorithm::tree(TreeName::Chain);

/// Returns barriers.
fn barriers() -> Vec<Case> {
    vec![
        case!("barrier", |comm, _| comm.barrier()),
        case!("barrier, dissemination", |comm, _| {
            comm.using(Algorithm::Dissemination).barrier()
        }),
        case!("barrier, binomial", |comm, _| comm
            .using(BINOMIAL)
            .barrier()),
    ]
}

/// Returns broadcasts of elements.
fn broadcasts() -> Vec<Case> {
    vec![
        case!("broadcast", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast from the last", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.broadcast(last(comm), &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast of one more", |comm, camp| {
            let mut v = camp.buf(camp.n + 1);
            let done = comm.broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast of i64", |comm, camp| {
            let mut v = signed(&camp.buf(camp.n));
            let done = comm.broadcast(0, &mut v);
            camp.saw(&unsigned(&v), done)
        }),
        case!("broadcast, binomial", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.using(BINOMIAL).broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
        case!("broadcast, scatter-ring", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.using(Algorithm::ScatterRing).broadcast(0, &mut v);
            camp.saw(&v, done)
        }),
    ]
}

/// Returns gathers of elements.
fn gathers() -> Vec<Case> {
    vec![
        case!("gather", |comm, camp| {
            let done = comm.gather(0, &camp.buf(camp.n));
            done.and_then(|all| camp.saw(&all.unwrap_or_default(), Ok(())))
        }),
        case!("gather at the last", |comm, camp| {
            let ranks = if camp.rank == last(comm) {
                comm.size()
            } else {
                0
            };
            let mut all = camp.buf(ranks * camp.n);
            let done = comm.gather_into(last(comm), &camp.buf(camp.n), &mut all);
            camp.saw(&all, done)
        }),
        case!("gather, flat", |comm, camp| {
            let done = comm
                .using(Algorithm::tree(TreeName::Flat))
                .gather(0, &camp.buf(camp.n));
            done.and_then(|all| camp.saw(&all.unwrap_or_default(), Ok(())))
        }),
        case!("gather with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let whole = if camp.rank == 0 {
                counts.iter().sum()
            } else {
                0
            };
            let mut all = camp.buf(whole);
            let done = comm.gather_v(0, &camp.buf(counts[camp.rank]), &counts, &mut all);
            camp.saw(&all, done)
        }),
    ]
}

/// Returns scatters of elements.
fn scatters() -> Vec<Case> {
    vec![
        case!("scatter", |comm, camp| {
            let all = (camp.rank == 0).then(|| camp.buf(comm.size() * camp.n));
            let mut v = camp.buf(camp.n);
            let done = comm.scatter(0, all.as_deref(), &mut v);
            camp.saw(&v, done)
        }),
        case!("scatter from the last", |comm, camp| {
            let all = (camp.rank == last(comm)).then(|| camp.buf(comm.size() * camp.n));
            let mut v = camp.buf(camp.n);
            let done = comm.scatter(last(comm), all.as_deref(), &mut v);
            camp.saw(&v, done)
        }),
        case!("scatter with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let all = (camp.rank == 0).then(|| camp.buf(counts.iter().sum()));
            let mut v = camp.buf(counts[camp.rank]);
            let done = comm.scatter_v(0, all.as_deref(), &counts, &mut v);
            camp.saw(&v, done)
        }),
    ]
}

/// Returns calls in which all ranks receive elements of all.
fn exchanges() -> Vec<Case> {
    vec![
        case!("all_gather", |comm, camp| {
            let mut all = camp.buf(comm.size() * camp.n);
            let done = comm.all_gather(&camp.buf(camp.n), &mut all);
            camp.saw(&all, done)
        }),
        case!("all_gather, ring", |comm, camp| {
            let mut all = camp.buf(comm.size() * camp.n);
            let done = comm
                .using(Algorithm::Ring)
                .all_gather(&camp.buf(camp.n), &mut all);
            camp.saw(&all, done)
        }),
        case!("all_gather with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let mut all = camp.buf(counts.iter().sum());
            let done = comm.all_gather_v(&camp.buf(counts[camp.rank]), &counts, &mut all);
            camp.saw(&all, done)
        }),
        case!("all_to_all", |comm, camp| {
            let mut v = camp.buf(comm.size() * camp.n);
            let done = comm.all_to_all(&v.clone(), &mut v);
            camp.saw(&v, done)
        }),
        case!("all_to_all, bruck", |comm, camp| {
            let mut v = camp.buf(comm.size() * camp.n);
            let done = comm.using(Algorithm::Bruck).all_to_all(&v.clone(), &mut v);
            camp.saw(&v, done)
        }),
        case!("all_to_all with counts", |comm, camp| {
            let counts = vec![camp.n; comm.size()];
            let mut v = camp.buf(comm.size() * camp.n);
            let done = comm.all_to_all_v(&v.clone(), &counts, &mut v, &counts);
            camp.saw(&v, done)
        }),
    ]
}

/// Returns reductions to one rank.
fn reduces() -> Vec<Case> {
    vec![
        case!("reduce", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.reduce(0, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce to the last", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.reduce(last(comm), &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce by another operator", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.reduce(0, &mut v, camp.op(OperatorKind::Max));
            camp.saw(&v, done)
        }),
        case!("reduce, chain", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm
                .using(CHAIN)
                .reduce(0, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
    ]
}

/// Returns reductions to all ranks.
fn all_reduces() -> Vec<Case> {
    vec![
        case!("all_reduce", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce of one more", |comm, camp| {
            let mut v = camp.buf(camp.n + 1);
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce of i64", |comm, camp| {
            let mut v = signed(&camp.buf(camp.n));
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&unsigned(&v), done)
        }),
    ]
}

/// Returns fused reductions.
fn fused() -> Vec<Case> {
    vec![
        case!("fused", |comm, camp| {
            let (mut v, mut w) = (camp.buf(camp.n), camp.buf(2));
            let done = comm.fused(|f| {
                f.all_reduce(&mut v, camp.op(OperatorKind::Sum));
                f.all_reduce(&mut w, camp.op(OperatorKind::Max));
            });
            camp.saw(&w, Ok(()))?;
            camp.saw(&v, done)
        }),
        case!("fused in another order", |comm, camp| {
            let (mut v, mut w) = (camp.buf(camp.n), camp.buf(2));
            let done = comm.fused(|f| {
                f.all_reduce(&mut w, camp.op(OperatorKind::Max));
                f.all_reduce(&mut v, camp.op(OperatorKind::Sum));
            });
            camp.saw(&w, Ok(()))?;
            camp.saw(&v, done)
        }),
        case!("fused of one vector", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.fused(|f| f.all_reduce(&mut v, camp.op(OperatorKind::Sum)));
            camp.saw(&v, done)
        }),
        case!("fused of i64", |comm, camp| {
            let mut v = signed(&camp.buf(camp.n));
            let done = comm.fused(|f| f.all_reduce(&mut v, camp.op(OperatorKind::Sum)));
            camp.saw(&unsigned(&v), done)
        }),
        case!("fused by an operator of its own", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.fused(|f| f.all_reduce(&mut v, camp.op(OperatorKind::Own)));
            camp.saw(&v, done)
        }),
    ]
}

/// Returns reductions to all ranks by other operators, and by other algorithms.
fn all_reduces_by_other_operators_and_algorithms() -> Vec<Case> {
    vec![
        case!("all_reduce by an operator of its own", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.all_reduce(&mut v, camp.op(OperatorKind::Own));
            camp.saw(&v, done)
        }),
        case!("all_reduce by a closure", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.all_reduce(&mut v, |a, b| camp.fold(a, b));
            camp.saw(&v, done)
        }),
        case!("all_reduce, exchange", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm
                .using(Algorithm::Exchange)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce, halving", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm
                .using(Algorithm::Halving)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce, hybrid:1", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let hybrid = Algorithm::Hybrid { stages: 1 };
            let done = comm
                .using(hybrid)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
    ]
}

/// Returns reductions to all ranks in segments.
fn pipelined_all_reduces() -> Vec<Case> {
    vec![
        case!("all_reduce, chain:segments=3", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Algorithm::pipelined(TreeName::Chain, 3);
            let done = comm
                .using(chain)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("all_reduce, chain:segments=4", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Algorithm::pipelined(TreeName::Chain, 4);
            let done = comm
                .using(chain)
                .all_reduce(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
    ]
}

/// Returns reductions to blocks.
fn reduce_scatters() -> Vec<Case> {
    vec![
        case!("reduce_scatter", |comm, camp| {
            let all = camp.buf(comm.size() * camp.n);
            let mut v = camp.buf(camp.n);
            let done = comm.reduce_scatter(&all, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce_scatter, ring", |comm, camp| {
            let all = camp.buf(comm.size() * camp.n);
            let mut v = camp.buf(camp.n);
            let done = comm.using(Algorithm::Ring).reduce_scatter(
                &all,
                &mut v,
                camp.op(OperatorKind::Sum),
            );
            camp.saw(&v, done)
        }),
        case!("reduce_scatter with counts", |comm, camp| {
            let counts = counts(comm, camp.n);
            let all = camp.buf(counts.iter().sum());
            let mut v = camp.buf(counts[camp.rank]);
            let done = comm.reduce_scatter_v(&all, &counts, &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
    ]
}

/// Returns prefix reductions, and reductions over a topology.
fn scans_and_reductions_over_topologies() -> Vec<Case> {
    vec![
        case!("scan", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.scan(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("scan, chain", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.using(CHAIN).scan(&mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("exclusive_scan", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let done = comm.exclusive_scan(&mut v, camp.own(), camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("reduce_over a chain", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Topology::chain(comm.size());
            let done = comm
                .reduce_over(&chain, &mut v, camp.op(OperatorKind::Sum))
                .run();
            camp.saw(&v, done)
        }),
        case!("reduce_over a chain by arrival", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = Topology::chain(comm.size());
            let sum = comm.reduce_over(&chain, &mut v, camp.op(OperatorKind::Sum));
            let done = sum.order(Order::Arrival).run();
            camp.saw(&v, done)
        }),
    ]
}

/// Returns broadcasts and reductions of owned values.
fn broadcast_and_reduced_values() -> Vec<Case> {
    vec![
        case!("broadcast_value", |comm, camp| {
            let mine = (camp.rank == 0).then(|| camp.buf(1));
            let got = comm.values().broadcast(0, mine)?;
            camp.saw(&got, Ok(()))
        }),
        case!("broadcast_value from the last", |comm, camp| {
            let mine = (camp.rank == last(comm)).then(|| camp.buf(1));
            let got = comm.values().broadcast(last(comm), mine)?;
            camp.saw(&got, Ok(()))
        }),
        case!("broadcast_value of text", |comm, camp| {
            let mine = (camp.rank == 0).then(|| camp.mark.to_string());
            let got = comm.values().broadcast(0, mine)?;
            count(&camp.watch.strays, got != camp.mark.to_string());
            Ok(())
        }),
        case!("reduce_value", |comm, camp| {
            let got = comm
                .values()
                .reduce(0, camp.buf(1), |a, b| camp.fold_all(a, b))?;
            camp.saw(&got.unwrap_or_default(), Ok(()))
        }),
        case!("all_reduce_value", |comm, camp| {
            let got = comm
                .values()
                .all_reduce(camp.buf(1), |a, b| camp.fold_all(a, b))?;
            camp.saw(&got, Ok(()))
        }),
    ]
}

/// Returns calls that exchange or scan owned values.
fn exchanged_and_scanned_values() -> Vec<Case> {
    vec![
        case!("gather_value", |comm, camp| {
            let got = comm.values().gather(0, camp.own())?;
            camp.saw(&got.unwrap_or_default(), Ok(()))
        }),
        case!("all_gather_value", |comm, camp| {
            let got = comm.values().all_gather(camp.own())?;
            camp.saw(&got, Ok(()))
        }),
        case!("scatter_value", |comm, camp| {
            let all = (camp.rank == 0).then(|| camp.buf(comm.size()));
            let got = comm.values().scatter(0, all)?;
            camp.saw(&[got], Ok(()))
        }),
        case!("all_to_all_value", |comm, camp| {
            let got = comm.values().all_to_all(camp.buf(comm.size()))?;
            camp.saw(&got, Ok(()))
        }),
        case!("scan_value", |comm, camp| {
            let fold = |a, b| camp.fold_all(a, b);
            let got = comm.values().scan(camp.buf(1), fold)?;
            camp.saw(&got, Ok(()))
        }),
        case!("exclusive_scan_value", |comm, camp| {
            let fold = |a, b| camp.fold_all(a, b);
            let got = comm.values().exclusive_scan(camp.buf(1), fold)?;
            camp.saw(&got.unwrap_or_default(), Ok(()))
        }),
    ]
}

/// Returns calls with schedules and functions of the caller.
fn schedules_and_functions_of_the_caller() -> Vec<Case> {
    vec![
        case!("hypercube", |comm, camp| {
            if !comm.size().is_power_of_two() {
                return comm.using(Algorithm::Exchange).barrier();
            }
            let got = hypercube(comm, camp.buf(1), |a, b, _| camp.fold_all(a, b))?;
            camp.saw(&got, Ok(()))
        }),
        case!("run_schedule, reduce", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = FoldAlong::new(Topology::chain(comm.size()).single_port(), camp.n);
            let goal = Goal::reduce(0, camp.n);
            let done = comm.run_schedule(&chain, &goal, &[], &mut v, camp.op(OperatorKind::Sum));
            camp.saw(&v, done)
        }),
        case!("run_schedule, broadcast", |comm, camp| {
            let mut v = camp.buf(camp.n);
            let chain = FoldAlong::new(Topology::chain(comm.size()).single_port(), camp.n);
            let goal = Goal::broadcast(0, camp.n);
            let done = comm.run_schedule(&chain.reversed(), &goal, &[], &mut v, First);
            camp.saw(&v, done)
        }),
    ]
}

/// Returns all cases in the order of their lines.
pub fn all_cases() -> Vec<Case> {
    let themes = [
        barriers(),
        broadcasts(),
        gathers(),
        scatters(),
        exchanges(),
        reduces(),
        all_reduces(),
        fused(),
        all_reduces_by_other_operators_and_algorithms(),
        pipelined_all_reduces(),
        reduce_scatters(),
        scans_and_reductions_over_topologies(),
        broadcast_and_reduced_values(),
        exchanged_and_scanned_values(),
        schedules_and_functions_of_the_caller(),
    ];
    themes.into_iter().flatten().collect()
}
