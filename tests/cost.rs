//! The closed forms equal the checker's counts: every family and algorithm, every number of ranks.

mod common;
#[path = "cost/literature.rs"]
mod literature;
#[path = "cost/names.rs"]
mod names;
mod zoo;

use rankfold::check::{Certificate, Goal, Traffic, check};
use rankfold::collective::{
    BinomialGather, Bisection, BruckAllGather, BruckAllToAll, ExclusiveScan, Halving, Pairwise,
    RingReduceScatter, halving_all_reduce, halving_reduce_scatter, hybrid_all_reduce,
    simple_exchange,
};
use rankfold::cost::{self, Cost, Form, Load, TreeUse};
use rankfold::schedule::{FoldAlong, HandOut, Schedule};
use rankfold::span::Blocks;
use rankfold::topology::{Circle, CubeTo, OwnSteps, Shift, Topology};

/// A schedule, its goal, and its closed form.
struct Case {
    name: String,
    schedule: Box<dyn Schedule>,
    goal: Goal,
    form: Form,
}

fn case(
    name: impl Into<String>,
    schedule: impl Schedule + 'static,
    goal: Goal,
    form: Form,
) -> Case {
    Case {
        name: name.into(),
        schedule: Box::new(schedule),
        goal,
        form,
    }
}

/// A tree used in all three ways.
fn three_ways(
    name: &str,
    reduce: impl Schedule + Clone + 'static,
    broadcast: impl Schedule + Clone + 'static,
    (root, n): (usize, usize),
    form: impl Fn(TreeUse) -> Form,
) -> Vec<Case> {
    let both = reduce.clone().then(broadcast.clone());
    let down = Goal::broadcast(root, n);
    vec![
        case(
            format!("{name} down"),
            broadcast,
            down,
            form(TreeUse::Broadcast),
        ),
        case(
            format!("{name} up"),
            reduce,
            Goal::reduce(root, n),
            form(TreeUse::Reduce),
        ),
        case(
            format!("{name} both"),
            both,
            Goal::all_reduce(n),
            form(TreeUse::AllReduce),
        ),
    ]
}

fn whole(tree: Topology, n: usize) -> Vec<Case> {
    let reduce = FoldAlong::new(tree.single_port(), n);
    let broadcast = reduce.clone().reversed();
    let form = |way| cost::whole(&tree, n, way);
    three_ways(&tree.name(), reduce, broadcast, (tree.root(), n), form)
}

/// Returns the trees that a pipeline runs along, with their periods.
fn pipelines(p: usize) -> [(Topology, usize); 4] {
    [
        (Topology::chain(p), 1),
        (Topology::decreasing_ring(p), 1),
        (Topology::in_order(p), 2),
        (Topology::fibonacci(p), 2),
    ]
}

fn segmented(p: usize, n: usize, k: usize) -> Vec<Case> {
    let cases = pipelines(p).map(|(tree, period)| {
        let reduce = FoldAlong::new(OwnSteps::new(tree.clone()), n);
        let broadcast = reduce.clone().reversed().pipelined(k, period);
        let form = |way| cost::in_segments(&tree, period, n, k, way);
        let name = format!("{} in {k}", tree.name());
        three_ways(&name, reduce.pipelined(k, period), broadcast, (0, n), form)
    });
    cases.into_iter().flatten().collect()
}

/// Algorithms whose partners are those of a hypercube.
fn cubes(p: usize, n: usize) -> Vec<Case> {
    let mut cases = halvings(p, n);
    cases.extend(hybrids(p, n));
    cases
}

fn halvings(p: usize, n: usize) -> Vec<Case> {
    let far = Halving::new(p.ilog2(), n, Bisection::Far)
        .for_blocks_of(p)
        .proxied(p, HandOut::Block);
    let (all, part, gather) = (
        Goal::all_reduce(n),
        Goal::reduce_scatter(n),
        Goal::all_gather(n),
    );
    let near = halving_reduce_scatter(p, n);
    let near_form = cost::halving_reduce_scatter(p, n);
    let far_form = cost::far_halving_reduce_scatter(p, n);
    vec![
        case(
            "simple exchange",
            simple_exchange(p, n),
            all,
            cost::simple_exchange(p, n),
        ),
        case(
            "halving",
            halving_all_reduce(p, n),
            all,
            cost::halving_all_reduce(p, n),
        ),
        case("near", near.clone(), part, near_form.clone()),
        case("near back", near.reversed(), gather, near_form.reversed()),
        case("far", far.clone(), part, far_form.clone()),
        case("far back", far.reversed(), gather, far_form.reversed()),
    ]
}

/// The hybrid with every number of stages.
fn hybrids(p: usize, n: usize) -> impl Iterator<Item = Case> {
    (0..=p.ilog2()).map(move |s| {
        let form = cost::hybrid_all_reduce(p, n, s);
        let name = format!("hybrid {s}");
        case(name, hybrid_all_reduce(p, n, s), Goal::all_reduce(n), form)
    })
}

