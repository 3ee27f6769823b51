//! Windows: random programs of fences, locks and epochs of some ranks, against a sequential model; mutual exclusion;
//! atomics.
//!
//! `RANKFOLD_CASES` and `RANKFOLD_SEED` set how many random programs run, and the first seed.

#[path = "windows/atomics.rs"]
mod atomics;
mod common;
#[path = "windows/locks.rs"]
mod locks;
mod support;

use std::fmt::Debug;

use common::{Map, compose, scaled};
use rankfold::{Comm, Error, Rank, Result, Window, World, op};
use support::sweep::FAULTS;
use support::{Random, guarded, setting};

const SIZES: [usize; 19] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33, 64,
];

// ── random programs ──

/// One call of put or accumulate.
#[derive(Clone, Debug)]
struct Write {
    target: Rank,
    at: usize,
    elements: Vec<Map>,
    folds: bool,
}

/// A part of the program, in which every rank takes part: what each of them does.
#[derive(Debug)]
enum Stage {
    /// Epochs between fences, one after another.
    Fences(Vec<Vec<Vec<Write>>>),
    /// Additions under exclusive locks.
    Locks(Vec<Vec<Write>>),
    /// The targets of each rank, and what it puts there.
    Starts(Vec<(Vec<Rank>, Vec<Write>)>),
}

#[derive(Debug)]
struct Program {
    lengths: Vec<usize>,
    stages: Vec<Stage>,
}

impl Program {
    fn draw(ranks: usize, seed: u64) -> Program {
        let mut random = Random::new(seed);
        let lengths: Vec<usize> = (0..ranks).map(|_| random.below(6)).collect();
        let stages = 1 + random.below(5);
        let stages = (0..stages).map(|_| stage(&lengths, &mut random)).collect();
        Program { lengths, stages }
    }

    fn ranks(&self) -> usize {
        self.lengths.len()
    }

    fn start(&self) -> Vec<Vec<Map>> {
        let part = |(rank, length): (Rank, &usize)| (0..*length).map(move |i| common::map(rank, i));
        let parts = self.lengths.iter().enumerate();
        parts.map(|rank| part(rank).collect()).collect()
    }
}

fn stage(lengths: &[usize], random: &mut Random) -> Stage {
    let ranks = lengths.len();
    let all: Vec<Rank> = (0..ranks).collect();
    match random.below(3) {
        0 => {
            let epochs = 1 + random.below(3);
            let epoch = |_| (0..ranks).map(|_| writes(&all, lengths, random)).collect();
            Stage::Fences((0..epochs).map(epoch).collect())
        }
        1 => Stage::Locks((0..ranks).map(|_| writes(&all, lengths, random)).collect()),
        _ => {
            let rank = |_| {
                let targets: Vec<Rank> = (0..ranks).filter(|_| random.one_in(3)).collect();
                let writes = writes(&targets, lengths, random);
                (targets, writes)
            };
            Stage::Starts((0..ranks).map(rank).collect())
        }
    }
}

fn writes(targets: &[Rank], lengths: &[usize], random: &mut Random) -> Vec<Write> {
    let count = if targets.is_empty() {
        0
    } else {
        random.below(4)
    };
    let write = |_| {
        let target = random.of(targets);
        let at = random.below(lengths[target] + 1);
        let count = random.below(lengths[target] - at + 1);
        let elements = (0..count).map(|i| common::map(random.below(1000), i));
        Write {
            target,
            at,
            elements: elements.collect(),
            folds: random.one_in(2),
        }
    };
    (0..count).map(write).collect()
}

fn add(to: &mut Map, more: Map) {
    *to = (to.0.wrapping_add(more.0), to.1.wrapping_add(more.1));
}

/// The definition: all writes one after another, by rank.
fn write_all<'a>(parts: &mut [Vec<Map>], writes: impl Iterator<Item = &'a Write>, adds: bool) {
    for write in writes {
        let place = &mut parts[write.target][write.at..];
        for (to, element) in place.iter_mut().zip(&write.elements) {
            match (adds, write.folds) {
                (true, _) => add(to, *element),
                (_, true) => *to = compose(*to, *element),
                (..) => *to = *element,
            }
        }
    }
}

