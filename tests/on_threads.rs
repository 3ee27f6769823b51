//! Every algorithm of every collective on threads, through the public calls, against the plainest code: all numbers of
//! ranks, odd lengths, roots, operators that commute and operators that do not.

mod again;
mod common;
mod support;

use std::fmt::Debug;
use std::ops::Range;

use common::{compose, noise, scale, team};
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::op::{self, Element, Operator};
use rankfold::{Comm, Rank, Result, span};
use support::Sieve;

/// A kind of element: how to draw one, and an operator on it.
struct Kind<T, O> {
    draw: fn(Rank, usize) -> T,
    op: O,
}

/// Maps under composition: wrong as soon as two operands are swapped, one is missing, or one counts twice.
fn maps() -> Kind<common::Map, impl Operator<common::Map> + Copy> {
    #[derive(Clone, Copy)]
    struct Compose;
    impl Operator<common::Map> for Compose {
        fn combine(&self, left: common::Map, right: common::Map) -> common::Map {
            compose(left, right)
        }
    }
    Kind {
        draw: common::map,
        op: Compose,
    }
}

/// Bytes under addition: four times as many in a packet as words, in any order.
fn bytes() -> Kind<u8, op::Sum> {
    Kind {
        draw: |rank, i| noise(rank as u64, i as u64) as u8,
        op: op::Sum,
    }
}

impl<T: Element + PartialEq + Debug, O: Operator<T> + Copy + Sync> Kind<T, O> {
    fn vector(&self, rank: Rank, n: usize) -> Vec<T> {
        (0..n).map(|i| (self.draw)(rank, i)).collect()
    }

    fn folded(&self, ranks: Range<Rank>, i: usize) -> T {
        let all = ranks.map(|rank| (self.draw)(rank, i));
        all.reduce(|a, b| self.op.combine(a, b)).unwrap()
    }

    /// Returns the rank's expected result, element by element.
    fn expected(&self, call: &Call, rank: Rank) -> Vec<T> {
        let (p, n, root) = (call.ranks(), call.length(), call.root);
        let own = span::block(n, p, rank);
        let vector = |of: Rank| self.vector(of, n);
        let all = || (0..n).map(|i| self.folded(0..p, i)).collect::<Vec<_>>();
        let blocks = || (0..p).flat_map(|r| vector(r)[span::block(n, p, r)].to_vec());
        match call.collective {
            Collective::Barrier => Vec::new(),
            Collective::Broadcast => vector(root),
            Collective::Reduce if rank != root => vector(rank),
            Collective::Reduce | Collective::AllReduce => all(),
            Collective::ReduceScatter => all()[own].to_vec(),
            Collective::Gather if rank != root => Vec::new(),
            Collective::Gather | Collective::AllGather => blocks().collect(),
            Collective::Scatter => vector(root)[own].to_vec(),
            Collective::AllToAll => (0..p)
                .flat_map(|r| vector(r)[own.clone()].to_vec())
                .collect(),
            Collective::Scan => (0..n).map(|i| self.folded(0..rank + 1, i)).collect(),
            Collective::ExclusiveScan if rank == 0 => vec![(self.draw)(77, 77); n],
            Collective::ExclusiveScan => (0..n).map(|i| self.folded(0..rank, i)).collect(),
        }
    }

    /// Returns the rank's result.
    fn ran(&self, comm: &Comm, algorithm: Algorithm, call: &Call) -> Result<Vec<T>> {
        match call.collective {
            Collective::Reduce if call.length() % 2 == 1 => {
                self.reduced_into(comm, algorithm, call)
            }
            Collective::Reduce
            | Collective::AllReduce
            | Collective::ReduceScatter
            | Collective::Scan
            | Collective::ExclusiveScan => self.reduced(comm, algorithm, call),
            _ => self.moved(comm, algorithm, call),
        }
    }

    /// Returns the room for the rank's output, filled with an element of no rank.
    fn room(&self, call: &Call, rank: Rank) -> Vec<T> {
        vec![self.fill(); call.buffers(rank).1]
    }

