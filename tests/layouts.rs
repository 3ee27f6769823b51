//! Layouts against lists of places: what is packed and unpacked, which slices are refused, and the all-to-all with a layout
//! for each peer, among all ranks, on grids and in graphs.

mod again;
mod common;
mod support;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use common::assert_usage;
use rankfold::layout::{Layout, all_to_all_w, neighbor_all_to_all_w};
use rankfold::{Cartesian, ErrorKind, Rank, World};
use support::sweep::sweep;
use support::{Random, guarded};

// ── the oracle: a layout and the places that it names ──

type Drawn = (Layout, Vec<usize>);

fn extent(places: &[usize]) -> usize {
    places.iter().map(|place| place + 1).max().unwrap_or(0)
}

fn vector(count: usize, block: usize, stride: usize) -> Drawn {
    let places = (0..count).flat_map(|i| (0..block).map(move |k| i * stride + k));
    (Layout::vector(count, block, stride), places.collect())
}

fn indexed(blocks: &[(usize, usize)]) -> Drawn {
    let places = blocks.iter().flat_map(|&(at, count)| at..at + count);
    (Layout::indexed(blocks), places.collect())
}

/// The places of a subarray: every index of the array is tried, in order.
fn subarray(sizes: &[usize], part: &[Range<usize>]) -> Drawn {
    let all: usize = sizes.iter().product();
    let is_inside = |place: &usize| {
        let mut rest = *place;
        let dims = sizes.iter().zip(part).rev();
        dims.fold(true, |inside, (size, range)| {
            let index = rest % size;
            rest /= size;
            inside && range.contains(&index)
        })
    };
    let places = (0..all).filter(is_inside).collect();
    (Layout::subarray(sizes, part), places)
}

fn repeated((layout, places): &Drawn, count: usize, stride: usize) -> Drawn {
    let all = (0..count).flat_map(|i| places.iter().map(move |place| place + i * stride));
    (layout.repeated(count, stride), all.collect())
}

fn at((layout, places): &Drawn, at: usize) -> Drawn {
    let all = places.iter().map(|place| place + at).collect();
    (layout.at(at), all)
}

fn placed(parts: &[(usize, Drawn)]) -> Drawn {
    let layouts = parts.iter().map(|(at, (layout, _))| (*at, layout.clone()));
    let layouts: Vec<_> = layouts.collect();
    let places = parts
        .iter()
        .flat_map(|(at, (_, places))| places.iter().map(move |it| it + at));
    (Layout::placed(layouts), places.collect())
}

fn drawn_subarray(random: &mut Random) -> Drawn {
    let dims = random.below(4);
    let sizes: Vec<usize> = (0..dims).map(|_| random.below(5)).collect();
    let ranges = sizes.iter().map(|&size| {
        let start = random.below(size + 1);
        start..start + random.below(size - start + 1)
    });
    let ranges: Vec<Range<usize>> = ranges.collect();
    subarray(&sizes, &ranges)
}

/// A layout made of up to `depth` others inside each other.
fn drawn(random: &mut Random, depth: usize) -> Drawn {
    let mut below = |n| random.below(n);
    match below(if depth > 0 { 7 } else { 4 }) {
        0 => {
            let count = below(6);
            (Layout::contiguous(count), (0..count).collect())
        }
        1 => vector(below(5), below(4), below(7)),
        2 => {
            let blocks: Vec<_> = (0..below(5)).map(|_| (below(20), below(4))).collect();
            indexed(&blocks)
        }
        3 => drawn_subarray(random),
        4 => {
            let inner = drawn(random, depth - 1);
            let stride = [random.below(30), extent(&inner.1)][random.below(2)];
            repeated(&inner, random.below(4), stride)
        }
        5 => at(&drawn(random, depth - 1), random.below(9)),
        _ => {
            let count = random.below(4);
            let parts = (0..count).map(|_| (random.below(9), drawn(random, depth - 1)));
            placed(&parts.collect::<Vec<_>>())
        }
    }
}

fn panics(body: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(body)).is_err()
}

#[test]
fn a_layout_packs_and_unpacks_the_places_that_its_definition_names() {
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let (layout, places) = drawn(&mut random, 3);
        let extent = extent(&places);
        assert_eq!(
            (layout.len(), layout.extent()),
            (places.len(), extent),
            "seed {seed}: {layout:?}"
        );
        let slice: Vec<usize> = (100..100 + extent + random.below(3)).collect();
        let wanted: Vec<usize> = places.iter().map(|place| slice[*place]).collect();
        assert_eq!(layout.pack(&slice), wanted, "seed {seed}: {layout:?}");
        let mut buffer = vec![0; places.len()];
        layout.pack_into(&slice, &mut buffer);
        assert_eq!(buffer, wanted, "seed {seed}: {layout:?}");

        let packed: Vec<usize> = (1..=places.len()).collect();
        let mut into = slice.clone();
        layout.unpack(&packed, &mut into);
        let mut expected = slice;
        for (place, element) in places.iter().zip(packed) {
            expected[*place] = element;
        }
        assert_eq!(into, expected, "seed {seed}: {layout:?}");
    }
}

