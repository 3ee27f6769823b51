//! Windows: random programs of fences, locks and epochs of some ranks, against a sequential model; mutual exclusion;
//! atomics.
//!
//! `RANKFOLD_CASES` and `RANKFOLD_SEED` set how many random programs run, and the first seed.

mod common;
mod support;

use std::fmt::Debug;

use common::{Map, TOKEN, await_signal, compose, scaled, signal};
use rankfold::window::AtomicElement;
use rankfold::{AtomicWindow, Comm, Error, Rank, Result, Window, World, op};
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

// ── locks ──

#[test]
fn an_exclusive_lock_keeps_all_others_out() {
    let each = scaled(300);
    for ranks in SIZES {
        let each = each / ranks + 2;
        let case = || format!("{ranks} ranks");
        let sums = guarded(&case, || {
            World::new(ranks).run(|comm| {
                // Two numbers that are the same whenever no rank writes between them.
                let win = comm.window(vec![0u64; 2])?;
                for turn in 0..each {
                    let target = turn % comm.size();
                    if turn % 3 == 0 {
                        let part = win.lock_shared(target)?;
                        assert_eq!(part[0], part[1]);
                    }
                    let mut part = win.lock_exclusive(target)?;
                    part[0] += 1;
                    std::hint::black_box(&mut part);
                    part[1] += 1;
                    assert_eq!(part[0], part[1]);
                }
                comm.barrier()?;
                let all = win.lock_all()?;
                Ok(all.iter().map(|part| part[0]).sum::<u64>())
            })
        });
        assert_eq!(sums.unwrap(), vec![(ranks * each) as u64; ranks]);
    }
}

#[test]
fn readers_hold_one_part_at_the_same_time() {
    let report = guarded(&|| "readers".into(), || {
        World::new(5).run(|comm| {
            let win = comm.window(vec![comm.rank(); 3])?;
            let part = win.lock_shared(2)?;
            // All ranks hold it here.
            comm.barrier()?;
            assert_eq!(*part, [2; 3]);
            comm.barrier()
        })
    });
    report.unwrap();
}

#[test]
fn a_writer_gets_the_lock_between_readers_that_never_stop_reading() {
    let report = guarded(&|| "readers that poll".into(), || {
        World::new(6).run(|comm| {
            let win = comm.window(vec![0u32])?;
            if comm.rank() == 1 {
                win.lock_exclusive(0)?[0] = 7;
                return Ok(());
            }
            while win.lock_shared(0)?[0] == 0 {}
            Ok(())
        })
    });
    report.unwrap();
}

#[test]
fn a_part_can_be_read_after_its_rank_has_ended() {
    let report = guarded(&|| "a part outlives its rank".into(), || {
        World::new(3).run(|comm| {
            let win = comm.window(vec![comm.rank() as u8 + 1; 1000])?;
            if comm.rank() == 1 {
                drop(win);
                return Ok(0);
            }
            comm.probe(1, TOKEN)
                .expect_err("it sends nothing, and ends");
            let part = win.lock_shared(1)?;
            Ok(part.iter().map(|e| u32::from(*e)).sum())
        })
    });
    assert_eq!(report.unwrap(), [2000, 0, 2000]);
}

