//! Topologies: every family for every small number of ranks, against definitions in plain code.

use rankfold::{
    Rank,
    topology::{Topology, TopologyError, Triple},
};

/// Returns every family on `n` ranks, with k up to 5 where there is one.
fn families(n: usize) -> Vec<Topology> {
    let mut all = vec![
        Topology::chain(n),
        Topology::decreasing_ring(n),
        Topology::split_ring(n),
        Topology::binomial(n),
        Topology::flat(n),
        Topology::flat_serial(n),
        Topology::in_order(n),
        Topology::fibonacci(n),
    ];
    for k in 1..=5 {
        all.extend([
            Topology::k_ring(n, k),
            Topology::k_tree(n, k),
            Topology::k_ary(n, k),
        ]);
    }
    all
}

/// Returns the same tree as a table.
fn as_table(tree: &Topology) -> Topology {
    Topology::from_triples(tree.ranks(), tree.root(), tree.triples()).unwrap()
}

fn triple((from, step, to): (Rank, usize, Rank)) -> Triple {
    Triple { from, step, to }
}

fn triples(all: &[(Rank, usize, Rank)]) -> Vec<Triple> {
    all.iter().copied().map(triple).collect()
}

fn sorted(tree: &Topology) -> Vec<Triple> {
    let mut all: Vec<_> = tree.triples().collect();
    all.sort();
    all
}

fn floor_log2(n: usize) -> usize {
    n.ilog2() as usize
}

// ── laws ──

/// Checks the laws of all topologies one by one.
fn assert_laws(tree: &Topology) {
    let n = tree.ranks();
    for q in 0..n {
        let mut want: Vec<_> = tree.triples().filter(|t| t.to == q).collect();
        want.sort_by_key(|t| (t.step, t.from));
        let got: Vec<_> = tree.predecessors(q).collect();
        assert_eq!(got, want, "{tree:?}, rank {q}");
        assert_eq!(tree.predecessor_count(q), want.len(), "{tree:?}, rank {q}");
        assert_next_steps(tree, q, &want);
        assert_eq!(
            tree.successor(q).is_none(),
            q == tree.root(),
            "{tree:?}, rank {q}"
        );
        assert_path_to_root(tree, q);
    }
    assert_eq!(tree.triples().count(), n - 1);
    assert_eq!(
        tree.triples().map(|t| t.step + 1).max().unwrap_or(0),
        tree.steps(),
        "{tree:?}"
    );
    assert!(n == 1 || tree.triples().any(|t| t.step == 0), "{tree:?}");
}

fn assert_next_steps(tree: &Topology, q: Rank, entering: &[Triple]) {
    let mut want: Vec<_> = entering.iter().map(|t| t.step).collect();
    want.dedup();
    let first = tree.next_step(q, None);
    let got: Vec<_> = std::iter::successors(first, |&s| tree.next_step(q, Some(s))).collect();
    assert_eq!(got, want, "{tree:?}, rank {q}");
}

fn assert_path_to_root(tree: &Topology, start: Rank) {
    let (mut at, mut hops, mut last) = (start, 0, None);
    while let Some((step, to)) = tree.successor(at) {
        assert!(
            last < Some(step) && to < tree.ranks(),
            "{tree:?}, path of {start}"
        );
        (at, hops, last) = (to, hops + 1, Some(step));
        assert!(hops < tree.ranks(), "{tree:?}, path of {start}");
    }
    assert_eq!(at, tree.root());
}

#[test]
fn every_family_keeps_the_laws() {
    (1..=64)
        .flat_map(families)
        .for_each(|tree| assert_laws(&tree));
}

#[test]
fn every_family_keeps_the_laws_under_every_root_and_so_does_its_table() {
    for tree in (1..=20).flat_map(families) {
        for r in 0..tree.ranks() {
            let turned = tree.rooted(r);
            assert_eq!(turned.root(), r);
            assert_laws(&turned);
            let table = as_table(&turned);
            assert_laws(&table);
            assert_eq!(table, turned);
            assert_laws(&table.rooted(0));
            assert_eq!(table.rooted(0), tree);
        }
    }
}

#[test]
fn turning_renames_ranks_and_nothing_else() {
    for tree in (1..=16).flat_map(families) {
        let n = tree.ranks();
        for (r, then) in (0..n).map(|r| (r, (r * 7 + 3) % n)) {
            let renamed = |t: Triple, by: usize| Triple {
                from: (t.from + by) % n,
                to: (t.to + by) % n,
                ..t
            };
            let mut want: Vec<_> = tree.triples().map(|t| renamed(t, then)).collect();
            want.sort();
            assert_eq!(sorted(&tree.rooted(then)), want);
            assert_eq!(tree.rooted(r).rooted(then), tree.rooted(then));
        }
    }
}

