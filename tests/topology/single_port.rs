//! Topologies in which a rank sends or receives one message in a step.

use rankfold::{Rank, topology::Topology};

use super::{as_table, families, floor_log2};

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
