//! Reductions by `op::SumExact` against integers of any size: each result is the exact sum over the ranks, rounded by
//! looking for the nearest number, with these bits by every collective, algorithm and order.

mod channels;
mod support;

use std::fmt::Debug;

use num_bigint::BigInt;
use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::op::{self, Element, Operator, OperatorKind, SumExact};
use rankfold::topology::{Topology, TreeName};
use rankfold::{Comm, Error, ErrorKind, Order, Rank, Result, Team, World};
use support::{Random, Sieve, guarded, scale};

/// A type of numbers, as its bits say it.
trait Number: Element + Debug + PartialEq {
    /// Bits of the fraction, and of everything.
    const FRACTION: u32;
    const BITS: u32;
    fn bits(self) -> u64;
    fn from(bits: u64) -> Self;

    fn infinite() -> u64 {
        (1 << (Self::BITS - 1)) - (1 << Self::FRACTION)
    }

    /// The number in units of the least positive one.
    fn units(bits: u64) -> BigInt {
        let size = bits & ((1 << (Self::BITS - 1)) - 1);
        let (exponent, fraction) = (size >> Self::FRACTION, size & ((1 << Self::FRACTION) - 1));
        let units = match exponent {
            0 => BigInt::from(fraction),
            _ => BigInt::from(fraction | 1 << Self::FRACTION) << (exponent - 1),
        };
        if bits == size { units } else { -units }
    }
}

