//! What the processes of a launch run.

use std::process;
use std::time::Duration;

use rankfold::check::Goal;
use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::{
    Comm, ErrorKind, Fault, Plain, Rank, Result, Source, Spread, Tag, World, WorldError, op,
};

use super::{ends, random_programs, reports, traces};

/// A name, and what a process with this number of ranks runs.
type Program = (&'static str, fn(usize));

pub const PROGRAMS: &[Program] = &[
    ("point_to_point", point_to_point),
    ("collectives", collectives),
    ("algorithms", algorithms),
    ("communicators", communicators),
    ("refusals", refusals),
    ("deaths", deaths),
    ("deadlocks", deadlocks),
    ("reports_of_deadlocks", reports::deadlocks),
    ("reports_of_mismatches", reports::mismatches),
    ("shares", shares),
    ("random_right", random_programs::right),
    ("random_wrong", random_programs::wrong),
    ("panics", panics),
    ("exits", exits),
    ("stays_away", stays_away),
    ("exits_after_a_verdict", ends::exits_after_a_verdict),
    (
        "another_thread_opens_the_next_world",
        ends::another_thread_opens_the_next_world,
    ),
    ("cannot_start", ends::cannot_start),
    ("traces", traces::traces),
];

pub fn world(ranks: usize) -> World {
    // Only a fault would wait as long.
    World::new(ranks)
        .spread(Spread::Must)
        .timeout(Duration::from_secs(20))
}

fn number(rank: Rank, i: usize) -> u64 {
    let mixed = (rank as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (i as u64).wrapping_mul(0xff51_afd7);
    mixed.rotate_left(23).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn numbers(rank: Rank, length: usize) -> Vec<u64> {
    (0..length).map(|i| number(rank, i)).collect()
}

// ── messages ──

#[derive(Clone, Copy, Debug, PartialEq)]
struct Own {
    place: [f32; 3],
    kind: u16,
}
// SAFETY: numbers.
unsafe impl Plain for Own {}

fn point_to_point(ranks: usize) {
    world(ranks)
        .plain::<Own>()
        .run(|comm| {
            assert_eq!(comm.size(), ranks * comm.processes());
            assert!(comm.is_near(comm.rank()));
            ring(comm)?;
            order(comm)?;
            any_source(comm)?;
            comm.barrier()?;
            probes(comm)?;
            requests(comm)?;
            synchronous(comm)
        })
        .unwrap();
    // A second world, whose messages are not those of the first.
    world(ranks).run(ring).unwrap();
}

fn ring(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    for length in [0, 1, 4, 5, 128, 129, 1000, 200_000] {
        let (got, status) = comm.sendrecv(right, 3, &numbers(me, length), left, 3)?;
        assert_eq!((got, status.source), (numbers(left, length), left));
    }
    comm.send(right, 1, &[me as f64, 0.5])?;
    assert_eq!(comm.recv::<f64>(left, 1)?.0, [left as f64, 0.5]);
    comm.send(right, 1, &[(1.5f32, me)])?;
    assert_eq!(comm.recv::<(f32, usize)>(left, 1)?.0, [(1.5, left)]);
    comm.send(right, 1, &[['a', 'ß']])?;
    assert_eq!(comm.recv::<[char; 2]>(left, 1)?.0, [['a', 'ß']]);
    Ok(())
}

/// Messages of one sender stay in order, whatever their lengths, and tags choose among them.
fn order(comm: &Comm) -> Result<()> {
    const MESSAGES: usize = 200;
    let (me, size) = (comm.rank(), comm.size());
    let length = |i: usize| [1, 3, 700, 40_000][i % 4];
    for to in (0..size).filter(|to| *to != me) {
        for i in 0..MESSAGES {
            comm.send(to, (i % 2) as u32, &numbers(me * MESSAGES + i, length(i)))?;
        }
    }
    for from in (0..size).filter(|from| *from != me) {
        for tag in [1, 0] {
            for i in (tag..MESSAGES).step_by(2) {
                let (got, _) = comm.recv::<u64>(from, tag as u32)?;
                assert!(
                    got == numbers(from * MESSAGES + i, length(i)),
                    "{from}, {i}"
                );
            }
        }
    }
    Ok(())
}

fn any_source(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let own = Own {
        place: [0.5; 3],
        kind: me as u16,
    };
    if me > 0 {
        return comm.send(0, me as u32, &[own]);
    }
    let mut from = vec![false; size];
    for _ in 1..size {
        let (got, status) = comm.recv::<Own>(Source::Any, Tag::Any)?;
        assert_eq!(
            (usize::from(got[0].kind), status.tag as usize),
            (status.source, status.source)
        );
        assert_eq!(got[0].place, [0.5; 3]);
        assert!(!std::mem::replace(&mut from[status.source], true));
    }
    Ok(())
}

fn probes(comm: &Comm) -> Result<()> {
    let (me, last) = (comm.rank(), comm.size() - 1);
    if me == 0 {
        comm.send(last, 5, &[1u8, 2, 3])?;
        comm.send(last, 6, &[4i16])?;
    }
    if me == last {
        let status = comm.probe(0, 6)?;
        assert_eq!((status.tag, status.source), (6, 0));
        while comm.iprobe(0, 5)?.is_none() {}
        let message = comm.probe_matched(Source::Any, 5)?;
        assert_eq!(message.recv::<u8>()?, [1, 2, 3]);
        assert_eq!(comm.recv::<i16>(0, 6)?.0, [4]);
    }
    Ok(())
}

fn requests(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    for length in [2, 3000] {
        let mut receives = Vec::new();
        for from in 0..size {
            receives.push(comm.irecv::<u64>(from, 9)?);
        }
        let mut sends = Vec::new();
        for to in 0..size {
            sends.push(comm.isend(to, 9, numbers(me, length))?);
        }
        for (from, mut receive) in receives.into_iter().enumerate() {
            let (got, _) = loop {
                if let Some(done) = receive.test()? {
                    break done;
                }
            };
            assert_eq!(got, numbers(from, length));
        }
        for send in sends {
            send.wait()?;
        }
    }
    Ok(())
}

/// Each rank learns of its left neighbour's state, which that one has sent before it received: so a synchronous send to
/// it has waited for the receive.
fn synchronous(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let (right, left) = ((me + 1) % size, (me + size - 1) % size);
    for length in [1, 3000] {
        let sent = comm.issend(right, 11, numbers(me, length))?;
        assert_eq!(comm.recv::<u64>(left, 11)?.0, numbers(left, length));
        assert_eq!(sent.wait()?, numbers(me, length));
        // Round the ring: the first sends before it receives, all others after.
        if me > 0 {
            assert_eq!(comm.recv::<u64>(left, 12)?.0, numbers(left, length));
        }
        if size > 1 {
            comm.ssend(right, 12, &numbers(me, length))?;
        }
        if me == 0 && size > 1 {
            assert_eq!(comm.recv::<u64>(left, 12)?.0, numbers(left, length));
        }
    }
    let mut open = comm.issend(right, 13, vec![me])?;
    comm.barrier()?;
    assert_eq!(open.test()?, None, "no rank has received it");
    comm.barrier()?;
    assert_eq!(comm.recv::<usize>(left, 13)?.0, [left]);
    assert_eq!(open.wait()?, [me]);
    Ok(())
}

// ── collectives ──

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
fn fold<T: Copy>(
    ranks: std::ops::Range<Rank>,
    vector: impl Fn(Rank) -> Vec<T>,
    op: fn(T, T) -> T,
) -> Vec<T> {
    let join =
        |left: Vec<T>, right: Vec<T>| left.into_iter().zip(right).map(|(a, b)| op(a, b)).collect();
    ranks.map(vector).reduce(join).unwrap()
}

fn collectives(ranks: usize) {
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
    let whole = |rank| maps(rank, length * size);
    let mut block = vec![(0, 0); length];
    comm.reduce_scatter(&whole(me), &mut block, compose)?;
    assert!(
        block == fold(0..size, whole, compose)[me * length..][..length],
        "reduce_scatter"
    );
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

fn algorithms(ranks: usize) {
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

// ── communicators ──

fn communicators(ranks: usize) {
    world(ranks)
        .run(|comm| {
            let (me, size) = (comm.rank(), comm.size());
            let twin = comm.dup()?;
            let right = (me + 1) % size;
            comm.send(right, 7, &[1])?;
            twin.send(right, 7, &[2])?;
            let left = (me + size - 1) % size;
            assert_eq!(twin.recv::<i32>(left, 7)?.0, [2]);
            assert_eq!(comm.recv::<i32>(left, 7)?.0, [1]);
            for _ in 0..30 {
                halves(comm)?;
            }
            near(comm)?;
            let some = comm.split_if((me > 0).then_some(4), -(me as i64))?;
            assert_eq!(some.as_ref().map(Comm::size), (me > 0).then_some(size - 1));
            if let Some(some) = some {
                let mut ranks = vec![0; some.size()];
                some.all_gather(&[me], &mut ranks)?;
                assert_eq!(ranks, (1..size).rev().collect::<Vec<_>>());
            }
            graphs(comm)?;
            twin.barrier()
        })
        .unwrap();
}

/// Each rank gets the blocks of its divisors, by both ways to name the edges; then the ends of an edge disagree.
fn graphs(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let divides = |a: Rank, b: Rank| a > 0 && b > a && b.is_multiple_of(a);
    let divisors: Vec<Rank> = (0..size).filter(|&d| divides(d, me)).collect();
    let multiples: Vec<Rank> = (0..size).filter(|&m| divides(me, m)).collect();
    let edges: Vec<(Rank, Rank)> = divisors.iter().map(|&d| (d, me)).collect();
    for graph in [
        comm.graph(&divisors, &multiples)?,
        rankfold::Graph::from_edges(comm, &edges)?,
    ] {
        assert_eq!(graph.sources(), divisors);
        assert_eq!(graph.destinations(), multiples);
        let mut got = vec![0; divisors.len() * 40];
        graph.neighbor_all_gather(&numbers(me, 40), &mut got)?;
        let wanted: Vec<u64> = divisors.iter().flat_map(|&d| numbers(d, 40)).collect();
        assert_eq!(got, wanted);
    }
    if size > 1 {
        let last = [size - 1];
        let error = comm.graph(&[], if me == 0 { &last } else { &[] });
        let error = error.err().expect("the last rank names no source");
        let said = "graph with 1 edge to rank";
        assert!(error.to_string().contains(said), "{error}");
    }
    comm.barrier()
}

/// Splits into even and odd ranks, of all processes; each in the other order.
fn halves(comm: &Comm) -> Result<()> {
    let me = comm.rank();
    let half = comm.split(me as u32 % 2, -(me as i64))?;
    let members: Vec<Rank> = (0..comm.size())
        .filter(|rank| rank % 2 == me % 2)
        .rev()
        .collect();
    let mut all = vec![0; half.size()];
    half.all_gather(&[me], &mut all)?;
    assert_eq!(all, members);
    assert_eq!(half.world_rank(0), comm.world_rank(members[0]));
    let quarter = half.split(half.rank() as u32 % 2, 0)?;
    let mut sum = [1];
    quarter.all_reduce(&mut sum, op::Sum)?;
    assert_eq!(sum[0], quarter.size());
    Ok(())
}

/// The ranks of each process, by memory as ever, and by messages to ranks of others at the same time.
fn near(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    let here = comm.split(comm.process() as u32, 0)?;
    assert_eq!(here.size() * comm.processes(), size);
    let first = me - here.rank();
    for length in [1, 100, 20_000] {
        let mut sum = numbers(me, length);
        here.all_reduce(&mut sum, op::Sum)?;
        assert!(
            sum == fold(
                first..first + here.size(),
                |rank| numbers(rank, length),
                u64::wrapping_add
            )
        );
    }
    let names = here.values().all_gather(format!("rank {me}"))?;
    assert_eq!(names.len(), here.size());
    let pair = here.subset(&(0..here.size()).rev().collect::<Vec<_>>())?;
    pair.barrier()?;
    assert_eq!(
        (0..size).filter(|rank| comm.is_near(*rank)).count(),
        here.size()
    );
    Ok(())
}

// ── refusals ──

fn refusals(ranks: usize) {
    #[derive(Clone, Copy)]
    struct Unknown(#[allow(dead_code)] u64);
    let usage = |result: Result<()>| {
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Usage(_)), "{error}");
    };
    let not_plain = |result: Result<()>| {
        let error = result.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::NotPlain { .. }),
            "{error}"
        );
    };
    world(ranks)
        .run(|comm| {
            let far = (comm.rank() + comm.size() / 2) % comm.size();
            assert!(!comm.is_near(far));
            not_plain(comm.send(far, 0, &["text"]));
            not_plain(comm.isend(far, 0, vec![Unknown(1)]).map(drop));
            not_plain(comm.broadcast(0, &mut ["text"]));
            not_plain(comm.all_reduce(&mut [Unknown(1)], |a, _| a));
            not_plain(comm.ibroadcast(0, vec!["text"]).map(drop));
            usage(comm.send_value(far, 0, String::new()));
            usage(comm.isend_value(far, 0, String::new()).map(drop));
            not_plain(comm.ssend(far, 0, &["text"]));
            not_plain(comm.issend(far, 0, vec!["text"]).map(drop));
            usage(comm.values().all_gather(String::new()).map(drop));
            usage(comm.values().all_reduce(1, |a, b| a + b).map(drop));
            usage(comm.shrink().map(drop));
            usage(comm.window(vec![0; 4]).map(drop));
            usage(comm.subset(&[0, comm.size() - 1]).map(drop));
            usage(comm.split_by(rankfold::Level::Numa).map(drop));
            usage(rankfold::AtomicWindow::<u64>::new(comm, vec![0; 4]).map(drop));
            let tree = rankfold::topology::Topology::binomial(comm.size());
            let survivors = comm.reduce_over(&tree, &mut [1], op::Sum).survivors();
            usage(survivors.map(drop));
            not_plain(
                comm.values()
                    .reduce_over(&tree, 1u64, |a, b| a + b)
                    .run()
                    .map(drop),
            );
            let mut sum = [1];
            comm.all_reduce(&mut sum, op::Sum)?;
            assert_eq!(sum[0], comm.size());
            Ok(())
        })
        .unwrap();
    let refused = |error: WorldError| assert!(matches!(error, WorldError::Usage(_)), "{error}");
    refused(world(ranks).seed(1).run(|_| Ok(())).unwrap_err());
    refused(
        world(ranks)
            .buffering(rankfold::Buffering::Zero)
            .run(|_| Ok(()))
            .unwrap_err(),
    );
    refused(world(ranks).start().map(drop).unwrap_err());
    refused(world(ranks).seats().map(drop).unwrap_err());
    let inside =
        World::new(1).run(|_| Ok(world(ranks).run(|_| Ok(())).map_err(|it| it.to_string())));
    assert!(inside.unwrap()[0].is_err());
    world(ranks).run(|comm| comm.barrier()).unwrap();
}

// ── failures ──

/// A program of several calls, in which each rank needs the others.
fn talk(comm: &Comm) -> Result<u64> {
    let (me, size) = (comm.rank(), comm.size());
    let mut sum = numbers(me, 30);
    comm.all_reduce(&mut sum, op::Sum)?;
    let (got, _) = comm.sendrecv((me + 1) % size, 0, &[me], (me + size - 1) % size, 0)?;
    let half = comm.split(me as u32 % 2, 0)?;
    half.barrier()?;
    let sent = comm.iall_reduce(vec![me as u64], op::Sum)?.wait()?;
    comm.barrier()?;
    Ok(sent[0] + got[0] as u64)
}

fn deaths(ranks: usize) {
    let report = world(ranks).run_each(talk);
    assert!(report.culprit.is_none());
    let first = report.first_rank;
    let most = report
        .counts
        .iter()
        .map(|counts| counts.operations)
        .min()
        .unwrap();
    let mine = most.min(40);
    // All processes try the same: as many operations as any rank is sure to have.
    let least = world(ranks).run(|comm| {
        let mut least = [mine];
        comm.all_reduce(&mut least, op::Min)?;
        Ok((least[0], comm.size()))
    });
    let (least, size) = least.unwrap()[0];
    for victim in 0..size {
        for nth in 1..=least {
            for fault in [Fault::Panic, Fault::Error, Fault::Return] {
                let report = world(ranks).inject(victim, nth, fault).run_each(talk);
                let case = format!("{fault:?} of rank {victim} at {nth}, seen from {first}");
                if fault == Fault::Return && report.culprit.is_none() {
                    // It returned after everything that the ranks here needed of it.
                    assert!(!(first..first + ranks).contains(&victim), "{case}");
                    report.into_result().unwrap();
                    continue;
                }
                assert_eq!(report.culprit, Some(victim), "{case}: {report}");
                let error = report.into_result().unwrap_err();
                assert_eq!(error.culprit(), Some(victim), "{case}: {error}");
            }
        }
    }
}

/// Ranks of different processes that wait for each other learn it; those that do not are not disturbed.
fn deadlocks(ranks: usize) {
    let stuck = |error: WorldError| {
        assert!(matches!(error, WorldError::Deadlock(_)), "{error}");
        assert!(error.to_string().contains("recv(from"), "{error}");
    };
    // Each waits for the next.
    let cycle = |comm: &Comm| {
        comm.recv::<u8>((comm.rank() + 1) % comm.size(), 0)
            .map(drop)
    };
    stuck(world(ranks).run(cycle).unwrap_err());
    // The same after messages, and one rank has ended.
    let error = world(ranks).run(|comm| {
        for _ in 0..100 {
            ring_once(comm)?;
        }
        match comm.rank() {
            0 => Ok(()),
            1 => comm.recv::<u8>(comm.size() - 1, 0).map(drop),
            _ => comm.recv::<u8>(1, 0).map(drop),
        }
    });
    if ranks * 2 > 2 {
        stuck(error.unwrap_err());
    }
    // Every rank but one sleeps most of the time, and nothing is wrong.
    let turns = world(ranks).run(|comm| {
        for turn in 0..20 {
            for rank in 0..comm.size() {
                if rank == comm.rank() {
                    (0..2_000u64 * turn).for_each(|i| _ = std::hint::black_box(i));
                }
                comm.broadcast(rank, &mut [0])?;
            }
            ring_once(comm)?;
        }
        Ok(())
    });
    turns.unwrap();
}

fn ring_once(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    comm.sendrecv((me + 1) % size, 1, &[me], (me + size - 1) % size, 1)
        .map(drop)
}

fn shares(ranks: usize) {
    let report = world(ranks).run_each(|comm| comm.barrier());
    assert_eq!(report.placement.cpu.len(), ranks);
    assert_eq!(report.counts.len(), ranks);
    report.into_result().unwrap();
    let done = world(ranks).run(|comm| {
        for _ in 0..1000 {
            comm.all_reduce(&mut [comm.rank()], op::Sum)?;
        }
        Ok(())
    });
    done.unwrap();
}

fn panics(ranks: usize) {
    let run = world(ranks).run(|comm| {
        assert_ne!(comm.rank(), 1, "boom");
        comm.barrier()
    });
    run.unwrap();
}

fn exits(ranks: usize) {
    let run = world(ranks).run(|comm| {
        if comm.rank() == 1 {
            process::exit(3);
        }
        comm.recv::<u8>(1, 0).map(drop)
    });
    run.unwrap();
}

fn stays_away(ranks: usize) {
    let process = world(ranks).run(|comm| Ok(comm.process())).unwrap()[0];
    assert_ne!(process, 1, "process 1 stays away");
    world(ranks).run(|comm| comm.barrier()).unwrap();
}
