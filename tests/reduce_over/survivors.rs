//! Reductions that go on without the dead.

use std::collections::BTreeSet;

use rankfold::topology::Topology;
use rankfold::{Comm, Error, Order, Rank, Result, Survivors, Team, World, op};

use super::{numbers, trees};
use crate::common::{families, fold, path, scaled, stride, subtrees_are_runs, team};

/// Returns the survivors by definition: a contribution is missing if any rank on its path has failed.
fn left(tree: &Topology, dead: &BTreeSet<Rank>) -> Survivors {
    let is_missing = |rank: &Rank| {
        path(tree, *rank)
            .iter()
            .any(|on_the_way| dead.contains(on_the_way))
    };
    let (missing, contributors) = (0..tree.ranks()).partition(is_missing);
    Survivors {
        contributors,
        missing,
    }
}

/// Fails the rank before the call.
fn die(rank: Rank) -> Result<Option<(Vec<u64>, Survivors)>> {
    if rank.is_multiple_of(2) {
        Ok(None)
    } else {
        Err(Error::user("dead"))
    }
}

/// Runs one reduction of elements and one of values among the ranks that have not failed.
pub fn mourn(team: &Team, tree: &Topology, dead: &BTreeSet<Rank>) {
    let orders = [Order::Step, Order::Arrival, Order::Rank];
    for order in orders
        .into_iter()
        .filter(|&order| order != Order::Rank || subtrees_are_runs(tree))
    {
        let report = team
            .try_run_each(|comm| match comm.rank() {
                me if dead.contains(&me) => die(me),
                _ => reduce_among_survivors(comm, tree, order),
            })
            .unwrap();
        for rank in (0..tree.ranks()).filter(|rank| !dead.contains(rank)) {
            let case = || format!("{} in {order:?} order, dead {dead:?}", tree.name());
            let got = report.outcomes[rank].value();
            let got = got.unwrap_or_else(|| panic!("{}: {:?}", case(), report.outcomes[rank]));
            let root = (rank == tree.root()).then(|| result_at_the_root(tree, dead));
            assert_eq!(*got, root, "{}", case());
        }
    }
}

/// Returns the sum and the survivors at the root.
fn reduce_among_survivors(
    comm: &Comm,
    tree: &Topology,
    order: Order,
) -> Result<Option<(Vec<u64>, Survivors)>> {
    let me = comm.rank();
    let mut buf = numbers(me, 1);
    let who = comm
        .reduce_over(tree, &mut buf, op::Sum)
        .order(order)
        .survivors()?;
    let mut sorted = list_of_survivors(comm, tree, order)?;
    if order != Order::Rank {
        sorted.iter_mut().for_each(|list| list.sort_unstable());
    }
    assert_eq!(who.as_ref().map(|who| &who.contributors), sorted.as_ref());
    assert!(who.is_some() || buf == numbers(me, 1));
    Ok(who.map(|who| (buf, who)))
}

/// Returns the sum and the survivors by definition.
fn result_at_the_root(tree: &Topology, dead: &BTreeSet<Rank>) -> (Vec<u64>, Survivors) {
    let want = left(tree, dead);
    let inputs: Vec<_> = want
        .contributors
        .iter()
        .map(|&rank| numbers(rank, 1))
        .collect();
    (fold(&inputs, u64::wrapping_add), want)
}

/// The same with a list of ranks by move: in rank order they come out sorted.
fn list_of_survivors(comm: &Comm, tree: &Topology, order: Order) -> Result<Option<Vec<Rank>>> {
    let append = |a: Vec<Rank>, b| [a, b].concat();
    let list = comm
        .values()
        .reduce_over(tree, vec![comm.rank()], append)
        .order(order)
        .survivors()?;
    Ok(list.map(|(list, _)| list))
}

/// Returns the sets of failed ranks: none; each single rank; some pairs; the root alone.
fn victims(tree: &Topology) -> Vec<BTreeSet<Rank>> {
    let others: Vec<Rank> = (0..tree.ranks())
        .filter(|&rank| rank != tree.root())
        .collect();
    let mut sets = vec![BTreeSet::new(), others.iter().copied().collect()];
    sets.extend(others.iter().map(|&one| BTreeSet::from([one])));
    sets.extend(others.windows(2).map(|two| two.iter().copied().collect()));
    sets.extend(
        others
            .windows(5)
            .map(|some| some.iter().step_by(2).copied().collect()),
    );
    sets
}