/// What the ranks of a program need: the parts before each epoch of fences and after each stage.
fn model(program: &Program) -> Vec<Vec<Vec<Map>>> {
    let mut parts = program.start();
    let mut seen = Vec::new();
    for stage in &program.stages {
        match stage {
            Stage::Fences(epochs) => {
                for epoch in epochs {
                    seen.push(parts.clone());
                    write_all(&mut parts, epoch.iter().flatten(), false);
                }
            }
            Stage::Locks(all) => write_all(&mut parts, all.iter().flatten(), true),
            Stage::Starts(all) => {
                let writes = all.iter().flat_map(|(_, writes)| writes);
                write_all(&mut parts, writes, false);
            }
        }
        seen.push(parts.clone());
    }
    seen
}

fn play(comm: &Comm, program: &Program, seen: &[Vec<Vec<Map>>]) -> Result<()> {
    let me = comm.rank();
    let mut win = comm.window(program.start().swap_remove(me))?;
    let mut seen = seen.iter();
    for stage in &program.stages {
        match stage {
            Stage::Fences(epochs) => play_fences(&mut win, epochs, &mut seen)?,
            Stage::Locks(all) => {
                for write in &all[me] {
                    let mut part = win.lock_exclusive(write.target)?;
                    let place = part[write.at..].iter_mut();
                    place.zip(&write.elements).for_each(|(to, e)| add(to, *e));
                }
            }
            Stage::Starts(all) => play_starts(&win, all)?,
        }
        let now = seen.next().expect("the model has as many stages");
        comm.barrier()?;
        assert_eq!(*win.local_mut()?, now[me], "rank {me}");
        comm.barrier()?;
        let all = win.lock_all()?;
        assert!(all.iter().eq(now.iter().map(|part| &part[..])));
        comm.barrier()?;
    }
    Ok(())
}

fn play_fences<'a>(
    win: &mut Window<Map>,
    epochs: &[Vec<Vec<Write>>],
    seen: &mut impl Iterator<Item = &'a Vec<Vec<Map>>>,
) -> Result<()> {
    let (me, ranks) = (win.rank(), win.size());
    let mut open = win.fence()?;
    for (nth, epoch) in epochs.iter().enumerate() {
        let before = seen.next().expect("the model has as many epochs");
        for write in &epoch[me] {
            let Write { target, at, .. } = *write;
            assert_eq!(open.read(target)?, before[target]);
            match write.folds {
                true => open.accumulate(target, at, &write.elements, compose)?,
                false => open.put(target, at, &write.elements)?,
            }
        }
        let other = (me + nth) % ranks;
        assert_eq!(open.read(other)?, before[other]);
        if nth + 1 < epochs.len() {
            open.fence()?;
        }
    }
    open.close()
}

fn play_starts(win: &Window<Map>, all: &[(Vec<Rank>, Vec<Write>)]) -> Result<()> {
    let me = win.rank();
    let origins = all.iter().enumerate();
    let origins = origins.filter(|(_, (targets, _))| targets.contains(&me));
    let origins: Vec<Rank> = origins.map(|(origin, _)| origin).collect();
    let (targets, writes) = &all[me];
    let exposure = win.post(&origins)?;
    let access = win.start(targets)?;
    for Write {
        target,
        at,
        elements,
        folds,
    } in writes
    {
        assert_eq!(access.read(*target)?.len(), win.len(*target));
        match folds {
            true => access.accumulate(*target, *at, elements, compose)?,
            false => access.put(*target, *at, elements)?,
        }
    }
    access.complete()?;
    exposure.wait()
}

#[test]
fn random_programs_leave_what_the_sequential_model_leaves() {
    let cases = setting("RANKFOLD_CASES").unwrap_or_else(|| scaled(12));
    let first: u64 = setting("RANKFOLD_SEED").unwrap_or(1);
    for ranks in SIZES {
        let cases = if ranks > 17 { cases.div_ceil(4) } else { cases };
        for seed in first..first + cases as u64 {
            let program = Program::draw(ranks, seed);
            let seen = model(&program);
            let case = || format!("{ranks} ranks, seed {seed}");
            let report = guarded(&case, || {
                let world = World::new(program.ranks()).check(seed % 2 == 0).strict();
                let world = match seed % 3 {
                    0 if ranks <= 9 => world.seed(seed),
                    _ => world,
                };
                world.run_each(|comm| play(comm, &program, &seen))
            });
            if let Err(error) = report.into_result() {
                panic!("{}: {error}\n{program:?}", case());
            }
        }
    }
}

