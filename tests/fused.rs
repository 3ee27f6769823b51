//! Fused all-reduces: each vector gets what a call of its own gives, bit for bit, and what a fold written out gives; and
//! every rank learns of lists that differ, operators that panic, and ranks that are missing.

mod again;
#[path = "fused/mistakes.rs"]
mod mistakes;
mod support;

use std::fmt::Debug;
use std::mem;

use proptest::prelude::*;
use rankfold::collective::{Algorithm, Collective};
use rankfold::error::Mismatch;
use rankfold::{Comm, Fused, Rank, Report, Result, World, WorldError, op};
use support::{Random, guarded, mix, scale};

/// Elements aligned more strictly than the lines that messages are copied in, with padding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
struct Wide(u16);

/// Elements that no block is aligned for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(128))]
struct Widest(u64);

type Map = (u8, u32);

/// x -> ax + b modulo 256, one after the other: composing maps does not commute.
fn compose((a, b): Map, (c, d): Map) -> Map {
    let sum = u32::from(c) * b + d;
    (a.wrapping_mul(c), sum % 256)
}

/// A vector of each kind, made, listed, reduced by itself, and folded by a loop.
macro_rules! vectors {
    ($($name:ident: $type:ty = $make:expr, $op:expr, $fold:expr;)*) => {
        #[derive(Clone, Debug)]
        enum Vector { $($name(Vec<$type>),)* }

        const KINDS: &[fn(u64, usize) -> Vector] = &[
            $(|seed, length| Vector::$name((0..length).map(|i| $make(mix(seed + i as u64))).collect()),)*
        ];

        impl Vector {
            fn list<'a>(&'a mut self, f: &mut Fused<'a>) {
                match self { $(Vector::$name(v) => f.all_reduce(v, $op),)* }
            }

            fn alone(&mut self, comm: &Comm) -> Result<()> {
                match self { $(Vector::$name(v) => comm.all_reduce(v, $op),)* }
            }

            fn fold(&mut self, right: &Vector) {
                match (self, right) {
                    $((Vector::$name(left), Vector::$name(right)) => {
                        let both = left.iter_mut().zip(right);
                        both.for_each(|(left, right)| *left = $fold(*left, *right));
                    })*
                    _ => unreachable!("vectors of two kinds"),
                }
            }
        }
    };
}

vectors! {
    Sums: u64 = |n| n, op::Sum, u64::wrapping_add;
    Most: f64 = |n| n as f64, op::Max, f64::max;
    // Sums of these are rounded.
    Rounded: f64 = |n: u64| 1.0 / (n % 1000 + 1) as f64, op::Sum, |a, b| a + b;
    Small: i8 = |n| n as i8, op::Min, i8::min;
    Long: u128 = |n| u128::from(n) << 31, op::Xor, |a, b| a ^ b;
    Flags: bool = |n| n % 7 > 0, op::And, |a, b| a & b;
    Maps: Map = |n: u64| (n as u8 | 1, (n >> 8) as u32 % 256), compose, compose;
    Joined: (u8, u32) = |n| (n as u8, n as u32), op::commutative(|(a, b): (u8, u32), (c, d)| (a ^ c, b | d)),
        |(a, b), (c, d)| (a ^ c, b | d);
    Units: () = |_| (), op::First, |a, _| a;
    Wides: Wide = |n| Wide(n as u16), |a: Wide, b: Wide| Wide(a.0.max(b.0)), |a: Wide, b: Wide| Wide(a.0.max(b.0));
    Widests: Widest = Widest, |a: Widest, _: Widest| a, |a, _| a;
}

/// Kind and length of each vector.
type List = Vec<(usize, usize)>;

fn draw(random: &mut Random) -> List {
    let vectors = random.of(&[0, 1, 2, 3, 5, 8, 9, 20]);
    let kind = |random: &mut Random| {
        (
            random.below(KINDS.len()),
            random.of(&[0, 1, 1, 2, 3, 7, 30]),
        )
    };
    let mut list: List = (0..vectors).map(|_| kind(random)).collect();
    if random.one_in(4) {
        list.push((random.below(KINDS.len()), random.of(&[100, 511, 600, 5000])));
    }
    list
}

fn made(list: &List, seed: u64, rank: Rank) -> Vec<Vector> {
    let one = |(place, (kind, length)): (usize, &(usize, usize))| {
        KINDS[*kind](
            mix(seed ^ (rank as u64) << 20 ^ (place as u64) << 40),
            *length,
        )
    };
    list.iter().enumerate().map(one).collect()
}