    fn fill(&self) -> T {
        (self.draw)(99, 99)
    }

    fn reduced_into(&self, comm: &Comm, algorithm: Algorithm, call: &Call) -> Result<Vec<T>> {
        let (rank, n, root) = (comm.rank(), call.length(), call.root);
        let mine = self.vector(rank, n);
        let mut fold = vec![self.fill(); n];
        comm.using(algorithm)
            .reduce_into(root, &mine, &mut fold, self.op)?;
        assert_eq!(mine, self.vector(rank, n), "an input");
        let untouched = fold == vec![self.fill(); n];
        assert!(rank == root || untouched, "another's output");
        Ok(if rank == root { fold } else { mine })
    }

    /// Returns the result of a call that reduces: in place, or from an input.
    fn reduced(&self, comm: &Comm, algorithm: Algorithm, call: &Call) -> Result<Vec<T>> {
        let (by, op) = (comm.using(algorithm), self.op);
        let mut mine = self.vector(comm.rank(), call.length());
        match call.collective {
            Collective::Reduce => by.reduce(call.root, &mut mine, op)?,
            Collective::AllReduce if call.from_input => {
                let mut out = self.room(call, comm.rank());
                by.all_reduce_into(&mine, &mut out, op)?;
                return Ok(out);
            }
            Collective::AllReduce => by.all_reduce(&mut mine, op)?,
            Collective::ReduceScatter => {
                let mut out = self.room(call, comm.rank());
                by.reduce_scatter(&mine, &mut out, op)?;
                return Ok(out);
            }
            Collective::Scan => by.scan(&mut mine, op)?,
            Collective::ExclusiveScan => by.exclusive_scan(&mut mine, (self.draw)(77, 77), op)?,
            other => unreachable!("{other} does not reduce"),
        }
        Ok(mine)
    }

    /// Returns the result of a call that moves elements, or nothing.
    fn moved(&self, comm: &Comm, algorithm: Algorithm, call: &Call) -> Result<Vec<T>> {
        let (rank, n, root) = (comm.rank(), call.length(), call.root);
        let by = comm.using(algorithm);
        let mut mine = self.vector(rank, n);
        let own = span::block(n, comm.size(), rank);
        let mut out = self.room(call, rank);
        match call.collective {
            Collective::Barrier => by.barrier()?,
            Collective::Broadcast => {
                if rank != root {
                    mine.fill(self.fill());
                }
                by.broadcast(root, &mut mine)?;
                return Ok(mine);
            }
            Collective::AllGather => by.all_gather(&mine[own], &mut out)?,
            Collective::Gather => {
                let all = by.gather(root, &mine[own])?;
                return Ok(all.unwrap_or_default());
            }
            Collective::Scatter => {
                let all = (rank == root).then_some(&mine[..]);
                by.scatter(root, all, &mut out)?;
            }
            Collective::AllToAll => by.all_to_all(&mine, &mut out)?,
            other => unreachable!("{other} reduces"),
        }
        Ok(out)
    }

    /// Runs all algorithms that can be used, in all these calls, on the ranks of one team.
    fn all_right(&self, p: usize, lengths: &[usize]) {
        // Of many ranks, a third of the calls, and all of them at three times the scale.
        let mut cases = Sieve::part(p as u64, if p > 9 { 0.34 } else { 20.0 });
        let calls: Vec<(Call, Algorithm)> = calls(p, lengths, self.op.commutes())
            .filter(|_| cases.takes())
            .collect();
        let judge = |comm: &Comm, (call, algorithm): &(Call, Algorithm)| -> Result<()> {
            let got = self.ran(comm, *algorithm, call)?;
            let expected = self.expected(call, comm.rank());
            let place = || format!("{algorithm}, rank {} of {call:?}", comm.rank());
            assert_eq!(got, expected, "{}", place());
            Ok(())
        };
        team(p)
            .run(|comm| calls.iter().try_for_each(|call| judge(comm, call)))
            .unwrap_or_else(|error| panic!("{p} ranks: {error}"));
    }
}

