//! What a default call executes is what was proved: every element that a rank takes from another, and every fold with its
//! operands and their order, compared with the schedule that [`check`] proves for the algorithm that `explain` names.
//!
//! Elements are terms over the ranks' contributions, so a result shows who folded what with what, in which order. The
//! moves between ranks are noted where they are executed ([`moves`]).

use std::collections::BTreeMap;

use super::formulas::{Folds, Formula, Term, interpret, pairs, start};
use crate::check::{Goal, check, check_pieces, check_with};
use crate::collective::{Algorithm, Call, Collective, all_reduce_at};
use crate::machine::Machine;
use crate::moves::{self, Move};
use crate::schedule::Schedule;
use crate::span::{Blocks, Pieces};
use crate::topology::TreeName;
use crate::{Comm, Rank, Result, Trace, World};

/// The actions that one rank executed in a call.
struct Executed {
    algorithm: Algorithm,
    /// Whether ranks took turns on the CPUs.
    crowded: bool,
    output: Vec<Term>,
    moves: Vec<Move>,
}

/// Makes a call as a program does, without naming an algorithm.
fn execute(comm: &Comm, call: &Call) -> Result<Executed> {
    let (input, mut output) = start(call, comm.rank());
    let algorithm = comm.explain::<Term>(call)?.algorithm;
    let op = Folds {
        commutes: call.commutes,
    };
    moves::take();
    match call.blocks.is_even() && call.pieces.is_none() {
        true => make(comm, call, &input, &mut output, op)?,
        false => make_v(comm, call, &input, &mut output, op)?,
    }
    Ok(Executed {
        algorithm,
        crowded: comm.is_crowded(),
        output,
        moves: moves::take(),
    })
}

fn make(comm: &Comm, call: &Call, input: &[Term], output: &mut [Term], op: Folds) -> Result<()> {
    let root = call.root;
    match call.collective {
        Collective::Barrier => comm.barrier()?,
        Collective::Broadcast => comm.broadcast(root, output)?,
        Collective::Reduce if comm.rank() == root => comm.reduce(root, output, op)?,
        Collective::Reduce => comm.reduce(root, &mut input.to_vec(), op)?,
        Collective::AllReduce if call.from_input => comm.all_reduce_into(input, output, op)?,
        Collective::AllReduce => comm.all_reduce(output, op)?,
        Collective::ReduceScatter => comm.reduce_scatter(input, output, op)?,
        Collective::AllGather => comm.all_gather(input, output)?,
        Collective::Gather => comm.gather_into(root, input, output)?,
        Collective::Scatter => {
            let all = (comm.rank() == root).then_some(input);
            comm.scatter(root, all, output)?;
        }
        Collective::AllToAll => comm.all_to_all(input, output)?,
        Collective::Scan => comm.scan(output, op)?,
        Collective::ExclusiveScan => comm.exclusive_scan(output, Formula::Nothing.term(), op)?,
    }
    Ok(())
}

/// A call with a count for each rank, or for each pair of ranks.
fn make_v(comm: &Comm, call: &Call, input: &[Term], output: &mut [Term], op: Folds) -> Result<()> {
    let (me, root) = (comm.rank(), call.root);
    let ranks = || 0..call.ranks();
    if let Some(pieces) = &call.pieces {
        let to: Vec<_> = ranks().map(|to| pieces.sent(me, to).len()).collect();
        let from: Vec<_> = ranks().map(|from| pieces.put(me, from).len()).collect();
        return comm.all_to_all_v(input, &to, output, &from);
    }
    let counts: Vec<_> = ranks().map(|rank| call.blocks.count(rank)).collect();
    match call.collective {
        Collective::Gather => comm.gather_v(root, input, &counts, output),
        Collective::Scatter => {
            let all = (me == root).then_some(input);
            comm.scatter_v(root, all, &counts, output)
        }
        Collective::AllGather => comm.all_gather_v(input, &counts, output),
        _ => comm.reduce_scatter_v(input, &counts, output, op),
    }
}

