//! Grids: coordinates, neighbours and shifts.

use rankfold::{Cartesian, ErrorKind, Rank};

use crate::common::team;

#[test]
fn coordinates_and_ranks_are_each_others_inverse_and_neighbours_are_one_apart() {
    for (dims, periodic) in [
        (vec![6], vec![true]),
        (vec![2, 3], vec![false, true]),
        (vec![3, 1, 2], vec![true, true, false]),
        (vec![1, 6], vec![false, false]),
    ] {
        team(6)
            .run(|comm| {
                let grid = Cartesian::new(comm, &dims, &periodic)?;
                for rank in 0..6 {
                    let coords: Vec<isize> =
                        grid.coords(rank).into_iter().map(|c| c as isize).collect();
                    assert_eq!(grid.rank_at(&coords), Some(rank));
                }
                let here = grid.coords(grid.rank());
                for d in 0..dims.len() {
                    let (below, above) = grid.shift(d, 1);
                    let inside = here[d] + 1 < dims[d] || periodic[d];
                    assert_eq!(above.is_some(), inside);
                    assert_eq!(below.is_some(), here[d] > 0 || periodic[d]);
                    if let Some(above) = above {
                        let mut there = here.clone();
                        there[d] = (there[d] + 1) % dims[d];
                        assert_eq!(grid.coords(above), there);
                    }
                }
                Ok(())
            })
            .unwrap();
    }
}

/// Returns where a shift leads on a periodic line, by addition modulo its length in the widest type.
fn around(here: usize, by: i128, length: usize) -> usize {
    (here as i128 + by).rem_euclid(length as i128) as usize
}

#[test]
fn a_shift_by_any_distance_leads_where_addition_does() {
    let far = [isize::MIN, isize::MIN + 1, isize::MAX - 1, isize::MAX];
    for dims in [vec![1], vec![2], vec![3], vec![7], vec![3, 2], vec![2, 5]] {
        let ranks = dims.iter().product();
        let grids = team(ranks).run(|comm| {
            for periodic in [true, false] {
                let grid = Cartesian::new(comm, &dims, &vec![periodic; dims.len()])?;
                let here = grid.coords(grid.rank());
                for (d, by) in
                    (0..dims.len()).flat_map(|d| (-20..=20).chain(far).map(move |by| (d, by)))
                {
                    let expected = |by: i128| {
                        let there = here[d] as i128 + by;
                        let inside = (0..dims[d] as i128).contains(&there);
                        (periodic || inside).then(|| {
                            let mut coords = here.clone();
                            coords[d] = around(here[d], by, dims[d]);
                            coords
                        })
                    };
                    let (below, above) = grid.shift(d, by);
                    let coords = |rank: Option<Rank>| rank.map(|rank| grid.coords(rank));
                    let both = (coords(below), coords(above));
                    let by = by as i128;
                    assert_eq!(
                        both,
                        (expected(-by), expected(by)),
                        "{dims:?}, {here:?}, {d}, {by}"
                    );
                }
            }
            Ok(())
        });
        grids.unwrap();
    }
}

#[test]
fn halos_are_exchanged_with_all_neighbours() {
    for (dims, periodic) in [
        (vec![5], vec![true]),
        (vec![5], vec![false]),
        (vec![2, 4], vec![true, false]),
        (vec![1, 4], vec![true, true]),
        (vec![2, 2, 2], vec![true, true, true]),
    ] {
        for length in [0, 1, 100] {
            let p = dims.iter().product();
            team(p)
                .run(|comm| {
                    let grid = Cartesian::new(comm, &dims, &periodic)?;
                    let value = |rank: Rank, side: usize, i: usize| (rank, side, i);
                    let me = grid.rank();
                    let pieces = 2 * dims.len();
                    let input: Vec<_> = (0..pieces)
                        .flat_map(|side| (0..length).map(move |i| value(me, side, i)))
                        .collect();
                    let mut output = vec![(99, 99, 99); input.len()];
                    grid.neighbor_all_to_all(&input, &mut output)?;
                    for side in 0..pieces {
                        let (below, above) = grid.shift(side / 2, 1);
                        let from = [below, above][side % 2];
                        for i in 0..length {
                            // The piece received from below is the one that its sender had for above.
                            let expected =
                                from.map_or((99, 99, 99), |from| value(from, side ^ 1, i));
                            assert_eq!(output[side * length + i], expected);
                        }
                    }
                    Ok(())
                })
                .unwrap();
        }
    }
}

