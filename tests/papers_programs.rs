//! The listings of the texts, as `examples/papers` writes them in send and recv alone: each sends the messages that the
//! library's schedule or topology has, step for step, and ends with what the library's collective ends with.

use rankfold::collective::{Algorithm, Call, Collective};
use rankfold::schedule::Schedule;
use rankfold::topology::{Topology, TreeName};
use rankfold::{Rank, Result, World, op};

use programs::talk::{Message, Run, Talk, contribution, message, run};
use programs::{cube, foster, linear_algebra, sanders, scaling, xiong};
use support::guarded;

#[path = "../examples/papers/programs/mod.rs"]
mod programs;
mod support;

/// The numbers of ranks of every comparison.
fn worlds() -> impl Iterator<Item = usize> {
    (1..=17).chain([33, 64])
}

fn cubes() -> impl Iterator<Item = usize> {
    (0..=6).map(|d| 1 << d)
}

/// What a test that hangs is called.
const CASE: &str = "a listing";

const LENGTHS: [usize; 4] = [0, 1, 5, 64];

#[track_caller]
fn ran(ranks: usize, program: impl Fn(&mut Talk<'_>) -> Result<Vec<u64>> + Sync) -> Run {
    run(ranks, program).unwrap_or_else(|error| panic!("{ranks} ranks: {error}"))
}

/// The messages of a schedule.
fn scheduled(name: &str, call: &Call) -> Vec<Message> {
    let algorithm: Algorithm = name.parse().unwrap();
    let schedule = algorithm.schedule(call).unwrap();
    let mut messages = Vec::new();
    for step in 0..schedule.steps() {
        for from in 0..call.ranks() {
            messages.extend(schedule.step(from, step).send.map(|send| Message {
                step,
                from,
                to: send.peer,
                elements: send.region.elements(),
            }));
        }
    }
    messages
}

/// The messages of a reduction over a topology, in its own steps.
fn triples(topology: &Topology, elements: usize) -> Vec<Message> {
    let mut messages: Vec<_> = topology
        .triples()
        .map(|one| Message {
            step: one.step,
            from: one.from,
            to: one.to,
            elements,
        })
        .collect();
    messages.sort_unstable();
    messages
}

/// What the root has after the library's reduction over a topology.
fn reduced(topology: &Topology, length: usize) -> Vec<u64> {
    let all = World::new(topology.ranks()).run(|comm| {
        let mut v = contribution(comm.rank(), length);
        comm.reduce_over(topology, &mut v, op::commutative(u64::wrapping_add))
            .run()?;
        Ok(v)
    });
    all.unwrap().swap_remove(0)
}

fn sum(ranks: usize, length: usize) -> Vec<u64> {
    let mut sum = vec![0; length];
    (0..ranks).for_each(|rank| programs::talk::fold(&mut sum, &contribution(rank, length)));
    sum
}

fn all_have(run: &Run, wanted: &[u64]) {
    for (rank, result) in run.results.iter().enumerate() {
        assert_eq!(result, wanted, "rank {rank} of {}", run.results.len());
    }
}

// ── Xiong ──

type Reduction = fn(&mut Talk<'_>, Vec<u64>) -> Result<Vec<u64>>;
type Family = fn(usize) -> Topology;

#[test]
fn the_reductions_of_1999_send_the_triples_of_their_topologies_and_end_as_the_loop_does() {
    guarded(&|| CASE.into(), || {
        let forms: [(Reduction, Family); 2] = [
            (xiong::reduce_1_ring, Topology::chain),
            (xiong::reduce_2_tree, |n| Topology::k_tree(n, 2)),
        ];
        for (form, topology) in forms {
            for (n, length) in worlds().flat_map(|n| LENGTHS.map(|length| (n, length))) {
                let topology = topology(n);
                let run = ran(n, |talk| form(talk, contribution(talk.rank(), length)));
                assert_eq!(run.messages, triples(&topology, length), "{n} ranks");
                assert_eq!(run.results[0], reduced(&topology, length), "{n} ranks");
            }
        }
    });
}

#[test]
fn the_general_loop_sends_the_triples_of_any_topology() {
    guarded(&|| CASE.into(), || {
        for name in [
            "2-tree",
            "1-ring",
            "binomial",
            "2-ring",
            "star",
            "fibonacci",
        ] {
            for n in worlds() {
                let topology = Topology::by_name(name, n).unwrap();
                let own = |talk: &Talk<'_>| contribution(talk.rank(), 3);
                let run = ran(n, |talk| xiong::reduce(talk, &topology, own(talk)));
                assert_eq!(run.messages, triples(&topology, 3), "{name} {n}");
                assert_eq!(run.results[0], reduced(&topology, 3), "{name} {n}");
            }
        }
    });
}

// ── hypercubes ──

/// The vector of the root, and nothing elsewhere.
fn rooted(talk: &Talk<'_>, root: Rank, length: usize) -> Vec<u64> {
    match talk.rank() == root {
        true => message(length),
        false => vec![0; length],
    }
}

#[test]
fn the_one_to_all_broadcast_is_the_librarys_from_every_source() {
    guarded(&|| CASE.into(), || {
        for p in cubes() {
            for source in [0, p / 2, p - 1] {
                let run = ran(p, |talk| {
                    let own = rooted(talk, source, 5);
                    cube::one_to_all_broadcast(talk, source, own)
                });
                let call = Call::new(Collective::Broadcast, p, 5).to_root(source);
                all_have(&run, &message(5));
                let named = scheduled("hypercube", &call);
                assert_eq!(run.messages, named, "{p} ranks from {source}");
            }
        }
    });
}

#[test]
fn the_scatter_is_the_librarys_from_every_source() {
    guarded(&|| CASE.into(), || {
        for p in cubes() {
            for source in [0, p / 2, p - 1] {
                let all = message(3 * p);
                let run = ran(p, |talk| cube::scatter(talk, source, &all, 3));
                let call = Call::new(Collective::Scatter, p, 3 * p).to_root(source);
                assert_eq!(run.messages, scheduled("hypercube", &call), "{p} {source}");
                for (rank, block) in run.results.iter().enumerate() {
                    assert_eq!(block[..], all[3 * rank..][..3], "rank {rank} of {p}");
                }
            }
        }
    });
}

#[test]
fn the_all_to_all_reduction_is_simple_exchange_with_its_steps_backwards() {
    guarded(&|| CASE.into(), || {
        for p in cubes() {
            let own = |talk: &Talk<'_>| contribution(talk.rank(), 2);
            let run = ran(p, |talk| cube::all_to_all_reduction(talk, own(talk)));
            let mut backwards = scheduled("exchange", &Call::new(Collective::AllReduce, p, 2));
            let last = p.ilog2() as usize;
            backwards
                .iter_mut()
                .for_each(|one| one.step = last - 1 - one.step);
            backwards.sort_unstable();
            assert_eq!(run.messages, backwards, "{p} ranks");
            all_have(&run, &sum(p, 2));
        }
    });
}

#[test]
fn the_all_to_all_reduction_as_printed_is_wrong_from_4_ranks_on() {
    guarded(&|| CASE.into(), || {
        let printed = |p| {
            ran(p, |talk| {
                cube::all_to_all_reduction_as_printed(talk, contribution(talk.rank(), 1))
            })
        };
        for p in cubes() {
            let right = printed(p).results.iter().all(|one| *one == sum(p, 1));
            assert_eq!(right, p <= 2, "{p} ranks");
        }
        let eight: Vec<u64> = printed(8).results.concat();
        assert_eq!(eight, [23, 43, 77, 142, 113, 178, 212, 232]);
        assert_eq!(sum(8, 1), [255]);
    });
}

// ── Foster ──

#[test]
fn fosters_vector_reductions_are_the_librarys() {
    guarded(&|| CASE.into(), || {
        let forms: [(Reduction, &str); 2] = [
            (foster::simple_exchange, "exchange"),
            (foster::recursive_halving, "halving"),
        ];
        for (form, name) in forms {
            for (p, length) in cubes().flat_map(|p| LENGTHS.map(|length| (p, length))) {
                let run = ran(p, |talk| form(talk, contribution(talk.rank(), length)));
                let call = Call::new(Collective::AllReduce, p, length);
                assert_eq!(run.messages, scheduled(name, &call), "{name} {p} {length}");
                all_have(&run, &sum(p, length));
            }
        }
    });
}

#[test]
fn fosters_template_with_concatenation_is_what_the_librarys_template_gives() {
    guarded(&|| CASE.into(), || {
        for p in cubes() {
            let concatenated = |mut a: Vec<u64>, b: Vec<u64>| {
                a.extend(b);
                a
            };
            let own = |rank: Rank| vec![rank as u64];
            let run = ran(p, |talk| {
                foster::template(talk, own(talk.rank()), concatenated)
            });
            let ours = World::new(p).run(|comm| {
                rankfold::hypercube(comm, own(comm.rank()), |a, b, _| concatenated(a, b))
            });
            assert_eq!(run.results, ours.unwrap());
        }
    });
}

// ── the survey ──

#[test]
fn the_binomial_broadcast_is_the_librarys() {
    guarded(&|| CASE.into(), || {
        for p in worlds() {
            let run = ran(p, |talk| {
                let own = rooted(talk, 0, 4);
                sanders::binomial(talk, own)
            });
            let call = Call::new(Collective::Broadcast, p, 4);
            assert_eq!(run.messages, scheduled("binomial", &call), "{p} ranks");
            all_have(&run, &message(4));
        }
    });
}

#[test]
fn the_pipelines_and_the_23_broadcast_are_the_librarys() {
    guarded(&|| CASE.into(), || {
        type Broadcast = fn(&mut Talk<'_>, Vec<u64>, usize) -> Result<Vec<u64>>;
        let forms: [(Broadcast, &str); 3] = [
            (sanders::linear_pipeline, "linear-pipeline"),
            (sanders::binary_tree, "pipelined-binary-tree"),
            (sanders::broadcast_23, "23-broadcast"),
        ];
        for (form, name) in forms {
            for (p, packets) in worlds().flat_map(|p| [1, 2, 5, 8].map(|k| (p, k))) {
                let run = ran(p, |talk| {
                    let own = rooted(talk, 0, 12);
                    form(talk, own, packets)
                });
                let call = Call::new(Collective::Broadcast, p, 12);
                let named = format!("{name}:segments={packets}");
                assert_eq!(run.messages, scheduled(&named, &call), "{named} {p}");
                all_have(&run, &message(12));
            }
        }
    });
}

// ── programs that broadcast, and how one of them scales ──

#[test]
fn linear_algebra_has_the_bits_of_one_rank_by_every_broadcast() {
    guarded(&|| CASE.into(), || {
        let binomial = Algorithm::Tree {
            tree: TreeName::BINOMIAL,
            segments: None,
        };
        let product = linear_algebra::matrix_vector(1, 20, binomial).unwrap();
        let solution = linear_algebra::gauss(1, 20, binomial).unwrap();
        assert!(linear_algebra::residual(&solution) < 1e-12);
        for algorithm in Algorithm::all(Collective::Broadcast) {
            let again = linear_algebra::matrix_vector(4, 20, algorithm).unwrap();
            assert_eq!(again, product, "{algorithm}");
            let again = linear_algebra::gauss(4, 20, algorithm).unwrap();
            assert_eq!(again, solution, "{algorithm}");
        }
        for p in worlds() {
            let again = linear_algebra::gauss(p, 20, binomial).unwrap();
            assert_eq!(again, solution, "{p} ranks");
        }
    });
}

#[test]
fn floyd_needs_p_log_p_nodes_and_p_log_squared_p_memory() {
    for point in scaling::points(3.0, 1024) {
        let (p, log) = (point.ranks as f64, f64::from(point.ranks.ilog2()));
        assert_eq!(point.size, 3.0 * p * log);
        assert_eq!(point.each, 9.0 * p * log * log);
        assert_eq!(point.memory, point.size * point.size);
        assert_eq!(point.serial, 3.0 * point.overhead);
    }
}