#[test]
fn a_million_ranks_need_no_table() {
    let n = 1 << 20;
    for tree in families(n) {
        for p in [0, 1, 2, 3, n / 2 - 1, n / 2, n / 2 + 1, n - 2, n - 1] {
            assert!(
                tree.predecessors(p)
                    .take(9)
                    .all(|t| tree.successor(t.from) == Some((t.step, p)))
            );
            if let Some((step, q)) = tree.successor(p) {
                assert!(step < tree.steps() && q < n);
                assert_eq!(
                    tree.single_port().from(q, tree.port_step(p).unwrap()),
                    Some(p),
                    "{tree:?}"
                );
            }
        }
    }
}

#[test]
fn a_width_beyond_the_ranks_counts_as_the_ranks() {
    for n in 2..=20 {
        for k in [n - 1, n, usize::MAX] {
            for tree in [
                Topology::k_ring(n, k),
                Topology::k_tree(n, k),
                Topology::k_ary(n, k),
            ] {
                assert_eq!(tree, Topology::flat(n), "{tree:?}");
                assert_laws(&tree);
            }
        }
    }
}

#[test]
#[should_panic(expected = "a topology of 0 ranks")]
fn no_ranks_is_a_mistake() {
    Topology::fibonacci(0);
}

#[test]
#[should_panic(expected = "width k = 0 on 8 ranks")]
fn no_width_is_a_mistake() {
    Topology::k_tree(8, 0);
}

#[test]
#[should_panic(expected = "rank 8 of a topology with 8 ranks")]
fn a_rank_that_is_not_there_is_a_mistake() {
    Topology::chain(8).rooted(3).successor(8);
}

// ── the families as their sources define them ──

#[test]
fn the_worked_example_of_both_papers_is_the_2_tree_on_8_ranks() {
    let top = [
        (1, 0, 0),
        (2, 0, 0),
        (4, 0, 3),
        (5, 0, 3),
        (7, 0, 6),
        (3, 1, 0),
        (6, 1, 0),
    ];
    let tree = Topology::from_triples(8, 0, triples(&top)).unwrap();
    assert_eq!(tree, Topology::k_tree(8, 2));
    assert!(tree.check_strict().is_ok());
}

#[test]
fn the_k_tree_is_what_its_triples_say() {
    for (n, k) in (1..=130).flat_map(|n| (1..=6).map(move |k| (n, k))) {
        let (b, mut want) = (k + 1, Vec::new());
        let powers =
            std::iter::successors(Some(1), |unit| Some(unit * b)).take_while(|&unit| unit < n);
        for (t, unit) in powers.enumerate() {
            for q in (0..n).step_by(unit * b) {
                want.extend(
                    (1..=k)
                        .map(|s| triple((q + s * unit, t, q)))
                        .filter(|t| t.from < n),
                );
            }
        }
        want.sort();
        assert_eq!(sorted(&Topology::k_tree(n, k)), want, "{k}-tree on {n}");
    }
}

#[test]
fn rings_are_rows_of_neighbours() {
    for n in 1..=64usize {
        let up = (1..n).map(|p| triple((p, p - 1, (p + 1) % n)));
        assert_eq!(
            sorted(&Topology::decreasing_ring(n)),
            up.collect::<Vec<_>>()
        );
        let down = (1..n).map(|p| triple((p, n - 1 - p, p - 1)));
        assert_eq!(sorted(&Topology::chain(n)), down.collect::<Vec<_>>());
        let a = n / 2; // ⌈(n-1)/2⌉
        let one = (1..=a).map(|p| triple((p, a - p, p - 1)));
        let other = (a + 1..n).map(|p| triple((p, n - 1 - p, if p == a + 1 { 0 } else { p - 1 })));
        assert_eq!(
            sorted(&Topology::split_ring(n)),
            one.chain(other).collect::<Vec<_>>()
        );
        assert_eq!(Topology::k_ring(n, 1), Topology::chain(n));
        assert_eq!(Topology::k_ring(n, 2), Topology::split_ring(n));
    }
}

