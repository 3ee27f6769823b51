//! Every algorithm that is a schedule: proved, run on numbers, and counted, for all small numbers of ranks and odd
//! lengths.

mod zoo;

use std::collections::HashMap;

use rankfold::check::{Certificate, Goal, check};
use rankfold::collective::{
    BinomialGather, BruckAllGather, DirectReduceScatter, ExclusiveScan, Pairwise,
    RingReduceScatter, halving_all_reduce, halving_reduce_scatter, hybrid_all_reduce,
    simple_exchange,
};
use rankfold::schedule::{FoldAlong, Keep, Schedule};
use rankfold::span::{self, Blocks};
use rankfold::topology::{Circle, Shift};
use zoo::{Exhibit, add, ceil_log2, compose, own_steps, tree, works, zoo};

/// The numbers of ranks: all up to 130 in optimised builds.
fn worlds() -> impl Iterator<Item = usize> {
    let (dense, all) = if cfg!(debug_assertions) {
        (12, false)
    } else {
        (130, true)
    };
    (1..=130).filter(move |&p| all || p <= dense || [31, 32, 33, 65, 130].contains(&p))
}

fn lengths(p: usize) -> Vec<usize> {
    let mut lengths = vec![0, 1, p - 1, p, p + 1, 37];
    lengths.sort_unstable();
    lengths.dedup();
    if cfg!(debug_assertions) && p > 12 {
        lengths.retain(|&n| n == p + 1 || n == 1);
    }
    lengths
}

fn worlds_and_lengths() -> impl Iterator<Item = (usize, usize)> {
    worlds().flat_map(|p| lengths(p).into_iter().map(move |n| (p, n)))
}

fn proved(exhibit: &Exhibit, p: usize, n: usize) -> Certificate {
    let goal = if exhibit.ordered {
        exhibit.goal.in_rank_order()
    } else {
        exhibit.goal
    };
    check(&exhibit.schedule, &goal)
        .unwrap_or_else(|fault| panic!("{} {p} {n}: {fault}", exhibit.name))
}

#[test]
fn who_copies_in_the_first_step_says_so() {
    for (p, n) in worlds_and_lengths() {
        for Exhibit { name, schedule, .. } in zoo(p, n) {
            let copies =
                (0..p).any(|rank| schedule.steps() > 0 && schedule.step(rank, 0).local.is_some());
            assert!(!copies || schedule.copies_first(), "{name} {p} {n}");
        }
    }
}

/// The reverse of a reduce-scatter that folds inside a rank, from inputs, is an all-gather from inputs.
#[test]
fn local_folds_run_backwards_as_copies() {
    for (p, n) in worlds_and_lengths() {
        let blocks = Blocks::even(n, p);
        let fold = DirectReduceScatter::to_blocks(blocks.clone()).keep(Keep::OwnBlock(blocks));
        let back = fold.reversed().swapped();
        check(&back, &Goal::all_gather(n).from_input())
            .unwrap_or_else(|fault| panic!("{p} {n}: {fault}"));
        let in_place = DirectReduceScatter::to_blocks(Blocks::even(n, p)).reversed();
        check(&in_place, &Goal::all_gather(n)).unwrap_or_else(|fault| panic!("{p} {n}: {fault}"));
    }
}

#[test]
fn all_are_proved_and_keep_rank_order_where_they_say_so() {
    for (p, n) in worlds_and_lengths() {
        for exhibit in zoo(p, n) {
            let proof = proved(&exhibit, p, n);
            assert!(proof.ordered || !exhibit.ordered);
            assert_eq!(proof.ranks(), p);
        }
    }
}

