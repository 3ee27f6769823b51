//! Collectives over processes against plain folds, and by every algorithm.

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::{Comm, Rank, Result, op};

use super::{number, numbers, world};

/// x -> a x + b, one after another: composing does not commute.
type Map = (u64, u64);

fn compose(f: Map, g: Map) -> Map {
    (
        f.0.wrapping_mul(g.0),
        f.1.wrapping_mul(g.0).wrapping_add(g.1),
    )
}

fn maps(rank: Rank, length: usize) -> Vec<Map> {
    (0..length)
        .map(|i| (number(rank, i) | 1, number(i, rank)))
        .collect()
}

/// The fold of the vectors of `ranks`, in their order.
pub fn fold<T: Copy>(
    ranks: std::ops::Range<Rank>,
    vector: impl Fn(Rank) -> Vec<T>,
    op: fn(T, T) -> T,
) -> Vec<T> {
    let join =
        |left: Vec<T>, right: Vec<T>| left.into_iter().zip(right).map(|(a, b)| op(a, b)).collect();
    ranks.map(vector).reduce(join).unwrap()
}

pub fn collectives(ranks: usize) {
    world(ranks)
        .run(|comm| {
            for length in [0, 1, 5, 300, 9000] {
                reductions(comm, length)?;
                movements(comm, length)?;
                started(comm, length)?;
            }
            uneven(comm)?;
            exact(comm)?;
            persistent(comm)?;
            over_topologies(comm)?;
            on_a_grid(comm)?;
            // A block for each rank of a process.
            reductions(comm, 40_000)?;
            in_another_order(comm)?;
            comm.barrier()
        })
        .unwrap();
    // Without the checks of a debug build, or with those of a release build.
    world(ranks)
        .check(!cfg!(debug_assertions))
        .run(|comm| reductions(comm, 40))
        .unwrap();
}

fn reductions(comm: &Comm, length: usize) -> Result<()> {
    to_all_and_to_one(comm, length)?;
    scans(comm, length)?;
    let (me, size) = (comm.rank(), comm.size());
    let whole = |rank| maps(rank, length * size);
    let mut block = vec![(0, 0); length];
    comm.reduce_scatter(&whole(me), &mut block, compose)?;
    assert!(
        block == fold(0..size, whole, compose)[me * length..][..length],
        "reduce_scatter"
    );
    Ok(())
}

fn to_all_and_to_one(comm: &Comm, length: usize) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let sum = fold(0..size, |rank| numbers(rank, length), u64::wrapping_add);
    let composed = fold(0..size, |rank| maps(rank, length), compose);
    let (mut sums, mut functions) = (numbers(me, length), maps(me, length));
    comm.all_reduce(&mut sums, op::Sum)?;
    comm.all_reduce(&mut functions, compose)?;
    assert!(
        sums == sum && functions == composed,
        "all_reduce of {length}"
    );
    for root in 0..size {
        let (mut sums, mut functions) = (numbers(me, length), maps(me, length));
        comm.reduce(root, &mut sums, op::Sum)?;
        comm.reduce(root, &mut functions, compose)?;
        if me == root {
            assert!(
                sums == sum && functions == composed,
                "reduce of {length} to {root}"
            );
        }
    }
    Ok(())
}

fn scans(comm: &Comm, length: usize) -> Result<()> {
    let me = comm.rank();
    let mut scanned = maps(me, length);
    comm.scan(&mut scanned, compose)?;
    assert!(
        scanned == fold(0..me + 1, |rank| maps(rank, length), compose),
        "scan of {length}"
    );
    let mut before = maps(me, length);
    comm.exclusive_scan(&mut before, (1, 0), compose)?;
    if me > 0 {
        assert!(
            before == fold(0..me, |rank| maps(rank, length), compose),
            "exclusive scan"
        );
    }
    Ok(())
}