#[test]
fn a_k_ring_has_its_longer_rows_first() {
    for (n, k) in (2..=64).flat_map(|n| (1..n).map(move |k| (n, k))) {
        let (m, mut lowest, mut want) = (n - 1, 1, Vec::new());
        for row in 0..k {
            let length = m / k + usize::from(row < m % k);
            let highest = lowest + length - 1;
            want.push(triple((lowest, length - 1, 0)));
            want.extend((lowest + 1..=highest).map(|p| triple((p, highest - p, p - 1))));
            lowest = highest + 1;
        }
        assert_eq!(sorted(&Topology::k_ring(n, k)), want, "{k}-ring on {n}");
    }
}

#[test]
fn stars_and_heaps_are_what_they_are_called() {
    for n in 1..=64usize {
        let flat = (1..n).map(|p| triple((p, 0, 0)));
        assert_eq!(sorted(&Topology::flat(n)), flat.collect::<Vec<_>>());
        let serial = (1..n).map(|p| triple((p, p - 1, 0)));
        assert_eq!(
            sorted(&Topology::flat_serial(n)),
            serial.collect::<Vec<_>>()
        );
        for k in 1..=5 {
            let depth = |v: Rank| {
                std::iter::successors(Some(v), |&v| Some(v.checked_sub(1)? / k)).count() - 1
            };
            let heap = (1..n).map(|p| triple((p, depth(n - 1) - depth(p), (p - 1) / k)));
            assert_eq!(
                sorted(&Topology::k_ary(n, k)),
                heap.collect::<Vec<_>>(),
                "{k}-ary on {n}"
            );
        }
    }
}

/// Returns the children of every rank in the order in which a broadcast serves them: latest step first.
fn serving_order(tree: &Topology) -> Vec<Vec<Rank>> {
    let children = |q| {
        let mut all: Vec<_> = tree.predecessors(q).collect();
        all.reverse();
        all.iter().map(|t| t.from).collect()
    };
    (0..tree.ranks()).map(children).collect()
}

/// Returns the triples of a tree given by its children in serving order: every child one step after its parent or its
/// sibling, then time reversed.
fn served(children: &[Vec<Rank>]) -> Vec<Triple> {
    let (mut broadcast, mut ready) = (Vec::new(), vec![(0, 0)]);
    while let Some((rank, step)) = ready.pop() {
        for (turn, &child) in children[rank].iter().enumerate() {
            broadcast.push(triple((child, step + turn, rank)));
            ready.push((child, step + turn + 1));
        }
    }
    let last = broadcast.iter().map(|t| t.step).max().unwrap_or(0);
    let mut all: Vec<_> = broadcast
        .into_iter()
        .map(|t| Triple {
            step: last - t.step,
            ..t
        })
        .collect();
    all.sort();
    all
}

#[test]
fn in_order_and_fibonacci_on_8_ranks_are_the_known_tables() {
    let none = Vec::new;
    let in_order = [
        vec![4],
        none(),
        vec![1, 3],
        none(),
        vec![2, 6],
        none(),
        vec![5, 7],
        none(),
    ];
    assert_eq!(serving_order(&Topology::in_order(8)), in_order);
    let fibonacci = [
        vec![5, 1],
        vec![3, 2],
        none(),
        vec![4],
        none(),
        vec![6],
        vec![7],
        none(),
    ];
    assert_eq!(serving_order(&Topology::fibonacci(8)), fibonacci);
    assert_eq!(sorted(&Topology::fibonacci(8)), served(&fibonacci));
}

/// The in-order tree, by the rule for a rank's parent.
fn in_order_children(n: usize) -> Vec<Vec<Rank>> {
    let mut children = vec![Vec::new(); n];
    for v in 1..n {
        let b = 1 << v.trailing_zeros();
        let up = (v ^ b) | (2 * b);
        children[if up < n { up } else { v ^ b }].push(v);
    }
    children
}

/// The Fibonacci tree, by its recursion.
fn fibonacci_children(n: usize) -> Vec<Vec<Rank>> {
    fn size(order: usize) -> usize {
        if order < 2 {
            order
        } else {
            1 + size(order - 1) + size(order - 2)
        }
    }
    fn plant(root: Rank, order: usize, children: &mut [Vec<Rank>]) {
        let subtrees = [
            (root + 1 + size(order.saturating_sub(2)), order - 1),
            (root + 1, order.saturating_sub(2)),
        ];
        for (child, order) in subtrees {
            if order > 0 && child < children.len() {
                children[root].push(child);
                plant(child, order, children);
            }
        }
    }
    let order = (1..).find(|&order| size(order) >= n).unwrap();
    let mut children = vec![Vec::new(); n];
    plant(0, order, &mut children);
    children
}