#[test]
fn a_slice_that_is_too_short_or_a_buffer_of_another_length_is_refused_and_not_written() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let (layout, places) = drawn(&mut random, 2);
        let (len, extent) = (places.len(), extent(&places));
        let slice = vec![7; extent];
        let mut long = vec![0; len + 1];
        assert!(
            panics(|| layout.pack_into(&slice, &mut long)),
            "seed {seed}"
        );
        let mut kept = slice.clone();
        assert!(panics(|| layout.unpack(&long, &mut kept)), "seed {seed}");
        assert_eq!(kept, slice);
        if extent > 0 {
            let mut short = vec![7; extent - 1];
            assert!(panics(|| drop(layout.pack(&short))), "seed {seed}");
            assert!(
                panics(|| layout.unpack(&vec![1; len], &mut short)),
                "seed {seed}"
            );
            assert_eq!(short, vec![7; extent - 1]);
        }
    }
}

#[test]
fn arguments_that_name_no_places_are_refused() {
    assert!(panics(|| drop(Layout::subarray(&[3, 4], &[]))));
    assert!(panics(|| drop(Layout::subarray(&[3, 4], &[0..3, 2..5]))));
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = 2..1;
    assert!(panics(|| drop(Layout::subarray(
        &[3, 4],
        &[0..3, backwards]
    ))));
    assert!(panics(|| drop(Layout::vector(usize::MAX, 2, 1))));
    assert!(panics(|| drop(Layout::vector(3, 1, usize::MAX / 2 + 1))));
    assert!(panics(|| drop(Layout::contiguous(2).at(usize::MAX - 1))));
    assert!(panics(|| drop(Layout::indexed(&[(0, usize::MAX), (0, 1)]))));
}

#[test]
fn a_layout_of_no_elements_fits_every_slice_wherever_its_places_would_be() {
    let far = Layout::contiguous(0)
        .repeated(usize::MAX, 1)
        .at(usize::MAX)
        .repeated(3, usize::MAX / 2);
    assert_eq!((far.len(), far.extent()), (0, 0));
    assert!(far.pack(&[] as &[u8]).is_empty());
    let beside = Layout::placed([(usize::MAX, far), (0, Layout::contiguous(1))]);
    assert_eq!(
        beside.repeated(3, 2).at(1).pack(&[0, 1, 2, 3, 4, 5]),
        [1, 3, 5]
    );
}

// ── all-to-all ──

/// How many elements rank `from` has for rank `to`.
fn count(from: Rank, to: Rank) -> usize {
    (3 * from + 5 * to + from * to) % 4
}

/// Layouts of these lengths, no two of which share a place, and the places of each, in a slice of the length returned.
fn apart(lengths: &[usize], random: &mut Random) -> (Vec<Drawn>, usize) {
    let total: usize = lengths.iter().sum();
    let length = total + random.below(5);
    let mut free: Vec<usize> = (0..length).collect();
    (1..length).for_each(|last| free.swap(last, random.below(last + 1)));
    let layouts = lengths.iter().map(|&len| {
        let places: Vec<usize> = free.drain(..len).collect();
        let blocks: Vec<_> = places.iter().map(|&place| (place, 1)).collect();
        (Layout::indexed(&blocks), places)
    });
    let layouts = layouts.collect();
    (layouts, length)
}

/// The layouts of a rank for what it sends and for what it receives: every rank can compute those of all.
fn layouts_of(rank: Rank, ranks: usize) -> [(Vec<Drawn>, usize); 2] {
    let mut random = Random::new(1000 * ranks as u64 + rank as u64);
    let [sent, received]: [Vec<usize>; 2] = [
        (0..ranks).map(|to| count(rank, to)).collect(),
        (0..ranks).map(|from| count(from, rank)).collect(),
    ];
    [apart(&sent, &mut random), apart(&received, &mut random)]
}

fn element(rank: Rank, place: usize) -> u64 {
    (1000 * rank + place) as u64
}

/// What rank `me` has after an exchange with all ranks: `u64::MAX` where nothing came.
fn wanted(me: Rank, ranks: usize) -> Vec<u64> {
    let [_, (into, length)] = layouts_of(me, ranks);
    let mut output = vec![u64::MAX; length];
    for (from, (_, places)) in into.iter().enumerate() {
        let [(theirs, _), _] = layouts_of(from, ranks);
        for (place, source) in places.iter().zip(&theirs[me].1) {
            output[*place] = element(from, *source);
        }
    }
    output
}