/// The schedule that is proved for a call, with what the run alone decides: which rank was the last to arrive where
/// ranks take turns, the cache lines at which shares of vectors are cut, and whether two ranks fold whole vectors instead.
fn proved(call: &Call, ranks: &[Executed]) -> Box<dyn Schedule> {
    let algorithm = ranks[0].algorithm;
    let all = || ranks.iter().flat_map(|rank| &rank.moves);
    let folds_at_one = call.crowded && call.collective == Collective::AllReduce;
    if algorithm == Algorithm::Cells && folds_at_one && ranks.len() > 2 {
        let is_read = |one: &Move, rank| one.from == rank && one.to != rank;
        let readers = |rank| all().filter(|one| is_read(one, rank)).count();
        let last = (0..ranks.len()).find(|&rank| readers(rank) > 1);
        return Box::new(all_reduce_at(call, last.unwrap_or(0)));
    }
    if algorithm == Algorithm::Direct && is_whole(call, all()) {
        return of_whole_vectors(call.collective).schedule(call).unwrap();
    }
    if algorithm == Algorithm::Direct && folds_shares(call) {
        let own = |rank| all().find(|one| one.from == rank && one.to == rank);
        let counts: Vec<_> = (0..ranks.len())
            .map(|rank| own(rank).map_or(0, |own| own.run.len()))
            .collect();
        let blocks = Blocks::of(&counts).unwrap();
        for one in all() {
            let block = blocks.block(one.to);
            assert!(
                one.run == block || one.run == blocks.block(one.from),
                "{one:?}"
            );
        }
        return algorithm
            .schedule(&call.clone().with_blocks(blocks))
            .unwrap();
    }
    algorithm.schedule(call).unwrap()
}

/// Whether two ranks have folded whole vectors.
fn is_whole<'a>(call: &Call, mut moves: impl Iterator<Item = &'a Move>) -> bool {
    let takes_all = |one: &Move| one.from != one.to && one.run.len() == call.length();
    use Collective::*;
    let may_be =
        matches!(call.collective, Reduce | Scan) || call.collective == AllReduce && call.from_input;
    may_be && call.ranks() == 2 && call.length() > 0 && moves.any(takes_all)
}

/// The algorithm whose messages are the reads of two ranks that fold whole vectors.
fn of_whole_vectors(collective: Collective) -> Algorithm {
    match collective {
        Collective::Reduce => Algorithm::tree(TreeName::BINOMIAL),
        Collective::Scan => Algorithm::Doubling,
        _ => Algorithm::Exchange,
    }
}

/// Whether ranks fold shares of a vector that are cut at cache lines.
fn folds_shares(call: &Call) -> bool {
    use Collective::*;
    // Two ranks copy in an exclusive scan.
    let copies = call.collective == ExclusiveScan && call.ranks() == 2;
    matches!(call.collective, AllReduce | Reduce | Scan | ExclusiveScan) && !copies
}

fn goal(call: &Call) -> Goal {
    let goal = Goal::of(call.collective, call.root, call.length());
    let goal = if call.from_input {
        goal.from_input()
    } else {
        goal
    };
    if call.commutes {
        goal
    } else {
        goal.in_rank_order()
    }
}

/// Compares a call with its proof.
fn compare(call: &Call, ranks: &[Executed]) {
    let crowded = ranks[0].crowded;
    let call = &Call {
        crowded,
        ..call.clone()
    };
    let schedule = proved(call, ranks);
    let proof = match &call.pieces {
        Some(pieces) => check_pieces(&*schedule, pieces.clone()),
        None if call.blocks.is_even() => check(&*schedule, &goal(call)),
        None => check_with(&*schedule, &goal(call), call.blocks.clone()),
    };
    proof.unwrap_or_else(|fault| panic!("{call:?}: {fault}"));
    let (outputs, planned) = interpret(&*schedule, call);
    for (rank, executed) in ranks.iter().enumerate() {
        let algorithm = executed.algorithm;
        // The exclusive scan leaves the vector of rank 0 as it is, and its schedule need not.
        let free = call.collective == Collective::ExclusiveScan && rank == 0;
        assert!(
            free || executed.output == outputs[rank],
            "{algorithm} executes other folds than were proved, at rank {rank}: {call:?}"
        );
    }
    let all = ranks.iter().flat_map(|rank| &rank.moves);
    let executed = pairs(all.map(|one| (one.from, one.to, one.run.len())));
    let algorithm = ranks[0].algorithm;
    assert_eq!(
        executed, planned,
        "{algorithm} makes other moves than were proved: {call:?}"
    );
}