#[test]
fn in_order_and_fibonacci_are_broadcasts_turned_round() {
    for n in 1..=260 {
        assert_eq!(
            sorted(&Topology::in_order(n)),
            served(&in_order_children(n)),
            "in-order on {n}"
        );
        assert_eq!(
            sorted(&Topology::fibonacci(n)),
            served(&fibonacci_children(n)),
            "Fibonacci on {n}"
        );
    }
}

#[test]
fn in_order_takes_the_steps_that_its_formula_says() {
    for n in 2..=300 {
        assert_eq!(
            Topology::in_order(n).steps(),
            floor_log2(n) + floor_log2(n - 1)
        );
    }
    let known = [(8, 5, 4), (13, 6, 5)];
    for (n, in_order, fibonacci) in known {
        assert_eq!(
            (
                Topology::in_order(n).steps(),
                Topology::fibonacci(n).steps()
            ),
            (in_order, fibonacci)
        );
    }
}

// ── single port ──

/// Returns the port step of every rank, by the definition; the root's is the number of steps.
fn port_steps(tree: &Topology) -> Vec<usize> {
    fn serve(q: Rank, tree: &Topology, port: &mut [usize]) {
        let mut next = 0;
        for t in tree.predecessors(q) {
            serve(t.from, tree, port);
            port[t.from] = port[t.from].max(next);
            next = port[t.from] + 1;
        }
        port[q] = next; // ready: it sends no sooner
    }
    let mut port = vec![0; tree.ranks()];
    serve(tree.root(), tree, &mut port);
    port
}

fn assert_single_port(tree: &Topology, want: &[usize]) {
    let (port, n) = (tree.single_port(), tree.ranks());
    assert_eq!(port.steps(), want[tree.root()], "{tree:?}");
    for p in 0..n {
        let mut active: Vec<_> = tree.predecessors(p).map(|t| want[t.from]).collect();
        active.sort();
        if p == tree.root() {
            assert_eq!(tree.port_step(p), None);
        } else {
            assert_eq!(tree.port_step(p), Some(want[p]), "{tree:?}, rank {p}");
            active.push(want[p]);
        }
        let got =
            std::iter::successors(port.next_active(p, None), |&s| port.next_active(p, Some(s)));
        assert_eq!(got.collect::<Vec<_>>(), active, "{tree:?}, rank {p}");
    }
}

#[test]
fn the_closed_forms_of_the_single_port_are_its_definition() {
    for tree in (1..=64).flat_map(families) {
        let want = port_steps(&tree);
        assert_single_port(&tree, &want);
        assert_single_port(&as_table(&tree), &want);
    }
    for (n, k) in (1..=64).flat_map(|n| (6..=n).map(move |k| (n, k))) {
        for tree in [
            Topology::k_ring(n, k),
            Topology::k_tree(n, k),
            Topology::k_ary(n, k),
        ] {
            assert_single_port(&tree, &port_steps(&tree));
        }
    }
    for tree in (65..=300).flat_map(|n| {
        [
            Topology::in_order(n),
            Topology::fibonacci(n),
            Topology::k_ary(n, 3),
        ]
    }) {
        assert_single_port(&tree, &port_steps(&tree));
    }
}

#[test]
fn a_single_port_sends_and_receives_the_same_messages() {
    for tree in (1..=24).flat_map(families) {
        for tree in [tree.rooted(tree.ranks() / 3), as_table(&tree)] {
            let port = tree.single_port();
            for (p, s) in (0..tree.ranks()).flat_map(|p| (0..port.steps() + 2).map(move |s| (p, s)))
            {
                assert!(
                    port.to(p, s).is_none_or(|q| port.from(q, s) == Some(p)),
                    "{tree:?}, {p} in {s}"
                );
                assert!(
                    port.from(p, s).is_none_or(|q| port.to(q, s) == Some(p)),
                    "{tree:?}, {p} in {s}"
                );
            }
            let sends = (0..tree.ranks()).flat_map(|p| (0..port.steps()).map(move |s| (p, s)));
            assert_eq!(
                sends.filter(|&(p, s)| port.to(p, s).is_some()).count(),
                tree.ranks() - 1
            );
        }
    }
}