/// Returns the calls of `p` ranks, each with every algorithm that does not refuse it.
fn calls(
    p: usize,
    lengths: &[usize],
    commutes: bool,
) -> impl Iterator<Item = (Call, Algorithm)> + use<'_> {
    let calls = Collective::all().flat_map(move |collective| {
        let roots: Vec<Rank> = match collective.has_root() {
            false => vec![0],
            true if p <= 9 => (0..p).collect(),
            true => vec![0, 1, p - 1],
        };
        roots.into_iter().flat_map(move |root| {
            let calls = lengths
                .iter()
                .map(move |&n| Call::new(collective, p, n).to_root(root));
            calls.filter(even_enough)
        })
    });
    let both = calls.flat_map(move |mut call| {
        call.commutes = commutes;
        let into = (call.collective == Collective::AllReduce).then(|| call.clone().from_input());
        std::iter::once(call).chain(into)
    });
    both.flat_map(|call| {
        // A cell holds 512 of the longest elements here.
        let fits =
            |algorithm: &Algorithm| *algorithm != Algorithm::Cells || call.most_written() <= 512;
        let usable = |algorithm: &Algorithm| fits(algorithm) && algorithm.refused(&call).is_none();
        let all: Vec<Algorithm> = Algorithm::all(call.collective).filter(usable).collect();
        all.into_iter()
            .map(move |algorithm| (call.clone(), algorithm))
    })
}

/// Gather and scatter have blocks of one length; other lengths are for the forms with counts.
fn even_enough(call: &Call) -> bool {
    let equal = matches!(call.collective, Collective::Gather | Collective::Scatter);
    !equal || call.length().is_multiple_of(call.ranks())
}