/// Every root of up to nine ranks; of more, those at the ends and in the middle.
fn roots(collective: Collective, ranks: usize) -> Vec<Rank> {
    match (collective.has_root(), ranks) {
        (false, _) => vec![0],
        (true, ..=9) => (0..ranks).collect(),
        (true, _) => vec![0, 1, ranks / 2, ranks - 1],
    }
}

/// Every collective, commuting or not, in place or not, to every [root](roots), with vectors for cells and for memory
/// that is read in place; of two ranks, also such that are folded whole.
fn calls(ranks: usize) -> Vec<Call> {
    let lengths: &[usize] = match ranks {
        2 => &[0, 3, 1100, 4100],
        _ => &[0, 3, 1100],
    };
    let mut calls = Vec::new();
    for collective in Collective::all() {
        for n in lengths.iter().copied() {
            let even = match collective {
                Collective::AllGather
                | Collective::Gather
                | Collective::Scatter
                | Collective::AllToAll => n * ranks,
                _ => n,
            };
            let call = Call::new(collective, ranks, even);
            for root in roots(collective, ranks) {
                let call = call.clone().to_root(root);
                if collective.folds() {
                    calls.push(call.clone().commuting());
                }
                if collective == Collective::AllReduce {
                    calls.push(call.clone().from_input());
                }
                calls.push(call);
            }
        }
    }
    calls
}

/// Calls with a count for each rank, some of them 0, and for each pair of ranks.
fn uneven_calls(ranks: usize) -> Vec<Call> {
    let mut calls = Vec::new();
    for each in [1, 400] {
        let counts: Vec<_> = (0..ranks).map(|rank| (7 * rank + 1) % 4 * each).collect();
        let blocks = Blocks::of(&counts).unwrap();
        let call =
            |collective| Call::new(collective, ranks, blocks.length()).with_blocks(blocks.clone());
        calls.extend([call(Collective::AllGather), call(Collective::ReduceScatter)]);
        calls.push(call(Collective::ReduceScatter).commuting());
        for root in roots(Collective::Gather, ranks) {
            let rooted = [Collective::Gather, Collective::Scatter];
            calls.extend(rooted.map(|collective| call(collective).to_root(root)));
        }
        let pairs: Vec<_> = (0..ranks * ranks).map(|pair| 5 * pair % 3 * each).collect();
        calls.push(Call::of_pieces(Pieces::of(&pairs).unwrap()));
    }
    calls
}

fn all_calls(ranks: usize) -> Vec<Call> {
    [calls(ranks), uneven_calls(ranks)].concat()
}

/// Whether each call was one of whole vectors, if it was made by `direct`.
fn whole(calls: &[Call], executed: &[Vec<Executed>]) -> Vec<bool> {
    let moves = |i: usize| executed.iter().flat_map(move |rank| &rank[i].moves);
    (0..calls.len())
        .map(|i| is_whole(&calls[i], moves(i)))
        .collect()
}

fn execute_all(comm: &Comm, calls: &[Call]) -> Result<Vec<Executed>> {
    calls.iter().map(|call| execute(comm, call)).collect()
}

/// Compares all calls with their proofs; returns the algorithm of each.
fn compare_all(calls: &[Call], executed: Vec<Vec<Executed>>) -> Vec<Algorithm> {
    let mut executed: Vec<_> = executed.into_iter().map(Vec::into_iter).collect();
    let compared = calls.iter().map(|call| {
        let ranks: Vec<_> = executed
            .iter_mut()
            .map(|rank| rank.next().unwrap())
            .collect();
        compare(call, &ranks);
        ranks[0].algorithm
    });
    compared.collect()
}