#[test]
fn turning_keeps_the_single_port_form() {
    for tree in (1..=24).flat_map(families) {
        for r in 0..tree.ranks() {
            let (n, turned) = (tree.ranks(), tree.rooted(r));
            assert_eq!(turned.port_steps(), tree.port_steps());
            (0..n).for_each(|p| assert_eq!(turned.port_step((p + r) % n), tree.port_step(p)));
        }
    }
}

#[test]
fn port_steps_are_what_the_formulas_say() {
    for n in 2..=130 {
        assert_eq!(Topology::chain(n).port_steps(), n - 1);
        assert_eq!(Topology::decreasing_ring(n).port_steps(), n - 1);
        assert_eq!(Topology::split_ring(n).port_steps(), n.div_ceil(2));
        assert_eq!(Topology::flat(n).port_steps(), n - 1);
        assert_eq!(Topology::flat_serial(n).port_steps(), n - 1);
        assert_eq!(
            Topology::in_order(n).port_steps(),
            Topology::in_order(n).steps()
        );
        assert_eq!(
            Topology::fibonacci(n).port_steps(),
            Topology::fibonacci(n).steps()
        );
        for k in 1..n {
            let uneven = usize::from((n - 1) % k != 0);
            assert_eq!(
                Topology::k_ring(n, k).port_steps(),
                (n - 1).div_ceil(k) + k - 1 - uneven,
                "{k}-ring on {n}"
            );
            let u = (1..).find(|&u| (k + 1).pow(u) >= n).unwrap();
            let want = k * (u as usize - 1) + n.div_ceil((k + 1).pow(u - 1)) - 1;
            assert_eq!(Topology::k_tree(n, k).port_steps(), want, "{k}-tree on {n}");
        }
    }
    assert_eq!(Topology::k_tree(8, 2).port_steps(), 4);
    assert_eq!(Topology::k_tree(13, 2).port_steps(), 5);
    assert_eq!(Topology::binomial(13).port_steps(), 4);
}

// ── the strict form ──

/// The condition on the digits of `n - 1` under which a k-tree is strict.
fn no_zero_before_a_nonzero_digit(n: usize, k: usize) -> bool {
    let digits = std::iter::successors(Some(n - 1), |&rest| Some(rest / (k + 1)))
        .take_while(|&rest| rest > 0);
    let mut digits: Vec<_> = digits.map(|rest| rest % (k + 1)).collect();
    digits.reverse();
    !digits.windows(2).any(|two| two[0] == 0 && two[1] != 0)
}

#[test]
fn every_family_but_the_k_tree_is_strict() {
    for n in 1..=130 {
        for tree in families(n)
            .iter()
            .filter(|tree| !tree.name().starts_with("k-tree") && tree.name() != "binomial")
        {
            assert_eq!(tree.check_strict(), Ok(()), "{tree:?}");
        }
    }
}

#[test]
fn a_k_tree_is_strict_only_where_the_digits_allow() {
    for (n, k) in (1..=300).flat_map(|n| (1..=5).map(move |k| (n, k))) {
        let strict = Topology::k_tree(n, k).check_strict();
        assert_eq!(
            strict.is_ok(),
            no_zero_before_a_nonzero_digit(n, k.min(n.max(2) - 1)),
            "{k}-tree on {n}: {strict:?}"
        );
    }
}

#[test]
fn the_named_counterexamples_break_the_named_properties() {
    let broken = |tree: Topology| match tree.check_strict() {
        Err(TopologyError::NotStrict { property, node }) => (property, node),
        other => panic!("{tree:?}: {other:?}"),
    };
    assert_eq!(broken(Topology::binomial(6)), (6, vec![4]));
    assert_eq!(broken(Topology::k_tree(11, 2)).0, 6);
    assert_eq!(broken(Topology::k_tree(20, 2)).0, 5);
}

/// Properties 4 to 6, node by node as they read; 1 to 3 hold for any topology's own nodes.
fn strict_properties_broken(tree: &Topology) -> Vec<u8> {
    let node_of = |p: Rank| tree.successor(p);
    let steps_at = |p: Rank| {
        let mut all: Vec<_> = tree.predecessors(p).map(|t| t.step).collect();
        all.dedup();
        all
    };
    let mut broken = Vec::new();
    for p in 0..tree.ranks() {
        let mine = steps_at(p);
        if mine.windows(2).any(|two| two[0] + 1 != two[1]) {
            broken.push(4);
        }
        let node = (0..tree.ranks()).filter(|&q| node_of(q) == node_of(p));
        let ends: Vec<_> = node.filter_map(|q| steps_at(q).last().copied()).collect();
        if ends.iter().any(|end| *end != ends[0]) {
            broken.push(5);
        }
        if let (Some(last), Some((sends, _))) = (ends.iter().max(), tree.successor(p))
            && sends != last + 1
        {
            broken.push(6);
        }
    }
    broken.sort();
    broken
}

