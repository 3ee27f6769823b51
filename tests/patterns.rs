//! The laws of patterns, for every small number of ranks.

use rankfold::topology::{
    BinomialTo, Circle, CubeTo, Hypercube, Line, OwnSteps, Pattern, Shift, StarTo, Subtrees,
    Topology,
};

fn obeys_the_laws(pattern: &impl Pattern, name: &str) {
    let (n, steps) = (pattern.ranks(), pattern.steps());
    for s in 0..steps + 2 {
        for p in 0..n {
            let (to, from) = (pattern.to(p, s), pattern.from(p, s));
            assert!(
                s < steps || to.is_none() && from.is_none(),
                "{name}: step {s} of {steps}"
            );
            assert!(
                to.into_iter().chain(from).all(|rank| rank < n),
                "{name}: out of range"
            );
            assert!(
                to.is_none_or(|q| pattern.from(q, s) == Some(p)),
                "{name}: {p} sends in step {s}"
            );
            assert!(
                from.is_none_or(|q| pattern.to(q, s) == Some(p)),
                "{name}: {p} receives in step {s}"
            );
        }
    }
    (0..n).for_each(|rank| names_the_active_steps(pattern, rank, name));
}

fn names_the_active_steps(pattern: &impl Pattern, rank: usize, name: &str) {
    let active = |s: &usize| pattern.to(rank, *s).is_some() || pattern.from(rank, *s).is_some();
    let want: Vec<_> = (0..pattern.steps()).filter(active).collect();
    let next = |after: &usize| pattern.next_active(rank, Some(*after));
    let got: Vec<_> = std::iter::successors(pattern.next_active(rank, None), next).collect();
    assert_eq!(got, want, "{name}: active steps of rank {rank}");
    for before in 0..pattern.steps() + 2 {
        let last = want.iter().rev().find(|&&step| step < before);
        let got = pattern.last_active(rank, before);
        assert_eq!(
            got,
            last.copied(),
            "{name}: before step {before} at rank {rank}"
        );
    }
}

#[test]
fn trees_with_one_port_are_patterns() {
    for n in 1..=64 {
        for name in [
            "chain",
            "split-ring",
            "k-tree:3",
            "flat",
            "k-ary:2",
            "in-order",
            "fibonacci",
        ] {
            let tree = Topology::by_name(name, n).unwrap();
            obeys_the_laws(&tree.single_port(), name);
            obeys_the_laws(&tree.rooted(n / 2).single_port(), name);
        }
    }
}

#[test]
fn trees_without_double_arrivals_are_patterns_in_their_own_steps() {
    for n in 1..=64 {
        for name in ["chain", "k-tree:1", "in-order", "fibonacci"] {
            let tree = Topology::by_name(name, n).unwrap();
            obeys_the_laws(&OwnSteps::new(tree.clone()), name);
            obeys_the_laws(&OwnSteps::new(tree.rooted(n / 2)), name);
        }
    }
}

#[test]
fn exchanges_circles_and_shifts_are_patterns() {
    for n in 1..=64 {
        obeys_the_laws(&Circle::new(n), "circle");
        obeys_the_laws(&Shift::new(n), "shift");
        obeys_the_laws(&Line::new(n), "line");
    }
    (0..=6).for_each(|d| obeys_the_laws(&Hypercube::new(d), "hypercube"));
}

/// Checks a tree to the root whose messages represent runs of ranks, each being the ranks that have sent to the sender.
fn stands_for_runs(tree: &impl Subtrees, name: &str) {
    obeys_the_laws(tree, name);
    let mut behind: Vec<_> = (0..tree.ranks()).map(|rank| rank..rank + 1).collect();
    for triple in Pattern::triples(tree) {
        let (from, into) = (behind[triple.from].clone(), behind[triple.to].clone());
        assert_eq!(
            tree.behind(triple.from, triple.step),
            from,
            "{name}: {triple}"
        );
        assert_eq!(tree.subtree(triple.from), from, "{name}: {triple}");
        assert!(
            from.end == into.start || into.end == from.start,
            "{name}: {triple}"
        );
        behind[triple.to] = from.start.min(into.start)..from.end.max(into.end);
    }
    assert_eq!(behind[tree.root()], 0..tree.ranks(), "{name}");
    assert_eq!(tree.subtree(tree.root()), 0..tree.ranks(), "{name}");
}

#[test]
fn trees_to_any_root_stand_for_runs_of_ranks() {
    for n in 1..=40 {
        for root in 0..n {
            stands_for_runs(&BinomialTo::new(n, root), "binomial");
            stands_for_runs(&StarTo::new(n, root), "star");
            obeys_the_laws(&CubeTo::new(n, root), "cube");
            if n.is_power_of_two() || root == 0 {
                stands_for_runs(&CubeTo::new(n, root), "cube");
            }
        }
    }
}

#[test]
fn the_binomial_tree_to_rank_0_is_the_family() {
    for n in 1..=130 {
        let family = Topology::binomial(n).single_port();
        let triples: Vec<_> = Pattern::triples(&BinomialTo::new(n, 0)).collect();
        assert_eq!(triples, Pattern::triples(&family).collect::<Vec<_>>());
    }
}

/// Returns which ranks each rank has heard from when all pass on everything they know.
fn heard(pattern: &impl Pattern) -> Vec<u128> {
    let mut known: Vec<u128> = (0..pattern.ranks()).map(|rank| 1 << rank).collect();
    for s in 0..pattern.steps() {
        let before = known.clone();
        for (q, known) in known.iter_mut().enumerate() {
            *known |= pattern.from(q, s).map_or(0, |p| before[p]);
        }
    }
    known
}

#[test]
fn news_reach_those_whom_they_should() {
    for n in 1..=100 {
        assert!(
            heard(&Circle::new(n))
                .iter()
                .all(|&known| known == (1 << n) - 1),
            "circle of {n}"
        );
        let below = |rank: usize| (1u128 << (rank + 1)) - 1;
        assert!(
            heard(&Shift::new(n))
                .iter()
                .enumerate()
                .all(|(rank, &known)| known == below(rank)),
            "{n}"
        );
    }
    assert!(
        heard(&Hypercube::new(6))
            .iter()
            .all(|&known| known == u128::from(u64::MAX))
    );
}

#[test]
fn enormous_patterns_are_only_arithmetic() {
    let n = usize::MAX / 2 + 2;
    let (circle, shift) = (Circle::new(n), Shift::new(n));
    assert_eq!(circle.to(n - 1, circle.steps() - 1), Some(n - 2));
    assert_eq!(shift.to(n - 1, 0), None);
    assert_eq!(Hypercube::new(20).next_active(5, Some(18)), Some(19));
}
