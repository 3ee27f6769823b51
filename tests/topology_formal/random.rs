//! Random topologies, right and with one thing changed.

use proptest::{prelude::*, sample::Index};
use rankfold::{
    Rank,
    topology::{Topology, TopologyError, Triple},
};

use crate::formal::{Definition, blames_justly, definitions, edited, edits, walks_for_ever};

/// A general topology: ranks in a random order, each sending to one before it in that order, in steps that increase
/// from the leaves by random amounts.
fn general(most: usize) -> impl Strategy<Value = (usize, Rank, Vec<Triple>)> {
    (1..=most)
        .prop_flat_map(|n| {
            let order = Just((0..n).collect::<Vec<Rank>>()).prop_shuffle();
            (
                order,
                proptest::collection::vec((any::<Index>(), 0..3usize), n),
            )
        })
        .prop_map(|(order, choices)| {
            let (mut least, mut triples) = (vec![0; order.len()], Vec::new());
            for i in (1..order.len()).rev() {
                let (choice, extra) = &choices[i];
                let into = choice.index(i);
                // The last rank in the order is a leaf, and sends in step 0.
                let step = least[i] + if i + 1 == order.len() { 0 } else { *extra };
                least[into] = least[into].max(step + 1);
                triples.push(Triple {
                    from: order[i],
                    step,
                    to: order[into],
                });
            }
            (order.len(), order[0], triples)
        })
}

/// Returns why it is no topology, by the definition alone, without tables of steps or ranks.
fn faults(ranks: usize, root: Rank, triples: &[Triple]) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let sends = |p: Rank| triples.iter().filter(|t| t.from == p).collect::<Vec<_>>();
    if root >= ranks || triples.iter().any(|t| t.from >= ranks || t.to >= ranks) {
        faults.push("range");
    }
    if !sends(root).is_empty() {
        faults.push("root");
    }
    if (0..ranks).any(|p| p != root && sends(p).len() > 1) {
        faults.push("two");
    }
    if (0..ranks).any(|p| p != root && sends(p).is_empty()) {
        faults.push("orphan");
    }
    if (0..ranks).any(|p| walks_for_ever(p, triples)) {
        faults.push("cycle");
    }
    if triples
        .iter()
        .any(|t| sends(t.to).iter().any(|next| t.step >= next.step))
    {
        faults.push("rise");
    }
    if ranks > 1 && triples.iter().all(|t| t.step != 0) {
        faults.push("zero");
    }
    faults
}

/// Checks properties 3 to 6 of a definition as they read; returns those that do not hold, and where.
fn broken_properties(definition: &Definition) -> Vec<(u8, Vec<Rank>)> {
    let mut broken = Vec::new();
    for (node, block) in definition.blocks.iter().enumerate() {
        let mut ranks = block.clone();
        ranks.sort();
        let sends = node.checked_sub(1).map(|edge| definition.edges[edge].1);
        let entering: Vec<_> = definition.edges.iter().filter(|e| e.0 == node).collect();
        let properties = broken_at(block, &entering, sends);
        broken.extend(
            properties
                .into_iter()
                .map(|property| (property, ranks.clone())),
        );
    }
    broken.sort();
    broken
}

/// The same for one node, by the edges that enter it and the step in which it sends.
fn broken_at(block: &[Rank], entering: &[&(usize, usize, Rank)], sends: Option<usize>) -> Vec<u8> {
    let mut broken = Vec::new();
    let equal = |step: usize| entering.iter().filter(|e| e.1 == step).count();
    if entering.iter().any(|e| equal(e.1) > block.len()) {
        broken.push(3);
    }
    let steps_at = |process: &Rank| {
        let mut steps: Vec<_> = entering
            .iter()
            .filter(|e| e.2 == *process)
            .map(|e| e.1)
            .collect();
        steps.sort();
        steps
    };
    if block
        .iter()
        .any(|process| steps_at(process).windows(2).any(|two| two[0] + 1 != two[1]))
    {
        broken.push(4);
    }
    let ends: Vec<_> = block
        .iter()
        .filter_map(|process| steps_at(process).last().copied())
        .collect();
    if ends.iter().any(|end| *end != ends[0]) {
        broken.push(5);
    }
    if ends
        .iter()
        .max()
        .is_some_and(|last| sends.is_some_and(|sends| sends != last + 1))
    {
        broken.push(6);
    }
    broken
}

/// Returns whether ranks are in one block exactly if they send to the same rank in the same step.
fn is_the_partition_of_its_triples(definition: &Definition) -> bool {
    let mut targets: Vec<_> = definition
        .edges
        .iter()
        .map(|&(_, step, process)| (step, process))
        .collect();
    let blocks = targets.len();
    targets.sort();
    targets.dedup();
    targets.len() == blocks
}

/// Returns whether the error names the lowest broken property, at a node where it is broken.
fn is_first_of(broken: &[(u8, Vec<Rank>)], error: &TopologyError) -> bool {
    let TopologyError::NotStrict { property, node } = error else {
        return false;
    };
    broken[0].0 == *property && broken.contains(&(*property, node.clone()))
}