/// The other algorithms, and a tree that is rooted elsewhere.
fn others(p: usize, n: usize) -> Vec<Case> {
    let mut cases = rings(p, n);
    cases.extend(gathers(p, n));
    cases.extend(exchanges(p, n));
    cases.extend(shifts(p, n));
    cases.push(turned(p, n));
    cases
}

fn rings(p: usize, n: usize) -> Vec<Case> {
    let ring = RingReduceScatter::new(p, n);
    let form = cost::ring_reduce_scatter(p, n);
    let back = ring.clone().reversed();
    vec![
        case("ring", ring.clone(), Goal::reduce_scatter(n), form.clone()),
        case(
            "ring back",
            back.clone(),
            Goal::all_gather(n),
            form.reversed(),
        ),
        case(
            "ring twice",
            ring.then(back),
            Goal::all_reduce(n),
            cost::ring_all_reduce(p, n),
        ),
    ]
}

fn gathers(p: usize, n: usize) -> Vec<Case> {
    let gather = BinomialGather::new(p, n);
    let form = cost::binomial_gather(p, n);
    let scatter = gather.clone().reversed();
    let ring_back = RingReduceScatter::new(p, n).reversed();
    let ring_back_form = cost::ring_reduce_scatter(p, n).reversed();
    vec![
        case("gather", gather, Goal::gather(0, n), form.clone()),
        case(
            "scatter",
            scatter.clone(),
            Goal::scatter(0, n),
            form.clone().reversed(),
        ),
        case(
            "scatter, ring",
            scatter.then(ring_back),
            Goal::broadcast(0, n),
            form.reversed().then(ring_back_form),
        ),
    ]
}

fn exchanges(p: usize, n: usize) -> Vec<Case> {
    vec![
        case(
            "bruck",
            BruckAllGather::new(p, n),
            Goal::all_gather(n),
            cost::bruck_all_gather(p, n),
        ),
        case(
            "pairwise",
            Pairwise::all_to_all(Blocks::even(n, p)),
            Goal::all_to_all(n),
            cost::pairwise_all_to_all(p, n),
        ),
        case(
            "bruck, all-to-all",
            BruckAllToAll::new(p, n),
            Goal::all_to_all(n),
            cost::bruck_all_to_all(p, n),
        ),
    ]
}

/// The hypercube from a root, then what is shifted around the ranks.
fn shifts(p: usize, n: usize) -> Vec<Case> {
    let root = p / 3;
    vec![
        case(
            "hypercube",
            FoldAlong::new(CubeTo::new(p, root), n).reversed(),
            Goal::broadcast(root, n),
            cost::hypercube_broadcast(p, n, root),
        ),
        case(
            "scan",
            FoldAlong::new(Shift::new(p), n),
            Goal::scan(n),
            cost::inclusive_scan(p, n),
        ),
        case(
            "exclusive scan",
            ExclusiveScan::new(p, n),
            Goal::exclusive_scan(n),
            cost::exclusive_scan(p, n),
        ),
        case(
            "barrier",
            FoldAlong::new(Circle::new(p), 0),
            Goal::barrier(),
            cost::dissemination(p),
        ),
    ]
}

/// A tree whose root is another rank than that of its family.
fn turned(p: usize, n: usize) -> Case {
    let root = p / 3;
    let chain = Topology::chain(p);
    let form = cost::whole(&chain, n, TreeUse::Reduce).rooted(root);
    let schedule = FoldAlong::new(chain.single_port(), n).rooted(root);
    case("turned", schedule, Goal::reduce(root, n), form)
}

/// Scatter and all-gather, by far halving backwards for powers of two.
fn long_broadcast(p: usize, n: usize) -> Option<Case> {
    let doubling = Halving::new(p.checked_ilog2()?, n, Bisection::Far).reversed();
    let scatter = BinomialGather::new(p, n).reversed();
    let form = cost::scatter_all_gather(p, n);
    p.is_power_of_two().then(|| {
        case(
            "long broadcast",
            scatter.then(doubling),
            Goal::broadcast(0, n),
            form,
        )
    })
}

fn everything(p: usize, n: usize) -> Vec<Case> {
    let trees = common::families(p)
        .into_iter()
        .flat_map(|tree| whole(tree, n));
    let mut all: Vec<_> = trees.collect();
    all.extend(whole(Topology::k_tree(p, 2).rooted(p / 2), n));
    all.extend(segmented(p, n, 3));
    all.extend(cubes(p, n));
    all.extend(others(p, n));
    all.extend(long_broadcast(p, n));
    all
}

fn counted(traffic: &Traffic) -> Load {
    Load {
        messages_out: traffic.messages_out,
        elements_out: traffic.elements_out,
        messages_in: traffic.messages_in,
        elements_in: traffic.elements_in,
        folded: traffic.folded,
    }
}

fn proved(case: &Case) -> Certificate {
    check(&case.schedule, &case.goal).unwrap_or_else(|fault| panic!("{}: {fault}", case.name))
}

