//! Groups against sets in the plainest code; communicators that their members make alone; wrong lists and lost members.

mod again;
#[path = "groups/failures.rs"]
mod failures;
mod support;
#[path = "groups/wrong_lists.rs"]
mod wrong_lists;

use std::sync::atomic::{AtomicUsize, Ordering};

use rankfold::error::Mismatch;
use rankfold::{Comm, ErrorKind, Group, Rank, Report, Result, Similarity, World, op};
use support::{Random, guarded, scale};

// ── groups ──

fn listed(group: &Group) -> Vec<Rank> {
    group.world_ranks().collect()
}

/// Random ranks below a limit, in random order, none twice.
fn some(random: &mut Random, limit: usize) -> Vec<Rank> {
    let mut all: Vec<Rank> = (0..limit).collect();
    for i in (1..limit).rev() {
        all.swap(i, (random.next() % (i as u64 + 1)) as usize);
    }
    all.truncate((random.next() % (limit as u64 + 1)) as usize);
    all
}

/// Returns the ranks that pass a test, in their order.
fn keep(from: &[Rank], test: impl Fn(&Rank) -> bool) -> Vec<Rank> {
    from.iter().copied().filter(test).collect()
}

#[test]
fn operations_on_groups_are_those_on_ordered_sets() {
    const RANKS: usize = 8;
    let worlds = World::connect(RANKS);
    let comm = worlds.take(0).unwrap().enter();
    let all = comm.group();
    let mut random = Random::new(1);
    for _ in 0..(400.0 * scale()) as usize {
        let (a, b) = (some(&mut random, RANKS), some(&mut random, RANKS));
        let one = all.include(a.iter().copied()).unwrap();
        let two = all.include(b.iter().copied()).unwrap();
        assert_eq!((listed(&one), listed(&two)), (a.clone(), b.clone()));
        combined((&one, &two), (&a, &b));
        selected(&one, &a, some(&mut random, a.len()));
        found(RANKS, (&one, &two), (&a, &b));
        compared((&one, &two), (&a, &b));
    }
}

/// Compares the union, the intersection and the difference.
fn combined((one, two): (&Group, &Group), (a, b): (&[Rank], &[Rank])) {
    let union = [a.to_vec(), keep(b, |rank| !a.contains(rank))].concat();
    assert_eq!(listed(&one.union(two)), union);
    let both = keep(a, |rank| b.contains(rank));
    assert_eq!(listed(&one.intersection(two)), both);
    let only = keep(a, |rank| !b.contains(rank));
    assert_eq!(listed(&one.difference(two)), only);
    assert_eq!(
        one.union(two).size(),
        only.len() + both.len() + two.difference(one).size()
    );
}

/// Includes and excludes the members at these places.
fn selected(group: &Group, ranks: &[Rank], places: Vec<usize>) {
    let included: Vec<Rank> = places.iter().map(|&place| ranks[place]).collect();
    assert_eq!(listed(&group.include(places.clone()).unwrap()), included);
    let excluded = keep(ranks, |rank| !included.contains(rank));
    assert_eq!(listed(&group.exclude(places).unwrap()), excluded);
}

/// Translates all ranks, and looks all of them up, with some that are not there.
fn found(all: usize, (one, two): (&Group, &Group), (a, b): (&[Rank], &[Rank])) {
    let numbers = one.translate(0..all, two);
    for (number, found) in numbers.into_iter().enumerate() {
        let expected = a
            .get(number)
            .and_then(|rank| b.iter().position(|it| it == rank));
        assert_eq!(found, expected);
    }
    for rank in 0..all + 2 {
        let place = a.iter().position(|it| *it == rank);
        assert_eq!(
            (one.rank_of(rank), one.contains(rank)),
            (place, place.is_some())
        );
    }
}

fn compared((one, two): (&Group, &Group), (a, b): (&[Rank], &[Rank])) {
    let (mut s, mut t) = (a.to_vec(), b.to_vec());
    s.sort();
    t.sort();
    let expected = match (a == b, s == t) {
        (true, _) => Similarity::Identical,
        (_, true) => Similarity::Similar,
        _ => Similarity::Unequal,
    };
    assert_eq!(one.compare(two), expected);
    assert_eq!(one == two, a == b);
    assert_eq!(one.is_empty(), a.is_empty());
}