#[test]
fn those_said_to_be_out_of_order_are() {
    let worlds = || worlds().filter(|&p| (4..=9).contains(&p));
    let mut found = HashMap::new();
    for p in worlds() {
        for exhibit in zoo(p, p).into_iter().filter(|exhibit| !exhibit.ordered) {
            // Rings with equal rows, and trees as wide as the number of ranks, happen to be in order.
            let name = exhibit.name.split(' ').next().unwrap().to_owned();
            *found.entry(name).or_insert(false) |= !proved(&exhibit, p, p).ordered;
        }
    }
    let in_order: Vec<_> = found.iter().filter(|(_, out)| !**out).collect();
    assert!(in_order.is_empty(), "{in_order:?}");
    assert!(found.len() > 5);
}

#[test]
fn all_do_to_numbers_what_they_should() {
    let most = if cfg!(debug_assertions) { 9 } else { 40 };
    for p in (1..=most).chain([13, 16]) {
        for n in [0, 1, p - 1, p, p + 1, 37] {
            for exhibit in zoo(p, n) {
                let op = if exhibit.ordered { compose } else { add };
                assert!(
                    works(&exhibit.schedule, exhibit.meaning, n, op),
                    "{} {p} {n}",
                    exhibit.name
                );
            }
        }
    }
}

#[test]
fn the_next_active_step_is_the_one_that_scanning_finds() {
    for p in (1..=9).chain([13, 16, 33]) {
        for exhibit in zoo(p, p + 1) {
            let schedule = &exhibit.schedule;
            for rank in 0..p {
                let busy = |s: &usize| !schedule.step(rank, *s).is_idle();
                let want: Vec<_> = (0..schedule.steps()).filter(busy).collect();
                let next = |s: &usize| schedule.next_active(rank, Some(*s));
                let got: Vec<_> =
                    std::iter::successors(schedule.next_active(rank, None), next).collect();
                assert_eq!(got, want, "{} of {p} ranks, rank {rank}", exhibit.name);
                for s in 0..schedule.steps() {
                    let next = schedule.next_active(rank, Some(s));
                    assert_eq!(
                        next,
                        want.iter().copied().find(|&t| t > s),
                        "{}",
                        exhibit.name
                    );
                }
                assert_eq!(
                    schedule.next_active(rank, Some(usize::MAX)),
                    None,
                    "{}",
                    exhibit.name
                );
                (0..3).for_each(|s| assert!(schedule.step(rank, schedule.steps() + s).is_idle()));
            }
        }
    }
}

fn prove(schedule: &dyn Schedule, goal: Goal) -> Certificate {
    check(schedule, &goal).unwrap()
}

/// Compares the steps with messages, and the elements that every rank sends, receives and folds.
fn counts(proof: &Certificate, of: impl Fn(usize) -> [usize; 3]) -> bool {
    let same = |(rank, t): (usize, &rankfold::check::Traffic)| {
        of(rank) == [t.elements_out, t.elements_in, t.folded]
    };
    proof.traffic.iter().enumerate().all(same)
}

#[test]
fn pipelines_take_the_steps_of_their_closed_forms() {
    for p in worlds().filter(|&p| p >= 2) {
        let n = 37;
        for k in [1, 2, 4, 7, 37] {
            let steps = |name: &str, period| {
                let broadcast = own_steps(name, p, n).reversed().pipelined(k, period);
                prove(&broadcast, Goal::broadcast(0, n)).steps
            };
            let in_order = p.ilog2() as usize + (p - 1).ilog2() as usize;
            assert_eq!(steps("chain", 1), p + k - 2, "chain {p} {k}");
            assert_eq!(
                steps("in-order", 2),
                in_order + 2 * k - 2,
                "in-order {p} {k}"
            );
            assert_eq!(
                steps("fibonacci", 2),
                fibonacci_order(p) - 1 + 2 * k - 2,
                "fibonacci {p} {k}"
            );
        }
    }
}

/// Returns the smallest order of a Fibonacci tree with at least `nodes` nodes.
fn fibonacci_order(nodes: usize) -> usize {
    let sizes = std::iter::successors(Some((0, 1)), |&(a, b): &(usize, usize)| {
        Some((b, 1 + a + b))
    });
    sizes.take_while(|&(size, _)| size < nodes).count()
}