fn fuse(comm: &Comm, vectors: &mut [Vector]) -> Result<()> {
    comm.fused(|f| vectors.iter_mut().for_each(|vector| vector.list(f)))
}

/// The bits, also those of zeros and of what rounds alike.
fn shown(vectors: &impl Debug) -> String {
    format!("{vectors:?}")
}

fn folded(list: &List, seed: u64, ranks: usize) -> Vec<Vector> {
    let mut all = made(list, seed, 0);
    for rank in 1..ranks {
        let theirs = made(list, seed, rank);
        all.iter_mut()
            .zip(&theirs)
            .for_each(|(left, right)| left.fold(right));
    }
    all
}

/// Compares a list with separate calls, and on ranks that fold from the first to the last, with a loop.
fn compare(comm: &Comm, list: &List, seed: u64) -> Result<()> {
    let mut fused = made(list, seed, comm.rank());
    let mut alone = fused.clone();
    fuse(comm, &mut fused)?;
    alone.iter_mut().try_for_each(|vector| vector.alone(comm))?;
    let case = || {
        format!(
            "seed {seed}, rank {} of {}, {list:?}",
            comm.rank(),
            comm.size()
        )
    };
    assert_eq!(shown(&fused), shown(&alone), "{}", case());
    assert_eq!(
        shown(&fused),
        shown(&folded(list, seed, comm.size())),
        "{}",
        case()
    );
    Ok(())
}

#[test]
fn a_list_gives_what_separate_calls_give() {
    for ranks in (1..=17).chain([33, 64]) {
        let lists = (if ranks > 17 { 4.0 } else { 12.0 } * scale()).ceil() as u64;
        for check in [false, true] {
            let run = || {
                World::new(ranks).check(check).strict().run(|comm| {
                    (0..lists).try_for_each(|list| {
                        let seed = list * 1000 + ranks as u64;
                        compare(comm, &draw(&mut Random::new(seed)), seed)
                    })
                })
            };
            let case = || format!("{ranks} ranks, check({check})");
            guarded(&case, run).unwrap_or_else(|error| panic!("{}: {error}", case()));
        }
    }
}

#[test]
fn more_ranks_than_cells_serve_get_the_same_without_rounding() {
    let list: List = vec![(0, 3), (6, 2), (1, 30), (7, 1), (3, 0), (6, 40)];
    World::new(70).run(|comm| compare(comm, &list, 7)).unwrap();
}

fn lists() -> impl Strategy<Value = List> {
    prop::collection::vec((0..KINDS.len(), 0..40usize), 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((60.0 * scale()).ceil() as u32))]

    #[test]
    fn any_list_gives_what_separate_calls_give(list in lists(), ranks in 1..7usize, seed: u32) {
        let run = || World::new(ranks).strict().run(|comm| compare(comm, &list, seed.into()));
        let case = || format!("{ranks} ranks, {list:?}, seed {seed}");
        prop_assert!(guarded(&case, run).is_ok());
    }
}

#[test]
fn a_list_is_reduced_by_every_algorithm_that_takes_a_vector_of_one_element() {
    let commuting: List = vec![(0, 3), (1, 1), (5, 9), (9, 2)];
    let ordered: List = vec![(6, 3), (0, 2)];
    for ranks in [1, 2, 3, 4, 5, 8] {
        for algorithm in Algorithm::all(Collective::AllReduce) {
            for list in [&commuting, &ordered] {
                let run = |comm: &Comm| {
                    let using = comm.using(algorithm);
                    let mut one = [(1u8, 2u32)];
                    // The wide elements commute, but their closure does not say so.
                    let reference = using.all_reduce(&mut one, compose);
                    let mut vectors = made(list, 5, comm.rank());
                    let fused =
                        using.fused(|f| vectors.iter_mut().for_each(|vector| vector.list(f)));
                    assert_eq!(fused.is_ok(), reference.is_ok(), "{algorithm}: {fused:?}");
                    let expected = match fused {
                        Ok(()) => folded(list, 5, comm.size()),
                        Err(_) => made(list, 5, comm.rank()),
                    };
                    assert_eq!(shown(&vectors), shown(&expected), "{algorithm}");
                    Ok(())
                };
                let case = || format!("{algorithm}, {ranks} ranks");
                let ended = guarded(&case, || World::new(ranks).run(run));
                ended.unwrap_or_else(|error| panic!("{}: {error}", case()));
            }
        }
    }
}