#[test]
fn the_first_property_broken_is_the_one_reported() {
    for tree in (1..=40).flat_map(families) {
        let first = strict_properties_broken(&tree).first().copied();
        let reported = match tree.check_strict() {
            Err(TopologyError::NotStrict { property, .. }) => Some(property),
            _ => None,
        };
        assert_eq!(reported, first, "{tree:?}");
    }
}

// ── rank order ──

/// Returns whether every subtree is an interval, by collecting each.
fn subtrees_are_intervals(tree: &Topology) -> bool {
    let mut gathered = vec![Vec::new(); tree.ranks()];
    for p in 0..tree.ranks() {
        let path = std::iter::successors(Some(p), |&at| tree.successor(at).map(|(_, to)| to));
        path.for_each(|at| gathered[at].push(p));
    }
    gathered
        .iter()
        .all(|ranks| ranks.windows(2).all(|two| two[0] + 1 == two[1]))
}

#[test]
fn rank_order_is_what_the_subtrees_say_under_every_root() {
    for tree in (1..=40).flat_map(families) {
        for r in 0..tree.ranks() {
            let turned = tree.rooted(r);
            let want = subtrees_are_intervals(&turned);
            assert_eq!(turned.is_in_rank_order(), want, "{turned:?}");
            assert_eq!(
                as_table(&turned).is_in_rank_order(),
                want,
                "{turned:?} as a table"
            );
            assert_eq!(
                as_table(&tree).rooted(r).is_in_rank_order(),
                want,
                "{turned:?} as a turned table"
            );
        }
    }
}

#[test]
fn all_families_but_the_k_ary_tree_are_in_rank_order() {
    for tree in (1..=64).flat_map(families) {
        let in_order = tree.is_in_rank_order();
        assert!(in_order || tree.name().starts_with("k-ary"), "{tree:?}");
        assert_eq!(in_order, subtrees_are_intervals(&tree), "{tree:?}");
    }
}

// ── refusals ──

fn refusal(ranks: usize, root: Rank, all: &[(Rank, usize, Rank)]) -> TopologyError {
    Topology::from_triples(ranks, root, triples(all)).unwrap_err()
}

#[test]
fn triples_that_are_no_topology_are_refused_by_name() {
    use TopologyError::*;
    assert!(matches!(refusal(0, 0, &[]), NoRanks));
    assert!(matches!(
        refusal(2, 2, &[(1, 0, 0)]),
        RankOutOfRange { rank: 2, ranks: 2 }
    ));
    assert!(matches!(
        refusal(2, 0, &[(1, 0, 5)]),
        RankOutOfRange { rank: 5, ranks: 2 }
    ));
    assert!(matches!(
        refusal(2, 0, &[(1, usize::MAX, 0)]),
        StepTooLarge {
            triple: Triple { from: 1, .. }
        }
    ));
    assert!(matches!(
        refusal(2, 0, &[(1, 0, 0), (0, 1, 1)]),
        RootHasSuccessor {
            triple: Triple { step: 1, .. }
        }
    ));
    let two = refusal(3, 0, &[(2, 0, 1), (1, 1, 0), (2, 2, 0)]);
    assert!(matches!(
        two,
        TwoSuccessors {
            first: Triple { from: 2, .. },
            second: Triple { step: 2, .. }
        }
    ));
    let twice = refusal(2, 0, &[(1, 0, 0), (1, 0, 0)]);
    assert!(matches!(twice, TwoSuccessors { first, second } if first == second));
    assert!(matches!(
        refusal(4, 0, &[(1, 0, 0), (3, 0, 0)]),
        Orphan { rank: 2, root: 0 }
    ));
    let cycle = refusal(5, 0, &[(1, 0, 2), (2, 1, 3), (3, 2, 4), (4, 3, 2)]);
    assert!(matches!(cycle, Cycle { rank: 1, cycle } if cycle == [2, 3, 4]));
    assert!(matches!(refusal(2, 0, &[(1, 0, 1)]), Cycle { rank: 1, cycle } if cycle == [1]));
    let falls = refusal(3, 0, &[(2, 1, 1), (1, 1, 0)]);
    assert!(matches!(
        falls,
        StepDoesNotRise {
            before: Triple { from: 2, .. },
            after: Triple { from: 1, .. }
        }
    ));
    assert!(matches!(
        refusal(3, 0, &[(1, 1, 0), (2, 2, 0)]),
        NoStepZero {
            least: Triple { from: 1, .. }
        }
    ));
}