#[test]
fn survivors_miss_the_subtrees_of_the_dead_for_every_victim() {
    for n in 1..=9 {
        let team = team(n);
        // Of the larger worlds only some trees, different ones for each size.
        let step = if n < 6 { 1 } else { 7 } * stride();
        for tree in trees(n).iter().skip(n % step).step_by(step) {
            victims(tree)
                .iter()
                .for_each(|dead| mourn(&team, tree, dead));
        }
    }
}

#[test]
fn survivors_of_small_worlds_are_right_for_every_set_of_victims() {
    for n in 1..=5usize {
        let team = team(n);
        for tree in [
            Topology::chain(n),
            Topology::flat(n),
            Topology::binomial(n).rooted(n - 1),
            Topology::in_order(n),
        ] {
            for set in 0..1usize << n {
                let dead: BTreeSet<Rank> = (0..n)
                    .filter(|rank| set >> rank & 1 == 1 && *rank != tree.root())
                    .collect();
                mourn(&team, &tree, &dead);
            }
        }
    }
}

#[test]
fn survivors_go_on_after_a_panic_too() {
    let report = team(7).try_run_each(|comm| {
        assert_ne!(comm.rank(), 4, "out of memory");
        let mut v = [1u64];
        let who = comm
            .reduce_over(&Topology::binomial(7), &mut v, op::Sum)
            .survivors()?;
        Ok::<_, Error>((v[0], who))
    });
    let report = report.unwrap();
    let (sum, who) = report.outcomes[0].value().unwrap();
    // Rank 4 gathers 5 and 6.
    let want = Survivors {
        contributors: vec![0, 1, 2, 3],
        missing: vec![4, 5, 6],
    };
    assert_eq!((*sum, who.as_ref()), (4, Some(&want)));
    assert_eq!(report.culprit, Some(4));
}

#[test]
fn a_dead_root_leaves_the_others_without_a_result_and_without_an_error() {
    for tree in families(6) {
        let report = team(6).try_run_each(|comm| match comm.rank() {
            rank if rank == tree.root() => Err(Error::user("dead")),
            _ => {
                let mut v = [1u64];
                comm.reduce_over(&tree, &mut v, op::Sum).survivors()
            }
        });
        let report = report.unwrap();
        let others = (0..6).filter(|&rank| rank != tree.root());
        others
            .into_iter()
            .for_each(|rank| assert_eq!(report.outcomes[rank].value(), Some(&None)));
    }
}

#[test]
fn survivors_may_reduce_again_and_again() {
    let tree = Topology::k_tree(9, 2);
    let dead = BTreeSet::from([3, 7]);
    let want = left(&tree, &dead);
    let report = team(9).try_run_each(|comm| {
        if dead.contains(&comm.rank()) {
            return Err(Error::user("dead"));
        }
        for call in 0..scaled(50) as u64 {
            let mut v = [call, 1];
            let who = comm.reduce_over(&tree, &mut v, op::Sum).survivors()?;
            let n = want.contributors.len() as u64;
            let right = who.is_none_or(|who| who == want && v == [n * call, n]);
            assert!(right, "call {call}: {v:?}");
        }
        Ok(())
    });
    let report = report.unwrap();
    assert!(
        (0..9).all(|rank| dead.contains(&rank) || report.outcomes[rank].value().is_some()),
        "{report:?}"
    );
}

/// Ranks that failed because of something else than the call are missing from it like those that failed by themselves.
#[test]
fn survivors_miss_ranks_that_failed_because_of_another_communicator() {
    let tree = Topology::binomial(4);
    let fails = |comm: &Comm| {
        let pair = comm.subset(&[2, 3])?;
        match comm.rank() {
            2 => pair.barrier(),
            _ => pair.all_reduce(&mut [1u8], op::Sum),
        }
    };
    for _ in 0..20 {
        let report = World::new(4).run_each(|comm| match comm.rank() {
            2.. => fails(comm).map(|()| None),
            me => comm.reduce_over(&tree, &mut [me], op::Sum).survivors(),
        });
        let found = report.outcomes[0].value();
        let found = found.unwrap_or_else(|| panic!("{report}")).as_ref();
        let found = found.expect("rank 0 is the root");
        assert_eq!(
            (&found.contributors, &found.missing),
            (&vec![0, 1], &vec![2, 3])
        );
    }
}