#[test]
fn a_list_of_nothing_is_a_call_of_all_ranks() {
    World::new(3)
        .run(|comm| {
            comm.fused(|_| ())?;
            let (mut none, mut units) = ([0u8; 0], [(); 1000]);
            comm.fused(|f| f.all_reduce(&mut none, op::Sum))?;
            comm.fused(|f| f.all_reduce(&mut units, op::First))
        })
        .unwrap();
    let report = World::new(3).run_each(|comm| match comm.rank() {
        0 => comm.barrier(),
        _ => comm.fused(|_| ()),
    });
    assert_eq!(mismatch(report).odd, [0]);
}

#[test]
fn hundreds_of_vectors_and_vectors_longer_than_any_block_are_reduced() {
    for ranks in [1, 2, 3, 8] {
        let run = |comm: &Comm| {
            let me = comm.rank() as u64;
            let mut many = [[me as u8; 3]; 700];
            let (mut long, mut short) = (vec![me; 4000], [me]);
            comm.fused(|f| {
                many.iter_mut().for_each(|v| f.all_reduce(v, op::Max));
                f.all_reduce(&mut long, op::Sum);
                f.all_reduce(&mut short, op::Sum);
            })?;
            Ok((many, long, short))
        };
        let (many, long, short) = World::new(ranks).run(run).unwrap().remove(0);
        let (most, sum) = (ranks as u8 - 1, (ranks * (ranks - 1) / 2) as u64);
        assert_eq!(
            (many, long, short),
            ([[most; 3]; 700], vec![sum; 4000], [sum])
        );
    }
}

#[test]
fn parts_of_one_vector_and_operators_that_capture_are_listed() {
    let modulus = 97u64;
    let results = World::new(4).run(|comm| {
        let mut v = [comm.rank() as u64 + 50; 6];
        let (sums, most) = v.split_at_mut(2);
        let add: &dyn Fn(u64, u64) -> u64 = &|a, b| (a + b) % modulus;
        comm.fused(|f| {
            f.all_reduce(sums, add);
            f.all_reduce(most, op::Max);
        })?;
        Ok(v)
    });
    assert_eq!(results.unwrap(), [[12, 12, 53, 53, 53, 53]; 4]);
}