#[test]
fn the_published_table_of_steps_is_right() {
    let steps = |name: &str, p, k, period| {
        own_steps(name, p, 99)
            .reversed()
            .pipelined(k, period)
            .steps()
    };
    let row = |p| {
        let pipelines = [("chain", 1), ("in-order", 2), ("fibonacci", 2)];
        pipelines.map(|(name, period)| [steps(name, p, 1, period), steps(name, p, 4, period)])
    };
    assert_eq!(row(8), [[7, 10], [5, 11], [4, 10]]);
    assert_eq!(row(13), [[12, 15], [6, 12], [5, 11]]);
    let whole = |p| {
        [
            tree("k-tree:1", p, 9).steps(),
            tree("k-tree:2", p, 9).steps(),
        ]
    };
    assert_eq!([whole(8), whole(13)], [[3, 4], [4, 5]]);
    let all_reduce = |p| {
        let ring = RingReduceScatter::new(p, 9);
        [
            simple_exchange(p, 9).steps(),
            halving_all_reduce(p, 9).steps(),
            ring.clone().then(ring.reversed()).steps(),
        ]
    };
    assert_eq!([all_reduce(8), all_reduce(13)], [[3, 6, 14], [5, 8, 24]]);
}

/// Returns the dimensions of the cube, the number of ranks beyond it, and a rank's number in it if it takes part.
fn cube(p: usize, rank: usize) -> (usize, usize, Option<usize>) {
    let d = p.ilog2() as usize;
    let e = p - (1 << d);
    let v = if rank >= 2 * e {
        Some(rank - e)
    } else {
        rank.is_multiple_of(2).then_some(rank / 2)
    };
    (d, e, v)
}

/// Returns what a rank sends, receives and folds if its work inside the cube is `inside`, and it ends with `result`
/// elements for a rank that stood aside.
fn with_fold_in(p: usize, n: usize, rank: usize, inside: [usize; 3], result: usize) -> [usize; 3] {
    let (_, e, v) = cube(p, rank);
    match v {
        None => [n, result, 0],
        Some(v) if v < e => [inside[0] + result, inside[1] + n, inside[2] + n],
        Some(_) => inside,
    }
}

#[test]
fn simple_exchange_counts_as_it_should() {
    for (p, n) in worlds_and_lengths() {
        let proof = prove(&simple_exchange(p, n), Goal::all_reduce(n).in_rank_order());
        let (d, e, _) = cube(p, 0);
        assert_eq!(proof.steps, d + if e > 0 { 2 } else { 0 });
        assert!(
            counts(&proof, |rank| with_fold_in(p, n, rank, [d * n; 3], n)),
            "{p} {n}"
        );
        assert_eq!(proof.exchanges_in_place, p > 1 && n > 0);
    }
}

fn reverse(v: usize, bits: usize) -> usize {
    (0..bits).fold(0, |reversed, bit| reversed << 1 | v >> bit & 1)
}

/// Returns the sums of the ranges that the partner, and this rank, keep while halving.
fn halving_volume(p: usize, n: usize, v: usize, stages: usize) -> (usize, usize) {
    let d = p.ilog2() as usize;
    let kept = |v: usize, stage: usize| {
        let (parts, size) = (1 << d, 1 << (d - stage));
        let first = reverse(v, d) / size * size;
        span::block(n, parts, first).start..span::block(n, parts, first + size - 1).end
    };
    let sum = |who: &dyn Fn(usize) -> usize| (1..=stages).map(|s| kept(who(s - 1), s).len()).sum();
    (sum(&|stage| v ^ 1 << stage), sum(&|_| v))
}