fn only(drawn: &[Drawn]) -> Vec<Layout> {
    drawn.iter().map(|(layout, _)| layout.clone()).collect()
}

#[test]
fn all_to_all_w_moves_every_element_from_its_place_to_its_place() {
    for ranks in (1..=17).chain([33, 64]) {
        guarded(&|| format!("{ranks} ranks"), || {
            let got = World::new(ranks).run(|comm| {
                let me = comm.rank();
                let [(to, input), (from, output)] = layouts_of(me, ranks);
                let input: Vec<u64> = (0..input).map(|place| element(me, place)).collect();
                let mut output = vec![u64::MAX; output];
                all_to_all_w(comm, &input, &only(&to), &mut output, &only(&from))?;
                Ok(output)
            });
            let wanted: Vec<_> = (0..ranks).map(|me| wanted(me, ranks)).collect();
            assert_eq!(got.unwrap(), wanted, "{ranks} ranks");
        });
    }
}

/// A matrix of `n` rows and columns, `rows` of which each rank has.
#[test]
fn a_distributed_transpose_is_one_call() {
    for ranks in 1..=9 {
        guarded(&|| format!("{ranks} ranks"), || {
            let (rows, n) = (3, 3 * ranks);
            let all = World::new(ranks).run(|comm| {
                let first = rows * comm.rank();
                let mine: Vec<usize> = (first * n..(first + rows) * n).collect();
                let columns = |q| q * rows..(q + 1) * rows;
                let to: Vec<Layout> = (0..ranks)
                    .map(|q| Layout::subarray(&[rows, n], &[0..rows, columns(q)]))
                    .collect();
                let from: Vec<Layout> = (0..ranks)
                    .map(|q| Layout::vector(rows, 1, n).repeated(rows, 1).at(q * rows))
                    .collect();
                let mut transposed = vec![0; rows * n];
                all_to_all_w(comm, &mine, &to, &mut transposed, &from)?;
                Ok(transposed)
            });
            let all = all.unwrap().concat();
            let right = (0..n * n).all(|place| all[place] == place % n * n + place / n);
            assert!(right, "{ranks} ranks: {all:?}");
        });
    }
}

#[test]
fn halos_of_a_grid_go_to_their_columns_and_edges_without_neighbours_stay() {
    for ranks in 1..=17 {
        guarded(&|| format!("{ranks} ranks"), || {
            let cells = World::new(ranks).run(|comm| {
                let line = Cartesian::new(comm, &[ranks], &[false])?;
                let mut cells: Vec<usize> = (0..12).map(|i| 100 * line.rank() + i).collect();
                let column = |x| Layout::vector(3, 1, 4).at(x);
                let before = cells.clone();
                neighbor_all_to_all_w(
                    &line,
                    &before,
                    &[column(1), column(2)],
                    &mut cells,
                    &[column(0), column(3)],
                )?;
                Ok(cells)
            });
            for (rank, cells) in cells.unwrap().iter().enumerate() {
                let wanted = |i: usize| match i % 4 {
                    0 if rank > 0 => 100 * (rank - 1) + i + 2,
                    3 if rank + 1 < ranks => 100 * (rank + 1) + i - 2,
                    _ => 100 * rank + i,
                };
                assert_eq!(
                    *cells,
                    (0..12).map(wanted).collect::<Vec<_>>(),
                    "rank {rank} of {ranks}"
                );
            }
        });
    }
}

#[test]
fn a_missing_neighbour_leaves_what_others_have_sent_to_its_places() {
    for ranks in 1..=5 {
        guarded(&|| format!("{ranks} ranks"), || {
            let ghosts = World::new(ranks).run(|comm| {
                let line = Cartesian::new(comm, &[ranks], &[false])?;
                let (mine, cell) = ([10 + line.rank()], Layout::contiguous(1));
                let both = [cell.clone(), cell];
                let mut ghost = [0];
                neighbor_all_to_all_w(&line, &mine, &both, &mut ghost, &both)?;
                Ok(ghost[0])
            });
            // The upper neighbour's piece is the last to be written.
            let wanted = |rank| match rank {
                _ if ranks == 1 => 0,
                _ if rank + 1 < ranks => 11 + rank,
                _ => 9 + rank,
            };
            assert_eq!(ghosts.unwrap(), (0..ranks).map(wanted).collect::<Vec<_>>());
        });
    }
}