#[test]
fn communicators_that_were_split_or_duplicated_fuse() {
    let list: List = vec![(0, 5), (6, 1), (3, 9), (2, 2)];
    for check in [false, true] {
        World::new(9)
            .check(check)
            .run(|comm| {
                let dup = comm.dup()?;
                let part = comm.split((comm.rank() % 2) as u32, -(comm.rank() as i64))?;
                for round in 0..20 {
                    compare(&dup, &list, round)?;
                    compare(&part, &list, round)?;
                    compare(comm, &list, round)?;
                }
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn lists_that_alternate_at_one_line_are_kept_apart() {
    World::new(3)
        .run(|comm| {
            let lists: [List; 4] = [
                vec![(0, 2)],
                vec![(1, 2)],
                vec![(0, 2), (1, 1)],
                vec![(0, 3)],
            ];
            (0..40).try_for_each(|round| compare(comm, &lists[round * 7 % 4], round as u64))
        })
        .unwrap();
}

fn mismatch<R: Debug>(report: Report<R>) -> Mismatch {
    let found = report.mismatch.clone();
    let found = found.or_else(|| match report.into_result() {
        Err(WorldError::Mismatch(found)) => Some(found),
        _ => None,
    });
    let found = found.expect("a mismatch");
    let mut same = Mismatch::clone(&found);
    same.calls.clear();
    same.comm = Some(found.to_string().into());
    same
}

#[test]
fn calls_may_be_made_while_vectors_are_listed() {
    let results = World::new(3).run(|comm| {
        let (mut outer, mut inner) = ([1u64], [comm.rank()]);
        comm.fused(|f| {
            f.all_reduce(&mut outer, op::Sum);
            comm.fused(|g| g.all_reduce(&mut inner, op::Max)).unwrap();
            comm.barrier().unwrap();
        })?;
        Ok((outer[0], inner[0]))
    });
    assert_eq!(results.unwrap(), [(3, 2); 3]);
}

/// Two calls of one rank, of which each folds the list of the other one from the second round on.
fn swapped(comm: &Comm, round: usize, algorithm: Algorithm) -> Result<()> {
    let (mut sums, mut maps, mut long) = ([1u64; 5], [(2u8, comm.rank() as u32)], [7u8; 3000]);
    comm.using(algorithm).fused(|f| {
        f.all_reduce(&mut sums, op::Sum);
        let inner = comm.fused(|g| {
            g.all_reduce(&mut maps, compose);
            g.all_reduce(&mut long, op::Max);
            if round > 0 {
                mem::swap(f, g);
            }
        });
        inner.unwrap();
    })?;
    let composed = (1..comm.size()).fold((2, 0), |all, rank| compose(all, (2, rank as u32)));
    assert_eq!(sums, [comm.size() as u64; 5], "{algorithm}");
    assert_eq!(maps, [composed], "{algorithm}");
    assert_eq!(long, [7; 3000], "{algorithm}");
    Ok(())
}

#[test]
fn lists_that_are_swapped_are_folded_by_their_own_operators() {
    let commuting = ["k-ary:2", "k-ring:2", "circulant:segments=1", "cells"];
    for algorithm in commuting.map(|name| name.parse().unwrap()) {
        for ranks in [2, 3, 6] {
            let run = |comm: &Comm| (0..3).try_for_each(|round| swapped(comm, round, algorithm));
            let case = || format!("{algorithm}, {ranks} ranks");
            match guarded(&case, || World::new(ranks).run(run)) {
                Err(WorldError::Failed { error, .. }) => {
                    let told = error.to_string();
                    assert!(told.contains("the operator must commute"), "{told}");
                }
                ended => _ = ended.unwrap_or_else(|error| panic!("{}: {error}", case())),
            }
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[
        "a_list_gives",
        "communicators_that_were_split_or",
        "any_list_gives",
    ]);
}

/// A list whose operators have a type of their own, at a line of its own: sums, and as often as it is applied so much more.
macro_rules! with_more {
    ($more:literal) => {
        |comm: &Comm| -> Result<u64> {
            let (mut sum, mut most) = ([comm.rank() as u64; 5], [comm.rank() as u64]);
            comm.fused(|list| {
                list.all_reduce(&mut sum, |left, right| left + right + $more);
                list.all_reduce(&mut most, |left: u64, right| left.max(right));
            })?;
            assert_eq!((sum, most[0]), ([sum[0]; 5], comm.size() as u64 - 1));
            Ok(sum[0])
        }
    };
}

/// More lists that differ in the types of their operators than a signature has variants.
#[test]
fn lists_of_closures_of_many_types_are_folded_by_each_of_them() {
    let calls: [fn(&Comm) -> Result<u64>; 20] = [
        with_more!(0),
        with_more!(1),
        with_more!(2),
        with_more!(3),
        with_more!(4),
        with_more!(5),
        with_more!(6),
        with_more!(7),
        with_more!(8),
        with_more!(9),
        with_more!(10),
        with_more!(11),
        with_more!(12),
        with_more!(13),
        with_more!(14),
        with_more!(15),
        with_more!(16),
        with_more!(17),
        with_more!(18),
        with_more!(19),
    ];
    for ranks in [1, 2, 5] {
        World::new(ranks)
            .run(|comm| {
                for _ in 0..3 {
                    for (more, call) in calls.iter().enumerate() {
                        let expected = ranks * (ranks - 1) / 2 + more * (ranks - 1);
                        assert_eq!(call(comm)?, expected as u64, "{more} more");
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

fn nine_with_more<const N: u64>(comm: &Comm) -> Result<u64> {
    let mut sums = [[comm.rank() as u64]; 9];
    comm.fused(|list| {
        let (last, others) = sums.split_last_mut().expect("nine");
        others
            .iter_mut()
            .for_each(|one| list.all_reduce(one, op::Sum));
        list.all_reduce(last, |left, right| left + right + N);
    })?;
    Ok(sums[8][0])
}

/// One line lists closures of several types, the last of nine vectors, and ranks of one call list different ones.
#[test]
fn one_line_and_one_call_may_list_closures_of_several_types() {
    let calls: [fn(&Comm) -> Result<u64>; 6] = [
        nine_with_more::<0>,
        nine_with_more::<1>,
        nine_with_more::<2>,
        nine_with_more::<3>,
        nine_with_more::<4>,
        nine_with_more::<5>,
    ];
    World::new(3)
        .run(|comm| {
            for round in 0..30 {
                let more = round % calls.len();
                assert_eq!(calls[more](comm)?, 3 + 2 * more as u64);
                let mut sum = [1u64; 7];
                match comm.rank() {
                    0 => comm.fused(|list| list.all_reduce(&mut sum, |a, b| a + b))?,
                    1 => comm.fused(|list| list.all_reduce(&mut sum, |a, b| b + a))?,
                    _ => {
                        comm.fused(|list| list.all_reduce(&mut sum, |a: u64, b| a.wrapping_add(b)))?
                    }
                }
                assert_eq!(sum, [3; 7]);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn all_of_it_holds_where_each_rank_has_a_cpu() {
    again::where_each_rank_has_a_cpu(&[]);
}