#[test]
fn a_grid_that_does_not_fit_is_refused_and_as_if_not_made() {
    team(6)
        .run(|comm| {
            for (dims, periodic) in [(vec![4], vec![true]), (vec![2, 3], vec![true])] {
                let refused = Cartesian::new(comm, &dims, &periodic).err().unwrap();
                assert!(matches!(refused.kind(), ErrorKind::Usage(_)), "{refused}");
            }
            let grid = Cartesian::new(comm, &[6], &[true])?;
            let refused = grid
                .neighbor_all_to_all(&[1, 2, 3], &mut [0, 0, 0])
                .unwrap_err();
            assert!(
                refused.to_string().contains("2 equal pieces do not fit"),
                "{refused}"
            );
            comm.barrier()
        })
        .unwrap();
}

/// The grid of `dimensions` sides of at most `most` whose longest side is shortest, then the next one, by trying all.
fn evenest(ranks: usize, dimensions: usize, most: usize) -> Option<Vec<usize>> {
    if dimensions == 0 {
        return (ranks == 1).then(Vec::new);
    }
    let mut sides = (1..=most).filter(|side| ranks.is_multiple_of(*side));
    sides.find_map(|side| {
        let mut grid = vec![side];
        grid.extend(evenest(ranks / side, dimensions - 1, side)?);
        Some(grid)
    })
}

#[test]
fn grids_are_as_even_as_they_can_be() {
    for ranks in 1..300 {
        for dimensions in 1..5 {
            let grid = rankfold::even_grid(ranks, dimensions);
            assert_eq!(Some(grid), evenest(ranks, dimensions, ranks));
        }
    }
    assert_eq!(rankfold::even_grid(64, 3), [4, 4, 4]);
    assert_eq!(rankfold::even_grid(72, 2), [9, 8]);
    assert_eq!(rankfold::even_grid(1, 5), [1; 5]);
}

#[test]
fn grids_of_absurd_numbers_are_found_or_refused_at_once() {
    let prime = 4_294_967_291;
    assert_eq!(rankfold::even_grid(prime, 3), [prime, 1, 1]);
    // 2^4 3^3 5^2 7 11 13 17 19, with 1920 divisors.
    assert_eq!(rankfold::even_grid(3_491_888_400, 3), [1540, 1530, 1482]);
    for dimensions in 1..70 {
        let grid = rankfold::even_grid(3_491_888_400, dimensions);
        assert_eq!(grid.iter().product::<usize>(), 3_491_888_400);
    }
    let refused = |ranks, dimensions, says: &str| {
        let panic = std::panic::catch_unwind(|| rankfold::even_grid(ranks, dimensions));
        let panic = panic.expect_err(says);
        let literal = panic.downcast_ref::<&str>().map(|text| text.to_string());
        let text = literal.or_else(|| panic.downcast_ref::<String>().cloned());
        assert!(text.expect("a text").contains(says));
    };
    refused(usize::MAX - 58, 2, "more than any world has");
    refused(0, 2, "without ranks");
    refused(7, 0, "without dimensions");
    refused(7, usize::MAX, "no memory");
}

#[test]
fn a_grid_that_does_not_fit_is_refused_with_its_call_and_line() {
    let grids: [(&[usize], &[bool], &str); 4] = [
        (&[3], &[], "1 dimensions, and whether 0 are periodic"),
        (
            &[2, 3],
            &[true; 2],
            "a grid of [2, 3] has 6 places, and there are 3 ranks",
        ),
        (
            &[0, 1 << 40, 7],
            &[true; 3],
            "[0, 1099511627776, 7] has 0 places, and there are 3 ranks",
        ),
        (
            &[1 << 40, 1 << 40],
            &[true; 2],
            "has countless places, and there are 3 ranks",
        ),
    ];
    for (dims, periodic, says) in grids {
        let texts = rankfold::World::new(3).run(|comm| {
            let line = line!() + 1;
            let refused = Cartesian::new(comm, dims, periodic).map(drop);
            comm.barrier()?;
            Ok((refused.unwrap_err().to_string(), line))
        });
        for (text, line) in texts.unwrap() {
            let call = format!("cartesian({dims:?}, {periodic:?}) at {}:{line}:", file!());
            assert!(text.starts_with(&call), "{text}");
            assert!(text.ends_with(says), "{text}");
        }
    }
}