/// Returns the root's result of a reduction along the topology, by running it step by step.
fn reduced(tree: &Topology) -> Vec<Rank> {
    let mut held: Vec<Vec<Rank>> = (0..tree.ranks()).map(|rank| vec![rank]).collect();
    let mut triples: Vec<_> = tree.triples().collect();
    triples.sort_by_key(|t| (t.step, t.from));
    for t in triples {
        let sent = std::mem::take(&mut held[t.from]);
        held[t.to].extend(sent);
    }
    held.swap_remove(tree.root())
}

fn subtrees_are_intervals(tree: &Topology) -> bool {
    (0..tree.ranks()).all(|top| {
        let path = |p| std::iter::successors(Some(p), |&at| tree.successor(at).map(|(_, to)| to));
        let under: Vec<_> = (0..tree.ranks())
            .filter(|&p| path(p).any(|at| at == top))
            .collect();
        under[under.len() - 1] - under[0] + 1 == under.len()
    })
}

fn port_steps(tree: &Topology) -> Vec<usize> {
    let mut triples: Vec<_> = tree.triples().collect();
    triples.sort_by_key(|t| (t.step, t.from));
    let (mut next, mut port) = (vec![0; tree.ranks()], vec![0; tree.ranks()]);
    for t in triples {
        port[t.from] = next[t.from].max(next[t.to]);
        next[t.to] = port[t.from] + 1;
    }
    port
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn a_general_topology_is_accepted_and_keeps_its_triples((ranks, root, triples) in general(24)) {
        prop_assert!(faults(ranks, root, &triples).is_empty());
        let tree = Topology::from_triples(ranks, root, triples.clone()).unwrap();
        let mut want = triples;
        want.sort();
        prop_assert_eq!(tree.triples().collect::<Vec<_>>(), want.clone());
        for q in 0..ranks {
            let mut entering: Vec<_> = want.iter().copied().filter(|t| t.to == q).collect();
            entering.sort_by_key(|t| (t.step, t.from));
            prop_assert_eq!(tree.predecessors(q).collect::<Vec<_>>(), entering);
        }
        prop_assert_eq!(Topology::from_text(&tree.to_text()), Ok(tree));
    }

    #[test]
    fn the_root_ends_with_every_contribution_once((ranks, root, triples) in general(24), turn in any::<Index>()) {
        let tree = Topology::from_triples(ranks, root, triples).unwrap().rooted(turn.index(ranks));
        let mut at_root = reduced(&tree);
        at_root.sort();
        prop_assert_eq!(at_root, (0..ranks).collect::<Vec<_>>());
    }

    #[test]
    fn order_and_ports_of_a_table_are_their_definitions((ranks, root, triples) in general(9), turn in any::<Index>()) {
        let tree = Topology::from_triples(ranks, root, triples).unwrap();
        let turned = tree.rooted(turn.index(ranks));
        prop_assert_eq!(tree.is_in_rank_order(), subtrees_are_intervals(&tree));
        prop_assert_eq!(turned.is_in_rank_order(), subtrees_are_intervals(&turned));
        let (port, want) = (tree.single_port(), port_steps(&tree));
        for t in tree.triples() {
            prop_assert_eq!(tree.port_step(t.from), Some(want[t.from]));
            prop_assert_eq!(port.from(t.to, want[t.from]), Some(t.from));
            prop_assert_eq!(port.to(t.from, want[t.from]), Some(t.to));
        }
        prop_assert_eq!(port.steps(), want.iter().zip(0..).filter(|(_, p)| *p != root).map(|(s, _)| s + 1).max().unwrap_or(0));
    }

    #[test]
    fn one_edit_is_refused_with_its_culprit_or_does_no_harm((ranks, root, triples) in general(12), edit in edits()) {
        let triples = edited(triples, &edit);
        let faults = faults(ranks, root, &triples);
        match Topology::from_triples(ranks, root, triples.clone()) {
            Ok(tree) => {
                prop_assert!(faults.is_empty(), "accepted, but: {:?}", faults);
                prop_assert_eq!(tree.triples().count(), triples.len());
            }
            Err(error) => {
                prop_assert!(!faults.is_empty(), "refused for nothing: {}", error);
                prop_assert!(blames_justly(&error, ranks, root, &triples), "{}", error);
            }
        }
    }

    #[test]
    fn a_definition_is_the_topology_of_its_triples(definition in definitions(16)) {
        let tree = definition.formal().general().unwrap();
        let root = definition.blocks[0][0];
        prop_assert_eq!(Ok(tree), Topology::from_triples(definition.ranks(), root, definition.triples()));
    }

    #[test]
    fn a_definition_is_strict_iff_no_property_is_broken(definition in definitions(7)) {
        let broken = broken_properties(&definition);
        let canonical = is_the_partition_of_its_triples(&definition);
        let of_triples = definition.formal().general().unwrap().check_strict();
        match definition.formal().strict() {
            Ok(_) => {
                prop_assert!(broken.is_empty() && canonical, "accepted, but: {:?}", broken);
                prop_assert_eq!(of_triples, Ok(()));
            }
            Err(error) => {
                prop_assert!(is_first_of(&broken, &error), "{}, but: {:?}", error, broken);
                if canonical {
                    prop_assert!(is_first_of(&broken, &of_triples.unwrap_err()));
                }
            }
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "([0-9]{1,3} |ranks |root |#|-|x|\n){0,40}") {
        if let Ok(tree) = Topology::from_text(&text) {
            prop_assert_eq!(tree.to_text().parse(), Ok(tree));
        }
    }
}
