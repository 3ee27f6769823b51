//! Messages, steps and elements of the algorithms.

use rankfold::check::Certificate;
use rankfold::collective::{Algorithm, BruckAllToAll, Call, Collective};
use rankfold::schedule::Schedule;

use super::proved;

fn counted(algorithm: &str, call: &Call) -> Certificate {
    let algorithm: Algorithm = algorithm.parse().unwrap();
    let schedule = algorithm.schedule(call).unwrap();
    proved(algorithm, call, &schedule)
}

fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}

#[test]
fn a_reduce_for_operators_that_do_not_commute_takes_one_step_more_to_another_root() {
    for p in 2..=17 {
        for name in [
            "chain",
            "k-tree:2",
            "in-order",
            "fibonacci",
            "chain:segments=4",
        ] {
            let call = Call::new(Collective::Reduce, p, 40);
            let to_0 = counted(name, &call);
            let turned = counted(name, &call.clone().to_root(1).commuting());
            let passed_on = counted(name, &call.to_root(1));
            assert_eq!(turned.steps, to_0.steps);
            assert_eq!(passed_on.steps, to_0.steps + 1, "{name} {p}");
            assert_eq!(passed_on.elements(), to_0.elements() + 40);
        }
        // Blocks of neighbours work for any root.
        for root in 0..p {
            let call = Call::new(Collective::Reduce, p, 40).to_root(root);
            assert_eq!(counted("binomial", &call).steps, ceil_log2(p));
        }
    }
}

#[test]
fn halving_to_one_rank_moves_two_shares_at_the_root() {
    for d in 1..=6u32 {
        let (p, n) = (1usize << d, 3 << d);
        for root in [0, 1, p - 1] {
            let proof = counted(
                "halving",
                &Call::new(Collective::Reduce, p, n).to_root(root),
            );
            let share = n / p * (p - 1);
            assert_eq!(proof.steps, 2 * d as usize);
            let at_root = proof.traffic[root];
            assert_eq!(
                [at_root.elements_in, at_root.elements_out, at_root.folded],
                [2 * share, share, share]
            );
        }
    }
}

#[test]
fn gathers_and_scatters_to_any_root_move_as_much_as_they_must() {
    for p in 1..=20 {
        for (root, n) in (0..p).flat_map(|root| [(root, p), (root, 5 * p + 2)]) {
            let own = rankfold::span::block(n, p, root).len();
            for (name, messages) in [("binomial", ceil_log2(p)), ("flat", p - 1)] {
                let gather = counted(name, &Call::new(Collective::Gather, p, n).to_root(root));
                let scatter = counted(name, &Call::new(Collective::Scatter, p, n).to_root(root));
                assert_eq!(gather.message_steps, messages);
                assert_eq!(gather.messages(), p - 1);
                assert_eq!(gather.traffic[root].elements_in, n - own);
                assert_eq!(scatter.traffic[root].elements_out, n - own);
                assert_eq!(
                    (gather.message_steps, gather.elements()),
                    (scatter.message_steps, scatter.elements())
                );
            }
        }
    }
}

#[test]
fn a_scatter_takes_the_steps_of_its_tree_and_none_to_copy_a_ranks_own_block() {
    for p in 2..=40 {
        let taken = |name: &str| {
            let call = Call::new(Collective::Scatter, p, 3 * p).to_root(p / 2);
            counted(name, &call).steps
        };
        assert_eq!(taken("binomial"), p.next_power_of_two().ilog2() as usize);
        assert_eq!(taken("flat"), p - 1);
        if p.is_power_of_two() {
            assert_eq!(taken("hypercube"), p.ilog2() as usize);
        }
    }
}

#[test]
fn doubling_takes_no_step_to_bring_blocks_home() {
    for p in 1..=40usize {
        let proof = counted("doubling", &Call::new(Collective::AllGather, p, 3 * p));
        let beyond = if p.is_power_of_two() { 0 } else { 2 };
        assert_eq!(proof.message_steps, p.ilog2() as usize + beyond);
    }
}

