//! Reductions by `op::SumExact` against integers of any size: each result is the exact sum over the ranks, rounded by
//! looking for the nearest number, with these bits by every collective, algorithm and order.

mod again;
#[path = "sum_exact/mistakes.rs"]
mod mistakes;
#[path = "sum_exact/numbers.rs"]
mod numbers;
mod support;

use numbers::{Number, nan, number, oracle};
use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::machine::Machine;
use rankfold::op::{self, Operator, OperatorKind, SumExact};
use rankfold::topology::{Topology, TreeName};
use rankfold::{Comm, Order, Rank, Result, Team, World};
use support::{Sieve, guarded, scale};

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

/// The messages of a call: from, to, bytes.
fn messages(machine: &str, ranks: usize, call: fn(&Comm) -> Result<()>) -> Vec<[usize; 3]> {
    let world = World::new(ranks).machine(Machine::from_text(machine).unwrap());
    let report = guarded(&|| machine.into(), || world.trace(true).run_each(call));
    let trace = report.trace().unwrap();
    let all = trace.messages.iter();
    let mut all: Vec<_> = all.map(|sent| [sent.from, sent.to, sent.bytes]).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_scan_of_few_numbers_takes_the_way_of_any_scan_of_as_many_bytes() {
    const ACCUMULATOR: usize = 35;
    let exact: fn(&Comm) -> Result<()> = |comm| comm.scan(&mut [1.0f64], SumExact);
    let plain: fn(&Comm) -> Result<()> = |comm| comm.scan(&mut [1.0f64; ACCUMULATOR], op::Sum);
    let read_by_all = 8 * 7 / 2;
    for (machine, reads) in [
        ("core:8", true),
        ("package:2 core:4", false),
        ("core:2", false),
    ] {
        let sent = messages(machine, 8, exact);
        assert_eq!(sent, messages(machine, 8, plain), "{machine}");
        assert_eq!(sent.len() == read_by_all, reads, "{machine}: {sent:?}");
    }
}

#[test]
fn all_of_it_holds_over_channels() {
    again::over_channels(&["wrong_arguments_are_refused_at", "a_scan_of_few_numbers"]);
}