#[test]
fn a_number_of_ranks_that_no_memory_holds_is_refused_without_trying() {
    let refused = refusal(usize::MAX, 0, &[(1, 0, 0)]);
    assert!(matches!(refused, TopologyError::Orphan { rank: 2, .. }));
    assert!(Topology::from_text(&format!("ranks {}\n1 0 0", usize::MAX)).is_err());
    assert!(Topology::from_text(&format!("{} 0 0", usize::MAX)).is_err());
}

#[test]
fn refusals_read_as_sentences() {
    let said = |error: TopologyError| error.to_string();
    assert_eq!(
        said(refusal(2, 0, &[(1, 0, 0), (1, 0, 0)])),
        "triple <1,0,0> is given twice"
    );
    assert_eq!(
        said(refusal(2, 0, &[(1, 0, 5)])),
        "rank 5 is not one of the 2 ranks"
    );
    assert_eq!(
        said(refusal(3, 0, &[(2, 1, 1), (1, 1, 0)])),
        "rank 1 sends <1,1,0> no later than <2,1,1> arrives: steps must rise along every path"
    );
    assert_eq!(
        said(refusal(3, 0, &[(1, 0, 0)])),
        "rank 2 sends nothing, but the root is 0"
    );
}

// ── text and names ──

#[test]
fn text_reads_back_as_the_same_topology() {
    for tree in (1..=40).flat_map(families) {
        let turned = tree.rooted(tree.ranks() / 2);
        assert_eq!(
            Topology::from_text(&turned.to_text()),
            Ok(turned.clone()),
            "{turned:?}"
        );
        let bare: String = turned
            .to_text()
            .lines()
            .skip(2)
            .map(|line| format!("{line}  # as is\r\n\n"))
            .collect();
        if tree.ranks() > 1 {
            assert_eq!(bare.parse(), Ok(turned));
        }
    }
}

#[test]
fn headers_may_stand_anywhere() {
    let tree = Topology::chain(3);
    assert_eq!(
        Topology::from_text("2 0 1\nroot 0\n1 1 0\nranks 3"),
        Ok(tree)
    );
    assert_eq!(Topology::from_text("root 0"), Ok(Topology::chain(1)));
    assert_eq!(Topology::from_text("ranks 1"), Ok(Topology::chain(1)));
}

/// Returns the line that a refusal blames, and its error.
fn blamed(text: &str) -> (usize, TopologyError) {
    match Topology::from_text(text).unwrap_err() {
        TopologyError::Line { line, error } => (line, *error),
        other => (0, other),
    }
}

#[test]
fn text_that_is_no_topology_is_refused_with_its_line() {
    use TopologyError::*;
    assert!(matches!(blamed("# nothing\n\n"), (0, NoRanks)));
    assert!(matches!(blamed("\nranks 0"), (2, NoRanks)));
    assert!(matches!(blamed("1 0 0\n# fine\n2 0"), (3, BadLine { text, .. }) if text == "2 0"));
    assert!(matches!(blamed("1 0 0 0"), (1, BadLine { .. })));
    assert!(matches!(blamed("1 -1 0"), (1, BadLine { .. })));
    assert!(matches!(blamed("ranks many"), (1, BadLine { .. })));
    assert!(matches!(
        blamed("ranks 2\n1 0 0\nranks 2"),
        (3, BadLine { .. })
    ));
    assert!(matches!(
        blamed("ranks 2\n1 0 0\n2 0 0"),
        (3, RankOutOfRange { rank: 2, ranks: 2 })
    ));
    assert!(matches!(
        blamed("ranks 2\n1 0 0\nroot 7"),
        (3, RankOutOfRange { rank: 7, ranks: 2 })
    ));
    assert!(matches!(
        blamed("2 0 0\n1 0 0\n\n2 1 1"),
        (4, TwoSuccessors { .. })
    ));
    assert!(matches!(blamed("1 0 0\n1 0 0"), (2, TwoSuccessors { .. })));
    assert!(matches!(
        blamed("root 0\n1 0 0\n0 0 1"),
        (3, RootHasSuccessor { .. })
    ));
    assert!(matches!(
        blamed("1 0 2\n2 0 1\n3 0 0"),
        (1, Cycle { rank: 1, .. })
    ));
    assert!(matches!(
        blamed("1 0 0\n\n2 0 1"),
        (1, StepDoesNotRise { .. })
    ));
    assert!(matches!(blamed("1 1 0"), (1, NoStepZero { .. })));
    assert!(matches!(
        blamed(&format!("1 {} 0", usize::MAX)),
        (1, StepTooLarge { .. })
    ));
    assert!(
        matches!(blamed("1 0 0\n3 0 0"), (0, NoSingleRoot { candidates }) if candidates == [0, 2])
    );
    assert!(matches!(
        blamed("1 0 0\n0 0 1"),
        (2, Cycle { rank: 0, cycle }) if cycle == [0, 1]
    ));
    assert!(matches!(blamed("1 0 0\n1 1 2"), (2, TwoSuccessors { .. })));
    assert!(matches!(
        blamed("root 0\nranks 3\n1 0 0"),
        (0, Orphan { rank: 2, .. })
    ));
}