#[test]
fn a_lock_passes_messages_written_before_it_is_given_up() {
    let report = guarded(&|| "locks and messages".into(), || {
        World::new(2).run(|comm| {
            let win = comm.window(vec![0; 4])?;
            if comm.rank() == 0 {
                let mut part = win.lock_exclusive(1)?;
                signal(comm, 1)?;
                part.fill(5);
                return Ok(());
            }
            await_signal(comm, 0)?;
            // Rank 0 has it, or has filled it.
            assert_eq!(*win.lock_shared(1)?, [5; 4]);
            Ok(())
        })
    });
    report.unwrap();
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

// ── atomics ──

#[test]
fn atomic_totals_are_exact() {
    for ranks in SIZES {
        let each = scaled(400) / ranks + 1;
        let case = || format!("{ranks} ranks");
        let results = guarded(&case, || {
            World::new(ranks).run(|comm| {
                let win = AtomicWindow::new(comm, vec![0u32; 3])?;
                let mut before = Vec::new();
                for turn in 0..each {
                    let target = (comm.rank() + turn) % comm.size();
                    win.accumulate(target, 0, &[1, 2], op::Sum)?;
                    before.push(win.fetch_and_op(0, 2, 1, op::Sum)?);
                    let mut now = win.get(target, 1)?;
                    loop {
                        let found = win.compare_and_swap(target, 1, now, now + 1)?;
                        if found == now {
                            break;
                        }
                        now = found;
                    }
                }
                win.fence()?;
                let mut sums = [0; 3];
                for target in 0..comm.size() {
                    let mut part = [0; 3];
                    win.get_into(target, 0, &mut part)?;
                    sums.iter_mut().zip(part).for_each(|(sum, e)| *sum += e);
                }
                Ok((before, sums))
            })
        });
        let (before, sums): (Vec<_>, Vec<_>) = results.unwrap().into_iter().unzip();
        let all = (ranks * each) as u32;
        assert_eq!(sums, vec![[all, 3 * all, all]; ranks], "{ranks} ranks");
        let mut before = before.concat();
        before.sort_unstable();
        assert!(before.into_iter().eq(0..all), "{ranks} ranks");
    }
}

fn all_operations<T: AtomicElement + PartialEq + Debug>(low: T, high: T) {
    let results = World::new(3).run(|comm| {
        let win = AtomicWindow::new(comm, vec![low; 2 + comm.rank()])?;
        assert_eq!((win.len(2), win.rank(), win.size()), (4, comm.rank(), 3));
        win.fence()?;
        if comm.rank() == 1 {
            win.put(2, 1, &[high, high, low])?;
            assert_eq!(win.compare_and_swap(2, 0, high, high)?, low);
            assert_eq!(win.compare_and_swap(2, 0, low, high)?, low);
            let mut before = [low; 2];
            win.get_accumulate(2, 2, &[low, high], &mut before, |_, new| new)?;
            assert_eq!(before, [high, low]);
            assert_eq!(win.fetch_and_op(2, 1, low, op::First)?, high);
        }
        win.fence()?;
        let mut all = [low; 4];
        win.get_into(2, 0, &mut all)?;
        assert_eq!(win.get(0, 1)?, low);
        Ok(all)
    });
    assert_eq!(results.unwrap(), [[high, high, low, high]; 3]);
}

#[test]
fn every_type_of_atomics_has_all_operations() {
    all_operations(0u8, u8::MAX);
    all_operations(1u16, u16::MAX);
    all_operations(2u32, u32::MAX);
    all_operations(3u64, u64::MAX);
    all_operations(4usize, usize::MAX);
    all_operations(i8::MIN, i8::MAX);
    all_operations(i16::MIN, i16::MAX);
    all_operations(i32::MIN, i32::MAX);
    all_operations(i64::MIN, i64::MAX);
    all_operations(isize::MIN, isize::MAX);
    all_operations(false, true);
    all_operations(-0.5f32, f32::INFINITY);
    all_operations(f64::MIN, 1e300);
}

#[test]
fn a_number_announces_what_was_written_before_it() {
    let report = guarded(&|| "flag".into(), || {
        World::new(4).run(|comm| {
            let (data, flag) = (
                AtomicWindow::new(comm, vec![0u64; 50])?,
                AtomicWindow::new(comm, vec![false])?,
            );
            for round in 1..=scaled(50) as u64 {
                if comm.rank() == 0 {
                    for target in 1..comm.size() {
                        data.put(target, 0, &[round; 50])?;
                        flag.put(target, 0, &[true])?;
                    }
                } else {
                    while !flag.get(comm.rank(), 0)? {
                        std::thread::yield_now();
                    }
                    let mut got = [0; 50];
                    data.get_into(comm.rank(), 0, &mut got)?;
                    assert_eq!(got, [round; 50]);
                    flag.put(comm.rank(), 0, &[false])?;
                }
                data.fence()?;
            }
            Ok(())
        })
    });
    report.unwrap();
}