#[test]
fn halving_and_doubling_counts_as_it_should() {
    for (p, n) in worlds_and_lengths() {
        let proof = prove(
            &halving_all_reduce(p, n),
            Goal::all_reduce(n).in_rank_order(),
        );
        let (d, e, _) = cube(p, 0);
        assert_eq!(proof.steps, 2 * d + if e > 0 { 2 } else { 0 });
        let volume = |rank| {
            let inside = cube(p, rank).2.map_or([0; 3], |v| {
                let (sent, kept) = halving_volume(p, n, v, d);
                // A rank sends all but its own part, and folds the ranges that it keeps.
                assert_eq!(sent, n - span::block(n, 1 << d, reverse(v, d)).len());
                [sent + kept, kept + sent, kept]
            });
            with_fold_in(p, n, rank, inside, n)
        };
        assert!(counts(&proof, volume), "{p} {n}");
    }
}

#[test]
fn equal_blocks_give_the_textbook_volumes() {
    for d in 0..=7 {
        let (p, n) = (1usize << d, 3 << d);
        let share = n / p * (p - 1);
        let halving = prove(&halving_all_reduce(p, n), Goal::all_reduce(n));
        assert!(counts(&halving, |_| [2 * share, 2 * share, share]));
        for s in 0..=d {
            let x = n >> s;
            let hybrid = prove(
                &hybrid_all_reduce(p, n, s),
                Goal::all_reduce(n).in_rank_order(),
            );
            let (d, s) = (d as usize, s as usize);
            assert_eq!(hybrid.steps, d + s);
            let (moved, folded) = (2 * (n - x) + (d - s) * x, n - x + (d - s) * x);
            assert!(
                counts(&hybrid, |_| [moved, moved, folded]),
                "{p} ranks, {s} stages"
            );
        }
    }
}

#[test]
fn halving_alone_takes_one_step_more_to_bring_the_blocks_home() {
    for (p, n) in worlds_and_lengths() {
        let (d, e, _) = cube(p, 0);
        let proof = prove(
            &halving_reduce_scatter(p, n),
            Goal::reduce_scatter(n).in_rank_order(),
        );
        assert_eq!(
            proof.steps,
            d + usize::from(d >= 2) + if e > 0 { 2 } else { 0 },
            "{p}"
        );
        let back = prove(
            &halving_reduce_scatter(p, n).reversed(),
            Goal::all_gather(n),
        );
        assert_eq!(
            (back.steps, back.elements()),
            (proof.steps, proof.elements())
        );
    }
}

#[test]
fn the_ring_counts_as_it_should() {
    for (p, n) in worlds_and_lengths() {
        let ring = RingReduceScatter::new(p, n);
        let proof = prove(&ring, Goal::reduce_scatter(n));
        let block = |rank: usize| span::block(n, p, rank).len();
        assert_eq!(proof.steps, p - 1);
        assert!(!proof.exchanges_in_place);
        let share = |rank: usize| n - block(rank);
        // A rank receives all blocks except that of the rank before it, which that one keeps.
        let before = |rank: usize| n - block((rank + p - 1) % p);
        assert!(
            counts(&proof, |rank| [share(rank), before(rank), before(rank)]),
            "{p} {n}"
        );
        let both = prove(&ring.clone().then(ring.reversed()), Goal::all_reduce(n));
        let total = |rank| share(rank) + before(rank);
        assert_eq!(both.steps, 2 * (p - 1));
        assert!(
            counts(&both, |rank| [total(rank), total(rank), before(rank)]),
            "{p} {n}"
        );
    }
}

#[test]
fn gather_and_all_gather_count_as_they_should() {
    for (p, n) in worlds_and_lengths() {
        let share = |rank| n - span::block(n, p, rank).len();
        let gather = prove(&BinomialGather::new(p, n), Goal::gather(0, n));
        assert_eq!((gather.steps, gather.messages()), (ceil_log2(p), p - 1));
        assert_eq!(gather.traffic[0].elements_in, share(0));
        let scatter = prove(&BinomialGather::new(p, n).reversed(), Goal::scatter(0, n));
        assert_eq!(scatter.traffic[0].elements_out, share(0));
        assert_eq!(scatter.elements(), gather.elements());

        let bruck = prove(&BruckAllGather::new(p, n), Goal::all_gather(n));
        assert_eq!(
            (bruck.message_steps, bruck.messages()),
            (ceil_log2(p), p * ceil_log2(p))
        );
        assert_eq!(bruck.steps, if p == 1 { 0 } else { ceil_log2(p) + 2 });
        assert!(
            bruck
                .traffic
                .iter()
                .enumerate()
                .all(|(rank, t)| t.elements_in == share(rank))
        );
    }
}

