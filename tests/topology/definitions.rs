//! Each family against its definition and the known tables.

use rankfold::{
    Rank,
    topology::{Topology, Triple},
};

use super::{sorted, triple, triples};

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