#[test]
fn a_broadcast_by_scatter_and_doubling_moves_two_shares() {
    for d in 1..=6 {
        let (p, n) = (1usize << d, 5 << d);
        for root in [0, 1, p - 1] {
            let call = Call::new(Collective::Broadcast, p, n).to_root(root);
            let proof = counted("scatter-doubling", &call);
            let share = n / p * (p - 1);
            assert_eq!(proof.steps, 2 * d);
            assert_eq!(proof.traffic[root].elements_out, 2 * share);
            let ring = counted("scatter-ring", &call);
            assert_eq!(ring.steps, d + p - 1);
            assert_eq!(ring.traffic[root].elements_out, 2 * share);
        }
    }
}

#[test]
fn bruck_sends_few_messages_of_at_most_half_the_blocks() {
    for p in 1..=40usize {
        for n in [0, 1, p, 3 * p, 3 * p + 1] {
            let proof = counted("bruck", &Call::new(Collective::AllToAll, p, n));
            assert_eq!(proof.message_steps, ceil_log2(p));
            let slot = n.div_ceil(p);
            // The distances below p that have the bit set.
            let moved = |bit: usize| (0..p).filter(|j| j >> bit & 1 == 1).count();
            let all: usize = (0..ceil_log2(p)).map(moved).sum();
            assert!((0..ceil_log2(p)).all(|bit| moved(bit) <= p / 2));
            assert!(proof.traffic.iter().all(|t| t.elements_out == all * slot));
            let most = BruckAllToAll::new(p, n);
            assert!((0..p).all(|rank| most.lengths(rank).scratch <= 2 * p * slot));
        }
    }
}

#[test]
fn scans_count_as_they_should() {
    for d in 1..=6u32 {
        let (p, n) = (1usize << d, 7);
        let proof = counted("exchange", &Call::new(Collective::Scan, p, n));
        assert_eq!(proof.message_steps, d as usize);
        let sent = |rank: usize, s: u32| match (rank >> s & 1 == 1, s + 1 == d) {
            (true, true) => 0,
            (true, false) | (false, true) => n,
            (false, false) => 2 * n,
        };
        let all = |rank| (0..d).map(|s| sent(rank, s)).sum::<usize>();
        assert!(
            proof
                .traffic
                .iter()
                .enumerate()
                .all(|(rank, t)| t.elements_out == all(rank))
        );
    }
    for p in 2..=20 {
        for k in [1, 2, 5] {
            let name = format!("chain:segments={k}");
            let scan = counted(&name, &Call::new(Collective::Scan, p, 40));
            assert_eq!(scan.steps, p + k - 2);
            let exclusive = counted(&name, &Call::new(Collective::ExclusiveScan, p, 40));
            assert_eq!(exclusive.steps, if p == 2 { 1 } else { 1 + p - 1 + k - 2 });
        }
    }
}

#[test]
fn calls_that_leave_inputs_as_they_are_have_no_more_room_than_they_need() {
    let lengths = |algorithm: Algorithm, call: Call, rank| {
        let schedule = algorithm.schedule(&call).unwrap();
        let lengths = schedule.lengths(rank);
        [lengths.input, lengths.output, lengths.scratch]
    };
    let chain = "chain".parse().unwrap();
    let reduce = || Call::new(Collective::Reduce, 4, 9).to_root(2).commuting();
    let room = |rank| lengths(chain, reduce(), rank);
    assert_eq!(
        [2, 3, 0, 1].map(room),
        [[0, 9, 0], [9, 0, 9], [9, 0, 9], [9, 0, 0]]
    );
    let binomial = Algorithm::tree(rankfold::topology::TreeName::BINOMIAL);
    let gather = || Call::new(Collective::Gather, 8, 80).to_root(0);
    let room = |rank| lengths(binomial, gather(), rank);
    assert_eq!(
        [0, 1, 2, 4].map(room),
        [[10, 80, 0], [10, 0, 0], [10, 0, 20], [10, 0, 40]]
    );
    let pairwise = Call::new(Collective::ReduceScatter, 8, 80).commuting();
    assert_eq!(lengths(Algorithm::Pairwise, pairwise, 3), [80, 10, 0]);
    let into = Call::new(Collective::AllReduce, 8, 80).from_input();
    assert_eq!(lengths(Algorithm::Halving, into, 3), [80, 80, 0]);
}