/// The messages of so many steps in which each rank sends to the one twice as far up as in the step before.
fn upwards(ranks: usize, steps: usize) -> usize {
    (0..steps).map(|s| ranks - (1 << s)).sum()
}

#[test]
fn scans_barriers_and_all_to_all_count_as_they_should() {
    for (p, n) in worlds_and_lengths() {
        let logs = ceil_log2(p);
        let scan = prove(
            &FoldAlong::new(Shift::new(p), n),
            Goal::scan(n).in_rank_order(),
        );
        assert_eq!((scan.steps, scan.messages()), (logs, upwards(p, logs)));
        let exclusive = ExclusiveScan::new(p, n);
        let exclusive = prove(&exclusive, Goal::exclusive_scan(n).in_rank_order());
        if p > 1 {
            let logs = ceil_log2(p - 1);
            let messages = p - 1 + upwards(p - 1, logs);
            assert_eq!(
                (exclusive.steps, exclusive.messages()),
                (1 + logs, messages)
            );
        }
        let barrier = prove(&FoldAlong::new(Circle::new(p), 0), Goal::barrier());
        assert_eq!(
            (barrier.steps, barrier.messages(), barrier.elements()),
            (logs, p * logs, 0)
        );
        let pairwise = Pairwise::all_to_all(Blocks::even(n, p));
        let pairwise = prove(&pairwise, Goal::all_to_all(n));
        assert_eq!(
            (pairwise.message_steps, pairwise.messages()),
            (p - 1, p * (p - 1))
        );
        let mut sent = pairwise.traffic.iter().enumerate();
        assert!(sent.all(|(rank, t)| t.elements_out == n - span::block(n, p, rank).len()));
    }
}

#[test]
fn the_last_active_step_is_the_one_that_looking_at_all_finds() {
    for (p, n) in [(1, 5), (2, 3), (5, 7), (8, 8)] {
        for Exhibit { name, schedule, .. } in zoo(p, n) {
            for rank in 0..p {
                let active = |&s: &usize| !schedule.step(rank, s).is_idle();
                for before in 0..schedule.steps() + 2 {
                    let want = (0..before.min(schedule.steps())).rev().find(active);
                    let got = schedule.last_active(rank, before);
                    assert_eq!(got, want, "{name} {p}: rank {rank} before {before}");
                }
            }
        }
    }
}

#[test]
fn a_million_ranks_are_only_arithmetic() {
    let p = 1 << 20;
    let chain = tree("chain", p, 1000).reversed().pipelined(100, 1);
    assert_eq!(chain.steps(), p + 98);
    assert_eq!(chain.next_active(p - 1, None), Some(p - 2));
    assert_eq!(chain.next_active(p - 1, Some(p - 2)), Some(p - 1));
    assert_eq!(chain.next_active(p - 1, Some(p + 97)), None);
    assert_eq!(
        chain
            .step(p / 2, p / 2 + 3)
            .send
            .unwrap()
            .region
            .runs()
            .next(),
        Some(30..40)
    );
    let flat = tree("flat", p, 1).reversed();
    assert_eq!(flat.next_active(0, Some(p / 2)), Some(p / 2 + 1));
}

#[test]
fn those_that_say_that_they_never_copy_do_not() {
    for (p, n) in [(1, 5), (2, 3), (5, 7), (8, 8), (11, 4)] {
        for Exhibit { name, schedule, .. } in zoo(p, n) {
            let copies = |rank, s| schedule.step(rank, s).local.is_some();
            let some = (0..p).any(|rank| (0..schedule.steps()).any(|s| copies(rank, s)));
            assert!(!some || schedule.may_copy(), "{name} {p}");
        }
    }
}