#[test]
fn a_random_program_in_which_a_rank_dies_ends_for_all_with_its_name() {
    let cases = setting("RANKFOLD_CASES").unwrap_or_else(|| scaled(120));
    let first: u64 = setting("RANKFOLD_SEED").unwrap_or(1);
    for seed in first..first + cases as u64 {
        let mut random = Random::new(seed);
        let ranks = 2 + random.below(8);
        let program = Program::draw(ranks, seed);
        let seen = model(&program);
        let world = World::new(ranks).check(seed % 2 == 0);
        let healthy = world.run_each(|comm| play(comm, &program, &seen));
        let victim = random.below(ranks);
        let nth = 1 + random.below(healthy.counts[victim].operations as usize) as u64;
        let fault = random.of(&FAULTS);
        let case = || format!("seed {seed}, inject({victim}, {nth}, {fault:?})");
        let world = World::new(ranks).check(seed % 2 == 0);
        let world = world.inject(victim, nth, fault);
        let report = guarded(&case, || world.run_each(|comm| play(comm, &program, &seen)));
        assert_eq!(report.culprit, Some(victim), "{}: {report:?}", case());
        for (rank, outcome) in report.outcomes.iter().enumerate() {
            let named = |error: &Error| error.culprit() == Some(victim);
            let fine = outcome.value().is_some() || outcome.error().is_some_and(named);
            assert!(fine || rank == victim, "{}: {rank}: {outcome:?}", case());
        }
    }
}

// ── epochs ──

#[test]
fn every_rank_accumulates_into_every_part_in_rank_order() {
    for ranks in SIZES {
        let parts = World::new(ranks).run(|comm| {
            let mut win = comm.window(vec![common::map(99, 0); 3])?;
            let epoch = win.fence()?;
            for target in 0..comm.size() {
                epoch.accumulate(target, 1, &[common::map(comm.rank(), 1)], compose)?;
                epoch.accumulate(target, 1, &[common::map(comm.rank(), 2); 2], compose)?;
            }
            epoch.close()?;
            Ok(win.local_mut()?.to_vec())
        });
        let start = common::map(99, 0);
        let both = (0..ranks).flat_map(|rank| [common::map(rank, 1), common::map(rank, 2)]);
        let last = (0..ranks).map(|rank| common::map(rank, 2));
        let want = vec![start, both.fold(start, compose), last.fold(start, compose)];
        assert_eq!(parts.unwrap(), vec![want; ranks], "{ranks} ranks");
    }
}

#[test]
fn windows_of_communicators_count_ranks_by_these() {
    let sums = World::new(6).run(|comm| {
        let odd = comm.split(comm.rank() as u32 % 2, -(comm.rank() as i64))?;
        let mut win = odd.window(vec![0; odd.rank() + 1])?;
        assert_eq!((win.rank(), win.size()), (odd.rank(), 3));
        let epoch = win.fence()?;
        epoch.accumulate(2, 2, &[comm.rank()], op::Sum)?;
        epoch.close()?;
        let sum = win.lock_shared(2)?[2];
        Ok(sum)
    });
    assert_eq!(sums.unwrap(), [6, 9, 6, 9, 6, 9]);
}

#[test]
fn elements_without_size_and_parts_without_elements_are_allowed() {
    World::new(3)
        .run(|comm| {
            let mut units = comm.window(vec![(); 7])?;
            let mut none = comm.window(Vec::<u64>::new())?;
            let (first, second) = (units.fence()?, none.fence()?);
            assert_eq!((first.read(2)?.len(), second.read(0)?.len()), (7, 0));
            first.put(1, 3, &[(); 4])?;
            second.put(1, 0, &[])?;
            second.close()?;
            first.close()
        })
        .unwrap();
}

/// An element whose clone is another one, or panics.
#[derive(Copy, Debug, PartialEq)]
struct CopiedOnly(u64);

#[expect(clippy::non_canonical_clone_impl, reason = "the clone must differ")]
impl Clone for CopiedOnly {
    fn clone(&self) -> Self {
        assert_ne!(self.0, 13, "unlucky");
        CopiedOnly(self.0 + 1)
    }
}

#[test]
fn elements_are_put_as_copies_and_never_cloned() {
    let parts = World::new(2).run(|comm| {
        let mut win = comm.window(vec![CopiedOnly(0); 3])?;
        let epoch = win.fence()?;
        epoch.put(1 - comm.rank(), 0, &[CopiedOnly(1), CopiedOnly(13)])?;
        epoch.put(1 - comm.rank(), 2, &[CopiedOnly(7)])?;
        epoch.close()?;
        Ok(win.local_mut()?.iter().map(|it| it.0).collect::<Vec<_>>())
    });
    assert_eq!(parts.unwrap(), vec![[1, 13, 7]; 2]);
}