fn lengths(p: usize) -> Vec<usize> {
    let mut lengths = vec![0, 1, 2, p - 1, p, p + 1, 2 * p, 97, 100 * p];
    if p > 9 {
        lengths = vec![0, 1, p + 1, 3 * p];
    }
    if scale() < 1.0 {
        lengths = vec![p + 1, 2 * p];
    }
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

#[test]
fn few_ranks_with_an_operator_that_does_not_commute() {
    (1..=9).for_each(|p| maps().all_right(p, &lengths(p)));
}

#[test]
fn few_ranks_with_an_operator_that_commutes() {
    (1..=9).for_each(|p| bytes().all_right(p, &lengths(p)));
}

#[test]
fn many_ranks() {
    for p in [10, 12, 13, 16, 17, 31, 32, 33] {
        maps().all_right(p, &lengths(p));
        bytes().all_right(p, &lengths(p)[1..]);
    }
}

#[test]
fn sixty_four_ranks_on_a_few_cpus() {
    bytes().all_right(64, &[65, 128]);
}

/// Sums of numbers of very different magnitude: any other order of operands changes the bits.
#[test]
fn all_ranks_hold_identical_bits() {
    let input = |rank: Rank, i: usize| {
        let exponent = (noise(rank as u64, i as u64) % 40) as i32 - 20;
        (1.0 + noise(i as u64, rank as u64) as f32 / 1e19) * 2f32.powi(exponent)
    };
    for p in [2, 3, 4, 7, 8, 16] {
        let call = Call::new(Collective::AllReduce, p, 50).commuting();
        for algorithm in Algorithm::all(Collective::AllReduce) {
            if algorithm.refused(&call).is_some() {
                continue;
            }
            let run = || {
                let all = team(p).run(|comm| {
                    let mut v: Vec<f32> = (0..50).map(|i| input(comm.rank(), i)).collect();
                    comm.using(algorithm).all_reduce(&mut v, op::Sum)?;
                    Ok(v.into_iter().map(f32::to_bits).collect::<Vec<_>>())
                });
                all.unwrap()
            };
            let first = run();
            assert!(
                first.iter().all(|bits| *bits == first[0]),
                "{algorithm}, {p} ranks"
            );
            assert_eq!(first, run(), "{algorithm} in another run, {p} ranks");
        }
    }
}

/// Returns counts of every kind: none, one, many; the same on every rank.
fn counts(p: usize, seed: u64) -> Vec<usize> {
    (0..p)
        .map(|r| [0, 1, 3, 17][noise(seed, r as u64) as usize % 4])
        .collect()
}

#[test]
fn blocks_of_any_lengths() {
    for p in [1, 2, 3, 5, 8, 13] {
        for seed in 0..4 {
            let counts = counts(p, seed);
            let cuts: Vec<usize> = (0..=p).map(|r| counts[..r].iter().sum()).collect();
            let n = cuts[p];
            let value = |rank: Rank, i: usize| noise(rank as u64, i as u64) >> 8;
            let all: Vec<u64> = (0..p)
                .flat_map(|r| (0..counts[r]).map(move |i| value(r, i)))
                .collect();
            let root = seed as usize % p;
            team(p)
                .run(|comm| {
                    let me = comm.rank();
                    let own: Vec<u64> = (0..counts[me]).map(|i| value(me, i)).collect();
                    let mut got = vec![0; n];
                    comm.all_gather_v(&own, &counts, &mut got)?;
                    assert_eq!(got, all);
                    let mut at_root = vec![0; if me == root { n } else { 0 }];
                    comm.gather_v(root, &own, &counts, &mut at_root)?;
                    assert!(me != root || at_root == all);
                    let mut back = vec![0; counts[me]];
                    comm.scatter_v(root, (me == root).then_some(&all), &counts, &mut back)?;
                    assert_eq!(back, own);
                    let mut sums = vec![0; counts[me]];
                    comm.reduce_scatter_v(&all, &counts, &mut sums, op::Sum)?;
                    let times = |x: &u64| x.wrapping_mul(p as u64);
                    assert_eq!(sums, own.iter().map(times).collect::<Vec<_>>());
                    pieces(comm, seed)
                })
                .unwrap();
        }
    }
}

/// Every rank sends every rank a piece whose length only the two of them know.
fn pieces(comm: &Comm, seed: u64) -> Result<()> {
    let (me, p) = (comm.rank(), comm.size());
    let length = |from: Rank, to: Rank| noise(seed, (from * 100 + to) as u64) as usize % 9;
    let piece = |from: Rank, to: Rank| (0..length(from, to)).map(move |i| (from, to, i));
    let to: Vec<usize> = (0..p).map(|rank| length(me, rank)).collect();
    let from: Vec<usize> = (0..p).map(|rank| length(rank, me)).collect();
    let input: Vec<_> = (0..p).flat_map(|rank| piece(me, rank)).collect();
    let mut output = vec![(0, 0, 0); from.iter().sum()];
    comm.all_to_all_v(&input, &to, &mut output, &from)?;
    assert_eq!(
        output,
        (0..p).flat_map(|rank| piece(rank, me)).collect::<Vec<_>>()
    );
    Ok(())
}

#[test]
fn values_that_are_no_plain_data() {
    for p in [1, 2, 3, 6, 9] {
        let name = |rank: Rank| format!("<{rank}>");
        let all = || (0..p).map(name).collect::<Vec<_>>();
        for root in 0..p {
            team(p)
                .run(|comm| {
                    let me = comm.rank();
                    let at_root = |x: Vec<String>| (me == root).then_some(x);
                    let told = comm
                        .values()
                        .broadcast(root, (me == root).then(|| name(root)))?;
                    assert_eq!(told, name(root));
                    let joined = comm.values().reduce(root, name(me), |a, b| a + &b)?;
                    assert_eq!(joined, at_root(all()).map(|all| all.concat()));
                    let joined = comm.values().all_reduce(name(me), |a, b| a + &b)?;
                    assert_eq!(joined, all().concat());
                    assert_eq!(comm.values().gather(root, name(me))?, at_root(all()));
                    assert_eq!(comm.values().all_gather(name(me))?, all());
                    assert_eq!(comm.values().scatter(root, at_root(all()))?, name(me));
                    Ok(())
                })
                .unwrap();
        }
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&[]);
}