impl Number for f64 {
    const FRACTION: u32 = 52;
    const BITS: u32 = 64;
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn from(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

impl Number for f32 {
    const FRACTION: u32 = 23;
    const BITS: u32 = 32;
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    fn from(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
}

fn sign<T: Number>() -> u64 {
    1 << (T::BITS - 1)
}

/// The bits of the one NaN that sums yield.
fn nan<T: Number>() -> u64 {
    T::infinite() | 1 << (T::FRACTION - 1)
}

/// The bits of the sum of some numbers, rounded to nearest, ties to even.
fn oracle<T: Number>(numbers: &[T]) -> u64 {
    let has = |what: &dyn Fn(u64) -> bool| numbers.iter().any(|x| what(x.bits()));
    let infinite = T::infinite();
    let (plus, minus) = (
        has(&|x| x == infinite),
        has(&|x| x == infinite | sign::<T>()),
    );
    if has(&|x| x & !sign::<T>() > infinite) || plus && minus {
        return nan::<T>();
    }
    if plus || minus {
        return infinite | u64::from(minus) << (T::BITS - 1);
    }
    if !has(&|x| x != sign::<T>()) {
        return sign::<T>();
    }
    rounded::<T>(numbers.iter().map(|x| T::units(x.bits())).sum())
}

/// The nearest number, found by halving the range of bit patterns.
fn rounded<T: Number>(units: BigInt) -> u64 {
    let minus = units < BigInt::from(0);
    let size = if minus { -units } else { units };
    let (mut low, mut high) = (0, T::infinite());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match T::units(middle) <= size {
            true => low = middle,
            false => high = middle,
        }
    }
    // Infinity counts as the next number after the greatest.
    let [down, up] = [&size - T::units(low), T::units(high) - &size];
    let nearest = match down.cmp(&up) {
        std::cmp::Ordering::Less => low,
        std::cmp::Ordering::Greater => high,
        std::cmp::Ordering::Equal => low + (low & 1),
    };
    nearest | u64::from(minus) << (T::BITS - 1)
}

/// The kinds of numbers of a position, one after the other.
const KINDS: u64 = 9;

/// The number of a rank at a position: of a kind that the position has on all ranks.
fn number<T: Number>(seed: u64, rank: Rank, ranks: usize, place: usize) -> T {
    let kind = place as u64 % KINDS;
    let mut random = Random::new(seed ^ (rank as u64) << 40 ^ place as u64);
    let bits = random.next() >> (64 - T::BITS);
    let (sign, one) = (sign::<T>(), T::from_parts(0));
    let fraction = bits & ((1 << T::FRACTION) - 1);
    let any = |x: u64| T::from((x % T::infinite()) | (bits & sign));
    match kind {
        // About 1, of both signs.
        0 => T::from(one.bits() | fraction | bits & sign),
        // Of any size, subnormal ones too.
        1 => any(bits),
        2 => T::from(fraction >> (bits % 40) | bits & sign),
        // What one rank adds, the next one takes away, but for the last ones.
        3 => {
            let pair = number::<T>(seed, rank / 2, ranks, KINDS as usize * (place + 1) + 1);
            T::from(pair.bits() ^ (sign * (rank as u64 % 2)))
        }
        // Ties and their neighbours: 1, half of its last place, and the least numbers.
        4 => {
            let half = T::from_parts(-(T::FRACTION as i32) - 1);
            let least = T::from((seed + place as u64) % 2 * (1 | bits & sign));
            [one, half, least, T::from(0), T::from(sign)][rank.min(3 + rank % 2)]
        }
        // Sums that overflow, or do so in between.
        5 => T::from((T::infinite() - 1 - bits % 3) | (sign * (bits >> 9 & 1))),
        // Zeros: all negative, or not.
        6 if (place / KINDS as usize).is_multiple_of(2) => T::from(sign),
        6 => T::from(bits & sign),
        // Whole numbers.
        7 => T::from(T::from_parts((bits % 20) as i32).bits() | bits << 9 & sign),
        // Infinities and NaNs of any bits, rarely.
        _ => match bits % (2 * ranks as u64) {
            0 => T::from(T::infinite() | bits & sign),
            1 => T::from(T::infinite() | fraction | 1 | bits & sign),
            _ => any(bits / 3),
        },
    }
}

trait FromParts: Number {
    /// `2^exponent`, where that is a normal number.
    fn from_parts(exponent: i32) -> Self {
        let bias = (1 << (Self::BITS - Self::FRACTION - 2)) - 1;
        Self::from(((exponent + bias) as u64) << Self::FRACTION)
    }
}
impl<T: Number> FromParts for T {}

/// The vectors of all ranks, and the bits of the exact sums of the first `r` of them at each place.
struct Case<T> {
    ranks: usize,
    n: usize,
    vectors: Vec<Vec<T>>,
    /// `sums[r]` is of ranks `0..=r`.
    sums: Vec<Vec<u64>>,
}

impl<T: Number> Case<T> {
    fn new(seed: u64, ranks: usize, n: usize) -> Case<T> {
        let vector = |rank| (0..n).map(|i| number(seed, rank, ranks, i)).collect();
        let vectors: Vec<Vec<T>> = (0..ranks).map(vector).collect();
        let sum = |r: usize, i: usize| {
            let column: Vec<T> = vectors[..=r].iter().map(|v| v[i]).collect();
            oracle(&column)
        };
        let sums = |r| (0..n).map(|i| sum(r, i)).collect();
        let sums = (0..ranks).map(sums).collect();
        Case {
            ranks,
            n,
            vectors,
            sums,
        }
    }

    fn all(&self) -> &[u64] {
        &self.sums[self.ranks - 1]
    }

    fn own(&self, comm: &Comm) -> Vec<T> {
        self.vectors[comm.rank()].clone()
    }

    #[track_caller]
    fn check(&self, what: &str, got: &[T], expected: &[u64]) {
        let got: Vec<u64> = got.iter().map(|x| x.bits()).collect();
        let wrong = (0..got.len().max(expected.len())).find(|&i| got.get(i) != expected.get(i));
        if let Some(i) = wrong {
            let column: Vec<T> = self
                .vectors
                .iter()
                .filter_map(|v| v.get(i).copied())
                .collect();
            let (ranks, n) = (self.ranks, self.n);
            let [got, expected] = [got.get(i), expected.get(i)];
            panic!(
                "{what} of {n} by {ranks} ranks: {got:x?} and not {expected:x?} at {i}: {column:?}"
            );
        }
    }
}

/// Runs the calls of a case by one algorithm, or by the automatic choice.
impl<T: Number> Case<T>
where
    SumExact: Operator<T>,
{
    fn all_reduce(&self, comm: &Comm, by: Option<Algorithm>) -> Result<()> {
        let (mut v, mut out) = (self.own(comm), self.own(comm));
        match by {
            None => {
                comm.all_reduce(&mut v, op::SumExact)?;
                comm.all_reduce_into(&self.own(comm), &mut out, op::SumExact)?;
            }
            Some(by) => {
                comm.using(by).all_reduce(&mut v, op::SumExact)?;
                let comm_by = comm.using(by);
                comm_by.all_reduce_into(&self.own(comm), &mut out, op::SumExact)?;
            }
        }
        self.check(&format!("all_reduce {by:?}"), &v, self.all());
        self.check(&format!("all_reduce_into {by:?}"), &out, self.all());
        Ok(())
    }

    fn reduce(&self, comm: &Comm, root: Rank, by: Option<Algorithm>) -> Result<()> {
        let (mut v, mut out) = (self.own(comm), self.own(comm));
        match by {
            None => {
                comm.reduce(root, &mut v, op::SumExact)?;
                comm.reduce_into(root, &self.own(comm), &mut out, op::SumExact)?;
            }
            Some(by) => {
                comm.using(by).reduce(root, &mut v, op::SumExact)?;
                let comm_by = comm.using(by);
                comm_by.reduce_into(root, &self.own(comm), &mut out, op::SumExact)?;
            }
        }
        let own: Vec<u64> = self.own(comm).iter().map(|x| x.bits()).collect();
        let at_root = comm.rank() == root;
        let expected = if at_root { self.all() } else { &own };
        self.check(&format!("reduce {by:?}"), &v, expected);
        self.check(&format!("reduce_into {by:?}"), &out, expected);
        Ok(())
    }

    fn reduce_scatter(&self, comm: &Comm, by: Option<Algorithm>) -> Result<()> {
        let block = rankfold::span::block(self.n, self.ranks, comm.rank());
        let mut out = vec![T::from(0); block.len()];
        match by {
            None => comm.reduce_scatter(&self.own(comm), &mut out, op::SumExact)?,
            Some(by) => comm
                .using(by)
                .reduce_scatter(&self.own(comm), &mut out, op::SumExact)?,
        }
        self.check(&format!("reduce_scatter {by:?}"), &out, &self.all()[block]);
        Ok(())
    }

    fn reduce_scatter_v(&self, comm: &Comm) -> Result<()> {
        // All of it to the last rank but one element to the first, if there are two.
        let first = usize::from(self.ranks > 1 && self.n > 0);
        let mut counts = vec![0; self.ranks];
        counts[0] = first;
        counts[self.ranks - 1] += self.n - first;
        let mut out = vec![T::from(0); counts[comm.rank()]];
        comm.reduce_scatter_v(&self.own(comm), &counts, &mut out, op::SumExact)?;
        let begin: usize = counts[..comm.rank()].iter().sum();
        let expected = &self.all()[begin..begin + out.len()];
        self.check("reduce_scatter_v", &out, expected);
        Ok(())
    }

    fn scans(&self, comm: &Comm, by: Option<Algorithm>) -> Result<()> {
        let (mut v, mut before) = (self.own(comm), self.own(comm));
        let identity = T::from(nan::<T>() + 1);
        match by {
            None => {
                comm.scan(&mut v, op::SumExact)?;
                comm.exclusive_scan(&mut before, identity, op::SumExact)?;
            }
            Some(by) => {
                comm.using(by).scan(&mut v, op::SumExact)?;
                let comm_by = comm.using(by);
                comm_by.exclusive_scan(&mut before, identity, op::SumExact)?;
            }
        }
        self.check(&format!("scan {by:?}"), &v, &self.sums[comm.rank()]);
        let identities = vec![identity.bits(); self.n];
        let expected = match comm.rank() {
            0 => &identities,
            r => &self.sums[r - 1],
        };
        self.check(&format!("exclusive_scan {by:?}"), &before, expected);
        Ok(())
    }

    fn every_collective(&self, comm: &Comm) -> Result<()> {
        self.all_reduce(comm, None)?;
        self.reduce(comm, self.ranks / 2, None)?;
        self.reduce(comm, self.ranks - 1, None)?;
        self.reduce_scatter(comm, None)?;
        self.reduce_scatter_v(comm)?;
        self.scans(comm, None)
    }

    /// Every algorithm that can run the call.
    fn by_name(&self, comm: &Comm, collective: Collective) -> Result<()> {
        let call = Call::new(collective, self.ranks, self.n).commuting();
        let root = self.ranks / 2;
        for by in Algorithm::all(collective) {
            let bytes = self.n * 35 * size_of::<u64>();
            let room = by != Algorithm::Cells || bytes <= 4 << 10;
            let call = match collective.has_root() {
                true => call.clone().to_root(root),
                false => call.clone(),
            };
            if by.refused(&call).is_some() || !room {
                continue;
            }
            match collective {
                Collective::AllReduce => self.all_reduce(comm, Some(by))?,
                Collective::Reduce => self.reduce(comm, root, Some(by))?,
                Collective::ReduceScatter => self.reduce_scatter(comm, Some(by))?,
                Collective::Scan => self.scans(comm, Some(by))?,
                other => panic!("{other} does not fold"),
            }
        }
        Ok(())
    }

    fn every_algorithm(&self, comm: &Comm) -> Result<()> {
        self.by_name(comm, Collective::AllReduce)?;
        self.by_name(comm, Collective::Reduce)?;
        self.by_name(comm, Collective::ReduceScatter)?;
        self.by_name(comm, Collective::Scan)
    }
}

/// Runs a body for vectors of both types in a world.
fn both(world: World, ranks: usize, n: usize, seed: u64, what: &str, body: Bodies) {
    let case = || format!("{what}: {ranks} ranks, {n} elements, seed {seed}");
    let (doubles, singles) = (Case::new(seed, ranks, n), Case::new(seed, ranks, n));
    let run = || {
        world.run(|comm| {
            body.0(&doubles, comm)?;
            body.1(&singles, comm)
        })
    };
    if let Err(error) = guarded(&case, run) {
        panic!("{}: {error}", case());
    }
}

type Body<T> = fn(&Case<T>, &Comm) -> Result<()>;
struct Bodies(Body<f64>, Body<f32>);

#[test]
fn every_collective_yields_the_exact_sum_for_any_number_of_ranks() {
    // All cases from a tenth of the scale.
    let mut cases = Sieve::part(1, 10.0);
    for ranks in (1..=17).chain([33, 64]) {
        for n in [0, 1, 3, 4, 22, 150] {
            if !cases.takes() {
                continue;
            }
            let body = Bodies(Case::every_collective, Case::every_collective);
            let seed = 1000 * ranks as u64 + n as u64;
            both(World::new(ranks), ranks, n, seed, "defaults", body);
        }
    }
}

#[test]
fn more_ranks_than_cells_serve() {
    let body = Bodies(Case::every_collective, Case::every_collective);
    both(World::new(70), 70, 2, 7, "many ranks", body);
}

#[test]
fn random_vectors_in_a_world_that_checks() {
    let rounds = (20.0 * scale()).ceil() as u64;
    for seed in 0..rounds {
        let (ranks, n) = (3 + seed as usize % 3, 40 * seed as usize % 700);
        let body = Bodies(Case::every_collective, Case::every_collective);
        let world = World::new(ranks).check(true);
        both(world, ranks, n, seed, "checked", body);
    }
}

#[test]
fn every_algorithm_yields_the_exact_sum() {
    for ranks in [1, 2, 3, 4, 5, 8, 13] {
        for n in [0, 1, 5, 40] {
            let body = Bodies(Case::every_algorithm, Case::every_algorithm);
            both(World::new(ranks), ranks, n, n as u64, "by name", body);
        }
    }
}

#[test]
fn vectors_that_go_piece_by_piece() {
    let exchanges: Bodies = Bodies(
        |case, comm| {
            case.all_reduce(comm, Some(Algorithm::Halving))?;
            case.reduce(comm, 2, Some(Algorithm::tree(TreeName::BINOMIAL)))?;
            case.scans(comm, None)
        },
        |case, comm| {
            case.all_reduce(comm, Some(Algorithm::Exchange))?;
            case.scans(comm, None)
        },
    );
    both(World::new(3), 3, 6_000, 5, "pieces", exchanges);
}

#[test]
fn long_vectors() {
    // A million of them at four ranks: sums of whole numbers, which the plain sum rounds right, too.
    let n = ((1 << 20) as f64 * scale()) as usize;
    let whole = |rank: usize, i: usize| ((rank + 1) * (i % 1000)) as f64;
    for ranks in [2, 4] {
        let run = || {
            World::new(ranks).run(|comm| {
                let mut v: Vec<f64> = (0..n).map(|i| whole(comm.rank(), i)).collect();
                comm.all_reduce(&mut v, op::SumExact)?;
                let sum = |i| whole(0, i) * (ranks * (ranks + 1) / 2) as f64;
                Ok((0..n).all(|i| v[i] == sum(i)))
            })
        };
        let right = guarded(&|| format!("{ranks} ranks"), run);
        assert_eq!(right.unwrap(), vec![true; ranks]);
    }
}

#[test]
fn reductions_over_topologies_and_schedules_are_exact() {
    fn over<T: Number>(case: &Case<T>, comm: &Comm) -> Result<()>
    where
        SumExact: Operator<T>,
    {
        let own: Vec<u64> = case.own(comm).iter().map(|x| x.bits()).collect();
        let trees = [Topology::chain(case.ranks), Topology::binomial(case.ranks)];
        for tree in &trees {
            for order in [Order::Arrival, Order::Step, Order::Rank] {
                let mut v = case.own(comm);
                let sum = comm.reduce_over(tree, &mut v, op::SumExact);
                sum.order(order).run()?;
                let expected = if comm.rank() == 0 { case.all() } else { &own };
                case.check("reduce_over", &v, expected);
                let mut v = case.own(comm);
                let sum = comm.reduce_over(tree, &mut v, op::SumExact);
                sum.order(order).survivors()?;
                case.check("survivors", &v, expected);
            }
        }
        let call = Call::new(Collective::AllReduce, case.ranks, case.n).commuting();
        let schedule = Algorithm::Exchange.schedule(&call).unwrap();
        let goal = Goal::of(call.collective, 0, case.n);
        let mut v = case.own(comm);
        comm.run_schedule(&*schedule, &goal, &[], &mut v, op::SumExact)?;
        case.check("run_schedule", &v, case.all());
        Ok(())
    }
    for ranks in [1, 2, 3, 6, 9] {
        let world = World::new(ranks).check(true);
        both(world, ranks, 60, 3, "over", Bodies(over, over));
    }
}

#[test]
fn every_run_of_a_team_is_exact() {
    let team: Team = World::new(5).start().unwrap();
    let case = Case::<f64>::new(11, 5, 30);
    for _ in 0..5 {
        let run = || team.run(|comm| case.every_collective(comm));
        guarded(&|| "a team".into(), run).unwrap();
        team.run(|comm| comm.barrier()).unwrap();
    }
}

#[test]
fn the_order_of_the_ranks_changes_no_bit() {
    let case = Case::<f64>::new(17, 7, 100);
    let run = || {
        World::new(7).run(|comm| {
            let turned = comm.split(0, (comm.rank() as i64 + 3) % 7)?;
            assert_ne!(turned.rank(), comm.rank(), "the ranks are in another order");
            let mut v = case.own(comm);
            turned.all_reduce(&mut v, op::SumExact)?;
            case.check("turned", &v, case.all());
            Ok(())
        })
    };
    guarded(&|| "turned".into(), run).unwrap();
}

#[test]
fn of_two_operands_the_sum_is_rounded_and_every_nan_is_one() {
    let mut inout = [
        0.2,
        f64::from_bits(0x7ff0_0000_0000_0001),
        f64::INFINITY,
        -0.0,
    ];
    op::reduce_local(&[0.1, 1.0, -f64::INFINITY, -0.0], &mut inout, SumExact);
    let bits = inout.map(f64::to_bits);
    let nan = f64::NAN.to_bits();
    assert_eq!(
        bits,
        [(0.1f64 + 0.2).to_bits(), nan, nan, (-0.0f64).to_bits()]
    );
    assert_eq!(Operator::<f32>::kind(&SumExact), OperatorKind::SumExact);
    assert!(Operator::<f32>::commutes(&SumExact));
}

/// The error of each rank, where every rank has one.
fn errors(ranks: usize, what: &str, call: impl Fn(&Comm) -> Result<()> + Sync) -> Vec<Error> {
    let world = World::new(ranks).check(true);
    let run = || world.run(|comm| Ok(call(comm).unwrap_err()));
    guarded(&|| format!("{what}, {ranks} ranks"), run).unwrap()
}

#[test]
fn another_operator_type_or_length_is_a_mismatch_of_the_calls_that_were_written() {
    for ranks in [2, 3, 8] {
        for n in [1, 4, 3_000] {
            let other = errors(ranks, "Sum", |comm| match comm.rank() {
                1 => comm.all_reduce(&mut vec![1.0; n], op::Sum),
                _ => comm.all_reduce(&mut vec![1.0; n], op::SumExact),
            });
            let single = errors(ranks, "f32", |comm| match comm.rank() {
                1 => comm.all_reduce(&mut vec![1.0f32; n], op::SumExact),
                _ => comm.all_reduce(&mut vec![1.0f64; n], op::SumExact),
            });
            let longer = errors(ranks, "length", |comm| {
                let n = n + usize::from(comm.rank() == 1);
                comm.scan(&mut vec![1.0f64; n], op::SumExact)
            });
            for (all, texts) in [
                (other, ["all_reduce", "f64", "SumExact"]),
                (single, ["all_reduce", "f32", "SumExact"]),
                (longer, ["scan", "f64", "SumExact"]),
            ] {
                for error in all {
                    let text = error.to_string();
                    assert!(matches!(error.kind(), ErrorKind::Mismatch(_)), "{text}");
                    assert!(text.contains("sum_exact.rs"), "{text}");
                    assert!(!text.contains("Wide"), "{text}");
                    for part in texts {
                        assert!(text.contains(part), "no {part} in {text}");
                    }
                }
            }
        }
    }
}

/// An operator of the user's that has the name of another one.
struct Impostor;

impl Operator<f64> for Impostor {
    fn combine(&self, left: f64, right: f64) -> f64 {
        left + right
    }
    fn commutes(&self) -> bool {
        true
    }
    fn kind(&self) -> OperatorKind {
        OperatorKind::SumExact
    }
}

#[test]
fn an_operator_of_the_same_name_gets_no_accumulators() {
    for ranks in [3, 8] {
        for n in [1, 2, 100, 3_000] {
            for by in [None, Some(Algorithm::Halving)] {
                let call = |comm: &Comm| {
                    let mut v = vec![1.0; n];
                    let tree = Topology::chain(ranks);
                    match (comm.rank(), by) {
                        (1, None) if n == 2 => comm.reduce_over(&tree, &mut v, Impostor).run(),
                        (_, None) if n == 2 => comm.reduce_over(&tree, &mut v, SumExact).run(),
                        (1, None) => comm.all_reduce(&mut v, Impostor),
                        (_, None) => comm.all_reduce(&mut v, SumExact),
                        (1, Some(by)) => comm.using(by).all_reduce(&mut v, Impostor),
                        (_, Some(by)) => comm.using(by).all_reduce(&mut v, SumExact),
                    }?;
                    Ok(())
                };
                let case = || format!("{ranks} ranks, {n} elements, {by:?}");
                let world = World::new(ranks).check(true);
                let report = guarded(&case, || world.run_each(call));
                for outcome in &report.outcomes {
                    let error = outcome.error();
                    let kind = error.map(|error| error.kind());
                    let mismatch = matches!(kind, Some(ErrorKind::Mismatch(_)));
                    assert!(mismatch, "{}: {outcome:?}", case());
                }
            }
        }
    }
}

#[test]
fn a_rank_that_ends_is_named_to_those_in_the_call() {
    let calls: [fn(&Comm) -> Result<()>; 4] = [
        |comm| comm.all_reduce(&mut [1.0; 2], op::SumExact),
        |comm| comm.all_reduce(&mut [1.0; 2_000], op::SumExact),
        |comm| comm.scan(&mut [1.0f32; 2_000], op::SumExact),
        |comm| {
            comm.using(Algorithm::Halving)
                .reduce(0, &mut [1.0; 2_000], op::SumExact)
        },
    ];
    for ranks in [2, 3, 8] {
        for call in calls {
            let run = || {
                World::new(ranks).run(|comm| match comm.rank() {
                    1 => panic!("as asked"),
                    _ => call(comm),
                })
            };
            let error = guarded(&|| format!("{ranks} ranks"), run).unwrap_err();
            assert_eq!(error.culprit(), Some(1), "{error}");
        }
    }
}

#[test]
fn wrong_arguments_are_refused_at_the_line_of_the_call() {
    let run = || {
        World::new(3).run(|comm| {
            let line = line!() + 1;
            let error = comm.reduce(9, &mut [1.0], op::SumExact).unwrap_err();
            assert_eq!(error.site().map(|site| site.line()), Some(line));
            let short = comm.reduce_scatter(&[1.0; 3], &mut [0.0; 7], op::SumExact);
            assert!(short.unwrap_err().to_string().contains("output"));
            let by = comm.using(Algorithm::Cells);
            let long = by.all_reduce(&mut [1.0; 20], op::SumExact).unwrap_err();
            assert!(long.to_string().contains("no room in a cell"), "{long}");
            Ok(())
        })
    };
    guarded(&|| "refused".into(), run).unwrap();
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&["wrong_arguments_are_refused_at"]);
}