#[test]
fn what_a_default_call_executes_is_what_was_proved() {
    let mut seen = BTreeMap::<_, usize>::new();
    for ranks in 1..=17 {
        let calls = all_calls(ranks);
        let executed = World::new(ranks).run(|comm| execute_all(comm, &calls));
        for algorithm in compare_all(&calls, executed.unwrap()) {
            *seen.entry(algorithm.to_string()).or_default() += 1;
        }
    }
    println!("{seen:?}");
    let ways = ["cells", "direct", "doubling"];
    assert!(ways.iter().all(|way| seen.contains_key(*way)));
}

/// Where each rank has a CPU of its own, no rank folds for all.
#[test]
fn what_ranks_that_take_no_turns_execute_is_what_was_proved() {
    for ranks in [3, 4, 5, 8, 13] {
        let calls = all_calls(ranks);
        let world = World::new(ranks).machine(Machine::from_text("core:16").unwrap());
        let executed = world.run(|comm| execute_all(comm, &calls)).unwrap();
        assert!(!executed[0][0].crowded);
        compare_all(&calls, executed);
    }
}

/// Two ranks fold shares if they are near, and whole vectors if they are far: some calls of each kind do.
#[test]
fn what_near_and_far_ranks_execute_is_what_was_proved() {
    let calls = all_calls(2);
    for far in [false, true] {
        let executed = World::new(2).run(|comm| {
            comm.shared.epoch().insist_on_far(far);
            execute_all(comm, &calls)
        });
        let executed = executed.unwrap();
        let folded = whole(&calls, &executed);
        let algorithms = compare_all(&calls, executed);
        for collective in [Collective::AllReduce, Collective::Reduce, Collective::Scan] {
            let direct = |i: usize| folded[i] && algorithms[i] == Algorithm::Direct;
            let some = (0..calls.len()).any(|i| calls[i].collective == collective && direct(i));
            assert_eq!(some, far, "{collective}");
        }
    }
}

/// A message as it is counted and traced: from, to, bytes.
type Message = (Rank, Rank, usize);

fn messages_of(call: &Call, schedule: &dyn Schedule) -> Vec<Message> {
    let all = (0..call.ranks()).flat_map(|rank| {
        let sends = (0..schedule.steps()).filter_map(move |step| schedule.step(rank, step).send);
        sends.map(move |send| (rank, send.peer, send.region.elements() * size_of::<Term>()))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all
}

/// The messages of a trace, call by call.
fn traced(trace: &Trace, calls: usize) -> Vec<Vec<Message>> {
    let mut all = vec![Vec::new(); calls];
    for message in &trace.messages {
        all[message.sent_in % calls].push((message.from, message.to, message.bytes));
    }
    all.iter_mut().for_each(|messages| messages.sort_unstable());
    all
}

/// When messages are traced, rank 0 folds for all, even with more ranks than CPUs, and of two ranks each a share, even if
/// they are far apart.
#[test]
fn what_a_traced_call_executes_and_counts_is_what_was_proved() {
    let cores = |cores: usize| Machine::from_text(&format!("core:{cores}")).unwrap();
    let near = [2, 3, 5, 8, 13].map(|ranks| [(ranks, false, 1), (ranks, false, ranks)]);
    for (ranks, far, there) in near.into_iter().flatten().chain([(2, true, 2)]) {
        let calls = all_calls(ranks);
        let world = World::new(ranks).machine(cores(there)).trace(true);
        let report = world.run_each(|comm| {
            comm.shared.epoch().insist_on_far(far);
            execute_all(comm, &calls)
        });
        let traced = traced(&report.trace().unwrap(), calls.len());
        let executed = report.into_result().unwrap();
        let crowded = executed[0][0].crowded;
        assert_eq!(crowded, there < ranks);
        let algorithms = compare_all(&calls, executed);
        for ((call, algorithm), traced) in calls.iter().zip(algorithms).zip(traced) {
            // No message stands for an arrival at the gate.
            if algorithm != Algorithm::Gate {
                let call = &Call {
                    crowded,
                    ..call.clone()
                };
                let schedule = algorithm.schedule(call).unwrap();
                assert_eq!(
                    traced,
                    messages_of(call, &*schedule),
                    "{algorithm}: {call:?}"
                );
            }
        }
    }
}