#[test]
fn all_to_all_w_meets_all_to_all_v_of_packed_pieces() {
    let got = World::new(3).run(|comm| {
        let mine = [1, 2, 3].map(|i| 10 * comm.rank() + i);
        let mut got = [0; 3];
        if comm.rank() == 1 {
            comm.all_to_all_v(&mine, &[1; 3], &mut got, &[1; 3])?;
        } else {
            let one = [0, 1, 2].map(|q| Layout::contiguous(1).at(q));
            all_to_all_w(comm, &mine, &one, &mut got, &one)?;
        }
        Ok(got)
    });
    assert_eq!(got.unwrap(), [[1, 11, 21], [2, 12, 22], [3, 13, 23]]);
}

#[test]
fn a_layout_that_does_not_fit_is_refused_before_anything_is_sent_and_the_call_can_be_made_again() {
    World::new(3)
        .run(|comm| {
            let one = vec![Layout::contiguous(1); 3];
            let (input, mut output) = ([7_u8; 3], [0_u8; 3]);
            let places: Vec<Layout> = (0..3).map(|q| Layout::contiguous(1).at(q)).collect();
            let far = vec![one[0].clone(), one[0].clone(), one[0].at(3)];
            let refused = all_to_all_w(comm, &input, &far, &mut output, &places);
            assert_usage(
                refused,
                "layout 2 of the input reaches up to element 4, and it has 3 elements",
            );
            let refused = all_to_all_w(comm, &input, &far, &mut output, &places);
            let text = refused.unwrap_err().to_string();
            let is_named = text.contains("all_to_all_w at ") && text.contains("tests/layouts.rs");
            assert!(is_named, "{text}");
            let refused = all_to_all_w(comm, &input, &places, &mut output, &far);
            assert_usage(refused, "layout 2 of the output");
            let refused = all_to_all_w(comm, &input, &places, &mut output, &places[1..]);
            assert_usage(refused, "there must be 3 layouts of the output, and not 2");
            let grid = Cartesian::new(comm, &[3], &[true])?;
            let refused = neighbor_all_to_all_w(&grid, &input, &places, &mut output, &places);
            assert_usage(refused, "there must be 2 layouts of the input, and not 3");
            assert_eq!(output, [0; 3]);
            all_to_all_w(comm, &input, &places, &mut output, &places)?;
            assert_eq!(output, [7; 3]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn layouts_of_more_elements_than_there_is_memory_are_refused_and_the_call_can_be_made_again() {
    World::new(3)
        .run(|comm| {
            let (input, mut output) = ([7_u8; 3], [0_u8; 3]);
            let places: Vec<Layout> = (0..3).map(|q| Layout::contiguous(1).at(q)).collect();
            let many = Layout::contiguous(1).repeated(usize::MAX, 0);
            let many = vec![many; 3];
            let refused = all_to_all_w(comm, &input, &many, &mut output, &places);
            assert_usage(refused, "more elements than can be counted");
            let mut many = places.clone();
            many[1] = Layout::vector(usize::MAX / 2, 1, 0);
            let refused = all_to_all_w(comm, &input, &many, &mut output, &places);
            assert_usage(
                refused,
                "there is no memory for the 9223372036854775809 elem",
            );
            let refused = all_to_all_w(comm, &input, &places, &mut output, &many);
            assert_usage(
                refused,
                "there is no memory for the 9223372036854775809 elem",
            );
            all_to_all_w(comm, &input, &places, &mut output, &places)?;
            assert_eq!(output, [7; 3]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn layouts_of_different_lengths_are_a_mismatch_that_names_both_ranks() {
    guarded(&|| "lengths that differ".into(), || {
        let report = World::new(2).run_each(|comm| {
            let layouts = [1, 2].map(|len| vec![Layout::contiguous(len); 2]);
            let mut output = [0_u8; 2];
            all_to_all_w(
                comm,
                &[1, 2],
                &layouts[comm.rank()],
                &mut output,
                &layouts[comm.rank()],
            )
        });
        let error = report.outcomes[0].error().expect("rank 0 gets an error");
        let ErrorKind::Mismatch(found) = error.kind() else {
            panic!("{error}");
        };
        assert_eq!(found.calls.len(), 2, "{error}");
    });
}

#[test]
fn a_rank_dies_in_all_to_all_w() {
    sweep("all_to_all_w", 2..=5, 1.0, |comm| {
        let one: Vec<Layout> = (0..comm.size())
            .map(|q| Layout::contiguous(1).at(q))
            .collect();
        let mut got = vec![0_u64; comm.size()];
        let mine = vec![comm.rank() as u64; comm.size()];
        all_to_all_w(comm, &mine, &one, &mut got, &one)?;
        let ring = Cartesian::new(comm, &[comm.size()], &[true])?;
        neighbor_all_to_all_w(&ring, &mine, &one[..2], &mut got, &one[..2])?;
        Ok(got.iter().sum())
    });
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