/// Compares steps, steps with messages, and every rank's load.
#[track_caller]
fn agrees(case: &Case, p: usize, n: usize) {
    let (proof, form) = (proved(case), &case.form);
    let name = &case.name;
    assert_eq!(
        (form.ranks(), form.cost().steps, form.cost().messages),
        (p, proof.steps, proof.message_steps),
        "{name} of {p} ranks, {n} elements"
    );
    for (rank, traffic) in proof.traffic.iter().enumerate() {
        let at = format!("{name}, rank {rank} of {p}, {n} elements");
        assert_eq!(form.load(rank), counted(traffic), "{at}");
    }
}

/// Returns every number of ranks, or some at a smaller scale.
fn worlds() -> impl Iterator<Item = usize> {
    (1..=130).step_by(common::stride())
}

/// Returns whether to try a case on `p` ranks: where the checker is slow, the large worlds are distributed over the
/// cases.
fn is_tried(case: usize, p: usize) -> bool {
    let every = if cfg!(debug_assertions) && p > 40 {
        10
    } else {
        1
    };
    (case + p).is_multiple_of(every)
}

#[test]
fn every_form_counts_what_the_checker_counts_for_every_number_of_ranks() {
    for p in worlds() {
        // A length that the number of ranks does not divide; for most worlds it is less than the number of ranks.
        let n = if p.is_multiple_of(2) { 37 } else { p + 3 };
        let tried = everything(p, n).into_iter().enumerate();
        tried
            .filter(|&(i, _)| is_tried(i, p))
            .for_each(|(_, case)| agrees(&case, p, n));
    }
}

#[test]
fn every_form_counts_what_the_checker_counts_for_odd_lengths() {
    for p in (1..=17).chain([31, 32, 33]) {
        for n in [0, 1, 2, p - 1, p, p + 1, 100] {
            everything(p, n).iter().for_each(|case| agrees(case, p, n));
        }
    }
}

#[test]
fn pipelines_count_what_the_checker_counts_for_every_number_of_segments() {
    for p in (1..=10).chain([16, 21, 33]) {
        for n in [0, 1, 7, 24] {
            for k in [0, 1, 2, 4, 5, 7, 24, 99] {
                segmented(p, n, k)
                    .iter()
                    .for_each(|case| agrees(case, p, n));
            }
        }
    }
}

/// Returns the steps with messages, and the sums of the largest message and the largest fold of every step.
fn longest_way(schedule: &dyn Schedule, steps: Cost) -> Cost {
    let (mut moved, mut folded) = (0, 0);
    for s in 0..schedule.steps() {
        let all = (0..schedule.ranks()).map(|rank| schedule.step(rank, s));
        let received = all.filter_map(|step| {
            let elements = step.recv?.region.elements();
            let folds = step.combine != rankfold::schedule::Combine::Replace;
            Some((elements, if folds { elements } else { 0 }))
        });
        let (most, most_folded) = received.fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)));
        (moved, folded) = (moved + most, folded + most_folded);
    }
    Cost {
        moved: moved as f64,
        folded: folded as f64,
        ..steps
    }
}

#[test]
fn the_longest_way_is_the_largest_message_of_every_step_where_blocks_are_equal() {
    for p in (1..=20usize).chain([31, 32, 33, 64]) {
        // A multiple of the ranks, of the ranks of the cube, and of the segments.
        let n = (3 * p) << p.ilog2();
        for case in everything(p, n) {
            let (want, got) = (
                longest_way(&case.schedule, case.form.cost()),
                case.form.cost(),
            );
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.max(1.0);
            assert!(
                near(want.moved, got.moved) && near(want.folded, got.folded),
                "{} of {p} ranks: {got:?}, but {want:?}",
                case.name
            );
        }
    }
}

#[test]
fn elements_sent_are_elements_received() {
    for p in 1..=70 {
        for n in [1, 37, 256] {
            let mut forms: Vec<_> = everything(p, n).into_iter().map(|case| case.form).collect();
            forms.extend(unproved(p, n));
            for form in forms {
                let loads = (0..p).map(|rank| form.load(rank));
                let all = loads.fold(Load::default(), |sum, load| sum + load);
                assert_eq!(all.messages_out, all.messages_in, "{form:?}");
                assert_eq!(all.elements_out, all.elements_in, "{form:?}");
            }
        }
    }
}

/// Forms of which only the sums are tested here.
fn unproved(p: usize, n: usize) -> Vec<Form> {
    let mut forms = vec![
        cost::two_tree(p, n, 5, TreeUse::AllReduce),
        cost::two_tree(p, n, 4, TreeUse::Broadcast),
        cost::bruck_all_to_all(p, n),
        cost::hypercube_broadcast(p, n, p / 2),
        cost::scatter_all_gather(p, n),
    ];
    forms.extend(cost::esbt(p, n, 5, TreeUse::AllReduce).ok());
    forms
}