#[test]
fn a_text_error_names_line_rank_and_rule() {
    let said = |text: &str| Topology::from_text(text).unwrap_err().to_string();
    assert_eq!(
        said("1 0 0\n2 0 3\n3 0 2\n"),
        "line 2: rank 2 never reaches the root: its path ends in the cycle 2 → 3 → 2"
    );
    assert_eq!(
        said("0 0 1\n# everybody sends\n1 1 2\n2 2 0\n"),
        "line 1: rank 0 never reaches the root: its path ends in the cycle 0 → 1 → 2 → 0"
    );
    assert_eq!(
        said("ranks 3\n1 0 0\n2 0 0\n2 1 1\n"),
        "line 4: rank 2 has two successors, <2,0,0> and <2,1,1>"
    );
    assert_eq!(
        said("ranks 3\n1 2 0\n2 3 1\n"),
        "line 2: rank 1 sends <1,2,0> no later than <2,3,1> arrives: steps must rise along every path"
    );
    assert_eq!(
        said("ranks 3\nroot 0\n1 0 0\n2 0 9\n"),
        "line 4: rank 9 is not one of the 3 ranks"
    );
    assert_eq!(
        said("1 0 0\n\u{1b}[31m"),
        "line 2: `\\u{1b}[31m` is not `p t q`, `ranks N` or `root R`"
    );
}

#[test]
fn a_line_error_has_the_error_as_its_source() {
    let error = Topology::from_text("1 1 0").unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(
        source.to_string(),
        "no rank sends in step 0: the first to send is <1,1,0>"
    );
}

#[test]
fn every_family_is_found_by_its_name() {
    for tree in (1..=20).flat_map(families) {
        let again = Topology::by_name(&tree.name(), tree.ranks()).unwrap();
        assert_eq!((again.name(), &again), (tree.name(), &tree));
    }
    assert_eq!(as_table(&Topology::chain(3)).name(), "custom");
    assert_eq!(Topology::k_tree(8, 2).rooted(3).name(), "k-tree:2");
}

#[test]
fn names_that_no_family_has_are_refused_with_the_nearest() {
    use TopologyError::*;
    let refused = |name| Topology::by_name(name, 8).unwrap_err();
    assert!(matches!(
        refused("chian"),
        UnknownName {
            nearest: Some("chain"),
            ..
        }
    ));
    assert!(matches!(
        refused("k_tree:2"),
        UnknownName {
            nearest: Some("k-tree:K"),
            ..
        }
    ));
    assert!(matches!(
        refused("fibonaci"),
        UnknownName {
            nearest: Some("fibonacci"),
            ..
        }
    ));
    assert!(
        matches!(refused("zzzz"), UnknownName { nearest: None, known, .. } if known.len() == 11)
    );
    assert!(matches!(
        refused("serial"),
        UnknownName { nearest: None, .. }
    ));
    assert!(matches!(refused(""), UnknownName { nearest: None, .. }));
    assert!(matches!(refused("k-tree"), BadWidth { .. }));
    assert!(matches!(refused("k-tree:0"), BadWidth { .. }));
    assert!(matches!(refused("k-ary:two"), BadWidth { .. }));
    assert!(matches!(refused("chain:2"), BadWidth { .. }));
    assert!(matches!(Topology::by_name("chain", 0), Err(NoRanks)));
}