/// Ranks of one process that are no neighbours, and parts of processes.
fn in_another_order(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let near = (0..size).filter(|rank| comm.is_near(*rank)).count();
    let turned = comm.split(0, (me % near) as i64)?;
    let some = comm.split((me / 3) as u32, -(me as i64))?;
    for comm in [&turned, &some] {
        for length in [3, 400, 40_000] {
            reductions(comm, length)?;
            movements(comm, length.min(400))?;
        }
    }
    let here = comm.split_by(rankfold::Level::Process)?;
    assert_eq!(here.size(), near);
    let leaders = comm.leaders()?;
    assert_eq!(leaders.is_some(), here.rank() == 0);
    leaders.map_or(Ok(()), |leaders| {
        assert_eq!(leaders.size(), comm.processes());
        reductions(&leaders, 7)
    })
}

fn movements(comm: &Comm, length: usize) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let all: Vec<u64> = (0..size).flat_map(|rank| numbers(rank, length)).collect();
    for root in 0..size {
        let mut vector = numbers(me, length);
        comm.broadcast(root, &mut vector)?;
        assert!(
            vector == numbers(root, length),
            "broadcast of {length} from {root}"
        );
        let gathered = comm.gather(root, &numbers(me, length))?;
        assert!(gathered == (me == root).then(|| all.clone()), "gather");
        let mut block = vec![0; length];
        comm.scatter(root, (me == root).then_some(&all[..]), &mut block)?;
        assert!(block == numbers(me, length), "scatter");
    }
    let mut gathered = vec![0; size * length];
    comm.all_gather(&numbers(me, length), &mut gathered)?;
    assert!(gathered == all, "all_gather");
    let to = |from: Rank, to: Rank| numbers(from * size + to, length);
    let input: Vec<u64> = (0..size).flat_map(|other| to(me, other)).collect();
    let mut output = vec![0; size * length];
    comm.all_to_all(&input, &mut output)?;
    assert!(
        output
            == (0..size)
                .flat_map(|other| to(other, me))
                .collect::<Vec<_>>(),
        "all_to_all"
    );
    comm.barrier()
}

fn started(comm: &Comm, length: usize) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let sum = comm.iall_reduce(numbers(me, length), op::Sum)?;
    let sent = comm.ibroadcast(size - 1, numbers(me, length))?;
    let barrier = comm.ibarrier()?;
    assert!(sent.wait()? == numbers(size - 1, length), "ibroadcast");
    assert!(sum.wait()? == fold(0..size, |rank| numbers(rank, length), u64::wrapping_add));
    barrier.wait()
}

fn uneven(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let counts: Vec<usize> = (0..size).map(|rank| rank * 7 % 5).collect();
    let all: Vec<u64> = (0..size)
        .flat_map(|rank| numbers(rank, counts[rank]))
        .collect();
    let mut gathered = vec![0; all.len()];
    comm.all_gather_v(&numbers(me, counts[me]), &counts, &mut gathered)?;
    assert_eq!(gathered, all);
    let mut sums = [[1.5f64], [me as f64]];
    comm.fused(|f| sums.iter_mut().for_each(|sum| f.all_reduce(sum, op::Sum)))?;
    assert_eq!(sums[0][0], 1.5 * size as f64);
    assert_eq!(sums[1][0], (size * (size - 1) / 2) as f64);
    Ok(())
}

fn persistent(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    let mut most = comm.all_reduce_init(vec![0; 3], op::Max)?;
    let mut there = comm.send_init(right, 8, vec![0; 700])?;
    let mut back = comm.recv_init::<u64>(left, 8, vec![0; 700])?;
    for round in 0..5 {
        most.input_mut()?.copy_from_slice(&numbers(me + round, 3));
        there
            .input_mut()?
            .copy_from_slice(&numbers(me + round, 700));
        most.start()?;
        back.start()?;
        there.start()?;
        most.wait()?;
        back.wait()?;
        there.wait()?;
        assert_eq!(back.output()?, numbers(left + round, 700));
        let whole = |rank| numbers(rank + round, 3);
        assert_eq!(most.output()?, fold(0..size, whole, u64::max));
    }
    Ok(())
}

