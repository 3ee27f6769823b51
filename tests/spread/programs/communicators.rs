//! Communicators and graphs that span processes.

use rankfold::{Comm, Rank, Result, op};

use super::collectives::fold;
use super::{numbers, world};

pub fn communicators(ranks: usize) {
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
        let error = error.expect_err("the last rank names no source");
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