#[test]
fn groups_of_communicators_are_their_members_and_move_to_other_threads() {
    let groups = World::new(6)
        .run(|comm| {
            let half = comm.split(comm.rank() as u32 % 2, -(comm.rank() as i64))?;
            let group = half.group();
            assert_eq!(group.world_rank(half.rank()), Some(comm.rank()));
            assert_eq!(group.world_rank(3), None);
            assert_eq!(group.rank_of(comm.rank()), Some(half.rank()));
            let here: Vec<Rank> = (0..half.size()).collect();
            let there = group.translate(here.clone(), &comm.group());
            let world: Vec<Option<Rank>> = here.iter().map(|&r| Some(half.world_rank(r))).collect();
            assert_eq!(there, world);
            Ok(group)
        })
        .unwrap();
    assert_eq!(listed(&groups[0]), [4, 2, 0]);
    assert_eq!(format!("{:?}", groups[1]), "Group[5, 3, 1]");
    assert_eq!(groups[0].intersection(&groups[1]), Group::default());
    assert!(groups[0] == groups[2] && groups[0] != groups[3]);
}

#[test]
fn wrong_members_are_refused() {
    World::new(3)
        .run(|comm| {
            let all = comm.group();
            for (ranks, word) in [
                (vec![0, 3], "rank 3 is not one of the 3 members"),
                (vec![2, 1, 2], "rank 2 occurs twice"),
                (vec![usize::MAX], "not one of the 3"),
            ] {
                for result in [all.include(ranks.clone()), all.exclude(ranks.clone())] {
                    let error = result.unwrap_err();
                    assert!(matches!(error.kind(), ErrorKind::Usage(_)));
                    assert!(error.to_string().contains(word), "{error}");
                }
                let error = comm.subset(&ranks).map(drop).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
                assert!(error.to_string().contains(word), "{error}");
            }
            let others: Vec<Rank> = (0..3).filter(|&rank| rank != comm.rank()).collect();
            let error = comm.subset(&others).map(drop).unwrap_err();
            assert!(error.to_string().contains("is not in the list"), "{error}");
            let error = comm.subset(&[]).map(drop).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            let single = comm.subset(&[comm.rank()])?;
            let error = all.communicator(&single).map(drop).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
            let foreign = usize::from(comm.rank() == 0);
            let says = format!("rank {foreign} of the world is not one of the 1 members");
            assert!(error.to_string().contains(&says), "{error}");
            assert_eq!(error.site().unwrap().file(), file!());
            comm.barrier() // as if they had not been called
        })
        .unwrap();
}

// ── communicators that their members make ──

/// Checks that a communicator has these world ranks in this order, and that it works.
fn works(comm: &Comm, part: &Comm, ranks: &[Rank]) -> Result<()> {
    let world: Vec<Rank> = part.group().world_ranks().collect();
    assert_eq!(world, ranks);
    assert_eq!(ranks[part.rank()], comm.world_rank(comm.rank()));
    let mut sum = [comm.world_rank(comm.rank())];
    part.all_reduce(&mut sum, op::Sum)?;
    assert_eq!(sum[0], ranks.iter().sum::<usize>());
    let (right, left) = (
        (part.rank() + 1) % part.size(),
        (part.rank() + part.size() - 1) % part.size(),
    );
    part.send(right, 0, &[part.rank()])?;
    assert_eq!(part.recv::<usize>(left, 0)?.0, [left]);
    part.barrier()
}

/// The ranks on a list make the communicator, and it is right; the others receive a message meanwhile.
fn run(ranks: usize, check: bool, seed: Option<u64>, program: impl Fn(&Comm) -> Result<()> + Sync) {
    let case = format!("{ranks} ranks, check({check}), seed {seed:?}");
    let world = World::new(ranks).check(check).strict();
    let world = match seed {
        Some(seed) => world.seed(seed),
        None => world,
    };
    let report = guarded(&|| case.clone(), || world.run_each(&program));
    report
        .into_result()
        .unwrap_or_else(|error| panic!("{case}: {error}"));
}