/// A reduction over a topology, and a schedule of the caller.
fn over_topologies(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let composed = fold(0..size, |rank| maps(rank, 20), compose);
    let tree = rankfold::topology::Topology::in_order(size);
    let mut functions = maps(me, 20);
    comm.reduce_over(&tree, &mut functions, compose).run()?;
    assert!(me != tree.root() || functions == composed, "reduce_over");
    let mut sums = numbers(me, 20);
    let fibonacci = rankfold::topology::Topology::fibonacci(size).single_port();
    let reduce = FoldAlong::new(fibonacci, 20);
    let all_reduce = reduce.clone().then(reduce.reversed());
    comm.run_schedule(&all_reduce, &Goal::all_reduce(20), &[], &mut sums, op::Sum)?;
    let sum = fold(0..size, |rank| numbers(rank, 20), u64::wrapping_add);
    assert!(sums == sum, "run_schedule");
    Ok(())
}

/// Halos of a ring of all ranks.
fn on_a_grid(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let ring = rankfold::Cartesian::new(comm, &[size], &[true])?;
    for length in [1, 900] {
        let (mut sides, edges) = (vec![0; 2 * length], numbers(me, 2 * length));
        ring.neighbor_all_to_all(&edges, &mut sides)?;
        let (below, above) = ((me + size - 1) % size, (me + 1) % size);
        assert!(sides[..length] == numbers(below, 2 * length)[length..]);
        assert!(sides[length..] == numbers(above, 2 * length)[..length]);
    }
    Ok(())
}

fn exact(comm: &Comm) -> Result<()> {
    let size = comm.size();
    let mut sum = [if comm.rank() == 0 { 1e100 } else { 1.0 }, 0.1];
    comm.all_reduce(&mut sum, op::SumExact)?;
    let mut right = [
        if size > 1 {
            (size - 1) as f64 + 1e100
        } else {
            1e100
        },
        0.0,
    ];
    right[1] = (0..size).map(|_| 0.1).collect::<op::ExactSum>().value();
    assert_eq!(sum, right);
    Ok(())
}

pub fn algorithms(ranks: usize) {
    world(ranks)
        .run(|comm| {
            let (me, size) = (comm.rank(), comm.size());
            let groups = comm.levels().map(|levels| levels.groups(0).len());
            assert_eq!(groups, (ranks > 1).then_some(comm.processes()));
            for length in [1, 7, 500] {
                let whole = |rank| numbers(rank, length);
                let sum = fold(0..size, whole, u64::wrapping_add);
                let call = |collective| Call::new(collective, size, length).commuting();
                let of = |collective| {
                    let call = call(collective);
                    Algorithm::all(collective)
                        .filter(move |algorithm| algorithm.refused(&call).is_none())
                };
                for algorithm in of(Collective::AllReduce) {
                    let mut vector = whole(me);
                    comm.using(algorithm).all_reduce(&mut vector, op::Sum)?;
                    assert!(vector == sum, "{algorithm} of {length}");
                }
                for algorithm in of(Collective::Reduce) {
                    let mut vector = whole(me);
                    comm.using(algorithm).reduce(0, &mut vector, op::Sum)?;
                    assert!(me > 0 || vector == sum, "{algorithm} of {length}");
                }
                for algorithm in of(Collective::Broadcast) {
                    let mut vector = whole(me);
                    comm.using(algorithm).broadcast(0, &mut vector)?;
                    assert!(vector == whole(0), "{algorithm} of {length}");
                }
            }
            for algorithm in Algorithm::all(Collective::Barrier) {
                comm.using(algorithm).barrier()?;
            }
            Ok(())
        })
        .unwrap();
}