#[test]
fn every_list_of_up_to_five_ranks_makes_its_communicator() {
    for ranks in 1..=5usize {
        for set in 1..1u32 << ranks {
            for (check, seed) in [(true, None), (false, None), (false, Some(9))] {
                run(ranks, check, seed, |comm| {
                    let mut list: Vec<Rank> = (0..ranks).filter(|r| set >> r & 1 == 1).collect();
                    let by = set as usize % list.len();
                    list.rotate_left(by);
                    if list.contains(&comm.rank()) {
                        let part = comm.subset(&list)?;
                        works(comm, &part, &list)?;
                        let same = part.group().communicator(comm)?;
                        works(comm, &same, &list)?;
                        comm.send(comm.rank(), 5, &[0u8])?; // messages of one never reach another
                        assert!(
                            same.iprobe(rankfold::Source::Any, rankfold::Tag::Any)?
                                .is_none()
                        );
                        comm.discard(comm.rank(), 5)?;
                    }
                    comm.barrier()
                });
            }
        }
    }
}

#[test]
fn ranks_that_are_not_members_wait_for_nothing() {
    let met = AtomicUsize::new(0);
    run(4, true, None, |comm| {
        match comm.rank() {
            // Rank 3 is in no call until the others have met.
            3 => {
                while met.load(Ordering::Relaxed) < 3 {
                    std::thread::yield_now();
                }
            }
            _ => {
                let part = comm.subset(&[2, 0, 1])?;
                works(comm, &part, &[2, 0, 1])?;
                met.fetch_add(1, Ordering::Relaxed);
            }
        }
        comm.barrier()
    });
}

/// Random lists, which all ranks make in one order: a rank takes part in those that name it.
#[test]
fn overlapping_and_repeated_lists_do_not_disturb_each_other() {
    for seed in 0..(20.0 * scale()).max(1.0) as u64 {
        let mut random = Random::new(seed);
        let ranks = 2 + (seed % 6) as usize;
        let lists: Vec<Vec<Rank>> = (0..30).map(|_| some(&mut random, ranks)).collect();
        let control = (seed % 3 == 0).then_some(seed);
        run(ranks, seed % 2 == 0, control, |comm| {
            let parent = comm.split(0, -(comm.rank() as i64))?; // its ranks are in reverse
            let mut kept = Vec::new();
            for list in lists.iter().filter(|list| list.contains(&parent.rank())) {
                let part = parent.subset(list)?;
                let world: Vec<Rank> = list.iter().map(|&rank| parent.world_rank(rank)).collect();
                if list.len() % 2 == 0 {
                    works(comm, &part, &world)?;
                }
                kept.push((part, world));
            }
            kept.iter()
                .try_for_each(|(part, world)| works(comm, part, world))
        });
    }
}

#[test]
fn a_team_makes_them_in_every_run() {
    let team = World::new(3).start().unwrap();
    for run in 0..50 {
        let list = [run % 3, (run + 1) % 3];
        let made = team.run(|comm| match list.contains(&comm.rank()) {
            true => works(comm, &comm.subset(&list)?, &list),
            false => Ok(()),
        });
        made.unwrap();
    }
}

// ── wrong programs ──

fn each(ranks: usize, program: impl Fn(&Comm) -> Result<()> + Sync, judge: impl Fn(&Report<()>)) {
    for (check, seed) in [(true, None), (false, None), (false, Some(2))] {
        let case = || format!("{ranks} ranks, check({check}), seed {seed:?}");
        let world = World::new(ranks).check(check);
        let world = match seed {
            Some(seed) => world.seed(seed),
            None => world,
        };
        judge(&guarded(&case, || world.run_each(&program)));
    }
}

fn mismatch(report: &Report<()>, rank: Rank) -> &Mismatch {
    let error = report.outcomes[rank].error().expect("it fails");
    let ErrorKind::Mismatch(found) = error.kind() else {
        panic!("rank {rank}: {error}")
    };
    found
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
